"""Claims for SMT solvers: the terms mean what the interpreter computes, and solvers
find what qlower finds. Tests of solvers need one of them installed."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.lanes import LARGE_VARIABLE, is_asked_for
from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.emit.smtlib import bit_vector, definitions
from qlower.frontends.load import named
from qlower.interp import evaluate_function
from qlower.text.parsing import parse_module
from qlower.transforms.arith_to_smt import to_smt
from qlower.transforms.expand_fixed import ExpandFixedPass
from qlower.verification.equal import equal
from qlower.verification.smt import solve
from qlower.verification.smt.claims import Claims
from qlower.verification.smt.equality import add_equality
from qlower.verification.verify import verify

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"
RESNET = models_directory() / "ic_resnet8_int8" / "model.tflite"
SOLVERS = solve.find_solvers()
NEEDS_SOLVER = pytest.mark.skipif(
    not SOLVERS, reason="no SMT solver: pip install 'qlower[smt]'"
)

STEPS = """
func.func @shifts(%x: i32) -> i32 {
  %n = arith.constant 5 : i32
  %a = fixed.shift_right %x, %n {rounding = half_even} : i32
  %b = fixed.shift_right %x, %n {rounding = half_away} : i32
  %c = fixed.shift_right %x, %n {rounding = toward_zero} : i32
  %d = fixed.saturate %x : i32 to i8
  %e = arith.extui %d : i8 to i32
  %f = arith.muli %a, %b : i32
  %g = arith.subi %f, %c : i32
  %h = arith.xori %g, %e : i32
  return %h : i32
}
func.func @divides(%x: i32) -> i32 {
  %n = arith.constant 7 : i32
  %a = arith.divsi %x, %n : i32
  %b = arith.remsi %x, %n : i32
  %c = arith.divui %x, %n : i32
  %d = arith.maxsi %a, %b : i32
  %e = arith.minui %d, %c : i32
  %f = arith.cmpi uge, %d, %b : i32
  %g = arith.extsi %f : i1 to i32
  %h = arith.subi %e, %g : i32
  return %h : i32
}
func.func @floats(%x: i32) -> i32 {
  %m = arith.constant 0.3 : f32
  %z = arith.constant -0.0 : f32
  %w = arith.sitofp %x : i32 to f32
  %p = math.fma %w, %m, %m : f32
  %q = arith.extf %p : f32 to f64
  %s = arith.truncf %q : f64 to f32
  %t = arith.maximumf %s, %z : f32
  %u = arith.minimumf %s, %z : f32
  %a = fixed.convert %t {rounding = half_even} : f32 to i32
  %b = fixed.convert %u {rounding = half_up} : f32 to i32
  %c = arith.cmpf ugt, %s, %m : f32
  %d = arith.select %c, %a, %b : i32
  return %d : i32
}
"""


def ask(script: str, tmp_path: Path, name: str) -> str:
    path = tmp_path / "claim.smt2"
    path.write_text(script)
    return solve.ask(SOLVERS[name], path, [], 60).verdict


@pytest.mark.parts(3)
@NEEDS_SOLVER
@pytest.mark.parametrize("name", ["shifts", "divides", "floats"])
def test_terms_mean_what_the_interpreter_computes(name: str, tmp_path: Path) -> None:
    module = parse_module(STEPS)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    drawn = np.random.default_rng(7).integers(-(1 << 31), 1 << 31, 12)
    numbers = np.array([0, 1, -1, 15, 16, 17, -16, -(1 << 31), *drawn], np.int32)
    (results,) = evaluate_function(functions[name], [numbers])
    ExpandFixedPass().apply(Context(), module)
    function = to_smt(functions[name])
    lines = ["(set-logic QF_BVFP)"]
    wrong: list[str] = []
    for at, (number, result) in enumerate(zip(numbers, results, strict=True)):
        made = definitions(function, f"v{at}_", [bit_vector(int(number), 32)])
        lines += made.lines
        value, defined = made.results
        wrong.append(f"(not (and {defined} (= {value} {bit_vector(int(result), 32)})))")
    lines += [f"(assert (or {' '.join(wrong)}))", "(check-sat)"]
    for solver in SOLVERS:
        assert ask("\n".join(lines), tmp_path, solver) == "unsat"


def test_claims_say_what_qlower_decided(tmp_path: Path) -> None:
    claims = Claims()
    pair = "tflite", "tflite-ruy"
    decided = partial(add_equality, claims, pair)
    names = ["depthwise", "pointwise"]
    found = equal(*pair, DIGITS, only=names, native=False, decided=decided)
    claims.write(tmp_path)
    record = json.loads((tmp_path / solve.LIST).read_text())
    rows = record["claims"]
    for layer in found.layers:
        own = [row for row in rows if row["of"][0][0] == layer.layer]
        expected = {row["expected"] for row in own}
        if expected:
            assert ("sat" in expected) == (layer.verdict == "differs")
    texts = [(tmp_path / row["file"]).read_text() for row in rows]
    assert len(texts) == len(set(texts)) > 20
    assert all(text.endswith("(check-sat)\n") for text in texts)
    assert all(len(line) <= 80 for text in texts for line in text.split("\n")[:3])


SHARED_FACTOR = """
!x = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.02:0>
!y = !quant.uniform<i8:f32, 1.0:-1>
func.func @main(%x: tensor<1x3x!x>) -> tensor<1x3x!y> {
  %w = qnn.constant dense<[[100, -100, 0], [50, -100, 0], [100, -99, 1]]>
    : tensor<3x3xi8> -> tensor<3x3x!w>
  %b = arith.constant dense<[BIAS]> : tensor<3xi32>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x3x!x>, tensor<3x3x!w>, tensor<3xi32>) -> tensor<1x3x!y>
  return %y : tensor<1x3x!y>
}
"""


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("bias", "expected"),
    [("0, 0, 0", ["unsat", "sat", "sat"]), ("150, 150, 7", ["sat", "sat", "sat"])],
)
def test_claims_about_weights_that_share_a_factor(
    bias: str, expected: list[str], tmp_path: Path
) -> None:
    """Are about their sums: tflite and tflm differ in none that is a multiple of 100,
    but in one that is 150 more."""
    claims = Claims()
    model = named(parse_module(SHARED_FACTOR.replace("BIAS", bias)), None)
    pair = "tflite", "tflm"
    equal(*pair, model, native=False, decided=partial(add_equality, claims, pair))
    by_channel = {channel: one for one in claims for _, channel in one.of}
    assert [by_channel[str(channel)].expected for channel in range(3)] == expected
    texts = [" ".join(by_channel[str(at)].text().split()) for at in range(3)]
    steps = [f"{step} * k + {bias.split(', ')[0]}" for step in (100, 50)]
    assert all(step in text for step, text in zip(steps, texts, strict=False))
    assert " k " not in texts[2]


@pytest.mark.long
@NEEDS_SOLVER
@pytest.mark.parametrize(("bias", "expected"), [(0, "unsat"), (150, "sat")])
def test_solvers_on_weights_that_share_a_factor(
    bias: int, expected: str, tmp_path: Path
) -> None:
    claims = Claims()
    text = SHARED_FACTOR.replace("BIAS", f"{bias}, 0, 0")
    verify(named(parse_module(text), None), equal=("tflite", "tflm"), claims=claims)
    (claim,) = (one for one in claims for _, channel in one.of if channel == "0")
    claims.write(tmp_path)
    for name, program in SOLVERS.items():
        path = tmp_path / claim.name
        answer = solve.ask(program, path, claim.variables, 600)
        assert answer.verdict == claim.expected == expected, name
        if expected == "sat":
            assert (answer.values["accumulator"] - bias) % 100 == 0
            assert claim.replay(answer.values)


LINEAR = """
!in = !quant.uniform<i8:f32, 0.05:3>
!w = !quant.uniform<i8<-127:127>:f32, 0.01>
!out = !quant.uniform<i8:f32, 0.02:-4>
func.func @main(%x: tensor<1x2x!in>) -> tensor<1x4x!out> {
  %w = qnn.constant dense<[[100, 9], [-60, 77], [5, -2], [88, 127]]>
    : tensor<4x2xi8> -> tensor<4x2x!w>
  %b = arith.constant dense<[900, -70, 0, 4]> : tensor<4xi32>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x2x!in>, tensor<4x2x!w>, tensor<4xi32>) -> tensor<1x4x!out>
  return %y : tensor<1x4x!out>
}
"""


def test_channels_alike_share_a_claim(tmp_path: Path) -> None:
    path = tmp_path / "linear.mlir"
    path.write_text(LINEAR)
    claims = Claims()
    verify(path, equal=("tflm", "tosa-double"), claims=claims)
    (claim,) = claims
    assert sorted(claim.of) == [("y", str(channel)) for channel in range(4)]
    assert claim.expected == "unsat"


def test_values_of_solvers_are_read() -> None:
    text = "((lhs #b1000)\n (d0 (- 12)))\n((x (_ bv255 8)) (y #x7f) (z 3))"
    expected = {"lhs": -8, "d0": -12, "x": -1, "y": 127, "z": 3}
    assert solve.values_of(text) == expected


@NEEDS_SOLVER
@pytest.mark.parametrize(
    "order", ["any", pytest.param("memory", marks=pytest.mark.long)]
)
def test_solvers_find_sums_that_leave(order: str, tmp_path: Path) -> None:
    solver = next(name for name in SOLVERS if name != "bitwuzla")
    command = ["verify", str(DIGITS), "--accumulator-bits", "18", "--order", order]
    more = ["--smt", str(tmp_path), "--solvers", solver, "--contract", "tflite"]
    assert main([*command, *more]) == ExitCode.FOUND
    rows = json.loads((tmp_path / solve.VERDICTS).read_text())
    verdicts = [(row["expected"], row["answers"][solver]["verdict"]) for row in rows]
    assert {one for one, _ in verdicts} == {"sat", "unsat"}
    assert all(one == other for one, other in verdicts)


@pytest.mark.long
@NEEDS_SOLVER
def test_a_wrong_value_and_a_time_limit_are_faults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["verify", str(DIGITS), "--equal", "tflite", "tflite-ruy"]
    solver = next(iter(SOLVERS))
    more = ["--smt", str(tmp_path), "--solvers", solver, "--time-limit", "0.000001"]
    assert main([*command, *more]) == ExitCode.FOUND
    assert f"{solver} undecided in 1e-06 s" in capsys.readouterr().out


@pytest.mark.long
@NEEDS_SOLVER
def test_the_script_needs_no_qlower(tmp_path: Path) -> None:
    claims = Claims()
    verify(DIGITS, accumulator_bits=20, contract="tflite", claims=claims)
    claims.write(tmp_path)
    solver = next(name for name in SOLVERS if name != "bitwuzla")
    done = subprocess.run(
        [sys.executable, "-I", str(tmp_path / "run.py"), "--solvers", solver],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "42 claims: 0 disagreements, 0 undecided." in done.stdout


@NEEDS_SOLVER
@pytest.mark.parametrize("others", [True, False])
def test_a_solver_without_a_logic_is_not_asked(
    others: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What others decide is decided; what no solver has a logic for is not."""
    solver = next(name for name in SOLVERS if name != "bitwuzla")
    asked = {"other": ["no-such-program"]} | (
        {solver: SOLVERS[solver]} if others else {}
    )
    monkeypatch.setattr(solve, "find_solvers", lambda: asked)
    monkeypatch.setitem(solve.CANT, "other", ("QF_LIA",))
    command = ["verify", str(DIGITS), "--accumulator-bits", "20", "--layer", "conv1"]
    more = ["--smt", str(tmp_path), "--solvers", "all", "--contract", "tflite"]
    code = main([*command, *more])
    out = capsys.readouterr().out
    assert "has no such logic" in out
    assert code == (0 if others else ExitCode.FOUND)
    assert ("no solver that was asked has its logic" in out) != others


