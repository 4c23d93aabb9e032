"""Reading contract files: what is accepted, and how mistakes are reported."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.printer import Printer
from xdsl.traits import SymbolTable

import qlower
from qlower.contracts import (
    Contract,
    contract_names,
    load_contract,
    parse_contract,
    plain_module,
)
from qlower.contracts.definition import Definition
from qlower.contracts.outline import Outline, functions_of
from qlower.contracts.reading import SERVED, Rule, read_rules
from qlower.contracts.rules import AUXILIARY, RULES, is_of_words
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn

READ_IN_PARTS = ("pytorch-qnnpack",)
"""A contract with two bases and functions that replace theirs; all of them take
minutes."""

HALVE = """\
module attributes {contract.summary = "halves everything"} {
func.func @requantize(%x: i32 {contract.value = "input"}) -> i32 {
  %one = arith.constant 1 : i32
  %y = arith.shrsi %x, %one : i32
  return %y : i32
}
}
"""


def parse(text: str) -> Contract:
    return parse_contract(text, "mine", "mine.mlir")


def test_a_contract_has_its_rules_and_summary():
    contract = parse(HALVE)
    assert contract.summary == "halves everything"
    assert list(contract.rules) == ["requantize"]
    (result,) = contract.rule("requantize").evaluate(
        {"input": np.array([7, -7], np.int32)}
    )
    assert result.tolist() == [3, -4]


def rules_for_bytes(name: str) -> set[str]:
    return {rule for rule in load_contract(name).rules if not is_of_words(rule)}


@pytest.mark.parts(5)
def test_rules_are_inherited_from_the_base():
    text = HALVE.replace(
        "contract.summary =", 'contract.base = "tflite", contract.summary ='
    )
    contract = parse(text)
    assert set(contract.rules) == rules_for_bytes("tflite")
    assert contract.rule("requantize").values == ("input",)
    assert contract.rule("add").values == load_contract("tflite").rule("add").values


def test_a_helper_of_the_base_is_replaced_in_inherited_rules():
    text = """\
module attributes {contract.base = "tflite"} {
func.func private @multiply_by_real(%x: i32, %real: f64) -> i32 replaces {
  %same = arith.constant 7 : i32
  return %same : i32
}
}
"""
    requantize = parse(text).rule("requantize")
    values = {
        "input": np.array([-5, 100], np.int32),
        "input_scale": np.float32(0.5),
        "input_zero_point": np.int32(0),
        "output_scale": np.float32(0.25),
        "output_zero_point": np.int32(3),
        "output_min": np.int32(-128),
        "output_max": np.int32(127),
    }
    assert int(requantize.evaluate(values)[0]) == 10
    unchanged = load_contract("tflite").rule("requantize")
    assert unchanged.evaluate(values)[0].tolist() == [-7, 127]


SHARED = """\
module {
func.func private @halved(%input: i32) -> i32
    attributes {contract.rules = ["requantize", "clamp"]} {
  %one = arith.constant 1 : i32
  %y = arith.shrsi %input, %one : i32
  return %y : i32
}
func.func @concat(%x: i32 {contract.value = "input"}) -> i32 {
  %y = func.call @halved(%x) : (i32) -> i32
  return %y : i32
}
}
"""


def result_of(contract: Contract, rule: str, stored: int) -> int:
    (result,) = contract.rule(rule).evaluate({"input": np.array(stored, np.int32)})
    return int(result)


def test_a_helper_is_not_called_as_a_rule_of_the_base_is():
    text = """\
