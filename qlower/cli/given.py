"""Values of options that several commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qlower.cli.exit_codes import UsageError
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.targets.resolve import Target, resolve_levels, resolve_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.files.digits import is_number
from qlower.frontends.import_options import INTEGER, ImportOptions
from qlower.frontends.model_files import check_model_path

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from qlower.frontends.load import ModelOrPath
    from qlower.model import Model


def given_model(options: argparse.Namespace) -> ModelOrPath:
    """The file of MODEL, or the model that standard input has."""
    return model_of(options.model, options)


def model_of(path: str, options: argparse.Namespace) -> ModelOrPath:
    """A model's file; read already where `add_import_options` or a contract that is
    named say anything of how, or where it is standard input."""
    named = _named_reading(path, options)
    if not (path == "-" or _says_how(options) or named is not None):
        return check_model_path(path)

    from qlower.frontends.load import as_read

    if path == "-":
        return _standard_input(options)
    return as_read(path, import_options(options, named))


def _says_how(options: argparse.Namespace) -> bool:
    """Whether options of `add_import_options` are given."""
    given = (options.shape, options.outputs, options.qdq, options.signature)
    return any(given)


def _standard_input(options: argparse.Namespace) -> Model:
    from qlower.frontends.load import load_text

    given = import_options(options)
    given.check_no_qdq("text")
    given.check_no_signature("text")
    return load_text(sys.stdin.buffer.read(), "<stdin>", given)


def import_options(
    options: argparse.Namespace, reading: str | None = None
) -> ImportOptions:
    """The values of the options of `add_import_options`; groups in ONNX files have a
    `reading` where no option says otherwise."""
    return ImportOptions.of(
        shapes(options.shape),
        options.outputs,
        options.qdq or reading or INTEGER,
        options.signature,
    )


def shapes(arguments: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The shapes of `--shape` by the inputs' names."""
    found: dict[str, tuple[int, ...]] = {}
    for argument in arguments:
        name, separator, text = argument.rpartition("=")
        sizes = text.split("x")
        if not (name and separator and all(map(is_number, sizes))):
            raise QlowerError(f"--shape {argument!r} is not NAME=SIZExSIZE...")
        shape = tuple(map(int, sizes))
        if found.setdefault(name, shape) != shape:
            raise QlowerError(f"--shape is given twice for {name!r}")
    return found


def each_shape(arguments: Sequence[str]) -> list[list[str]]:
    """The arguments of `--shape` for each of the shapes that inputs have, as in
    NAME=SIZES,SIZES,...; others have one shape, or as many."""
    listed = [argument.rpartition("=")[2].split(",") for argument in arguments]
    counts = {len(texts) for texts in listed} - {1}
    if len(counts) > 1:
        raise QlowerError(
            f"--shape gives {' and '.join(map(str, sorted(counts)))} shapes: inputs "
            "have as many each, or one"
        )
    names = [argument.rpartition("=")[0] for argument in arguments]
    return [
        [
            f"{name}={texts[number % len(texts)]}"
            for name, texts in zip(names, listed, strict=True)
        ]
        for number in range(max(counts, default=1))
    ]


def matched_layers(arguments: Sequence[str]) -> dict[str, str]:
    """Tensors of a float model by layers."""
    return dict(_sides("--match", "LAYER=TENSOR", arguments))


def name_values(option: str, arguments: Sequence[str]) -> list[tuple[str, str]]:
    """The two sides of each NAME=VALUE."""
    return _sides(option, "NAME=VALUE", arguments)


def _sides(option: str, form: str, arguments: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {argument!r} must be {form}")
        found.append((name, value))
    return found


def make_compilation(options: argparse.Namespace) -> Compilation:
    """The compilation that the options on model, contract and machine, with or without
    a target, and, if the command has them, --tune and --threads describe."""
    triple: str = vars(options).get("target", "host")
    target = resolve_target(triple, options.cpu, options.features)
    return _compilation(options, target)


def make_levels(options: argparse.Namespace) -> dict[str, Compilation]:
    """`make_compilation` for each of the CPUs, by name, with one arith level."""
    targets = resolve_levels(options.target, options.cpu, options.features)
    shared = _compilation(options, next(iter(targets.values())))
    return {
        name: shared.for_target(target.optimized(options.optimize))
        for name, target in targets.items()
    }


def _compilation(options: argparse.Namespace, target: Target) -> Compilation:
    given, path, reading = vars(options), options.model, None
    if path != "-" and _says_how(options):
        reading = import_options(options, _named_reading(path, options))
    return Compilation(
        _standard_input(options) if path == "-" else check_model_path(path),
        options.contract,
        target,
        Flavour(given.get("threads", 1), given.get("profile", False)),
        given.get("tune", False),
        given.get("save_layers") is not None,
        layer_contracts(options.layer_contract),
        reading=reading,
        passes=_passes(given.get("arith_passes", "")),
    )


def _passes(text: str) -> tuple[ModulePass, ...]:
    """The passes of `add_passes`."""
    if not text:
        return ()
    from qlower.compilation.named_passes import parse_passes

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


def _named_reading(path: str, options: argparse.Namespace) -> str | None:
    """The reading of an ONNX file that the named contracts imply; None if that is the
    default one."""
    words: list[str] = [*(getattr(options, "equal", None) or ())]
    for name in ("contract", "a", "b"):
        given = getattr(options, name, None)
        words += given.split(",") if isinstance(given, str) else given or ()
    if not words or Path(path).suffix != ".onnx":
        return None
    from qlower.contracts import is_contract
    from qlower.frontends.readings import reading_of

    named = [word for word in (one.split(":")[0] for one in words) if is_contract(word)]
    reading = reading_of(named)
    return None if reading == INTEGER else reading
