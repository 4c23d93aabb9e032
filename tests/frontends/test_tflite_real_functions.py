"""tanhf, expm1f, sinf, cosf, atan2f and fmodf, beside LiteRT's kernels and the C
library that they call."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_builder import TFLiteBuilder
from support.systems.litert import run_litert
from support.values.same_numbers import assert_same

import qlower
from qlower.interp.values import Array

COUNT = 1 << 14

SCALES = {"int8": 2**-5, "int16": 2**-13}

LIBRARY, VERSION = platform.libc_ver()


pytestmark = [
    pytest.mark.skipif(
        find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
    ),
    pytest.mark.skipif(
        LIBRARY != "glibc" or [int(n) for n in VERSION.split(".")] > [2, 40],
        reason="LiteRT calls the system's C library, whose functions are others",
    ),
]


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    ("operator", "kernels"),
    [("TANH", "ref"), ("ELU", "opt"), ("SIN", "ref"), ("COS", "ref")],
)
def test_bits(operator: str, kernels: str, tmp_path: Path) -> None:
    """Any bits, numbers of the usual sizes, and the ends of the function's parts."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 32, COUNT, dtype=np.uint32).view(np.float32)
    ends = np.array(
        [
            *(0.0, 0.173286795, 0.519860387, 1.0397207, 18.714973, 19.7, 22.0, np.inf),
            *(2.0**-12, 0.75, 1.5707964, 3.1415927, 4.712389, 119.38052, 120.0, 1e22),
        ]
    )
    near = np.repeat(np.append(ends, -ends), COUNT // ends.size // 2)
    near = near + random.integers(-20, 20, near.size) * np.spacing(near.astype("f4"))
    given = np.concatenate(
        [
            np.where(np.isnan(bits), 1, bits),
            random.normal(0, 1, COUNT),
            random.normal(0, 8, COUNT),
            np.where(np.isnan(near), np.inf, near),
        ]
    ).astype(np.float32)
    _check(operator, kernels, [given], tmp_path)


@pytest.mark.parts(2)
@pytest.mark.parametrize("operator", ["FLOOR_MOD", "ATAN2"])
def test_functions_of_two(operator: str, tmp_path: Path) -> None:
    """Any bits, numbers of usual sizes, wholes, and all that is special, in pairs."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 32, (2, COUNT), dtype=np.uint32).view(np.float32)
    special = np.array(
        [0, -0.0, 1, -1, np.inf, -np.inf, 1e-45, -1e-45, 2**-126, 1e-40, 3.4e38]
    )
    pairs = np.array(list(product(special, special))).T
    given = np.concatenate(
        [
            np.where(np.isnan(bits), 1, bits),
            random.normal(0, [[9], [2]], (2, COUNT)),
            random.integers(-50, 51, (2, COUNT)) / 4,
            np.resize(pairs, (2, COUNT)),
        ],
        axis=1,
    ).astype(np.float32)
    _check(operator, "ref", list(given), tmp_path)


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    ("operator", "kernels"),
    [("TANH", "ref"), ("ELU", "opt"), ("EXP", "ref"), ("SIN", "ref")],
)
def test_between_words(operator: str, kernels: str, tmp_path: Path) -> None:
    """Of 16 bits that are dequantized for a while they are computed, not looked up."""
    operators = ["DEQUANTIZE", operator, "QUANTIZE"]
    types = ["int16", "float32", "float32", "int16"]
    given = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    expected: Array = given
    for n, name in enumerate(operators):
        of_one = _chain([name], types[n : n + 2])
        by = kernels if name == operator else "ref"
        (expected,) = run_litert(of_one, [expected], kernels=by)
    path = tmp_path / "function.tflite"
    path.write_bytes(_chain(operators, types))
    model = qlower.load(path)
    for found in (qlower.jit(model)(given), qlower.interpret(model, given, at="qnn")):
        assert_same(found, expected)


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    ("operator", "kernels"),
    [("TANH", "ref"), ("ELU", "opt"), ("EXP", "ref"), ("SIN", "ref"), ("COS", "ref")],
)
def test_between_bytes(operator: str, kernels: str, tmp_path: Path) -> None:
    """Looked up, or computed where the real numbers are asked for."""
    operators = ["DEQUANTIZE", operator, "QUANTIZE"]
    types = ["int8", "float32", "float32", "int8"]
    given = np.resize(np.arange(-128, 128), 1 << 16).astype(np.int8)
    expected: list[Array] = [given]
    for n, name in enumerate(operators):
        of_one = _chain([name], types[n : n + 2])
        by = kernels if name == operator else "ref"
        expected += run_litert(of_one, [expected[-1]], kernels=by)
    path = tmp_path / "function.tflite"
    path.write_bytes(_chain(operators, types))
    model = qlower.load(path)
    _, _, real, result = expected
    assert_same(qlower.jit(model)(given), result)
    run = qlower.jit(model, with_layers=True)
    outputs, layers = run.run([given], {})
    assert_same(outputs[0], result)
    assert any(
        one.dtype == np.float32 and np.array_equal(one, real) for one in layers.values()
    )


def _chain(operators: list[str], types: list[str]) -> bytes:
    """Operators after each other, on as many values as 16 bits have."""
    builder = TFLiteBuilder()
    tensors = [
        builder.tensor(f"x{n}", (1 << 16,), type, scale=SCALES.get(type))
        for n, type in enumerate(types)
    ]
    for n, operator in enumerate(operators):
        builder.operator(operator, tensors[n : n + 1], tensors[n + 1 : n + 2])
    return builder.build(tensors[:1], tensors[-1:])


def _check(operator: str, kernels: str, given: list[Array], tmp_path: Path) -> None:
    """An operator's bits; of what isn't a number, that it is none."""
    builder = TFLiteBuilder()
    inputs = [builder.tensor(f"x{n}", x.shape, "float32") for n, x in enumerate(given)]
    y = builder.tensor("y", given[0].shape, "float32")
    builder.operator(operator, inputs, [y])
    path = tmp_path / "function.tflite"
    path.write_bytes(builder.build(inputs, [y]))
    (expected,) = run_litert(path.read_bytes(), given, kernels=kernels)
    model = qlower.load(path)
    is_number = ~np.isnan(expected)
    for found in (qlower.jit(model)(*given), qlower.interpret(model, *given, at="qnn")):
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(np.isnan(found), ~is_number)
        np.testing.assert_array_equal(
            found[is_number].view("i4"), expected[is_number].view("i4")
        )
