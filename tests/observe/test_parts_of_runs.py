"""Sums, starts and orders of a layer that was run, with layers made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.model.entry import signature_of
from qlower.observe import layer_run as module
from qlower.observe.layer_run import Evaluation, LayerRun, model_up_to
from qlower.text.parsing import parse_module


class Real:
    """A sum of real numbers."""


class Rows:
    """A rule on rows."""

    rules = ("softmax",)


class Hybrid:
    """A layer with stored weights on real numbers."""

    kind = "hybrid_linear"


class Sum:
    """A contraction of stored integers."""

    def __init__(self, bias: object = None) -> None:
        self.bias = bias


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {**vars(qnn), "RealRowsOp": Rows, "HybridOp": Hybrid, "RealOp": Real}
    monkeypatch.setattr(module, "qnn", SimpleNamespace(**given))
    monkeypatch.setattr(module, "SUMMED", (Sum,))
    monkeypatch.setattr(module, "CONTRACTIONS", (Sum,))


def run(
    op: Any,
    arguments: Any = (),
    *,
    products: tuple[str, ...] = (),
    held: Any = None,
    shape: tuple[int, ...] = (2, 3),
) -> LayerRun:
    rule: Any = SimpleNamespace(products=products, name="linear", function="function")
    contract: Any = SimpleNamespace(rule=lambda name: rule, rules={})
    evaluations = () if held is None else (Evaluation(rule, {"accumulator": held}),)
    return LayerRun(op, contract, arguments, np.zeros(shape), evaluations)


SUMS: Array = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
BIAS: Array = np.array([10, 20, 30], np.int32)


@pytest.fixture
def summing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums are the first argument, the start is the bias."""

    def ruled(*_: object) -> Any:
        return SimpleNamespace(start_of_sum=lambda model_bias: model_bias())

    monkeypatch.setattr(module, "exact_sums", lambda op, first, second: first)
    monkeypatch.setattr(module, "RuledContraction", ruled)


@pytest.mark.usefixtures("summing")
def test_accumulators_with_an_integer_bias() -> None:
    plain = run(Sum(), [SUMS, None])
    assert (plain.bias, plain.start.tolist()) == (None, 0)
    assert plain.exact_sums is not None
    assert plain.exact_sums.dtype == np.int64
    assert plain.exact_accumulators is plain.exact_sums
    added = run(Sum("bias"), [SUMS, None, BIAS])
    assert added.bias is BIAS
    assert added.start is BIAS
    assert added.exact_accumulators is not None
    assert added.exact_accumulators.tolist() == [[11, 22, 33], [14, 25, 36]]
    real = run(Sum("bias"), [SUMS, None, BIAS.astype(np.float32)])
    assert real.exact_accumulators is real.exact_sums
    other = run(object(), [SUMS, None, BIAS])
    assert (other.exact_sums, other.exact_accumulators, other.bias) == (None,) * 3
    assert other.start.tolist() == 0


@pytest.mark.usefixtures("summing")
def test_values_that_a_rule_is_meant_to_have() -> None:
    added = run(Sum("bias"), [SUMS, None, BIAS])
    meant: Any = vars(LayerRun)["_exact_sum"]
    found = meant(added, (1, 2))
    assert {name: value.item() for name, value in found.items()} == {
        **{"accumulator": 36, "bias": 0, "real_bias": 0},
    }
    real = run(Sum("bias"), [SUMS, None, BIAS.astype(np.float32) / 4])
    found = meant(real, (1, 2))
    assert (found["accumulator"], found["real_bias"]) == (6, 7.5)
    assert meant(run(object()), (0, 0)) == {}


@pytest.mark.usefixtures("summing")
@pytest.mark.parametrize(("more", "exact"), [(0, True), (1, False)])
def test_sums_that_a_rule_was_given(more: int, exact: bool) -> None:
    """At each place, with the bias before."""
    held = SUMS + BIAS
    held[1, 2] += more
    given = run(Sum("bias"), [SUMS, None, BIAS], held=held)
    assert given.has_exact_sum((0, 0))
    assert given.has_exact_sum((1, 2)) == exact
    assert run(Sum("bias"), [SUMS, None, BIAS]).has_exact_sum((1, 2))
    assert run(object(), [], held=held).has_exact_sum((1, 2))
    others = run(Sum("bias"), [SUMS, None, BIAS], held=held[:1, :2])
    assert others.has_exact_sum((1, 2))


@pytest.mark.parametrize(
    ("name", "words"),
    [("in_order", "in order"), ("blocks_of_lanes", "blocks of lanes of 8")],
)
def test_orders_of_sums_of_real_numbers(
    name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "order_of", lambda *_: name)
    monkeypatch.setattr(module, "block_of", lambda *_: 8)
    own = run(Real())
    assert own.order == words
    for starts, start in ((True, "the bias"), (False, "0")):
        monkeypatch.setattr(module, "starts_from_bias", lambda *_, s=starts: s)
        assert own.cut((0, 0)) == f"{words} sum from {start}"
    assert own.row_orders == {}


def test_orders_of_other_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    orders: Mapping[str, str] = {"a": "in_order", "b": "in_pairs"}
    monkeypatch.setattr(module, "row_values", lambda op: op)
    monkeypatch.setattr(module, "orders_of", lambda *_: orders)
    assert run(Rows()).order == "in order, in pairs"
    assert run(Rows()).row_orders == orders
    assert run(Hybrid(), products=("tensor_range",)).order == "tensor_range"
    assert run(object()).order is None
    assert run(object()).product == "exact"


@pytest.mark.usefixtures("summing")
@pytest.mark.parametrize(
    ("product", "words"), [("exact", "wraps"), ("u8_pairs", "u8 pairs")]
)
def test_why_a_sum_is_not_the_exact_one(
    product: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "product_of", lambda *_: product)
    own = run(Sum(), [SUMS, None], held=SUMS + 1)
    assert own.product == product
    assert own.cut((0, 0)) == words
    assert run(Sum(), [SUMS, None], held=SUMS).cut((0, 0)) == "bias rounded"


TEXT = """\
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x4x!x>, %s: tensor<1x4x!x>)
    -> (tensor<1x4x!x>, tensor<1x4x!x>)
    attributes {qnn.state = [dense<3> : tensor<1x4xi8>]} {
  %a = qnn.relu %x : (tensor<1x4x!x>) -> tensor<1x4x!x> loc("a")
  %b = qnn.relu %a : (tensor<1x4x!x>) -> tensor<1x4x!x> loc("b")
  %r = qnn.relu %s : (tensor<1x4x!x>) -> tensor<1x4x!x> loc("r")
  %t = qnn.reshape %b : (tensor<1x4x!x>) -> tensor<4x!x> loc("t")
  return %b, %r : tensor<1x4x!x>, tensor<1x4x!x>
}"""


@pytest.mark.parametrize(
    ("layer", "left", "shape"),
    [("a", "ar", (1, 4)), ("t", "abrt", (4,)), ("r", "r", (1, 4))],
)
def test_models_that_end_with_a_layer(
    layer: str, left: str, shape: tuple[int, ...]
) -> None:
    """The state stays, and what that needs."""
    given = qlower.Model(parse_module(TEXT, "m.mlir"))
    cut = model_up_to(given, layer)
    found: ModuleOp = cut.module
    names = [op.location for op in found.walk() if op.name.startswith("qnn.")]
    assert len(names) == len(left)
    signature = signature_of(found)
    assert [spec.shape for spec in signature.outputs] == [shape]
    assert len(signature.states) == 1
    assert len(signature_of(given.module).outputs) == 1
