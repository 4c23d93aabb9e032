"""Scales of a device that may be trained, and how threads share its examples."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.load import named
from qlower.text.parsing import parse_module

pytest.importorskip("torch", reason="torch is not installed")
devices: Any = import_module("qlower.torch.device")

TEXT = """
!x = !quant.uniform<i8:f32, 0.5:3>
!h = !quant.uniform<i8:f32, 0.25:-7>
!w = !quant.uniform<i8:f32:0, {0.125, 0.0625}>
!v = !quant.uniform<i8:f32, 0.03125>
func.func @main(%x: tensor<1x2x!x>) -> (tensor<1x2x!x>, tensor<1x2x!h>) {
  %w = qnn.constant dense<[[1, -2], [5, 6]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %v = qnn.constant dense<[[3, 4], [-7, 8]]> : tensor<2x2xi8> -> tensor<2x2x!v>
  %0 = qnn.linear %x, %w : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!h>
    loc("first.one")
  %1 = qnn.transpose %0 {perm = [0, 1]} : (tensor<1x2x!h>) -> tensor<1x2x!h>
    loc("moved")
  %2 = qnn.linear %1, %v : (tensor<1x2x!h>, tensor<2x2x!v>) -> tensor<1x2x!x>
    loc("second")
  %3 = qnn.linear %x, %v : (tensor<1x2x!x>, tensor<2x2x!v>) -> tensor<1x2x!h>
    loc("third")
  return %2, %3 : tensor<1x2x!x>, tensor<1x2x!h>
}"""


def device(threads: int = 1) -> Any:
    model = named(parse_module(TEXT), None)
    return devices.Device(qlower.Model(model.module), "exact", {}, threads)


SCALES = {
    "first_one": (0.25,),
    "first_one:weight": (0.125, 0.0625),
    "second:weight": (0.03125,),
}


def test_scales_that_may_be_trained() -> None:
    """Those of inputs and of outputs may not. What is moved has its operand's, and
    weights that two layers share have one."""
    found = device()
    assert found.free_scales == SCALES
    assert sorted(set(found.result_keys.values())) == ["first.one"]
    assert len(found.result_keys) == 2


def test_other_scales() -> None:
    new = {name: tuple(2 * one for one in scales) for name, scales in SCALES.items()}
    assert device().rescaled(new).free_scales == new


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("number", [0.0, -0.5])
def test_scales_are_positive(name: str, number: float) -> None:
    """The least of all is named."""
    given = SCALES | {name: (*SCALES[name][:-1], number)}
    with pytest.raises(QlowerError) as caught:
        device().rescaled(given)
    assert caught.value.message == f"a scale is {number:g}; scales have to be positive"


def test_threads_share_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are, or as there are examples; one alone starts no thread."""
    started: list[int] = []
    pool: Any = devices.ThreadPoolExecutor

    def counted(threads: int) -> Any:
        started.append(threads)
        return pool(threads)

    monkeypatch.setattr(devices, "ThreadPoolExecutor", counted)
    found = device(3)
    weights = [spec.stored for spec in found.weights]
    x = np.arange(-8, 8, dtype=np.int8).reshape(8, 2)
    wanted, _ = found.run([x[:1]], weights)
    assert started == []
    for count, threads in ((2, 2), (3, 3), (8, 3)):
        outputs, layers = found.run([x[:count]], weights)
        assert started.pop() == threads
        assert [len(one) for one in (*outputs, *layers.values())] == [count] * 6
        np.testing.assert_array_equal(outputs[0][:1], wanted[0])
