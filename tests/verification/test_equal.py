"""Whether contracts are the same for all inputs: planted faults, and agreement with
what drawn inputs and exhaustive comparison show."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from support import models_directory

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.contracts import contract_names
from qlower.diagnostics import QlowerError
from qlower.observe.layer_run import run_layer
from qlower.verification import decide as deciding
from qlower.verification.equal import equal
from qlower.verification.groups import groups
from qlower.verification.questions import questions
from qlower.verification.reach import are_sums, solve
from qlower.verification.verdict import Equality

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.mlir"
ASKED = EXAMPLES / "fbgemm-overflow" / "asked.mlir"
RUN_TESTS = Path(__file__).parents[1] / "run" / "qnn"
FBGEMM = ("pytorch-fbgemm-avx2", "pytorch-qnnpack")
RESNET = models_directory() / "ic_resnet8_int8" / "model.tflite"

ONE_MORE = """
module attributes {contract.base = "tflite"} {
func.func @conv2d(%accumulator: i32, %input_unsigned: i1, %output_zero_point: i32,
    %output_min: i32, %output_max: i32, %channel: i32) -> i32
    attributes {contract.rules = ["conv2d", "depthwise_conv2d"]} {
  %place = arith.constant 3 : i32
  %is_there = arith.cmpi eq, %channel, %place : i32
  %there = arith.extui %is_there : i1 to i32
  %unit = arith.constant 128 : i32
  %one = arith.muli %there, %unit : i32
  %real = func.call @convolution_scale(%input_unsigned) : (i1) -> f64
  %m, %e = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %more = arith.addi %m, %one : i32
  %scaled = func.call @multiply_by_quantized_multiplier(%accumulator, %more, %e)
    : (i32, i32, i32) -> i32
  %result = func.call @offset_and_clamp(
      %scaled, %output_zero_point, %output_min, %output_max)
    : (i32, i32, i32, i32) -> i32
  return %result : i32
}
}
"""
"""tflite, but the real multiplier of channel 3 is off by one unit in the last place of
a float32, which is 128 of the 31-bit integer's."""


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    "layer", ["conv1", pytest.param("depthwise", marks=pytest.mark.long)]
)
def test_one_unit_in_the_last_place_of_one_channel(layer: str, tmp_path: Path) -> None:
    path = tmp_path / "faulty.mlir"
    path.write_text(ONE_MORE)
    found = equal("tflite", "tflite", DIGITS, b_layer_contracts={layer: str(path)})
    rows = {row.layer: row for row in found.layers}
    row = rows.pop(layer)
    assert {other.verdict for other in rows.values()} == {"equal"}
    assert row.apart == 1
    assert row.verdict == "differs", row.how
    example = row.counterexample
    assert example is not None
    assert example.index[-1] == 3
    assert list(example.confirmed) == ["interp", "jit"]
    assert abs(example.results[0] - example.results[1]) == 1


def check_agreement(found: Equality, model: Path, seed: int) -> None:
    """What drawn inputs show to differ isn't called equal."""
    shown = qlower.diff(found.a, found.b, model, random=seed)
    verdicts = {row.layer: row.verdict for row in found.layers}
    for row in shown.layers:
        if row.alone is not None and row.alone.differing:
            assert verdicts[row.name] == "differs"


PAIRS = [("tflite", "tflm"), ("glow-interpreter", "glow-cpu"), ("tvm", "onnxruntime")]


@pytest.mark.parts(15)
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_drawn_inputs_agree(a: str, b: str) -> None:
    found = equal(a, b, DIGITS, native=False)
    check_agreement(found, DIGITS, 1)
    kinds = {row.verdict for row in found.layers if row.kind != "softmax"}
    assert kinds <= {"equal", "differs"}


SMALL = {
    "adaptive_avg_pool2d": ("exact", "pytorch-qnnpack"),
    "add": ("exact", "tflite"),
    "avg_pool2d": ("exact", "tflite"),
    "compare": ("tflite", "tflm"),
    "concat": ("exact", "tflite"),
    "elu": ("exact", "tflite"),
    "function": ("tflite", "tflm"),
    "l2_normalize": ("tflite", "tflite-ruy"),
    "leaky_relu": ("exact", "tflite"),
    "matmul": ("exact", "tflite"),
    "mean": ("exact", "tflite"),
    "mul": ("exact", "tflite"),
    "narrow_weights": ("tflite", "onnxruntime-avx2"),
    "resize": ("exact", "tflite-ruy"),
    "sub": ("exact", "tflite-single"),
    "sum": ("tflite", "tflm"),
}
"""Modules of the tests that run, and contracts that have all rules of theirs."""


