"""Whole models on an emulated AArch64: the bits of LiteRT's reference kernels, and
those of this machine's code for every contract."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.layers.device_layers import convolution
from support.machines.aarch64 import aarch64_levels
from support.machines.native import machine_levels
from support.values.near_ties import REFUSING

import qlower
from qlower.codegen.program.compiled import CompiledObject
from qlower.compilation.compilation import Compilation
from qlower.contracts import contract_names
from qlower.emulation.elf import read_object
from qlower.emulation.emulator import EmulatedExecutable
from qlower.model.signature import Array
from qlower.runtime.executable import Executable

MODELS = models_directory()
FILES = {path.parent.name: path for path in sorted(MODELS.glob("*/model.tflite"))}
TINY, SMALL, LARGE = 60_000, 150_000, 600_000
"""Bytes of a model that is run by every contract, of one that is run at every level,
and of one that is left to the lane."""

ALL_LEVELS = {**machine_levels(), **aarch64_levels()}

EVERYTHING = is_asked_for(LARGE_VARIABLE)
"""Set in a lane of its own: all models at all levels, small ones by all contracts."""

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
def compilation(name: str) -> Compilation:
    return Compilation(FILES[name])


@cache
def code(name: str, level: str) -> CompiledObject:
    return compilation(name).for_target(ALL_LEVELS[level]).code


def inputs_of(path: Path, shape: tuple[int, ...]) -> list[Array]:
    """Two inputs of a model, the first of a large one; all of them in the lane."""
    size = path.stat().st_size
    with np.load(path.parent / "inputs.npz") as arrays:
        count = 1 if size > 1_000_000 else None if EVERYTHING else 2
        return [x.reshape(shape) for x in arrays["x"][:count]]


@pytest.mark.parts(22)
@needs_models
@pytest.mark.parametrize(("name", "level"), cases())
def test_models_give_the_reference_bits(name: str, level: str):
    compiled = code(name, level)
    run = EmulatedExecutable(compiled)
    with np.load(FILES[name].parent / "golden.npz") as arrays:
        keys = [key for key in arrays.files if re.fullmatch(r"ref(_\d+)?", key)]
        golden = [arrays[key] for key in sorted(keys)]
    inputs = inputs_of(FILES[name], compiled.signature.inputs[0].shape)
    for index, x in enumerate(inputs):
        for output, references in zip(run([x]), golden, strict=True):
            reference = references[index]
            np.testing.assert_array_equal(output.reshape(reference.shape), reference)


@pytest.mark.parts(35)
@needs_models
@pytest.mark.parametrize("level", ALL_LEVELS)
def test_code_and_constants_are_hardly_larger_than_the_weights(level: str):
    """1.3 times ResNet8's weights and 64 KiB."""
    weights = 77_360
    sections = read_object(code("ic_resnet8_int8", level).object_bytes).sections
    size = sum(len(part.data) for part in sections if part.is_allocated)
    assert weights < size < 1.3 * weights + 64 * 1024


def check_levels(here: Compilation, x: Array, levels: Sequence[str], name: str) -> None:
    """Emulated code gives the bits of this machine's."""
    expected = Executable(here.code)([x])
    for level in levels:
        compiled = here.for_target(aarch64_levels()[level]).code
        outputs = EmulatedExecutable(compiled)([x])
        for output, right in zip(outputs, expected, strict=True):
            where = f"{name} at {level}"
            np.testing.assert_array_equal(output, right, err_msg=where)


@pytest.mark.parts(208)
@needs_models
@pytest.mark.parametrize("contract", contract_names())
def test_contracts_give_the_bits_of_this_machine(contract: str):
    """A small model at one level, both in turn, or all of them at all levels."""
    turn = contract_names().index(contract)
    most = SMALL if EVERYTHING else TINY
    small = [name for name, path in FILES.items() if path.stat().st_size < most]
    levels = list(aarch64_levels())
    if not EVERYTHING:
        levels = [levels[turn % len(levels)]]
    runs = 0
    for name in (small[turn % len(small) :] + small)[: len(small)]:
        here = Compilation(FILES[name], contract)
        try:
            native = here.code
        except qlower.QlowerError:
            continue  # it has no rule for some operation of the model
        x = inputs_of(FILES[name], native.signature.inputs[0].shape)[0]
        check_levels(here, x, levels, name)
        runs += 1
        if not EVERYTHING:
            break
    if contract in REFUSING:
        model, image = convolution(contract)
        check_levels(Compilation(model, contract), image, levels, "convolution")
        runs += 1
    assert runs
