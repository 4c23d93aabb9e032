"""`qlower vectors`: test vectors for who builds the device."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from qlower.cli.exit_codes import UsageError
from qlower.cli.given import given_model, layer_contracts
from qlower.cli.output import print_table
from qlower.cli.usage.vectors import FILES
from qlower.explain.vectors import vectors
from qlower.files.replacing import writing
from qlower.files.vector_files import write_array_files
from qlower.frontends.load import as_model
from qlower.model.layer_contracts import with_layer_contracts
from qlower.tables.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Make the vectors, write them, and print what they cover."""
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