module attributes {contract.base = "tflite"} {
func.func private @abs(%x: i64) -> i64 {
  return %x : i64
}
}
"""
    with pytest.raises(QlowerError, match=r"helper @abs has the name of a rule of tfl"):
        parse(text)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            "private @multiply_by_real(%x: i32) -> i32",
            "@multiply_by_real has the name of a helper of tflite, whose functions"
            " would call it",
        ),
        (
            "@multiply_by_real(%input: i32) -> i32 serves requantize",
            "@multiply_by_real has the name of a helper of tflite",
        ),
        ("@require_image(%input: i32) -> i32", "helper of pytorch-fbgemm"),
        (
            "private @multiply_by_rael(%x: i32) -> i32 replaces",
            "@multiply_by_rael replaces no helper: tflite has none of that name",
        ),
        (
            "@requantize(%input: i32) -> i32 replaces",
            "@requantize replaces no helper: tflite has none of that name",
        ),
    ],
)
def test_helpers_of_the_base_are_not_replaced_by_chance(function: str, message: str):
    """Neither may a helper of a base take a rule away from its heir."""
    base = "pytorch-fbgemm" if "require_image" in function else "tflite"
    text = f"""\
module attributes {{contract.base = "{base}"}} {{
func.func {function} {{ %result = arith.constant 1 : i32 }}
}}
"""
    with pytest.raises(QlowerError, match=message):
        parse(text)


def test_what_replaces_a_helper_has_a_base():
    with pytest.raises(QlowerError, match="@f replaces no helper: a contract without"):
        parse(
            "module { func.func private @f() -> i1 replaces {"
            " %result = arith.constant true } }"
        )


def test_one_function_serves_several_rules():
    contract = parse(SHARED)
    assert set(contract.rules) == {"requantize", "clamp", "concat"}
    assert contract.rule("clamp").function is contract.rule("requantize").function
    assert contract.rule("clamp").values == ("input",)
    assert result_of(contract, "clamp", -7) == -4


DOUBLED = """\
func.func private @halved(%input: i32) -> i32 replaces{attributes} {{
  %y = arith.addi %input, %input : i32
  return %y : i32
}}
"""


@pytest.mark.parametrize(
    ("attributes", "others", "expected"),
    [
        ("", "", {"requantize": 14, "clamp": 14, "concat": 14}),
        (
            ' attributes {contract.rules = ["clamp"]}',
            "",
            {"requantize": 3, "clamp": 14, "concat": 14},
        ),
        (
            "",
            "func.func @clamp(%input: i32) -> i32 { return %input : i32 }",
            {"requantize": 14, "clamp": 7, "concat": 14},
        ),
    ],
)
def test_a_redefined_function_takes_over_its_rules(
    tmp_path: Path, attributes: str, others: str, expected: dict[str, int]
):
    path = tmp_path / "shared.mlir"
    path.write_text(SHARED)
    function = DOUBLED.format(attributes=attributes)
    contract = parse(
        f'module attributes {{contract.base = "{path}"}} {{\n{function}{others}\n}}'
    )
    assert {rule: result_of(contract, rule, 7) for rule in expected} == expected


def test_what_a_redefined_function_no_longer_serves_can_be_called(tmp_path: Path):
    path = tmp_path / "shared.mlir"
    path.write_text(SHARED)
    contract = parse(f"""\
module attributes {{contract.base = "{path}"}} {{
func.func @concat(%input: i32) -> i32 {{
  %half = func.call @shared.concat(%input) : (i32) -> i32
  %y = func.call @halved(%half) : (i32) -> i32
  return %y : i32
}}
}}
""")
    assert result_of(contract, "concat", 12) == 3


STORED = """\
module {
func.func private @store(%x: i32, %output_min: i32, %output_max: i32) -> i32 {
  %low = arith.maxsi %x, %output_min : i32
  %result = arith.minsi %low, %output_max : i32
  return %result : i32
}
func.func private @double(%x: i32) -> i32 {
  %twice = arith.addi %x, %x : i32
  %result = func.call @store(%twice) : (i32) -> i32
  return %result : i32
}
func.func @requantize(%input: i32, %most: i32 {contract.value = "output_max"}) -> i32 {
  %result = func.call @double(%input) : (i32) -> i32
  return %result : i32
}
func.func @clamp(%input: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %result = func.call @store(%input, %zero) : (i32, i32) -> i32
  return %result : i32
}
}
"""


def test_a_call_may_leave_out_values(tmp_path: Path):
    contract = parse(STORED)
    requantize, clamp = contract.rule("requantize"), contract.rule("clamp")
    assert requantize.values == ("input", "output_max", "output_min")
    assert clamp.values == ("input", "output_max")
    values = {
        "input": np.array([-9, 3, 9], np.int32),
        "output_min": np.array(-4, np.int32),
        "output_max": np.array(7, np.int32),
    }
    assert requantize.evaluate(values)[0].tolist() == [-4, 6, 7]
    assert clamp.evaluate(values)[0].tolist() == [0, 3, 7]
    # A helper that is replaced may want other values.
    path = tmp_path / "stored.mlir"
    path.write_text(STORED)
    derived = parse(f"""\
