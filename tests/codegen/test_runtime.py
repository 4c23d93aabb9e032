"""Loaded code under threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.machines.native import compile_text

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.targets.resolve import host_target
from qlower.diagnostics import QlowerError
from qlower.runtime.executable import Executable


def text_of(step: int, size: int = 5000) -> str:
    """x + step through the arena, so that calls which shared one would be seen."""
    identity = "affine_map<(d0) -> (d0)>"
    type = f"tensor<{size}xi8>"

    def nest(source: str, add: int, buffer: str) -> str:
        return f"""kernel.nest map parallel [{size}] maps [{identity}, {identity}]
        ins({source} : {type}) epilogue {{
        ^bb0(%a: i8):
          %c = arith.constant {add} : i8
          %s = arith.addi %a, %c : i8
          kernel.yield %s : i8
        }} -> {type} in [{buffer}] loc("layer-{add}/a b")"""

    return f"""
    func.func @main(%x: {type} {{qnn.name = "image"}}) -> {type}
        attributes {{kernel.arena_bytes = {size} : i64}} {{
      %y = {nest("%x", step, "#kernel.arena<0>")}
      %z = {nest("%y", 1, "#kernel.output<0>")}
      return %z : {type}
    }}"""


@pytest.fixture(scope="module")
def compiled() -> CompiledObject:
    return compile_text(text_of(2), host_target())


def test_calls_from_many_threads(compiled: CompiledObject):
    runs = [Executable(compile_text(text_of(step), host_target())) for step in (2, 9)]
    inputs = [np.full(5000, n, np.int8) for n in range(40)]

    def call(index: int) -> bool:
        run, step = (runs[0], 3) if index % 2 else (runs[1], 10)
        (got,) = run([inputs[index % 40]])
        return bool((got == inputs[index % 40] + np.int8(step)).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(2000)))


def test_strided_inputs_and_fresh_outputs(compiled: CompiledObject):
    run = Executable(compiled)
    x = np.arange(10000).astype(np.int8)[::2]
    (first,), (second,) = run([x]), run([x + np.int8(1)])
    np.testing.assert_array_equal(first, x + np.int8(3))
    np.testing.assert_array_equal(second, x + np.int8(4))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([np.zeros(5000, np.uint8)], "'image' has type uint8.*int8"),
        ([np.zeros((1, 5000), np.int8)], r"'image' has shape \[1, 5000\].*\[5000\]"),
        ([], "takes 1 input, given are 0"),
    ],
)
def test_wrong_inputs(compiled: CompiledObject, inputs: list[np.ndarray], message: str):
    with pytest.raises(QlowerError, match=message):
        Executable(compiled)(inputs)


def test_names_and_text(compiled: CompiledObject):
    assert "@_nest_0_layer_2_a_b(" in compiled.llvm_text
    assert "_nest_1_layer_1_a_b:" in compiled.assembly()
