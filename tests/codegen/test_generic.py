"""Whole models on the experimental targets, under emulation: the same bits."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.codegen.module import CompiledObject
from qlower.codegen.target import Target, resolve_target
from qlower.pipeline import generate_code, lower_to_arith, lower_to_kernel
from qlower.testing import models_directory
from qlower.testing.elf import read_object
from qlower.testing.native import generic_levels, run_object

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
MODELS = models_directory()
SMALL = ("hello_world_int8", "micro_speech_int8", "mnist_qnn_int8")

WITHOUT_FLOATS = resolve_target("thumbv7em-none-eabi")
TARGETS = {**generic_levels(), "thumbv7em": WITHOUT_FLOATS}


@cache
def digits() -> qlower.Model:
    return qlower.load(DIGITS / "digits.mlir")


def compiled(model: qlower.Model, target: Target, contract: str | None):
    kernel = lower_to_kernel(lower_to_arith(model.module, contract), target)
    return generate_code(kernel, target)


@pytest.mark.parametrize("contract", ["tflite", "tflite-xnnpack"])
@pytest.mark.parametrize("level", TARGETS)
def test_digits(level: str, contract: str):
    """Contracts of integers and double floats, and of single ones."""
    code = compiled(digits(), TARGETS[level], contract)
    image = np.load(DIGITS / "test_images.npy")[0]
    x = image.reshape(code.signature.inputs[0].shape)
    expected = qlower.interpret(digits(), x, contract=contract)
    np.testing.assert_array_equal(run_object(code, [x])[0], expected)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("level", TARGETS)
def test_models_give_the_reference_bits(level: str, name: str):
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip(f"no model {name} in {MODELS}")
    code = compiled(qlower.load(folder / "model.tflite"), TARGETS[level], None)
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


def test_integers_need_nothing_on_a_microcontroller():
    """No library, no runtime, and no floats that proofs would bring in."""
    code = compiled(digits(), WITHOUT_FLOATS, "tflm")
    assert external(code) == set()
    assert "float" not in code.llvm_text
    assert external(compiled(digits(), TARGETS["cortex-m4"], "tflm")) == set()


def test_a_unit_for_floats_may_be_left_out():
    without = resolve_target("thumbv7em-none-eabi", "cortex-m4", "+soft-float")
    assert without.prefers_integers
    assert not resolve_target("thumbv7em-none-eabi", "cortex-m4").prefers_integers
    names = external(compiled(digits(), without, "tflite-xnnpack"))
    assert {"__aeabi_fmul", "__aeabi_i2f"} <= names


def test_code_says_that_it_is_experimental(caplog: pytest.LogCaptureFixture):
    compiled(digits(), TARGETS["wasm32"], None)
    assert caplog.messages == ["warning: target wasm32 is experimental"]
