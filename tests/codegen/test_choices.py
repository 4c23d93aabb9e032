"""Choices among ways to the same bits, which only code that is looked at would show."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.codegen.llvm.values import Type
from qlower.codegen.skeletons.contraction import widened
from qlower.codegen.targets.base import FixedPoint
from qlower.codegen.targets.resolve import resolve_target


@pytest.mark.parametrize(
    ("widest", "takes_halves", "type", "fills"),
    [
        (32, True, Type("i32", 4), True),
        (32, True, Type("i32", 2), True),
        (32, True, Type("i32", 6), True),
        (32, True, Type("i32", 3), False),
        (32, True, Type("i32", 1), False),
        (32, True, Type("i64", 2), False),
        (64, True, Type("i64", 2), True),
        (64, True, Type("i64", 1), False),
        (32, False, Type("i32", 4), True),
        (32, False, Type("i32", 2), False),
        (32, False, Type("i8", 16), True),
        (32, True, Type("i8", 8), True),
        (None, True, Type("i64", 2), True),
        (None, True, Type("i16", 4), True),
        (None, True, Type("i128", 2), False),
    ],
)
def test_vectors_of_whole_registers_or_halves(
    widest: int | None, takes_halves: bool, type: Type, fills: bool
) -> None:
    """Registers of 128 bits; by default all widths of lanes, and halves."""
    known = None
    if widest is not None:
        known = FixedPoint({}, "", takes_halves=takes_halves, widest=widest)
    target = replace(resolve_target("aarch64-linux-gnu", None), fixed_point=known)
    assert target.vector_bits == 128
    fill = vars(import_module("qlower.codegen.values.fixed_point"))["_fills_registers"]
    assert fill(target, type) is fills


def contraction(channels: int, length: int, rows: int, **changed: Any) -> Any:
    """A sum over runs of `length` bytes, for `rows` pixels in a row."""
    nest = SimpleNamespace(bounds=[rows, channels, length], may_repeat=False)
    pixels = [0] if rows > 1 else []
    given = {
        **{"nest": nest, "run": 2, "lane": 1, "pixels": pixels},
        "activation": SimpleNamespace(scalar="i8"),
        "weight": SimpleNamespace(operand=SimpleNamespace(packed=None)),
    }
    return SimpleNamespace(**given | changed)


def weights(words: int, columns: int, **changed: Any) -> Any:
    given = {"has_row_factor": False, "parts": None}
    of = SimpleNamespace(shape=(1, 1, columns, 1, words, 4))
    return SimpleNamespace(
        factors=lambda layout: SimpleNamespace(
            weights=of, layout=layout, **given | changed
        )
    )


@pytest.mark.parametrize(
    ("channels", "length", "rows", "given", "expected"),
    [
        (4, 8, 1, {}, True),
        (3, 8, 1, {}, True),
        (2, 8, 1, {}, False),
        (1, 8, 2, {}, False),
        (2, 8, 2, {}, True),
        (4, 3, 1, {}, True),
        (4, 2, 1, {}, False),
        (4, 5, 1, {}, False),
        (4, 6, 1, {}, True),
        (4, 8, 1, {"run": None}, False),
        (4, 8, 1, {"activation": SimpleNamespace(scalar="i16")}, False),
    ],
)
def test_when_a_routine_pays(
    channels: int,
    length: int,
    rows: int,
    given: dict[str, Any],
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More than half of its columns are filled, 4 for a row and 2 each for two rows,
    and three quarters of its words."""
    target = resolve_target("thumbv7em-none-eabi", "cortex-m4")
    assert target.halves is not None
    routines = tuple(
        SimpleNamespace(columns=columns, rows=n) for n, columns in ((1, 4), (2, 2))
    )
    halves: Any = SimpleNamespace(rows=routines)
    monkeypatch.setattr(widened, "nibbles_save", lambda *_: False)
    machine = replace(target, halves=halves)
    columns = routines[rows > 1].columns
    made: Any = contraction(channels, length, rows, **given)
    words = -(-length // 4)
    plan = widened.plan_widened(machine, made, weights(words, columns))
    assert (plan is not None) is expected
    if plan is not None:
        assert plan.words == words
        assert plan.x_bytes == 8 * plan.routine.rows * words
    for refused in ({"has_row_factor": True}, {"parts": ()}):
        assert widened.plan_widened(machine, made, weights(2, 4, **refused)) is None
    assert widened.plan_widened(machine, made, weights(1024, columns)) is None
    assert (
        widened.plan_widened(replace(target, halves=None), made, weights(2, 4)) is None
    )
