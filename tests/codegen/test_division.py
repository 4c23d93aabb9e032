"""Divisions of integers: in float32 where numbers are small, the same everywhere."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from support.machines.float_environment import ENVIRONMENTS, call_under, needs_x86
from support.machines.native import (
    compile_text,
    kernel_module,
    levels,
    machine_levels,
    run_object,
)

from qlower.codegen.targets.resolve import host_target
from qlower.codegen.values.bounds import accumulator_magnitudes
from qlower.dialects.kernel import NestOp
from qlower.interp import run_function
from qlower.runtime.executable import Executable

LEVELS = [
    *sorted(machine_levels().keys() - {"avxvnni", "avx512vnni"}),
    *("aarch64 baseline", "riscv64", "riscv32im", "cortex-m4", "wasm32 simd128"),
]
COUNT = 1024 + 64 + 32 + 16 + 8 + 4 + 2 + 1
"""Full vectors and every smaller power of two, at any vector width."""

FACTORS = {
    "small": (511, 1),
    "to 2^24": (511, 512),
    "beyond": (512, 1),
    "divisor beyond": (511, 513),
}
"""Of dividends and divisors, which have 16 bits: with the first two quotients are those
of floats, 511 * 2^15 + 2^7 being less than 2^24."""


def text_of(dividend: int, divisor: int) -> str:
    """`dividend * %a + %c` over `divisor * %b`."""
    wide, byte = f"tensor<{COUNT}xi16>", f"tensor<{COUNT}xi8>"
    identity = "affine_map<(d0) -> (d0)>"
    return f"""
    func.func @main(%x: {wide}, %y: {wide}, %z: {byte}) -> tensor<{COUNT}xi32> {{
      %q = kernel.nest map parallel [{COUNT}]
        maps [{identity}, {identity}, {identity}, {identity}]
        ins(%x, %y, %z : {wide}, {wide}, {byte}) epilogue {{
        ^bb0(%a: i16, %b: i16, %c: i8):
          %m = arith.constant {dividend} : i32
          %n = arith.constant {divisor} : i32
          %a32 = arith.extsi %a : i16 to i32
          %b32 = arith.extsi %b : i16 to i32
          %c32 = arith.extsi %c : i8 to i32
          %p = arith.muli %a32, %m : i32
          %s = arith.addi %p, %c32 : i32
          %d = arith.muli %b32, %n : i32
          %r = arith.divsi %s, %d : i32
          kernel.yield %r : i32
        }} -> tensor<{COUNT}xi32> in [#kernel.output<0>]
      return %q : tensor<{COUNT}xi32>
    }}"""


def operands(dividend: int, divisor: int) -> list[np.ndarray]:
    """Dividends that are multiples, one less and one more, of all sizes."""
    random = np.random.default_rng(dividend + divisor)
    size = 64 * COUNT
    bits = random.integers(1, 16, size)
    b = random.integers(-(1 << bits), 1 << bits, endpoint=False)
    b[:64] = np.resize([1, -1, 3, -3, 32767, -32768, 2, 7], 64)
    b[b == 0] = 1
    limit = dividend * 32767
    most = np.maximum(limit // np.abs(b * divisor), 1)
    quotient = random.integers(-most, most, endpoint=True)
    quotient[::3] = most[::3]
    wanted = quotient * b * divisor + random.integers(-1, 2, size)
    a = np.clip(np.rint(wanted / dividend), -32768, 32767).astype(np.int64)
    c = wanted - a * dividend
    (found,) = np.nonzero((c >= -128) & (c <= 127))
    assert len(found) >= COUNT
    a[found[-1]], c[found[-1]] = -32768, -128
    chosen = found[-COUNT:]
    return [
        array[chosen].astype(type) for array, type in ((a, "i2"), (b, "i2"), (c, "i1"))
    ]


@pytest.mark.parts(12)
@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("level", LEVELS)
def test_quotients(level: str, factors: str) -> None:
    text, inputs = text_of(*FACTORS[factors]), operands(*FACTORS[factors])
    (wanted,) = run_function(kernel_module(text), "main", inputs)
    (found,) = run_object(compile_text(text, levels()[level]), inputs)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("factors", FACTORS)
def test_floats_divide_small_numbers_in_vectors(factors: str) -> None:
    text = text_of(*FACTORS[factors])
    code = compile_text(text, host_target()).llvm_text
    assert ("fdiv <" in code) == (factors in ("small", "to 2^24"))
    assert "sdiv i32" in code  # the last number of all is divided alone
    code = compile_text(text, levels()["cortex-m4"]).llvm_text
    assert "fdiv" not in code


def average(scalar: str, step: str, start: int = 0) -> str:
    """The mean over 3 x 3 of `scalar`, by as many as lie in the image."""
    image, padded = f"tensor<5x5x21x{scalar}>", f"tensor<7x7x21x{scalar}>"
    counts = "[4, 6, 6, 6, 4], [6, 9, 9, 9, 6], [6, 9, 9, 9, 6], [6, 9, 9, 9, 6], "
    maps = ", ".join(
        f"affine_map<(d0, d1, d2, d3, d4) -> ({results})>"
        for results in ("d0 + d3, d1 + d4, d2", "d0, d1", "d0, d1, d2")
    )
    return f"""
    func.func @main(%x: {padded}) -> {image} {{
      %counts = arith.constant dense<[{counts}[4, 6, 6, 6, 4]]> : tensor<5x5xi32>
      %y = kernel.nest window parallel [5, 5, 21] reduction [3, 3] maps [{maps}]
        ins(%x, %counts : {padded}, tensor<5x5xi32>) init {{
        ^bb0(%a: {scalar}, %n: i32):
          %zero = arith.constant {start} : i32
          kernel.yield %zero : i32
        }} body {{
        ^bb0(%a: {scalar}, %n: i32, %sum: i32):
          %wide = arith.extsi %a : {scalar} to i32
          %next = {step} : i32
          kernel.yield %next : i32
        }} epilogue {{
        ^bb0(%a: {scalar}, %n: i32, %sum: i32):
          %mean = arith.divsi %sum, %n : i32
          %r = arith.trunci %mean : i32 to {scalar}
          kernel.yield %r : {scalar}
        }} -> {image} in [#kernel.output<0>]
      return %y : {image}
    }}"""


SUM, PRODUCT = "arith.addi %sum, %wide", "arith.muli %sum, %wide"


@pytest.mark.parts(12)
@pytest.mark.parametrize("scalar", ["i8", "i16"])
@pytest.mark.parametrize("level", LEVELS)
def test_averages(level: str, scalar: str) -> None:
    """Sums are known to be small from what is summed."""
    text, random = average(scalar, SUM), np.random.default_rng(9)
    limit = 1 << int(scalar[1:]) - 1
    image = random.integers(-limit, limit, (5, 5, 21))
    image[:, :, :2] = -limit, limit - 1
    x = np.pad(image, ((1, 1), (1, 1), (0, 0))).astype(f"i{int(scalar[1:]) // 8}")
    code = compile_text(text, levels()[level])
    assert ("fdiv" in code.llvm_text) == (
        level not in ("riscv64", "riscv32im", "cortex-m4")
    )
    (wanted,) = run_function(kernel_module(text), "main", [x])
    (found,) = run_object(code, [x])
    np.testing.assert_array_equal(found, wanted)


@needs_x86
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_callers_rounding_changes_nothing(name: str) -> None:
    """Not even of a model that has no floats."""
    text, word = text_of(*FACTORS["to 2^24"]), ENVIRONMENTS[name]
    inputs = operands(*FACTORS["to 2^24"])
    (wanted,) = run_function(kernel_module(text), "main", inputs)
    found = np.zeros(COUNT, np.int32)
    call = Executable(compile_text(text, host_target())).bind(inputs, [found])
    assert call_under(word, call) == word
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("scalar", "step", "start", "bound"),
    [
        ("i8", SUM, 0, 9 * 128),
        ("i16", SUM, -7, 7 + 9 * 32768),
        ("i8", SUM, 1 << 30, (1 << 30) + 9 * 128),
        ("i8", SUM, (1 << 31) - 9 * 128, inf),
        ("i8", "arith.maxsi %sum, %wide", -300, 300),
        ("i8", "arith.minsi %wide, %sum", 5, 128),
        ("i8", PRODUCT, 1, inf),
        ("i8", "arith.addi %sum, %sum", 1, inf),
    ],
)
def test_bounds_of_accumulators(
    scalar: str, step: str, start: int, bound: float
) -> None:
    module = kernel_module(average(scalar, step, start))
    (nest,) = (op for op in module.walk() if isinstance(op, NestOp))
    limit = 1 << int(scalar[1:]) - 1
    assert accumulator_magnitudes(nest, [limit, 9]) == [bound]