@pytest.mark.parts(16)
@pytest.mark.parametrize("name", SMALL)
def test_layers_of_all_kinds(name: str) -> None:
    """A counterexample is one, and drawn inputs agree."""
    path = RUN_TESTS / f"{name}.mlir"
    found = equal(*SMALL[name], path, native=False)
    check_agreement(found, path, 1)
    examples = [row.counterexample for row in found.layers]
    for row, example in zip(found.layers, examples, strict=True):
        if row.verdict == "differs" and "no input found" not in row.how:
            assert example is not None
            assert example.results[0] != example.results[1]


@pytest.mark.long
@pytest.mark.skipif(not RESNET.exists(), reason=f"{RESNET} isn't there")
def test_all_pairs_on_a_residual_network() -> None:
    for a, b in combinations(contract_names(), 2):
        try:
            shown = qlower.diff(a, b, RESNET, random=1)
        except QlowerError:
            continue  # a contract without a rule for some layer
        found = equal(a, b, RESNET, native=False)
        verdicts = {row.layer: row.verdict for row in found.layers}
        for row in shown.layers:
            if row.alone is not None and row.alone.differing:
                assert verdicts[row.name] == "differs", (a, b, row.name)


@pytest.mark.long
def test_steps_decide_as_every_number_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs and steps, and one by one, find the same channels apart."""
    counts: list[list[tuple[str, int]]] = []
    small = ["conv1", "depthwise", "pointwise"]
    others = {"logits": "tflite", "probabilities": "tflite"}
    for limit in (0, deciding.AFFORDABLE):
        monkeypatch.setattr(deciding, "SMALL", limit)
        found = equal(
            "tflite", "tflite-single", DIGITS, b_layer_contracts=others, native=False
        )
        rows = {row.layer: row for row in found.layers}
        counts.append([(rows[name].verdict, rows[name].apart) for name in small])
    assert counts[0] == counts[1]


MEAN = """
!x = !quant.uniform<u8:f32, 0.5:3>
!y = !quant.uniform<u8:f32, 0.3:10>
func.func @main(%x: tensor<1x3000x3000x1x!x>) -> tensor<1x1x!y> {
  %y = qnn.mean %x {axes = [1, 2]} : (tensor<1x3000x3000x1x!x>) -> tensor<1x1x!y>
  return %y : tensor<1x1x!y>
}
"""
"""A sum of bytes that wraps from 239 on: tflite gives 255, tflite-xnnpack 0."""


@pytest.mark.long
def test_a_sum_that_wraps_is_not_ordered(tmp_path: Path) -> None:
    path = tmp_path / "mean.mlir"
    path.write_text(MEAN)
    a, b = "tflite", "tflite-xnnpack"
    values = {"x": np.zeros((1, 3000, 3000, 1), np.uint8)}
    runs = [run_layer(qlower.load(path), name, "y", values) for name in (a, b)]
    asked = questions((runs[0], runs[1]))
    assert not isinstance(asked, str)
    found = deciding.decide(asked[0].functions, asked[0].domain)
    assert found.why is not None or found.intervals
    assert groups(path, (a, b)).layers[0].verdict(a, b) != "equal"


WRAPS = """
!x = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.3:0>
!y = !quant.uniform<i8:f32, 20000000.0:10>
func.func @main(%x: tensor<65536x2x!x>) -> tensor<65536x3x!y> {
  %w = qnn.constant dense<"0x7F81814007F9"> : tensor<3x2xi8> -> tensor<3x2x!w>
  %b = arith.constant dense<[2147483647, -2147483648, 2147480000]> : tensor<3xi32>
  %y = qnn.linear %x, %w, %b
    : (tensor<65536x2x!x>, tensor<3x2x!w>, tensor<3xi32>) -> tensor<65536x3x!y>
  return %y : tensor<65536x3x!y>
}
"""
"""A bias with which the accumulators of all channels wrap, and every pair of bytes."""


@pytest.mark.parts(10)
@pytest.mark.parametrize("limit", [0, deciding.SMALL])
def test_accumulators_that_wrap_are_decided(
    limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Domains are cut where sums wrap."""
    monkeypatch.setattr(deciding, "SMALL", limit)
    path = tmp_path / "wraps.mlir"
    path.write_text(WRAPS)
    model = qlower.load(path)
    codes = np.arange(1 << 16)
    pairs = np.stack([codes >> 8, codes & 255], axis=1).astype(np.uint8).view(np.int8)
    contracts = ("tflite", "tflite-single", "pytorch-qnnpack", "tvm")
    results = {
        name: qlower.interpret(model, pairs, contract=name) for name in contracts
    }
    for a, b in combinations(contracts, 2):
        (row,) = equal(a, b, model, native=False).layers
        is_same = np.array_equal(results[a], results[b])
        assert row.verdict == ("equal" if is_same else "differs"), row.how


