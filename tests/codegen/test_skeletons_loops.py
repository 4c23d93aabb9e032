"""Which loop is vectorised where the contiguous one is short."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

own: Any = vars(import_module("qlower.codegen.skeletons.loops"))


def operand(*strides: int, edges: bool = False) -> SimpleNamespace:
    return SimpleNamespace(strides=strides, edges=("edge",) if edges else ())


# Loops of 6, 8 and 3 steps; the last one is contiguous in the results.
ROWS, FLAT = operand(1, 0, 0), operand(0, 1, 0)


@pytest.mark.parametrize(
    ("count", "results", "inputs", "wanted"),
    [
        (3, [operand(24, 3, 1)], [FLAT], 1),
        (3, [operand(3, 24, 1)], [ROWS], 0),
        (3, [operand(24, 3, 1)], [], 1),
        (3, [operand(3, 3, 1)], [operand(1, 1, 5)], 0),
        (3, [operand(24, 3, 1)], [ROWS, FLAT], 1),
        (3, [operand(24, 3, 1)], [operand(1, 2, 0), FLAT], None),
        (3, [operand(24, 4, 1)], [FLAT], None),
        (3, [operand(24, 3, 1), operand(24, 6, 1)], [FLAT], None),
        (3, [operand(24, 3, 1)], [FLAT, operand(0, 1, 0, edges=True)], None),
        (3, [operand(24, 3, 1)], [operand(0, 1, 0, edges=True)], None),
        (1, [operand(8, 1, 1)], [FLAT], None),
        (2, [operand(16, 2, 1)], [FLAT], 1),
        (4, [operand(32, 4, 1)], [FLAT], 1),
        (5, [operand(40, 5, 1)], [FLAT], None),
    ],
)
@pytest.mark.parametrize("reductions", [(), (4,)])
def test_a_short_contiguous_loop_is_woven(
    count: int,
    results: list[Any],
    inputs: list[Any],
    wanted: int | None,
    reductions: tuple[int, ...],
) -> None:
    nest = SimpleNamespace(
        bounds=(6, 8, count),
        op=SimpleNamespace(reduction_bounds=reductions),
        parallel=range(3),
        inputs=inputs,
        results=results,
    )
    assert own["_woven_outside"](nest, 2) == (None if reductions else wanted)
