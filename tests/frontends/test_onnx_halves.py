"""Networks of float16 between quantizations, of random layers: what ONNX Runtime
computes in float32, and where it rounds to float16."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_models import make_session

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

SHAPE = (1, 4, 6, 6)
ONE = ("AveragePool", "LeakyRelu", "MaxPool", "Relu", "Sigmoid", "Tanh")
TWO = ("Add", "Mul", "Sub")
MOVING = ("Reshape", "Slice", "Transpose")


class Network:
    """A chain of layers that keep the shape."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.build = OnnxBuilder(opset=21)
        self.build.input("x", SHAPE, "f2")

    def scale(self, low: float, high: float) -> str:
        value = np.exp(self.random.uniform(low, high))
        return self.build.constant(np.asarray(value, np.float16))

    def pair(self, value: str) -> str:
        zero = np.asarray(self.random.integers(60, 190), np.uint8)
        steps = [self.scale(-4, -1.5), self.build.constant(zero)]
        codes = self.build.node("QuantizeLinear", [value, *steps])
        return self.build.node("DequantizeLinear", [codes, *steps])

    def layer(self, value: str, operator: str) -> str:
        build, inputs = self.build, [value]
        attributes: dict[str, Any] = {}
        if operator == "Q":
            return self.pair(value)
        if operator in TWO:
            inputs.append(self.pair(self.layer(value, "Relu")))
        elif operator == "Conv":
            codes = self.random.integers(-127, 128, (4, 4, 3, 3)).astype(np.int8)
            zero = build.constant(np.zeros((), np.int8))
            weights = [build.constant(codes), self.scale(-6, -4), zero]
            inputs.append(build.node("DequantizeLinear", weights))
            bias = self.random.normal(0, 0.1, 4).astype(np.float16)
            inputs.append(build.constant(bias))
            attributes = {"pads": [1] * 4}
        elif "Pool" in operator:
            attributes = {"kernel_shape": [3, 3], "pads": [1] * 4}
        elif operator == "Reshape":
            inputs.append(build.constant(np.array(SHAPE, np.int64)))
        elif operator == "Slice":
            bounds = ([0], [4], [1])
            inputs += [build.constant(np.array(bound, np.int64)) for bound in bounds]
        elif operator == "Transpose":
            attributes = {"perm": [0, 1, 3, 2]}
        return build.node(operator, inputs, **attributes)

    def save(self, operators: list[str], path: Path) -> tuple[Path, Array]:
        value = self.pair("x")
        for operator in operators:
            value = self.layer(value, operator)
        self.build.output(value, "f2")
        x = self.random.normal(0, 3, SHAPE).astype(np.float16)
        return self.build.save(path), x


@pytest.mark.parts(16)
@pytest.mark.parametrize("seed", range(16))
def test_network(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    every = ("Conv", *ONE, *TWO, *MOVING, "Q", "Q", "Q")
    operators = [str(one) for one in random.choice(every, 5)]
    path, x = Network(seed).save(operators, tmp_path / "model.onnx")
    (wanted,) = make_session(path, "DISABLE_ALL").run(None, {"x": x})
    model = qlower.load(path, qdq="as-written")
    found = qlower.jit(model)(x.astype(np.float32))
    np.testing.assert_array_equal(found, wanted, str(operators))


@pytest.mark.parts(4)
@pytest.mark.parametrize("seed", range(4))
def test_network_in_the_default_session(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    operators = [str(one) for one in random.choice((*ONE, *TWO, "Q", "Q"), 5)]
    path, x = Network(seed).save([*operators, "Relu"], tmp_path / "model.onnx")
    (wanted,) = make_session(path, "ENABLE_ALL").run(None, {"x": x})
    for qdq in ("integer", "x86"):
        found = qlower.jit(qlower.load(path, qdq=qdq))(x.astype(np.float32))
        np.testing.assert_array_equal(found, wanted, str(operators))


def test_movement_in_the_default_session_is_refused(tmp_path: Path) -> None:
    path, _ = Network(0).save(["Transpose", "Relu"], tmp_path / "model.onnx")
    with pytest.raises(QlowerError, match="optimizer replaces 'v2'") as raised:
        qlower.load(path)
    assert raised.value.help == "--qdq as-written reads the model so"
