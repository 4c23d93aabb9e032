"""The TVM family against recorded answers of TVM, and on vectors worked out by hand."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from support import golden_directory
from support.formats.tflite_cases import CASES
from support.layers.rescaling import (
    Rescaling,
    check_rescalings,
    record_rescaling,
    rescale_by_quotient,
)
from support.systems.recordings import Recording, check_recording
from xdsl.ir import SSAValue

import qlower
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.interp import evaluate_function
from qlower.interp.values import Array
from qlower.model.build import make_module, quantized

GOLDEN = golden_directory()
LIBRARIES = GOLDEN / "libraries"

needs_recordings = pytest.mark.skipif(
    not LIBRARIES.is_dir(), reason=f"no recorded answers in {LIBRARIES}"
)

FAMILY = (
    "tvm",
    "tvm-neon",
    "tvm-neon-fix",
    "tvm-tonearest",
    "tvm-float32",
    "tvm-relay-shift",
    "tvm-relay-float",
)
PATHS = {"tvm": "default", "tvm-neon": "neon_int32x4", "tvm-neon-fix": "neon_fix"}
"""The column of `tvm_q_multiply_shift.npz` that each contract has."""

REQUANTIZE = {"tvm": "UPWARD", "tvm-tonearest": "TONEAREST"}
SCALES = (
    *("0.0123_0.37", "0.5_1.0", "0.25_1.0", "0.003_0.0471"),
    *("1.5_0.5", "0.7_0.7", "0.0001_0.125", "2.0_1.0"),
)
RELAY = {
    "tvm-relay-shift": "rq_pow2_add64_shr7",
    "tvm-relay-float": "rq_f32_mul_2m7",
}
VECTOR_COLUMNS = {
    "tvm": "ruy.arm/tvm/tosa1(SGL)",
    "tvm-neon": "ruy.x86/rows(DBL^)",
    "tvm-neon-fix": "ruy.arm/tvm/tosa1(SGL)",
    "tvm-tonearest": "tvm.tonearest",
    "tvm-float32": "tvm.fp32(zp in)",
}


@cache
def read(name: str) -> dict[str, Array]:
    with np.load(LIBRARIES / name) as arrays:
        return {key: arrays[key] for key in arrays.files}


def q_multiply_shift(
    contract: str, x: Array, multiplier: Array, shift: Array, *, per_channel: bool
) -> Array:
    """The private function of the contract, on arrays."""
    rule = load_contract(contract).definition.function("q_multiply_shift")
    (result,) = evaluate_function(rule.function, [x, multiplier, shift, per_channel])
    return result


def q31(contract: str, x: list[int], multiplier: int, shift: int) -> list[int]:
    result = q_multiply_shift(
        contract,
        np.array(x, np.int32),
        np.array(multiplier, np.int32),
        np.array(shift, np.int32),
        per_channel=False,
    )
    return result.tolist()


@needs_recordings
@pytest.mark.parametrize("contract", PATHS)
def test_q_multiply_shift(contract: str):
    """53,655 results: q = 31, which is all that TVM's operators use; multipliers of any
    sign and size."""
    arrays = read("tvm_q_multiply_shift.npz")
    where = arrays["q"] == 31
    x, multiplier, shift = (arrays[key][where].astype(np.int32) for key in "xys")
    result = q_multiply_shift(contract, x, multiplier, shift, per_channel=False)
    np.testing.assert_array_equal(result, arrays[PATHS[contract]][where])


@needs_recordings
@pytest.mark.parametrize("contract", [*PATHS, "tvm-tonearest"])
def test_channels_have_one_rounding(contract: str):
    """A multiplier for each channel never takes the NEON path, nor the special case."""
    arrays = read("tvm_q_multiply_shift.npz")
    where = (arrays["q"] == 31) & (arrays["y"] != 1 << 30) & (arrays["s"] < 0)
    x, multiplier, shift = (arrays[key][where].astype(np.int32) for key in "xys")
    result = q_multiply_shift(contract, x, multiplier, shift, per_channel=True)
    once = q_multiply_shift(contract, x, multiplier, shift, per_channel=False)
    expected = once if contract == "tvm-tonearest" else arrays["default"][where]
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parts(3)
@needs_recordings
@pytest.mark.parametrize("contract", PATHS)
def test_scales_to_stored_integers(contract: str):
    """The recorded multipliers that scales can have, from scales to 8 bits. A quotient
    of two float32 is not next to a power of two."""
    arrays = read("tvm_q_multiply_shift.npz")
    y, shifts = arrays["y"], arrays["s"]
    power, margin = 1 << 30, 1 << 7
    legal = (y == power) | ((y >= power + margin) & (y <= 2 * power - margin))
    legal &= arrays["q"] == 31
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    pairs = sorted({*zip(y[legal].tolist(), shifts[legal].tolist(), strict=True)})
    for multiplier, shift in pairs[::6]:
        where = legal & (y == multiplier) & (shifts == shift)
        rescalings.append(rescale_by_quotient(arrays["x"][where], multiplier, shift))
        expected.append(np.clip(arrays[PATHS[contract]][where], -128, 127))
    check_rescalings(rescalings, contract, expected)


@needs_recordings
@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("contract", REQUANTIZE)
def test_requantize(contract: str, scales: str):
    arrays = read("tvm_relay.npz")
    source, result = (float(np.float32(scale)) for scale in scales.split("_"))
    key = f"{REQUANTIZE[contract]}_{scales}"
    rescaling = Rescaling(arrays[f"{key}_x"], source, 1.0, result)
    check_recording(record_rescaling(rescaling, arrays[f"{key}_o"]), contract)


@needs_recordings
@pytest.mark.parametrize("contract", RELAY)
def test_relay_quantize(contract: str):
    arrays = read("tvm_relay.npz")
    rescaling = Rescaling(arrays["rq_acc"], 2.0**-7, 1.0)
    check_recording(record_rescaling(rescaling, arrays[RELAY[contract]]), contract)


@pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"no vectors in {GOLDEN}")
@pytest.mark.parametrize("contract", VECTOR_COLUMNS)
def test_hand_vectors(contract: str):
    recorded = json.loads((GOLDEN / "vectors.json").read_text())
    column = VECTOR_COLUMNS[contract]
    vectors: dict[tuple[float, int], list[tuple[int, int]]] = {}
    for vector in recorded["vectors"]:
        pairs = vectors.setdefault((vector["scale"], vector["zp"]), [])
        pairs.append((vector["acc"], vector["out"][column]))
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for (scale, zero_point), pairs in vectors.items():
        accumulators, answers = np.array(pairs, np.int32).T
        if contract == "tvm-float32":
            real = float(np.float32(scale))
            rescaling = Rescaling(accumulators, real, 1.0, 1.0, zero_point)
        else:
            mantissa, exponent = np.frexp(scale)
            multiplier = int(np.floor(mantissa * 2**31 + 0.5))
            rescaling = rescale_by_quotient(
                accumulators, multiplier, int(exponent), zero_point
            )
        rescalings.append(rescaling)
        expected.append(answers)
    check_rescalings(rescalings, contract, expected)


@pytest.mark.parametrize(
    ("contract", "results"),
    [
        ("tvm", [0, -1, -48, 401813903]),
        ("tvm-neon", [1, 0, -47, 401813904]),
        ("tvm-neon-fix", [0, -1, -48, 401813903]),
    ],
)
def test_the_second_rounding_of_neon(contract: str, results: list[int]):
    """0.374, -0.749, -47.526 and 401813903.25, from the forum's q = 31 and s = -1."""
    assert q31(contract, [1, -2, -127, 1 << 30], 1607255613, -1) == results


