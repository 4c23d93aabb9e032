"""QONNX's operators, beside the package `qonnx` and by formulas of their own here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.formats.onnx_builder import OnnxBuilder
from support.formats.qonnx_models import (
    GENERAL,
    one_quantizer,
    one_threshold,
    quantizer,
    run_qonnx,
)
from support.lanes import LARGE_VARIABLE, is_asked_for

import qlower
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

MODES: Mapping[str, Callable[[Array], Array]] = {
    "ROUND": np.rint,
    "half_even": np.rint,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": np.trunc,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + np.float32(0.5)),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - np.float32(0.5)),
}

SETTINGS = {
    "a byte": (8, 1, 0, 0.0),
    "a byte without a sign": (8, 0, 0, 0.0),
    "narrow": (8, 0, 1, 0.0),
    "four bits": (4, 1, 1, 0.0),
    "a zero point": (4, 0, 0, 3.0),
    "a zero point that is no code": (3, 1, 0, 0.5),
    "two values": (1, 1, 0, 0.0),
    "a word": (32, 1, 0, 0.0),
}
"""Bits, and whether there is a sign and a narrow range; zero points."""

is_long = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("qonnx") is None, reason="qonnx is not installed"),
]


def near_ties(scale: Array, seed: int, count: int = 40) -> Array:
    """Halves of steps [count, channel], and numbers one float32 above and below."""
    random = np.random.default_rng(seed)
    halves = random.integers(-300, 300, (count, scale.size)) * np.float32(0.5)
    ties = (halves.astype(np.float32) * scale.reshape(-1)).astype(np.float32)
    ends = [np.nextafter(ties, np.float32(end)) for end in (np.inf, -np.inf)]
    return np.concatenate([ties, *ends])


def expected_codes(
    x: Array, scale: Array, setting: tuple[int, int, int, float], mode: str
) -> Array:
    bits, signed, narrow, zero = setting
    steps = x / scale + np.float32(zero)
    if bits == 1 and signed:
        codes = np.where(steps >= 0, np.float32(1), np.float32(-1))
    else:
        low = np.float32(-(2.0 ** (bits - 1)) + narrow if signed else 0)
        high = np.float32(2.0 ** (bits - signed) - 1 - (narrow and not signed))
        codes = MODES[mode](np.clip(steps, low, high))
    return ((codes - np.float32(zero)) * scale).astype(np.float32)


def scales(seed: int, count: int) -> Array:
    """Every third time powers of two, which make ties exact."""
    random = np.random.default_rng(seed)
    if seed % 3 == 0:
        return (2.0 ** random.integers(-6, 2, count)).astype(np.float32)
    return random.uniform(0.01, 3, count).astype(np.float32)


@pytest.mark.parts(8)
@pytest.mark.parametrize("mode", MODES)
def test_int_quant(mode: str, tmp_path: Path) -> None:
    turn = list(MODES).index(mode)
    for seed, setting in enumerate(SETTINGS.values(), 3 * turn):
        scale = scales(seed, 1 if seed % 2 else 5)
        x = near_ties(scale, seed)
        bits, signed, narrow, zero = setting
        given = {"signed": signed, "narrow": narrow, "rounding_mode": mode}
        path = tmp_path / "one.onnx"
        path.write_bytes(one_quantizer(x.shape, scale, zero, bits, **given))
        expected = expected_codes(x, scale, setting, mode)
        model = qlower.load(path)
        np.testing.assert_array_equal(qlower.interpret(model, x), expected)
        if seed % 8 == turn:
            np.testing.assert_array_equal(qlower.jit(model)(x), expected)


def thresholds(channels: int, seed: int) -> tuple[Array, Array]:
    """Thresholds [channel, 15], not in order, and an image of them and their
    neighbours."""
    table = np.random.default_rng(seed).normal(0, 3, (channels, 15)).astype(np.float32)
    ends = [np.nextafter(table, np.float32(end)) for end in (np.inf, -np.inf)]
    return table, np.stack([table, *ends]).reshape(3, channels, 5, 3)


def test_multi_threshold(tmp_path: Path) -> None:
    path = tmp_path / "one.onnx"
    for channels, rows, layout in ((4, 4, ""), (3, 1, "NCHW"), (3, 3, "NHWC")):
        table, x = thresholds(channels, channels)
        table = table[:rows]
        given = {"out_scale": 0.3, "out_bias": -2.0, "data_layout": layout}
        counts = (x[..., None] >= table[None, :, None, None]).sum(-1)
        expected = np.float32(0.3) * counts.astype(np.float32) + np.float32(-2)
        if layout == "NHWC":
            x, expected = (np.moveaxis(a, 1, -1).copy() for a in (x, expected))
        path.write_bytes(one_threshold(x.shape, table, **given))
        model = qlower.load(path)
        np.testing.assert_array_equal(qlower.interpret(model, x), expected)
        np.testing.assert_array_equal(qlower.jit(model)(x), expected)


def network(seed: int) -> bytes:
    """Two convolutions with quantized weights, a quantized bias, and thresholds."""
    random = np.random.default_rng(seed)
    build = OnnxBuilder()

    def weights(*shape: int) -> str:
        return build.constant(random.normal(0, 0.1, shape).astype(np.float32))

    image = quantizer(build, build.input("x", (1, 3, 9, 8)), 0.0625, 0, 8)
    steps = (2.0 ** random.integers(-10, -7, (4, 1, 1, 1))).astype(np.float32)
    filters = quantizer(build, weights(4, 3, 3, 3), steps, 0, 8, narrow=1)
    starts = quantizer(build, weights(4), 0.0625 * steps.reshape(4), 0, 32)
    hidden = build.node("Relu", [build.node("Conv", [image, filters, starts])])
    hidden = quantizer(build, hidden, 0.015625, 0, 8, signed=0)
    fewer = quantizer(build, weights(5, 4, 1, 1), 2**-5, 0, 4, narrow=1)
    sign = build.node(
        "BipolarQuant", [weights(5, 5, 1, 1), build.constant(0.5)], domain=GENERAL
    )
    counted = build.node(
        "MultiThreshold",
        [
            build.node("Conv", [hidden, fewer]),
            build.constant(np.sort(random.integers(-40, 40, (5, 15)) / 2048)),
        ],
        domain=GENERAL,
        out_dtype="UINT4",
    )
    build.node("Conv", [counted, sign], "y")
    build.output("y", shape=(1, 5, 7, 6))
    return build.build()


def test_weights_are_stored_and_convolutions_sum_integers(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    path.write_bytes(network(0))
    model = qlower.load(path, qdq="x86")
    kinds = [op.name for op in model.module.walk()]
    counts = [kinds.count(kind) for kind in ("qnn.conv2d", "qnn.real_conv2d")]
    assert counts == [1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounding_mode": "STOCHASTIC"}, "rounding_mode one of ROUND, CEIL"),
        ({"bits": 33}, "a whole number from 1 to 32"),
        ({"bits": 2.5}, "a whole number from 1 to 32"),
    ],
)
def test_refused_quantizers(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    path, bits = tmp_path / "one.onnx", change.pop("bits", 8)
    assert isinstance(bits, int | float)
    path.write_bytes(one_quantizer((2, 3), 0.5, 0, bits, **change))
    with pytest.raises(QlowerError, match=message):
        qlower.load(path)


@pytest.mark.parametrize(
    ("shape", "table", "message"),
    [
        ((2, 3), np.zeros((2, 4), np.float32), "of 2 channels, expected 1 or 3"),
        ((2, 3), np.zeros(4, np.float32), r"float32 \[4\] are not supported"),
        ((3,), np.zeros((1, 4), np.float32), "no channels in 1 dimensions"),
    ],
)
def test_refused_thresholds(
    shape: tuple[int, ...], table: Array, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "one.onnx"
    path.write_bytes(one_threshold(shape, table))
    with pytest.raises(QlowerError, match=message):
        qlower.load(path)


@pytest.mark.parametrize("shape", [(1 << 20, 1, 3), (2,)])
def test_scales_that_do_not_fit_a_constant(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    """They are no reason to compute what broadcasts."""
    build = OnnxBuilder()
    build.input("x", (1, 3))
    weights = build.constant(np.ones((1 << 12, 3), np.float32))
    scale = np.full(shape, 0.5, np.float32)
    build.node("MatMul", ["x", quantizer(build, weights, scale, 0, 8)], "y")
    build.output("y")
    with pytest.raises(QlowerError):
        qlower.load(build.save(tmp_path / "one.onnx"))


def test_other_operators_are_refused_by_name(tmp_path: Path) -> None:
    build = OnnxBuilder()
    build.input("x", (2, 3))
    build.node("Trunc", ["x"], "y", GENERAL)
    build.output("y")
    with pytest.raises(QlowerError, match=rf"{GENERAL}\.Trunc 'n0': this operator is"):
        qlower.load(build.save(tmp_path / "one.onnx"))


class TestBesideThePackage:
    pytestmark = is_long

    LAYERS = 600 if is_asked_for(LARGE_VARIABLE) else 40

    @pytest.mark.parametrize("mode", MODES)
    def test_int_quant(self, mode: str, tmp_path: Path) -> None:
        path = tmp_path / "one.onnx"
        for seed in range(self.LAYERS):
            scale = scales(seed, 1 if seed % 2 else 5)
            x = near_ties(scale, seed, 400)
            bits, signed, narrow, zero = list(SETTINGS.values())[seed % len(SETTINGS)]
            given = {"signed": signed, "narrow": narrow, "rounding_mode": mode}
            path.write_bytes(one_quantizer(x.shape, scale, zero, bits, **given))
            expected = run_qonnx(path.read_bytes(), {"x": x})["y"]
            found = qlower.interpret(qlower.load(path), x)
            np.testing.assert_array_equal(found, expected, f"seed {seed}")

    def test_multi_threshold(self, tmp_path: Path) -> None:
        path = tmp_path / "one.onnx"
        for seed in range(4 * self.LAYERS):
            table, x = thresholds(8, seed)
            given = {
                "out_scale": float(scales(seed, 1)[0]),
                "out_bias": -1.0 * (seed % 9),
            }
            path.write_bytes(one_threshold(x.shape, table[: 1 + seed % 2 * 7], **given))
            expected = run_qonnx(path.read_bytes(), {"x": x})["y"]
            found = qlower.interpret(qlower.load(path), x)
            np.testing.assert_array_equal(found, expected, f"seed {seed}")

    def test_network(self, tmp_path: Path) -> None:
        path = tmp_path / "network.onnx"
        for seed in range(self.LAYERS // 8):
            path.write_bytes(network(seed))
            x = np.random.default_rng(seed).normal(0, 4, (1, 3, 9, 8))
            x = x.astype(np.float32)
            expected = run_qonnx(path.read_bytes(), {"x": x})["y"]
            model = qlower.load(path, qdq="as-written")
            for run in (qlower.interpret(model, x), qlower.jit(model)(x)):
                np.testing.assert_array_equal(run, expected, f"seed {seed}")
