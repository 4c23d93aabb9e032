"""`qlower vectors`: test vectors for who builds the device."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from qlower.cli.exit_codes import UsageError
from qlower.cli.options import (
    add_command,
    add_contract,
    add_model,
    given_model,
    layer_contracts,
)
from qlower.cli.output import add_format, print_table
from qlower.cli.parser import ArgumentParser, Commands
from qlower.files.replacing import writing
from qlower.tables.json_text import json_text

EXAMPLE = """  qlower vectors model.tflite -o vectors
  qlower vectors model.mlir -o vectors --layer conv1 --contract ./my_npu.mlir

Each layer has a folder with input, weight, bias, accumulator and output, as .npy, as
.hex for $readmemh, and as C arrays in vectors.h, whose names begin with the layer's.
Its layer.json has strides, padding, scales, zero points, bounds and each constant of
the lowered arithmetic; multipliers and shifts are arrays, too.

Inputs of convolutions and linear layers are chosen so that every rounding of every
channel sees a tie, the nearest sums on both sides of it, both signs and both
saturations, where some input reaches them."""

FILES = ("npy", "hex", "c")


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "write test vectors that exercise every rounding of a device"
    parser = add_command(commands, common, "vectors", summary, EXAMPLE)
    add_model(parser)
    parser.add_argument(
        "-o", "--output", required=True, metavar="DIR", help="the folder to write"
    )
    parser.add_argument(
        "--layer",
        default="*",
        metavar="LAYER",
        help="only these layers: a number, a name or a glob (default: all)",
    )
    parser.add_argument(
        "--files",
        default=",".join(FILES),
        metavar="LIST",
        help="the kinds to write, of npy, hex and c (default: all)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="the seed of drawn inputs (default: 0)"
    )
    add_format(parser)
    add_contract(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the vectors, write them, and tell what they cover."""
    from qlower.explain.vectors import vectors
    from qlower.files.vector_files import write_array_files
    from qlower.frontends.load import as_model
    from qlower.model.layer_contracts import with_layer_contracts

    formats = options.files.split(",")
    for name in formats:
        if name not in FILES:
            raise UsageError(f"--files {name!r}: they are {', '.join(FILES)}")
    model = as_model(given_model(options))
    model = with_layer_contracts(model, layer_contracts(options.layer_contract))
    found = vectors(model, options.contract, layer=options.layer, seed=options.seed)
    folder = Path(options.output)
    with writing(folder):
        for layer in found.layers:
            name = re.sub(r"[^\w.-]+", "_", layer.name)
            own = folder / f"{layer.number:02}-{name}"
            arrays = {**layer.arrays, **layer.data.arrays}
            write_array_files(own, arrays, formats, f"layer{own.name}")
            _write_json(own / "layer.json", layer.data.to_dict())
        folder.mkdir(parents=True, exist_ok=True)
        _write_json(folder / "coverage.json", found.to_dict())
    print_table(found.table, options)
    return 0


def _write_json(path: Path, data: Mapping[str, object]) -> None:
    path.write_text(json_text(data) + "\n")
