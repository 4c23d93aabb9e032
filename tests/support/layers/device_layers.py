"""A layer that every contract takes: scales are powers of two, hardly a zero point."""

from __future__ import annotations

from functools import cache

import numpy as np
from xdsl.ir import SSAValue

import qlower
from qlower import build
from qlower.dialects import qnn
from qlower.interp.values import Array

SCALE = 2.0**-7


@cache
def convolution(contract: str = "") -> tuple[qlower.Model, Array]:
    """A convolution called `conv2d_2` that the contract takes, and an input for it.

    The ratio of its scales is 2^-9, so sums have ties, and some saturate.
    """
    random = np.random.default_rng(3)
    image = random.integers(-127, 128, (1, 4, 4, 8), np.int8)
    weights = random.integers(-127, 128, (6, 1, 1, 8), np.int8)
    bias = random.integers(-(2**10), 2**10, 6, np.int32)
    stored = build.quantized(weights.shape, SCALE)
    given = build.quantized(image.shape, SCALE)
    # OpenVINO's contracts know outputs whose zero point isn't the middle of the codes.
    zero_point = 3 if contract.startswith("openvino") else 0
    result = build.quantized([1, 4, 4, 6], SCALE * 4, zero_point)

    def body(x: SSAValue) -> list[SSAValue]:
        constants = build.constant(weights, stored), build.constant(bias)
        return [qnn.Conv2DOp(x, *constants, result).result]

    return build.make_model([given], body), image
