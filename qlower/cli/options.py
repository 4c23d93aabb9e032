"""Options that several commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
    section,
)
from qlower.diagnostics import QlowerError

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from qlower.codegen.targets.resolve import Target
    from qlower.compilation.compilation import Compilation
    from qlower.compilation.passes import Observer
    from qlower.frontends.import_options import ImportOptions
    from qlower.frontends.load import ModelOrPath


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
    group.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=SIZES",
        help="the shape of an input that the file leaves open, such as x=8x224x224x3 "
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
        choices=("integer", "x86", "as-written"),
        help="how groups of dequantize, operator, quantize in an ONNX file are read: "
        "as operators on integers wherever ONNX Runtime may use those, where its "
        "default session on x86-64 does, or nowhere (default: as the systems of the "
        "contracts that are named, else integer)",
    )
    group.add_argument(
        "--signature",
        metavar="NAME",
        help="the signature of a TFLite file to read (default: that of its first "
        "subgraph)",
    )


def _names(text: str) -> list[str]:
    return text.split(",")


def given_model(options: argparse.Namespace) -> ModelOrPath:
    """The file of `add_model`, or the model that standard input has."""
    return model_of(options.model, options)


def model_of(
    path: str, options: argparse.Namespace, *, is_compiled: bool = False
) -> ModelOrPath:
    """A model's file; read already where `add_import_options` or a contract that is
    named say anything of how, or where it is standard input. One that `is_compiled` by
    its path is read by the contract then."""
    from qlower.cli.reading import named_reading

    reading = named_reading(path, options)
    if not (
        path == "-"
        or options.shape
        or options.outputs
        or options.qdq is not None
        or (reading is not None and not is_compiled)
        or options.signature is not None
    ):
        from qlower.frontends.model_files import check_model_path

        return check_model_path(path)
    from qlower.frontends.import_options import INTEGER
    from qlower.frontends.load import load, load_text

    if path == "-":
        given = import_options(options)
        given.check_no_qdq("text")
        given.check_no_signature("text")
        return load_text(sys.stdin.buffer.read(), "<stdin>", given)
    return load(
        path,
        shapes=shapes(options.shape),
        outputs=options.outputs,
        qdq=options.qdq or reading or INTEGER,
        signature=options.signature,
    )


def import_options(options: argparse.Namespace) -> ImportOptions:
    """What `add_import_options` says."""
    from qlower.frontends.import_options import INTEGER, ImportOptions

    return ImportOptions.of(
        shapes(options.shape),
        options.outputs,
        options.qdq or INTEGER,
        options.signature,
    )


def shapes(arguments: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The shapes of `--shape` by the inputs' names."""
    found: dict[str, tuple[int, ...]] = {}
    for argument in arguments:
        name, separator, text = argument.rpartition("=")
        sizes = text.split("x")
        if not (name and separator and all(size.isdecimal() for size in sizes)):
            raise QlowerError(f"--shape {argument!r} is not NAME=SIZExSIZE...")
        shape = tuple(map(int, sizes))
        if found.setdefault(name, shape) != shape:
            raise QlowerError(f"--shape is given twice for {name!r}")
    return found


def add_contract(parser: argparse.ArgumentParser) -> None:
    group = section(parser, ARITHMETIC)
    group.add_argument(
        "--contract",
        metavar="NAME",
        help="the contract: a name, or an .mlir file (default: the model's own)",
    )
    group.add_argument(
        "--layer-contract",
        action="append",
        default=[],
        metavar="LAYER=NAME",
        help="another contract for some layers: by number, name, kind of operation or "
        "glob, such as 'pool*=tflite' (repeatable; the last match holds)",
    )


def add_contracts_of_two(parser: argparse.ArgumentParser) -> None:
    """The options of `add_contract`, and one for the second of two sides, A and B."""
    add_contract(parser)
    section(parser, ARITHMETIC).add_argument(
        "--b-layer-contract",
        action="append",
        default=[],
        metavar="LAYER=NAME",
        help="another contract for some layers of B alone (repeatable)",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The options that say what a model is run on."""
    group = section(parser, INPUTS)
    group.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="an .npy or .npz file of stored values, or of real values, which are then "
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
    parser.add_argument(
        "--match",
        action="append",
        default=[],
        metavar="LAYER=TENSOR",
        help="the tensor of the float model that a layer is compared with, for layers "
        "that names and shapes don't match",
    )


def matched_layers(arguments: Sequence[str]) -> dict[str, str]:
    """Tensors of a float model by layers."""
    found: dict[str, str] = {}
    for argument in arguments:
        layer, equals, tensor = argument.partition("=")
        if not (layer and equals and tensor):
            raise QlowerError(f"--match {argument!r} is not LAYER=TENSOR")
        found[layer] = tensor
    return found


def add_full_names(parser: argparse.ArgumentParser) -> None:
    section(parser, OUTPUT).add_argument(
        "--full-names",
        action="store_true",
        help="show layers by their full names in the model's file, not by short ones",
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    section(parser, CODE).add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="share large layers among N threads of the system's OpenMP runtime; the "
        "results are the same (default: 1)",
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
        help="host (default) or a triple, such as aarch64-linux-gnu, or "
        "aarch64-none-elf for code that needs no C library; experimental: "
        "riscv64-linux-gnu, riscv32im-unknown-none-elf, thumbv7em-none-eabi (-eabihf "
        "for firmware that passes floats in registers), wasm32-unknown-unknown",
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


def make_compilation(options: argparse.Namespace) -> Compilation:
    """What the options of `add_model`, `add_contract`, `add_machine` or `add_target`
    and, where the command has them, `add_tune` and `add_threads` describe."""
    from qlower.codegen.targets.resolve import resolve_target

    target = resolve_target(options.target, options.cpu, options.features)
    return _compilation(options, target)


def make_levels(options: argparse.Namespace) -> dict[str, Compilation]:
    """`make_compilation` for each of the CPUs, by name, with one arith level."""
    from qlower.codegen.targets.resolve import resolve_levels

    targets = resolve_levels(options.target, options.cpu, options.features)
    shared = _compilation(options, next(iter(targets.values())))
    return {name: shared.for_target(target) for name, target in targets.items()}


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
    """What `add_observers`, `add_timing` and -vvv ask for."""
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


def _compilation(options: argparse.Namespace, target: Target) -> Compilation:
    from qlower.codegen.program.flavour import Flavour
    from qlower.compilation.compilation import Compilation

    given = vars(options)
    return Compilation(
        model_of(options.model, options, is_compiled=True),
        options.contract,
        target,
        Flavour(given.get("threads", 1), given.get("profile", False)),
        given.get("tune", False),
        given.get("save_layers") is not None,
        layer_contracts(options.layer_contract),
        passes=_passes(given.get("arith_passes", "")),
    )


def _passes(text: str) -> tuple[ModulePass, ...]:
    """The passes of `add_passes`."""
    if not text:
        return ()
    from qlower.compilation.pipeline import parse_passes

    return tuple(parse_passes(text))


def layer_contracts(
    arguments: Sequence[str], option: str = "--layer-contract"
) -> dict[str, str]:
    """The contracts that were given to an option, by what names the layers."""
    found: dict[str, str] = {}
    for argument in arguments:
        layer, separator, contract = argument.rpartition("=")
        if not (layer and separator and contract):
            raise QlowerError(f"{option} {argument!r} is not LAYER=NAME")
        found.pop(layer, None)
        found[layer] = contract
    return found
