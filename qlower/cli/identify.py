"""`qlower identify`: whose arithmetic made given outputs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.options import add_command, add_inputs, add_model, given_model
from qlower.cli.output import add_json, show, terminal_width
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status, progress
from qlower.files.replacing import replacing, replacing_files
from qlower.tables.json_text import json_text

if TYPE_CHECKING:
    from qlower.identification.result import Identification
    from qlower.model import Model
    from qlower.model.signature import Array

EXAMPLE = """  qlower identify device.npz model.tflite --input images.npy
  qlower identify device.npz model.tflite --input x.npy -o my_device.mlir
  qlower identify litert model.tflite --random
  qlower identify --probe tflite -o probe

A dump has outputs of the whole model, or of its layers: .npz (as of --save-layers),
.npy, a folder, Polygraphy's .json, ONNX Runtime's .tensorproto or .pb; or it is a live
system, as for `qlower diff`. Each layer gets the dump's results of those before it.

--probe writes a model and inputs that distinguish arithmetics best: run it on the
device, and identify the device by its outputs.

Exits with 0 where a contract explains all outputs, with 1 where none does."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "find whose arithmetic made given outputs"
    parser = add_command(commands, common, "identify", summary, EXAMPLE)
    parser.add_argument(
        "dump",
        metavar="DUMP",
        nargs="?",
        help="the outputs, or a live system that computes them",
    )
    add_model(parser, optional=True)
    add_inputs(parser)
    parser.add_argument(
        "--probe",
        metavar="FORMAT",
        choices=("tflite", "onnx", "mlir"),
        help="write a probe in this format (tflite, onnx, mlir) into the folder -o",
    )
    parser.add_argument(
        "--contract",
        default="",
        metavar="A,B,...",
        help="the contracts to try, by name or as .mlir files (default: all)",
    )
    parser.add_argument(
        "--no-verify",
        action="store_true",
        help="don't decide whether equally good contracts agree for all inputs",
    )
    parser.add_argument(
        "--family",
        action=argparse.BooleanOptionalAction,
        help="search the arithmetics that are composed of steps (default: where no "
        "contract explains everything, and the model gives no reason for that)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the result as a contract's file; with --probe, the folder to write",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare with all contracts, and tell which it is; or write a probe."""
    if options.probe is not None:
        return _probe(options)
    if options.dump is None or options.model is None:
        raise UsageError("DUMP and MODEL are needed, or --probe FORMAT")
    from qlower.cli.inputs import given_arrays
    from qlower.frontends.load import as_model

    model = as_model(given_model(options))
    inputs = given_arrays(model.inputs, options).values()
    with ExitStack() as stack:
        path = options.output
        output = None if path is None else stack.enter_context(replacing(Path(path)))
        found = _identified(model, inputs, options)
        if output is not None:
            output.write(found.text.encode())
    clear_status()
    if options.json:
        print(json_text(found.to_dict()))
    else:
        show(found.render(terminal_width()))
    return 0 if found.is_found else ExitCode.FOUND


def _probe(options: argparse.Namespace) -> int:
    from qlower.identification.probe import check_format, probe, write_probe

    if options.dump is not None or options.output is None:
        raise UsageError("--probe FORMAT takes -o FOLDER, and neither DUMP nor MODEL")
    check_format(options.probe)
    folder = Path(options.output)
    with replacing_files(folder) as temporary:
        made = probe(options.probe, progress)
        path = folder / write_probe(made, options.probe, temporary).name
    clear_status()
    found = {
        "model": str(path),
        "inputs": str(folder / "inputs.npz"),
        "outputs": {spec.name: list(spec.shape) for spec in made.model.outputs},
        "numbers": made.outputs,
    }
    if options.json:
        print(json_text(found))
        return 0
    count = len(made.model.outputs)
    show(
        f"{path} has {count} outputs of {made.outputs} numbers altogether.\n"
        f"Its inputs are in {folder / 'inputs.npz'}, by name: run it on the device,\n"
        "save the outputs by name as an .npz file, and then\n"
        f"  qlower identify outputs.npz {path} --input {folder / 'inputs.npz'}"
    )
    return 0


def _identified(
    model: Model, inputs: Iterable[Array], options: argparse.Namespace
) -> Identification:
    from qlower.identification.identify import identify
    from qlower.sides.make_side import UnknownSide

    try:
        return identify(
            options.dump,
            model,
            *inputs,
            contracts=[name for name in options.contract.split(",") if name] or None,
            verify=not options.no_verify,
            family=options.family,
            progress=progress,
        )
    except UnknownSide as error:
        raise UsageError(error.message, help=error.help) from error
