"""A small model and inputs for it that distinguish arithmetics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from qlower.contracts import Contract, contract_names, load_contract
from qlower.contracts.family import Arithmetic
from qlower.contracts.family.choices import FIXED
from qlower.diagnostics import QlowerError
from qlower.explain.diff import Progress, no_progress
from qlower.identification.cases import Case, Cases, Layer
from qlower.identification.evidence import Evidence
from qlower.identification.onnx_file import channels_first, onnx_file
from qlower.identification.replay import Replay
from qlower.identification.search import first_members
from qlower.identification.tflite_file import tflite_file
from qlower.interp.values import Array
from qlower.model import Model, build
from qlower.model.printing import exact_module
from qlower.process.extras import install_line
from qlower.process.float_environment import default_floats
from qlower.text.hints import set_hint

_CODES = 1 << 10
"""More than a stored integer has codes."""

TIMES = 2
"""The points of a layer that distinguish each two contracts, if it has that many."""


MORE = 120
"""The rough number of other points of a convolution or linear layer."""


@dataclass(frozen=True)
class Probe:
    """A model, and the stored values of its inputs by name."""

    model: Model
    inputs: Mapping[str, Array]

    @property
    def outputs(self) -> int:
        """The elements of all outputs together."""
        return sum(int(np.prod(spec.shape)) for spec in self.model.outputs)


Format: TypeAlias = Literal["tflite", "onnx", "mlir"]

PACKAGES: Mapping[Format, Sequence[str]] = {
    "tflite": ("tflite", "flatbuffers"),
    "onnx": ("onnx",),
    "mlir": (),
}
"""Packages that writing a format needs; the extra is named after the format."""


@default_floats()
def probe(format: Format, progress: Progress = no_progress) -> Probe:
    """A model of a layer of each kind, and inputs for it, whose elements are chosen so
    that all contracts differ that can, and the family's members.

    Activations are uint8 for ONNX, else int8. In MLIR, which has both, products that
    leave 16 bits are there with both.
    """
    cases = Cases(signed=format != "onnx")
    contracts = {name: load_contract(name) for name in contract_names()}
    every = list(cases.all())
    layers = {
        every[number].name: chosen(every[number], contracts)
        for number in progress(range(len(every)), "probe")
    }
    layers.update(cases.products())
    if format == "mlir":
        unsigned = Cases(signed=False).products()
        layers.update({f"{name}_unsigned": layer for name, layer in unsigned})
    return make_probe(layers)


def check_format(format: Format) -> None:
    """Raises QlowerError for a format that needs a package which isn't there."""
    for package in PACKAGES[format]:
        try:
            import_module(package)
        except ImportError as error:
            raise QlowerError(
                f"writing .{format} files needs the package {package!r}: {error}",
                help=install_line(format),
            ) from error


def write_probe(probe: Probe, format: Format, folder: Path) -> Path:
    """Write the model into an existing folder, and its inputs by name as `inputs.npz`;
    the model's path."""
    inputs = dict(probe.inputs)
    match format:
        case "tflite":
            data = tflite_file(probe.model)
        case "onnx":
            data = onnx_file(probe.model)
            inputs = {name: channels_first(array) for name, array in inputs.items()}
        case "mlir":
            data = exact_module(probe.model.module).encode()
    path = folder / f"probe.{format}"
    path.write_bytes(data)
    np.savez(folder / "inputs.npz", **inputs)
    return path


def make_probe(layers: Mapping[str, Layer]) -> Probe:
    """The model that has these layers side by side, each result an output."""

    def body(*arguments: SSAValue) -> list[SSAValue]:
        rest = list(arguments)
        results: list[SSAValue] = []
        for name, layer in layers.items():
            own = [rest.pop(0) for _ in layer.types]
            result = layer.result(*own)
            set_hint(result, name)
            results.append(result)
        return results

    types = [type for layer in layers.values() for type in layer.types]
    model = build.make_model(types, body)
    arrays = [array for layer in layers.values() for array in layer.inputs]
    names = [spec.name for spec in model.inputs]
    return Probe(model, dict(zip(names, arrays, strict=True)))


def chosen(case: Case, contracts: Mapping[str, Contract]) -> Layer:
    """The case's layer with the points that distinguish contracts, and for convolutions
    and linear layers, unless they are for contracts alone, members of the family."""
    everything = make_probe({case.name: case.layer(case.points)})
    (output,) = everything.model.outputs
    nothing = np.zeros(output.shape, output.numpy_dtype)
    replay = Replay(everything.model, contracts)
    own = replay.run(0, {**everything.inputs, output.name: nothing})
    made = (array for values in own for array in values.values())
    rows: list[Array] = [array for array in made if not isinstance(array, str)]
    if replay.observed and case.for_family:
        places = np.arange(nothing.size)
        evidence = Evidence(replay.observed, load_contract("exact"), places)
        results = (evidence.results(one) for one in _members())
        rows += [array for array in results if array is not None]
    values = np.stack([array.reshape(-1) for array in rows])
    points = set(separating(values, TIMES))
    if replay.observed and case.for_family:
        tells = np.flatnonzero(np.ptp(values.astype(np.int32), axis=0))
        points.update(tells[:: max(1, len(tells) // MORE)].tolist())
    return case.layer(case.points[sorted(points)])


def _members() -> Iterator[Arithmetic]:
    """Members of the family, and all that differ in one choice from one of a few."""
    yield from first_members()
    for rounding in ("half_up", "half_even", "floor", "toward_zero"):
        for scaling in (FIXED, "multiply f32"):
            plain = Arithmetic(scaling=scaling, rounding=rounding).normal()
            yield from (other for _, other in plain.neighbours())
    twice = Arithmetic(first="half_up")
    yield from (other for _, other in twice.neighbours())


def separating(values: Array, times: int = 1) -> list[int]:
    """Columns that distinguish all rows that differ in any column, `times` times over.

    `values` is [row, column]. Each column is the one that splits most classes of rows
    that were equal so far.
    """
    values = np.unique(values, axis=0).astype(np.int32)
    left = np.unique(values, axis=1, return_index=True)[1]
    chosen: list[int] = []
    for _ in range(times):
        rows, classes = values, np.zeros(len(values), np.int32)
        while left.size and len(rows):
            split = np.sort(classes[:, np.newaxis] * _CODES + rows[:, left], axis=0)
            counts = np.count_nonzero(np.diff(split, axis=0), axis=0)
            best = int(np.argmax(counts))
            if counts[best] + 1 == len(np.unique(classes)):
                break
            own = classes * _CODES + rows[:, left[best]]
            _, classes, sizes = np.unique(own, return_inverse=True, return_counts=True)
            several = sizes[classes] > 1
            rows, classes = rows[several], classes[several].astype(np.int32)
            chosen.append(int(left[best]))
            left = np.delete(left, best)
    return sorted(chosen)
