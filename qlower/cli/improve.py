"""`qlower improve`: accuracy recovered without training."""

from __future__ import annotations

import argparse
from pathlib import Path

from qlower.cli.examples import add_data
from qlower.cli.exit_codes import ExitCode
from qlower.cli.options import (
    add_command,
    add_contract,
    add_model,
    add_timing,
    given_model,
    layer_contracts,
)
from qlower.cli.output import (
    add_format,
    add_plot,
    check_plot,
    print_table,
    show,
    write_plot,
)
from qlower.cli.parser import ArgumentParser, Commands
from qlower.cli.progress import clear_status
from qlower.diagnostics import QlowerError
from qlower.tables.json_text import json_text

METHODS = ("equalize", "ranges", "gains", "rounding", "biases")
"""What `qlower.improvement` has, in its order."""

EXAMPLE = """  qlower improve model.tflite --data inputs.npy -o better.tflite
  qlower improve model.tflite --data inputs.npy --contract tflm --float float.onnx
  qlower improve model.onnx --data inputs.npz --labels labels.npy --methods biases

Nothing is trained, and labels are only counted. Methods, in this order:
  equalize  give channels of adjacent layers weights of like ranges
  ranges    choose the ranges of results
  gains     choose scales of weights by which the device multiplies as is meant
  rounding  learn for each weight whether it is rounded up or down (AdaRound)
  biases    move biases by the mean error of results

Each is kept if the contract's own integers come nearer to the real network on examples
that it wasn't fitted to. Exits with 0, also where nothing helps."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "recover accuracy without training, and find the layers that cost it"
    parser = add_command(commands, common, "improve", summary, EXAMPLE)
    add_model(parser)
    add_data(parser, "examples without labels, as for `qlower validate`")
    parser.add_argument(
        "--float",
        dest="float_model",
        metavar="FILE",
        help="the float model (.tflite, .onnx, .pt2) whose weights were quantized "
        "(default: the real values of the stored weights)",
    )
    parser.add_argument(
        "--methods",
        default=",".join(METHODS),
        metavar="A,B,...",
        help="what is tried (default: all)",
    )
    parser.add_argument(
        "--labels", metavar="FILE", help="the right classes, to show top-1 accuracy"
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=1024,
        metavar="N",
        help="the first N examples only (default: 1024)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the better model: .mlir, or the format of MODEL's file",
    )
    add_plot(parser, "which layers hurt")
    add_contract(parser)
    add_format(parser)
    add_timing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Improve, print the tables, and write what was asked for."""
    from importlib.util import find_spec

    from qlower.process.extras import install_line

    if find_spec("torch") is None:
        raise QlowerError("qlower improve needs PyTorch", help=install_line("torch"))
    from qlower.frontends.load import as_model
    from qlower.improvement.improve import improve

    check_plot(options)
    if options.limit < 1:
        raise QlowerError(f"--limit {options.limit}: at least 1")
    contracts = [options.contract] if options.contract else []
    model = as_model(given_model(options), contracts)
    output = None if options.output is None else Path(options.output)
    if output is not None:
        suffix = "" if model.path is None else model.path.suffix
        if output.suffix not in (".mlir", suffix):
            raise QlowerError(
                f"--output {options.output!r} ends with neither .mlir nor {suffix}"
            )
    found = improve(
        model,
        options.data,
        contract=options.contract,
        float_model=options.float_model,
        methods=[name for name in options.methods.split(",") if name],
        labels=options.labels,
        layer_contracts=layer_contracts(options.layer_contract),
        limit=options.limit,
    )
    clear_status()
    if options.format == "json":
        print(json_text(found.to_dict()))
    else:
        print_table(found.table, options)
        print()
        print_table(found.layer_table(), options)
        print()
        print_table(found.choice_table(), options)
    if output is not None:
        found.save(output)
        if options.format == "plain":
            show(f"{output} is written")
    write_plot(options, found)
    return ExitCode.DONE
