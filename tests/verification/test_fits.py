"""Whether sums fit a width: against sums of all orders, and what saturates when run."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import models_directory
from support.layers.small_model import SIGNED_MODEL

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.contracts.accumulator_range import constant_integers, product_terms
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.frontends.load import named
from qlower.interp import Array
from qlower.model.layers import layer_name, layers
from qlower.observe.layer_run import run_layer
from qlower.sides.sides import Computed
from qlower.text.parsing import parse_module
from qlower.verification.fits import fits

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.mlir"
KEYWORDS = models_directory() / "micro_kws_m_fp32_onnx" / "model.onnx"
ASKED = EXAMPLES / "fbgemm-overflow" / "asked.mlir"


@pytest.mark.parts(5)
def test_widths_are_those_of_sums_in_the_order() -> None:
    loaded = qlower.load(DIGITS)
    (op,) = (op for op in layers(loaded.module) if isinstance(op, qnn.LinearOp))
    terms = product_terms(op)
    assert terms is not None
    assert op.bias is not None
    bias = constant_integers(op.bias)
    assert bias is not None
    for order in ("any", "memory"):
        found = fits(loaded, 32, order=order)
        assert found.holds
        row = next(row for row in found.layers if row.layer == "logits")
        sums = [int(bias[row.channel])]
        lowest, highest = list(sums), list(sums)
        for least, most in zip(*(term[row.channel] for term in terms), strict=True):
            lowest.append(lowest[-1] + int(least))
            highest.append(highest[-1] + int(most))
        if order == "memory":
            assert (row.minimum, row.maximum) == (min(lowest), max(highest))
        else:
            assert row.minimum <= min(lowest)
            assert row.maximum >= max(highest)


def test_the_largest_weights_fit_and_the_next_do_not() -> None:
    found = fits(DIGITS, 16)
    row = next(row for row in found.layers if not row.fits)
    assert row.largest_weight is not None
    assert row.worst is not None
    assert abs(row.worst.sum) >= 1 << 15
    every = layers(qlower.load(DIGITS).module)
    op = next(op for op in every if layer_name(op) == row.layer)
    assert isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp)
    assert op.bias is not None
    bias = constant_integers(op.bias)
    assert bias is not None
    held: list[bool] = []
    for weight in (row.largest_weight, row.largest_weight + 1):
        terms = product_terms(op, weight / 127)
        assert terms is not None
        start = np.rint(bias * (weight / 127))
        low = np.minimum(terms[0], 0).sum(axis=1) + np.minimum(start, 0)
        high = np.maximum(terms[1], 0).sum(axis=1) + np.maximum(start, 0)
        held.append(bool(low.min() >= -(1 << 15) and high.max() < 1 << 15))
    assert held == [True, False]


def test_pairs_that_saturate_do_when_run() -> None:
    found = qlower.verify(ASKED, accumulator_bits=32, contract="pytorch-fbgemm-avx2")
    assert not found.holds
    (pairs,) = (row for row in found.layers if row.what == "pairs")
    assert pairs.needed == 17
    assert pairs.worst is not None
    assert pairs.worst.held != pairs.worst.sum
    values = pairs.worst.inputs
    saturated, plain = (
        run_layer(qlower.load(ASKED), contract, pairs.layer, values).result
        for contract in ("pytorch-fbgemm-avx2", "pytorch-fbgemm")
    )
    assert not np.array_equal(saturated, plain)
    assert "held as" in str(found)


BIASED = """
!x = !quant.uniform<u8:f32, 0.001:0>
!w = !quant.uniform<i8:f32, 0.001:0>
!y = !quant.uniform<u8:f32, 0.1:0>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x2x!y> {{
  %w = qnn.constant dense<"0x818181817F02027F"> : tensor<2x4xi8> -> tensor<2x4x!w>
  %b = arith.constant dense<{bias}> : tensor<2x{type}>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x4x!x>, tensor<2x4x!w>, tensor<2x{type}>) -> tensor<1x2x!y>
  return %y : tensor<1x2x!y>
}}
"""
BIASES = {"f32": "[20.0, -3.0]", "i32": "[200000, -100000]"}
ADDED_BY_RULE = ("glow-interpreter", "pytorch-fbgemm")
IN_ACCUMULATOR = ("exact", "tflite", "onnx-reference")


@pytest.mark.parametrize(
    ("only", "found"),
    [(None, ["conv", "scores"]), (["scores"], ["scores"]), (["flat"], []), ([], [])],
)
def test_layers_that_are_asked_for(only: list[str] | None, found: list[str]) -> None:
    """One that adds nothing up has no row."""
    model = named(parse_module(SIGNED_MODEL), None)
    told = fits(model, 32, contract="tflm", only=only)
    assert "contract tflm" in told.hashes
    assert [row.layer for row in told.layers] == found
    assert not told.others


@pytest.mark.parts(8)
@pytest.mark.parametrize("type", BIASES)
def test_the_bias_counts_where_the_accumulator_has_it(
    type: str, tmp_path: Path
) -> None:
    """As the contract quantizes a real bias; not where its rule adds it itself."""
    path = tmp_path / "biased.mlir"
    path.write_text(BIASED.format(type=type, bias=BIASES[type]))
    model = qlower.load(path)
    corners = np.array(list(product((0, 255), repeat=4)), np.uint8)[:, np.newaxis]
    for contract in (*ADDED_BY_RULE, *IN_ACCUMULATOR):
        try:
            runs = [run_layer(model, contract, "y", {"x": x}) for x in corners]
        except QlowerError:
            with pytest.raises(QlowerError, match="quantize_bias"):
                fits(model, 16, contract=contract)
            continue
        for order in ("any", "memory"):
            row = fits(model, 16, contract=contract, order=order).layers[0]
            held = np.stack([run.evaluations[-1].values["accumulator"] for run in runs])
            sums = held[..., row.channel]
            assert row.minimum <= sums.min(), contract
            assert row.maximum >= sums.max(), contract
            bits = max(int(sums.max()), ~int(sums.min())).bit_length() + 1
            assert row.needed == bits or contract in IN_ACCUMULATOR


def test_a_bias_of_64_bits_counts(tmp_path: Path) -> None:
    text = BIASED.format(type="i64", bias="[1099511627776, 0]").replace("u8", "i16")
    path = tmp_path / "words.mlir"
    path.write_text(text)
    row = fits(path, 40, contract="tflite").layers[0]
    assert row.worst is not None
    assert (row.needed, row.worst.sum) == (42, row.maximum)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["verify", str(DIGITS), "--accumulator-bits"]
    assert main([*words, "32"]) == 0
    assert "fit, with products added in any order" in capsys.readouterr().out
    saved = tmp_path / "worst.npz"
    assert main([*words, "16", "--save", str(saved)]) == ExitCode.FOUND
    assert len(np.load(saved)) > 0
    assert main([*words, "64"]) == ExitCode.USAGE
    assert main([*words, "24", "--equal", "tflite", "tvm"]) == ExitCode.USAGE


@pytest.mark.long
@pytest.mark.skipif(not KEYWORDS.exists(), reason=f"{KEYWORDS} isn't there")
@pytest.mark.parametrize("contract", ["onnxruntime-avx2", "pytorch-fbgemm-avx2"])
def test_pairs_of_a_real_model_saturate_in_machine_code(
    contract: str, tmp_path: Path
) -> None:
    """The worst inputs are found without running the model, and do saturate."""
    model = qlower.load(quantized_by_onnxruntime(KEYWORDS, tmp_path / "model.onnx"))
    found = fits(model, 32, contract=contract)
    pairs = [row for row in found.layers if row.what == "pairs" and not row.fits]
    assert pairs
    side = Computed(contract, model, contract, "jit")
    for row in pairs:
        worst = row.worst
        assert worst is not None
        assert row.needed == 17
        assert row.largest_weight is not None
        run = side.layer(row.layer, worst.inputs)
        assert run.exact_sums is not None
        start = np.broadcast_to(run.start, run.result.shape)[worst.index]
        assert run.exact_sums[worst.index] + start == worst.sum != worst.held
        native = side.alone(worst.inputs)[row.layer]
        assert np.array_equal(native, run.result)


def quantized_by_onnxruntime(real: Path, path: Path) -> Path:
    """A model with uint8 activations and int8 weights, from one with real numbers."""
    quantization: Any = pytest.importorskip("onnxruntime.quantization")
    examples = np.load(real.with_name("inputs.npz"))["x"][:, np.newaxis]

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.examples = iter(examples)

        def get_next(self) -> dict[str, Array] | None:
            example = next(self.examples, None)
            return None if example is None else {"serving_default_input:0": example}

    quantization.quantize_static(
        str(real),
        str(path),
        Reader(),
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )
    return path


WEIGHTLESS = """
!x = !quant.uniform<u8:f32, 0.1:7>
!s = !quant.uniform<u8:f32, 0.00390625:0>
func.func @main(%x: tensor<1x2x4x5x!x>) -> tensor<1x2x1x1x!s> {
  %a = qnn.reshape %x : (tensor<1x2x4x5x!x>) -> tensor<1x2x4x5x!x>
  %t = qnn.transpose %a {perm = [0, 1, 3, 2]}
    : (tensor<1x2x4x5x!x>) -> tensor<1x2x5x4x!x>
  %m = qnn.matmul %a, %t
    : (tensor<1x2x4x5x!x>, tensor<1x2x5x4x!x>) -> tensor<1x2x4x4x!x>
  %q = qnn.matmul %m, %m
    : (tensor<1x2x4x4x!x>, tensor<1x2x4x4x!x>) -> tensor<1x2x4x4x!x>
  %p = qnn.avg_pool2d %q
    {kernel = [2, 4], stride = [2, 4], pad = [0, 0, 0, 0], activation = "relu"}
    : (tensor<1x2x4x4x!x>) -> tensor<1x1x1x4x!x>
  %r = qnn.reshape %p : (tensor<1x1x1x4x!x>) -> tensor<1x2x2x1x!x>
  %n = qnn.mean %r {axes = [2], keep_dims = true}
    : (tensor<1x2x2x1x!x>) -> tensor<1x2x1x1x!x>
  %y = qnn.softmax %n : (tensor<1x2x1x1x!x>) -> tensor<1x2x1x1x!s>
  return %y : tensor<1x2x1x1x!s>
}
"""


def test_layers_without_weights_are_decided_or_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Products, pools, means, exponentials; a matrix by itself, and what only moves."""
    path, junit = tmp_path / "weightless.mlir", tmp_path / "verdict.xml"
    path.write_text(WEIGHTLESS)
    found = fits(path, 32, contract="tflite")
    needed = {row.layer: (row.minimum, row.maximum) for row in found.layers}
    assert needed == {
        "m": (5 * 248 * -7, 5 * 248 * 248),
        "p": (0, 8 * 255),
        "n": (0, 2 * 255),
        "y": (0, 1 << 19),
    }
    assert [other.layer for other in found.others] == ["q"]
    assert not found.holds
    words = ["verify", str(path), "--accumulator-bits", "32", "--junit", str(junit)]
    assert main([*words, "--contract", "tflite"]) == ExitCode.FOUND
    assert "both are the same tensor): q." in capsys.readouterr().out
    assert '<failure message="undecided' in junit.read_text()
    narrow = fits(path, 10, contract="tflite")
    (pool,) = (row for row in narrow.layers if row.layer == "p")
    assert pool.worst is not None
    assert (pool.worst.sum, pool.worst.held) == (2040, 2040)


def test_sums_of_real_numbers_are_named_and_do_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, junit = tmp_path / "softmax.mlir", tmp_path / "verdict.xml"
    path.write_text(
        """
!x = !quant.uniform<u8:f32, 0.1:7>
!s = !quant.uniform<u8:f32, 0.00390625:0>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x4x!s> {
  %y = qnn.softmax %x : (tensor<1x4x!x>) -> tensor<1x4x!s>
  return %y : tensor<1x4x!s>
}
"""
    )
    words = ["verify", str(path), "--accumulator-bits", "32", "--junit", str(junit)]
    assert main([*words, "--contract", "onnxruntime"]) == 0
    assert "Not looked at (adds real numbers): y." in capsys.readouterr().out
    assert '<skipped message="adds real numbers"' in junit.read_text()


def test_a_model_with_its_own_arithmetic_is_not_called_fitting() -> None:
    path = Path(__file__).parents[1] / "support" / "formats" / "tosa_layer.mlir"
    found = fits(path, 32)
    assert not found.holds
    assert {other.why for other in found.others} == {"TOSA states its own arithmetic"}
