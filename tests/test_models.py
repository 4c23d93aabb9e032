"""Real quantized models give the bits of LiteRT's reference kernels, everywhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats.tflite_tensors import tensor_names
from support.lanes import LARGE_VARIABLE, in_turn, is_asked_for
from support.machines.native import machine_levels

import qlower
from qlower.compilation.compilation import Compilation
from qlower.interp.values import Array

MODELS = models_directory()
NAMES = sorted(path.parent.name for path in MODELS.glob("*/model.tflite"))

OF_MANY_KINDS = (
    "ad01_fc_autoencoder_int8",
    "kws_dscnn_int8",
    "micro_speech_int8",
    "mobilenet_v1_0.25_128_uint8",
)
"""Models that differ in operators and types."""

WITH_A_SMALLER_ONE = ("mobilenet_v1_1.0_224_uint8", "vww_mobilenetv1_025_96_int8")
"""Models whose operators and types mobilenet_v1_0.25_128_uint8 and person_detect_int8
have as well."""

LARGEST = ("mobilenet_v2_1.0_224_int8", "vww_mcunet_80_int8")
"""Models whose code takes longest to make; smaller ones have their operators."""

LONG = pytest.mark.long

pytestmark = pytest.mark.skipif(not NAMES, reason=f"no models in {MODELS}")


@cache
def load(name: str) -> qlower.Model:
    return qlower.load(MODELS / name / "model.tflite")


def inputs_of(name: str) -> list[Array]:
    """The inputs of a model with one input, in the shape that it takes."""
    (spec,) = load(name).inputs
    with np.load(MODELS / name / "inputs.npz") as arrays:
        return [x.reshape(spec.shape) for x in arrays["x"]]


def references_of(name: str) -> list[list[Array]]:
    """For each input the reference outputs."""
    with np.load(MODELS / name / "golden.npz") as arrays:
        keys = [key for key in arrays.files if re.fullmatch(r"ref(_\d+)?", key)]
        outputs = [arrays[key] for key in sorted(keys)]
    return [list(results) for results in zip(*outputs, strict=True)]


def check(outputs: tuple[Array, ...], references: list[Array]) -> None:
    assert len(outputs) == len(references)
    for output, reference in zip(outputs, references, strict=True):
        assert output.dtype == reference.dtype
        np.testing.assert_array_equal(output.reshape(reference.shape), reference)


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def compilation(name: str) -> Compilation:
    """The model's, which is lowered once for all tests of it."""
    return Compilation(load(name))


def test_native_code(name: str, compilation: Compilation):
    """Every input for this machine; of models of many kinds, and of all of them in the
    long run, three at one of its other levels."""
    if name in (*WITH_A_SMALLER_ONE, *LARGEST) and not is_asked_for(LARGE_VARIABLE):
        pytest.skip("a smaller model has the same operators")
    inputs, references = inputs_of(name), references_of(name)
    function = compilation.function()
    for x, expected in zip(inputs, references, strict=True):
        check(function.run([x], {})[0], expected)
    if name not in OF_MANY_KINDS and not is_asked_for(LARGE_VARIABLE):
        return
    others = {name: at for name, at in machine_levels().items() if name != "host"}
    for target in in_turn(others, NAMES.index(name)).values():
        function = compilation.for_target(target).function()
        for x, expected in zip(inputs[:3], references[:3], strict=True):
            check(function.run([x], {})[0], expected)


@pytest.mark.parts(12)
def test_interpreter(name: str, compilation: Compilation):
    """Two inputs at the arith level (every one in the long run), the first at the
    others."""
    if name in (*WITH_A_SMALLER_ONE, *LARGEST) and not is_asked_for(LARGE_VARIABLE):
        pytest.skip("a smaller model has the same operators")
    count = None if is_asked_for(LARGE_VARIABLE) else 2
    inputs, references = inputs_of(name), references_of(name)
    interpreter = compilation.interpreter("arith")
    for x, expected in zip(inputs[:count], references[:count], strict=True):
        check(interpreter.run([x], {})[0], expected)
    for level in ("qnn", "kernel"):
        interpreter = compilation.interpreter(level)
        check(interpreter.run([inputs[0]], {})[0], references[0])


@pytest.mark.parts(13)
def test_every_layer(name: str):
    """For input 0, what every operator of the source model computes."""
    if name in (*WITH_A_SMALLER_ONE, *LARGEST) and not is_asked_for(LARGE_VARIABLE):
        pytest.skip("a smaller model has the same operators")
    compilation = Compilation(load(name), with_layers=True)
    x = inputs_of(name)[0]
    layers = {
        "interpreter": compilation.interpreter().run([x], {})[1],
        "native code": compilation.function().run([x], {})[1],
    }
    names = tensor_names((MODELS / name / "model.tflite").read_bytes())
    short = {full: short for short, full in load(name).full_names.items()}
    with np.load(MODELS / name / "layers_ref_input0.npz") as references:
        for index in references.files:
            expected = references[index]
            for executor, results in layers.items():
                layer = results[short[names[int(index)]]]
                assert layer.dtype == expected.dtype
                np.testing.assert_array_equal(
                    layer.reshape(expected.shape), expected, err_msg=executor
                )


@pytest.mark.parts(12)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in OF_MANY_KINDS else LONG) for name in NAMES],
)
def test_import_to_text_keeps_the_bits(name: str, tmp_path: Path):
    from qlower.cli import main

    text = tmp_path / "model.mlir"
    source = MODELS / name / "model.tflite"
    assert main(["import", str(source), "-o", str(text)]) == 0
    x = inputs_of(name)[0]
    check(qlower.jit(text).run([x], {})[0], references_of(name)[0])
