"""Kernels that are equal up to constants are one, and each has its own result."""

from __future__ import annotations

import re
from contextlib import nullcontext

import numpy as np
import pytest
from support.machines.native import compile_text
from xdsl.ir import SSAValue

import qlower
from qlower.codegen.targets.resolve import host_target
from qlower.compilation.compilation import Compilation
from qlower.dialects import qnn
from qlower.kept.parts import kept_in
from qlower.model import Model
from qlower.model.build import make_model, quantized
from qlower.runtime.executable import Executable

SCALES = [(0.28, 40), (0.3, 5), (0.24, 7)]
"""How one operand of each sum of `joined_sums` is quantized."""

CPUS = ["x86-64-v3", "x86-64-v4"]


class Forgetful:
    """Finds no part, and keeps none."""

    def find(self, digest: bytes) -> None:
        pass

    def keep(self, digest: bytes, made: bytes) -> None:
        pass


def test_nests_share_a_function():
    """What they add are 2,000 bytes each, of which the last object has all, and a
    number."""
    size, data = 500, np.arange(500, dtype=np.int32)
    identity, type = "affine_map<(d0) -> (d0)>", f"tensor<{size}xi32>"

    def nest(source: str, added: str, number: int, buffer: str) -> str:
        return f"""kernel.nest map parallel [{size}]
        maps [{identity}, {identity}, {identity}]
        ins({source}, {added} : {type}, {type}) epilogue {{
        ^bb0(%a: i32, %b: i32):
          %n = arith.constant {number} : i32
          %p = arith.muli %a, %b : i32
          %s = arith.addi %p, %n : i32
          kernel.yield %s : i32
        }} -> {type} in [{buffer}]"""

    text = f"""
    func.func @main(%x: {type} {{qnn.name = "x"}}) -> {type}
        attributes {{kernel.arena_bytes = {8 * size} : i64}} {{
      %c = arith.constant dense<{data.tolist()}> : {type}
      %d = arith.constant dense<{(-data).tolist()}> : {type}
      %u = {nest("%x", "%c", 5, "#kernel.arena<0>")}
      %v = {nest("%u", "%d", -7, f"#kernel.arena<{4 * size}>")}
      %w = {nest("%v", "%c", 9, "#kernel.output<0>")}
      return %w : {type}
    }}"""
    with kept_in(Forgetful()):
        compiled = compile_text(text, host_target())
    assert [kernel.name for kernel in compiled.kernels] == ["_nest_0"] * 3
    assert len(compiled.objects) == 3
    for constant in (data, -data):
        holding = [constant.tobytes() in one for one in compiled.objects]
        assert holding == [False, False, True]
    (got,) = Executable(compiled)([np.ones(size, np.int32)])
    expected = ((data + 5) * -data - 7) * data + 9
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("kept", [True, False])
def test_requantizations_share_a_function(kept: bool):
    """Slope, limits and zero point are numbers of each; their text says nothing of
    these."""
    size, numbers = 100, [(0.5, -100, 155, 100), (0.375, -7, 248, 7), (0.75, -9, 8, -5)]
    identity, type = "affine_map<(d0) -> (d0)>", f"tensor<{size}xi32>"

    def nest(source: str, row: tuple[float, int, int, int], buffer: str) -> str:
        slope, least, most, zero_point = row
        return f"""kernel.nest map parallel [{size}] maps [{identity}, {identity}]
        ins({source} : {type}) epilogue {{
        ^bb0(%a: i32):
          %slope = arith.constant {slope:e} : f32
          %least = arith.constant {least} : i32
          %most = arith.constant {most} : i32
          %zero = arith.constant {zero_point} : i32
          %real = arith.sitofp %a : i32 to f32
          %scaled = arith.mulf %real, %slope : f32
          %r = fixed.convert %scaled {{rounding = half_even}} : f32 to i32
          %above = arith.maxsi %r, %least : i32
          %within = arith.minsi %above, %most : i32
          %s = arith.addi %within, %zero : i32
          kernel.yield %s : i32
        }} -> {type} in [{buffer}]"""

    first, second, third = numbers
    text = f"""
    func.func @main(%x: {type} {{qnn.name = "x"}}) -> {type}
        attributes {{kernel.arena_bytes = {8 * size} : i64}} {{
      %u = {nest("%x", first, "#kernel.arena<0>")}
      %v = {nest("%u", second, f"#kernel.arena<{4 * size}>")}
      %w = {nest("%v", third, "#kernel.output<0>")}
      return %w : {type}
    }}"""
    with kept_in(Forgetful()) if kept else nullcontext():
        compiled = compile_text(text, host_target())
    assert [kernel.name for kernel in compiled.kernels] == ["_nest_0"] * 3
    assert len(compiled.objects) == (2 if kept else 1)
    x = np.arange(-50, 50, dtype=np.int32) * 9
    (got,) = Executable(compiled)([x])
    for slope, least, most, zero_point in numbers:
        x = np.clip(np.rint(x * slope), least, most) + zero_point
    np.testing.assert_array_equal(got, x)


@pytest.fixture(scope="module")
def joined_sums() -> Model:
    """Sums side by side in the result, of a tensor and others of other scales: of what
    the code of each consists are a slope, two offsets and its place there."""
    shape, result = [1, 3, 5, 32], (0.3, 7)

    def body(first: SSAValue, *others: SSAValue) -> list[SSAValue]:
        sums = [qnn.AddOp(first, x, quantized(shape, *result)).result for x in others]
        return [qnn.ConcatOp(sums, quantized([1, 3, 5, 96], *result), axis=3).result]

    return make_model([quantized(shape, *scale) for scale in [(0.2, 1), *SCALES]], body)


@pytest.fixture(scope="module")
def images() -> list[np.ndarray]:
    random = np.random.default_rng(7)
    return [random.integers(-128, 128, (1, 3, 5, 32), np.int8) for _ in range(4)]


def test_slopes_and_places_are_given(joined_sums: Model, images: list[np.ndarray]):
    compilation = Compilation(joined_sums, "tflite")
    with kept_in(Forgetful()):
        code = compilation.code
    assert len(code.kernels) == len(SCALES)
    assert len({kernel.name for kernel in code.kernels}) == 1
    assert len({call.digest for call in code.calls}) == 1
    assert len({call.numbers for call in code.calls}) == len(SCALES)
    expected = compilation.interpreter()(*images)
    (found,) = Executable(code)(images)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parts(2)
@pytest.mark.parametrize("cpus", [CPUS[:1], CPUS])
def test_packages_have_them_once_a_level(joined_sums: Model, cpus: list[str]):
    """The code is compiled as one: each level's function is called for all sums."""
    package = qlower.compile(joined_sums, "x86_64-linux-gnu", cpus, contract="tflite")
    text = package.text("llvm")
    functions = re.findall(r"define internal void @(\w*_nest_\w+)\(", text)
    calls = re.findall(r"call void @(\w*_nest_\w+)\(", text)
    assert len(functions) == len(cpus)
    assert sorted(calls) == sorted(len(SCALES) * functions)
