"""Whole models on processors besides x86-64 and AArch64, under emulation: the same
bits."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.machines.native import generic_levels, run_object
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.targets.resolve import Target, resolve_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_code import generate_code
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.emulation.elf import read_object
from qlower.model.signature import Array

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
MODELS = models_directory()
SMALL = ("hello_world_int8", "micro_speech_int8", "mnist_qnn_int8")

TARGETS = {**generic_levels(), "thumbv7em": resolve_target("thumbv7em-none-eabi")}
"""The last one has no unit for floats."""


@cache
def arith(path: Path, contract: str | None = None) -> ModuleOp:
    return lower_to_arith(qlower.load(path).module, contract)


def compiled(module: ModuleOp, target: Target) -> CompiledObject:
    return generate_code(lower_to_kernel(module, target), target)


def digits(level: str | Target, contract: str) -> CompiledObject:
    target = TARGETS[level] if isinstance(level, str) else level
    return compiled(arith(DIGITS / "digits.mlir", contract), target)


@cache
def image_and_scores(contract: str) -> tuple[Array, Array]:
    """An image of a digit, and what the contract makes of it."""
    model = qlower.load(DIGITS / "digits.mlir")
    x = np.load(DIGITS / "test_images.npy")[0].reshape(model.inputs[0].shape)
    scores = qlower.interpret(model, x, contract=contract)
    assert isinstance(scores, np.ndarray)
    return x, scores


@pytest.mark.parts(12)
@pytest.mark.parametrize("contract", ["tflite", "tflite-xnnpack"])
@pytest.mark.parametrize("level", TARGETS)
def test_digits(level: str, contract: str):
    """Contracts of integers and double floats, and of single ones."""
    x, expected = image_and_scores(contract)
    (got,) = run_object(digits(level, contract), [x])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parts(3)
@pytest.mark.parametrize("name", ["thumbv7m", "thumbv6m", "thumbv8m.base"])
def test_cores_without_dsp_instructions(name: str):
    target = resolve_target(f"{name}-none-eabi")
    x, expected = image_and_scores("tflm")
    (got,) = run_object(digits(target, "tflm"), [x])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parts(12)
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("level", TARGETS)
def test_models_give_the_reference_bits(level: str, name: str):
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip(f"no model {name} in {MODELS}")
    code = compiled(arith(folder / "model.tflite"), TARGETS[level])
    with np.load(folder / "golden.npz") as golden:
        (key,) = (key for key in golden.files if re.fullmatch(r"ref(_0)?", key))
        expected = golden[key][:2]
    with np.load(folder / "inputs.npz") as arrays:
        inputs = arrays["x"][:2]
    for x, reference in zip(inputs, expected, strict=True):
        (got,) = run_object(code, [x.reshape(code.signature.inputs[0].shape)])
        np.testing.assert_array_equal(got.reshape(reference.shape), reference)


def external(code: CompiledObject) -> set[str]:
    return read_object(code.object_bytes).external_symbols


@pytest.mark.parts(4)
def test_integers_need_nothing_on_a_microcontroller():
    """No library, no runtime, and no floats that proofs would bring in."""
    code = digits("thumbv7em", "tflm")
    assert external(code) == set()
    assert "float" not in code.llvm_text
    assert external(digits("cortex-m4", "tflm")) == set()


def test_a_unit_for_floats_may_be_left_out():
    without = resolve_target("thumbv7em-none-eabi", "cortex-m4", "+soft-float")
    assert without.prefers_integers
    assert not resolve_target("thumbv7em-none-eabi", "cortex-m4").prefers_integers
    names = external(digits(without, "tflite-xnnpack"))
    assert {"__aeabi_fmul", "__aeabi_i2f"} <= names


@pytest.mark.parts(4)
def test_code_says_that_it_is_experimental(caplog: pytest.LogCaptureFixture):
    digits("wasm32", "tflite")
    assert caplog.messages == ["warning: target wasm32-unknown-unknown is experimental"]
