"""Usage of `qlower bench`: its options and help."""

from __future__ import annotations

from qlower.cli.options import (
    add_contract,
    add_import_options,
    add_optimize,
    add_target,
    add_timing,
    add_tune,
)
from qlower.cli.parser import ArgumentParser, add_number

SUMMARY = "compare the speed of models with other runtimes"

EXAMPLE = """  qlower bench model.tflite --against litert --threads 1,2
  qlower bench model.tflite --against litert,onnxruntime=model_qdq.onnx --json out.json
  qlower bench model.onnx --against onnxruntime
  qlower bench model.tflite --layers
  qlower bench model.tflite --emulate --target thumbv7em-none-eabi --cpu cortex-m4
  qlower bench model.tflite --emulate --target thumbv7em-none-eabi --contract tflm \\
      --cmsis-nn CMSIS-NN"""


def add_options(parser: ArgumentParser) -> None:
    """Add the command's arguments and options."""
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="a .tflite, .onnx or .mlir file"
    )
    add_import_options(parser)
    parser.add_argument(
        "--against",
        default="",
        metavar="PEER[=FILE],...",
        help="litert (XNNPACK), mnn, ncnn, onnxruntime, openvino or torch, with the "
        "peer's form of the model (default: the file of its format beside MODEL, with "
        "the same stem)",
    )
    parser.add_argument(
        "--threads",
        default="1",
        metavar="N,...",
        help="numbers of threads (default: 1)",
    )
    parser.add_argument(
        "--layers",
        action="store_true",
        help="also the time of every layer, and the least that it can take: its "
        "products at the measured peak of the dot product, or the bytes of its tensors "
        "at the measured bandwidth of the cache that they fit in",
    )
    parser.add_argument(
        "--emulate",
        action="store_true",
        help="count the instructions of each kernel under emulation (extra emulation), "
        "and the memory, for --target; nothing is timed",
    )
    parser.add_argument(
        "--cmsis-nn",
        metavar="DIR",
        help="with --emulate: also count CMSIS-NN's kernels for the same layers, built "
        "from a checkout of it by arm-none-eabi-gcc -O3",
    )
    add_number(
        parser, "--rounds", "N", "runs of each contestant (default: 101)", default=101
    )
    parser.add_argument(
        "--json", metavar="FILE", help="also write everything as JSON (- prints it)"
    )
    parser.add_argument(
        "--format",
        choices=("plain", "markdown", "csv", "html"),
        default="plain",
        help="how the table is written; csv has no layers",
    )
    add_contract(parser)
    add_tune(parser)
    add_target(parser)
    add_optimize(parser)
    add_timing(parser)
