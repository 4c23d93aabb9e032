"""Functions as commands of SMT-LIB: a line for each step, constants in their places."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qlower.emit.smtlib import Definitions, definitions
from qlower.text.parsing import parse_module

BITS, FLOAT = "!smt.bv<8>", "!smtlib.float<8, 24>"


def function(body: str, results: str, arguments: str = f"%x: {BITS}") -> FuncOp:
    text = f"func.func @f({arguments}) -> ({results}) {{\n{body}\n}}"
    module: ModuleOp = parse_module(text)
    (found,) = module.body.ops
    assert isinstance(found, FuncOp)
    return found


CASES = {
    "argument": (f"return %x : {BITS}", BITS, [], ["a"], False),
    "constants": (
        f"%c = smt.bv.constant #smt.bv<253> : {BITS}\n"
        f"%t = smt.constant true\n%n = smt.constant false\n"
        f"return %c, %t, %n : {BITS}, !smt.bool, !smt.bool",
        f"{BITS}, !smt.bool, !smt.bool",
        [],
        ["(_ bv253 8)", "true", "false"],
        False,
    ),
    "steps": (
        f"%c = smt.bv.constant #smt.bv<3> : {BITS}\n"
        f"%y = smt.bv.add %x, %c : {BITS}\n"
        f'%s = smtlib.apply "bvslt"(%y, %x) : ({BITS}, {BITS}) -> !smt.bool\n'
        f'%w = smtlib.apply "(_ sign_extend 8)"(%y) : ({BITS}) -> !smt.bv<16>\n'
        f"return %w, %s : !smt.bv<16>, !smt.bool",
        "!smt.bv<16>, !smt.bool",
        [
            "(define-fun p0 () (_ BitVec 8) (bvadd a (_ bv3 8)))",
            "(define-fun p1 () Bool (bvslt p0 a))",
            "(define-fun p2 () (_ BitVec 16) ((_ sign_extend 8) p0))",
        ],
        ["p2", "p1"],
        False,
    ),
    "a real number before another type": (
        f'%r = smtlib.apply "(_ to_fp 8 24) RNE"(%x) : ({BITS}) -> {FLOAT}\n'
        f'%n = smtlib.apply "fp.isNaN"(%r) : ({FLOAT}) -> !smt.bool\n'
        "return %n : !smt.bool",
        "!smt.bool",
        [
            "(define-fun p0 () (_ FloatingPoint 8 24) ((_ to_fp 8 24) RNE a))",
            "(define-fun p1 () Bool (fp.isNaN p0))",
        ],
        ["p1"],
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_definitions(name: str) -> None:
    body, types, lines, results, has_floats = CASES[name]
    found = definitions(function(body, types), "p", ["a"])
    assert found == Definitions(lines, results, has_floats)


def test_arguments_in_their_order() -> None:
    body = f"%y = smt.bv.urem %b, %a : {BITS}\nreturn %y : {BITS}"
    two = function(body, BITS, f"%a: {BITS}, %b: {BITS}")
    found = definitions(two, "s", ["first", "second"])
    assert found.lines == ["(define-fun s0 () (_ BitVec 8) (bvurem second first))"]
    with pytest.raises(ValueError, match="shorter"):
        definitions(two, "s", ["first"])
