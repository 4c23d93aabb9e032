"""The contracts of the TFLite family against the systems themselves, run side by side.

Layers with random and tie-seeking scales, any zero points and odd channel counts; and
layers at the edges of the arithmetic. The long run has over a million outputs a
contract of LiteRT of the former, and over ten million of the latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.formats.edge_layers import LAYERS as EDGE_LAYERS
from support.formats.edge_layers import edge_inputs
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_cases import (
    CASES,
    OTHER_SUMS,
    OTHER_SUMS_OF_XNNPACK,
    REFUSED_BY_XNNPACK,
    WITHOUT_OPTIMIZED_KERNEL,
    random_inputs,
)
from support.lanes import LARGE_VARIABLE, LEVELS_VARIABLE, is_asked_for
from support.layers.random_layers import LAYERS, random_layer_inputs
from support.systems.litert import run_litert
from support.systems.recordings import make_executors
from support.systems.tflm import run_tflm

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

needs_litert = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
needs_tflm = pytest.mark.skipif(
    find_spec("tflite_micro") is None, reason="tflite-micro is not installed"
)

CONTRACTS = {
    "ref": "tflite",
    "opt": "tflite-ruy",
    "xnn": "tflite-xnnpack",
    "tflm": "tflm",
}
"""The contract of each of LiteRT's sets of kernels, and of TFLite Micro."""

SYSTEMS = [
    *(pytest.param(kernels, marks=needs_litert) for kernels in ("ref", "opt", "xnn")),
    pytest.param("tflm", marks=needs_tflm),
]

SEEDS = 4
"""One of so many runs in every executor, with scales that make ties or not in turn:
each layer's by every other contract, unless all are asked for."""

LONG_SEEDS = {"ref": 60, "opt": 60, "xnn": 60, "tflm": 80}

DTYPES = ["int8", "uint8"]

TURNS = list(product(LAYERS, DTYPES, CONTRACTS))
"""Whose native code is at one of the machine's levels after another: each layer's, by
one contract or another, at all of them."""

PARTS = 12
"""Cases of `CASES` of which one runs in every executor, unless all are asked for."""

EDGE_SEEDS = 2
LONG_EDGE_SEEDS = 200

ONLY_INT8 = {"batch_matmul", "elu"}
"""Operators that LiteRT has no uint8 kernels for. TFLite Micro has none but one."""

NOT_IN_TFLM = {"relu_n1_to_1", "relu_0_to_1"}


def check(result: tuple[Array, ...], expected: tuple[Array, ...], message: str) -> None:
    assert len(result) == len(expected)
    for output, reference in zip(result, expected, strict=True):
        assert output.dtype == reference.dtype
        np.testing.assert_array_equal(output, reference, err_msg=message)


def run(kernels: str, model: bytes, inputs: Sequence[Array]) -> tuple[Array, ...]:
    if kernels == "tflm":
        return run_tflm(model, inputs)
    return run_litert(model, inputs, kernels=kernels)


LOGARITHMS = frozenset({"log_softmax", "log_softmax_uint8", "log_softmax_wide"})

NOT_COMPARED = {
    "opt": OTHER_SUMS | LOGARITHMS | WITHOUT_OPTIMIZED_KERNEL,
    "xnn": OTHER_SUMS_OF_XNNPACK
    | REFUSED_BY_XNNPACK
    | LOGARITHMS
    | WITHOUT_OPTIMIZED_KERNEL,
}
"""The cases that a contract makes no claim of, or refuses."""


