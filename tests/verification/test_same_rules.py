"""Layers with the same rules on both sides, and each thing that parts them alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

from qlower import contracts
from qlower.contracts import Contract, parse_contract
from qlower.contracts.products import IN_TURN
from qlower.model.layers import layers
from qlower.observe.layer_run import CONTRACTIONS, Evaluation
from qlower.text.parsing import parse_module
from qlower.verification.same_rules import have_same_rules

TEXT = """module {
  func.func private @twice(%a: i32) -> i32 {
    %one = arith.constant 1 : i32
    %r = arith.shli %a, %one : i32
    return %r : i32
  }
  func.func private @four_times(%a: i32) -> i32 {
    %b = func.call @twice(%a) : (i32) -> i32
    %r = func.call @twice(%b) : (i32) -> i32
    return %r : i32
  }
  func.func @sum(%x: i32 {contract.value = "accumulator"},
      %p: i32 {contract.value = "output_zero_point"}) -> i32 {
    %a = func.call @four_times(%x) : (i32) -> i32
    %y = arith.addi %a, %p : i32
    return %y : i32
  }
}"""


def contract(text: str = TEXT) -> Contract:
    return parse_contract(text, "mine", "mine.mlir")


def values(point: int = 3, **others: Any) -> dict[str, Any]:
    return {
        "accumulator": np.arange(3, dtype=np.int32),
        "output_zero_point": np.array(point, np.int32),
        **others,
    }


def evaluation(text: str = TEXT, **given: Any) -> Evaluation:
    return Evaluation(contract(text).rule("sum"), values(**given))


def run(**others: Any) -> Any:
    """A layer that isn't a contraction by default."""
    return SimpleNamespace(
        **{
            **{"product": "exact", "order": "memory", "op": None, "start": np.zeros(2)},
            **{"evaluations": (evaluation(),), "prepared": (evaluation(),)},
            **{"contract": contract(), **others},
        }
    )


LAYER = next(
    op for op in layers(parse_module(SMALL_MODEL)) if isinstance(op, CONTRACTIONS)
)
OTHER = TEXT.replace("constant 1", "constant 2")
"""A number of a function that a called one calls."""

NO_POINT = values()
del NO_POINT["output_zero_point"]


@pytest.mark.parametrize(
    ("others", "is_same"),
    [
        ({}, True),
        ({"start": np.ones(2)}, True),
        ({"product": "other"}, False),
        ({"order": "other"}, False),
        ({"evaluations": ()}, False),
        ({"evaluations": (evaluation(), evaluation())}, False),
        ({"evaluations": (evaluation(OTHER),)}, False),
        ({"evaluations": (evaluation(TEXT.replace("shli", "shrsi")),)}, False),
        ({"evaluations": (evaluation(point=4),)}, False),
        ({"evaluations": (evaluation(unused=np.ones(1)),)}, True),
        ({"evaluations": (Evaluation(contract().rule("sum"), NO_POINT),)}, False),
        ({"prepared": ()}, False),
        ({"prepared": (evaluation(point=4),)}, False),
        ({"prepared": (evaluation(OTHER),)}, False),
        ({"contract": contract(OTHER)}, True),
    ],
)
def test_what_parts_them(others: dict[str, Any], is_same: bool) -> None:
    for runs in ((run(), run(**others)), (run(**others), run())):
        assert have_same_rules(runs) == is_same


@pytest.mark.parametrize(
    ("others", "is_same"),
    [
        ({}, True),
        ({"start": np.ones(2)}, False),
        ({"prepared": ()}, True),
    ],
)
def test_sums_of_contractions(others: dict[str, Any], is_same: bool) -> None:
    """They begin with what is prepared."""
    assert have_same_rules((run(op=LAYER), run(op=LAYER, **others))) == is_same


def test_values_that_neither_side_is_given() -> None:
    bare = Evaluation(contract().rule("sum"), NO_POINT)
    assert have_same_rules((run(evaluations=(bare,)), run(evaluations=(bare,))))


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("", "", True),
        ("-524288), 524287)", "-524288), 524286)", False),
        ("is_alone(16)", "is_alone(8)", False),
        ("result = 1 : i32", "result = 2 : i32", False),
    ],
)
def test_registers(old: str, new: str, is_same: bool) -> None:
    """What cuts a register of sums in turn, and after how many products."""
    text = (Path(contracts.__file__).parent / "esp-dl-s3.mlir").read_text()
    assert old in text
    other = parse_contract(text.replace(old, new, 1), "other", "other.mlir")
    sides = contracts.load_contract("esp-dl-s3"), other
    for product, same in ((IN_TURN, is_same), ("exact", True)):
        runs = [run(op=LAYER, product=product, contract=one) for one in sides]
        assert have_same_rules((runs[0], runs[1])) == same
