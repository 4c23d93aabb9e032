"""Loop skeletons against numpy over odd shapes, at every level, between guard pages."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.lanes import a_part
from support.layers.windows import Window, build, numbers, sampled
from support.machines.native import (
    compile_text,
    dense,
    generic_levels,
    guarded_runs,
    levels,
    machine_levels,
    run_object,
)

from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.point import Segment, split, split_lanes
from qlower.codegen.nests.recognise import Contraction, DepthwiseProducts, recognise
from qlower.codegen.targets.resolve import Target, resolve_target
from qlower.dialects.kernel import NestOp
from qlower.model.signature import Array
from qlower.text.parsing import parse_module

LEVELS = sorted(set(levels()) - set(generic_levels()))
OUTPUTS = (1, 15, 16, 17, 33, 64, 70, 130)


def check(text: str, x: Array, want: Array, target: Target) -> None:
    """The same bits, with nothing touched outside of input and output."""
    compiled = compile_text(text, target)
    shape = compiled.signature.outputs[0].shape
    for (result,) in guarded_runs(compiled, [x]):
        np.testing.assert_array_equal(result.reshape(want.shape), want)
    assert shape == want.shape or len(shape) == 4


@pytest.mark.parts(12)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("depthwise", [False, True])
def test_windows(level: str, depthwise: bool):
    target = levels()[level]
    count = 24 if level in machine_levels() else 10 if "aarch64" in level else 5
    for seed in a_part(range(count), 5, list(levels()).index(level)):
        case = sampled(seed, depthwise=depthwise)
        text, x, want = build(case, seed)
        try:
            check(text, x, want, target)
        except AssertionError as error:
            raise AssertionError(f"{case}: {error}") from error


@pytest.mark.parts(12)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("outputs", OUTPUTS)
def test_matrix_products(level: str, outputs: int):
    """The next number of outputs has other rows, and so has the next level."""
    sizes = ((1, 3), (2, 64), (7, 70), (13, 33), (29, 5))
    turn = OUTPUTS.index(outputs) + list(levels()).index(level)
    for rows, depth in a_part(sizes, 4, turn):
        case = Window(rows, 1, depth, outputs, zero_x=-128)
        text, x, want = build(case, rows)
        check(text, x, want, levels()[level])


@pytest.mark.parts(5)
@pytest.mark.parametrize("level", generic_levels())
def test_other_targets(level: str):
    """What is above and below, with fewer shapes."""
    for depthwise in (False, True):
        test_windows(level, depthwise)
    test_matrix_products(level, 17)
    test_pools_reduce_bytes(level, 37)
    test_reductions_of_rows_and_several_accumulators(level)
    test_transpose_and_broadcast(level, (3, 5, 7))


def test_which_sums_of_products_are_recognised():
    """Convolutions, grouped ones and products are contractions."""
    for case, expected in (
        (Window(5, 5, 8, 16), Contraction),
        (Window(5, 5, 8, 16, (3, 3), dilation=(2, 2)), Contraction),
        (Window(5, 5, 8, 16, (3, 3), groups=2), Contraction),
        (Window(5, 5, 8, 16, zero_w=None), Contraction),
        (Window(5, 5, 8, 8, (3, 3), groups=8, depthwise=True), DepthwiseProducts),
    ):
        text, _, _ = build(case, 0)
        module = parse_module(text, "test.mlir")
        (nest,) = (op for op in module.walk() if isinstance(op, NestOp))
        assert isinstance(recognise(analyse(nest)), expected)


@pytest.mark.parts(12)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("channels", [1, 3, 16, 37, 70, 130])
def test_pools_reduce_bytes(level: str, channels: int):
    rng = np.random.default_rng(channels)
    x = numbers(rng, (7, 5, channels))
    text = f"""
    func.func @main(%x: tensor<7x5x{channels}xi8>) -> tensor<3x2x{channels}xi8> {{
      %y = kernel.nest window parallel [3, 2, {channels}] reduction [3, 2]
          maps [affine_map<(d0, d1, d2, d3, d4) -> (d0 * 2 + d3, d1 * 2 + d4, d2)>,
                affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>]
          ins(%x : tensor<7x5x{channels}xi8>)
          init {{
          ^bb0(%a: i8):
            %low = arith.constant -128 : i8
            kernel.yield %low : i8
          }} body {{
          ^bb0(%a: i8, %acc: i8):
            %m = arith.maxsi %a, %acc : i8
            kernel.yield %m : i8
          }} epilogue {{
          ^bb0(%a: i8, %acc: i8):
            kernel.yield %acc : i8
          }} -> tensor<3x2x{channels}xi8> in [#kernel.output<0>]
      return %y : tensor<3x2x{channels}xi8>
    }}"""
    windows = [x[i : i + 5 : 2, j : j + 3 : 2] for i in range(3) for j in range(2)]
    check(text, x, np.max(windows, axis=0), levels()[level])


@pytest.mark.parametrize("level", LEVELS)
def test_reductions_of_rows_and_several_accumulators(level: str):
    """Sum and first position of the maximum of each row, as argmax and mean need."""
    rng = np.random.default_rng(3)
    x = numbers(rng, (9, 21))
    text = """
    func.func @main(%x: tensor<9x21xi8>) -> (tensor<9xi32>, tensor<9xi64>) {
      %s, %i = kernel.nest row parallel [9] reduction [21]
          maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
                affine_map<(d0, d1) -> (d0)>]
          ins(%x : tensor<9x21xi8>)
          init {
          ^bb0(%a: i8):
            %zero = arith.constant 0 : i32
            %none = arith.constant 0 : i64
            %low = arith.constant -129 : i32
            kernel.yield %zero, %low, %none : i32, i32, i64
          } body {
          ^bb0(%a: i8, %sum: i32, %best: i32, %at: i64):
            %w = arith.extsi %a : i8 to i32
            %next = arith.addi %sum, %w : i32
            %more = arith.cmpi sgt, %w, %best : i32
            %d = kernel.index 1 : index
            %j = arith.index_cast %d : index to i64
            %b = arith.select %more, %w, %best : i32
            %p = arith.select %more, %j, %at : i64
            kernel.yield %next, %b, %p : i32, i32, i64
          } epilogue {
          ^bb0(%a: i8, %sum: i32, %best: i32, %at: i64):
            kernel.yield %sum, %at : i32, i64
          } -> tensor<9xi32>, tensor<9xi64>
          in [#kernel.output<0>, #kernel.output<1>]
      return %s, %i : tensor<9xi32>, tensor<9xi64>
    }"""
    total, position = run_object(compile_text(text, levels()[level]), [x])
    np.testing.assert_array_equal(total, x.sum(axis=1, dtype=np.int32))
    np.testing.assert_array_equal(position, x.argmax(axis=1))


@pytest.mark.parts(6)
@pytest.mark.parts(5)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("columns", [1, 7, 128, 203])
def test_ranges_of_columns(level: str, columns: int):
    """Several vectors of each of two accumulators; NaN stays, and 0 has a sign."""
    shape = 9, columns
    rng = np.random.default_rng(columns)
    x = rng.normal(size=shape).astype(np.float32)
    x[rng.random(shape) < 0.3] = -0.0
    x[rng.random(shape) < 0.02] = np.nan
    body = """init {
      ^bb0(%a: f32):
        %low = arith.constant 0.0 : f32
        %high = arith.constant 0.0 : f32
        kernel.yield %low, %high : f32, f32
      } body {
      ^bb0(%a: f32, %low: f32, %high: f32):
        %less = arith.minimumf %low, %a : f32
        %more = arith.maximumf %high, %a : f32
        kernel.yield %less, %more : f32, f32
      } epilogue {
      ^bb0(%a: f32, %low: f32, %high: f32):
        kernel.yield %low, %high : f32, f32
      }"""
    text = f"""
    func.func @main(%x: tensor<9x{columns}xf32>)
        -> (tensor<{columns}xf32>, tensor<{columns}xf32>) {{
      %low, %high = kernel.nest row parallel [{columns}] reduction [9]
          maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>,
                affine_map<(d0, d1) -> (d0)>]
          ins(%x : tensor<9x{columns}xf32>) {body}
          -> tensor<{columns}xf32>, tensor<{columns}xf32>
          in [#kernel.output<0>, #kernel.output<1>]
      return %low, %high : tensor<{columns}xf32>, tensor<{columns}xf32>
    }}"""
    low, high = run_object(compile_text(text, levels()[level]), [x])
    np.testing.assert_array_equal(low, np.minimum(x.min(axis=0), 0))
    np.testing.assert_array_equal(high, np.maximum(x.max(axis=0), 0))
    known = ~np.isnan(low)
    is_negative = np.signbit(x[:, known]).any(axis=0)
    np.testing.assert_array_equal(np.signbit(low[known]), is_negative)
    assert not np.signbit(high[known]).any()


@pytest.mark.parts(24)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (2, 17, 16), (4, 1, 70)])
def test_transpose_and_broadcast(level: str, shape: tuple[int, int, int]):
    """Every order of the axes, plus a row that is broadcast."""
    rng = np.random.default_rng(4)
    x = numbers(rng, shape)
    row = rng.integers(-9, 9, shape[2]).astype(np.int8)
    sizes = "x".join(map(str, shape))
    for order in itertools.permutations(range(3)):
        out = "x".join(str(shape[axis]) for axis in order)
        names = ", ".join(f"d{axis}" for axis in order)
        text = f"""
        func.func @main(%x: tensor<{sizes}xi8>) -> tensor<{out}xi8> {{
          %c = arith.constant {dense(row)}
          %y = kernel.nest map parallel {list(shape)}
              maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
                    affine_map<(d0, d1, d2) -> (d2)>,
                    affine_map<(d0, d1, d2) -> ({names})>]
              ins(%x, %c : tensor<{sizes}xi8>, tensor<{shape[2]}xi8>)
              epilogue {{
              ^bb0(%a: i8, %b: i8):
                %s = arith.addi %a, %b : i8
                kernel.yield %s : i8
              }} -> tensor<{out}xi8> in [#kernel.output<0>]
          return %y : tensor<{out}xi8>
        }}"""
        check(text, x, np.add(x, row).transpose(order), levels()[level])


def test_work_in_place():
    """A result may have the buffer of an input that is read by the same map."""
    x = np.arange(-100, 100, dtype=np.int8)
    identity = "affine_map<(d0) -> (d0)>"
    steps = "\n".join(
        f"""%y{i + 1} = kernel.nest map parallel [200] maps [{identity}, {identity}]
        ins(%y{i} : tensor<200xi8>) epilogue {{
        ^bb0(%a: i8):
          %c = arith.constant {i + 1} : i8
          %s = arith.addi %a, %c : i8
          kernel.yield %s : i8
        }} -> tensor<200xi8> in [#kernel.arena<64>]"""
        for i in range(3)
    )
    text = f"""
    func.func @main(%y0: tensor<200xi8>) -> tensor<200xi8>
        attributes {{kernel.arena_bytes = 320 : i64}} {{
      {steps}
      return %y3 : tensor<200xi8>
    }}"""
    for target in levels().values():
        (got,) = run_object(compile_text(text, target), [x])
        np.testing.assert_array_equal(got, x + np.int8(6))


@pytest.mark.parts(24)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("outputs", [1, 17, 40, 70])
def test_sums_added_to_what_they_overwrite(level: str, outputs: int):
    """A matrix product whose epilogue adds an input, which lies where it stores."""
    rng = np.random.default_rng(outputs)
    rows, depth = 13, 9
    x, added = numbers(rng, (rows, depth)), numbers(rng, (rows, outputs))
    weight = numbers(rng, (outputs, depth))
    sums = x.astype(np.int32) @ weight.T.astype(np.int32)
    want = np.clip(np.add(sums >> 9, added), -128, 127).astype(np.int8)
    shape = f"{rows}x{outputs}"
    whole = f"[0, 0] [{rows}, {outputs}] [1, 1] into empty[0, 0] [1, 1]"
    maps = ", ".join(
        f"affine_map<(r, o, k) -> ({m})>" for m in ("r, k", "o, k", "r, o", "r, o")
    )
    text = f"""
    func.func @main(%x: tensor<{rows}x{depth}xi8>, %r: tensor<{shape}xi8>)
        -> tensor<{shape}xi8> attributes {{kernel.arena_bytes = 960 : i64}} {{
      %w = arith.constant {dense(weight)}
      %a = kernel.copy %r{whole} : tensor<{shape}xi8> into tensor<{shape}xi8>
          in [#kernel.arena<0>]
      %y = kernel.nest contraction parallel [{rows}, {outputs}] reduction [{depth}]
          maps [{maps}] ins(%x, %w, %a : tensor<{rows}x{depth}xi8>,
            tensor<{outputs}x{depth}xi8>, tensor<{shape}xi8>)
          init {{
          ^bb0(%xs: i8, %ws: i8, %as: i8):
            %zero = arith.constant 0 : i32
            kernel.yield %zero : i32
          }} body {{
          ^bb0(%xs: i8, %ws: i8, %as: i8, %acc: i32):
            %x1 = arith.extsi %xs : i8 to i32
            %w1 = arith.extsi %ws : i8 to i32
            %p = arith.muli %x1, %w1 : i32
            %s = arith.addi %acc, %p : i32
            kernel.yield %s : i32
          }} epilogue {{
          ^bb0(%xs: i8, %ws: i8, %as: i8, %acc: i32):
            %n = arith.constant 9 : i32
            %shifted = arith.shrsi %acc, %n : i32
            %a1 = arith.extsi %as : i8 to i32
            %t = arith.addi %shifted, %a1 : i32
            %q = fixed.saturate %t : i32 to i8
            kernel.yield %q : i8
          }} -> tensor<{shape}xi8> in [#kernel.arena<0>]
      %z = kernel.copy %y{whole} : tensor<{shape}xi8> into tensor<{shape}xi8>
          in [#kernel.output<0>]
      return %z : tensor<{shape}xi8>
    }}"""
    for (got,) in guarded_runs(compile_text(text, levels()[level]), [x, added]):
        np.testing.assert_array_equal(got, want)


def test_a_rest_of_lanes_is_one_vector_where_they_are_masked():
    masked, plain = (
        resolve_target("x86_64-unknown-linux-gnu", cpu)
        for cpu in ("x86-64-v4", "x86-64-v3")
    )
    assert split_lanes(masked, 107, 64) == (
        Segment(0, 1, 64),
        Segment(64, 1, 32),
        Segment(96, 1, 11),
    )
    assert split_lanes(masked, 72, 64) == (Segment(0, 1, 64), Segment(64, 1, 8))
    assert split_lanes(plain, 11, 16) == split(11, 16)