module attributes {{contract.base = "{path}"}} {{
func.func private @store(%x: i32, %output_zero_point: i32) -> i32 replaces {{
  %result = arith.subi %x, %output_zero_point : i32
  return %result : i32
}}
}}
""")
    assert set(derived.rule("requantize").values) == {
        "input",
        "output_max",
        "output_zero_point",
    }


def test_a_step_is_an_operand_with_its_arguments():
    contract = parse(
        """\
module attributes {contract.summary = "a ratio"} {
func.func private @ratio(%scale: f32, %output_scale: f32) -> f32 {
  %result = arith.divf %scale, %output_scale : f32
}
func.func @dequantize_bias() -> f32 {
  %half = arith.mulf %weight_scale, 0.5 : f32
  %result = arith.addf @ratio(%input_scale, %weight_scale), @ratio(%half, %half) : f32
}
}
"""
    )
    (call, _) = [
        op
        for op in contract.rule("dequantize_bias").function.body.block.ops
        if isinstance(op, CallOp)
    ]
    assert [name.name_hint for name in call.arguments] == [
        "input_scale",
        "weight_scale",
    ]
    scales = {"input_scale": np.float32(3), "weight_scale": np.float32(2)}
    (result,) = contract.rule("dequantize_bias").evaluate(scales)
    assert result == 2.5


def test_the_plain_form_of_a_contract_is_the_same_contract():
    contract = load_contract("pow2-shift")
    text = str(plain_module(contract))
    plain = parse(text)
    assert plain.base is None
    assert str(plain_module(plain)) == text
    assert {name: plain.rule(name).values for name in plain.rules} == {
        name: contract.rule(name).values for name in contract.rules
    }


def test_steps_are_a_base_but_no_contract():
    assert "_steps" not in contract_names()
    steps = load_contract("_steps")
    assert not steps.rules
    assert load_contract("exact").base is steps


def test_tflite_defines_every_rule():
    """But for operations that LiteRT has no kernel for."""
    assert "tflite" in contract_names()
    norms = ("layer", "loop_layer", "rms", "loop_rms", "instance", "group")
    others = {"adaptive_avg_pool2d", "lstm_wide_gate_i16", *AUXILIARY}
    others |= {"conv2d_add", "depthwise_conv2d_add", "real_plain_layer_norm"}
    others |= {"real_sum_pool", "real_mean_variance_norm"}
    others |= {f"real_{norm}_norm" for norm in norms}
    folds = ("l1", "l2", "global_l2", "square_sum", "log_sum", "log_sum_exp")
    others |= {f"real_{fold}" for fold in folds}
    others |= {name for name in RULES if "_with" in name}  # scales of run time
    assert load_contract("tflite").rules.keys() - AUXILIARY == RULES.keys() - others


def test_a_contract_is_loaded_from_a_path(tmp_path: Path):
    path = tmp_path / "halve.mlir"
    path.write_text(HALVE)
    contract = load_contract(str(path))
    assert contract.name == "halve"


def test_a_file_is_read_again_where_it_or_a_base_of_it_changed(tmp_path: Path):
    base, own = tmp_path / "base.mlir", tmp_path / "own.mlir"
    base.write_text(HALVE)
    own.write_text('module attributes {contract.base = "./base.mlir"} {}')
    eight = {"input": np.array([8], np.int32)}

    def given() -> int:
        (result,) = load_contract(str(own)).rule("requantize").evaluate(eight)
        return result.item()

    first = load_contract(str(own))
    assert load_contract(str(own)) is first
    assert given() == 4
    base.write_text(HALVE.replace("constant 1", "constant 2"))
    assert given() == 2
    base.write_text(HALVE)
    assert given() == 4
    own.write_text(HALVE.replace("constant 1", "constant 3"))
    assert given() == 1
    own.unlink()
    with pytest.raises(QlowerError, match="can't be read"):
        load_contract(str(own))


@pytest.mark.parts(8)
@pytest.mark.parametrize(
    ("result", "expected"),
    [("i32", None), ("i16", "expected operand type i16, but provided i32")],
)
def test_inherited_functions_fit_the_helpers_that_replace_theirs(
    result: str, expected: str | None
):
    """What of a base calls a function of the file is verified anew."""
    helper = f"""
      func.func private @clamp_and_offset(
          %x: {result}, %output_min: i32, %output_max: i32, %output_zero_point: i32)
          -> i32 replaces {{
        return %output_min : i32
      }}"""
    text = f'module attributes {{contract.base = "tflite"}} {{{helper}}}'
    if expected is None:
        assert parse(text).rules
    else:
        with pytest.raises(QlowerError, match=expected):
            parse(text)


def test_what_a_contract_replaces_can_be_called():
    text = """\
