"""Operators as index words: loops by letter, and a word an operand that says where each
iteration reads and writes.

    nhwf|ijc  nHWc fijc nhwf

is a convolution: loops n, h, w, f run over the result, i, j, c reduce; the image is
read at `[n, H, W, c]`, the weights at `[f, i, j, c]`. A capital slides: H is
`h * stride + i * dilation`. Letters in parentheses share an axis: `(gc)` is
`g * C + c`. `1` is an axis of one element, `_` a tensor without axes, `.` a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

from xdsl.ir.affine import AffineExpr

WINDOWS = {"D": "dk", "H": "hi", "W": "wj", "X": "xp", "Y": "yq", "Z": "zr"}
"""The loops of each coordinate of a window: over results, and over taps."""

Steps: TypeAlias = Mapping[str, tuple[int, int]]
"""The stride and the dilation of coordinates that slide; (1, 1) where it has none."""


@dataclass(frozen=True)
class Structured:
    """Loops, in order, and the word of each operand, the result's last. Loops that the
    result lacks reduce."""

    loops: str
    words: tuple[str, ...]

    @staticmethod
    @cache
    def of(text: str) -> Structured:
        """`parallel|reducing word word ...`."""
        loops, *words = text.split()
        return Structured(loops.replace("|", ""), tuple(words))

    @cached_property
    def axes(self) -> tuple[tuple[str, ...], ...]:
        """The index of each axis of each operand: a letter, several, or `1`."""
        return tuple(
            tuple(part.strip("()") for part in re.findall(r"\(\w+\)|\w", word))
            for word in (word.strip("_.") for word in self.words)
        )

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The letters of each word, those of shared axes one by one, without `1`."""
        return tuple("".join(axes).replace("1", "") for axes in self.axes)

    @property
    def sliding(self) -> str:
        """The coordinates of the first operand that slide, in order."""
        return "".join(letter for letter in self.letters[0] if letter in WINDOWS)

    @property
    def taps(self) -> str:
        """The loops over the elements of a window, in the order of `sliding`."""
        return "".join(WINDOWS[letter][1] for letter in self.sliding)

    @property
    def reductions(self) -> int:
        """The number of loops that reduce."""
        return sum(loop not in self.letters[-1] for loop in self.loops)

    def without(self, loop: str) -> Structured:
        """The operator without a loop that has one iteration; an axis of it alone
        becomes one of one element."""
        words = (
            re.sub(r"\((\w)\)", r"\1", _without(word, loop)) for word in self.words
        )
        return Structured(self.loops.replace(loop, ""), tuple(words))

    def places(
        self, axes: Sequence[str], bounds: Mapping[str, int], steps: Steps
    ) -> tuple[AffineExpr, ...]:
        """The position of each iteration along axes; `bounds` has the iterations of
        loops that share one."""
        return tuple(self._place(axis, bounds, steps) for axis in axes)

    def _place(self, axis: str, bounds: Mapping[str, int], steps: Steps) -> AffineExpr:
        if axis in WINDOWS:
            stride, dilation = steps.get(axis, (1, 1))
            position, tap = map(self._loop, WINDOWS[axis])
            return position * stride + tap * dilation
        if axis == "1":
            return AffineExpr.constant(0)
        first, *rest = axis
        place = self._loop(first)
        for letter in rest:
            place = place * bounds[letter] + self._loop(letter)
        return place

    def _loop(self, letter: str) -> AffineExpr:
        return AffineExpr.dimension(self.loops.index(letter))


def _without(word: str, loop: str) -> str:
    alone, shared = rf"{loop}(?![^(]*\))", rf"{loop}(?=[^(]*\))"
    return re.sub(shared, "", re.sub(alone, "1", word))
