"""Sums of products, each stated once: convolutions, linear layers, matrix products.

A dialect's operation gives its `Sums`; `result_shape` is its verifier, `evaluate` the
interpreter, and `emit.sums` the loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape, check_count, check_least
from qlower.operators.structured import WINDOWS, Structured
from qlower.operators.windows import WindowAxis

CONV_2D = Structured.of("nhwf|ijc nHWc fijc nhwf")
GROUPED_CONV_2D = Structured.of("nhwgf|ijc nHW(gc) (gf)ijc nhw(gf)")
CONV_3D = Structured.of("ndhwf|kijc nDHWc fkijc ndhwf")
DEPTHWISE_CONV_2D = Structured.of("nhwcm|ij nHWc ijcm nhw(cm)")
FLAT_DEPTHWISE_CONV_2D = Structured.of("nhwcm|ij nHWc 1ij(cm) nhw(cm)")
POOL_2D = Structured.of("nhwc|ij nHWc ij nhwc")

FREE = "abdehklopqrtuvwxyz"
"""Letters for axes of any number."""

NAMES = {
    **{"D": "depth", "H": "height", "W": "width", "X": "extent", "Y": "extent"},
    **{"Z": "extent", "n": "images", "c": "channels", "m": "channels", "g": "groups"},
    **{"f": "outputs", "s": "elements to sum", "i": "rows", "j": "columns"},
}
"""What messages say that an axis has, by the last letter of its word."""


def matrix_rows(rank: int) -> Structured:
    """The rows of a tensor of so many axes, at least one, times weights `[f, s]`."""
    rows = FREE[: rank - 1]
    return Structured.of(f"{rows}f|s {rows}s fs {rows}f")


def matrix_product(rank: int) -> Structured:
    """The product of matrices, of tensors of so many axes, at least two."""
    batch = FREE[: rank - 2]
    return Structured.of(f"{batch}mf|s {batch}ms {batch}sf {batch}mf")


@dataclass(frozen=True, slots=True)
class Slide:
    """How a window moves along an axis."""

    stride: int = 1
    before: int = 0
    after: int = 0
    dilation: int = 1


def slides(
    stride: Sequence[int], pad: Sequence[int], dilation: Sequence[int], axes: int = 2
) -> list[Slide]:
    """How a window moves along each of so many axes; `pad` has both ends of each.

    Raises VerifyException for lists of another length, and for numbers out of range.
    """
    for name, given, each, least in (
        ("stride", stride, 1, 1),
        ("pad", pad, 2, 0),
        ("dilation", dilation, 1, 1),
    ):
        check_count(name, given, each * axes)
        check_least(name, given, least)
    return [
        Slide(step, before, after, distance)
        for step, before, after, distance in zip(
            stride, pad[::2], pad[1::2], dilation, strict=True
        )
    ]


@dataclass(frozen=True)
class Sums:
    """Sums over the reducing loops of the products of two operands.

    `slides` are those of the structure's sliding axes, in order; beyond the first
    operand's ends are zeros. With `exact` a window has to end where the operand does.
    """

    structure: Structured
    slides: Sequence[Slide] = ()
    groups: int = 1
    exact: bool = False
    names: tuple[str, str] = ("input", "weight")

    @property
    def steps(self) -> dict[str, tuple[int, int]]:
        """The stride and dilation of each axis that slides."""
        return {
            letter: (slide.stride, slide.dilation)
            for letter, slide in zip(self.structure.sliding, self.slides, strict=True)
        }

    def padding(self) -> tuple[list[int], list[int]]:
        """What lies before and after the first operand, along each of its axes."""
        slides = dict(zip(self.structure.sliding, self.slides, strict=True))
        along = [slides.get(axis, Slide()) for axis in self.structure.axes[0]]
        return [slide.before for slide in along], [slide.after for slide in along]

    def result_shape(self, first: Shape, second: Shape) -> Shape:
        """The result's shape; VerifyException for operands that don't fit."""
        bounds = self.bounds(first, second)
        return tuple(
            math.prod(bounds[letter] for letter in axis)
            for axis in self.structure.axes[-1]
        )

    def bounds(self, first: Shape, second: Shape) -> dict[str, int]:
        """The iterations of each loop; VerifyException for operands that don't fit."""
        found: dict[str, int] = {"g": self.groups}
        owner: dict[str, str] = {}
        shapes = (first, second)
        for name, axes, shape in zip(
            self.names, self.structure.axes, shapes, strict=False
        ):
            if len(axes) != len(shape):
                raise VerifyException(
                    f"{name} has rank {len(shape)}, expected {len(axes)}"
                )
            for place, (axis, size) in enumerate(zip(axes, shape, strict=True)):
                if axis not in WINDOWS:
                    _solve(axis, size, name, place, found, owner)
        for letter, axis in self._windows(first, found):
            position, _ = WINDOWS[letter]
            self._check_window(letter, axis)
            found[position] = axis.results
        return found

    def check_result(self, first: Shape, second: Shape, given: Shape) -> None:
        """Refuses another shape of the result than the operands give."""
        expected = self.result_shape(first, second)
        if given == expected:
            return
        axes = self.structure.axes[-1]
        windows = {
            WINDOWS[letter][0]: (letter, axis)
            for letter, axis in self._windows(first, self.bounds(first, second))
        }
        for axis, size, wanted in zip(axes, given, expected, strict=False):
            if size != wanted and axis in windows and len(given) == len(expected):
                letter, window = windows[axis]
                raise VerifyException(
                    f"output {NAMES[letter]} {size} does not follow from "
                    f"{_described(window)}: expected {wanted}"
                )
        raise VerifyException(
            f"shape {list(given)} of result does not match the expected "
            f"{list(expected)}"
        )

    def evaluate(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
        """The sums of products of integers below 2^16, exact in float64: there are far
        less than 2^20 of them in a sum."""
        bounds = self.bounds(first.shape, second.shape)
        structure = self.structure
        shape = self.result_shape(first.shape, second.shape)
        image = np.pad(first, list(zip(*self.padding(), strict=True)))
        apart: list[NDArray[np.float64]] = []
        for number, array in enumerate((image, second)):
            sizes = dict(zip(structure.axes[number], array.shape, strict=True))
            split = [
                sizes[letter] if letter in sizes else bounds[letter]
                for letter in structure.letters[number]
            ]
            apart.append(array.reshape(split).astype(np.float64))
        image, weight = apart
        places, taps = structure.letters[0], structure.taps
        fixed = "".join(x for x in structure.letters[1] if x not in taps)
        formula = f"{places.lower()},{fixed}->{structure.letters[-1]}"
        total = np.zeros([bounds[letter] for letter in structure.letters[-1]])
        for tap in product(*(range(bounds[loop]) for loop in taps)):
            at = dict(zip(structure.sliding, tap, strict=True))
            box = tuple(self._box(x, at, bounds) for x in places)
            chosen = dict(zip(taps, tap, strict=True))
            part = tuple(chosen.get(x, slice(None)) for x in structure.letters[1])
            total += _einsum(formula, image[box], weight[part])
        return total.reshape(shape)

    def _box(
        self, letter: str, at: Mapping[str, int], bounds: Mapping[str, int]
    ) -> slice:
        """What a tap of the window meets along an axis."""
        if letter not in at:
            return slice(None)
        stride, dilation = self.steps[letter]
        start = at[letter] * dilation
        count = bounds[WINDOWS[letter][0]]
        return slice(start, start + (count - 1) * stride + 1, stride)

    def _windows(
        self, first: Shape, bounds: Mapping[str, int]
    ) -> Iterator[tuple[str, WindowAxis]]:
        sizes = dict(zip(self.structure.axes[0], first, strict=True))
        for letter, slide in zip(self.structure.sliding, self.slides, strict=True):
            taps = bounds[WINDOWS[letter][1]]
            yield (
                letter,
                WindowAxis(
                    sizes[letter],
                    taps,
                    slide.stride,
                    slide.before,
                    slide.after,
                    slide.dilation,
                ),
            )

    def _check_window(self, letter: str, axis: WindowAxis) -> None:
        if axis.room < 0:
            raise VerifyException(
                f"output {NAMES[letter]} does not exist: the window of "
                f"{_described(axis)} is larger than the padded input"
            )
        if self.exact and axis.room % axis.stride:
            raise VerifyException(
                f"{NAMES[letter]} of {_described(axis)}: the window moves by "
                f"{axis.room} in all, which isn't a whole number of strides"
            )


def _einsum(
    formula: str, first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.einsum(  # pyright: ignore[reportUnknownMemberType]
        formula, first, second, optimize=True
    )


def _solve(
    axis: str,
    size: int,
    name: str,
    place: int,
    found: dict[str, int],
    owner: dict[str, str],
) -> None:
    """Note the iterations of the one loop of an axis that isn't known yet, or compare.

    `owner` has the operand that each loop is known from.
    """
    noun = NAMES.get(axis[-1])
    count = f"size {size}" if noun is None else f"{size} {noun}"
    given = f"{name} has {count} along axis {place}"
    letters = "" if axis == "1" else axis
    known = math.prod(found.get(letter, 1) for letter in letters)
    unknown = [letter for letter in letters if letter not in found]
    if not unknown:
        if size == known:
            return
        other = owner.get(axis[-1])
        expected = f"expected {known}" if other is None else f"{other} has {known}"
        groups = f" in each of {found['g']} groups" if found["g"] > 1 else ""
        raise VerifyException(f"{given}, {expected}{groups}")
    if known < 1 or size % known:
        parts = f"{known} groups don't" if axis[0] == "g" else f"{known} doesn't"
        raise VerifyException(f"{given}, which {parts} divide")
    found[unknown[0]] = size // known
    owner[unknown[0]] = name


def _described(axis: WindowAxis) -> str:
    return (
        f"input {axis.size}, kernel {axis.taps}, stride {axis.stride}, pad "
        f"{axis.before}+{axis.after}, dilation {axis.dilation}"
    )
