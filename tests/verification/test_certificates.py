"""Certificates: the checker, which needs no qlower, accepts them and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import models_directory
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_models import fully_connected
from support.lanes import LARGE_VARIABLE, is_asked_for
from xdsl.dialects.func import FuncOp

from qlower.cli import main
from qlower.contracts import Rule, contract_names, load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import RoundingMode
from qlower.interp import evaluate_function
from qlower.interp.values import Array
from qlower.text.parsing import parse_module
from qlower.verification.certificates import check_certificate
from qlower.verification.certificates.make import write_certificate
from qlower.verification.certificates.programs import program

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"
HELLO = models_directory() / "hello_world_int8" / "model.tflite"
RESNET = models_directory() / "ic_resnet8_int8" / "model.tflite"
MOBILENET = models_directory() / "mobilenet_v2_1.0_224_int8" / "model.tflite"
LINEAR = 9
"""The code of FULLY_CONNECTED."""

LONG = pytest.mark.skipif(
    not is_asked_for(LARGE_VARIABLE), reason=f"minutes: {LARGE_VARIABLE} isn't set"
)


def check(model: Path, folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-I", str(folder / "check.py"), str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def needs(model: Path) -> None:
    if not model.exists():
        pytest.skip(f"{model} is not there")


def test_the_checker_accepts_and_says_what_it_does_not_cover(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs(HELLO)
    command = ["verify", str(HELLO), "--equal", "tflm", "tosa-double"]
    assert main([*command, "--certificate", str(tmp_path)]) == 0
    assert f"check.py {HELLO}` checks it" in capsys.readouterr().out
    code, text = check(HELLO, tmp_path)
    assert code == 0, text
    assert "channels equal, 0 differ, 0 rejected." in text
    source = (tmp_path / "check.py").read_text()
    assert len(source.splitlines()) <= 400
    imported = re.findall(r"^(?:import|from) (\w+)", source, re.M)
    assert set(imported) <= sys.stdlib_module_names


def test_a_difference_is_certified_too(tmp_path: Path) -> None:
    needs(HELLO)
    write_certificate("tflite", "tflm", HELLO, tmp_path)
    code, text = check(HELLO, tmp_path)
    assert code == 1
    assert " 0 rejected." in text
    assert " 0 differ" not in text


def mutations(entry: dict[str, Any], stride: int) -> Iterator[dict[str, Any]]:
    """Every field of a channel's entry changed, and every interval, or one of `stride`,
    moved, cut or joined with the next."""
    for key, value in entry.items():
        yield {name: one for name, one in entry.items() if name != key}
        yield {**entry, key: None}
        if isinstance(value, int):
            yield from ({**entry, key: value + more} for more in (-1, 1))
            yield {**entry, key: float(value)}
    steps = entry["steps"]
    for at in range(0, len(steps), stride):
        distance = steps[at]
        for more in (-1, 1):
            yield {**entry, "steps": [*steps[:at], distance + more, *steps[at + 1 :]]}
            moved = [distance + more, *(one - more for one in steps[at + 1 : at + 2])]
            yield {**entry, "steps": [*steps[:at], *moved, *steps[at + 2 :]]}
        yield {**entry, "steps": [*steps[:at], *steps[at + 1 :]]}
        yield {**entry, "steps": [*steps[:at], distance, 0, *steps[at + 1 :]]}
        yield {**entry, "steps": [*steps[:at], distance / 1, *steps[at + 1 :]]}
    yield {"differs": (entry["low"] + entry["high"]) // 2}
    yield {"differs": entry["high"] + 1}
    yield {**entry, "more": 0}


def rules_in(folder: Path) -> list[Any]:
    return [json.loads((folder / f"{side}.json").read_bytes()) for side in "ab"]


def rejects_all(
    model: Path, folder: Path, pair: tuple[str, str], channels: int, stride: int
) -> int:
    """How many mutated entries of some channels of each operator are rejected: all."""
    write_certificate(*pair, model, folder)
    record = json.loads((folder / "certificate.json").read_text())
    read = check_certificate.read_model(model.read_bytes())
    contracts = rules_in(folder)
    calls: list[tuple[Any, ...]] = []
    original = check_certificate.check_channel

    def recorded(*arguments: Any) -> bool:
        calls.append(arguments)
        return original(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check_certificate, "check_channel", recorded)
        for number, entries in record["operators"].items():
            begin = len(calls)
            check_certificate.check_operator(read[int(number)], contracts, entries)
            del calls[begin + channels :]
    count = 0
    for programs, entry, *bounds in calls:
        if "steps" not in entry:
            continue
        for mutated in mutations(deepcopy(entry), stride):
            with pytest.raises((ValueError, TypeError)):
                original(programs, mutated, *bounds)
            count += 1
    return count


@pytest.mark.long
def test_mutated_channels_are_rejected(tmp_path: Path) -> None:
    needs(HELLO)
    assert rejects_all(HELLO, tmp_path, ("tflm", "tosa-double"), 1, 32) > 100


@LONG
def test_all_mutated_channels_are_rejected(tmp_path: Path) -> None:
    needs(RESNET)
    assert rejects_all(RESNET, tmp_path, ("tflite", "tosa-double"), 2, 1) > 10_000


@pytest.mark.long
def test_other_models_contracts_and_records_are_rejected(tmp_path: Path) -> None:
    needs(HELLO)
    write_certificate("tflm", "tosa-double", HELLO, tmp_path)
    path = tmp_path / "certificate.json"
    text = path.read_text()
    record = json.loads(text)
    model = bytearray(HELLO.read_bytes())
    model[-1] ^= 1
    (tmp_path / "other.tflite").write_bytes(model)
    code, shown = check(tmp_path / "other.tflite", tmp_path)
    assert code == 1
    assert "about another model" in shown
    first = next(iter(record["operators"]))
    planted = [
        record | {"format": "qlower certificate 1"},
        record | {"operators": {}},
        record | {"operators": record["operators"] | {first: [{}]}},
        record | {"note": "trust me"},
    ]
    for one in planted:
        path.write_text(json.dumps(one))
        code, shown = check(HELLO, tmp_path)
        assert code == 1
        assert "rejected: " in shown
    path.write_text(text.replace("{", '{"operators": {}, ', 1))
    code, shown = check(HELLO, tmp_path)
    assert code == 1
    assert "a key is there twice" in shown


def test_a_changed_contract_or_weight_is_rejected_without_hashes(
    tmp_path: Path,
) -> None:
    needs(HELLO)
    write_certificate("tflm", "tosa-double", HELLO, tmp_path)
    record = json.loads((tmp_path / "certificate.json").read_text())
    contracts = rules_in(tmp_path)
    data = HELLO.read_bytes()
    model = check_certificate.read_model(data)
    number, entries = next(
        (int(number), entries)
        for number, entries in record["operators"].items()
        if model[int(number)][0] == LINEAR
    )

    def accepts(model: bytes, contracts: list[Any]) -> bool:
        one = check_certificate.read_model(model)[number]
        try:
            check_certificate.check_operator(one, contracts, entries)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return False
        return True

    assert accepts(data, contracts)
    text = json.dumps(contracts[0])
    floor = text.replace('["right", "half_away"', '["right", "floor"')
    assert floor != text
    assert not accepts(data, [json.loads(floor), contracts[1]])
    _, _, inputs, _ = model[number]
    weights = bytes(w & 255 for w in inputs[1].numbers())
    assert data.count(weights) == 1
    changed = data.replace(weights, bytes([weights[0] ^ 1, *weights[1:]]))
    assert not accepts(changed, contracts)


def test_a_layer_without_a_bias(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(fully_connected(has_bias=False, per_axis=True))
    write_certificate("tflite", "tflite", path, tmp_path)
    record = json.loads((tmp_path / "certificate.json").read_text())
    ((number, entries),) = record["operators"].items()
    one = check_certificate.read_model(path.read_bytes())[int(number)]
    assert len(one[2]) == 2
    found = check_certificate.check_operator(one, rules_in(tmp_path), entries)
    assert found == [True] * 5


@pytest.mark.parametrize("is_old", [False, True])
def test_an_operator_has_its_code_in_either_field(is_old: bool) -> None:
    """Files from before 2020 have the first alone; codes beyond 127 are in the other,
    and 127 in the first."""
    schema: Any = pytest.importorskip("tflite", reason="tflite is not installed")
    builder = TFLiteBuilder()
    x, y = (builder.tensor(name, (4,), scale=0.1) for name in "xy")
    builder.operator("LOGISTIC" if is_old else "GELU", [x], [y])
    data = bytearray(builder.build([x], [y]))
    if is_old:
        table = schema.Model.GetRootAs(data, 0).OperatorCodes(0)._tab
        place = table.Pos + table.Offset(10)  # its fourth field
        assert data[place : place + 4] == bytes([14, 0, 0, 0])
        data[place : place + 4] = bytes(4)
    ((code, _, (one,), result),) = check_certificate.read_model(bytes(data))
    assert code == (14 if is_old else 150)
    assert list(one.shape) == list(result.shape) == [4]


def test_only_tflite_files_have_certificates(tmp_path: Path) -> None:
    with pytest.raises(QlowerError, match=r"about a \.tflite file"):
        write_certificate("tflm", "tosa-double", DIGITS, tmp_path)


@LONG
def test_every_channel_of_mobilenet_is_accepted(tmp_path: Path) -> None:
    needs(MOBILENET)
    write_certificate("tflite", "tosa-double", MOBILENET, tmp_path)
    code, text = check(MOBILENET, tmp_path)
    assert code == 0, text


BINARY = ("addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi")
DIVIDING = ("divsi", "divui")
SHIFTING = ("shli", "shrsi", "shrui")
REAL = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge")
ORDERS = ("oeq", "olt", "ole", "ogt", "oge")

MEANINGS = [
    line
    for n in (8, 32, 64)
    for line in (
        *(f"arith.{name} %a, %b : i{n}" for name in (*BINARY, *DIVIDING, *SHIFTING)),
        *(f"arith.cmpi {name}, %a, %b : i{n}" for name in PREDICATES),
        *(f"math.{name} %a : i{n}" for name in ("absi", "ctlz")),
        *(f"fixed.shift_right %a, %b {{rounding = {m}}} : i{n}" for m in RoundingMode),
    )
] + [
    *(f"arith.{name} %a, %b : f{n}" for n in (32, 64) for name in REAL),
    *(f"arith.cmpf {name}, %a, %b : f{n}" for n in (32, 64) for name in ORDERS),
    *(f"{name} %a : f32" for name in ("math.absf", "arith.negf")),
    *(f"fixed.convert %a {{rounding = {m}}} : f32 to i8" for m in RoundingMode),
    *(f"fixed.convert %a {{rounding = {m}}} : f64 to i32" for m in RoundingMode),
    *("fixed.saturate %a : i32 to i8", "fixed.saturate %a : i64 to i32"),
    *("arith.extsi %a : i8 to i32", "arith.trunci %a : i64 to i32"),
    *("arith.trunci %a : i32 to i8", "arith.sitofp %a : i32 to f32"),
    *("arith.bitcast %a : i32 to f32", "arith.bitcast %a : f64 to i64"),
    *("arith.extf %a : f32 to f64", "arith.truncf %a : f64 to f32"),
]
"""What operations the checker means by itself."""


def operands(line: str, type: str, random: np.random.Generator) -> list[Array]:
    """Numbers of all sizes, ends and halves; none that an operation isn't for."""
    dtype = np.dtype(f"{type[0]}{int(type[1:]) // 8}")
    if type[0] == "f":
        halves = random.integers(-300, 300, 200) / 2
        sizes = random.normal(size=200) * 2.0 ** random.integers(-30, 34, 200)
        a, b = (random.choice([*halves, *sizes], 300).astype(dtype) for _ in "ab")
        if "f %a, %b" in line:  # the signs of 0 are looked at elsewhere
            a, b = (np.where(x == 0, 0.25, x).astype(dtype) for x in (a, b))
        return [a, b]
    bits = int(type[1:])
    ends = [0, 1, -1, 2, (1 << bits - 1) - 1, -(1 << bits - 1), 1 << bits - 2]
    wide = [
        int(x) >> int(n)
        for x, n in random.integers(0, 1 << 62, (99, 2)) % [1 << 62, 62]
    ]
    numbers = [check_certificate.holder(f"i{bits}")(x) for x in (*ends, *wide)]
    a, b = (np.array(random.choice(numbers, 300), dtype) for _ in "ab")
    if "sh" in line:
        b = (b % bits).astype(b.dtype)
    if "div" in line:
        b = np.where(b == 0, 7, b)
        a = np.where(a == -(1 << bits - 1), 5, a)
    return [a, b]


