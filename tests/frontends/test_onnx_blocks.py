"""Real images that ONNX Runtime keeps in blocks of channels: its bits, in every order.

Chains of operators are drawn that begin with a pool of a real image, of channels that
blocks divide and of others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_layers import Layers
from support.formats.onnx_models import INT8_ALLOWED, make_session

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import X86
from qlower.interp.values import Array

helper = pytest.importorskip("onnx.helper", reason="onnx is not installed")
numpy_helper = pytest.importorskip("onnx.numpy_helper")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

READINGS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "integer": ("ENABLE_ALL", INT8_ALLOWED),
    "x86": ("ENABLE_ALL", {}),
    "as-written": ("DISABLE_ALL", {}),
}


class Chain:
    """Operators one after the other, of an image that is quantized and dequantized."""

    def __init__(self, seed: int, channels: int) -> None:
        self.random = np.random.default_rng(seed)
        self.channels = channels
        self.shape = (2, channels, *map(int, self.random.integers(5, 12, 2)))
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        step = [self.constant(np.float32(0.05)), self.constant(np.uint8(100))]
        self.last = "x"
        self.add("QuantizeLinear", *step)
        self.add("DequantizeLinear", *step)

    def constant(self, value: Array | np.generic) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def parameters(self, *shape: int, low: float = -2, high: float = 2) -> str:
        values = self.random.uniform(low, high, shape or (self.channels,))
        return self.constant(values.astype(np.float32))

    def add(self, kind: str, *operands: str, **attributes: Any) -> None:
        name = f"v{len(self.nodes)}"
        inputs = [self.last, *operands]
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        self.last = name

    def pool(self, kind: str) -> None:
        sizes = [int(size) for size in self.random.integers(1, 4, 2)]
        pads = [int(self.random.integers(0, size)) for size in sizes]
        pads += [size - 1 for size in sizes]
        window: dict[str, Any] = {"kernel_shape": sizes, "strides": [1, 2]}
        if kind == "AveragePool":
            window["count_include_pad"] = int(self.random.integers(2))
        self.add(kind, **window, pads=pads)

    def normalize(self) -> None:
        given = [self.parameters() for _ in range(3)]
        self.add("BatchNormalization", *given, self.parameters(low=0.1))

    def scale(self) -> None:
        ones = (1,) * int(self.random.integers(2))
        self.add("Mul", self.parameters(*ones, self.channels, 1, 1))

    def gate(self) -> None:
        image = self.last
        self.add("GlobalAveragePool")
        self.add("HardSigmoid")
        self.add("Mul", image)

    def join(self) -> None:
        image = self.last
        self.add("Sigmoid")
        self.add("Add", image)

    def draw(self, length: int) -> bytes:
        start = ("AveragePool", "MaxPool")[int(self.random.integers(2))]
        if start == "MaxPool":
            self.add("Tanh")
        self.pool(start)
        steps: list[Callable[[], None]] = [
            *(self.normalize, self.scale, self.gate, self.join),
            *(lambda: self.pool("AveragePool"), lambda: self.add("HardSwish")),
            lambda: self.add("LeakyRelu"),
        ]
        for number in self.random.integers(0, len(steps), length):
            steps[number]()
        return self.model(17 if self.random.random() < 0.5 else 19)

    def model(self, opset: int) -> bytes:
        graph = helper.make_graph(
            self.nodes,
            "chain",
            [helper.make_tensor_value_info("x", 1, self.shape)],
            [helper.make_tensor_value_info(self.last, 1, None)],
            self.constants,
        )
        opsets = [helper.make_opsetid("", opset)]
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=8
        ).SerializeToString()


def check(chain: Chain, model: bytes, folder: Path, reading: str) -> Array:
    """ONNX Runtime and every executor give the same; returns the result."""
    x = chain.random.normal(0, 3, chain.shape).astype(np.float32)
    x.reshape(-1)[::5] = 0
    level, entries = READINGS[reading]
    (expected,) = make_session(model, level, entries).run(None, {"x": x})
    path = folder / "chain.onnx"
    path.write_bytes(model)
    loaded = qlower.load(path, qdq=reading)
    found = np.asarray(qlower.jit(loaded)(x))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(qlower.interpret(loaded, x, at="qnn"), expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    return found


# Blocks of AVX2 have 8 channels: of 8 or 24 the order depends on the machine.
@pytest.mark.parts(4)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("channels", [16, pytest.param(12, marks=pytest.mark.long)])
def test_chains(channels: int, seed: int, tmp_path: Path) -> None:
    chain = Chain(seed, channels)
    check(chain, chain.draw(3), tmp_path, ("integer", "x86")[seed % 2])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 200))
def test_longer_chains(seed: int, tmp_path: Path) -> None:
    chain = Chain(seed, (16, 32, 48, 20)[seed % 4])
    check(chain, chain.draw(6), tmp_path, ("integer", "x86", "as-written")[seed % 3])


def test_zeros_of_products_have_no_sign(tmp_path: Path) -> None:
    chain = Chain(1, 16)
    chain.add("Relu")
    chain.pool("AveragePool")
    chain.scale()
    found = check(chain, chain.model(17), tmp_path, "integer")
    assert not np.signbit(found[found == 0]).any()
    assert (found < 0).any()


@pytest.mark.parts(5)
def test_as_written_nothing_lies_in_blocks(tmp_path: Path) -> None:
    chain = Chain(0, 16)
    chain.pool("AveragePool")
    chain.normalize()
    check(chain, chain.model(17), tmp_path, "as-written")


def test_a_sum_within_a_normalization_is_refused(tmp_path: Path) -> None:
    chain = Chain(0, 16)
    chain.pool("AveragePool")
    image = chain.last
    chain.normalize()
    chain.add("Add", image)
    path = tmp_path / "chain.onnx"
    path.write_bytes(chain.model(17))
    with pytest.raises(QlowerError, match="adds it to the normalization 'v3'"):
        qlower.load(path)
    qlower.load(path, qdq="as-written")


@pytest.mark.parametrize("channels", [5, pytest.param(16, marks=pytest.mark.long)])
def test_padding_to_keep_the_size(channels: int, tmp_path: Path) -> None:
    """With dilation only where ONNX Runtime doesn't fail: it takes its own results for
    those of ONNX's inference of shapes, which counts dilation, and reuses their place.
    """
    build = Layers(22)
    for size, kernel, steps, dilations in (
        ((9, 9), (3, 2), (2, 2), (1, 1)),
        ((8, 9), (1, 2), (2, 2), (1, 1)),
        ((5, 9), (2, 2), (2, 2), (1, 2)),
        ((9, 9), (2, 3), (2, 1), (2, 3)),
    ):
        window: dict[str, Any] = {"kernel_shape": kernel, "strides": steps}
        for mode in ("SAME_UPPER", "SAME_LOWER"):
            window["auto_pad"] = mode
            x = build.value(2, channels, *size)
            if dilations == (1, 1) and 1 not in kernel:
                build.returned(build.node("MaxPool", [x], **window))
            elif channels == 16:
                continue
            for counted in (0, 1):
                more: dict[str, Any] = {
                    "dilations": dilations,
                    "count_include_pad": counted,
                }
                build.returned(build.node("AveragePool", [x], **window, **more))
    build.check(tmp_path, X86)


@pytest.mark.parametrize(
    ("size", "kernel", "dilation", "mode"),
    [
        ((9, 9), (2, 1), 1, "SAME_UPPER"),
        ((9, 9), (2, 1), 1, "SAME_LOWER"),
        ((9, 9), (3, 2), 2, "SAME_UPPER"),
    ],
)
def test_padding_that_cuts_is_refused(
    size: Sequence[int],
    kernel: Sequence[int],
    dilation: int,
    mode: str,
    tmp_path: Path,
) -> None:
    """ONNX Runtime's windows begin later then, or it refuses, too."""
    build = Layers(22)
    window: dict[str, Any] = {"kernel_shape": kernel, "strides": [3, 3]}
    window |= {"auto_pad": mode, "dilations": [dilation] * 2}
    x = build.value(2, 5, *size)
    build.returned(build.node("AveragePool", [x], **window))
    with pytest.raises(QlowerError, match="ONNX Runtime leaves out"):
        qlower.load(build.save(tmp_path / "model.onnx"))
