"""ONNX in QDQ form as devices of integers run it, beside integers computed here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import OnnxBuilder

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array


class DeviceBuilder(OnnxBuilder):
    """A network of powers of two, as esp-ppq writes it."""

    def codes(self, values: Array, exponent: int) -> str:
        return self.dequantize(
            self.constant(values), 2.0**exponent, 0, values.dtype.str[1:]
        )

    def stored(self, value: str, exponent: int) -> str:
        return self.pair(value, 2.0**exponent, 0, "i1")

    def layer(
        self,
        kind: str,
        x: str,
        weights: Array,
        bias: Array,
        into: int,
        **attributes: Any,
    ) -> str:
        """A layer with weights in steps of 2^-7, of an input in steps of 2^into."""
        operands = [x, self.codes(weights, -7), self.codes(bias, into - 7)]
        return self.node(kind, operands, **attributes)


def network(
    draw: np.random.Generator, middle: Callable[[DeviceBuilder, str], str] | None = None
) -> tuple[DeviceBuilder, tuple[Array, ...]]:
    """Conv, Relu, Conv, Clip to 6, Flatten, Gemm, Relu; its weights and biases."""
    build = DeviceBuilder(13)
    shapes = (6, 3, 1, 1), (4, 6, 1, 1), (5, 16)
    weights = [draw.integers(-127, 128, shape).astype(np.int8) for shape in shapes]
    biases = [draw.integers(-999, 999, len(w)).astype(np.int32) for w in weights]
    weights[0] &= -16
    biases[0] &= -256
    x = build.stored(build.input("x", (1, 3, 2, 2)), -5)
    value = build.node("Relu", [build.layer("Conv", x, weights[0], biases[0], -5)])
    value = build.layer("Conv", build.stored(value, -3), weights[1], biases[1], -3)
    bounds = [build.codes(np.array(code, np.int8), -4) for code in (0, 96)]
    value = build.stored(build.node("Clip", [value, *bounds]), -4)
    if middle is not None:
        value = middle(build, value)
    value = build.node("Flatten", [value])
    value = build.layer("Gemm", value, weights[2], biases[2], -4, transB=1)
    build.output(build.stored(build.node("Relu", [value]), -2))
    return build, (*weights, *biases)


def expected(x: Array, given: tuple[Array, ...], *, half_even: bool) -> Array:
    """The results of codes [1, 3, 2, 2]."""
    a, b, c, *biases = (array.astype(np.int64) for array in given)

    def stored(sums: Array, places: int, last: int) -> Array:
        steps = sums / 2.0**places
        codes = np.rint(steps) if half_even else np.floor(steps + 0.5)
        return codes.clip(0, last).astype(np.int64)

    pixels = x.reshape(3, 4).T.astype(np.int64)
    pixels = stored(pixels @ a[:, :, 0, 0].T + biases[0], 9, 127)
    pixels = stored(pixels @ b[:, :, 0, 0].T + biases[1], 6, 96)
    return stored(c @ pixels.T.reshape(-1) + biases[2], 9, 127).reshape(1, 5)


@pytest.mark.parts(2)
@pytest.mark.parametrize("contract", ["esp-dl-p4", "esp-dl-esp32"])
def test_activations_clip_codes(contract: str, tmp_path: Path) -> None:
    """A contract that is named alone reads the file so. Half of the first sums are
    ties."""
    draw = np.random.default_rng(5)
    build, given = network(draw)
    path = build.save(tmp_path / "model.onnx")
    executor = Compilation(path, contract).interpreter("qnn")
    for _ in range(20):
        x = draw.integers(-128, 128, (1, 3, 2, 2)) & -16
        ((found,), _) = executor.run([x.astype(np.float32) / np.float32(32)], {})
        codes = expected(x, given, half_even=contract == "esp-dl-p4")
        np.testing.assert_array_equal(found, codes / 4)


def test_a_device_rounds_twice(tmp_path: Path) -> None:
    """Codes are stored between a layer and a conversion to another step."""
    build = DeviceBuilder(13)
    x = build.stored(build.input("x", (1, 1, 1, 8)), -5)
    weights, bias = np.ones((1, 1, 1, 1), np.int8), np.zeros(1, np.int32)
    value = build.layer("Conv", x, weights, bias, -5)
    build.output(build.stored(build.stored(value, -11), -9))
    path = build.save(tmp_path / "model.onnx")
    executor = Compilation(path, "esp-dl-p4").interpreter("qnn")
    codes = np.array([0, 3, 5, 11, 21, 27, 35, 43])  # some are ties of the first step
    x = (codes / np.float32(32)).astype(np.float32).reshape(1, 1, 1, 8)
    ((found,), _) = executor.run([x], {})
    once = np.rint(codes / 2)
    np.testing.assert_array_equal(found.reshape(8) * 512, np.rint(once / 4))
    assert (np.rint(once / 4) != np.rint(codes / 8)).any()


def after(kind: str) -> Callable[[DeviceBuilder, str], str]:
    """An operator, and codes of its results."""
    return lambda build, value: build.stored(build.node(kind, [value]), -4)


REFUSALS: dict[str, tuple[Callable[[DeviceBuilder, str], str], str]] = {
    "operator": (after("Exp"), "Exp 'n16': it runs on real numbers (there is no such"),
    "alone": (after("Relu"), "Relu 'n16': it runs on real numbers (its operands"),
    "pool": (
        lambda build, value: build.stored(
            build.node("Relu", [build.node("GlobalAveragePool", [value])]), -4
        ),
        "nothing clips the result of GlobalAveragePool, as its Relu",
    ),
    "bias": (
        lambda build, value: build.stored(
            build.node(
                "Conv",
                [
                    value,
                    build.codes(np.ones((4, 4, 1, 1), np.int8), -17),
                    build.codes(np.ones(4, np.int32), -22),
                ],
            ),
            -4,
        ),
        "the scale of its bias is not that of the input times the weights'",
    ),
    "bounds": (
        lambda build, value: build.stored(
            build.node(
                "Clip",
                [build.node("Add", [value, build.stored(value, -4)])]
                + [build.constant(bound) for bound in (-1.0, 2.0)],
            ),
            -4,
        ),
        "its Clip to [-1, 2] is no known activation",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str, tmp_path: Path) -> None:
    middle, message = REFUSALS[name]
    build, _ = network(np.random.default_rng(0), middle)
    path = build.save(tmp_path / "model.onnx")
    with pytest.raises(QlowerError) as caught:
        qlower.load(path, qdq="device")
    assert str(caught.value).startswith(f"{path}:")
    assert message in str(caught.value)


def test_another_reading_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    build = DeviceBuilder(13)
    x = build.stored(build.input("x", (1, 3, 2, 2)), -5)
    weights, bias = np.ones((2, 3, 1, 1), np.int8), np.ones(2, np.int32)
    value = build.node("Relu", [build.layer("Conv", x, weights, bias, -5)])
    build.output(build.stored(value, -5))
    path = build.save(tmp_path / "model.onnx")
    assert Compilation(path, "gemmini").model.remarks[0].startswith("activations clip")
    assert Compilation(qlower.load(path), "esp-dl-p4").model.remarks
    assert any("of esp-dl-p4 have none: --qdq device" in m for m in caplog.messages)
