"""Steps of small layers under several contracts, and where two part, as recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError
from qlower.explain.vectors import vectors
from qlower.text.parsing import parse_module

RECORDED = Path(__file__).with_name("recorded_steps.txt")
"""Made by `pytest tests/observe/test_recorded_steps.py --bless`, after the texts were
read."""

TYPES = """\
!x = !quant.uniform<i8:f32, 0.043:-3>
!v = !quant.uniform<i8:f32, 0.031:5>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.0123, 0.0321, 0.007}>
!y = !quant.uniform<i8:f32, 0.117:7>
"""
LAYERS = {
    "conv": """
func.func @main(%x: tensor<1x3x3x2x!x>) -> tensor<1x3x3x3x!y> {
  %w = qnn.constant dense<[[[[9, -8], [7, 6]]], [[[-120, 33], [2, 1]]],
    [[[127, 127], [127, 99]]]]> : tensor<3x1x2x2xi8> -> tensor<3x1x2x2x!w>
  %b = arith.constant dense<[100, -2000, 31]> : tensor<3xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 1], dilation = [1, 1],
    activation = "relu"} : (tensor<1x3x3x2x!x>, tensor<3x1x2x2x!w>, tensor<3xi32>)
    -> tensor<1x3x3x3x!y> loc("l")
  return %y : tensor<1x3x3x3x!y>
}""",
    "add": """
func.func @main(%x: tensor<1x8x!x>, %v: tensor<1x8x!v>) -> tensor<1x8x!y> {
  %y = qnn.add %x, %v : (tensor<1x8x!x>, tensor<1x8x!v>) -> tensor<1x8x!y> loc("l")
  return %y : tensor<1x8x!y>
}""",
    "pool": """
func.func @main(%x: tensor<1x4x4x2x!x>) -> tensor<1x2x2x2x!x> {
  %y = qnn.avg_pool2d %x {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]}
    : (tensor<1x4x4x2x!x>) -> tensor<1x2x2x2x!x> loc("l")
  return %y : tensor<1x2x2x2x!x>
}""",
    "requantize": """
func.func @main(%x: tensor<1x8x!x>) -> tensor<1x8x!y> {
  %y = qnn.requantize %x : (tensor<1x8x!x>) -> tensor<1x8x!y> loc("l")
  return %y : tensor<1x8x!y>
}""",
    "sigmoid": """
func.func @main(%x: tensor<1x8x!x>) -> tensor<1x8x!y> {
  %y = qnn.sigmoid %x : (tensor<1x8x!x>) -> tensor<1x8x!y> loc("l")
  return %y : tensor<1x8x!y>
}""",
    "reshape": """
func.func @main(%x: tensor<1x8x!x>) -> tensor<1x2x4x!x> {
  %y = qnn.reshape %x : (tensor<1x8x!x>) -> tensor<1x2x4x!x> loc("l")
  return %y : tensor<1x2x4x!x>
}""",
}
CONTRACTS = ("tflite", "onnxruntime", "pytorch-qnnpack", "tvm")


def model(name: str) -> qlower.Model:
    return qlower.Model(parse_module(TYPES + LAYERS[name], "model.mlir"))


def shortened(text: str) -> str:
    """Without the lines of contracts' files, which move."""
    return re.sub(r"(\.mlir):\d+", r"\1", text)


def lines(name: str) -> Iterator[str]:
    """What is said of some elements of a layer, and of two contracts."""
    given = model(name)
    random = np.random.default_rng(4)
    shapes = [spec.shape for spec in given.inputs]
    inputs = [random.integers(-128, 128, shape).astype(np.int8) for shape in shapes]
    (output,) = given.outputs
    places = [
        [0] * len(output.shape),
        [size - 1 for size in output.shape],
    ]
    for contract in CONTRACTS:
        for place in places:
            at = f"l[{','.join(map(str, place))}]"
            try:
                found = qlower.trace(given, *inputs, at=at, contract=contract)
            except QlowerError as error:
                yield f"{contract} {at}: {error.message}"
                break
            yield shortened(f"{contract} {at}: {found.path}")
            if name == "sigmoid":
                continue  # The last bits of its exponential are numpy's.
            data = json.dumps(found.to_dict(), default=str)
            whole = replace(found, all_steps=True, shows_products=True)
            texts = str(found), str(whole), whole.render(60), data
            yield " ".join(digest(shortened(text)) for text in texts)
    for a, b in (("tflite", "tvm"), ("pytorch-qnnpack", "onnxruntime")):
        try:
            apart = qlower.diff(a, b, given, *inputs)
        except QlowerError as error:
            yield f"{a} | {b}: {error.message}"
            continue
        yield from shortened(f"{a} | {b}:\n{apart}").splitlines()
        yield digest(shortened(json.dumps(apart.to_dict(), default=str)))
    if name in ("conv", "requantize"):
        for contract in ("tflite", "tvm"):
            made = vectors(given, contract)
            (layer,) = made.layers
            yield f"{contract}: {layer.looked_at}, {layer.count} runs"
            yield digest(shortened(json.dumps(layer.data.to_dict(), default=str)))
            yield digest(str(layer.coverage))
            arrays = {key: array.tolist() for key, array in layer.arrays.items()}
            yield digest(json.dumps(arrays))


def digest(text: str) -> str:
    return f"#{sha256(text.encode()).hexdigest()[:10]}"


@pytest.mark.parametrize("name", LAYERS)
def test_steps(name: str, request: pytest.FixtureRequest) -> None:
    """Numbers, words and what is left out of them."""
    found = "\n".join(f"  {line}".rstrip() for line in lines(name)) + "\n"
    whole = RECORDED.read_text() if RECORDED.exists() else ""
    recorded = dict(part.split(":\n", 1) for part in whole.split("\n\n= ")[1:])
    if request.config.getoption("--bless"):
        recorded[name] = found
        parts = (f"\n\n= {key}:\n{text}" for key, text in recorded.items())
        RECORDED.write_text("".join(parts))
    assert found.splitlines() == recorded[name].splitlines()
