"""Strided boxes, padding and concatenation against numpy, between guard pages."""

from __future__ import annotations

import numpy as np
import pytest
from support.machines.native import (
    compile_text,
    guarded_copies,
    host_target,
    machine_levels,
)
from xdsl.dialects import arith
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from qlower.codegen.nests.operand import box_of
from qlower.codegen.targets.resolve import Target
from qlower.model.signature import Array
from qlower.runtime.executable import Executable

NAMES = {"int8": "i8", "int32": "i32", "int64": "i64", "float32": "f32"}


def tensor(array: Array) -> str:
    sizes = "".join(f"{size}x" for size in array.shape)
    return f"tensor<{sizes}{NAMES[array.dtype.name]}>"


def check(
    text: str, inputs: list[Array], want: Array, target: Target | None = None
) -> None:
    run = Executable(compile_text(text, target or host_target()))
    for *given, result in zip(
        *map(guarded_copies, inputs), guarded_copies(np.zeros_like(want)), strict=True
    ):
        run.run(given, [result])
        np.testing.assert_array_equal(result, want)


@pytest.mark.parts(12)
@pytest.mark.parametrize("dtype", sorted(NAMES))
@pytest.mark.parametrize("seed", range(20))
def test_box_with_a_border(dtype: str, seed: int):
    """A strided box of the source in a strided box of a filled result."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 5))
    sizes = rng.integers(1, 6, rank)
    source_strides, strides = rng.integers(1, 3, (2, rank))
    source_offsets, offsets = rng.integers(0, 3, (2, rank)) * (rng.random(rank) < 0.6)
    if seed % 2:
        strides = np.ones_like(strides)
    source_shape = source_offsets + (sizes - 1) * source_strides + 1
    shape = offsets + (sizes - 1) * strides + 1 + rng.integers(0, 3, rank)
    x = rng.integers(-100, 100, source_shape).astype(dtype)
    fill = int(rng.choice([0, -1, 3]))
    want = np.full(shape, fill, dtype)
    target, source = (
        tuple(
            slice(start, start + (size - 1) * step + 1, step)
            for start, size, step in zip(o, sizes, s, strict=True)
        )
        for o, s in ((offsets, strides), (source_offsets, source_strides))
    )
    want[target] = x[source]
    element = NAMES[dtype]
    number = f"{fill}.0" if element == "f32" else str(fill)
    text = f"""
    func.func @main(%x: {tensor(x)}) -> {tensor(want)} {{
      %y = kernel.copy %x{source_offsets.tolist()} {sizes.tolist()}
          {source_strides.tolist()} into fill({number} : {element}){offsets.tolist()}
          {strides.tolist()} : {tensor(x)} into {tensor(want)} in [#kernel.output<0>]
      return %y : {tensor(want)}
    }}"""
    check(text, [x], want)


def test_concatenation_in_place_and_slices():
    """A chain of copies into one buffer, then a slice of it."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-9, 9, (3, n, 5)).astype(np.int8) for n in (2, 4))
    whole = "tensor<3x6x5xi8>"
    text = f"""
    func.func @main(%a: tensor<3x2x5xi8>, %b: tensor<3x4x5xi8>) -> tensor<2x3x5xi8>
        attributes {{kernel.arena_bytes = 128 : i64}} {{
      %p = kernel.copy %a[0, 0, 0] [3, 2, 5] [1, 1, 1] into empty[0, 0, 0] [1, 1, 1]
          : tensor<3x2x5xi8> into {whole} in [#kernel.arena<0>]
      %q = kernel.copy %b[0, 0, 0] [3, 4, 5] [1, 1, 1] into %p[0, 2, 0] [1, 1, 1]
          : tensor<3x4x5xi8> into {whole} in [#kernel.arena<0>]
      %s = kernel.copy %q[1, 1, 0] [2, 3, 5] [1, 2, 1] into empty[0, 0, 0] [1, 1, 1]
          : {whole} into tensor<2x3x5xi8> in [#kernel.output<0>]
      return %s : tensor<2x3x5xi8>
    }}"""
    check(text, [a, b], np.concatenate([a, b], axis=1)[1:, 1::2])


def test_insertion_into_a_copy():
    """A destination that lives elsewhere is copied first."""
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    y = np.full((3, 2), -1, np.int8)
    want = x.copy()
    want[:, 1:3] = y
    text = """
    func.func @main(%x: tensor<3x4xi8>, %y: tensor<3x2xi8>) -> tensor<3x4xi8> {
      %z = kernel.copy %y[0, 0] [3, 2] [1, 1] into %x[0, 1] [1, 1]
          : tensor<3x2xi8> into tensor<3x4xi8> in [#kernel.output<0>]
      return %z : tensor<3x4xi8>
    }"""
    check(text, [x, y], want)


def test_values_that_do_not_live_in_an_output():
    """An argument, a constant, a view and a value given twice are copied."""
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    text = """
    func.func @main(%x: tensor<2x3xi8>)
        -> (tensor<2x3xi8>, tensor<2xi32>, tensor<6xi8>, tensor<6xi8>) {
      %c = arith.constant dense<[5, -7]> : tensor<2xi32>
      %f = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xi8> into tensor<6xi8>
      return %x, %c, %f, %f : tensor<2x3xi8>, tensor<2xi32>, tensor<6xi8>, tensor<6xi8>
    }"""
    got = Executable(compile_text(text, host_target()))([x])
    for have, want in zip(got, (x, [5, -7], x.ravel(), x.ravel()), strict=True):
        np.testing.assert_array_equal(have, want)


@pytest.mark.parts(3)
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_interleaved_results(channels: int):
    """Images that are read channel by channel, and stored pixel by pixel."""
    rng = np.random.default_rng(channels)
    for width in (5, 131):
        x = rng.integers(-100, 100, (2, channels, 3, width)).astype(np.int8)
        scales = rng.integers(-3, 4, channels).astype(np.int8)
        want = (x * scales[:, np.newaxis, np.newaxis]).transpose(0, 2, 3, 1)
        text = f"""
        func.func @main(%x: {tensor(x)}, %s: {tensor(scales)}) -> {tensor(want)} {{
          %y = kernel.nest map parallel [2, 3, {width}, {channels}]
              maps [affine_map<(n, y, x, c) -> (n, c, y, x)>,
                    affine_map<(n, y, x, c) -> (c)>,
                    affine_map<(n, y, x, c) -> (n, y, x, c)>]
              ins(%x, %s : {tensor(x)}, {tensor(scales)}) epilogue {{
          ^bb0(%a: i8, %b: i8):
            %p = arith.muli %a, %b : i8
            kernel.yield %p : i8
          }} -> {tensor(want)} in [#kernel.output<0>]
          return %y : {tensor(want)}
        }}"""
        for target in machine_levels().values():
            check(text, [x, scales], np.ascontiguousarray(want), target)


def test_users_of_a_constant_are_not_looked_at(monkeypatch: pytest.MonkeyPatch):
    """Thousands of layers may share weights, and each asks where they are."""

    def refused(_: SSAValue) -> None:
        pytest.fail("looked at all users")

    shared = arith.ConstantOp.from_int_and_width(1, i8).result
    monkeypatch.setattr(SSAValue, "uses", property(refused))
    assert box_of(shared) is None
