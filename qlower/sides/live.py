"""Sides that are other systems, run in this process on the model's own file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import module_contract
from qlower.frontends.tflite.reader import read_model
from qlower.interp.values import Array
from qlower.model import Model
from qlower.process.extras import install_line
from qlower.sides.dumps import match_dump
from qlower.sides.sides import Computed, Values
from qlower.sides.structure import paired
from qlower.text.source_errors import first_line
from qlower.validation.references import LiveReference

Run: TypeAlias = Callable[[Sequence[Array]], dict[str, Array]]
"""From a model's inputs, in order, to all tensors that the system has, by name."""

ENGINES = ("fbgemm", "onednn", "qnnpack", "x86")

LIVE: Mapping[str, tuple[str, str, str]] = {
    "litert": ("litert", "BUILTIN", "litert"),
    "litert-opt": ("litert", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "litert"),
    "litert-ref": ("litert", "BUILTIN_REF", "litert"),
    "onnxruntime": ("onnxruntime", "", "peers"),
    "pt2": ("pt2", "", "torch"),
    "torch": ("torch", "", "peers"),
    **{f"torch-{name}": ("torch", name, "peers") for name in ENGINES},
}
"""Systems by name: the module here that runs them, which kernels, and the extra that
they need. LiteRT's are those with the XNNPACK delegate, its optimized ones without, and
the reference kernels; PyTorch's are its engines."""


@dataclass
class Live:
    """A system that runs the model's file, or another one, whose tensors are real
    numbers if it `is_real`; `notes` say how tensors were matched.

    Real numbers are rounded to stored ones if it `rounds`. `match` gives tensors by
    layers; `pairs` are the layers of tensors, once they are known."""

    title: str
    model: Model
    run: Run
    notes: list[str] = field(default_factory=list[str])
    is_real: bool = False
    rounds: bool = True
    match: Mapping[str, str] = field(default_factory=dict[str, str])
    pairs: Mapping[str, str] | None = None

    def values(self, number: int, inputs: Values) -> Values:
        """Inputs, and the results of layers that the system shows."""
        given = [inputs[spec.name] for spec in self.model.inputs]
        arrays = self.run(given)
        if self.is_real and self.pairs is None:
            contract = module_contract(self.model.module) or "exact"
            own = Computed("", self.model, contract, "jit")
            self.pairs = paired(
                arrays, self.model, self.match, lambda: own.values(number, inputs)
            )
        found = match_dump(
            self.title,
            [arrays],
            self.model,
            1,
            is_real=self.is_real,
            rounds=self.rounds,
            pairs=self.pairs,
        )
        self.notes += [note for note in found.notes if note not in self.notes]
        return {**inputs, **found.runs[0]}


def file_of(model: Model, suffix: str) -> Path:
    """The model's file, or the file next to it with another suffix.

    Raises QlowerError where there is none, and for a TFLite file of which other systems
    run another signature.
    """
    if model.path is None:
        raise QlowerError(f"a {suffix} file is needed, and the model has no file")
    if suffix == ".tflite":
        model.check_runs_elsewhere()
    path = model.path.with_suffix(suffix)
    if not os.path.exists(path):
        raise QlowerError(f"{path} is needed, which isn't there")
    return path


def live_side(title: str, name: str, model: Model) -> Live:
    """The system of that name on a model.

    Raises `QlowerError` for one that isn't installed, or refuses the file.
    """
    module, kernels, extra = LIVE[name]
    try:
        system: ModuleType = import_module(f"qlower.sides.systems.{module}")
        prepare: Callable[[Model, str], Run] = system.prepare
        return Live(title, model, prepare(model, kernels))
    except ImportError as error:
        raise QlowerError(
            f"{name} can't be used here: {error}", help=install_line(extra)
        ) from error
    except QlowerError:
        raise
    except Exception as error:  # each system has its own, some none but Exception
        raise QlowerError(f"{name} refuses the file: {first_line(error)}") from error


QUANTIZED = {
    ".onnx": (b"QuantizeLinear", b"QLinear", b"Integer"),
    ".pt2": (b"quantized_decomposed", b"quantize_per"),
}
"""Parts of the names of operators in the file of a quantized model."""

SYSTEM_OF = {".onnx": "onnxruntime", ".pt2": "pt2", ".tflite": "litert-ref"}
"""The system that runs a float model, by the file's suffix."""


def has_real_numbers(path: Path) -> bool:
    """Whether a path is an `.onnx`, `.tflite` or `.pt2` file of a model without
    quantized tensors."""
    if path.suffix not in SYSTEM_OF or not os.path.isfile(path):
        return False
    data = path.read_bytes()
    if path.suffix in QUANTIZED:
        return not any(word in data for word in QUANTIZED[path.suffix])
    types = {tensor.type for tensor in read_model(data, str(path)).tensors}
    return types.isdisjoint(("INT8", "UINT8", "INT16"))


def real_side(
    path: Path,
    model: Model,
    match: Mapping[str, str] | None = None,
    *,
    rounds: bool = True,
) -> Live:
    """The float model that a model was made of, run by LiteRT (`.tflite`), ONNX Runtime
    (`.onnx`) or PyTorch (`.pt2`) with all its tensors, on the same inputs.

    Tensors are matched with layers by `match`, by name, or by shape and values
    (`structure.paired`); if it `rounds`, real numbers become the stored ones of their
    layer. Raises `QlowerError` for a system that isn't installed, or can't read the
    file.
    """
    reference = LiveReference(path, model.inputs)
    given = replace(model, path=path, signature_name=None)
    other = live_side(str(path), SYSTEM_OF[path.suffix], given)

    def run(arrays: Sequence[Array]) -> dict[str, Array]:
        return other.run(reference.converted(arrays))

    how = "are rounded to the nearest stored ones" if rounds else "are compared as such"
    notes = [f"{path.name}: real numbers {how}"]
    return Live(str(path), model, run, notes, True, rounds, match or {})