@pytest.mark.parts(2)
@pytest.mark.parametrize("line", MEANINGS)
def test_the_checker_means_what_the_interpreter_does(line: str) -> None:
    source, _, target = line.partition(" : ")[2].partition(" to ")
    operand_count = len(set(re.findall("%[ab]", line)))
    random = np.random.default_rng(len(line))
    given = operands(line, source, random)[:operand_count]
    check_function(f"%y = {line}", source, target or source, given)


@pytest.mark.parametrize(
    "step",
    [
        "arith.extsi %less : i1 to i64",
        "arith.extui %less : i1 to i64",
        "arith.select %less, %a, %b : i64",
    ],
)
def test_booleans_mean_the_same(step: str) -> None:
    given = [np.array([-2, 0, 3, 9]), np.array([5, 0, -7, 9])]
    body = f"%less = arith.cmpi slt, %a, %b : i64\n%y = {step}"
    check_function(body, "i64", "i64", given)


def check_function(body: str, source: str, target: str, given: list[Array]) -> None:
    """Compare the checker's evaluation of a function with the interpreter's."""
    rule = rule_of(
        body, source, "i1" if "y = arith.cmp" in body else target, len(given)
    )
    (expected,) = evaluate_function(rule.function, given)
    made = program(rule)
    found = [
        check_certificate.Program(made, dict(zip("ab", numbers, strict=False))).result
        for numbers in zip(*(x.tolist() for x in given), strict=True)
    ]
    np.testing.assert_array_equal(np.array(found, expected.dtype), expected)


