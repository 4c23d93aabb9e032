"""The inputs and outputs of a model: names, shapes, types and quantization."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array, unmasked

if TYPE_CHECKING:
    from qlower.tables.table import Column, Table


@dataclass(frozen=True)
class TensorSpec:
    """One input or output of a model.

    `scales` and `zero_points` hold one entry for a quantized tensor and none for a real
    or plain integer one: `real = scale * (stored - zero_point)`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()

    @property
    def numpy_dtype(self) -> np.dtype[np.generic]:
        """The type of the stored elements."""
        return np.dtype(self.dtype)

    @property
    def scale(self) -> float | None:
        """The scale, or None when the tensor isn't quantized."""
        return self.scales[0] if self.scales else None

    @property
    def zero_point(self) -> int | None:
        """The zero point, or None when the tensor isn't quantized."""
        return self.zero_points[0] if self.zero_points else None

    def quantize(self, real: ArrayLike) -> Array:
        """The stored elements of real numbers, in the same shape.

        Real numbers are taken as float32, as C programs have them. Each becomes the
        integer nearest to `real / scale`, a float32 division, with ties to the even
        one; plus the zero point, and saturated to the stored type. NaN becomes the zero
        point. Raises QlowerError for a tensor that isn't quantized.
        """
        if self.scale is None or self.zero_point is None:
            raise QlowerError(f"{self.name!r} isn't quantized: it holds {self.dtype}")
        limits = np.iinfo(self.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.rint(unmasked(real).astype(np.float32) / np.float32(self.scale))
        stored = np.nan_to_num(steps.astype(np.float64), posinf=np.inf, neginf=-np.inf)
        stored = np.clip(stored + self.zero_point, limits.min, limits.max)
        return stored.astype(self.numpy_dtype)

    def dequantize(self, stored: Array) -> NDArray[np.float64]:
        """The real numbers of stored elements, as float64."""
        values = stored.astype(np.float64)
        if self.scale is None or self.zero_point is None:
            return values
        return (values - self.zero_point) * self.scale

    def check(self, array: Array) -> Array:
        """`array` itself, or a `QlowerError` if it isn't of this shape and type."""
        if array.dtype != self.numpy_dtype:
            raise QlowerError(
                f"input {self.name!r} has type {array.dtype}, the model takes "
                f"{self.dtype}",
                help=self._type_help(array.dtype),
            )
        if array.shape != self.shape:
            raise QlowerError(
                f"input {self.name!r} has shape {list(array.shape)}, the model takes "
                f"{list(self.shape)}",
                help=layout_hint(array.shape, self.shape),
            )
        return array

    @property
    def table(self) -> Table[TensorSpec]:
        """A line with all that is known."""
        from qlower.tables.table import Column, Table

        columns: list[Column[TensorSpec]] = [
            Column("tensor", "name", lambda one: one.name, right=False),
            Column("shape", "shape", lambda one: one.shape),
            Column("type", "dtype", lambda one: one.dtype, right=False),
            Column("scale", "scales", lambda one: one.scales),
            Column("zero point", "zero_points", lambda one: one.zero_points),
        ]
        return Table("tensor", [self], columns)

    def to_dict(self) -> Mapping[str, object]:
        """Return plain data: name, shape, dtype, scales and zero points."""
        return self.table.records()[0]

    def render(self, width: int | None = None) -> str:
        """Return the text of `str`, which is a line of any width."""
        return str(self)

    def _repr_html_(self) -> str:
        return self.table.render("html")

    def _type_help(self, given: np.dtype[np.generic]) -> str | None:
        """Advice on an array of another type."""
        if self.scale is not None and given.kind == "f":
            return (
                f"real values are stored as round(real / {self.scale}) + "
                f"{self.zero_point}, which `quantize` of this input computes"
            )
        if {given.name, self.dtype} == {"int8", "uint8"}:
            change = "subtract 128" if self.dtype == "int8" else "add 128"
            other = f"(array ^ 0x80).view('{self.dtype}')"
            if self.dtype == "uint8":
                other = "array.view('uint8') ^ 0x80"
            return f"where both stand for the same real values, {change}: {other}"
        return None

    def __str__(self) -> str:
        shape = "x".join(str(extent) for extent in self.shape)
        text = f"{self.name}: {shape}x{self.dtype}" if shape else self.name
        if self.scale is not None:
            text += f", scale {self.scale:.9g}, zero point {self.zero_point}"
        return text


def layout_hint(given: Sequence[int], wanted: Sequence[int]) -> str | None:
    """Advice on an array with another order of dimensions than the model's, if that is
    its fault: most often an image whose channels come first."""
    if len(wanted) == 4 and len(given) >= 3:
        height, width, channels = wanted[1:]
        if tuple(given[-3:]) == (channels, height, width):
            return "NCHW? numpy.moveaxis(array, -3, -1) puts the channels last"
    if sorted(given) == sorted(wanted):
        return "these are the model's dimensions in another order"
    return None


@dataclass(frozen=True)
class StateSpec(TensorSpec):
    """A tensor that a model keeps from one call to the next.

    `initial` has the bytes of the stored elements that a new state begins with.
    """

    initial: bytes = b""

    @property
    def nbytes(self) -> int:
        """The size of the stored elements."""
        return len(self.initial)


@dataclass(frozen=True)
class Signature:
    """The inputs and outputs of a model, in order, and what it keeps between calls.

    A model's function takes the states after the inputs, and gives what they become
    after the outputs.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    states: tuple[StateSpec, ...] = ()

    @property
    def arguments(self) -> tuple[TensorSpec, ...]:
        """All that the model's function takes."""
        return (*self.inputs, *self.states)

    @property
    def results(self) -> tuple[TensorSpec, ...]:
        """All that the model's function gives."""
        return (*self.outputs, *self.states)

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back."""
        data = asdict(self)
        for entry in data["states"]:
            packed = zlib.compress(entry["initial"])
            entry["initial"] = base64.b64encode(packed).decode()
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Signature:
        """The signature that `to_json` made `data` of."""

        def fields(entry: Mapping[str, Any]) -> dict[str, Any]:
            lists = ("shape", "scales", "zero_points")
            return {**entry, **{name: tuple(entry[name]) for name in lists}}

        def state(entry: Mapping[str, Any]) -> StateSpec:
            values = fields(entry)
            values["initial"] = zlib.decompress(base64.b64decode(entry["initial"]))
            return StateSpec(**values)

        return Signature(
            tuple(TensorSpec(**fields(entry)) for entry in data["inputs"]),
            tuple(TensorSpec(**fields(entry)) for entry in data["outputs"]),
            tuple(state(entry) for entry in data["states"]),
        )

    def bind(
        self, positional: Sequence[Array], named: Mapping[str, Array]
    ) -> list[Array]:
        """Arrays in the order of the inputs, each checked for shape and type."""
        arrays = assign_inputs(self.inputs, positional, named)
        pairs = zip(self.inputs, arrays, strict=True)
        return [spec.check(array) for spec, array in pairs]


def assign_inputs(
    specs: Sequence[TensorSpec],
    positional: Sequence[Array],
    named: Mapping[str, Array],
) -> list[Array]:
    """The array of every input, in order.

    Shapes and types aren't looked at. Raises `QlowerError` for an input that is
    missing, unknown or given twice.
    """
    if len(positional) == len(specs) and not named:
        return [unmasked(given) for given in positional]
    if len(positional) > len(specs):
        raise QlowerError(
            f"{len(positional)} inputs given, the model takes {len(specs)}"
        )
    known = [spec.name for spec in specs]
    unknown = [name for name in named if name not in known]
    if unknown:
        raise QlowerError(
            f"the model has no input {unknown[0]!r}",
            help=f"its inputs are {', '.join(map(repr, known))}",
        )
    arrays: list[Array] = []
    for index, spec in enumerate(specs):
        given = named.get(spec.name)
        if index < len(positional):
            if given is not None:
                raise QlowerError(f"input {spec.name!r} is given twice")
            given = positional[index]
        if given is None:
            raise QlowerError(f"input {spec.name!r} is missing")
        arrays.append(unmasked(given))
    return arrays
