"""Functions of integers, made by hand: names, constants of lanes, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i1, i8, i32
from xdsl.ir import Attribute

from qlower.circuits.functions import (
    Argument,
    LaneBody,
    ScalarFunction,
    annotate,
    first_real,
    identifier,
    is_by_channel,
    port_name,
    with_constants,
)
from qlower.circuits.make import Circuit
from qlower.circuits.ports import open_function
from qlower.contracts import parse_contract
from qlower.diagnostics import QlowerError
from qlower.interp import evaluate_function
from qlower.interp.values import Array
from qlower.text.parsing import parse_module

OWN: Any = vars(import_module("qlower.circuits.functions"))


def lanes(*of: int, shape: Sequence[int] | None = None) -> Any:
    array = np.array(of, np.int64)
    return SimpleNamespace(
        of=array if shape is None else array.reshape(shape), places=np.unique(array)
    )


def test_names_of_ports_and_functions() -> None:
    names = {name: port_name(name) for name in ("input", "real", "cell", "inputs")}
    assert names == {
        **{"input": "operand", "real": "real_number", "cell": "cell_state"},
        "inputs": "inputs",
    }
    found = {name: identifier(name) for name in ("_a.b/c_", "1a", "_", "", "\u00e9x2")}
    assert found == {
        **{"_a.b/c_": "a_b_c", "1a": "f_1a", "_": "f_", "": "f_", "\u00e9x2": "x2"},
    }


def test_lanes_that_are_channels() -> None:
    """Where each of a pixel's places is an entry, at any position."""
    assert is_by_channel(lanes(0, 1, 2, shape=(1, 1, 3)))
    assert is_by_channel(lanes(0, shape=()))
    assert not is_by_channel(lanes(0, 1, 2, shape=(3, 1)))


@pytest.mark.parametrize(
    ("low", "high", "joined"),
    [
        ([1, 1], [2, 2], ([1], [2])),
        ([1, 1], [2, 3], ([1, 1], [2, 3])),
        ([1, 0], [2, 2], ([1, 0], [2, 2])),
        ([4], [5], ([4], [5])),
        ([], [], ([], [])),
    ],
)
def test_bounds_that_all_lanes_share(
    low: list[int], high: list[int], joined: tuple[list[int], list[int]]
) -> None:
    found = OWN["_joined"](np.array(low), np.array(high))
    assert tuple(one.tolist() for one in found) == joined


def test_constants_of_lanes_become_arguments() -> None:
    """One for equal lists of one type; equal numbers are a constant. A name says what
    the number is for, or the first step does."""
    scale, amount = np.array([3, 5]), np.array([1, 2])
    body = LaneBody({"scale": scale})
    x = body.argument(i32, "x")
    factor = body.constant(scale, i32)
    assert body.constant(np.array([3, 5]), i32) is factor
    assert body.constant(np.array([3, 5]), i8) is not factor
    shift, other = body.constant(amount, i32), body.constant(np.array([2, 1]), i32)
    wide = body.constant(np.array([True, False]), i1)
    seven = body.constant(np.array([7, 7]), i32)
    assert isinstance(seven.owner, arith.ConstantOp)
    y = body.add(arith.MuliOp(x, factor)).result
    z = body.add(arith.ShRSIOp(y, shift)).result
    z = body.add(arith.ShRSIOp(z, other)).result
    body.add(arith.AddiOp(z, body.add(arith.ExtUIOp(wide, i32)).result))
    found = body.parameters()
    assert [(one.name, one.low.tolist(), one.parameter) for one in found] == [
        *(("scale", [3, 5], True), ("constant", [3, 5], True)),
        *(("shift", [1, 2], True), ("shift_n1", [2, 1], True)),
        ("addend", [-1, 0], True),
    ]
    assert all(np.array_equal(one.low, one.high) for one in found)
    assert [one.name_hint for one in body.arguments][:2] == ["x", "scale"]
    assert first_real(body) is None


def test_the_first_step_in_floats() -> None:
    body = LaneBody({})
    x = body.argument(i32)
    body.add(arith.AddiOp(x, x))
    real = body.add(arith.SIToFPOp(x, f32))
    body.add(arith.AddfOp(real.result, real.result))
    assert first_real(body) is real


def scaled(count: int) -> ScalarFunction:
    """x, times a number of each channel, and another one above."""
    (function,) = parse_module("""func.func @f(%x: i32, %m: i32, %b: i32) -> i32 {
      %y = arith.muli %x, %m : i32
      %z = arith.addi %y, %b : i32
      return %z : i32
    }""").body.block.ops
    numbers = np.arange(count) + 2
    arguments = (
        Argument("x", np.array([-9]), np.array([9])),
        Argument("m", numbers, numbers, True),
        Argument("b", -numbers, -numbers, True),
    )
    question: Any = SimpleNamespace(lanes=lanes(*range(count)), functions=("rule",))
    own: Any = function
    annotate(own, arguments)
    return ScalarFunction("f", "c", "r", own, arguments, question, np.arange(count))


