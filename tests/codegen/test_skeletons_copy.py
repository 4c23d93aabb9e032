"""Copies of boxes by themselves, whole and in blocks, against numpy; and how many steps
they take."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from support.machines.straight_code import load_function

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import POINTER
from qlower.codegen.skeletons.copy import cut_axis, emit_copy
from qlower.codegen.targets.resolve import host_target
from qlower.dialects.kernel import CopyOp
from qlower.model.signature import Array
from qlower.text.parsing import parse_module

AROUND = 8
"""Elements beside the result, which must stay."""


@dataclass(frozen=True)
class Box:
    """A box of a source, in a box of a result, by lists of one number an axis."""

    source: Sequence[int]
    sizes: Sequence[int]
    result: Sequence[int]
    source_at: Sequence[int] = ()
    at: Sequence[int] = ()
    source_steps: Sequence[int] = ()
    steps: Sequence[int] = ()
    fill: str = ""

    @property
    def places(self) -> list[list[int]]:
        """Offsets and strides in the source, then in the result."""
        rank = len(self.sizes)
        return [
            list(self.source_at or [0] * rank),
            list(self.source_steps or [1] * rank),
            list(self.at or [0] * rank),
            list(self.steps or [1] * rank),
        ]

    def op(self, type: str) -> CopyOp:
        source, result = (
            f"tensor<{'x'.join(map(str, shape))}x{type}>"
            for shape in (self.source, self.result)
        )
        offsets, strides, at, steps = self.places
        into = f"fill({self.fill} : {type})" if self.fill else "empty"
        text = f"""func.func @main(%x: {source}) -> {result} {{
          %y = kernel.copy %x{offsets} {list(self.sizes)} {strides} into {into}{at}
            {steps} : {source} into {result}
          return %y : {result}
        }}"""
        (op,) = (op for op in parse_module(text).walk() if isinstance(op, CopyOp))
        return op

    def copied(self, x: Array, before: Array) -> Array:
        """What the result becomes, where it is written; before are its elements."""
        offsets, strides, at, steps = self.places

        def box(first: list[int], by: list[int]) -> tuple[slice, ...]:
            return tuple(
                slice(start, start + (size - 1) * step + 1, step)
                for start, size, step in zip(first, self.sizes, by, strict=True)
            )

        wanted = np.full_like(before, float(self.fill)) if self.fill else before.copy()
        wanted[box(at, steps)] = x[box(offsets, strides)]
        return wanted


BOXES = {
    # how many loops there are, and elements along the axis that can be cut
    "whole": (Box((3, 4), (3, 4), (3, 4)), 0, 12),
    "rows": (Box((5, 4), (2, 4), (3, 4), (2, 0), (1, 0)), 0, 8),
    "columns": (Box((3, 6), (3, 4), (3, 5), (0, 1), (0, 1)), 1, 3),
    "bordered": (Box((2, 3), (2, 3), (4, 6), at=(1, 2), fill="-7"), 1, 2),
    "rows below": (Box((2, 3), (2, 3), (5, 3), at=(2, 0), fill="5"), 0, 6),
    "steps of the source": (
        Box((5, 7), (3, 3), (3, 3), (0, 0), source_steps=(2, 3)),
        2,
        3,
    ),
    "steps of the result": (Box((2, 3), (2, 3), (4, 7), at=(1, 0), steps=(2, 3)), 2, 2),
    "steps in a fill": (
        Box((2, 3), (2, 3), (4, 6), at=(1, 0), steps=(2, 2), fill="9"),
        2,
        None,
    ),
    "one": (Box((3, 3), (1, 1), (1, 1), (2, 1)), 0, None),
    "one in a fill": (Box((3, 3), (1, 1), (2, 4), (2, 1), (1, 2), fill="3"), 1, 1),
    "three axes": (Box((2, 3, 4), (2, 2, 2), (2, 3, 5), (0, 1, 2), (0, 1, 3)), 2, 2),
    "inner two": (Box((2, 3, 4), (2, 3, 4), (2, 5, 4), at=(0, 1, 0), fill="1"), 1, 2),
}
TYPES = {"i8": "i1", "i32": "i4", "f32": "f4"}


def run(box: Box, type: str, blocks: Sequence[range | None]) -> tuple[Array, Array]:
    """The result and what it should be, with the elements around it."""
    target, op = host_target(), box.op(type)
    module = Module(target.triple, target.function_attributes)
    f = Function(module, "f", [POINTER, POINTER], ["", ""], internal=False)
    for block in blocks:
        emit_copy(f, op, f.arguments[0], f.arguments[1], block)
    f.finish()
    x = np.arange(1, 1 + np.prod(box.source)).reshape(box.source).astype(TYPES[type])
    size = int(np.prod(box.result))
    before = np.full(size + 2 * AROUND, 99, TYPES[type])
    wanted = before.copy()
    inside = wanted[AROUND:-AROUND].reshape(box.result)
    inside[...] = box.copied(x, inside)
    library = load_function(str(module), target)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library["f"])
    call(x.ctypes.data, before.ctypes.data + AROUND * before.itemsize)
    return before, wanted


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", BOXES)
def test_boxes(name: str, type: str) -> None:
    box = BOXES[name][0]
    if type == "f32" and box.fill:
        type = "i32"
    found, wanted = run(box, type, [None])
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", BOXES)
def test_blocks_of_an_axis(name: str) -> None:
    """Each writes its elements, and the border next to it."""
    box, _, size = BOXES[name]
    op = box.op("i32")
    assert cut_axis(op) == size
    if size is None:
        return
    for cuts in ([0, size], [0, 1, size], [*range(size + 1)]):
        blocks = [range(a, b) for a, b in pairwise(cuts) if a < b]
        found, wanted = run(box, "i32", blocks)
        np.testing.assert_array_equal(found, wanted, str(cuts))


@pytest.mark.parametrize(
    ("shape", "at"),
    [
        ((2, 3, 4), (0, 1, 1)),
        ((2, 2, 4), (0, 0, 0)),
        ((3, 2, 4), (1, 0, 0)),
        ((2, 3, 3), (0, 1, 0)),
        ((3, 2, 3), (0, 0, 0)),
        ((2, 2, 3), (0, 0, 0)),
    ],
)
def test_a_border_around_what_is_there(
    shape: tuple[int, ...], at: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it, after it, or nowhere, along some of its axes."""
    monkeypatch.setattr(CopyOp, "box_is_written", True)
    sizes = (2, 2, 3)
    # a larger source, so that no axes are walked as one
    box = Box((2, 3, 4), sizes, shape, at=at, fill="7")
    found, wanted = run(box, "i32", [None])
    inside = wanted[AROUND:-AROUND].reshape(shape)
    inside[tuple(slice(a, a + b) for a, b in zip(at, sizes, strict=True))] = 99
    np.testing.assert_array_equal(found, wanted)


def test_floats_around_a_box() -> None:
    box = Box((2, 3), (2, 3), (4, 6), at=(1, 2), fill="-2.5")
    found, wanted = run(box, "f32", [None])
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", BOXES)
def test_axes_that_are_one_run_are_one(name: str) -> None:
    """Loops over large axes, whose steps can't be written out."""
    box, loops, _ = BOXES[name]
    f = Function(Module("", ""), "f", [POINTER, POINTER], ["", ""])
    counted: list[int] = []
    loop = f.loop

    def count(*given: object) -> object:
        counted.append(1)
        return loop(*given)  # pyright: ignore[reportArgumentType]

    setattr(f, "loop", count)  # noqa: B010
    emit_copy(f, box.op("i8"), f.arguments[0], f.arguments[1])
    assert len(counted) == loops