@pytest.mark.parts(32)
@needs_litert
@pytest.mark.parametrize(
    ("case", "kernels"),
    [
        (case, kernels)
        for case in CASES
        for kernels, others in NOT_COMPARED.items()
        if case not in others
    ],
)
def test_every_operator(case: str, kernels: str, tmp_path: Path):
    path = tmp_path / f"{case}.tflite"
    path.write_bytes(CASES[case]())
    model = qlower.load(path)
    turn = list(CASES).index(case) + list(CONTRACTS).index(kernels)
    executors = (
        make_executors(model, CONTRACTS[kernels], turn)
        if turn % PARTS == 0 or is_asked_for(LEVELS_VARIABLE)
        else {"qnn": Compilation(model, CONTRACTS[kernels]).interpreter("qnn")}
    )
    types = [(spec.shape, spec.dtype) for spec in model.inputs]
    for seed in range(2 if is_asked_for(LARGE_VARIABLE) else 1):
        inputs = random_inputs(types, seed)
        expected = run_litert(path.read_bytes(), inputs, kernels=kernels)
        for name, executor in executors.items():
            check(executor.run(inputs, {})[0], expected, name)


@needs_litert
@pytest.mark.parametrize("case", sorted(REFUSED_BY_XNNPACK))
def test_xnnpack_refuses(case: str, tmp_path: Path):
    path = tmp_path / f"{case}.tflite"
    path.write_bytes(CASES[case]())
    types = [(spec.shape, spec.dtype) for spec in qlower.load(path).inputs]
    with pytest.raises(RuntimeError, match="failed to delegate"):
        run_litert(path.read_bytes(), random_inputs(types), kernels="xnn")