def test_constants_are_looked_up_by_channel() -> None:
    given = scaled(3)
    assert [one.name for one in given.runtime] == ["x"]
    assert [one.name for one in given.parameters] == ["m", "b"]
    assert (given.lane_count, given.rule, given.selector) == (3, "rule", "channel")
    found = with_constants(given)
    assert [(one.name, one.parameter) for one in found.arguments] == [
        *(("x", False), ("channel", True)),
    ]
    assert found.arguments[1].low.tolist() == found.arguments[1].high.tolist()
    assert found.arguments[1].low.tolist() == [0, 1, 2]
    names = [value.name_hint for op in found.function.walk() for value in op.results]
    assert [name for name in names if name in ("m", "b")] == ["m", "b"]
    assert [one.name_hint for one in found.function.args] == ["x", "channel"]
    assert str(found.function.function_type) == "(i32, i32) -> i32"
    x, channel = np.array([5, 5, -4], np.int32), np.array([0, 1, 2], np.int32)
    (values,) = evaluate_function(found.function, [x, channel])
    assert values.tolist() == [8, 12, -20]
    assert found.function.arg_attrs is not None
    bounds = [str(one) for one in found.function.arg_attrs]
    assert "array<i64: -9>" in bounds[0]
    assert "array<i64: 0, 1, 2>" in bounds[1]
    assert len(given.function.args) == 3
    assert with_constants(found_without_constants()).function.sym_name.data == "f"


def found_without_constants() -> ScalarFunction:
    given = scaled(1)
    own = ScalarFunction(*vars(given).values())
    object.__setattr__(own, "arguments", given.arguments[:1])
    assert with_constants(own) is own
    return own


class Squares:
    """A rule of the squares, those of the second lane doubled."""

    def __init__(self, output: Attribute) -> None:
        type = SimpleNamespace(outputs=[output])
        self.rule = SimpleNamespace(
            name="sigmoid", function=SimpleNamespace(function_type=type)
        )

    def __call__(self, lane: Array, numbers: Array) -> Array:
        return numbers**2 * (lane + 1)


def table(high: int, *of: int, output: Attribute = i32, ports: int = 1) -> Any:
    domain = SimpleNamespace(low=np.array([-2, 0]), high=np.array([0, high]))
    question = SimpleNamespace(
        functions=[Squares(output)], domain=domain, lanes=lanes(*of)
    )
    runtime = [Argument("x", np.array([-2]), np.array([high]))] * ports
    real = SimpleNamespace(name="math.exp")
    return OWN["_table"]("t", "c", question, np.array(of), runtime, real)


@pytest.mark.parametrize("count", [1, 2])
def test_steps_in_floats_are_a_table(count: int) -> None:
    found = table(3, *range(count))
    names = [(one.name, one.parameter) for one in found.arguments]
    assert names == [("x", False), *[("channel", True)] * (count - 1)]
    assert found.is_table
    x = np.tile(np.arange(-2, 4, dtype=np.int32), count)
    channel = np.repeat(np.arange(count, dtype=np.int32), 6)
    (values,) = evaluate_function(found.function, [x, channel][:count])
    assert values.tolist() == (x**2 * (channel + 1)).tolist()
    assert with_constants(found) is found
    assert found.function.sym_name.data == "t"
    assert [one.name_hint for one in found.function.args] == ["x", "channel"][:count]


def test_tables_that_are_too_long_or_of_more() -> None:
    assert table(253, 0).is_table
    for wrong in (
        lambda: table(254, 0),
        lambda: table(3, 0, output=f32),
        lambda: table(3, 0, ports=2),
    ):
        with pytest.raises(QlowerError) as caught:
            wrong()
        assert caught.value.message == (
            "rule sigmoid of contract c has a step in floats, math.exp, which no "
            "circuit of integers has"
        )


STEPS = """\
func.func @requantize(%input: i32, %input_zero_point: i32, %output_zero_point: i32)
    -> i32 {
  %sum = arith.addi %input_zero_point, %output_zero_point : i32
  %product = arith.muli %input_zero_point, %output_zero_point : i32
  %q = arith.divsi %input, %sum : i32
  %r = arith.divsi %product, %input : i32
  %s = arith.addi %q, %r : i32
  return %s : i32
}"""


def test_a_divisor_that_is_a_port_is_positive() -> None:
    """A dividend is any number."""
    rule = open_function(parse_contract(STEPS, "own", "own.mlir"), "requantize")
    ends = {one.name: (one.low.item(), one.high.item()) for one in rule.arguments}
    assert ends == {
        "operand": (-128, 127),
        "divisor": (1, (1 << 31) - 1),
        "dividend": (-(1 << 31), (1 << 31) - 1),
    }


def test_bits_of_a_constant_result() -> None:
    bits: Any = vars(Circuit)["bits"].fget
    (function,) = parse_module(
        "func.func @f(%a: i8) -> i8 { return %a : i8 }"
    ).body.block.ops
    assert bits(SimpleNamespace(function=function)) == (8, 8)
