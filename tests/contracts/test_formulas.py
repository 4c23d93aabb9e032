"""Formulas in the text of contracts, against the operations that they stand for."""

import re

import pytest

from qlower.contracts.shorthand import parse_contract_module
from qlower.diagnostics import QlowerError


def _operations(body: str, type: str = "i1") -> str:
    """The operations of a function whose text is `body`, one a line."""
    text = "%x: f32, %y: f32, %n: i32, %m: i64, %c: i1, %d: i1"
    above = "func.func private @g(%a: f32, %b: i32) -> i1 { return %in_qdq : i1 }"
    head = f"module {{ {above}\nfunc.func private @f({text}) -> {type} {{\n"
    module = parse_contract_module(f"{head}  {body}\n}}\n}}", "mine.mlir")
    return re.sub(r"\n +", "\n", str(module)).split("@f(")[1]


@pytest.mark.parametrize(
    ("formula", "type", "operations"),
    [
        ("%x * %y + 0.5", "f32", "mulf addf"),
        ("%x + %y * 0.5", "f32", "mulf addf"),
        ("(%x + %y) / %x", "f32", "addf divf"),
        ("%x - %y - %x", "f32", "subf subf"),
        ("-%x * %y", "f32", "negf mulf"),
        ("%n - 1", "i32", "subi"),
        ("%n / 3 * -2", "i32", "divsi muli"),
        ("min(%n, max(%n, 3))", "i32", "maxsi minsi"),
        ("max(min(%x, %y), 0x7F800000)", "f32", "minimumf maximumf"),
        ("fma(%x, abs(%y), roundeven(%x))", "f32", "absf roundeven fma"),
        ("half_even(%x) + toward_zero(%y)", "i32", "convert convert addi"),
        ("f32(%n) * %x", "f32", "sitofp mulf"),
        ("f64(%n)", "f64", "sitofp"),
        ("%n * %n : i64", "i64", "extsi extsi muli"),
        ("%m + %n", "i64", "extsi addi"),
        ("%x < %y", "i1", "cmpf olt"),
        ("%n >= 3 or %c and %d", "i1", "cmpi sge andi ori"),
        ("not %n == 3", "i1", "cmpi ne"),
        ("not %n < 3", "i1", "cmpi sge"),
        ("not %c or %d", "i1", "cmpi eq ori"),
        ("not %x == %y", "i1", "cmpf oeq cmpi eq"),
        ("%x if %c else -%x", "f32", "negf select"),
        ("%x if %n > 3 else %y if %c else 1.0", "f32", "cmpi sgt select select"),
        ("(%n if %c else 0) + 1", "i32", "select addi"),
        ("%input_scale / %output_scale", "f32", "divf"),
        ("@g(%x, 3) and %c", "i1", "call andi"),
    ],
)
def test_formula_is_operations_in_order(formula: str, type: str, operations: str):
    printed = _operations(f"%result = {formula}", type)
    found = re.findall(r"(?:arith|math|fixed|func)\.(cmp. \w+|\w+)", printed)
    kept = [one for one in found if one not in ("constant", "return")]
    assert " ".join(kept) == operations


def test_formula_is_an_operand_of_any_operation():
    short = _operations("%result = arith.maximumf %x * %y, 1.0 - %x : f32", "f32")
    long = _operations(
        "%0 = arith.mulf %x, %y : f32\n%one = arith.constant 1.0 : f32\n"
        "%1 = arith.subf %one, %x : f32\n%result = arith.maximumf %0, %1 : f32",
        "f32",
    )
    assert re.sub("%one", "%1", re.sub("%1", "%2", long)) == short


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("%x", "3:13: error: this is a value already"),
        ("1", "3:13: error: the type of this operand isn't known here"),
        ("%x + %n", "3:18: error: operand is used with type f32, but has been prev"),
        ("min(%x)", "3:13: error: min takes 2 operands, not 1"),
        ("%x < %y : f32", "3:16: error: `<` gives i1, not f32"),
        ("half_even(%n)", "3:13: error: there is no `half_even` of i32"),
        ("abs(%n)", "3:13: error: there is no `abs` of i32"),
        ("%x = %y", "3:18: error: expected '='"),
        ("%x +", "4:1: error: operand expected"),
        ("foo(%x)", "3:13: error: operation foo is not registered"),
    ],
)
def test_wrong_formulas_are_refused_where_they_are(formula: str, message: str):
    with pytest.raises(QlowerError) as error:
        _operations(f"%result = {formula}")
    assert message in str(error.value)
