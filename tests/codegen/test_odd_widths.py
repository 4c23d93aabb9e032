"""Integers that fill no whole bytes, or three or six: the same bits in every executor.

Their tensors lie in the arena in the next larger power of two of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.layers.custom_contracts import run_everywhere
from support.machines.native import guarded_runs, levels, machine_levels
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from qlower.codegen.program.module import compile_module
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.dialects import qnn
from qlower.interp import run_function
from qlower.interp.values import Array
from qlower.model.build import make_module, quantized
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

WIDTHS = (1, 2, 3, 4, 7, 12, 24, 33, 48)
LENGTH = 64 + 32 + 16 + 8 + 4 + 2 + 1
"""Full vectors and every smaller power of two, at any vector width."""

LEVELS = ("x86-64", "host", "aarch64 baseline")
ALL_LEVELS = (*machine_levels(), *LEVELS[2:], "riscv64", "cortex-m4", "wasm32 simd128")


def stored(bits: int) -> ModuleOp:
    """Every way to and from memory: nests, copies, fills, constants and tables.

    An input of i64 is narrowed in five ways, padded, cut with a stride, looked up, and
    widened again.
    """
    type, count = f"i{bits}", LENGTH + 3
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    numbers = np.random.default_rng(bits).integers(low, high, count, endpoint=True)
    table = ", ".join("-1" if bits == 1 and n else str(n) for n in numbers)
    table = table.replace("-1", "true").replace("0", "false") if bits == 1 else table
    narrowed = {
        "cut": f"%r = arith.trunci %a : i64 to {type}",
        "clamped": f"%r = fixed.saturate %a : i64 to {type}",
        "positive": f"%r = fixed.saturate %a {{unsigned}} : i64 to {type}",
        "converted": f"%f = arith.sitofp %a : i64 to f32\n"
        f"%r = fixed.convert %f {{rounding = half_away}} : f32 to {type}",
        "shifted": f"%t = arith.trunci %a : i64 to {type}\n"
        f"%n = arith.constant {bits // 2} : {type}\n"
        f"%r = fixed.shift_right %t, %n {{rounding = half_up}} : {type}",
    }
    lines = [
        "#id = affine_map<(d0) -> (d0)>",
        f"func.func @main(%x: tensor<{LENGTH}xi64>)"
        f" -> ({', '.join([f'tensor<{LENGTH}xi64>'] * 2 * len(narrowed))}) {{",
        f"%border = arith.constant {high} : {type}",
        f"%table = arith.constant dense<[{table}]> : tensor<{count}x{type}>",
    ]
    for name, body in narrowed.items():
        lines += [
            f"%{name}_0 = tensor.empty() : tensor<{LENGTH}x{type}>",
            f"%{name}_1 = linalg.generic {{indexing_maps = [#id, #id],",
            f'iterator_types = ["parallel"]}} ins(%x : tensor<{LENGTH}xi64>)',
            f"outs(%{name}_0 : tensor<{LENGTH}x{type}>) {{",
            f"^bb0(%a: i64, %o: {type}):",
            body,
            f"linalg.yield %r : {type} }} -> tensor<{LENGTH}x{type}>",
            f"%{name}_2 = tensor.pad %{name}_1 low[2] high[1] {{",
            "^bb0(%i: index):",
            f"tensor.yield %border : {type}",
            f"}} : tensor<{LENGTH}x{type}> to tensor<{count}x{type}>",
            f"%{name}_3 = tensor.extract_slice %{name}_2[1] [{LENGTH}] [1]",
            f": tensor<{count}x{type}> to tensor<{LENGTH}x{type}>",
            f"%{name}_4 = tensor.empty() : tensor<{LENGTH}xi64>",
            f"%{name}_5, %{name}_6 = linalg.generic {{indexing_maps =",
            '[#id, #id, #id], iterator_types = ["parallel"]}',
            f"ins(%{name}_3 : tensor<{LENGTH}x{type}>)",
            f"outs(%{name}_4, %{name}_4 :",
            f"tensor<{LENGTH}xi64>, tensor<{LENGTH}xi64>) {{",
            f"^bb0(%a: {type}, %o: i64, %p: i64):",
            f"%r = arith.extsi %a : {type} to i64",
            "%i = linalg.index 0 : index",
            f"%e = tensor.extract %table[%i] : tensor<{count}x{type}>",
            f"%s = arith.addi %a, %e : {type}",
            f"%q = arith.extui %s : {type} to i64",
            "linalg.yield %r, %q : i64, i64 }",
            f"-> tensor<{LENGTH}xi64>, tensor<{LENGTH}xi64>",
        ]
    names = ", ".join(f"%{name}_{part}" for name in narrowed for part in (5, 6))
    results = ", ".join([f"tensor<{LENGTH}xi64>"] * 2 * len(narrowed))
    module = parse_module("\n".join([*lines, f"return {names} : {results}", "}"]))
    verify_module(module)
    return module


def numbers() -> Array:
    """Random numbers of all magnitudes, extremes among them."""
    random = np.random.default_rng(5)
    shifts = random.integers(0, 63, LENGTH)
    values = random.integers(-(1 << 63), 1 << 63, LENGTH, np.int64) >> shifts
    values[:4] = [-(1 << 63), (1 << 63) - 1, 0, -1]
    return values


@pytest.mark.parts(9)
@pytest.mark.parametrize(
    "names", [LEVELS, pytest.param(ALL_LEVELS, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("bits", WIDTHS)
def test_stored_integers(bits: int, names: Sequence[str]):
    module, x = stored(bits), numbers()
    want = run_function(module, "main", [x])
    for name in names:
        target = levels()[name]
        kernel = lower_to_kernel(module, target)
        for result, right in zip(run_function(kernel, "main", [x]), want, strict=True):
            np.testing.assert_array_equal(result, right, err_msg=f"kernel, {name}")
        compiled = compile_module(kernel, target)
        assert compiled.arena_bytes > 0
        for outputs in guarded_runs(compiled, [x]):
            for result, right in zip(outputs, want, strict=True):
                np.testing.assert_array_equal(result, right, err_msg=name)


SOFTMAX = """
module attributes {{contract.base = "tflite"}} {{
func.func @softmax_term(%d: i32 {{contract.value = "difference"}}) -> {type} {{
  %c = arith.constant {offset} : i32
  %s = arith.addi %d, %c : i32
  %t = arith.trunci %s : i32 to {type}
  return %t : {type}
}}
func.func @softmax_addend(%t: {type} {{contract.value = "term"}}) -> i32 {{
  %w = arith.{extend} %t : {type} to i32
  return %w : i32
}}
func.func @softmax_output(
    %t: {type} {{contract.value = "term"}}, %s: i32 {{contract.value = "sum"}},
    %zp: i32 {{contract.value = "output_zero_point"}}) -> i32 {{
  %w = arith.{extend} %t : {type} to i32
  %c = arith.constant 1000 : i32
  %m = arith.muli %w, %c : i32
  %one = arith.constant 1 : i32
  %s1 = arith.maxsi %s, %one : i32
  %q = arith.divsi %m, %s1 : i32
  %r = arith.addi %q, %zp : i32
  %lo = arith.constant -128 : i32
  %hi = arith.constant 127 : i32
  %a = arith.maxsi %r, %lo : i32
  %b = arith.minsi %a, %hi : i32
  return %b : i32
}}
}}
"""


@pytest.mark.parts(12)
@pytest.mark.parametrize("bits", [4, 12, 24])
def test_terms_of_a_softmax(bits: int, tmp_path: Path):
    """The type of a term is its contract's choice."""
    path = tmp_path / "terms.mlir"
    extend, offset = ("extui", 0) if bits < 12 else ("extsi", 300)
    path.write_text(SOFTMAX.format(type=f"i{bits}", offset=offset, extend=extend))

    def body(x: SSAValue) -> list[SSAValue]:
        softmax = qnn.SoftmaxOp(x, quantized((40, 3), 1 / 256, -128), beta=1.0)
        return [softmax.result]

    module = make_module([quantized((40, 3), 0.1)], body)
    x = np.random.default_rng(bits).integers(-90, 90, (40, 3)).astype(np.int8)
    assert len(np.unique(run_everywhere(module, str(path), x))) > 3