@pytest.mark.parts(5)
@pytest.mark.parametrize("name", contract_names())
def test_whole_rules_mean_what_the_interpreter_computes(name: str) -> None:
    """The steps of a contract's rules on drawn operands, inlined calls and all."""
    contract = load_contract(name)
    compared = 0
    for own, _, _ in check_certificate.RULES.values():
        if own not in contract.rules:
            continue
        rule = contract.rule(own)
        try:
            made: Any = program(rule)
        except QlowerError:
            continue  # refused by name
        random = np.random.default_rng(len(rule.values))
        found: list[float] = []
        kept: list[list[Any]] = []
        for _ in range(24):
            given = [drawn(one, type, random) for one, type in made["arguments"]]
            try:
                values = dict(zip(rule.values, given, strict=True))
                run = check_certificate.Program(made, values)
            except (ValueError, LookupError):
                continue  # the contract asserts, or the checker rejects
            found.append(run.result)
            kept.append(given)
        if not kept:
            continue
        types = rule.function.function_type.inputs.data
        columns = [
            np.array(column, numpy_type(str(type)))
            for column, type in zip(zip(*kept, strict=True), types, strict=True)
        ]
        (expected,) = evaluate_function(rule.function, columns)
        np.testing.assert_array_equal(found, expected, own)
        compared += len(kept)
    assert (compared == 0) == (name in NOT_COMPARED)