@pytest.mark.parametrize(
    ("contract", "row"),
    [
        ("tvm", "-2 -1 -1 -1 -1 0 0 0 0 1 1 1 1 2 2 2 2 3"),
        ("tvm-neon", "-1 -1 -1 -1 0 0 0 0 1 1 1 1 2 2 2 2 3 3"),
        ("tvm-neon-fix", "-2 -1 -1 -1 -1 0 0 0 0 1 1 1 1 2 2 2 2 3"),
        ("tvm-tonearest", "-2 -2 -1 -1 -1 -1 0 0 0 1 1 1 1 2 2 2 2 3"),
    ],
)
def test_a_quarter(contract: str, row: str):
    """-7 ... 10 times 1/4: the row that tells all families of rounding apart."""
    expected = [int(value) for value in row.split()]
    assert q31(contract, list(range(-7, 11)), 1 << 30, -1) == expected


def test_powers_of_two_wrap_around():
    """One quarter of the largest int32: the addition of the special case overflows; the
    general formula and NEON do not."""
    largest = (1 << 31) - 1
    assert q31("tvm", [largest], 1 << 30, -1) == [-(1 << 29)]
    assert q31("tvm-neon-fix", [largest], 1 << 30, -1) == [1 << 29]
    x, multiplier, shift = np.array(largest), np.array(1 << 30), np.array(-1)
    arrays = [value.astype(np.int32) for value in (x, multiplier, shift)]
    assert q_multiply_shift("tvm", *arrays, per_channel=True) == 1 << 29


@pytest.mark.parametrize("shift", [1, -31])
def test_shifts_that_tvm_does_not_compile(shift: int):
    with pytest.raises(QlowerError, match="TVM does not compile this power of two"):
        q31("tvm", [1], 1 << 30, shift)


