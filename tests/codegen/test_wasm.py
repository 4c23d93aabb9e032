"""Vectors of WebAssembly: a float is rounded by an addition."""

from __future__ import annotations

import numpy as np
import pytest
from support.machines.native import compile_text, levels, run_object

_COUNT = 1 << 16
_CONVERSION = f"""
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<{_COUNT}xi16>) -> tensor<{_COUNT}xi32> {{
  %y = kernel.nest map parallel [{_COUNT}] maps [#map, #map]
    ins(%x : tensor<{_COUNT}xi16>) epilogue {{
  ^bb0(%a: i16):
    %float = arith.sitofp %a : i16 to f32
    %factor = arith.constant FACTOR : f32
    %product = arith.mulf %float, %factor : f32
    %r = fixed.convert %product {{rounding = half_even}} : f32 to i32
    kernel.yield %r : i32
  }} -> tensor<{_COUNT}xi32> in [#kernel.output<0>]
  return %y : tensor<{_COUNT}xi32>
}}
"""


@pytest.mark.parametrize(
    ("factor", "adds"),
    [(0.5, True), (-0.25, True), (127.875, True), (1.25e-7, True), (128.0, False)],
)
def test_an_addition_rounds(factor: float, adds: bool) -> None:
    """All numbers of 16 bits: ties, near ties, and products up to the bound."""
    target = levels()["wasm32 simd128"]
    code = compile_text(_CONVERSION.replace("FACTOR", repr(factor)), target)
    assert ("fptosi" not in code.llvm_text) == adds
    x = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    (got,) = run_object(code, [x])
    wanted = np.rint(x.astype(np.float32) * np.float32(factor))
    np.testing.assert_array_equal(got, wanted.astype(np.int32))
