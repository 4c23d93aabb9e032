"""Weights of 4 bits in blocks, beside LiteRT's optimized kernel: the reference kernels
have none and give the bias."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import TFLiteBuilder
from support.systems.litert import run_litert

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite
from qlower.frontends.tflite.schema import Blocks

needs_litert = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)


@dataclass(frozen=True)
class Layer:
    """A layer [*rows, depth] to [*rows, units] with random weights."""

    rows: tuple[int, ...] = (3,)
    units: int = 5
    depth: int = 64
    block: int = 32
    bits: int = 4
    activation: int = 0
    has_bias: bool = True
    scale_type: str = "float16"

    def build(self) -> bytes:
        random = np.random.default_rng(self.units)
        most, count = 1 << (self.bits - 1), 8 // self.bits
        weights = random.integers(-most, most, (self.units, self.depth // count, count))
        fields = (weights & (2 * most - 1)) << (self.bits * np.arange(count))
        builder = TFLiteBuilder()
        x = builder.tensor("x", (*self.rows, self.depth), "float32")
        shape = (self.units, max(self.depth // max(self.block, 1), 1))
        # few bits, so that sums are often equal or cancel
        scales = 2.0 ** random.integers(-7, -3, shape) * random.choice([1, 1.25], shape)
        table = builder.tensor("s", shape, self.scale_type, data=scales)
        w = builder.tensor(
            "w",
            (self.units, self.depth),
            f"int{self.bits}",
            data=fields.sum(axis=2).astype(np.uint8).tobytes(),
            blocks=Blocks(table, self.block),
        )
        bias = random.standard_normal(self.units).astype(np.float32)
        b = builder.tensor("b", bias.shape, "float32", data=bias)
        y = builder.tensor("y", (*self.rows, self.units), "float32")
        options = {"keep_num_dims": True, "fused_activation_function": self.activation}
        operands = [x, w, b if self.has_bias else -1]
        builder.operator("FULLY_CONNECTED", operands, [y], options)
        return builder.build([x], [y])


def drawn(layer: Layer, seed: int) -> NDArray[np.float32]:
    """Rows of any size; some are 0, or whole numbers whose codes are ties."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((*layer.rows, layer.depth))
    x *= np.exp(random.uniform(-5, 5, (*layer.rows, 1)))
    kind = random.integers(4, size=(*layer.rows, 1))
    ends = np.where(np.arange(layer.depth) == 0, 255, np.rint(x) % 256 / 2)
    return np.choose(kind, [x, x, ends, 0 * x]).astype(np.float32)


@pytest.mark.parts(7)
@needs_litert
@pytest.mark.parametrize(
    "layer",
    [
        Layer(),
        Layer((1,), 4, 32, 32, has_bias=False),
        Layer((2, 3), 7, 256, 64),
        Layer((4,), 9, 96, 16),
        Layer((1,), 32, 1024, 32),
        Layer((5,), 4, 34, 17),
        Layer(activation=1),
    ],
    ids=str,
)
def test_all_bits_are_those_of_litert(layer: Layer) -> None:
    data = layer.build()
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    run = qlower.jit(model)
    for seed in range(12):
        x = drawn(layer, seed)
        (wanted,) = run_litert(data, [x], kernels="opt")
        found = [run(x)]
        if seed < 3:
            found.append(qlower.interpret(model, x, at="qnn"))
        for one in found:
            np.testing.assert_array_equal(one.view(np.int32), wanted.view(np.int32))


def test_a_function_that_is_left_out_is_said(caplog: pytest.LogCaptureFixture) -> None:
    import_tflite(Layer(activation=3).build(), name="model.tflite")
    assert "operator 0 FULLY_CONNECTED: relu6 is left out, as LiteRT's" in caplog.text


@needs_litert
@pytest.mark.parametrize("bits", [4, 2])
def test_rows_of_a_table(bits: int) -> None:
    """The reference kernel has these."""
    rows, depth, size = 11, 24, 8
    random = np.random.default_rng(bits)
    builder = TFLiteBuilder()
    x = builder.tensor("x", (6,), "int32")
    scales = random.standard_normal((rows, depth // size)).astype(np.float16)
    table = builder.tensor("s", scales.shape, "float16", data=scales)
    codes = random.integers(0, 256, rows * depth * bits // 8, np.uint8).tobytes()
    blocks = Blocks(table, size)
    w = builder.tensor("w", (rows, depth), f"int{bits}", data=codes, blocks=blocks)
    y = builder.tensor("y", (6, depth), "float32")
    builder.operator("EMBEDDING_LOOKUP", [x, w], [y])
    data = builder.build([x], [y])
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    for indices in random.integers(0, rows, (3, 6), np.int32):
        (wanted,) = run_litert(data, [indices])
        for found in (qlower.jit(model)(indices), qlower.interpret(model, indices)):
            np.testing.assert_array_equal(found.view(np.int32), wanted.view(np.int32))


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (Layer(bits=2), "INT2 weights in blocks are not supported: all of LiteRT's"),
        (Layer(units=3), "3x64 weights in blocks are not supported: LiteRT's kernels"),
        (Layer(depth=16, block=16), "expected 4x32 at least"),
        (Layer(block=0), "size of a block 0 is out of range [1, 16384]"),
        (Layer(block=48), "columns modulo a block 16 is out of range [0, 0]"),
        (Layer(scale_type="float32"), "type FLOAT32 is not supported together with"),
    ],
    ids=str,
)
def test_refusals(layer: Layer, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        import_tflite(layer.build(), name="model.tflite")
    assert message in caught.value.message
