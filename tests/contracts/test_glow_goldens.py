"""The two contracts of Glow against what its two back ends answered (recorded).

Convolutions, additions of all pairs of codes, average pools, and the CPU back end's
rescaling; every executor must give the recorded bits.
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from support import golden_directory
from support.layers.rescaling import Rescaling, check_rescalings
from support.systems.recordings import Recording, check_recording
from xdsl.ir import SSAValue

from qlower.contracts import load_contract
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.model.build import (
    constant,
    make_module,
    quantized,
    quantized_per_axis,
)

GOLDEN = golden_directory()
LIBRARIES = GOLDEN / "libraries"

pytestmark = pytest.mark.skipif(
    not LIBRARIES.is_dir(), reason=f"no recorded answers in {LIBRARIES}"
)

BACK_ENDS = {"glow-interpreter": "interp", "glow-cpu": "cpu"}
"""The name of each contract's back end in the recordings."""

VECTOR_COLUMNS = {
    "glow-interpreter": "glow.interp(zp in)",
    "glow-cpu": "glow.cpu",
}


@cache
def read(name: str) -> dict[str, Array]:
    with np.load(LIBRARIES / name) as arrays:
        return {key: arrays[key] for key in arrays.files}


def lowered(values: Array, unsigned: bool) -> Array:
    """int8 codes, or the uint8 codes that Glow loads as these."""
    return (values.astype(np.int16) + 128).astype(np.uint8) if unsigned else values


def bias_in_steps_of_the_product(
    bias: Array, scale: Array, product: np.float32, contract: str
) -> Array:
    """A bias that has a scale of its own: Glow rescales it as it does a sum."""
    rule = load_contract(contract).rule("conv2d")
    (result,) = rule.evaluate(
        {
            "accumulator": bias,
            "bias": np.int32(0),
            "input_scale": scale,
            "weight_scale": np.float32(1),
            "output_scale": product,
            "output_zero_point": np.int32(0),
            "output_min": np.int32(-(1 << 31)),
            "output_max": np.int32((1 << 31) - 1),
            "output_unsigned": np.bool_(False),
        }
    )
    return result


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("name", ["conv5", "conv6"])
@pytest.mark.parametrize("contract", BACK_ENDS)
def test_convolution(contract: str, name: str, unsigned: bool):
    arrays = read("glow.npz")
    x = lowered(arrays[f"{name}_x"], unsigned)
    input_scale, weight_scale, bias_scale, output_scale = arrays[f"{name}_S"]
    input_zero, weight_zero, bias_zero, output_zero = arrays[f"{name}_O"].tolist()
    assert bias_zero == 0
    stride, pad = arrays[f"{name}_D"][[9, 11]].tolist()
    expected = lowered(arrays[f"{name}_{BACK_ENDS[contract]}"], unsigned)
    weights = arrays[f"{name}_w"]
    bias = bias_in_steps_of_the_product(
        arrays[f"{name}_b"], bias_scale, input_scale * weight_scale, contract
    )
    offset = 128 if unsigned else 0

    def of(shape: tuple[int, ...], scale: np.float32, zero_point: int):
        return quantized(shape, float(scale), zero_point, signed=not unsigned)

    def body(image: SSAValue) -> list[SSAValue]:
        weight_type = quantized(weights.shape, float(weight_scale), weight_zero)
        conv = qnn.Conv2DOp(
            image,
            constant(weights, weight_type),
            constant(bias),
            of(expected.shape, output_scale, output_zero + offset),
            stride=[stride] * 2,
            pad=[pad] * 4,
        )
        return [conv.result]

    module = make_module([of(x.shape, input_scale, input_zero + offset)], body)
    check_recording(Recording(module, [x], expected), contract)


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("name", ["add1", "add6"])
@pytest.mark.parametrize("contract", BACK_ENDS)
def test_addition_of_all_pairs(contract: str, name: str, unsigned: bool):
    arrays = read("glow.npz")
    codes = np.arange(-128, 128, dtype=np.int8)
    # The left operand changes faster.
    pairs = [np.tile(codes, 256), np.repeat(codes, 256)]
    inputs = [lowered(operand, unsigned) for operand in pairs]
    offset = 128 if unsigned else 0
    types = [
        quantized((65536,), float(scale), int(zero_point) + offset, signed=not unsigned)
        for scale, zero_point in zip(
            arrays[f"{name}_S"], arrays[f"{name}_O"], strict=True
        )
    ]

    def body(lhs: SSAValue, rhs: SSAValue) -> list[SSAValue]:
        return [qnn.AddOp(lhs, rhs, types[2]).result]

    expected = lowered(arrays[f"{name}_{BACK_ENDS[contract]}"], unsigned)
    recording = Recording(make_module(types[:2], body), inputs, expected)
    check_recording(recording, contract)


@pytest.mark.parametrize("name", ["pool0", "pool1", "pool5"])
@pytest.mark.parametrize("contract", BACK_ENDS)
def test_average_pool(contract: str, name: str):
    arrays = read("glow_pool.npz")
    x = arrays[f"{name}_x"]
    expected = arrays[f"{name}_{BACK_ENDS[contract]}"]
    kernel, stride, pad, count_include_pad = arrays[f"{name}_p"].tolist()
    input_scale, output_scale = arrays[f"{name}_S"].tolist()
    input_zero, output_zero = arrays[f"{name}_O"].tolist()

    def body(image: SSAValue) -> list[SSAValue]:
        pool = qnn.AvgPool2DOp(
            image,
            quantized(expected.shape, output_scale, output_zero),
            kernel=[kernel] * 2,
            stride=[stride] * 2,
            pad=[pad] * 4,
            count_include_pad=bool(count_include_pad),
        )
        return [pool.result]

    module = make_module([quantized(x.shape, input_scale, input_zero)], body)
    check_recording(Recording(module, [x], expected), contract)


def test_rescaling_of_the_cpu_back_end():
    """60,000 accumulators through quantizeScaleOffset32To8 and its transformation: each
    is the bias of a channel of its own."""
    arrays = read("glow.npz")
    accumulators, scales = arrays["t_x"], arrays["t_scale"]
    count = len(scales)
    zeros = np.zeros((count, 1, 1, 1), np.int8)
    weight_type = quantized_per_axis(zeros.shape, 0, scales.tolist())
    result = quantized((1, 1, 1, count), 1.0, int(arrays["t_off"]))

    def body(image: SSAValue) -> list[SSAValue]:
        weights = constant(zeros, weight_type)
        conv = qnn.Conv2DOp(image, weights, constant(accumulators), result)
        return [conv.result]

    module = make_module([quantized((1, 1, 1, 1), 1.0)], body)
    expected = np.clip(arrays["t_out"], -128, 127).astype(np.int8)
    image = np.zeros((1, 1, 1, 1), np.int8)
    check_recording(Recording(module, [image], expected), "glow-cpu")


@pytest.mark.parts(2)
@pytest.mark.parametrize("contract", VECTOR_COLUMNS)
def test_hand_vectors(contract: str):
    recorded = json.loads((GOLDEN / "vectors.json").read_text())
    rescalings: list[Rescaling] = []
    expected: list[Array] = []
    for vector in recorded["vectors"]:
        answer = vector["out"][VECTOR_COLUMNS[contract]]
        if answer is None:
            continue
        accumulators = np.array([vector["acc"]], np.int32)
        scale = float(np.float32(vector["scale"]))
        rescalings.append(Rescaling(accumulators, scale, 1.0, 1.0, vector["zp"]))
        expected.append(np.array([answer]))
    assert len(rescalings) > 40
    check_rescalings(rescalings, contract, expected)
