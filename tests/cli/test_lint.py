"""`qlower lint`: what can leave its width, and where it does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from qlower.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = str(EXAMPLES / "digits" / "digits.mlir")

Capture = pytest.CaptureFixture[str]


def findings(capsys: Capture, *arguments: str) -> list[dict[str, object]]:
    code = main(["lint", *arguments, "--json"])
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["rows"]
    assert code == bool(found)
    return found


@pytest.mark.parts(4)
def test_nothing_to_find(model: str, capsys: Capture):
    assert findings(capsys, model) == []


def test_accumulators_of_a_narrow_device(model: str, capsys: Capture):
    """Channel 0 of conv: 100 + 64 * [0, 255] = [100, 16420]."""
    assert findings(capsys, model, "--accumulator-bits", "16") == []
    (conv,) = findings(capsys, model, "--accumulator-bits", "15")
    assert (conv["layer"], conv["what"], conv["bits"]) == ("conv", "accumulator", 15)
    assert (conv["minimum"], conv["maximum"]) == (100, 16420)
    assert (conv["channels_at_risk"], conv["channels"]) == (1, 2)
    for codes, out in ((127, 4), (126, 0)):
        np.save("x.npy", np.full((1, 2, 2, 1), codes, np.int8))
        command = [model, "--accumulator-bits", "15", "--input", "x.npy"]
        (conv,) = findings(capsys, *command)
        assert (conv["out_of_range"], conv["sums"]) == (out, 8)


def test_pairs_of_every_layer(capsys: Capture):
    """As many channels as the example fbgemm-overflow counts by itself."""
    contract = ["--contract", "pytorch-fbgemm-avx2"]
    for options in (contract, ["--pairs"]):
        found = findings(capsys, DIGITS, *options)
        assert [(row["layer"], row["channels_at_risk"]) for row in found] == [
            ("conv1", 8),
            ("depthwise", 4),
            ("pointwise", 3),
            ("logits", 7),
        ]
        assert all(row["what"] == "pairs" and row["bits"] == 16 for row in found)


def test_wrong_widths(model: str, capsys: Capture):
    assert main(["lint", model, "--accumulator-bits", "1"]) == 1
    assert "must be in [2, 63], not 1" in capsys.readouterr().err


ASKED = str(EXAMPLES / "fbgemm-overflow" / "asked.mlir")


@pytest.mark.parts(3)
def test_pairs_are_looked_at_without_being_asked_for(capsys: Capture):
    """A model that says nothing of the machine may run on one with pairs; one with a
    contract doesn't, but is said to be in danger elsewhere."""
    (found,) = findings(capsys, ASKED)
    assert (found["what"], found["channels_at_risk"]) == ("pairs", 10)
    for contract in ("pytorch-fbgemm", "onnxruntime"):
        assert len(findings(capsys, ASKED, "--contract", contract)) == 1
    for contract in ("exact", "tflite", "pytorch-qnnpack"):
        assert main(["lint", ASKED, "--contract", contract]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert text.startswith("0 findings. The contract's own system multiplies exact")
        assert "10 of 10 channels of linear_2 can reach 1.5 times the limit" in text
        assert "x86 without VNNI" in text
        assert "reduce_range=True" in text


SUMS = """
!x = !quant.uniform<{storage}:f32, 0.5>
!w = !quant.uniform<u8:f32, 0.25>
!y = !quant.uniform<{storage}:f32, 16.0>
func.func @main(%x: tensor<1x64x!x>, %v: tensor<64x2x!x>, %u: tensor<2x64x!w>)
    -> (tensor<1x2x!y>, tensor<1x2x!y>) {{
  %product = qnn.matmul %x, %v : (tensor<1x64x!x>, tensor<64x2x!x>) -> tensor<1x2x!y>
  %computed = qnn.linear %x, %u : (tensor<1x64x!x>, tensor<2x64x!w>) -> tensor<1x2x!y>
  return %product, %computed : tensor<1x2x!y>, tensor<1x2x!y>
}}
"""


def test_sums_of_computed_operands_are_bounded_by_their_types(capsys: Capture):
    """64 products of an int8 with an int8, and with a byte: 2^20 and about 2^21."""
    Path("sums.mlir").write_text(SUMS.format(storage="i8"))
    for bits, layers in ((21, ["product", "computed"]), (22, []), (32, [])):
        found = findings(capsys, "sums.mlir", "--accumulator-bits", str(bits))
        assert [row["layer"] for row in found if row["what"] == "accumulator"] == layers
    # pairs have signed weights
    assert findings(capsys, "sums.mlir") == []


def test_what_is_not_looked_at_is_said(capsys: Capture):
    text = """
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x64x!x>) -> tensor<1x!x> {
  %total = qnn.sum %x {axes = [1]} : (tensor<1x64x!x>) -> tensor<1x!x>
  return %total : tensor<1x!x>
}
"""
    Path("total.mlir").write_text(text)
    assert main(["lint", "total.mlir"]) == 0
    assert "Not looked at: sum." in capsys.readouterr().out


def test_a_real_bias_counts_as_the_contract_quantizes_it(capsys: Capture):
    """3 weights of 100 by [0, 255], and a bias of 40 / (0.25 * 0.5) = 320."""
    text = """
!x = !quant.uniform<u8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.5>
!y = !quant.uniform<u8:f32, 0.5>
func.func @main(%x: tensor<1x3x!x>) -> tensor<1x1x!y> {
  %w = qnn.constant dense<100> : tensor<1x3xi8> -> tensor<1x3x!w>
  %b = arith.constant dense<40.0> : tensor<1xf32>
  %y = qnn.linear %x, %w, %b
       : (tensor<1x3x!x>, tensor<1x3x!w>, tensor<1xf32>) -> tensor<1x1x!y>
  return %y : tensor<1x1x!y>
}
"""
    Path("real.mlir").write_text(text)
    command = ["real.mlir", "--accumulator-bits", "16", "--contract"]
    (found,) = findings(capsys, *command, "pytorch-qnnpack")
    assert (found["minimum"], found["maximum"]) == (320, 76820)
    # this engine's rule adds the bias itself
    (found, *_) = findings(capsys, *command, "pytorch-fbgemm")
    assert (found["minimum"], found["maximum"]) == (0, 76500)
