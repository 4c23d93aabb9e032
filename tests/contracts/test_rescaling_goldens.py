"""The contracts against requantization functions of libraries (recorded)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from support import golden_directory
from support.layers.rescaling import (
    Rescaling,
    check_rescalings,
    rescale_by_multiplier,
)

from qlower.interp.values import Array

GOLDEN = golden_directory()
LIBRARIES = GOLDEN / "libraries"

pytestmark = pytest.mark.skipif(
    not LIBRARIES.is_dir(), reason=f"no recorded answers in {LIBRARIES}"
)

Q31_COLUMNS = [
    ("tflite", "gemmlowp_tflite_double"),
    ("tflm", "cmsis_double"),
    ("tosa-double", "tosa_double"),
    ("tosa", "tosa_single"),
    ("tflite-single", "cmsis_single"),
]
CMSIS_COLUMNS = [("tflm", "cm_double"), ("tflite-single", "cm_single")]
XNNPACK_COLUMNS = [
    ("gemmlowp", "xq_gemmlowp"),
    ("tflite-xnnpack", "xq_fp32"),
    ("xnnpack-rndnu", "xq_rndnu"),
]
VECTOR_COLUMNS = [
    ("tflite", "tflite.ref(DBL)"),
    ("tflm", "tflite.ref(DBL)"),
    ("tosa-double", "tflite.ref(DBL)"),
    ("tflite-ruy", "ruy.x86/rows(DBL^)"),
    ("tflite-single", "ruy.arm/tvm/tosa1(SGL)"),
    ("tosa", "ruy.arm/tvm/tosa1(SGL)"),
    ("tflite-xnnpack", "xnn.fp32/mlas/qnnp_pt"),
    ("xnnpack-rndnu", "xnn.rndnu"),
    ("gemmlowp", "qnnpack.q31"),
]


@cache
def read(name: str) -> dict[str, Array]:
    with np.load(LIBRARIES / name) as arrays:
        return {key: arrays[key] for key in arrays.files}


def groups(*keys: Array) -> Iterator[tuple[list[int], NDArray[np.intp]]]:
    """The different tuples of the keys, and where each is."""
    stacked = np.stack([key.astype(np.int64) for key in keys], axis=1)
    tuples, inverse = np.unique(stacked, axis=0, return_inverse=True)
    for index, values in enumerate(tuples):
        yield values.tolist(), np.flatnonzero(inverse.reshape(-1) == index)


@pytest.mark.parts(5)
@pytest.mark.parametrize(("contract", "column"), Q31_COLUMNS)
def test_31_bit_multipliers(contract: str, column: str):
    """39,200 accumulators, biased toward ties."""
    arrays = read("contracts_q31.npz")
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for (multiplier, shift), where in groups(arrays["mult"], arrays["shift"]):
        rescalings.append(
            rescale_by_multiplier(arrays["acc"][where], multiplier, shift)
        )
        expected.append(np.clip(arrays[f"out_{column}"][where], -128, 127))
    check_rescalings(rescalings, contract, expected)


@pytest.mark.parts(2)
@pytest.mark.parametrize(("contract", "column"), CMSIS_COLUMNS)
def test_cmsis_nn(contract: str, column: str):
    """64,000 accumulators through arm_nn_requantize, compiled both ways."""
    arrays = read("requant_libs.npz")
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for (multiplier, shift), where in groups(arrays["cm_mult"], arrays["cm_shift"]):
        rescalings.append(
            rescale_by_multiplier(arrays["cm_acc"][where], multiplier, shift)
        )
        expected.append(np.clip(arrays[column][where], -128, 127))
    check_rescalings(rescalings, contract, expected)


@pytest.mark.long
def test_gemmlowp_with_an_exponent():
    """48,000 accumulators through ScaleInt32ByFixedPointAndExponent (SSE4.1). Its
    multipliers have 31 bits, so `tflite` runs it; `gemmlowp` derives 24 bits."""
    arrays = read("requant_libs.npz")
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    keys = (arrays["gl_mult"], arrays["gl_exp"], arrays["gl_zp"])
    for (multiplier, exponent, zero_point), where in groups(*keys):
        accumulators = arrays["gl_acc"][where]
        rescalings.append(
            rescale_by_multiplier(accumulators, multiplier, exponent, zero_point)
        )
        expected.append(np.clip(arrays["gl_sse4"][where], -128, 127))
    check_rescalings(rescalings, "tflite", expected)


@pytest.mark.parts(3)
@pytest.mark.parametrize(("contract", "column"), XNNPACK_COLUMNS)
def test_xnnpack(contract: str, column: str):
    """60,000 accumulators; rndnu is what XNNPACK does with unsigned values."""
    arrays = read("requant_libs.npz")
    signed = contract != "xnnpack-rndnu"
    zero_point = 0 if signed else 128
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for scale in np.unique(arrays["xq_scale"]):
        where = np.flatnonzero(arrays["xq_scale"] == scale)
        accumulators = arrays["xq_acc"][where]
        rescalings.append(
            Rescaling(accumulators, float(scale), 1.0, 1.0, zero_point, signed)
        )
        expected.append(arrays[column][where].astype(np.int32) + zero_point)
    check_rescalings(rescalings, contract, expected)


@pytest.mark.parts(2)
@pytest.mark.parametrize("mode", ["SINGLE_ROUND", "DOUBLE_ROUND"])
def test_iree_rescale(mode: str):
    """32,768 values through RESCALE as IREE compiles it, less those that TOSA calls
    unpredictable and we refuse."""
    arrays = read("iree_tosa_rescale.npz")
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for column, multiplier in enumerate(arrays["mult"]):
        shift = int(arrays["shift"][column])
        accumulators = arrays["x"][:, column]
        limit = 1 << (shift - 1)
        where = (accumulators >= -limit) & (accumulators < limit)
        rescalings.append(
            rescale_by_multiplier(accumulators[where], int(multiplier), 31 - shift)
        )
        expected.append(np.clip(arrays[mode][where, column], -128, 127))
    contract = "tosa" if mode == "SINGLE_ROUND" else "tosa-double"
    check_rescalings(rescalings, contract, expected)


@pytest.mark.parts(9)
@pytest.mark.parametrize(("contract", "column"), VECTOR_COLUMNS)
def test_hand_vectors(contract: str, column: str):
    recorded = json.loads((GOLDEN / "vectors.json").read_text())
    takes_float32 = contract in ("tflite-xnnpack", "xnnpack-rndnu", "gemmlowp")
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for vector in recorded["vectors"]:
        accumulators = np.array([vector["acc"]], np.int32)
        scale, zero_point = vector["scale"], vector["zp"]
        signed = contract != "xnnpack-rndnu"
        offset = 0 if signed else 128
        if takes_float32:
            rescalings.append(
                Rescaling(
                    *(accumulators, float(np.float32(scale)), 1.0, 1.0),
                    zero_point + offset,
                    signed,
                )
            )
        else:
            mantissa, exponent = np.frexp(scale)
            multiplier = int(np.floor(mantissa * 2**31 + 0.5))
            rescalings.append(
                rescale_by_multiplier(
                    accumulators, multiplier, int(exponent), zero_point
                )
            )
        expected.append(np.array([vector["out"][column] + offset]))
    check_rescalings(rescalings, contract, expected)
