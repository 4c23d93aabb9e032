"""Functions that differ in numbers only are one, which reads them from a table."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from support import models_directory
from support.machines.native import run_object
from support.values.stored import random_stored

import qlower
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.model import Model
from qlower.packages.sections import sections_of
from qlower.text.parsing import parse_module

TARGETS = [
    ("thumbv7em-none-eabi", "cortex-m4", 1),
    ("thumbv7m-none-eabi", "cortex-m3", 2),  # where the last channels are fewer
]


CHANNELS = (8, 16, 24, 40)


def pointwise_text() -> str:
    """Convolutions of other sizes, one after another: bounds, strides, factors and
    shifts of their code differ."""
    random = np.random.default_rng(4)
    types = [
        f"!t{n} = !quant.uniform<i8:f32, {0.02 * 4**n}:{n + 3}>"
        for n in range(len(CHANNELS))
    ]
    lines = [*types, "!w = !quant.uniform<i8<-127:127>:f32, 0.03>"]
    tensors = [f"tensor<1x4x6x{c}x!t{n}>" for n, c in enumerate(CHANNELS)]
    lines.append(f"func.func @main(%x0: {tensors[0]}) -> {tensors[-1]} {{")
    for n, (before, after) in enumerate(pairwise(CHANNELS)):
        data = random.integers(-127, 128, before * after, np.int8).tobytes().hex()
        shape = f"{after}x1x1x{before}"
        lines += [
            f'%w{n} = qnn.constant dense<"0x{data}"> : tensor<{shape}xi8> -> '
            f"tensor<{shape}x!w>",
            f"%x{n + 1} = qnn.conv2d %x{n}, %w{n} {{stride = [1, 1], "
            "pad = [0, 0, 0, 0], dilation = [1, 1]} : "
            f"({tensors[n]}, tensor<{shape}x!w>) -> {tensors[n + 1]}",
        ]
    return "\n".join([*lines, f"return %x{len(CHANNELS) - 1} : {tensors[-1]}", "}"])


@pytest.mark.parts(2)
@pytest.mark.parametrize(("triple", "cpu", "functions"), TARGETS)
def test_layers_of_one_class_share_a_function(triple: str, cpu: str, functions: int):
    target = resolve_target(triple, cpu)
    model = Model(parse_module(pointwise_text(), "model.mlir"))
    x = random_stored(model.inputs[0].shape)
    expected = qlower.interpret(model, x, contract="tflm")
    found: dict[str, int] = {}
    for optimize in ("speed", "size"):
        compiled = Compilation(model, "tflm", target.optimized(optimize)).object
        (result,) = run_object(compiled, [x])
        np.testing.assert_array_equal(result, expected)
        package = qlower.compile(
            model, triple, cpu, contract="tflm", optimize=optimize, name="model"
        )
        found[optimize] = len(
            re.findall(r"define internal void @_nest_", package.text("llvm"))
        )
    assert found == {"speed": 3, "size": functions}


OTHERS = {
    "thumbv7em-none-eabi": "cortex-m4",
    "thumbv7m-none-eabi": "cortex-m3",
    "thumbv6m-none-eabi": "cortex-m0plus",
    "thumbv8m.base-none-eabi": "cortex-m23",
    "thumbv8m.main-none-eabi": "cortex-m33",
    "thumbv8.1m.main-none-eabi": "cortex-m55",
    "riscv32im-unknown-none-elf": None,
    "wasm32-unknown-unknown": None,
}


@pytest.mark.long
@pytest.mark.parametrize("triple", OTHERS)
@pytest.mark.parametrize("name", ["kws_dscnn_int8", "micro_speech_int8"])
def test_small_code_of_real_models(name: str, triple: str):
    """It is smaller on every target that has it, and gives the same bits."""
    path = models_directory() / name / "model.tflite"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    target = resolve_target(triple, OTHERS[triple])
    x = random_stored(qlower.load(path).inputs[0].shape)
    sizes: list[int] = []
    for optimize in ("speed", "size"):
        compiled = Compilation(path, "tflm", target.optimized(optimize)).object
        sizes.append(sections_of(compiled.object_bytes).code)
    (result,) = run_object(compiled, [x])
    np.testing.assert_array_equal(result, qlower.jit(path, "tflm")(x))
    assert sizes[1] < sizes[0]


def test_hosts_have_no_such_choice():
    with pytest.raises(QlowerError, match="without an operating system"):
        resolve_target("x86_64-linux-gnu").optimized("size")
