"""Usage of `qlower identify`: its options and help."""

from __future__ import annotations

import argparse

from qlower.cli.options import add_inputs, add_model
from qlower.cli.output import add_json
from qlower.cli.parser import ArgumentParser

SUMMARY = "find whose arithmetic made given outputs"

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


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
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