WORDS = """
!x = !quant.uniform<i16:f32, 0.5:0>
!w = !quant.uniform<i8:f32, 0.3:0>
!y = !quant.uniform<i16:f32, 4.0:0>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x3x!y> {
  %w = qnn.constant dense<"0x7FC0812A05F911EE33D208B0"> : tensor<3x4xi8>
    -> tensor<3x4x!w>
  %b = arith.constant dense<[300, -2000, 31]> : tensor<3xi64>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x4x!x>, tensor<3x4x!w>, tensor<3xi64>) -> tensor<1x3x!y>
  return %y : tensor<1x3x!y>
}
"""

AS_TFLITE = """
module attributes {contract.base = "tflite"} {
func.func @linear_i16(%accumulator: i64) -> i32
    attributes {contract.rules = ["linear_i16"]} {
  %real = func.call @convolution_scale(false) : (i1) -> f64
  %number = arith.sitofp %accumulator : i64 to f64
  %product = arith.mulf %real, %number : f64
  %scaled = fixed.convert %product {rounding = half_away} : f64 to i32
  %result = func.call @offset_and_clamp(%scaled) : (i32) -> i32
}
}
"""
"""tflite with the factors of a product the other way round."""


@pytest.mark.long
def test_sums_of_words_are_decided(tmp_path: Path) -> None:
    """Their accumulators have 64 bits."""
    path, other = tmp_path / "words.mlir", tmp_path / "other.mlir"
    path.write_text(WORDS)
    (row,) = equal("tflite", "tflm", path).layers
    assert row.verdict == "differs"
    assert row.numbers > deciding.SMALL
    assert row.how == "steps"
    other.write_text(AS_TFLITE)
    (row,) = equal("tflite", str(other), path).layers
    assert (row.verdict, row.how) == ("equal", "steps")


SATURATING = """
!x = !quant.uniform<u8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.3:0>
!y = !quant.uniform<u8:f32, 100.0:7>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x3x!y> {
  %w = qnn.constant dense<"0x7F7F7F7F8181814002030405"> : tensor<3x4xi8>
    -> tensor<3x4x!w>
  %y = qnn.linear %x, %w : (tensor<1x4x!x>, tensor<3x4x!w>) -> tensor<1x3x!y>
  return %y : tensor<1x3x!y>
}
"""
AS_FBGEMM = """
module attributes {contract.base = "pytorch-fbgemm-avx2"} {
func.func private @contraction(%accumulator: i32) -> i32 replaces
    serves conv2d, depthwise_conv2d, linear
    attributes {contract.product = ["exact", "saturating_pairs_flat"]} {
  %step = arith.mulf %input_scale, %weight_scale : f32
  %multiplier = arith.divf %step, %output_scale : f32
  %sum = arith.sitofp %accumulator : i32 to f32
  %scaled = arith.mulf %sum, %multiplier : f32
  %result = func.call @store_half_even(%scaled) : (f32) -> i32
}
}
"""
"""pytorch-fbgemm-avx2 for layers without a bias."""


@pytest.mark.long
def test_pairs_that_saturate_alike_have_the_same_sums(tmp_path: Path) -> None:
    path, other = tmp_path / "saturating.mlir", tmp_path / "other.mlir"
    path.write_text(SATURATING)
    other.write_text(AS_FBGEMM)
    (row,) = equal("pytorch-fbgemm-avx2", str(other), path).layers
    assert row.verdict == "equal"
    assert row.numbers > 0
    (row,) = equal("pytorch-fbgemm-avx2", "pytorch-onednn-avx2", path).layers
    assert row.how == "pairs of products may saturate by one contract alone"


@pytest.mark.parts(3)
def test_a_contract_is_equal_to_itself() -> None:
    found = qlower.verify(DIGITS, equal=("tflite", "tflite"))
    assert found.holds
    assert all(row.numbers == 0 for row in found.layers)
    assert "0 differ, 0 undecided" in str(found)


def test_factors_for_a_sum() -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        weights = random.integers(-127, 128, 27)
        target = int(weights @ random.integers(-3, 4, 27))
        found = solve(weights, -128, 127, target, target)
        assert found is not None
        assert weights @ found == target
        assert found.min() >= -128
        assert found.max() <= 127
    assert solve(np.array([2, 4]), -128, 127, 3, 3) is None
    assert solve(np.array([60, -90]), -128, 127, 29, 31) is not None


