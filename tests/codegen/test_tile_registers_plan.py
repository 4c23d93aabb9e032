"""How contractions are cut for tile registers, estimated and packed, by the numbers of
their loops alone."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import UnknownLoc

from qlower.codegen.skeletons.tile_registers import plan as tile_plan
from qlower.codegen.skeletons.tile_registers.plan import (
    TilePlan,
    packed_pieces,
    plan_tiles,
    possible_tiles,
    product_cycles,
)
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import TileAttr, TileRegistersAttr

own: Any = vars(import_module("qlower.codegen.skeletons.tile_registers.plan"))

TARGET: Any = SimpleNamespace(
    tiles=SimpleNamespace(rows=16, row_bytes=64), cpu="a machine"
)


def contraction(
    length: int,
    *,
    pixels: tuple[int, ...] = (3, 20),
    taps: tuple[int, ...] = (3, 3),
    steps: tuple[int, ...] = (0, 0),
    lane: int = 16,
    groups: tuple[int, ...] = (),
    scalar: str = "i8",
) -> Any:
    """Loops over groups, pixels, channels, taps and a run; `steps` are bytes from one
    tap to the next."""
    bounds = (*groups, *pixels, lane, *taps, length)
    numbers = iter(range(len(bounds)))
    first = [tuple(next(numbers) for _ in some) for some in (groups, pixels)]
    lanes, of_taps = next(numbers), tuple(next(numbers) for _ in taps)
    strides = [0] * len(bounds)
    for loop, step in zip(of_taps, steps, strict=True):
        strides[loop] = step
    return SimpleNamespace(
        nest=SimpleNamespace(bounds=bounds, op=SimpleNamespace(location=UnknownLoc())),
        groups=first[0],
        pixels=first[1],
        lane=lanes,
        taps=of_taps,
        run=next(numbers),
        activation=SimpleNamespace(
            scalar=scalar, operand=SimpleNamespace(strides=tuple(strides))
        ),
    )


NEXT_ROW, NEXT = (0, 0, 0, 0, 0, 0), (0, 0)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (contraction(64), TilePlan(10, 64, 1, 2, 1)),
        (contraction(64, pixels=(3, 16)), TilePlan(16, 64, 1, 1, 2)),
        (contraction(64, pixels=(1, 16)), TilePlan(16, 64, 1, 1, 1)),
        (contraction(64, pixels=(16,)), TilePlan(16, 64, 1, 1, 1)),
        (contraction(64, pixels=(2, 17)), TilePlan(9, 64, 1, 2, 1)),
        (contraction(64, pixels=(33,)), TilePlan(11, 64, 1, 2, 1)),
        (contraction(64, pixels=(9, 2, 1)), TilePlan(1, 64, 1, 1, 2)),
        (contraction(65), TilePlan(10, 36, 2, 2, 1)),
        (contraction(65, steps=(9, 9)), TilePlan(10, 36, 2, 2, 1)),
        (contraction(100), TilePlan(10, 52, 2, 2, 1)),
        (contraction(129), TilePlan(10, 44, 3, 2, 1)),
        (contraction(5), TilePlan(10, 4, 2, 2, 1)),
        (contraction(4), TilePlan(10, 4, 1, 2, 1)),
        (
            contraction(5, steps=(3, 0)),
            TilePlan(10, 8, 1, 2, 1, (*NEXT_ROW, 3, 3, 3)),
        ),
        (
            contraction(5, steps=(2, 3)),
            TilePlan(10, 8, 1, 2, 1, (*NEXT, 3) * 3),
        ),
        (contraction(3, steps=(0, 1)), TilePlan(10, 4, 1, 2, 1, (*NEXT, 1) * 3)),
        (contraction(3), None),
        (contraction(3, steps=(9, 9), taps=(1, 1)), None),
        (contraction(3, steps=(9, 9), taps=(4, 4)), None),
        (
            contraction(3, steps=(9, 9), taps=(1, 12)),
            TilePlan(10, 4, 1, 2, 1, (0,) * 11 + (1,)),
        ),
        (contraction(3, steps=(9, 9), taps=(1, 13)), None),
        (contraction(64, pixels=()), None),
        (contraction(64, scalar="i16"), None),
    ],
)
def test_the_cut(given: Any, wanted: TilePlan | None) -> None:
    assert possible_tiles(TARGET, given) == wanted


def test_who_has_no_tiles() -> None:
    without: Any = SimpleNamespace(tiles=None, cpu="another machine")
    given = contraction(64)
    assert possible_tiles(without, given) is None
    assert plan_tiles(without, given, None) is None
    with pytest.raises(QlowerError) as caught:
        plan_tiles(without, given, TileRegistersAttr())
    assert caught.value.message == (
        "another machine has no tile registers for this nest, which its schedule "
        "asks for"
    )
    given.run = None
    assert possible_tiles(TARGET, given) is None


@pytest.mark.parametrize(("cycles", "is_faster"), [(9, True), (10, False)])
def test_tiles_are_chosen_where_they_are_faster(
    cycles: float, is_faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or as a schedule says."""
    monkeypatch.setattr(tile_plan, "product_cycles", lambda *_: cycles)
    monkeypatch.setattr(tile_plan, "_cycles_of_vectors", lambda *_: 10)
    given = contraction(64)
    plan = possible_tiles(TARGET, given)
    assert plan_tiles(TARGET, given, None) == (plan if is_faster else None)
    assert plan_tiles(TARGET, given, TileRegistersAttr()) == plan
    assert plan_tiles(TARGET, given, TileAttr.__new__(TileAttr)) is None


