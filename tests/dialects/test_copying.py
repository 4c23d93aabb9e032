"""Copies of operations: all that an operation has, and nothing that it shares."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from qlower.dialects.copying import copy_operation
from qlower.text.parsing import parse_module

TEXT = """
func.func @main(%x: i32, %y: i1) -> i32 {
  %sum = arith.addi %x, %x {note = "kept"} : i32
  %low, %high = arith.mului_extended %sum, %x : i32
  %five = arith.constant 5 : i32
  %chosen = scf.if %y -> (i32) {
    scf.yield %sum : i32
  } else {
    scf.yield %five : i32
  }
  cf.br ^end(%chosen : i32)
^end(%z: i32):
  func.return %z : i32
}
"""


def operations() -> list[Operation]:
    (function,) = parse_module(TEXT, "text").body.ops
    assert isinstance(function, FuncOp)
    return [op for block in function.body.blocks for op in block.ops]


OPERATIONS = operations()


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_a_copy_is_that_of_xdsl(op: Operation):
    values: dict[SSAValue, SSAValue] = {}
    copy, expected = copy_operation(op, values), op.clone()
    assert type(copy) is type(op)
    assert str(copy) == str(expected)
    assert copy.location == op.location
    assert [values[result] for result in op.results] == list(copy.results)
    hints = [result.name_hint for result in op.results]
    assert [result.name_hint for result in copy.results] == hints
    assert copy.parent is copy.next_op is copy.prev_op is None
    if op.attributes:
        copy.attributes["note"] = StringAttr("changed")
        assert op.attributes["note"] == StringAttr("kept")


def test_operands_are_those_of_the_copies():
    total, product, five, *_ = OPERATIONS
    values: dict[SSAValue, SSAValue] = {total.operands[0]: five.results[0]}
    new_total = copy_operation(total, values)
    new_product = copy_operation(product, values)
    assert [*new_product.operands] == [new_total.results[0], five.results[0]]
    assert [use.operation for use in new_total.results[0].uses] == [new_product]
    assert {use.index for use in new_product.operands[0].uses} == {0}
    # What stays has one more use.
    uses = total.operands[0].uses.get_length()
    copy_operation(total, {})
    assert total.operands[0].uses.get_length() == uses + 2
