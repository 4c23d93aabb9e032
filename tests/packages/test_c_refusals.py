"""Operations that C has no form for are refused by name, and their neighbours not."""

from __future__ import annotations

from typing import Any, cast

import pytest

from qlower.diagnostics import QlowerError
from qlower.packages.c_source.floats import FLOATS
from qlower.packages.c_source.integers import INTEGERS
from qlower.packages.c_source.region_state import RegionState
from qlower.text.parsing import parse_module


class Helpers:
    """Names of functions."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: name


DIVISIONS = [f"arith.{name} %a, %a" for name in ("divsi", "divui", "remsi", "remui")]
CONVERT = "fixed.convert %a {rounding = floor}"


def written(line: str, before: str, after: str) -> str:
    """The C of an operation on values of one type, with a result of another."""
    text = f"""func.func @f(%a: {before}) -> {after} {{
  %r = {line}
  return %r : {after}
}}"""
    (op,) = (o for o in parse_module(text).walk() if o.results)
    step = cast(RegionState, type("S", (), {"helpers": Helpers()})())
    return {**INTEGERS, **FLOATS}[op.name](
        step, op, ["a", "b", "c"][: len(op.operands)]
    )


@pytest.mark.parametrize(
    ("line", "types", "told"),
    [
        *((f"{one} : i1", ("i1", "i1"), f"{one[:11]} of i1") for one in DIVISIONS),
        ("math.fma %a, %a, %a : f64", ("f64", "f64"), "math.fma on f64"),
        (f"{CONVERT} : f32 to i1", ("f32", "i1"), "fixed.convert to i1"),
    ],
)
def test_what_c_lacks(line: str, types: tuple[str, str], told: str) -> None:
    with pytest.raises(QlowerError, match=f"{told} has no form in C") as caught:
        written(line, *types)
    assert caught.value.help is not None
    assert "--executor interp" in caught.value.help


@pytest.mark.parametrize(
    ("line", "types", "told"),
    [
        ("arith.divsi %a, %a : i8", ("i8", "i8"), "(int8_t)(a / b)"),
        ("arith.remsi %a, %a : i32", ("i32", "i32"), "(int32_t)(a % b)"),
        ("math.fma %a, %a, %a : f32", ("f32", "f32"), "fused_multiply_add(a, b, c)"),
        (f"{CONVERT} : f32 to i8", ("f32", "i8"), "convert(a)"),
    ],
)
def test_what_c_has(line: str, types: tuple[str, str], told: str) -> None:
    assert written(line, *types) == told
