"""The value of a network that is judged, and the layers that round before it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from qlower.diagnostics import QlowerError
from qlower.frontends.load import named
from qlower.text.parsing import parse_module

pytest.importorskip("torch", reason="torch is not installed")

network_room: Any = import_module("qlower.improvement.network")
sensitivity: Any = import_module("qlower.improvement.sensitivity")

X = "!quant.uniform<i8:f32, 0.25>"
P = "!quant.uniform<i8:f32, 0.00390625:-128>"
RAW = f"tensor<1x4x{X}>"
SHARE = f"tensor<1x4x{P}>"

LINEAR = f"""
  %w = qnn.constant dense<1> : tensor<4x4xi8> -> tensor<4x4x{X}>
  %b = arith.constant dense<0> : tensor<4xi32>
  %fc = qnn.linear %x, %w, %b : ({RAW}, tensor<4x4x{X}>, tensor<4xi32>) -> {RAW}
  %flat = qnn.reshape %fc : ({RAW}) -> {RAW}"""
SOFTMAX = (
    f"\n  %soft = qnn.softmax %flat {{axis = 1, beta = 1.0 : f32}} : ({RAW}) -> {SHARE}"
)
REAL = f"\n  %real = qnn.dequantize %soft : ({SHARE}) -> tensor<1x4xf32>"
SUM = f"\n  %sum = qnn.add %flat, %x : ({RAW}, {RAW}) -> {RAW}"


@pytest.mark.parametrize(
    ("body", "result", "judged", "rounding"),
    [
        (LINEAR, f"%fc : {RAW}", "fc", ["fc"]),
        (LINEAR + SOFTMAX, f"%soft : {SHARE}", "flat", ["fc"]),
        (LINEAR + SOFTMAX + REAL, "%real : tensor<1x4xf32>", "flat", ["fc"]),
        (LINEAR + SUM, f"%sum : {RAW}", "sum", ["fc", "sum"]),
        (LINEAR + SUM + SOFTMAX, f"%soft : {SHARE}", "flat", ["fc"]),
        (LINEAR + SUM + SOFTMAX, f"%sum : {RAW}", "sum", ["fc", "sum"]),
        (LINEAR + SUM + SOFTMAX, f"%fc : {RAW}", "fc", ["fc"]),
    ],
)
def test_what_is_judged(
    body: str, result: str, judged: str, rounding: list[str]
) -> None:
    """Before a softmax and a dequantization; layers after it don't count."""
    name, _, type = result.partition(" : ")
    module = parse_module(
        f"func.func @main(%x: {RAW}) -> {type} {{{body}\n  return {name} : {type}\n}}"
    )
    network = network_room.Network(named(module, None), "exact", {})
    assert network.judged == judged
    found = sensitivity.rounding_layers(network)
    assert list(found) == rounding
    assert found["fc"] == "linear"


def test_an_operation_without_a_real_function() -> None:
    axis = f"!quant.uniform<i8:f32:1, {{{', '.join(['0.5'] * 4)}}}>"
    body = f"  %y = qnn.requantize %x : ({RAW}) -> tensor<1x4x{axis}>"
    module = parse_module(
        f"func.func @main(%x: {RAW}) -> tensor<1x4x{axis}> {{\n{body}\n"
        f"  return %y : tensor<1x4x{axis}>\n}}"
    )
    with pytest.raises(QlowerError, match="must be f32, or quantized per tensor"):
        network_room.Network(named(module, None), "exact", {})
