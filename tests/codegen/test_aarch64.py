"""Whole models on an emulated AArch64: the bits of LiteRT's reference kernels, and
those of this machine's code for every contract."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.codegen.target import host_target
from qlower.contracts import contract_names
from qlower.pipeline import generate_code, lower_to_arith, lower_to_kernel
from qlower.runtime.jit import Executable
from qlower.signature import Array
from qlower.testing import models_directory
from qlower.testing.aarch64 import EmulatedExecutable, aarch64_levels

MODELS = models_directory()
FILES = {path.parent.name: path for path in sorted(MODELS.glob("*/model.tflite"))}
SMALL, LARGE = 150_000, 600_000
"""Bytes of a model that is run at every level, and of one that is left to the lane."""

EVERYTHING = bool(os.environ.get("QLOWER_TEST_LARGE"))
"""Set in a lane of its own: all models at all levels and contracts."""

needs_models = pytest.mark.skipif(not FILES, reason=f"no models in {MODELS}")


def cases() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, path in FILES.items():
        size = path.stat().st_size
        for level in aarch64_levels():
            if EVERYTHING or size < SMALL or (size < LARGE and level == "i8mm"):
                found.append((name, level))
    return found


@cache
def lowered(name: str):
    return lower_to_kernel(lower_to_arith(qlower.load(FILES[name]).module, None))


def first_input(path: Path, shape: tuple[int, ...]) -> Array:
    with np.load(path.parent / "inputs.npz") as arrays:
        return arrays["x"][0].reshape(shape)


@needs_models
@pytest.mark.parametrize(("name", "level"), cases())
def test_models_give_the_reference_bits(name: str, level: str):
    compiled = generate_code(lowered(name), aarch64_levels()[level])
    x = first_input(FILES[name], compiled.signature.inputs[0].shape)
    outputs = EmulatedExecutable(compiled)([x])
    with np.load(FILES[name].parent / "golden.npz") as arrays:
        keys = [key for key in arrays.files if re.fullmatch(r"ref(_\d+)?", key)]
        references = [arrays[key][0] for key in sorted(keys)]
    for output, reference in zip(outputs, references, strict=True):
        np.testing.assert_array_equal(output.reshape(reference.shape), reference)


@needs_models
@pytest.mark.parametrize("contract", contract_names())
@pytest.mark.parametrize(
    "name",
    [
        n
        for n, p in FILES.items()
        if p.stat().st_size < (SMALL if EVERYTHING else 25_000)
    ],
)
def test_contracts_give_the_bits_of_this_machine(name: str, contract: str):
    module = qlower.load(FILES[name]).module
    try:
        kernel = lower_to_kernel(lower_to_arith(module, contract))
    except qlower.QlowerError as error:
        pytest.skip(f"{contract} refuses {name}: {error}")
    native = generate_code(kernel, host_target())
    x = first_input(FILES[name], native.signature.inputs[0].shape)
    expected = Executable(native)([x])
    for level in aarch64_levels() if EVERYTHING else ("dotprod",):
        outputs = EmulatedExecutable(generate_code(kernel, aarch64_levels()[level]))(
            [x]
        )
        for output, right in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(output, right)
