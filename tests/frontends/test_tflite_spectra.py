"""Spectra of rows of float32, beside LiteRT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_general_cases import model
from support.systems.litert import run_litert

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite
from qlower.operators.fourier import transform

ROWS = 6


def spectra(size: int, length: int) -> bytes:
    """The parts of spectra, and their magnitudes behind another shape."""
    builder, count = TFLiteBuilder(), length // 2 + 1
    x = builder.tensor("x", (2, ROWS // 2, 1, size), "float32")
    sizes = builder.tensor("length", (2,), "int32", data=[1, length])
    whole = (2, ROWS // 2, 1, count)
    spectrum = builder.tensor("spectrum", whole, "complex64")
    builder.operator("RFFT2D", [x, sizes], [spectrum])
    flat = builder.tensor("flat", (2, ROWS // 2, count), "complex64")
    builder.operator("SQUEEZE", [spectrum], [flat], {"squeeze_dims": [-2]})
    results = [
        builder.tensor("real", whole, "float32"),
        builder.tensor("imaginary", whole, "float32"),
        builder.tensor("magnitude", (2, ROWS // 2, count), "float32"),
    ]
    builder.operator("REAL", [spectrum], results[:1])
    builder.operator("IMAG", [spectrum], results[1:2])
    builder.operator("COMPLEX_ABS", [flat], results[2:])
    return builder.build([x], results)


def rows(size: int, seed: int) -> NDArray[np.float32]:
    """Noise, a tone, few numbers, zeros of both signs, sizes whose squares are beyond
    float32, and a number that isn't finite."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((ROWS, size)).astype(np.float32)
    x[1] = np.sin(np.arange(size) * 6 * np.pi / size)
    x[2] = random.integers(-1, 2, size)
    x[3] = np.copysign(0, x[3])
    x[4] *= np.float32(1e30) if seed % 2 else np.float32(1e-30)
    x[5, seed % size] = [np.inf, -np.inf, np.nan, 3][seed % 4]
    return x.reshape(2, ROWS // 2, 1, size)


@pytest.mark.parts(16)
@pytest.mark.parametrize(
    ("size", "length"),
    [
        *((1 << power, 1 << power) for power in range(1, 13)),
        *((400, 512), (300, 256), (1, 2), (3, 64)),
    ],
)
def test_spectra(size: int, length: int, tmp_path: Path) -> None:
    """Signs of zeros are equal, too; NaN is NaN."""
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    path = tmp_path / "model.tflite"
    path.write_bytes(data := spectra(size, length))
    loaded = qlower.load(path)
    run = qlower.jit(loaded)
    for seed in range(8):
        x = rows(size, seed)
        expected = run_litert(data, [x])
        found = [run(x)]
        if seed == 0:
            found.append(qlower.interpret(loaded, x))
        for results in found:
            for one, other in zip(results, expected, strict=True):
                np.testing.assert_array_equal(one, other)
                number = ~np.isnan(other)
                signs = np.signbit(one)[number], np.signbit(other)[number]
                np.testing.assert_array_equal(*signs)


def test_levels_are_a_transform() -> None:
    """Sums of sums are what the formula says, and no product is of products."""
    count = 128
    x = np.random.default_rng(3).standard_normal(count)
    spectrum, value = transform(count), x
    for places, factors in spectrum.levels:
        terms = [
            np.array(a) * value[list(at)] for at, a in zip(places, factors, strict=True)
        ]
        value = terms[0] + terms[1]
    expected = np.conj(np.fft.rfft(x))
    np.testing.assert_allclose(value[list(spectrum.real)], expected.real, atol=1e-12)
    imaginary = value[list(spectrum.imaginary)]
    np.testing.assert_allclose(imaginary, expected.imag[1:-1], atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "length", "message"),
    [
        ("3x1x8", (1, 12), "second fft_length 12 is not a power of 2"),
        ("3x1x8", (1, 8192), "second fft_length 8192 is out of range [2, 4096]"),
        ("3x1x8", (1, 1), "second fft_length 1 is out of range [2, 4096]"),
        ("3x1x8", (2, 8), "first fft_length 2 is out of range [1, 1]"),
        ("3x2x8", (1, 8), "rows of an image 2 is out of range [1, 1]"),
        ("8", (1, 8), "rank 1, expected at least 2"),
        ("3x1x8", (1, 8), "type COMPLEX64 of an input or output is not supported"),
    ],
)
def test_refusals(shape: str, length: tuple[int, int], message: str) -> None:
    data = model("RFFT2D", [f"float32 {shape}", np.array(length)], "complex64 3x1x5")()
    with pytest.raises(QlowerError) as caught:
        import_tflite(data, name="m")
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("operator", "operand", "result", "message"),
    [
        ("CAST", "float32 3", "complex64 3", "type COMPLEX64 is not supported by CAST"),
        ("NEG", "complex64 3", "complex64 3", "of an input or output is not supported"),
        ("COMPLEX_ABS", "int64 3", "float32 3", "type INT64 is not supported by"),
    ],
)
def test_other_operators_take_no_complex_numbers(
    operator: str, operand: str, result: str, message: str
) -> None:
    data = model(operator, [operand], result)()
    with pytest.raises(QlowerError) as caught:
        import_tflite(data, name="m")
    assert message in caught.value.message
