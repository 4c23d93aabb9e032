"""Functions as terms of SMT-LIB: where they are defined, and what has no term."""

from __future__ import annotations

import pytest
from xdsl.dialects import smt
from xdsl.dialects.func import FuncOp, ReturnOp

from qlower.diagnostics import QlowerError
from qlower.dialects.smtlib import ApplyOp
from qlower.text.parsing import parse_module
from qlower.transforms.arith_to_smt import to_smt


def function(text: str) -> FuncOp:
    (found,) = (op for op in parse_module(text).walk() if isinstance(op, FuncOp))
    return found


SHIFTS = {
    # the names of the operations that say where it is defined
    "%x, %y": [],
    "%a, %x": ["a"],
    "%a, %a": ["a"],
    "%a, %b": ["a", "b"],
    "%b, %a, %x, %b": ["b", "a"],
}


@pytest.mark.parametrize("returned", SHIFTS)
def test_where_all_results_are_defined(returned: str) -> None:
    """By each condition once; always, if there is none."""
    many = returned.count(",") + 1
    types = ", ".join(["i32"] * many)
    made = to_smt(
        function(
            f"""func.func @f(%x: i32, %y: i32) -> ({types}) {{
  %a = arith.shli %x, %y : i32
  %b = arith.shrsi %y, %x : i32
  func.return {returned} : {types}
}}"""
        )
    )
    end = made.body.block.last_op
    assert isinstance(end, ReturnOp)
    assert len(end.operands) == many + 1
    assert [*made.function_type.outputs] == [value.type for value in end.operands]
    defined = end.operands[-1].owner
    conditions = SHIFTS[returned]
    if not conditions:
        assert isinstance(defined, smt.ConstantBoolOp)
        assert defined.value
    elif len(conditions) == 1:
        assert not isinstance(defined, smt.AndOp | smt.ConstantBoolOp)
    else:
        assert isinstance(defined, smt.AndOp)
        assert len({*defined.operands}) == len(defined.operands) == len(conditions)


COMPARISONS = {
    # the function, whether it takes the second operand first, and whether it is negated
    **{"eq": ("=", False, False), "ne": ("=", False, True)},
    **{"slt": ("bvslt", False, False), "sle": ("bvsle", False, False)},
    **{"sgt": ("bvslt", True, False), "sge": ("bvsle", True, False)},
    **{"ult": ("bvult", False, False), "ule": ("bvule", False, False)},
    **{"ugt": ("bvult", True, False), "uge": ("bvule", True, False)},
}


@pytest.mark.parametrize("predicate", COMPARISONS)
def test_comparisons(predicate: str) -> None:
    made = to_smt(
        function(
            f"""func.func @f(%x: i32, %y: i32) -> i1 {{
  %a = arith.cmpi {predicate}, %x, %y : i32
  func.return %a : i1
}}"""
        )
    )
    x, y = made.body.block.args
    end = made.body.block.last_op
    assert isinstance(end, ReturnOp)
    found = end.operands[0].owner
    is_negated = isinstance(found, smt.NotOp)
    if isinstance(found, smt.NotOp):
        found = found.operands[0].owner
    assert isinstance(found, ApplyOp)
    name, is_swapped, negated = COMPARISONS[predicate]
    assert (found.function.data, is_negated) == (name, negated)
    assert [*found.operands] == ([y, x] if is_swapped else [x, y])


REFUSED = [
    ("func.func private @f(i32) -> i32", "@f is no straight line of operations"),
    (
        "func.func @f(%x: i32) -> i32 {\n  cf.br ^bb1\n"
        "^bb1:\n  func.return %x : i32\n}",
        "@f is no straight line of operations",
    ),
    (
        "func.func @f(%x: i32) -> i32 {\n"
        "  %a, %b = arith.mulsi_extended %x, %x : i32\n  func.return %a : i32\n}",
        "arith.mulsi_extended can't be written as a term of SMT-LIB",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        to_smt(function(text))
    assert caught.value.message == message
