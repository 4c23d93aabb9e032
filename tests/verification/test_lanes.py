"""Elements that share their constants, and inputs that give one of them a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qlower.contracts import parse_contract
from qlower.frontends.load import named
from qlower.interp.values import Array
from qlower.observe.layer_run import Evaluation, run_layer
from qlower.text.parsing import parse_module
from qlower.verification.functions import Lanes, Variable, make_lanes
from qlower.verification.reach import reach_average

SHAPE = (2, 3, 4)


def side(body: str, **values: Any) -> Evaluation:
    """A rule of a sum, of a number of its channel and, if it asks for that, of its
    element's position."""
    position = ', %e: i32 {contract.value = "element"}' if "%e" in body else ""
    text = f"""module {{
    func.func @sum(%x: i32 {{contract.value = "accumulator"}},
        %p: i32 {{contract.value = "output_zero_point"}}{position}) -> i32 {{
      %three = arith.constant 3 : i32
      {body}
      return %y : i32
    }} }}"""
    rule = parse_contract(text, "mine", "mine.mlir").rule("sum")
    return Evaluation(rule, {"accumulator": np.zeros(SHAPE, np.int32), **values})


ADDS = "%y = arith.addi %x, %p : i32"
CHOOSES = """%c = arith.cmpi slt, %e, %three : i32
%y = arith.select %c, %x, %p : i32"""
MOVES = "%y = arith.addi %x, %e : i32"
POSITION = np.arange(24, dtype=np.int32).reshape(SHAPE)


def check(lanes: Lanes, **columns: Array) -> None:
    """Two elements have a lane exactly if all of their numbers are the same."""
    assert lanes.shape == SHAPE
    of = np.broadcast_to(lanes.of, SHAPE).reshape(-1)
    flat = [np.broadcast_to(value, SHAPE).reshape(-1) for value in columns.values()]
    keys = [*zip(*flat, strict=True)]
    assert len(lanes.places) == len({*keys}) == len({*of})
    assert [keys[place] for place in lanes.places[of]] == keys
    for lane, place in enumerate(lanes.places):
        assert lanes.index(lane) == np.unravel_index(int(place), SHAPE)


@pytest.mark.parametrize("seed", range(4))
def test_elements_of_the_same_constants(seed: int) -> None:
    random = np.random.default_rng(seed)
    points = [
        random.integers(0, 3, shape).astype(np.int32)
        for shape in ((), (4,), (3, 1), (2, 1, 1), SHAPE)
    ]
    one, other, low = (points[n] for n in random.choice(5, 3))
    sides = [side(ADDS, output_zero_point=point) for point in (one, other)]
    lanes = make_lanes(sides, ({"low": low}, {}), SHAPE)
    assert lanes is not None
    check(lanes, one=one, other=other, low=low)
    for number, point in enumerate((one, other)):
        column = lanes.columns[number, "output_zero_point"]
        flat = np.broadcast_to(point, SHAPE).reshape(-1)
        assert (np.broadcast_to(column, len(lanes.places)) == flat[lanes.places]).all()
    assert (0, "low") in lanes.columns
    assert (1, "low") not in lanes.columns
    assert lanes.constants(1).keys() == {"output_zero_point"}


@pytest.mark.parametrize("first", [True, False])
def test_positions_that_choose(first: bool) -> None:
    """Lanes part elements where the choice differs."""
    point = np.arange(4, dtype=np.int32) % 2
    chooses = side(CHOOSES, output_zero_point=point, element=POSITION)
    plain = side(ADDS, output_zero_point=np.zeros((), np.int32))
    sides = (chooses, plain) if first else (plain, chooses)
    lanes = make_lanes(sides, ({}, {}), SHAPE)
    assert lanes is not None
    check(lanes, point=point, chosen=POSITION < 3)


@pytest.mark.parametrize(
    "body",
    [
        MOVES,
        "%y = arith.muli %e, %three : i32",
        CHOOSES.replace("%x, %p", "%x, %e"),
        "%y = arith.maxsi %e, %three : i32",
        CHOOSES.replace("%e, %three", "%e, %x"),
    ],
)
def test_positions_that_are_computed_with(body: str) -> None:
    sides = [side(body, output_zero_point=np.zeros(4, np.int32), element=POSITION)] * 2
    sides = [
        Evaluation(
            one.rule, {k: v for k, v in one.values.items() if k != "accumulator"}
        )
        for one in sides
    ]
    assert make_lanes(sides, ({}, {}), SHAPE) is None


def test_parts_of_numbers() -> None:
    """Two operands in one number; a value's amount, and its part of the sum."""
    outer, inner = Variable(-3, 5, 7), Variable(2, 1, 5)
    x = np.arange(35)
    pairs = [*zip(outer(x).tolist(), inner(x).tolist(), strict=True)]
    assert pairs == [(a, b) for a in range(-3, 4) for b in range(2, 7)]
    assert [outer.number(a) + inner.number(b) for a, b in pairs] == x.tolist()
    assert Variable().number(-9) == int(Variable()(np.array(-9))) == -9


TYPES = "!x = !quant.uniform<i8:f32, 0.5:3>\n"
WINDOWS = "kernel = [2, 3], stride = [2, 1], pad = [1, 0, 1, 1]"
POOLS = {
    f"avg_pool2d %x {{{WINDOWS}}}": "2x3x4x2",
    "adaptive_avg_pool2d %x {output_size = [2, 3]}": "2x2x3x2",
    "mean %x {axes = [1, 2]}": "2x2",
    "mean %x {axes = [3, 1], keep_dims}": "2x1x4x1",
}


@pytest.mark.parametrize("op", POOLS)
def test_inputs_of_averages(op: str) -> None:
    """Of every element: its window is filled so that the sum is the number, or it
    can't be."""
    shape = f"tensor<{POOLS[op]}x!x>"
    text = f"""{TYPES}func.func @main(%x: tensor<2x5x4x2x!x>) -> {shape} {{
  %y = qnn.{op} : (tensor<2x5x4x2x!x>) -> {shape}
  return %y : {shape}
}}"""
    model = named(parse_module(text), None)
    given = np.zeros((2, 5, 4, 2), np.int8)
    contract = "pytorch-qnnpack" if "adaptive" in op else "tflite"
    run = run_layer(model, contract, "y", {"x": given})
    reach = reach_average(run)
    counts = np.broadcast_to(run.evaluations[-1].values["count"], run.result.shape)
    for index in list(np.ndindex(*run.result.shape))[::7]:
        least, most = -128 * int(counts[index]), 127 * int(counts[index])
        for number in (0, 1, -37, most, most + 1, least - 1):
            found = reach(index, number, number + 5)
            assert (found is None) == (not least <= number <= most)
            if found is not None:
                (stored,), told = [*found[0].values()], found[1]
                again = run_layer(model, contract, "y", {"x": stored})
                held = again.evaluations[-1].values["accumulator"]
                held = np.broadcast_to(held, run.result.shape)
                assert held[index] == told == number