@pytest.mark.parts(120)
@pytest.mark.parametrize("kernels", SYSTEMS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layer", LAYERS)
def test_random_layers(layer: str, dtype: str, kernels: str, tmp_path: Path):
    check_random_layers(layer, dtype, kernels, range(SEEDS), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kernels", SYSTEMS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layer", LAYERS)
def test_many_random_layers(layer: str, dtype: str, kernels: str, tmp_path: Path):
    seeds = range(SEEDS, LONG_SEEDS[kernels])
    check_random_layers(layer, dtype, kernels, seeds, tmp_path)


def check_random_layers(
    layer: str, dtype: str, kernels: str, seeds: Sequence[int], folder: Path
) -> None:
    if dtype == "uint8" and layer in ONLY_INT8:
        pytest.skip(f"LiteRT has no uint8 {layer}")
    if dtype == "uint8" and kernels == "tflm" and layer != "dequantize":
        pytest.skip("TFLite Micro has no uint8 kernels")
    if (layer, kernels) == ("elu", "ref"):
        pytest.skip("LiteRT has no reference kernel of elu")
    contract, path = CONTRACTS[kernels], folder / "layer.tflite"
    turn = TURNS.index((layer, dtype, kernels))
    is_chosen = (list(LAYERS).index(layer) + turn) % 2 == 0
    is_chosen |= is_asked_for(LARGE_VARIABLE)
    for seed in seeds:
        path.write_bytes(LAYERS[layer](seed, dtype))
        model = qlower.load(path)
        inputs = random_layer_inputs(model, seed)
        expected = run(kernels, path.read_bytes(), inputs)
        executors = (
            make_executors(model, contract, turn)
            if seed % SEEDS == turn % 2 and is_chosen
            else {"qnn": Compilation(model, contract).interpreter("qnn")}
        )
        for name, executor in executors.items():
            check(executor.run(inputs, {})[0], expected, f"seed {seed}, {name}")


@pytest.mark.parts(108)
@pytest.mark.parametrize("kernels", SYSTEMS)
@pytest.mark.parametrize("layer", EDGE_LAYERS)
def test_edge_layers(layer: str, kernels: str, tmp_path: Path):
    check_edge_layers(layer, kernels, range(EDGE_SEEDS), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kernels", SYSTEMS)
@pytest.mark.parametrize("layer", EDGE_LAYERS)
def test_many_edge_layers(layer: str, kernels: str, tmp_path: Path):
    """Native code too, each layer's at one of the machine's levels."""
    seeds = range(EDGE_SEEDS, LONG_EDGE_SEEDS)
    check_edge_layers(layer, kernels, seeds, tmp_path, is_native=True)


def check_edge_layers(
    layer: str,
    kernels: str,
    seeds: Sequence[int],
    folder: Path,
    *,
    is_native: bool = False,
) -> None:
    """What the system refuses must be refused, with a reason."""
    if (layer, kernels) == ("elu", "ref"):
        pytest.skip("LiteRT has no reference kernel of elu")
    contract, path = CONTRACTS[kernels], folder / "layer.tflite"
    dtypes = ["int8"]
    if kernels != "tflm" and layer not in ONLY_INT8:
        dtypes.append("uint8")
    for seed in seeds:
        for dtype in dtypes:
            path.write_bytes(EDGE_LAYERS[layer](seed, dtype))
            model = qlower.load(path)
            if kernels == "tflm" and layer in NOT_IN_TFLM:
                with pytest.raises(QlowerError, match="TFLite Micro has"):
                    qlower.jit(model, contract=contract)
                continue
            inputs = edge_inputs(model, seed)
            expected = run(kernels, path.read_bytes(), inputs)
            executors = (
                make_executors(model, contract, seed)
                if is_native
                else {"qnn": Compilation(model, contract).interpreter("qnn")}
            )
            for name, executor in executors.items():
                result = executor.run(inputs, {})[0]
                check(result, expected, f"seed {seed}, {dtype}, {name}")


@pytest.mark.parametrize("kernels", SYSTEMS)
def test_hard_swish_of_any_ratio(kernels: str, tmp_path: Path):
    """Beyond 2^9 its last division is by more than 16 bits have."""
    path = tmp_path / "layer.tflite"
    codes = np.arange(-128, 128, dtype=np.int8).reshape(2, 128)
    for exponent, point in ((8, 3), (10, -128), (25, 3)):
        builder = TFLiteBuilder()
        x = builder.tensor("x", (2, 128), scale=0.75, zero_point=point)
        y = builder.tensor("y", (2, 128), scale=2.0**exponent, zero_point=-point - 1)
        builder.operator("HARD_SWISH", [x], [y])
        path.write_bytes(builder.build([x], [y]))
        expected = run(kernels, path.read_bytes(), [codes])
        compilation = Compilation(qlower.load(path), CONTRACTS[kernels])
        result, _ = compilation.interpreter("qnn").run([codes], {})
        check(result, expected, f"2^{exponent}")


@pytest.mark.parts(3)
@pytest.mark.parametrize("kernels", SYSTEMS)
def test_linear_sums_that_wrap(kernels: str, tmp_path: Path):
    """Beyond int32 the reference kernels' conversion is undefined: not compared."""
    path, random = tmp_path / "layer.tflite", np.random.default_rng(0)
    for exponent in (24, 2, -4):
        builder = TFLiteBuilder()
        x = builder.tensor("x", (8, 40), scale=0.5, zero_point=-7)
        codes = random.integers(-127, 128, (4, 40), np.int8)
        w = builder.tensor("w", (4, 40), scale=1.0, data=codes)
        ends = np.array([-(2**31), -(2**31) + 1, 2**31 - 1, 2**31 - 2], np.int32)
        b = builder.tensor("b", (4,), "int32", scale=0.5, data=ends)
        y = builder.tensor("y", (8, 4), scale=2.0**exponent, zero_point=5)
        builder.operator("FULLY_CONNECTED", [x, w, b], [y])
        path.write_bytes(builder.build([x], [y]))
        compilation = Compilation(qlower.load(path), CONTRACTS[kernels])
        if kernels == "ref" and exponent < 0:
            continue
        inputs = [random.integers(-128, 128, (8, 40), np.int8)]
        expected = run(kernels, path.read_bytes(), inputs)
        for executor in (compilation.interpreter("qnn"), compilation.function()):
            check(executor.run(inputs, {})[0], expected, f"2^{exponent}")
