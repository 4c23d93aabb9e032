"""What a contract takes from its base is copied, and read no further than needed."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from qlower.contracts import Contract, load_contract
from qlower.contracts.definition import Definition
from qlower.contracts.outline import Outline
from qlower.contracts.reading import SERVED, inherit, served_rules
from qlower.diagnostics import QlowerError
from qlower.text.parsing import parse_module

BASE = """
func.func private @rows(%given: tensor<2xi32>) -> tensor<2xi32> {
  %sum = arith.addi %given, %given : tensor<2xi32>
  %twice = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]
    } ins(%sum : tensor<2xi32>) outs(%given : tensor<2xi32>) {
  ^bb0(%one: i32, %out: i32):
    %double = arith.addi %one, %one : i32
    linalg.yield %double : i32
  } -> tensor<2xi32>
  return %twice : tensor<2xi32>
}
"""


def described(op: FuncOp) -> list[str]:
    """An operation's text, and the places of all within."""
    return [str(op), *(str(inner.location) for inner in op.walk())]


def test_copies_are_what_they_are_of() -> None:
    base = parse_module(BASE)
    module = ModuleOp([])
    (copy,) = inherit(module, "base", base)
    (original,) = base.body.ops
    assert isinstance(original, FuncOp)
    del copy.attributes[SERVED]
    assert copy is not original
    assert described(copy) == described(original)
    module.verify()


def unread(name: str) -> Contract:
    """A contract whose base is not read yet."""
    base = load_contract("tflite")
    outline = base.definition.own
    assert isinstance(outline, Outline)
    definition = Definition(
        name, outline, Definition("tflite", outline, base.definition.base)
    )
    assert definition.base is not None
    fresh = Contract(
        *("tflite", base.text, "", "", None, definition.base, definition.base.rules)
    )
    return Contract(name, "", "", "", fresh, definition, definition.rules)


def test_a_base_is_not_read_to_be_named() -> None:
    origin = unread("heir").origin
    assert origin is not None
    assert "whole" not in vars(origin.definition)


@pytest.mark.parts(4)
@pytest.mark.parametrize("name", ["tflite", "_reals", "_steps", "_glibc"])
def test_whether_there_are_rules(name: str) -> None:
    rules = load_contract(name).rules
    assert bool(rules) == (len(rules) > 0)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        (ArrayAttr([StringAttr("add"), StringAttr("mul")]), ("add", "mul")),
        (ArrayAttr([]), ()),
        (ArrayAttr([StringAttr("add"), UnitAttr()]), None),
        (StringAttr("add"), None),
        (UnitAttr(), None),
    ],
)
def test_served_rules(attribute: Attribute, expected: tuple[str, ...] | None) -> None:
    (function,) = parse_module(BASE).body.ops
    assert isinstance(function, FuncOp)
    function.attributes[SERVED] = attribute
    if expected is not None:
        assert served_rules(function) == expected
        return
    with pytest.raises(QlowerError, match=f"{SERVED} must be a list of names of rules"):
        served_rules(function)
