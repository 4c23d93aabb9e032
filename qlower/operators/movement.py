"""Operators that move elements and compute nothing, each stated once.

A movement says which element of which operand is at each position of the result. A
dialect's operation makes one of its properties; then `result_shape` is its verifier,
`evaluate` the interpreter and the folding of constants, and `emit.movement` the lowered
code. A new movement is a class here and a case there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import (
    Shape,
    check_axis,
    check_least,
    check_one_each,
)


class Movement(ABC):
    """A movement of elements, for operands of any shape that fits."""

    @abstractmethod
    def result_shape(self, *shapes: Shape) -> Shape:
        """The result's shape; VerifyException for operands that don't fit."""

    @abstractmethod
    def evaluate(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        """The result for operands that fit."""


@dataclass(frozen=True, slots=True)
class Reshape(Movement):
    """The elements in the same row-major order; one size of -1 follows from the
    others."""

    shape: Shape

    def result_shape(self, *shapes: Shape) -> Shape:
        (source,) = shapes
        count, given = math.prod(source), self.shape
        known = math.prod(size for size in given if size != -1)
        if given.count(-1) == 1 and known > 0 and count % known == 0:
            given = tuple(count // known if size == -1 else size for size in given)
        if any(size < 0 for size in given) or math.prod(given) != count:
            raise VerifyException(
                f"{count} elements of {list(source)} don't have shape {list(given)}"
            )
        return given

    def evaluate(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        (source,) = arrays
        return source.reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Transpose(Movement):
    """Axis i of the result is axis `order[i]` of the operand."""

    order: Sequence[int]

    def result_shape(self, *shapes: Shape) -> Shape:
        (source,) = shapes
        if sorted(self.order) != list(range(len(source))):
            raise VerifyException(
                f"{list(self.order)} is not an order of the axes of {list(source)}"
            )
        return tuple(source[axis] for axis in self.order)

    def evaluate(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        (source,) = arrays
        return source.transpose(self.order)


@dataclass(frozen=True, slots=True)
class Slice(Movement):
    """A box: element i is `start + i * stride` of the operand, for i below `size`.

    `names` are what messages call the three.
    """

    start: Sequence[int]
    size: Sequence[int]
    stride: Sequence[int]
    names: tuple[str, str, str] = ("start", "size", "stride")

    def result_shape(self, *shapes: Shape) -> Shape:
        (source,) = shapes
        lists = (self.start, self.size, self.stride)
        for name, values in zip(self.names, lists, strict=True):
            check_one_each(name, values, source)
        for axis, (start, size, stride) in enumerate(zip(*lists, strict=True)):
            last = start + (size - 1) * stride
            for place in (start, last) if size else ():
                if not 0 <= place < source[axis]:
                    raise VerifyException(
                        f"slice of axis {axis} reads element {place}, "
                        f"outside [0, {source[axis] - 1}]"
                    )
        return tuple(self.size)

    def evaluate(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        (source,) = arrays
        lists = (self.start, self.size, self.stride)
        box = (
            slice(start, start + size * stride, stride)
            for start, size, stride in zip(*lists, strict=True)
        )
        return source[tuple(box)]


@dataclass(frozen=True, slots=True)
class Pad(Movement):
    """Elements before and after each axis, and `between` those of the operand, all of
    `value`; where that is None, of a second operand that has one element."""

    low: Sequence[int]
    high: Sequence[int]
    between: Sequence[int] | None = None
    value: float | None = None
    names: tuple[str, str, str] = ("low", "high", "between")

    @property
    def spreads(self) -> bool:
        """Whether something lies between elements of the operand."""
        return any(self.between or ())

    @property
    def steps(self) -> list[int]:
        """The distance of the operand's elements in the result, along each axis."""
        return [1 + n for n in self.between or [0] * len(self.low)]

    def result_shape(self, *shapes: Shape) -> Shape:
        source = shapes[0]
        lists = (self.low, self.high, self.between)
        for name, values in zip(self.names, lists, strict=True):
            if values is not None:
                check_one_each(name, values, source)
                check_least(name, values, 0)
        return tuple(
            low + max(size - 1, 0) * step + min(size, 1) + high
            for low, size, step, high in zip(
                self.low, source, self.steps, self.high, strict=True
            )
        )

    def evaluate(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        source = arrays[0]
        value = arrays[1].reshape(()) if self.value is None else self.value
        result = np.full(self.result_shape(source.shape), value, source.dtype)
        box = (
            slice(low, low + size * step, step)
            for low, size, step in zip(self.low, source.shape, self.steps, strict=True)
        )
        result[tuple(box)] = source
        return result


@dataclass(frozen=True, slots=True)
class Concatenate(Movement):
    """The operands one after the other along an axis."""

    axis: int

    def result_shape(self, *shapes: Shape) -> Shape:
        if not shapes:
            raise VerifyException("expected at least one operand")
        first, axis = shapes[0], self.axis
        check_axis(axis, len(first))
        for number, shape in enumerate(shapes):
            same = (*first[:axis], *shape[axis : axis + 1], *first[axis + 1 :])
            if len(shape) != len(first) or shape != same:
                raise VerifyException(
                    f"shape {list(shape)} of operand {number} differs from "
                    f"{list(first)} beside axis {axis}"
                )
        total = sum(shape[axis] for shape in shapes)
        return (*first[:axis], total, *first[axis + 1 :])

    def evaluate(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate(arrays, self.axis)


@dataclass(frozen=True, slots=True)
class Reverse(Movement):
    """The other order along an axis."""

    axis: int

    def result_shape(self, *shapes: Shape) -> Shape:
        (source,) = shapes
        check_axis(self.axis, len(source))
        return source

    def evaluate(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        (source,) = arrays
        return np.flip(source, self.axis)


@dataclass(frozen=True, slots=True)
class Tile(Movement):
    """The operand repeated along each axis."""

    multiples: Sequence[int]

    def result_shape(self, *shapes: Shape) -> Shape:
        (source,) = shapes
        check_one_each("multiples", self.multiples, source)
        check_least("multiples", self.multiples, 1)
        return tuple(map(math.prod, zip(source, self.multiples, strict=True)))

    def evaluate(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        (source,) = arrays
        return np.tile(source, self.multiples)


@dataclass(frozen=True, slots=True)
class Broadcast(Movement):
    """The operand's axis i as axis `axes[i]` of `shape`, repeated where it has one
    element, and along the other axes."""

    axes: Sequence[int]
    shape: Shape

    def result_shape(self, *shapes: Shape) -> Shape:
        (source,) = shapes
        fits = len(self.axes) == len(source) == len(set(self.axes)) and all(
            0 <= axis < len(self.shape) and size in (1, self.shape[axis])
            for axis, size in zip(self.axes, source, strict=True)
        )
        if not fits:
            raise VerifyException(
                f"axes {list(self.axes)} don't bring {list(source)} to "
                f"{list(self.shape)}"
            )
        return self.shape

    def evaluate(self, *arrays: NDArray[Any]) -> NDArray[Any]:
        (source,) = arrays
        order = sorted(range(len(self.axes)), key=self.axes.__getitem__)
        sizes = dict(zip(self.axes, source.shape, strict=True))
        aligned = [sizes.get(axis, 1) for axis in range(len(self.shape))]
        return np.broadcast_to(source.transpose(order).reshape(aligned), self.shape)


def border(mode: str, size: int, low: int, high: int) -> list[int]:
    """The indices that the elements around a dimension, and its own, are copies of:
    `edge` repeats the ends, `reflect` turns back at them, `symmetric` behind them, and
    `wrap` begins again."""
    places = np.arange(-low, size + high)
    match mode:
        case "edge":
            places = np.clip(places, 0, size - 1)
        case "reflect" | "symmetric":
            past = 1 if mode == "symmetric" else 0
            period = max(2 * (size - 1 + past), 1)
            places = np.minimum(places % period, (-past - places) % period)
        case _:
            places = places % size
    return [int(place) for place in places]
