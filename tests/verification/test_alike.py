"""Layers that are alike are decided once, and reported by their own names."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.model import Model
from qlower.observe.layer_run import run_layer
from qlower.verification.alike import content_of
from qlower.verification.equal import equal
from qlower.verification.groups import groups

TEXT = """\
!t = !quant.uniform<i8:f32, 0.1:3>
!w = !quant.uniform<i8<-127:127>:f32, 0.017>
!other = !quant.uniform<i8<-127:127>:f32, 0.018>
module attributes {qnn.contract = "tflite"} {
  func.func @main(%x: tensor<1x2x!t> {qnn.name = "x"}) -> tensor<1x2x!t> {
    %k = qnn.constant dense<[[9, 7], [-3, 5]]> : tensor<2x2xi8> -> tensor<2x2x!w>
    %l = qnn.constant dense<[[9, 7], [-3, 5]]> : tensor<2x2xi8> -> tensor<2x2x!w>
    %m = qnn.constant dense<[[9, 7], [-3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
    %n = qnn.constant dense<[[9, 7], [-3, 5]]> : tensor<2x2xi8> -> tensor<2x2x!other>
    %a = qnn.linear %x, %k : (tensor<1x2x!t>, tensor<2x2x!w>) -> tensor<1x2x!t>
    %b = qnn.linear %a, %l : (tensor<1x2x!t>, tensor<2x2x!w>) -> tensor<1x2x!t>
    %c = qnn.linear %b, %m : (tensor<1x2x!t>, tensor<2x2x!w>) -> tensor<1x2x!t>
    %d = qnn.linear %c, %n : (tensor<1x2x!t>, tensor<2x2x!other>) -> tensor<1x2x!t>
    %e = qnn.add %d, %b : (tensor<1x2x!t>, tensor<1x2x!t>) -> tensor<1x2x!t>
    %f = qnn.add %e, %e : (tensor<1x2x!t>, tensor<1x2x!t>) -> tensor<1x2x!t>
    %g = qnn.add %f, %a : (tensor<1x2x!t>, tensor<1x2x!t>) -> tensor<1x2x!t>
    return %g : tensor<1x2x!t>
  }
}
"""
"""`b` is like `a`, and `g` is like `e`."""


@pytest.fixture
def model(tmp_path: Path) -> Model:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    return qlower.load(path)


def counted(
    patch: pytest.MonkeyPatch, place: str, name: Callable[..., str]
) -> Counter[str]:
    """How often a method decides each layer."""
    decided: Counter[str] = Counter()
    before = pkgutil.resolve_name(place)

    def decide(*given: object) -> object:
        decided[name(*given)] += 1
        return before(*given)

    patch.setattr(place, decide)
    return decided


def test_layers_are_alike_whatever_they_are_called(model: Model) -> None:
    contents = {name: content_of(model, name) for name in model.index}
    assert contents["a"] == contents["b"]
    assert contents["e"] == contents["g"]
    assert len(set(contents.values())) == 5


def test_equality_is_decided_once(model: Model, monkeypatch: pytest.MonkeyPatch):
    alone = [
        equal("tflite", "tflite-xnnpack", model, only=[name]).layers[0]
        for name in model.index
    ]
    method = "qlower.verification.equal.LayerEquality.layer"
    decided = counted(monkeypatch, method, lambda _, name: name)
    together = equal("tflite", "tflite-xnnpack", model).layers
    assert decided == Counter("acdef")
    assert [str(row) for row in together] == [str(row) for row in alone]
    examples = [row.counterexample for row in together if row.counterexample]
    assert len(examples) > 2
    for row in together:
        if row.counterexample is not None:
            given = row.counterexample.inputs
            results = [
                run_layer(model, name, row.layer, given).result
                for name in ("tflite", "tflite-xnnpack")
            ]
            a, b = results
            assert not np.array_equal(a, b)


def test_another_contract_of_one_layer_is_seen(model: Model) -> None:
    other = {"b": "tflite-xnnpack"}
    found = equal("tflite", "tflite", model, b_layer_contracts=other)
    assert [row.layer for row in found.layers if row.verdict == "differs"] == ["b"]


def test_groups_are_found_once(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    method = "qlower.verification.groups._Layer.groups"
    decided = counted(monkeypatch, method, lambda layer: layer.name)
    found = groups(model, ["tflite", "tflite-xnnpack", "tosa"])
    assert decided == Counter("acdef")
    assert [row.layer for row in found.layers] == [*"abcdefg"]
    (a, b) = found.layers[:2]
    assert a.groups == b.groups
