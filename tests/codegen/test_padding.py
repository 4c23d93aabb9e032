"""Depthwise convolutions of padding that no memory has, between guard pages."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest
from support.lanes import a_part
from support.layers.windows import Window, build
from support.machines.native import (
    compile_text,
    guarded_copies,
    guarded_runs,
    kernel_module,
    levels,
)

from qlower.codegen.nests import blocks
from qlower.codegen.program import team
from qlower.codegen.program.flavour import Flavour
from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import host_target
from qlower.runtime.executable import Executable

Pair: TypeAlias = tuple[int, int]
Case: TypeAlias = tuple[tuple[int, int, int], Pair, Pair, Pair, Pair, Pair]

CASES: list[Case] = [
    # rows, columns and channels with padding; kernel, stride, dilation; rows above and
    # below, columns before and after
    ((6, 9, 33), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1)),
    ((9, 40, 70), (3, 3), (2, 2), (1, 1), (0, 1), (0, 1)),
    ((3, 3, 16), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1)),
    ((7, 26, 5), (3, 5), (1, 1), (2, 1), (3, 2), (2, 3)),
    ((5, 23, 130), (2, 3), (1, 2), (1, 3), (0, 0), (5, 4)),
    ((8, 11, 2), (4, 1), (3, 1), (1, 1), (2, 1), (0, 0)),
    # too large a window to be written out
    ((14, 17, 7), (12, 13), (1, 1), (1, 1), (4, 5), (6, 5)),
]


def window_of(case: Case) -> Window:
    (height, width, channels), kernel, stride, dilation, rows, columns = case
    return Window(
        height,
        width,
        channels,
        channels,
        kernel,
        stride,
        dilation,
        groups=channels,
        depthwise=True,
        unsigned_x=channels % 2 == 0,
        padding=(*rows, *columns),
        border=-77,
    )


@pytest.mark.parts(12)
@pytest.mark.parametrize("level", sorted(levels()))
def test_every_level(level: str):
    for case in a_part(CASES, 3, sorted(levels()).index(level)):
        text, x, want = build(window_of(case), seed=len(CASES))
        for (got,) in guarded_runs(compile_text(text, levels()[level]), [x]):
            np.testing.assert_array_equal(got.reshape(want.shape), want, str(case))


@pytest.mark.parametrize("rows", [1, 9])
def test_threads(rows: int, monkeypatch: pytest.MonkeyPatch):
    """Blocks of rows or columns whose place is only known when the code runs."""
    monkeypatch.setattr(blocks, "LEAST_NANOSECONDS", 0.0)
    monkeypatch.setattr(team, "LEAST_SAVED_NANOSECONDS", float("-inf"))
    case: Case = ((rows + 2, 150, 24), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1))
    text, x, want = build(window_of(case), seed=rows)
    compiled = compile_module(kernel_module(text), host_target(), Flavour(threads=2))
    assert "call void @team_share" in compiled.llvm_text
    run = Executable(compiled)
    empty = np.zeros(compiled.signature.outputs[0].shape, np.int8)
    for image, got in zip(guarded_copies(x), guarded_copies(empty), strict=True):
        run.run([image], [got])
        np.testing.assert_array_equal(got.reshape(want.shape), want)
