"""What a contract lacks for a model is told at once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import qlower
from qlower.contracts import load_contract
from qlower.contracts.needs import rules_of, unmet_needs
from qlower.contracts.rules import RULES
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn import QnnOp
from qlower.model.layers import layers

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"

REFUSED = """
!t = tensor<1x4x!quant.uniform<i8:f32, 0.5:3>>
func.func @main(%x: !t) -> !t {
  %first = qnn.leaky_relu %x {alpha = -0.1 : f32} : (!t) -> !t
  %beta = qnn.softmax %first {axis = 1, beta = 2.0 : f32} : (!t) -> !t
  %second = qnn.leaky_relu %beta {alpha = -0.2 : f32} : (!t) -> !t
  func.return %second : !t
}
"""

EMPTY = 'module attributes {contract.summary = "nothing"} {}'


def test_every_missing_rule_is_named(tmp_path: Path):
    path = tmp_path / "empty.mlir"
    path.write_text(EMPTY)
    with pytest.raises(QlowerError) as caught:
        qlower.lower(DIGITS, str(path))
    text = str(caught.value)
    assert (
        "contract empty has no rule conv2d, bound, depthwise_conv2d, linear, "
        "softmax_output, softmax_term, softmax_addend, which this model needs"
    ) in text
    assert "note: in 5 layers: conv2d conv1, depthwise_conv2d depthwise" in text
    assert "--layer-contract softmax=tflite" in text


@pytest.mark.parts(3)
def test_one_missing_rule():
    with pytest.raises(QlowerError) as caught:
        qlower.lower(DIGITS, "pytorch-x86")
    text = str(caught.value)
    assert "no rule softmax_output, softmax_term, softmax_addend, which" in text
    assert "note: in layer 'probabilities'" in text
    assert "conv2d=" not in text


def test_every_layer_that_is_refused_is_named(tmp_path: Path):
    path = tmp_path / "refused.mlir"
    path.write_text(REFUSED)
    with pytest.raises(QlowerError) as caught:
        qlower.lower(path, "glow-cpu")
    text = str(caught.value)
    assert "refused.mlir:4:12: error: leaky_relu: the slope isn't positive" in text
    assert "note: in 2 layers: leaky_relu first, leaky_relu second" in text
    assert "note: the contract says so here" in text
    assert "note: besides, in softmax beta: softmax: Glow has no beta but 1" in text
    assert "help:" not in text
    alias, body = REFUSED.strip().split("\n", 1)
    header = 'module attributes {qnn.contract = "tflite"} {'
    path.write_text(f"{alias}\n{header}\n{body}\n}}")
    with pytest.raises(QlowerError, match="--layer-contract softmax=tflite"):
        qlower.lower(path, "glow-cpu")


def test_a_contract_that_is_complete_needs_nothing():
    module = qlower.load(DIGITS).module
    assert not list(unmet_needs(layers(module), "tflite", cache(load_contract)))


def test_ops_ask_for_rules_that_exist():
    complete = load_contract("tflite")
    for op in layers(qlower.load(DIGITS).module):
        assert set(rules_of(op, complete)) <= RULES.keys()


def test_fused_bounds_and_moved_values():
    digits = [op for op in layers(qlower.load(DIGITS).module)]
    by_kind = {op.kind: op for op in digits if isinstance(op, QnnOp)}
    assert by_kind["conv2d"].rules == ("conv2d", "bound")
    assert by_kind["reshape"].rules == ()
    assert by_kind["max_pool2d"].rules == ()
