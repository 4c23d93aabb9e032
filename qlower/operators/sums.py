"""Sums of products, each stated once: convolutions, linear layers, matrix products.

A dialect's operation gives its `Sums`; `result_shape` is its verifier, `evaluate` the
interpreter, and `emit.sums` the loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.utils.exceptions import VerifyException

from qlower.operators.shapes import Shape, check_count, check_least
from qlower.operators.structured import WINDOWS, Structured
from qlower.operators.windows import WindowAxis, window_extent

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
"""The noun for an axis in messages, by the last letter of its word."""


def matrix_rows(rank: int) -> Structured:
    """The rows of a tensor of this rank, at least 1, times weights `[f, s]`."""
    rows = FREE[: rank - 1]
    return Structured.of(f"{rows}f|s {rows}s fs {rows}f")


def matrix_product(rank: int) -> Structured:
    """The product of matrices, in tensors of this rank, at least 2."""
    batch = FREE[: rank - 2]
    return Structured.of(f"{batch}mf|s {batch}ms {batch}sf {batch}mf")


@dataclass(frozen=True, slots=True)
class Slide:
    """The steps of a window along an axis."""

    stride: int = 1
    before: int = 0
    after: int = 0
    dilation: int = 1


def slides(
    stride: Sequence[int], pad: Sequence[int], dilation: Sequence[int], axes: int = 2
) -> list[Slide]:
    """The movement of a window along each of `axes` axes; `pad` has both ends of each.

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
        """The padding before and after the first operand, along each of its axes."""
        slides = dict(zip(self.structure.sliding, self.slides, strict=True))
        along = [slides.get(axis, Slide()) for axis in self.structure.axes[0]]
        return [slide.before for slide in along], [slide.after for slide in along]

    def without_padding(self) -> Sums:
        """The sums of an operand that has what lay around it."""
        inside = [replace(slide, before=0, after=0) for slide in self.slides]
        return replace(self, slides=inside)

    def result_shape(self, first: Shape, second: Shape) -> Shape:
        """The result's shape; VerifyException for operands that don't fit."""
        bounds = self.bounds(first, second)
        return tuple(
            math.prod(bounds[letter] for letter in axis)
            for axis in self.structure.axes[-1]
        )

    def count(self, first: Shape, second: Shape) -> int:
        """The number of products in all sums, those with padding included."""
        bounds = self.bounds(first, second)
        return math.prod(bounds[loop] for loop in self.structure.loops)

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
        bounds, structure = self.bounds(first.shape, second.shape), self.structure
        shape = self.result_shape(first.shape, second.shape)
        weight = second.reshape(self._split(1, second.shape, bounds))
        weight = weight.astype(np.float64)
        loops = structure.letters[1]
        fixed = "".join(loop for loop in loops if loop not in structure.taps)
        formula = f"{structure.letters[0].lower()},{fixed}->{structure.letters[-1]}"
        total = np.zeros([bounds[loop] for loop in structure.letters[-1]])
        image = first.astype(np.float64)
        for tap, view in self.views(image, [bounds[loop] for loop in structure.taps]):
            chosen = dict(zip(structure.taps, tap, strict=True))
            part = weight[tuple(chosen.get(loop, slice(None)) for loop in loops)]
            met = view.reshape(self._split(0, view.shape, bounds))
            total += _einsum(formula, met, part)
        return total.reshape(shape)

    def views(
        self, first: NDArray[Any], kernel: Sequence[int], around: int = 0
    ) -> Iterator[tuple[tuple[int, ...], NDArray[Any]]]:
        """Each tap of a window of this size, and what it meets of the first operand, or
        of the number around that, for all results."""
        widths = list(zip(*self.padding(), strict=True))
        whole = np.pad(first, widths, constant_values=around)
        places = dict(enumerate(self.structure.axes[0]))
        axes = [n for n, letter in places.items() if letter in WINDOWS]
        for tap in product(*map(range, kernel)):
            box = [slice(None)] * whole.ndim
            for axis, at, taps, slide in zip(
                axes, tap, kernel, self.slides, strict=True
            ):
                start = at * slide.dilation
                room = whole.shape[axis] - window_extent(taps, slide.dilation)
                box[axis] = slice(start, start + room + 1, slide.stride)
            yield tap, whole[tuple(box)]

    def _split(
        self, operand: int, shape: Shape, bounds: Mapping[str, int]
    ) -> list[int]:
        """The shape of an operand whose shared axes are taken apart, an axis a loop."""
        sizes = dict(zip(self.structure.axes[operand], shape, strict=True))
        return [
            sizes[letter] if letter in sizes else bounds[letter]
            for letter in self.structure.letters[operand]
        ]

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
