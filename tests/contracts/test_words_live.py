"""Contracts on 16-bit elements beside the systems themselves."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import Option
from support.formats.tflite_general_cases import model
from support.formats.tflite_word_cases import WORDS
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.systems.litert import run_litert
from support.systems.recordings import make_executors
from support.systems.tflm import run_tflm

import qlower
from qlower.compilation.compilation import Compilation
from qlower.contracts import contract_names, load_contract
from qlower.contracts.rules import is_of_words
from qlower.diagnostics import QlowerError

SYSTEMS = [
    pytest.param(
        contract,
        marks=pytest.mark.skipif(
            find_spec(package) is None, reason=f"{package} is not installed"
        ),
    )
    for contract, package in (("tflite", "ai_edge_litert"), ("tflm", "tflite_micro"))
]
NOT_IN_TFLM = {
    *("exp", "gelu", "gelu_tanh", "log", "rsqrt", "sqrt"),
    *("batch_matmul_by_bytes", "div", "less", "not_equal", "reduce_prod"),
    "resize_bilinear",
}
RUN = {"tflite": run_litert, "tflm": run_tflm}
CONTRACTS = tuple(RUN)
"""Every executor runs a case by one of them."""

SEEDS = 4 if is_asked_for(LARGE_VARIABLE) else 2


def drawn(spec: qlower.TensorSpec, seed: int) -> NDArray[np.generic]:
    """Values of the whole range, or a small part of it."""
    random = np.random.default_rng(seed)
    if spec.dtype == "float32":
        return random.normal(0, 30, spec.shape).astype(np.float32)
    limits = np.iinfo(spec.dtype)
    if seed % 3 == 2:
        values = np.rint(random.normal(0, 200, spec.shape))
        return np.clip(values, limits.min, limits.max).astype(spec.dtype)
    values = random.integers(limits.min, limits.max, spec.shape, endpoint=True)
    return (values // (64 if seed % 3 == 1 else 1)).astype(spec.dtype)


@pytest.mark.parts(2)
@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai_edge_litert is not installed"
)
@pytest.mark.parametrize(
    ("operator", "scales"),
    [
        ("GELU", (0.00012612943828571588, 0.00011770967103075236)),
        ("LOG", (2649.05322265625, 0.0005578541313298047)),
    ],
    ids=["an entry that the last bit of erfc decides", "a rise that wraps"],
)
def test_tables(operator: str, scales: tuple[float, float], tmp_path: Path) -> None:
    path = tmp_path / "layer.tflite"
    operand, result = (f"int16 65536 {scale} 0" for scale in scales)
    path.write_bytes(model(operator, [operand], result)())
    x = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    found = qlower.interpret(qlower.load(path), x, at="qnn")
    (expected,) = run_litert(path.read_bytes(), [x])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parts(12)
@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai_edge_litert is not installed"
)
@pytest.mark.parametrize("operator", ["ADD", "SUB"])
@pytest.mark.parametrize(
    "scales",
    [
        *((0.5, 0.5, 0.5), (0.5004, 0.25, 0.5)),
        *((0.5, 0.25, 0.5), (0.125, 0.5002, 0.5), (2**-29, 2**-14, 2**-14), (2, 1, 2)),
    ],
)
def test_sums_that_may_be_shifted(
    operator: str, scales: tuple[float, ...], tmp_path: Path
) -> None:
    """pot_scale_int16 is set: it changes no bit of the first two."""
    path, random = tmp_path / "layer.tflite", np.random.default_rng(0)
    lhs, rhs, result = (f"int16 999 {scale} 0" for scale in scales)
    inputs = [random.integers(-(1 << 15), 1 << 15, 999, np.int16) for _ in range(2)]
    for activation in range(4):
        options: dict[str, Option] = {"fused_activation_function": activation}
        path.write_bytes(model(operator, [lhs, rhs], result, options=options)())
        layer = qlower.load(path)
        (expected,) = run_litert(path.read_bytes(), inputs)
        found = qlower.interpret(layer, *inputs, at="qnn")
        np.testing.assert_array_equal(found, expected)
        if activation == 0:
            np.testing.assert_array_equal(qlower.jit(layer)(*inputs), expected)


@pytest.mark.parts(3)
@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai_edge_litert is not installed"
)
@pytest.mark.parametrize(
    ("given", "result"),
    [
        ("int32 999 0.001 0", "int8 999 0.1 -4"),
        ("int32 999 0.001 5", "int16 999 0.25 0"),
        ("int32 999 2 0", "int16 999 1e-6 0"),
        ("int16 999 0.001 0", "int32 999 3e-7 7"),
    ],
)
def test_quantize_between_words_and_longs(
    given: str, result: str, tmp_path: Path
) -> None:
    """From and to 32 bits, whose range is left where a scale is large."""
    path, random = tmp_path / "layer.tflite", np.random.default_rng(0)
    path.write_bytes(model("QUANTIZE", [given], result)())
    layer = qlower.load(path)
    limits = np.iinfo(given.split()[0])
    for least, most in ((limits.min, limits.max), (-3000, 3000)):
        x = random.integers(least, most, 999, limits.dtype, endpoint=True)
        (expected,) = run_litert(path.read_bytes(), [x])
        for found in (qlower.interpret(layer, x, at="qnn"), qlower.jit(layer)(x)):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai_edge_litert is not installed"
)
@pytest.mark.parametrize(
    ("operator", "lhs", "rhs", "result"),
    [
        ("FULLY_CONNECTED", "3x40 0.001 0", "5x40 0.002 0", "3x5 0.7 0"),
        ("MUL", "9x9 0.001 0", "9x9 0 0", "9x9 0.01 0"),
    ],
    ids=["computed weights", "a scale of 0"],
)
def test_two_computed_operands(
    operator: str, lhs: str, rhs: str, result: str, tmp_path: Path
) -> None:
    path = tmp_path / "layer.tflite"
    lhs, rhs, result = (f"int16 {tensor}" for tensor in (lhs, rhs, result))
    path.write_bytes(model(operator, [lhs, rhs], result)())
    layer = qlower.load(path)
    executors = make_executors(layer, "tflite", 0)
    for seed in range(SEEDS):
        inputs = [drawn(spec, seed + 7 * n) for n, spec in enumerate(layer.inputs)]
        (expected,) = run_litert(path.read_bytes(), inputs)
        for name, executor in executors.items():
            (found,), _ = executor.run(inputs, {})
            np.testing.assert_array_equal(found, expected, name)


@pytest.mark.parts(24)
@pytest.mark.parametrize("contract", SYSTEMS)
@pytest.mark.parametrize("turn", range(len(WORDS)), ids=list(WORDS))
def test_bits(turn: int, contract: str, tmp_path: Path) -> None:
    if contract == "tflm" and list(WORDS)[turn] in NOT_IN_TFLM:
        pytest.skip("TFLite Micro has no such kernel")
    path = tmp_path / "layer.tflite"
    for seed in range(SEEDS):
        path.write_bytes(list(WORDS.values())[turn](seed))
        layer = qlower.load(path)
        inputs = [drawn(spec, seed + 7 * n) for n, spec in enumerate(layer.inputs)]
        executors = (
            make_executors(layer, contract, turn)
            if seed == turn % SEEDS and contract == CONTRACTS[turn % 2]
            else {"qnn": Compilation(layer, contract).interpreter("qnn")}
        )
        expected = RUN[contract](path.read_bytes(), inputs)
        for name, executor in executors.items():
            (found,), _ = executor.run(inputs, {})
            assert found.dtype == expected[0].dtype
            np.testing.assert_array_equal(found, expected[0], f"{name}, seed {seed}")


@pytest.mark.parts(5)
def test_who_claims_words() -> None:
    """A contract has the rules of its base for 16 bits only where it says so."""
    claiming = {
        contract.name
        for contract in map(load_contract, contract_names())
        if contract.base is not None and contract.base.name == "tflite"
        if any(map(is_of_words, contract.rules))
    }
    assert claiming == {"tflm"}


def test_refusal(tmp_path: Path) -> None:
    path = tmp_path / "layer.tflite"
    path.write_bytes(WORDS["mul"](0))
    with pytest.raises(QlowerError, match="gemmlowp has no rule mul_i16"):
        qlower.jit(path, contract="gemmlowp")