module attributes {contract.base = "tflite"} {
func.func @avg_pool2d(
    %accumulator: i32 {contract.value = "accumulator"},
    %min: i32 {contract.value = "output_min"},
    %max: i32 {contract.value = "output_max"},
    %n: i32 {contract.value = "count"}) -> i32 {
  %mean = func.call @tflite.avg_pool2d(%accumulator, %min, %max, %n)
    : (i32, i32, i32, i32) -> i32
  %zero = arith.constant 0 : i32
  %result = arith.subi %zero, %mean : i32
  return %result : i32
}
}
"""
    contract = parse(text)
    assert set(contract.rules) == rules_for_bytes("tflite")
    values = {
        "accumulator": np.array([7, -7], np.int32),
        "count": np.array(2, np.int32),
        "input_scale": np.array(0.5, np.float32),
        "input_zero_point": np.array(0, np.int32),
        "output_scale": np.array(0.5, np.float32),
        "output_zero_point": np.array(0, np.int32),
        "output_min": np.array(-128, np.int32),
        "output_max": np.array(127, np.int32),
    }
    assert contract.rule("avg_pool2d").evaluate(values)[0].tolist() == [-4, 4]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "@requantize(",
            "@requantise(",
            "mine.mlir:2:1: error: there is no rule requantise",
        ),
        (
            '{contract.value = "input"}',
            "",
            "mine.mlir:2:1: error: rule requantize is not given a value 'x'",
        ),
        (
            '"input"',
            '"inptu"',
            "mine.mlir:2:1: error: rule requantize is not given a value 'inptu'",
        ),
        (
            '%x: i32 {contract.value = "input"}',
            '%x: i32 {contract.value = "input"}, %0: f32',
            "argument 1 of rule requantize has neither a name nor the attribute",
        ),
        (
            '%x: i32 {contract.value = "input"}',
            '%x: i32 {contract.value = "input"}, '
            '%s: f64 {contract.value = "input_scale"}',
            "wants input_scale as f64, it is given as f32",
        ),
        (
            "-> i32 {\n  %one = arith.constant 1 : i32\n"
            "  %y = arith.shrsi %x, %one : i32\n  return %y : i32",
            "-> (i32, i32) {\n  return %x, %x : i32, i32",
            "rule requantize returns (i32, i32), it must return (i32)",
        ),
        (
            "%y = arith.shrsi %x, %one : i32",
            "%y = func.call @helper(%x) : (i32) -> i32",
            "mine.mlir:4:8: error: func.call: '@helper' could not be found",
        ),
        (
            "%y = arith.shrsi %x, %one : i32",
            "%y = func.call @requantize(%x) : (i32) -> i32",
            "function requantize calls itself",
        ),
        (
            "%y = arith.shrsi %x, %one : i32\n  return %y : i32\n}",
            "%y = func.call @f(%x) : (i32) -> i32\n  return %y : i32\n}\n"
            "func.func private @f(%a: i32, %b: i32) -> i32 { return %a : i32 }",
            "mine.mlir:4:8: error: function f is called without its argument 1, b",
        ),
        (
            "%y = arith.shrsi %x, %one : i32\n  return %y : i32\n}",
            "%y = func.call @f(%x) : (i32) -> i32\n  return %y : i32\n}\n"
            "func.func private @f(%a: i32, %input: f32) -> i32 { return %a : i32 }",
            "mine.mlir:4:8: error: function f wants input as f32, its caller has it as "
            "i32",
        ),
        (
            "%y = arith.shrsi %x, %one : i32\n  return %y : i32\n}",
            "%y = func.call @f(%x) : (i32) -> i32\n  return %y : i32\n}\n"
            "func.func private @f(%a: i32, %count: i32) -> i32 { return %a : i32 }",
            "rule requantize is not given a value 'count'",
        ),
        (
            "%y = arith.shrsi %x, %one : i32",
            '%y = "func.call"(%x) : (i32) -> i32',
            "mine.mlir:4:8: error: property 'callee' expected",
        ),
        (
            "-> i32 {\n",
            "-> i32 attributes {contract.rules = 3} {\n",
            "contract.rules must be a list of names of rules, not 3",
        ),
        (
            "-> i32 {\n",
            '-> i32 attributes {contract.rules = ["requantize", "linear"]} {\n',
            "rule linear is not given a value 'input'",
        ),
        (
            "-> i32 {\n",
            '-> i32 attributes {contract.rules = ["clamp", "clamp"]} {\n',
            "rule clamp is defined twice",
        ),
        ("-> i32 {\n", "-> i32 serves clam {\n", "there is no rule clam"),
        (
            "-> i32 {\n",
            '-> i32 serves clamp attributes {contract.rules = ["requantize"]} {\n',
            "'contract.rules' is already passed",
        ),
        (
            "%one = arith.constant 1 : i32",
            "%one = arith.constant 1 : i3",
            "mine.mlir:4",
        ),
        ("arith.shrsi", "arith.shrs", "mine.mlir:4:8: error"),
        ("%x, %one", "%x, 1.5", "mine.mlir:4:24: error: 1.5 is no i32"),
        ("%x, %one", "%x, true", "mine.mlir:4:24: error: true is no i32"),
        ("%x, %one", "%x, 4294967296", "mine.mlir:4:24: error: integer value 42949"),
        ("%x, %one", "%x, @none", "4:24: error: func.call: '@none' could not be found"),
        ("%x, %one", "%x, @requantize", "function requantize calls itself"),
        ("%x, %one", "%x, @none(%x)", "4:24: error: func.call: '@none' could not be f"),
        (
            "%x, %one",
            "%x, @none(1)",
            "4:30: error: the type of this operand isn't kno",
        ),
        ("%x, %one", "%x, @none(%inptu)", "4:30: error: the type of this operand is"),
        ("%x, %one", "%x, %inptu_scale", "value %inptu_scale is used but never"),
        (
            "%y = arith.shrsi %x, %one : i32\n  return %y : i32",
            "%result = arith.cmpi eq, %x, %one : i32",
            "mine.mlir:4:13: error: func.return: expected arguments to have the same",
        ),
        (
            "  return %y : i32\n",
            "",
            "mine.mlir:4:8: error: operation arith.shrsi ter",
        ),
        (HALVE[HALVE.index("  %one") : HALVE.index("}\n")], "", "mine.mlir:2:1: error"),
        ("func.func @requantize", "func.func private @requantize", None),
        (
            "func.func @requantize",
            "%c = arith.constant 1 : i32\nfunc.func @requantize",
            "mine.mlir:2:6: error: a contract holds function definitions only, "
            "not arith.constant",
        ),
    ],
)
def test_mistakes_point_at_their_line(old: str, new: str, expected: str | None):
    text = HALVE.replace(old, new)
    assert text != HALVE
    if expected is None:
        assert parse(text).rules == {}
        return
    with pytest.raises(QlowerError) as error:
        parse(text)
    assert expected in str(error.value)


def test_a_rule_may_do_without_its_input(tmp_path: Path):
    """A function of bytes that is the same everywhere."""
    path = tmp_path / "seven.mlir"
    path.write_text(
        HALVE.replace("@requantize", "@sigmoid").replace("%x, %one", "%one, %one")
    )
    model = qlower.build.make_model(
        [qlower.build.quantized([4], 0.5, 3)],
        lambda x: [qnn.SigmoidOp(x, qlower.build.quantized([4], 0.25, 0)).result],
    )
    x = np.array([-128, 0, 3, 127], np.int8)
    want = qlower.interpret(model, x, contract=str(path), at="qnn")
    np.testing.assert_array_equal(want, [0, 0, 0, 0])
    np.testing.assert_array_equal(qlower.jit(model, contract=str(path))(x), want)


def test_an_unknown_contract_lists_the_known_ones():
    with pytest.raises(QlowerError, match="there is no contract 'tflit'") as error:
        load_contract("tflit")
    assert "did you mean tflite?" in str(error.value)


def test_a_missing_rule_is_refused_by_name():
    with pytest.raises(QlowerError, match="contract mine has no rule conv2d"):
        parse(HALVE).rule("conv2d")


def test_the_longest_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("qlower.contracts.LARGEST_TEXT", len(HALVE))
    assert parse(HALVE).rules
    with pytest.raises(QlowerError) as error:
        parse(f"{HALVE}\n")
    limit = f"{len(HALVE) + 1} characters are more than the {len(HALVE)} of a contract"
    assert error.value.message == limit


def test_a_missing_file_is_refused():
    with pytest.raises(QlowerError, match=r"contract nowhere/x\.mlir can't be read"):
        load_contract("nowhere/x.mlir")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in READ_IN_PARTS else pytest.mark.long)
        for name in contract_names()
    ],
)
def test_a_rule_read_alone_is_that_of_the_whole_contract(name: str):
    definition = load_contract(name).definition
    for rule, whole in definition.whole.rules.items():
        part = read_alone(definition, rule)[rule]
        assert (part.values, part.products) == (whole.values, whole.products)
        assert texts(part.function) == texts(whole.function)
    for rule in RULES.keys() - definition.whole.rules.keys():
        assert rule not in read_alone(definition, rule)


def read_alone(definition: Definition, rule: str) -> Mapping[str, Rule]:
    """What is read where only that rule is asked for."""
    return read_rules(definition.part(functions_of(rule, definition.outlines)))


@pytest.mark.parts(53)
@pytest.mark.parametrize("name", ["_steps", *contract_names()])
def test_contracts_that_come_with_qlower_verify(name: str):
    """They are known to, and aren't verified when they are read."""
    definition = load_contract(name).definition
    assert isinstance(definition.own, Outline)
    parsed = parse_contract(definition.own.text, name, definition.own.filename)
    assert list(parsed.rules) == list(definition.whole.rules)


def texts(function: FuncOp) -> dict[str, str]:
    """A function with the places of its operations, and all that it calls, by name;
    without what else it serves."""
    stream = StringIO()
    alone = function.clone()
    alone.attributes.pop(SERVED, None)
    Printer(stream, print_debuginfo=True).print_op(alone)
    found = {function.sym_name.data: stream.getvalue()}
    for op in function.walk():
        if isinstance(op, CallOp):
            callee = SymbolTable.lookup_symbol(op, op.callee)
            assert isinstance(callee, FuncOp)
            found |= texts(callee)
    return found