def test_one_layer_is_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By every question but --groups; a verdict's file has all layers."""
    for question in (
        ["--equal", "tflite", "tflite-ruy"],
        ["--accumulator-bits", "20", "--contract", "tflite"],
        ["--native", "--cpu", "x86-64"],
    ):
        command = ["verify", str(DIGITS), *question, "--layer"]
        assert main([*command, "conv1", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["layers"]
        assert {row["layer"] for row in rows} == {"conv1"}
        assert main([*command, "nosuch"]) == ExitCode.FOUND
        assert "the model has no layer 'nosuch'" in capsys.readouterr().err
        assert main([*command, "conv1", "-o", str(tmp_path / "x")]) == ExitCode.USAGE
    assert not list(tmp_path.iterdir())
    assert main(["verify", str(DIGITS), "--groups", "--layer", "1"]) == ExitCode.USAGE


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--native", "--smt", "x"], "--smt goes with --equal"),
        (["--equal", "tflite", "tflm", "--solvers", "z3"], "--solvers needs --smt"),
        (["--equal", "tflite", "tflm", "--time-limit", "-1"], "must be positive"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(DIGITS), *options]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


@NEEDS_SOLVER
@pytest.mark.skipif(
    not is_asked_for(LARGE_VARIABLE), reason=f"hours: {LARGE_VARIABLE} isn't set"
)
def test_solvers_agree_on_resnet8(tmp_path: Path) -> None:
    command = ["verify", str(RESNET), "--equal", "tflite", "tflite-ruy"]
    more = ["--smt", str(tmp_path), "--solvers", "all", "--time-limit", "900"]
    main([*command, *more])
    rows = json.loads((tmp_path / solve.VERDICTS).read_text())
    assert solve.disagreements(rows) == []
    for row in rows:
        answers = [one["verdict"] for one in row["answers"].values()]
        assert answers.count(row["expected"]) >= min(2, len(SOLVERS)), row["file"]
