"""Damaged files are refused with a clear error, or read as a module that verifies.

No other exception, no long time and no large allocation, whatever the bytes are.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from support import models_directory
from support.damage.damage import check_message, count_outcomes, damaged, limited_memory
from support.formats.tflite_cases import CASES, random_inputs
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.systems.recordings import executors_for

import qlower
from qlower.codegen.targets.resolve import host_target
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite

DAMAGED_FILES = 500 if is_asked_for(LARGE_VARIABLE) else 125
"""For each seed file."""

SEED_CASES = (
    "conv2d",
    "depthwise_conv2d_multiplier",
    "fully_connected_flat",
    "batch_matmul_adjoint",
    "avg_pool2d",
    "mean",
    "padv2",
    "reshape",
    "strided_slice_masks",
    "split_v_unequal",
    "pack",
    "softmax",
)
SEED_MODELS = ("hello_world_int8", "micro_speech_int8")

RUN_FILES = 200 if is_asked_for(LARGE_VARIABLE) else 20
"""Damaged copies of a seed file that are run, where they import."""

LARGEST_RUN = 1 << 16
"""Elements of input that such a file may have."""


def read_seed(name: str) -> bytes:
    if name in CASES:
        return CASES[name]()
    path = models_directory() / name / "model.tflite"
    if not path.is_file():
        pytest.skip(f"no {path}")
    return path.read_bytes()


def outcome(data: bytes, _choice: random.Random) -> str:
    """What becomes of a file: "imported", or "refused" with a located message."""
    try:
        module = import_tflite(data, name="model.tflite")
    except QlowerError as error:
        return check_message(error, "model.tflite")
    module.verify()
    return "imported"


@pytest.mark.parts(6)
@pytest.mark.parametrize("seed", SEED_CASES + SEED_MODELS)
def test_damaged_files(seed: str) -> None:
    original = read_seed(seed)
    assert outcome(original, random.Random()) == "imported"
    with limited_memory():
        found = count_outcomes(seed, original, damaged, DAMAGED_FILES, outcome)
    assert found.total() == DAMAGED_FILES
    assert found["refused"] > 0


@pytest.mark.parts(3)
@pytest.mark.parametrize("seed", [*SEED_MODELS[:1], "conv2d", "softmax"])
def test_damaged_files_that_import_run_alike(seed: str) -> None:
    """Native code and all interpreters agree, or the contract refuses the scales."""
    original = read_seed(seed)
    choice = random.Random(f"run {seed}")
    alike = 0
    for _ in range(RUN_FILES):
        data = damaged(original, choice)
        try:
            model = qlower.Model(import_tflite(data, name="model.tflite"))
            if sum(math.prod(spec.shape) for spec in model.inputs) > LARGEST_RUN:
                continue
            types = [(spec.shape, spec.dtype) for spec in model.inputs]
            inputs = random_inputs(types)
            executors = executors_for({"host": host_target()}, model, None)
            first, *others = [
                executor.run(inputs, {})[0] for executor in executors.values()
            ]
        except QlowerError:
            continue
        for outputs in others:
            for output, reference in zip(outputs, first, strict=True):
                np.testing.assert_array_equal(output, reference)
        alike += 1
    assert alike > 0