NOT_COMPARED = {
    *("ncnn", "ncnn-arm64", "openvino", "openvino-avx2"),
    "tvm-relay-shift",
    *("pytorch-fbgemm", "pytorch-fbgemm-avx2", "pytorch-nchw", "pytorch-x86"),
}
"""Contracts whose rules have operations that the checker rejects, or assert what drawn
scales don't have."""


def numpy_type(type: str) -> str:
    return {"i1": "?", "f32": "f4", "f64": "f8"}.get(type, f"i{int(type[1:]) // 8}")


def drawn(name: str, type: str, random: np.random.Generator) -> Any:
    """A likely value of a rule's argument."""
    if type == "i1":
        return bool(random.integers(2))
    if type[0] == "f":
        value = 2.0 ** random.uniform(-12, 1)
        return float(np.float32(value))
    if name.endswith("min"):
        return -(1 << 20) if name.startswith("accumulator") else -128
    if name.endswith("max"):
        return (1 << 20) - 1 if name.startswith("accumulator") else 127
    if name == "accumulator":
        return int(random.integers(-(1 << 18), 1 << 18))
    if name in ("count", "channel_count"):
        return int(random.integers(1, 50))
    return int(random.integers(-128, 128))


def rule_of(body: str, source: str, target: str, count: int) -> Rule:
    names = tuple("ab"[:count])
    given = ", ".join(f"%{name}: {source}" for name in names)
    text = f"""func.func @f({given}) -> {target} {{
      {body}
      return %y : {target}
    }}"""
    (function,) = parse_module(text, "f.mlir").body.ops
    assert isinstance(function, FuncOp)
    return Rule("f", function, names, ())


