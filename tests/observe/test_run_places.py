"""Which evaluations an element is made of, and the sums that are meant."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.contracts import load_contract
from qlower.dialects import qnn
from qlower.frontends.load import named
from qlower.model.layers import layer_name, layers
from qlower.observe import layer_run as module
from qlower.observe.layer_run import Evaluation, LayerRun, run_layer
from qlower.text.parsing import parse_module


def places(op: Any, shape: tuple[int, ...], count: int, index: Any) -> list[Any]:
    contract: Any = None
    evaluations: Any = tuple(range(count))
    run: Any = LayerRun(op, contract, [], np.zeros(shape), evaluations)
    return list(run._places(index))


class Rows:
    """A rule on rows."""

    def __init__(self, *loops: tuple[int, ...]) -> None:
        self.loops = loops


class Hybrid:
    """A layer whose input is quantized as it runs."""


class Lstm:
    """A layer that goes step by step."""


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {**vars(qnn), "RealRowsOp": Rows, "HybridOp": Hybrid, "LstmOp": Lstm}
    monkeypatch.setattr(module, "qnn", SimpleNamespace(**given))


def test_rows() -> None:
    """With one result each, or one for each element."""
    assert places(Rows((2, 3), (4,)), (2, 3), 2, (1, 2)) == [(1, (1, 2), (2, 3))]
    assert places(Rows((6,), (4,)), (2, 3), 2, (1, 2)) == [(1, (5,), (6,))]
    assert places(Rows((6,), (2, 2)), (2, 3, 4), 2, (1, 2, 3)) == [
        (1, (5, 3), (6, 4)),
    ]


def test_layers_of_elements() -> None:
    assert places(object(), (2, 3), 2, (1, 2)) == [
        *((0, (1, 2), (2, 3)), (1, (1, 2), (2, 3))),
    ]
    assert places(Hybrid(), (2, 3), 3, (1, 2)) == [(2, (1, 2), (2, 3))]


def test_steps_of_an_lstm() -> None:
    """Three evaluations a step: of the gates, the cell and the state."""
    gates = len(qnn.GATES)
    assert places(Lstm(), (2, 4, 5), 12, (1, 2, 3)) == [
        *((6, (1, gate, 3), (2, gates, 5)) for gate in range(gates)),
        *((7, (1, 3), (2, 5)), (8, (1, 3), (2, 5))),
    ]


def test_values_of_one_element() -> None:
    rule: Any = None
    values = {"a": np.arange(6).reshape(2, 3), "b": np.arange(3), "c": np.array(7)}
    found = Evaluation(rule, values).at((1, 2), (2, 3))
    assert found == {"a": 5, "b": 2, "c": 7}
    assert Evaluation(rule, values).at((1,), (3,)) is None
    assert Evaluation(rule, values).at((1, 1), (2, 2)) is None


def test_sums_of_a_small_model() -> None:
    model = named(parse_module(SMALL_MODEL, "m.mlir"), None)
    (op, *_) = layers(model.module)
    name = layer_name(op) or ""
    (spec,) = model.inputs
    x = np.arange(np.prod(spec.shape), dtype=np.int8).reshape(spec.shape)
    run = run_layer(model, "tflite", name, {spec.name: x}, load_contract)
    assert run.bias is not None
    assert run.exact_sums is not None
    assert run.exact_accumulators is not None
    assert np.array_equal(run.exact_accumulators, run.exact_sums + run.bias)
    index = tuple(size - 1 for size in run.result.shape)
    assert run.has_exact_sum(index)
    assert run.cut(index) == "bias rounded"
    meant = run.meant(index)
    assert meant is not None
    rule, values = meant
    assert rule == op.name.removeprefix("qnn.")
    assert values["accumulator"] == run.exact_accumulators[index]
    assert (values["bias"], values["real_bias"]) == (0, 0)
    (chain,) = run.chains(index)
    assert chain.result == run.result[index]
    given: Any = {"output_zero_point": np.int32(1)}
    assert run.chain_given(index, given) is not None
    bare = LayerRun(run.op, run.contract, run.arguments, run.result, ())
    assert bare.chain_given(index, {}) is None
    assert bare.meant(index) is None
    assert bare.has_exact_sum(index)
    assert (bare.order, bare.row_orders) == (None, {})