def test_estimates() -> None:
    """Three vectors of channels; a register of few pixels takes ten cycles."""
    given = contraction(64, groups=(2,), lane=33)
    plan = TilePlan(10, 64, 2, 2, 1)
    steps = 2 * 3 * 9 * 2 * 3
    for height, cycles in ((10, 2 * 10), (12, 2 * 12), (8, 3 * 10), (20, 20)):
        found = product_cycles(given, replace(plan, height=height))
        assert found == steps * cycles + 250
    vectors = own["_cycles_of_vectors"]
    runs = 2 * 3 * 20 * 9
    assert vectors(given, 64) == runs * (3 * 16 / 1.5 + 8)
    assert vectors(given, 5) == runs * (3 * 2 / 1.5 + 1 + 2)
    many = contraction(64, groups=(2,), lane=129)
    assert vectors(many, 64) == runs * (9 * 16 / 1.5 + 2 * 8)
    assert vectors(contraction(64, groups=(2,), lane=128), 64) == runs * (
        8 * 16 / 1.5 + 8
    )


@pytest.mark.parametrize(
    ("length", "plan"),
    [
        (8, TilePlan(1, 8, 1, 1, 1)),
        (10, TilePlan(1, 4, 3, 1, 1)),
        (12, TilePlan(1, 4, 3, 1, 1)),
        (9, TilePlan(1, 8, 2, 1, 1)),
        (5, TilePlan(1, 8, 1, 1, 1, (0, 3))),
    ],
)
def test_weights_in_registers(length: int, plan: TilePlan) -> None:
    """Each of a run's weights is once in them, where the activations are read."""
    shape = (1, 2, 16, 2, length)
    weights = 1 + np.arange(np.prod(shape)).reshape(shape) % 127
    data = np.frombuffer(packed_pieces(weights, plan), np.int8)
    found = data.reshape(1, 2, 2, plan.pieces, plan.depth // 4, 16, 4)
    wanted = np.zeros_like(found)
    for vector, lane, tap in product(range(2), range(16), range(2)):
        for place in range(length):
            piece = place // plan.depth
            start = min(piece * plan.depth, max(length - plan.depth, 0))
            at = place - start + (plan.leads[tap] if plan.leads else 0)
            wanted[0, vector, tap, piece, at // 4, lane, at % 4] = weights[
                0, vector, lane, tap, place
            ]
    np.testing.assert_array_equal(found, wanted)