def test_sums_of_few_weights() -> None:
    """Every sum that there is is found, and no other."""
    random = np.random.default_rng(0)
    for _ in range(60):
        weights = random.integers(-6, 7, random.integers(1, 4)) * random.integers(1, 5)
        least = int(random.integers(-6, 4))
        most = least + int(random.integers(0, 6))
        intervals = np.sort(random.integers(-120, 121, (8, 2)))
        intervals[::2, 1] = intervals[::2, 0]
        for with_zero in (False, True):
            factors = {*range(least, most + 1), *([0] if with_zero else [])}
            sums = {
                sum(w * f for w, f in zip(weights.tolist(), one, strict=True))
                for one in product(factors, repeat=len(weights))
            }
            expected = [
                any(a <= one <= b for one in sums) for a, b in intervals.tolist()
            ]
            ends = (least, most)
            found = are_sums(weights, ends, intervals, with_zero=with_zero)
            assert found.tolist() == expected
            if not with_zero:
                solved = [solve(weights, *ends, *pair) for pair in intervals.tolist()]
                assert [one is not None for one in solved] == expected


SHARED_FACTOR = """
!x = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.02:0>
!y = !quant.uniform<i8:f32, 1.0:-1>
func.func @main(%x: tensor<1x3x!x>) -> tensor<1x2x!y> {
  %w = qnn.constant dense<WEIGHTS> : tensor<2x3xi8> -> tensor<2x3x!w>
  %y = qnn.linear %x, %w : (tensor<1x3x!x>, tensor<2x3x!w>) -> tensor<1x2x!y>
  return %y : tensor<1x2x!y>
}
"""
"""tflite and tflm differ in some sums, none of which is a multiple of 100."""


@pytest.mark.parametrize("small", [0, 1 << 18])
def test_weights_that_share_a_factor(
    small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums that no input has make no difference, and channels with the same range of
    sums may have other sums."""
    monkeypatch.setattr(deciding, "SMALL", small)
    path = tmp_path / "layer.mlir"
    alike = SHARED_FACTOR.replace("WEIGHTS", "[[100, -100, 0], [100, -100, 0]]")
    path.write_text(alike)
    (row,) = equal("tflite", "tflm", path, native=False).layers
    assert row.verdict == "equal"
    assert row.how.endswith("where they differ there is no sum of the weights")
    (group,) = groups(path, ["tflite", "tflm"]).layers
    assert group.verdict("tflite", "tflm") == "equal"
    path.write_text(alike.replace("0], [100, -100, 0", "0], [100, -99, -1"))
    (row,) = equal("tflite", "tflm", path, native=False).layers
    assert row.verdict == "differs"
    assert row.counterexample is not None
    assert row.counterexample.index == (0, 1)
    (group,) = groups(path, ["tflite", "tflm"]).layers
    assert group.verdict("tflite", "tflm") == "differs"


def test_inputs_lie_in_their_type(tmp_path: Path) -> None:
    """Elements that don't matter, too, where the zero point is outside."""
    path = tmp_path / "layer.mlir"
    path.write_text(OUTSIDE)
    (row,) = equal("tflite", "tflite-xnnpack", path, native=False).layers
    fits = qlower.verify(path, accumulator_bits=10, contract="tflite")
    (worst,) = (one.worst for one in fits.layers)
    for example in (row.counterexample, worst):
        assert example is not None
        assert example.inputs["x"].min() >= -100
        assert example.inputs["x"].max() <= -1


OUTSIDE = """
!x = !quant.uniform<i8<-100:-1>:f32, 0.5:7>
!w = !quant.uniform<i8:f32, 0.02:0>
!y = !quant.uniform<i8:f32, 1.0:-1>
func.func @main(%x: tensor<1x4x3x1x!x>) -> tensor<1x4x3x2x!y> {
  %w = qnn.constant dense<[[[[1], [2]]], [[[3], [50]]]]> : tensor<2x1x2x1xi8>
    -> tensor<2x1x2x1x!w>
  %y = qnn.conv2d %x, %w {stride = [1, 1], dilation = [1, 1], pad = [0, 0, 1, 0]}
    : (tensor<1x4x3x1x!x>, tensor<2x1x2x1x!w>) -> tensor<1x4x3x2x!y>
  return %y : tensor<1x4x3x2x!y>
}
"""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict, inputs = tmp_path / "verdict.json", tmp_path / "inputs.npz"
    words = ["verify", str(ASKED), "--equal", *FBGEMM]
    code = main([*words, "-o", str(verdict), "--save", str(inputs)])
    assert code == ExitCode.FOUND
    assert (
        "its results by pytorch-fbgemm-avx2 and pytorch-qnnpack"
        in capsys.readouterr().out
    )
    found = json.loads(verdict.read_text())
    named = {row["layer"] for row in found["layers"] if row["counterexample"]}
    assert named == {name.split("<-")[0] for name in np.load(inputs)}
    assert len(found["sha256"]["model"]) == 64
    words[3:] = ["exact", "exact"]
    assert main(words) == 0
    assert main(["verify", str(ASKED)]) == ExitCode.USAGE
    assert main([*words[:3], "tflite", "nonsense"]) == ExitCode.WRONG_INPUT
