"""Options that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from qlower.cli.output import add_json, add_junit
from qlower.cli.parser import (
    ARITHMETIC,
    CODE,
    COMPILER,
    GENERAL,
    INPUTS,
    OUTPUT,
    READING,
    ArgumentParser,
    Commands,
    add_number,
    add_repeatable,
    section,
)
from qlower.codegen.targets.optimized import OPTIMIZED, SPEED

if TYPE_CHECKING:
    from qlower.compilation.passes import Observer


def add_command(
    commands: Commands,
    common: ArgumentParser,
    name: str,
    summary: str,
    example: str,
) -> ArgumentParser:
    """A sub-command with the common options and an example below its help."""
    parser = commands.add_parser(
        name,
        add_help=False,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n{example}",
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # --layer is no --layer-contract
    )
    add_help(parser)
    return parser


def add_common() -> ArgumentParser:
    """The parser of the options that every command has."""
    common = ArgumentParser(add_help=False)
    general = section(common, GENERAL)
    general.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="log each step; -vv also what passes did and what the cache had; -vvv "
        "also the IR after each pass (all on standard error)",
    )
    general.add_argument(
        "--debug", action="store_true", help="show a traceback for every error"
    )
    return common


def add_help(parser: ArgumentParser) -> None:
    section(parser, GENERAL).add_argument(
        "-h", "--help", action="help", help="show this help and exit"
    )


def add_model(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="?" if optional else None,
        help="a .tflite, .onnx, .pt2 or .mlir file, or - for MLIR text from standard "
        "input",
    )
    add_import_options(parser)


def add_import_options(parser: argparse.ArgumentParser) -> None:
    group = section(parser, READING)
    add_repeatable(
        group,
        "--shape",
        "NAME=SIZES",
        "the shape of an input that the file leaves open, such as x=8x224x224x3 "
        "(repeatable; sizes that are not given are 1)",
    )
    group.add_argument(
        "--outputs",
        type=_names,
        default=[],
        metavar="NAME,...",
        help="cut the model at these tensors: they become its outputs, and parts that "
        "they don't need are not read",
    )
    group.add_argument(
        "--qdq",
        choices=("integer", "x86", "as-written", "device"),
        help="how groups of dequantize, operator, quantize in an ONNX file are read: "
        "as operators on integers wherever ONNX Runtime may use those, where its "
        "default session on x86-64 does, nowhere, or everywhere, with ReLUs that clip "
        "codes, as on accelerators (default: as the systems of the contracts that are "
        "named, else integer)",
    )
    group.add_argument(
        "--signature",
        metavar="NAME",
        help="the signature of a TFLite file to read (default: that of its first "
        "subgraph)",
    )


def _names(text: str) -> list[str]:
    return text.split(",")


def add_contract(parser: argparse.ArgumentParser) -> None:
    group = section(parser, ARITHMETIC)
    group.add_argument(
        "--contract",
        metavar="NAME",
        help="the contract: a name, or an .mlir file (default: the model's own)",
    )
    add_repeatable(
        group,
        "--layer-contract",
        "LAYER=NAME",
        "another contract for some layers: by number, name, kind of operation or "
        "glob, such as 'pool*=tflite' (repeatable; the last match holds)",
    )


def add_contracts_of_two(parser: argparse.ArgumentParser) -> None:
    """The options of `add_contract`, and one for the second of two sides, A and B."""
    add_contract(parser)
    add_repeatable(
        section(parser, ARITHMETIC),
        "--b-layer-contract",
        "LAYER=NAME",
        "another contract for some layers of B alone (repeatable)",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The options that say what a model is run on."""
    group = section(parser, INPUTS)
    add_repeatable(
        group,
        "--input",
        "[NAME=]FILE",
        "an .npy or .npz file of stored values, or of real values, which are then "
        "quantized (of several arrays, the one named after the input or the only one "
        "that fits); with one more leading dimension "
        "than the model's input it is a set, run row by row",
    )
    group.add_argument(
        "--random",
        type=int,
        nargs="?",
        const=0,
        metavar="SEED",
        help="draw one example instead: any stored integers, or normally distributed "
        "real numbers (default SEED: 0)",
    )


