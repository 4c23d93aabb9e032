"""Layers of programs give, near ties, the bits of the operators that PyTorch's lowering
for x86 calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.pt2_builder import Pt2Builder

import qlower
from qlower.interp.values import Array

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.skipif(
    not torch.cpu._is_vnni_supported(),
    reason="the contract is that of CPUs with VNNI",
)

ROUNDS = 6
FILTERS, CHANNELS, SIDE = 16, 8, 6


class Layer:
    """A layer whose results lie near ties: the output's scale is an even number of
    steps of the accumulator, or its neighbour."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.x_scale = np.float32(np.exp(random.uniform(-6, -1)))
        scale = np.float32(np.exp(random.uniform(-7, -3)))
        self.scales = np.full(FILTERS, scale, np.float32)
        steps = int(random.integers(1, 60))
        y_scale = np.float32(float(self.x_scale) * float(scale) * 2 * steps)
        if seed % 3 == 0:
            y_scale = np.nextafter(y_scale, np.float32(random.choice([0, 9e9])))
        self.y_scale = float(y_scale)
        self.x_zero, self.y_zero, self.other_zero = map(int, random.integers(0, 256, 3))
        self.other_scale = float(y_scale * np.float32(random.choice([0.5, 0.75, 1])))
        shape = (1, CHANNELS, SIDE, SIDE)
        self.x: Array = random.integers(0, 256, shape).astype(np.uint8)
        self.other: Array = random.integers(0, 256, (1, FILTERS, SIDE, SIDE)).astype(
            np.uint8
        )
        weights = random.integers(-3, 4, (FILTERS, CHANNELS, 3, 3))
        self.weights: Array = weights.astype(np.int8)
        bias = random.integers(-50, 50, FILTERS) * steps * self.x_scale * self.scales
        self.bias: Array = bias.astype(np.float32)

    def program(self, kind: str, relu: bool) -> Pt2Builder:
        """It takes what is stored, and gives what is stored."""
        build = Pt2Builder()
        x_shape = self.x.shape if kind != "linear" else self.rows().shape
        x = build.dequantize(
            build.input("x", x_shape, "u1"), float(self.x_scale), self.x_zero
        )
        weights = self.weights if kind != "linear" else self.matrix()
        given = {
            "input": x,
            "weight": build.weight(weights, self.scales),
            "bias": build.constant(self.bias),
        }
        if kind == "linear":
            value = build.call("aten.linear.default", **given)
        else:
            value = build.call("aten.conv2d.default", **given, padding=[1, 1])
        if kind == "residual":
            other = build.input("other", self.other.shape, "u1")
            real = build.dequantize(other, self.other_scale, self.other_zero)
            value = build.call("aten.add.Tensor", self=value, other=real)
        if relu:
            value = build.call("aten.relu.default", self=value)
        build.output(build.quantize(value, self.y_scale, self.y_zero))
        return build

    def matrix(self) -> Array:
        return np.ascontiguousarray(self.weights[:, :, 1, 1])

    def rows(self) -> Array:
        return np.ascontiguousarray(self.x[0].reshape(CHANNELS, -1).T)

    def expected(self, kind: str, relu: bool) -> Array:
        """What oneDNN's operators give."""
        convert = torch.from_numpy
        scales, zeros = convert(self.scales), torch.zeros(FILTERS, dtype=torch.int32)
        x_step = float(self.x_scale), self.x_zero
        result = self.y_scale, self.y_zero, torch.uint8
        activation = "relu" if relu else "none"
        ops = torch.ops.onednn
        if kind == "linear":
            rows = convert(self.rows())
            packed = ops.qlinear_prepack(convert(self.matrix()), list(rows.shape))
            operands = rows, *x_step, packed, scales, zeros, convert(self.bias)
            return ops.qlinear_pointwise(*operands, *result, activation, [], "").numpy()
        window = [1, 1], [1, 1], [1, 1], 1
        shape = list(self.x.shape)
        weights = convert(self.weights)
        packed = ops.qconv_prepack(weights, scales, *x_step, *window, shape)
        last = {"memory_format": torch.channels_last}
        x, bias = convert(self.x).contiguous(**last), convert(self.bias)
        operands = x, *x_step, packed, scales, zeros
        if kind == "conv":
            operands = *operands, bias, *window, *result
            return ops.qconv_pointwise(*operands, activation, [], "").numpy()
        # The sum overwrites what it adds.
        other = convert(self.other.copy()).contiguous(**last)
        step = self.other_scale, self.other_zero
        operands = *operands, other, bias, *window, *result, *step
        found = ops.qconv2d_pointwise.binary(*operands, "sum", 1.0, activation, [], "")
        return found.numpy()


@pytest.mark.parts(3)
@pytest.mark.parametrize("kind", ["conv", "linear", "residual"])
def test_layers_near_ties(kind: str, tmp_path: Path) -> None:
    for seed in range(ROUNDS):
        layer = Layer(seed)
        path = layer.program(kind, bool(seed % 2)).save(tmp_path / "model.pt2")
        model = qlower.load(path)
        assert len(model.remarks) == 1
        x = layer.rows() if kind == "linear" else layer.x
        given = (x, layer.other) if kind == "residual" else (x,)
        expected = layer.expected(kind, bool(seed % 2))
        assert (np.asarray(qlower.jit(model)(*given)) == expected).all()
