"""Real quantized models with LiteRT's optimized kernels and with XNNPACK (recorded)."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from support import models_directory
from support.lanes import LARGE_VARIABLE, is_asked_for

import qlower
from qlower.compilation.compilation import Compilation
from qlower.interp.values import Array
from qlower.runtime.executors import Executor

MODELS = models_directory()
NAMES = sorted(path.parent.name for path in MODELS.glob("*/model.tflite"))

CONTRACTS = {"opt": "tflite-ruy", "xnn": "tflite-xnnpack"}

pytestmark = pytest.mark.skipif(not NAMES, reason=f"no models in {MODELS}")


@cache
def load(name: str) -> qlower.Model:
    return qlower.load(MODELS / name / "model.tflite")


def read_answers(name: str, kernels: str) -> list[Array]:
    """The recorded outputs; where they aren't recorded they are the reference's."""
    with np.load(MODELS / name / "golden.npz") as arrays:
        for key in (kernels, "ref"):
            names = [k for k in arrays.files if re.fullmatch(rf"{key}(_\d+)?", k)]
            if names:
                return [arrays[name] for name in sorted(names)]
    raise AssertionError(f"{name} has no recorded answers")


LONG = pytest.mark.long
WITH_A_SMALLER_ONE = (
    "mobilenet_v1_1.0_224_uint8",
    "mobilenet_v2_1.0_224_int8",
    "vww_mobilenetv1_025_96_int8",
)
"""Models whose operators and types smaller ones have as well."""
LARGEST = "vww_mcunet_80_int8"
"""The largest of the others, whose code takes seconds to make: in the long run."""


@pytest.mark.parts(100)
@pytest.mark.parametrize("kernels", CONTRACTS)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=LONG if name in WITH_A_SMALLER_ONE else [])
        for name in NAMES
    ],
)
def test_model(name: str, kernels: str):
    """The first input in the interpreter, and every input in native code, which is made
    by one of the two contracts, the next model's by the other, but in the long run."""
    model = load(name)
    (spec,) = model.inputs
    with np.load(MODELS / name / "inputs.npz") as arrays:
        inputs = [x.reshape(spec.shape) for x in arrays["x"]]
    answers = read_answers(name, kernels)
    compilation = Compilation(model, CONTRACTS[kernels])
    executors: list[tuple[Executor, list[Array]]] = [
        (compilation.interpreter("qnn"), inputs[:1])
    ]
    turn = NAMES.index(name) + list(CONTRACTS).index(kernels)
    if is_asked_for(LARGE_VARIABLE) or (turn % 2 == 0 and name != LARGEST):
        executors.append((compilation.function(), inputs))
    for executor, images in executors:
        for index, image in enumerate(images):
            outputs, _ = executor.run([image], {})
            for output, answer in zip(outputs, answers, strict=True):
                expected = answer[index]
                assert output.dtype == expected.dtype
                np.testing.assert_array_equal(output.reshape(expected.shape), expected)
