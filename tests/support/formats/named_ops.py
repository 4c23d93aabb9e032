"""Text of every named `linalg` op, made from its definition, and numpy's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qlower.dialects.linalg.named import WINDOWS, Definition, WindowOp
from qlower.dialects.linalg.table import DEFINITIONS

Array = NDArray[np.generic]

SIZES = dict(zip("bcdfghijkmnw", (2, 3, 4, 5, 2, 4, 2, 3, 3, 4, 2, 5), strict=True))
"""The trip count of each loop."""

STRIDES = {"D": 1, "H": 2, "W": 3}
DILATIONS = {"D": 2, "H": 3, "W": 1}

ZERO_POINTS = (3, -2)

ON_FLOATS = ("abs", "ceil", "floor", "negf", "round", "sqrt")


@dataclass(frozen=True)
class Example:
    """One op in a function that takes all of its tensors."""

    name: str
    definition: Definition

    @property
    def kind(self) -> str:
        return self.name.removeprefix("linalg.")

    @property
    def words(self) -> Sequence[str]:
        words = self.definition.indices
        return ["bc" if word == "*" else word.strip("_") for word in words]

    def shapes(self) -> list[tuple[int, ...] | None]:
        """The shape of each operand; None for a scalar."""
        return [None if word == "." else tuple(map(_size, word)) for word in self.words]

    def types(self) -> list[str]:
        shapes = self.shapes()
        elements = ["i8"] * (len(shapes) - 1)
        total = "i32"
        if "*" in self.definition.indices:
            total = "f32" if self.kind in ON_FLOATS else "i32"
            elements = [total] * len(elements)
            if self.kind == "copy":
                elements = ["i8"]
            elif self.kind == "select":
                elements[0] = "i1"
        return [
            "i32" if shape is None else _tensor(shape, element)
            for shape, element in zip(shapes, [*elements, total], strict=True)
        ]

    def text(self, *, properties: str = "") -> str:
        """A function `@<kind>` of the tensors; scalars are `ZERO_POINTS`."""
        types = self.types()
        tensors = [n for n, type in enumerate(types) if type != "i32"]
        arguments = ", ".join(f"%t{n}: {types[n]}" for n in tensors)
        names = [f"%t{n}" if n in tensors else f"%z{n}" for n in range(len(types))]
        zeros = "".join(
            f"  %{name} = arith.constant {number} : i32\n"
            for name, number in zip(("z2", "z3"), ZERO_POINTS, strict=True)
            if "." in self.words
        )
        if issubclass(DEFINITIONS[self.name][0], WindowOp):
            axes = [letter for letter in self.words[0] if letter in WINDOWS]
            properties = ", ".join(
                f"{key} = dense<{[values[letter] for letter in axes]}>"
                f" : tensor<{len(axes)}xi64>"
                for key, values in (("dilations", DILATIONS), ("strides", STRIDES))
            )
        given = f" {{{properties}}}" if properties else ""
        return (
            f"func.func @{self.kind}({arguments}) -> {types[-1]} {{\n{zeros}"
            f"  %r = {self.name}{given} ins({', '.join(names[:-1])} : "
            f"{', '.join(types[:-1])}) outs({names[-1]} : {types[-1]}) -> {types[-1]}\n"
            f"  return %r : {types[-1]}\n}}\n"
        )

    def inputs(self, random: np.random.Generator) -> list[Array]:
        """Tensors for the function: small integers, floats that have a root."""
        arrays: list[Array] = []
        for type, shape in zip(self.types(), self.shapes(), strict=True):
            if shape is None:
                continue
            if "f32" in type:
                arrays.append(np.abs(random.normal(0, 9, shape)).astype(np.float32))
            elif type.endswith("xi1>"):
                arrays.append(random.integers(0, 2, shape).astype(np.bool_))
            else:
                dtype = np.int8 if "xi8" in type else np.int32
                arrays.append(random.integers(-128, 128, shape).astype(dtype))
        return arrays

    def answer(self, given: Sequence[Array]) -> Array:
        """What numpy makes of the tensors that `inputs` gives."""
        *inputs, start = given
        kind = self.kind
        if "*" in self.definition.indices:
            return np.asarray(_FUNCTIONS[kind](*inputs), start.dtype)
        a, b = (array.astype(np.int64) for array in inputs)
        if self.definition.is_unsigned:
            a = a.astype(np.uint8).astype(np.int64)
        if "." in self.words:
            a, b = a - ZERO_POINTS[0], b - ZERO_POINTS[1]
        word_a, word_b, *_, word = self.words
        a, word_a = _windows(a, word_a)
        if not kind.startswith("pooling"):
            total = np.einsum(f"{word_a},{word_b}->{word}", a, b)
            return (total + start).astype(np.int32)
        axes = tuple(n for n, letter in enumerate(word_a) if letter in "ij")
        if kind.endswith("sum"):
            return (a.sum(axes) + start).astype(np.int32)
        if "max" in kind:
            return _extreme(np.maximum, a.max(axes), start, kind)
        return _extreme(np.minimum, a.min(axes), start, kind)


def _extreme(function: np.ufunc, found: Array, start: Array, kind: str) -> Array:
    dtype = np.uint32 if kind.endswith("unsigned") else np.int32
    return function(found.astype(dtype), start.view(dtype)).view(np.int32)


def _windows(image: NDArray[np.int64], word: str) -> tuple[NDArray[np.int64], str]:
    """The image with two axes, position and tap, for each axis of a window."""
    letters = ""
    for letter in word:
        if letter in WINDOWS:
            position, tap = WINDOWS[letter]
            places = np.add.outer(
                np.arange(SIZES[position]) * STRIDES[letter],
                np.arange(SIZES[tap]) * DILATIONS[letter],
            )
            image = np.take(image, places, axis=len(letters))
            letters += position + tap
        else:
            letters += letter
    return image, letters


def _divided(a: Array, b: Array) -> Array:
    """The quotient, cut towards zero."""
    return np.trunc(a.astype(np.float64) / b.astype(np.float64)).astype(np.int64)


_FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "abs": np.abs,
    "add": np.add,
    "ceil": np.ceil,
    "copy": np.positive,
    "div": _divided,
    "div_unsigned": lambda a, b: np.floor_divide(a.view(np.uint32), b.view(np.uint32)),
    "floor": np.floor,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "negf": np.negative,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x),
    "select": np.where,
    "sqrt": np.sqrt,
    "sub": np.subtract,
}


def _size(letter: str) -> int:
    if letter not in WINDOWS:
        return SIZES[letter]
    position, tap = (SIZES[loop] for loop in WINDOWS[letter])
    return (position - 1) * STRIDES[letter] + (tap - 1) * DILATIONS[letter] + 1


def _tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


EXAMPLES = [Example(name, definition) for name, (_, definition) in DEFINITIONS.items()]
