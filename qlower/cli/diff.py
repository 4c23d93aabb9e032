"""`qlower diff`: where two systems part."""

from __future__ import annotations

import argparse
from pathlib import Path

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.cli.layer_gate import add_layer_gate, check_layers
from qlower.cli.options import (
    add_command,
    add_contracts_of_two,
    add_inputs,
    add_match,
    add_model,
    add_timing,
    given_model,
    layer_contracts,
    matched_layers,
    model_of,
)
from qlower.cli.output import show, terminal_width
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status, progress
from qlower.tables.json_text import json_text

EXAMPLE = """  qlower diff tflite pytorch-fbgemm model.tflite --input images.npy
  qlower diff tflite device_layers.npz model.tflite --input image.npy
  qlower diff litert jit model.tflite --random
  qlower diff interp x86-64-v3 model.mlir --input x.npy --at conv1[0,3,4,7]
  qlower diff old.tflite new.tflite --input image.npy

A and B are each one of
  a contract      by name, or an .mlir file
  an executor     interp, jit, or a CPU such as x86-64-v3; CONTRACT:EXECUTOR for both
  a live system   litert, litert-ref, litert-opt, live:onnxruntime, torch,
                  torch-fbgemm, torch-onednn, torch-qnnpack, torch-x86
  a dump          of layers' results: .npz (as of --save-layers), .npy, a folder,
                  Polygraphy's .json, ONNX Runtime's .tensorproto or .pb
  a model         another version of MODEL, compared by the names of layers; without
                  MODEL both sides are models; a float .onnx, .tflite or .pt2 model is
                  run by ONNX Runtime, LiteRT or PyTorch, its numbers rounded to the
                  stored ones

Each layer is compared twice: carried, where each side has its own values, and alone,
where both have those of A (of B, if only A can be computed here).

Exits with 0 if everything is equal, otherwise with 1; with --fail-below only where the
signal to noise of some layer is less."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "find the layer and the rounding where two systems part"
    parser = add_command(commands, common, "diff", summary, EXAMPLE)
    parser.add_argument("a", metavar="A", help="the first side")
    parser.add_argument("b", metavar="B", help="the second side")
    add_model(parser, optional=True)
    add_inputs(parser)
    parser.add_argument(
        "--at",
        metavar="LAYER[n,h,w,c]",
        help="the element whose steps are shown (default: the first that differs), as "
        "for trace",
    )
    add_contracts_of_two(parser)
    add_match(parser)
    add_layer_gate(parser, ", and not wherever an element differs")
    add_timing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, and tell where they part."""
    from qlower.cli.inputs import given_arrays
    from qlower.explain.diff import diff
    from qlower.frontends.load import as_model
    from qlower.frontends.model_files import SUFFIXES
    from qlower.sides.make_side import SideLike, UnknownSide
    from qlower.sides.versions import version_of

    second: SideLike = options.b
    has_model = options.model is not None
    if not has_model:
        if not all(Path(side).suffix in SUFFIXES for side in (options.a, options.b)):
            raise UsageError("MODEL is required, unless A and B are models themselves")
        options.model = options.a
    model = as_model(given_model(options))
    if not has_model and Path(options.b).suffix == ".mlir":
        other = as_model(model_of(options.b, options))
        second = version_of(options.b, model, other, options.contract, "jit")
    inputs = given_arrays(model.inputs, options).values()
    try:
        found = diff(
            options.a,
            second,
            model,
            *inputs,
            contract=options.contract,
            at=options.at,
            layer_contracts=layer_contracts(options.layer_contract),
            b_layer_contracts=layer_contracts(
                options.b_layer_contract, "--b-layer-contract"
            ),
            match=matched_layers(options.match),
            progress=progress,
        )
    except UnknownSide as error:
        raise UsageError(error.message, help=error.help) from error
    clear_status()
    if options.json:
        print(json_text(found.to_dict()))
    else:
        show(found.render(terminal_width()))
    passes = check_layers(options, found)
    is_good = found.is_equal if passes is None else passes
    return 0 if is_good else ExitCode.FOUND
