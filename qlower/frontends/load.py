"""Reading a model from a file, of whatever kind it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.model import Model
from qlower.model.contract_files import name_contracts_from_here
from qlower.model.cut import computed_names, cut_module
from qlower.model.entry import name_tensors
from qlower.model.layers import has_dialect, name_layers
from qlower.text.parsing import parse_file, parse_module
from qlower.text.verification import verify_module

from .format import Format
from .import_options import INTEGER, ImportOptions, fit_shape, unknown_output
from .model_files import CONVERTED, check_model_path

ModelOrPath: TypeAlias = Model | str | PathLike[str]

GRAPHS = {
    **{".tflite": "tflite", ".onnx": "onnx", ".pt2": "pt2"},
    **{".param": "ncnn", ".espdl": "espdl"},
}
"""Files of graphs, and the front end of each kind."""


_TPU_MODULE = re.compile(rb"^module\b.*\bmodule\.state = ", re.MULTILINE)
_HEAD = 1 << 12


def graph_kind(file: Path) -> str | None:
    """The front end for a file of a graph; None for text of the levels that are
    compiled. TPU-MLIR's text is known by its module's attributes."""
    if file.suffix != ".mlir":
        return GRAPHS.get(file.suffix)
    with suppress(OSError), file.open("rb") as stream:
        if _TPU_MODULE.search(stream.read(_HEAD)):
            return "tpu"
    return None


def format_of(kind: str) -> Format[object]:
    """The format that a front end reads."""
    return cast(Format[object], import_module(f"qlower.frontends.{kind}").FORMAT)


def load(
    path: str | PathLike[str],
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    outputs: Sequence[str] = (),
    qdq: str = INTEGER,
    signature: str | None = None,
) -> Model:
    """Read a model from an `.mlir`, `.tflite`, `.onnx`, `.pt2`, `.param` or `.espdl`
    file, and by the tools of LLVM and of TOSA from `.mlirbc` and `.tosa` files.

    `shapes` fixes inputs, by name, whose shapes the file leaves open; what isn't given
    is 1. `outputs` cuts the model: it then returns these tensors, by their names in the
    file or in tables, and what they don't depend on isn't read. `qdq` says what
    groups of dequantize, operator, quantize in an ONNX file become: operators on
    integers wherever ONNX Runtime may have those ("integer"), where its default session
    on x86-64 has ("x86"), nowhere ("as-written"), or everywhere, with activations that
    clip codes, as on accelerators ("device"). `signature` names one of a TFLite
    file's, whose subgraph is read in place of the first.

    Raises `QlowerError` for a file that can't be read, is malformed, or uses something
    that isn't supported; the error names the place.
    """
    return as_read(path, ImportOptions.of(shapes, outputs, qdq, signature))


def as_read(path: str | PathLike[str], options: ImportOptions) -> Model:
    """The model of a file that is read as `load` does, by options that it checked."""
    file = check_model_path(path)
    if file.suffix != ".onnx":
        options.check_no_qdq(f"{file.suffix} files")
    if file.suffix != ".tflite":
        options.check_no_signature(f"{file.suffix} files")
    if (kind := graph_kind(file)) is not None:
        module = format_of(kind).module(file, name=str(file), options=options)
        return replace(named(module, file), signature_name=options.signature)
    if file.suffix in CONVERTED:
        from qlower.frontends.converted import text_of

        module = parse_module(text_of(file), str(file))
        verify_module(module)
        return _of_text(module, file, options)
    return _of_text(parse_file(file), file, options)


def load_text(text: bytes, name: str, options: ImportOptions) -> Model:
    """Read a model from MLIR text; `name` stands for a file in locations."""
    module = parse_module(text, name)
    verify_module(module)
    return _of_text(module, None, options)


def as_model(
    model: ModelOrPath,
    contracts: Sequence[str] = (),
    reading: ImportOptions | None = None,
) -> Model:
    """The model as the systems of these contracts run it; one from a path is read as
    they read it, or by a `reading` that is given."""
    from qlower.frontends.fused_additions import as_run_by
    from qlower.frontends.linear_sequences import in_sequences

    if not isinstance(model, Model):
        model = as_read(model, reading or reading_by(model, contracts))
    return in_sequences(as_run_by(model, contracts), contracts)


def reading_by(
    path: str | PathLike[str], contracts: Sequence[str] = ()
) -> ImportOptions:
    """The options by which the systems of these contracts read a file."""
    if not contracts or Path(path).suffix != ".onnx":
        return ImportOptions()
    from qlower.frontends.readings import reading_of

    return ImportOptions(qdq=reading_of(contracts))


def _of_text(module: ModuleOp, file: Path | None, options: ImportOptions) -> Model:
    """The model of a module that was verified, from a file or from standard input."""
    if file is not None:
        name_contracts_from_here(module, file)
    if has_dialect(module, "tosa"):
        from qlower.frontends.tosa import complete_tosa

        complete_tosa(module, options)
    if has_dialect(module, "linalg"):
        from qlower.frontends.linalg import complete_linalg

        complete_linalg(module)
    return _with_options(named(module, file), options)


def named(module: ModuleOp, file: Path | None) -> Model:
    """The model of a module, with names for its layers and tensors."""
    name_layers(module)
    name_tensors(module)
    return Model(module, file)


def _with_options(model: Model, options: ImportOptions) -> Model:
    """A model of MLIR text, whose shapes are all fixed, cut at the outputs."""
    options.check_inputs(spec.name for spec in model.inputs)
    for spec in model.inputs:
        given = options.shapes.get(spec.name)
        fit_shape(f"input {spec.name!r}", given, spec.shape, QlowerError)
    if not options.outputs:
        return model
    by_full_name = {full: short for short, full in model.full_names.items()}
    computed = computed_names(model.module)
    outputs = [by_full_name.get(name, name) for name in options.outputs]
    for name in outputs:
        if name not in computed:
            raise unknown_output(name, computed)
    return Model(cut_module(model.module, outputs), model.path)
