"""Usage of `qlower run`: its options and help."""

from __future__ import annotations

from qlower.cli.options import (
    add_contract,
    add_full_names,
    add_inputs,
    add_machine,
    add_model,
    add_observers,
    add_passes,
    add_threads,
    add_tune,
)
from qlower.cli.output import add_format
from qlower.cli.parser import ArgumentParser

SUMMARY = "run a model on arrays"

EXAMPLE = """  qlower run model.tflite --input image.npy
  qlower run model.mlir --input images.npz --output y.npz --save-layers layers.npz
  qlower run model.mlir --input left=a.npy --input right=b.npy --executor interp
  qlower run model.tflite --random --digest"""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    add_model(parser)
    add_inputs(parser)
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="an .npy or .npz file with the right class of each example; counts how "
        "often it is the largest element of the model's only output",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="the .npz file to write, with one array per output, stacked for a set "
        "(default: print a summary)",
    )
    parser.add_argument(
        "--save-layers",
        metavar="FILE",
        help="the .npz file to write with the result of every layer, by name",
    )
    parser.add_argument(
        "--executor",
        choices=("jit", "interp"),
        default="jit",
        help="native code (default), or the reference interpreter",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="print the time of every layer (the median of some calls on the first "
        "input), its multiply-accumulates a second, and the bytes of its tensors",
    )
    parser.add_argument(
        "--digest",
        action="store_true",
        help="print one SHA-256 of the outputs, the inputs, the model, its contracts "
        "and qlower's version, which is the same on every machine, and each of them",
    )
    add_full_names(parser)
    add_format(parser)
    add_threads(parser)
    add_contract(parser)
    add_tune(parser)
    add_machine(parser)
    add_passes(parser)
    add_observers(parser)