@pytest.mark.parametrize("contract", FAMILY)
def test_averages_are_truncated(contract: str):
    """Of the stored integers: 1.5 and 2.5 are 1 and 2, and -1.5 is -1, whatever the
    zero point."""
    types = [quantized((1, height, 1, 3), 0.5, 7) for height in (2, 1)]

    def body(x: SSAValue) -> list[SSAValue]:
        return [qnn.AdaptiveAvgPool2DOp(x, types[1]).result]

    x = np.array([[1, 2, -1], [2, 3, -2]], np.int8).reshape(1, 2, 1, 3)
    truncated = np.array([1, 2, -1], np.int8)
    check_recording(Recording(make_module(types[:1], body), [x], truncated), contract)


def test_pools_of_different_scales_are_refused():
    source, result = (quantized((1, 2, 2, 1), scale) for scale in (0.5, 0.25))
    module = make_module(
        [source], lambda x: [qnn.AdaptiveAvgPool2DOp(x, result).result]
    )
    with pytest.raises(QlowerError, match="one scale and one zero point"):
        qlower.jit(qlower.Model(module), contract="tvm")


def test_elu_is_refused(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("elu") / "elu.tflite"
    path.write_bytes(CASES["elu"]())
    with pytest.raises(QlowerError, match="has no rule elu"):
        qlower.jit(qlower.load(path), contract="tvm")


def sum_of(
    lhs: list[int], rhs: list[int], scales: tuple[float, float, float]
) -> tuple[list[Array], Recording]:
    types = [quantized((1, 1, 1, len(lhs)), scale) for scale in scales]

    def body(a: SSAValue, b: SSAValue) -> list[SSAValue]:
        return [qnn.AddOp(a, b, types[2]).result]

    inputs = [np.array(x, np.int8).reshape(1, 1, 1, -1) for x in (lhs, rhs)]
    return inputs, Recording(make_module(types[:2], body), inputs, inputs[0])


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        # each operand by itself: 0.5 + 0.5 is 1 + 1, -0.5 + -0.5 is 0 + 0 half up
        ("tvm", [2, 0, 1, 127]),
        ("tvm-tonearest", [2, -2, 1, 127]),
        ("tvm-float32", [2, 0, 1, 127]),
        # 0.25 is rounded up twice; so is 0.75, which stays 1
        ("tvm-neon", [2, 0, 1, 127]),
        # the sum, once
        ("tvm-relay-shift", [1, -1, 1, 127]),
        ("tvm-relay-float", [1, -1, 1, 127]),
    ],
)
def test_sums(contract: str, expected: list[int]):
    """Halves of 1 + 1, -1 + -1, 1 + 0 and 127 + 127."""
    inputs, recording = sum_of([1, -1, 1, 127], [1, -1, 0, 127], (0.5, 0.5, 1.0))
    answer = np.array(expected, np.int8).reshape(inputs[0].shape)
    check_recording(Recording(recording.module, inputs, answer), contract)


def test_relay_never_stores_the_smallest():
    """Symmetric models have no -128; with a zero point the range is whole."""
    for contract in ("tvm-relay-shift", "tvm-relay-float"):
        for zero_point, smallest in ((0, -127), (1, -128)):
            rescaling = Rescaling(
                np.array([-(1 << 20)], np.int32), 2.0**-7, 1.0, 1.0, zero_point
            )
            answer = np.array([smallest], np.int8)
            check_recording(record_rescaling(rescaling, answer), contract)


def test_relay_sums_on_the_finer_grid():
    """7 * 1/2 + 3 * 1/8 is 31 eighths, in quarters 15.5: half up 16, half away 16; and
    -31 eighths is -15 and -16."""
    for contract, expected in (
        ("tvm-relay-shift", [16, -15]),
        ("tvm-relay-float", [16, -16]),
    ):
        inputs, recording = sum_of([7, -7], [3, -3], (0.5, 0.125, 0.25))
        answer = np.array(expected, np.int8).reshape(inputs[0].shape)
        check_recording(Recording(recording.module, inputs, answer), contract)


def test_float32_rounds_with_the_zero_point_inside():
    """The float32 below 1/2, once: the sum with 1/2 rounds to 1; less the zero point 1
    it is exact, and the floor is -1."""
    below = float(np.nextafter(np.float32(0.5), np.float32(0)))
    one = np.array([1], np.int32)
    for zero_point, answer in ((0, 1), (-1, -1)):
        rescaling = Rescaling(one, below, 1.0, 1.0, zero_point)
        recording = record_rescaling(rescaling, np.array([answer], np.int8))
        check_recording(recording, "tvm-float32")


def test_float32_overflow_is_the_smallest():
    """2^31 - 1 times 2 does not fit 32 bits."""
    largest = np.array([(1 << 31) - 1], np.int32)
    rescaling = Rescaling(largest, 2.0, 1.0)
    recording = record_rescaling(rescaling, np.array([-128], np.int8))
    check_recording(recording, "tvm-float32")