@pytest.mark.parametrize(
    ("body", "source", "target"),
    [
        ("%y = math.fma %a, %b, %a : f32", "f32", "f32"),
        ("%y = arith.cmpi ult, %a, %b : i32", "i32", "i1"),
        ("%y = arith.cmpf une, %a, %b : f32", "f32", "i1"),
        ("%y = arith.extui %a : i8 to i32", "i8", "i32"),
    ],
)
def test_what_the_checker_does_not_have_is_refused(
    body: str, source: str, target: str
) -> None:
    with pytest.raises(QlowerError, match=r"the checker has no (arith|math)"):
        program(rule_of(body, source, target, 2))


def test_a_step_that_may_turn_or_wrap_is_rejected() -> None:
    for body, why in {
        "%y = math.absi %a : i32": "abs may turn",
        "%y = arith.muli %a, %a : i32": "mul may wrap",
        "%y = arith.shrsi %b, %a : i32": "a shift by",
        "%y = arith.addi %a, %b : i32": "isn't constant",
    }.items():
        rule = program(rule_of(body, "i32", "i32", 2))
        made = check_certificate.Program(rule, {"b": 1}, "a")
        with pytest.raises(ValueError, match=why):
            made.value(-3, 1 << 20)


def test_a_step_that_is_infinite_at_one_end_is_rejected() -> None:
    body = """%r = arith.sitofp %a : i32 to f64
    %s = arith.sitofp %b : i32 to f64
    %large = arith.constant 1.0e+307 : f64
    %scaled = arith.mulf %s, %large : f64
    %y = arith.mulf %r, %scaled : f64"""
    made = check_certificate.Program(
        program(rule_of(body, "i32", "f64", 2)), {"b": 10}, "a"
    )
    with pytest.raises(ValueError, match="isn't constant"):
        made.value(0, 1)
    with pytest.raises(ValueError, match="isn't finite"):
        made.value(0, 1 << 20)


def test_how_many_elements_are_added_up() -> None:
    """All of a mean's axes, and of a pool's window, which must be the whole image."""

    def array(shape: tuple[int, ...], numbers: tuple[int, ...] = ()) -> Any:
        return SimpleNamespace(shape=shape, numbers=lambda: numbers)

    def options(height: int, width: int) -> Any:
        return SimpleNamespace(number=lambda at, kind: {4: height, 3: width}[at])

    pooled: Any = vars(check_certificate)["pooled"]
    image = array((2, 4, 5, 3))
    for axes, count in (((1, 2), 20), ((2,), 5), ((0, 1, 2, 3), 120), ((3, 1), 12)):
        found = pooled("mean", options(0, 0), [image, array((2,), axes)], None)
        assert found == count
    assert pooled("pool", options(4, 5), [image], array((2, 1, 1, 3))) == 20
    for height, width, shape in ((4, 4, (2, 1, 1, 3)), (4, 5, (2, 1, 2, 3))):
        with pytest.raises(Exception, match="a pool that isn't of the whole image"):
            pooled("pool", options(height, width), [image], array(shape))
