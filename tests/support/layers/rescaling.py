"""Modules that rescale given accumulators, as recordings of requantization want it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

import qlower
from qlower.compilation.compilation import Compilation
from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.model.build import constant, make_module, quantized
from qlower.runtime.executors import Executor
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.systems.recordings import Recording

CANDIDATES = 1 << 14

PARTS, LONG_PARTS = 40, 8


@dataclass(frozen=True)
class Rescaling:
    """int32 accumulators, the scales of input, weights and output, the output's zero
    point, and the signedness of all tensors."""

    accumulators: Array
    input_scale: float
    weight_scale: float
    output_scale: float = 1.0
    zero_point: int = 0
    signed: bool = True


def rescale_by_multiplier(
    accumulators: Array, multiplier: int, exponent: int, zero_point: int = 0
) -> Rescaling:
    """Rescaling by `multiplier * 2^(exponent - 31)`, a multiplier of 31 bits.

    One float32 has 24 bits only, so the scales of input and weights are two whose
    product, in float64, rounds to that multiplier.
    """
    real = math.ldexp(multiplier, exponent - 31)
    target, target_exponent = math.frexp(real)
    weights = 1 + np.arange(CANDIDATES, dtype=np.float64) / CANDIDATES
    inputs = np.asarray(real / weights, np.float32)
    mantissas, exponents = np.frexp(inputs.astype(np.float64) * weights)
    is_right = np.floor(np.ldexp(mantissas, 31) + 0.5) == math.ldexp(target, 31)
    first = int(np.flatnonzero(is_right & (exponents == target_exponent))[0])
    input_scale, weight_scale = float(inputs[first]), float(weights[first])
    return Rescaling(accumulators, input_scale, weight_scale, 1.0, zero_point)


def rescale_by_quotient(
    accumulators: Array, multiplier: int, exponent: int, zero_point: int = 0
) -> Rescaling:
    """As `rescale_by_multiplier`, with scales of input and output whose quotient rounds
    to the multiplier: for contracts that multiply input and weight scale in float32."""
    real = math.ldexp(multiplier, exponent - 31)
    target, target_exponent = math.frexp(real)
    outputs = 1 + np.arange(CANDIDATES, dtype=np.float64) / CANDIDATES
    inputs = np.asarray(real * outputs, np.float32)
    mantissas, exponents = np.frexp(inputs.astype(np.float64) / outputs)
    is_right = np.floor(np.ldexp(mantissas, 31) + 0.5) == math.ldexp(target, 31)
    first = int(np.flatnonzero(is_right & (exponents == target_exponent))[0])
    return Rescaling(
        *(accumulators, float(inputs[first]), 1.0, float(outputs[first])), zero_point
    )


def record_rescaling(rescaling: Rescaling, expected: Array) -> Recording:
    """One rescaling as a recording of a system that gave the expected bits."""
    dtype = np.int8 if rescaling.signed else np.uint8
    image = np.zeros((1, 1, 1, 1), dtype)
    return Recording(_make_module([rescaling]), [image], expected)


def check_rescalings(
    rescalings: Sequence[Rescaling], contract: str, expected: Sequence[Array]
) -> None:
    """The contract's rule must give the expected bits for all, what is lowered and
    native code for one in `PARTS` (each is a loop nest to compile)."""
    parts = LONG_PARTS if is_asked_for(LARGE_VARIABLE) else PARTS
    model = qlower.Model(_make_module(rescalings))
    _check(Compilation(model, contract).interpreter("qnn"), expected)
    model = qlower.Model(_make_module(rescalings[::parts]))
    compilation = Compilation(model, contract)
    _check(compilation.interpreter("arith"), expected[::parts])
    _check(compilation.function(), expected[::parts])


def _check(executor: Executor, expected: Sequence[Array]) -> None:
    inputs = [np.zeros(spec.shape, spec.dtype) for spec in executor.inputs]
    results, _ = executor.run(inputs, {})
    for result, answer in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result.reshape(-1), answer)


def _make_module(rescalings: Sequence[Rescaling]) -> ModuleOp:
    """One convolution of zero weights for each rescaling, whose biases are the
    accumulators."""

    def body(*images: SSAValue) -> list[SSAValue]:
        return [
            _convolution(image, rescaling)
            for image, rescaling in zip(images, rescalings, strict=True)
        ]

    types = [
        quantized((1, 1, 1, 1), rescaling.input_scale, signed=rescaling.signed)
        for rescaling in rescalings
    ]
    return make_module(types, body)


def _convolution(image: SSAValue, rescaling: Rescaling) -> SSAValue:
    signed = rescaling.signed
    shape = (len(rescaling.accumulators), 1, 1, 1)
    zeros = np.zeros(shape, np.int8 if signed else np.uint8)
    weights = constant(zeros, quantized(shape, rescaling.weight_scale, signed=signed))
    bias = constant(rescaling.accumulators.astype(np.int32))
    result = quantized(
        (1, 1, 1, shape[0]),
        rescaling.output_scale,
        rescaling.zero_point,
        signed=signed,
    )
    conv = qnn.Conv2DOp(image, weights, bias, result, stride=[1, 1], pad=[0, 0, 0, 0])
    return conv.result
