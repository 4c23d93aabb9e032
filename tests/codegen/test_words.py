"""Functions of 16 bits at all 65,536 inputs: interpolated where flash counts, looked up
elsewhere, always as LiteRT computes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_builder import Option, TFLiteBuilder
from support.machines.native import generic_levels, run_object
from support.systems.litert import run_litert
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp

import qlower
from qlower.codegen.targets.resolve import host_target, resolve_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_code import generate_code
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.model.signature import Array

UNIT = 2.0**-15
FUNCTIONS: dict[str, tuple[str, float, float, dict[str, Option]]] = {
    "logistic": ("LOGISTIC", 2.3e-4, UNIT, {}),
    "logistic_12": ("LOGISTIC", 2.0**-12, UNIT, {}),
    "tanh": ("TANH", 1.7e-4, UNIT, {}),
    "exp": ("EXP", 6e-5, 2.2e-4, {}),
    "gelu": ("GELU", 1.1e-4, 1e-4, {}),
    "gelu_tanh": ("GELU", 1.1e-4, 1e-4, {"approximate": True}),
    "leaky_relu": ("LEAKY_RELU", 1e-3, 1.1e-3, {"alpha": 0.3}),
    "softmax": ("SOFTMAX", 2.9e-4, UNIT, {"beta": 1.0}),
}
"""Operator, scales of input and output, options."""

TARGETS = {
    "host": host_target(),
    "no system": resolve_target("x86_64-none-elf", "x86-64-v3"),
    "cortex-m4": generic_levels()["cortex-m4"],
}
LARGE, SMALL = 1 << 17, 1 << 12
"""Bytes of a table of all words, and more than two tables of 513 entries have."""


@pytest.mark.parts(8)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_inputs(name: str, tmp_path: Path) -> None:
    model, x = every_input(*FUNCTIONS[name])
    (expected,) = run_litert(model, [x])
    path = tmp_path / "function.tflite"
    path.write_bytes(model)
    loaded = qlower.load(path)
    np.testing.assert_array_equal(qlower.interpret(loaded, x, at="qnn"), expected)
    arith = lower_to_arith(loaded.module, "tflite")
    for level, target in TARGETS.items():
        kernel = lower_to_kernel(arith, target)
        limit = LARGE + SMALL if level == "host" else SMALL
        assert constant_bytes(kernel) <= limit, level
        (found,) = run_object(generate_code(kernel, target), [x])
        np.testing.assert_array_equal(found, expected, level)


def every_input(
    operator: str, scale: float, result_scale: float, options: dict[str, Option]
) -> tuple[bytes, Array]:
    """A model and what it is run on: of softmax, rows with all differences."""
    x = np.arange(-32768, 32768, dtype=np.int16)[:, np.newaxis]
    if operator == "SOFTMAX":
        x = np.concatenate([x, np.full_like(x, 32767)], axis=1)
    builder = TFLiteBuilder()
    given = builder.tensor("x", x.shape, "int16", scale=scale)
    result = builder.tensor("y", x.shape, "int16", scale=result_scale)
    builder.operator(operator, [given], [result], options)
    return builder.build([given], [result]), x


def constant_bytes(module: ModuleOp) -> int:
    return sum(
        len(op.value.data.data)
        for op in module.walk()
        if isinstance(op, ConstantOp) and isinstance(op.value, DenseIntOrFPElementsAttr)
    )
