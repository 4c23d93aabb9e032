"""`qlower identify`: whose arithmetic made given outputs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.given import given_model
from qlower.cli.layer_inputs import arrays_for_layers
from qlower.cli.output import show, terminal_width
from qlower.cli.progress import progress
from qlower.files.replacing import replacing, replacing_files
from qlower.frontends.load import as_model
from qlower.identification.identify import identify
from qlower.identification.result import Identification
from qlower.model import Model
from qlower.model.signature import Array
from qlower.sides.make_side import UnknownSide
from qlower.tables.json_text import json_text


def run(options: argparse.Namespace) -> int:
    """Compare with all contracts and print the best ones; or write a probe."""
    if options.probe is not None:
        return _probe(options)
    if options.dump is None or options.model is None:
        raise UsageError("DUMP and MODEL are needed, or --probe FORMAT")
    model = as_model(given_model(options))
    inputs = arrays_for_layers(model, options).values()
    with ExitStack() as stack:
        path = options.output
        output = None if path is None else stack.enter_context(replacing(Path(path)))
        found = _identified(model, inputs, options)
        if output is not None:
            output.write(found.text.encode())
    if options.json:
        show(json_text(found.to_dict()))
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
    found = {
        "model": str(path),
        "inputs": str(folder / "inputs.npz"),
        "outputs": {spec.name: list(spec.shape) for spec in made.model.outputs},
        "numbers": made.outputs,
    }
    if options.json:
        show(json_text(found))
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
