"""Numbers of steps as people and programs read them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.observe.place import Place, parse_place, show
from qlower.observe.rows import ratio, show_error, show_exact, show_value
from qlower.text.parsing import parse_module


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (None, ""),
        (Fraction(7), "7"),
        (Fraction(-12345678901234567), "-12345678901234567"),
        (Fraction(1, 2), "0.5"),
        (Fraction(1, 3), "0.3333333333"),
        (Fraction(123456789012, 10), "1.23456789e+10"),
        (Fraction(0), "0"),
    ],
)
def test_exact_numbers(number: Fraction | None, shown: str) -> None:
    assert show_exact(number) == shown


def test_errors_ratios_and_values() -> None:
    assert [show_error(one) for one in (None, Fraction(0), Fraction(1, 3))] == [
        *("", "", "+0.333"),
    ]
    assert show_error(Fraction(-1, 1000)) == "-0.001"
    assert (ratio(None), ratio(Fraction(75, 2)), ratio(Fraction(3))) == (
        *(None, "75/2", "3"),
    )
    values: Any = (np.bool_(True), np.int8(-3), np.float32(0.1))
    assert [show_value(one) for one in values] == ["true", "-3", "0.1"]


def module(shape: str, op: str = "relu") -> ModuleOp:
    kind = f"tensor<{shape}!quant.uniform<i8:f32, 0.5>>"
    return parse_module(
        f"func.func @main(%x: {kind}) -> {kind} {{\n"
        f'  %y = qnn.{op} %x : ({kind}) -> {kind} loc("l")\n  return %y : {kind}\n}}'
    )


PLACES: list[tuple[str, str, Place | tuple[str, str | None]]] = [
    ("2x3x", "l", Place("l", None)),
    ("1x", "l", Place("l", None)),
    ("", "l", Place("l", ())),
    ("2x3x", "l[1,2]", Place("l", (1, 2))),
    ("2x3x", "0[ 0, 0 ]", Place("l", (0, 0))),
    ("2x3x", "l[2,0]", ("'l' has no element [2,0]", "[0 to 1, 0 to 2]")),
    ("2x3x", "l[0,3]", ("'l' has no element [0,3]", "[0 to 1, 0 to 2]")),
    ("2x3x", "l[0,-1]", ("'l' has no element [0,-1]", "[0 to 1, 0 to 2]")),
    ("2x3x", "l[0]", ("'l' has no element [0]", "[0 to 1, 0 to 2]")),
    ("2x3x", "l[]", ("'l' has no element ", "[0 to 1, 0 to 2]")),
    ("2x3x", "l[n=0]", ("[n=0] is no index of 'l'", "axes have no names")),
    ("2x3x", "none[0]", ("the model has no layer 'none'", "")),
]


@pytest.mark.parametrize(("shape", "text", "expected"), PLACES)
def test_places(shape: str, text: str, expected: Place | tuple[str, str]) -> None:
    if isinstance(expected, Place):
        assert parse_place(module(shape), text) == expected
        return
    with pytest.raises(QlowerError) as caught:
        parse_place(module(shape), text)
    assert caught.value.message == expected[0]
    assert expected[1] in (caught.value.help or "")


IMAGE = """\
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x4x6x2x!x>) -> tensor<1x2x2x3x!x> {
  %y = qnn.max_pool2d %x {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]}
    : (tensor<1x4x6x2x!x>) -> tensor<1x2x3x2x!x> loc("p")
  %t = qnn.transpose %y {perm = [0, 3, 1, 2]}
    : (tensor<1x2x3x2x!x>) -> tensor<1x2x2x3x!x> loc("t")
  return %t : tensor<1x2x2x3x!x>
}"""


def test_places_by_their_axes() -> None:
    found = parse_module(IMAGE)
    assert parse_place(found, "p[c=1,w=2,h=0,n=0]") == Place("p", (0, 0, 2, 1))
    assert parse_place(found, "t[c=1,w=2,h=0,n=0]") == Place("t", (0, 1, 0, 2))
    assert parse_place(found, "p[N=0, H=1, W=0, C=1]") == Place("p", (0, 1, 0, 1))
    for text in ("p[n=0,h=0,w=0]", "p[n=0,h=0,w=0,x=0]", "p[n=0,h=0,w=0,c=0,c=1]"):
        with pytest.raises(QlowerError) as caught:
            parse_place(found, text)
        assert caught.value.help == "write [n=0,h=0,w=0,c=0], in any order"
    with pytest.raises(QlowerError) as caught:
        parse_place(found, "t[c=2,w=0,h=0,n=0]")
    assert caught.value.message == "'t' has no element [0,2,0,0]"
    assert caught.value.help == (
        "indices of its result are [n 0 to 0, c 0 to 1, h 0 to 1, w 0 to 2]"
    )
    with pytest.raises(QlowerError) as caught:
        parse_place(found, "*")
    assert caught.value.message == "'*' means 2 layers (p, t)"
    assert (show(()), show((1, 2)), str(Place("p", None))) == ("", "[1,2]", "p")
    assert str(Place("p", (1,))) == "p[1]"