def add_match(parser: argparse.ArgumentParser) -> None:
    """The option that says which tensor of a float model is which layer."""
    add_repeatable(
        parser,
        "--match",
        "LAYER=TENSOR",
        "the tensor of the float model that a layer is compared with, for layers "
        "that names and shapes don't match",
    )


def add_layer_gate(parser: argparse.ArgumentParser, otherwise: str) -> None:
    """The options for `check_layers`; `otherwise` says what fails without a bound."""
    parser.add_argument(
        "--fail-below",
        type=float,
        metavar="DB",
        help="fail where a layer's signal to noise, carried, is less than this many "
        f"dB{otherwise}",
    )
    add_json(parser)
    add_junit(parser)


def add_full_names(parser: argparse.ArgumentParser) -> None:
    section(parser, OUTPUT).add_argument(
        "--full-names",
        action="store_true",
        help="show layers by their full names in the model's file, not by short ones",
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    add_number(
        section(parser, CODE),
        "--threads",
        "N",
        "share large layers among N threads of the system's OpenMP runtime; the "
        "results are the same (default: 1)",
        default=1,
    )


def add_tune(parser: argparse.ArgumentParser) -> None:
    section(parser, CODE).add_argument(
        "--tune",
        action="store_true",
        help="measure the best tiling of contractions on this machine instead of "
        "estimating it, and keep it in the cache; the results are the same",
    )


def add_target(parser: argparse.ArgumentParser, cpu: str = "CPU") -> None:
    section(parser, CODE).add_argument(
        "--target",
        default="host",
        metavar="TRIPLE",
        help="host (default) or a triple, such as aarch64-linux-gnu, "
        "aarch64-none-elf for code that needs no C library, or thumbv7em-none-eabi "
        "(-eabihf for firmware that passes floats in registers); experimental: "
        "riscv64-linux-gnu, riscv32im-unknown-none-elf, wasm32-unknown-unknown",
    )
    add_machine(parser, cpu)


def add_machine(parser: argparse.ArgumentParser, cpu: str = "CPU") -> None:
    parser.set_defaults(target="host")
    group = section(parser, CODE)
    group.add_argument(
        "--cpu",
        metavar=cpu,
        help="generate code for this CPU, such as x86-64-v3 (default: host)",
    )
    group.add_argument(
        "--features", metavar="LIST", help="refine the CPU, such as +avx512vnni,-fma"
    )


def add_optimize(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the aim of the code, where there is a choice."""
    section(parser, CODE).add_argument(
        "--optimize",
        choices=tuple(OPTIMIZED),
        default=SPEED,
        help="; ".join(f"{name}: {what}" for name, what in OPTIMIZED.items())
        + " (default: speed; others for targets without an operating system)",
    )


def add_observers(parser: argparse.ArgumentParser) -> None:
    section(parser, COMPILER).add_argument(
        "--dump-ir",
        metavar="DIR",
        help="write the IR after each pass into this folder, as NN-pass.mlir, which "
        "qlower-opt can continue from, and LLVM IR at the end; the cache is not used",
    )
    add_timing(parser)


def add_timing(parser: argparse.ArgumentParser) -> None:
    section(parser, COMPILER).add_argument(
        "--timing",
        action="store_true",
        help="print the time and work of each pass, and the time of each layer in "
        "passes that process layers one by one, on standard error; the cache is not "
        "used",
    )


def add_passes(parser: argparse.ArgumentParser) -> None:
    section(parser, CODE).add_argument(
        "--arith-passes",
        default="",
        metavar="LIST",
        help="passes to apply at the arith level, before loop nests are formed, as for "
        "qlower-opt -p; also of installed packages",
    )


def make_observers(options: argparse.Namespace) -> tuple[Observer, ...]:
    """The observers that `add_observers`, `add_timing` and -vvv ask for."""
    given = vars(options)
    folder, is_timed = given.get("dump_ir"), given.get("timing", False)
    if folder is None and not is_timed and options.verbose < 3:
        return ()
    from qlower.compilation.observers import IrFiles, IrPrinter, Timing

    observers: list[Observer] = []
    if folder is not None:
        observers.append(IrFiles(Path(folder)))
    if is_timed:
        observers.append(Timing())
    if options.verbose >= 3:
        observers.append(IrPrinter())
    return tuple(observers)
