"""linalg and tensor ops against plain Python loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from xdsl.interpreter import OpCounter

from qlower.interp import Array, InterpretationError, nest, run_function
from qlower.text.parsing import parse_module

RNG = np.random.default_rng(11)


def run(text: str, *inputs: Array) -> tuple[Array, ...]:
    return run_function(parse_module(text), "main", inputs)


def int8(*shape: int) -> Array:
    return RNG.integers(-128, 128, shape, dtype=np.int8)


@pytest.fixture(params=[1, 7, 1 << 16], ids=lambda lanes: f"blocks_of_{lanes}")
def _block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks smaller than a row, than the nest, and larger than both."""
    monkeypatch.setattr(nest, "BLOCK_LANES", request.param)


MULTIPLY_ACCUMULATE = """
  ^bb0(%a: i8, %b: i8, %acc: i32):
    %a32 = arith.extsi %a : i8 to i32
    %b32 = arith.extsi %b : i8 to i32
    %p = arith.muli %a32, %b32 : i32
    %s = arith.addi %acc, %p : i32
    linalg.yield %s : i32
"""


@pytest.mark.parts(8)
@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize(
    ("stride", "dilation"), [((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 2), (3, 2))]
)
def test_convolution(stride: tuple[int, int], dilation: tuple[int, int]) -> None:
    x, w, bias = int8(2, 9, 8, 3), int8(4, 3, 2, 3), RNG.integers(-99, 99, 4)
    (sh, sw), (dh, dw) = stride, dilation
    oh, ow = (11 - 2 * dh - 1) // sh + 1, (9 - dw - 1) // sw + 1
    out = f"tensor<2x{oh}x{ow}x4xi32>"
    dims = "(n, h, w, o, i, j, c)"
    text = f"""
    func.func @main(%x: tensor<2x9x8x3xi8>, %w: tensor<4x3x2x3xi8>,
                    %bias: tensor<4xi32>) -> {out} {{
      %zp = arith.constant -7 : i8
      %padded = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 0, 0] {{
      ^bb0(%0: index, %1: index, %2: index, %3: index):
        tensor.yield %zp : i8
      }} : tensor<2x9x8x3xi8> to tensor<2x11x9x3xi8>
      %empty = tensor.empty() : {out}
      %init = linalg.generic {{
        indexing_maps = [affine_map<(n, h, w, o) -> (o)>,
                         affine_map<(n, h, w, o) -> (n, h, w, o)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]
      }} ins(%bias : tensor<4xi32>) outs(%empty : {out}) {{
      ^bb0(%b: i32, %_: i32):
        linalg.yield %b : i32
      }} -> {out}
      %r = linalg.generic {{
        indexing_maps = [
          affine_map<{dims} -> (n, h * {sh} + i * {dh}, w * {sw} + j * {dw}, c)>,
          affine_map<{dims} -> (o, i, j, c)>,
          affine_map<{dims} -> (n, h, w, o)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel",
                          "reduction", "reduction", "reduction"]
      }} ins(%padded, %w : tensor<2x11x9x3xi8>, tensor<4x3x2x3xi8>)
         outs(%init : {out}) {{
      {MULTIPLY_ACCUMULATE}
      }} -> {out}
      return %r : {out}
    }}"""
    (got,) = run(text, x, w, bias.astype(np.int32))
    padded = np.pad(x, ((0, 0), (1, 1), (1, 0), (0, 0)), constant_values=-7)
    want = np.zeros((2, oh, ow, 4), np.int64) + bias
    for n, h, v, o, i, j, c in np.ndindex(2, oh, ow, 4, 3, 2, 3):
        pixel = padded[n, h * sh + i * dh, v * sw + j * dw, c]
        want[n, h, v, o] += int(pixel) * int(w[o, i, j, c])
    np.testing.assert_array_equal(got, want)
    assert got.dtype == np.int32


@pytest.mark.usefixtures("_block")
def test_depthwise_convolution_with_multiplier() -> None:
    x, w = int8(6, 5, 2), int8(3, 3, 2, 3)
    text = f"""
    func.func @main(%x: tensor<6x5x2xi8>, %w: tensor<3x3x2x3xi8>)
        -> tensor<4x3x6xi32> {{
      %zero = arith.constant dense<0> : tensor<4x3x2x3xi32>
      %r = linalg.generic {{
        indexing_maps = [affine_map<(h, w, c, m, i, j) -> (h + i, w + j, c)>,
                         affine_map<(h, w, c, m, i, j) -> (i, j, c, m)>,
                         affine_map<(h, w, c, m, i, j) -> (h, w, c, m)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel",
                          "reduction", "reduction"]
      }} ins(%x, %w : tensor<6x5x2xi8>, tensor<3x3x2x3xi8>)
         outs(%zero : tensor<4x3x2x3xi32>) {{
      {MULTIPLY_ACCUMULATE}
      }} -> tensor<4x3x2x3xi32>
      %s = tensor.collapse_shape %r [[0], [1], [2, 3]]
        : tensor<4x3x2x3xi32> into tensor<4x3x6xi32>
      return %s : tensor<4x3x6xi32>
    }}"""
    (got,) = run(text, x, w)
    want = np.zeros((4, 3, 2, 3), np.int64)
    for h, v, c, m, i, j in np.ndindex(4, 3, 2, 3, 3, 3):
        want[h, v, c, m] += int(x[h + i, v + j, c]) * int(w[i, j, c, m])
    np.testing.assert_array_equal(got, want.reshape(4, 3, 6))


@pytest.mark.usefixtures("_block")
def test_pooling_reads_no_window_element() -> None:
    x = int8(7, 6, 3)
    text = """
    func.func @main(%x: tensor<7x6x3xi8>) -> tensor<3x3x3xi8> {
      %lowest = arith.constant -128 : i8
      %empty = tensor.empty() : tensor<3x3x3xi8>
      %init = linalg.fill ins(%lowest : i8) outs(%empty : tensor<3x3x3xi8>)
        -> tensor<3x3x3xi8>
      %window = tensor.empty() : tensor<3x2xi8>
      %r = linalg.generic {
        indexing_maps = [affine_map<(h, w, c, i, j) -> (h * 2 + i, w * 2 + j, c)>,
                         affine_map<(h, w, c, i, j) -> (i, j)>,
                         affine_map<(h, w, c, i, j) -> (h, w, c)>],
        iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]
      } ins(%x, %window : tensor<7x6x3xi8>, tensor<3x2xi8>)
        outs(%init : tensor<3x3x3xi8>) {
      ^bb0(%a: i8, %_: i8, %best: i8):
        %m = arith.maxsi %a, %best : i8
        linalg.yield %m : i8
      } -> tensor<3x3x3xi8>
      return %r : tensor<3x3x3xi8>
    }"""
    (got,) = run(text, x)
    for h, w, c in np.ndindex(3, 3, 3):
        assert got[h, w, c] == x[2 * h : 2 * h + 3, 2 * w : 2 * w + 2, c].max()


@pytest.mark.usefixtures("_block")
def test_two_results_counters_and_broadcasts() -> None:
    row, column = int8(4), int8(5)
    text = """
    func.func @main(%row: tensor<4xi8>, %column: tensor<5xi8>)
        -> (tensor<5x4xi8>, tensor<4x5xi32>) {
      %a = tensor.empty() : tensor<5x4xi8>
      %b = tensor.empty() : tensor<4x5xi32>
      %r:2 = "linalg.generic"(%row, %column, %a, %b) <{
        indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>,
                         affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = [#linalg.iterator_type<parallel>,
                          #linalg.iterator_type<parallel>],
        operandSegmentSizes = array<i32: 2, 2>
      }> ({
      ^bb0(%x: i8, %y: i8, %_0: i8, %_1: i32):
        %sum = arith.addi %x, %y : i8
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %ten = arith.constant 10 : index
        %ti = arith.muli %i, %ten : index
        %place = arith.addi %ti, %j : index
        %p = arith.index_cast %place : index to i32
        linalg.yield %sum, %p : i8, i32
      }) : (tensor<4xi8>, tensor<5xi8>, tensor<5x4xi8>, tensor<4x5xi32>)
        -> (tensor<5x4xi8>, tensor<4x5xi32>)
      return %r#0, %r#1 : tensor<5x4xi8>, tensor<4x5xi32>
    }"""
    sums, places = run(text, row, column)
    for i, j in np.ndindex(4, 5):
        assert sums[j, i] == np.int8((int(row[i]) + int(column[j]) + 128) % 256 - 128)
        assert places[i, j] == 10 * i + j


LOOKUP = """
    func.func @main(%x: tensor<6xi8>) -> tensor<6xi16> {
      %table = arith.constant dense<[5, -6, 7, 300]> : tensor<4xi16>
      %out = tensor.empty() : tensor<6xi16>
      %r = linalg.generic {
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]
      } ins(%x : tensor<6xi8>) outs(%out : tensor<6xi16>) {
      ^bb0(%a: i8, %_: i16):
        %i = arith.index_cast %a : i8 to index
        %y = tensor.extract %table[%i] : tensor<4xi16>
        linalg.yield %y : i16
      } -> tensor<6xi16>
      return %r : tensor<6xi16>
    }"""


@pytest.mark.usefixtures("_block")
def test_lookup() -> None:
    (got,) = run(LOOKUP, np.array([0, 1, 2, 3, 0, 2], np.int8))
    assert got.tolist() == [5, -6, 7, 300, 5, 7]


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize(("map", "shape"), [("d0", "4"), ("d1", "3")])
def test_a_result_that_is_written_again(map: str, shape: str) -> None:
    text = f"""
    func.func @main(%x: tensor<4x3xi8>) -> tensor<{shape}xi8> {{
      %out = tensor.empty() : tensor<{shape}xi8>
      %r = linalg.generic {{
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
                         affine_map<(d0, d1) -> ({map})>],
        iterator_types = ["parallel", "parallel"]
      }} ins(%x : tensor<4x3xi8>) outs(%out : tensor<{shape}xi8>) {{
      ^bb0(%v: i8, %_: i8):
        linalg.yield %v : i8
      }} -> tensor<{shape}xi8>
      return %r : tensor<{shape}xi8>
    }}"""
    message = "'linalg.generic' writes an element at more than one point"
    with pytest.raises(InterpretationError, match=message):
        run(text, np.zeros((4, 3), np.int8))


@pytest.mark.parametrize("dtype", ["float32", "bool", "int64", "int8"])
def test_an_input_of_another_type(dtype: str) -> None:
    """Which is never taken as bits, but for unsigned numbers of the width."""
    text = (
        "func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {return %x: tensor<2xi32>}"
    )
    with pytest.raises(InterpretationError, match=f"got an array of {dtype}"):
        run(text, np.array([1, 1], dtype))
    (found,) = run(text, np.array([1, 0xFFFFFFFF], np.uint32))
    assert found.tolist() == [1, -1]


def test_an_operation_without_a_meaning() -> None:
    text = """
    func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      %y = qnn.reshape %x : (tensor<2xi32>) -> tensor<2xi32>
      return %y : tensor<2xi32>
    }"""
    with pytest.raises(InterpretationError, match=r"'qnn\.reshape' has no impl"):
        run(text, np.zeros(2, np.int32))


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize("index", [4, -1])
def test_lookup_outside_the_table(index: int) -> None:
    message = rf"'tensor.extract' reads at {index} in axis 0, outside \[0, 4\)"
    with pytest.raises(InterpretationError, match=message):
        run(LOOKUP, np.array([0, 1, index, 3, 0, 2], np.int8))


@pytest.mark.usefixtures("_block")
def test_float_reduction_is_in_row_major_order() -> None:
    x = RNG.normal(size=(3, 4, 5)).astype(np.float32) * 1e3
    text = """
    func.func @main(%x: tensor<3x4x5xf32>) -> tensor<4xf32> {
      %zero = arith.constant dense<0.0> : tensor<4xf32>
      %r = linalg.generic {
        indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>,
                         affine_map<(i, j, k) -> (j)>],
        iterator_types = ["reduction", "parallel", "reduction"]
      } ins(%x : tensor<3x4x5xf32>) outs(%zero : tensor<4xf32>) {
      ^bb0(%a: f32, %acc: f32):
        %s = arith.addf %acc, %a : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    (got,) = run(text, x)
    want = np.zeros(4, np.float32)
    for i, j, k in np.ndindex(3, 4, 5):
        want[j] += x[i, j, k]
    np.testing.assert_array_equal(got, want)


def test_whole_reduction_with_reduction_counter() -> None:
    text = """
    func.func @main(%x: tensor<5xi8>) -> tensor<i32> {
      %zero = arith.constant dense<0> : tensor<i32>
      %r = linalg.generic {
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
        iterator_types = ["reduction"]
      } ins(%x : tensor<5xi8>) outs(%zero : tensor<i32>) {
      ^bb0(%a: i8, %acc: i32):
        %i = linalg.index 0 : index
        %n = arith.index_cast %i : index to i32
        %b = arith.extsi %a : i8 to i32
        %p = arith.muli %n, %b : i32
        %s = arith.addi %acc, %p : i32
        linalg.yield %s : i32
      } -> tensor<i32>
      return %r : tensor<i32>
    }"""
    (got,) = run(text, np.array([9, 1, 2, 3, -4], np.int8))
    assert got.shape == ()
    assert got == 1 + 4 + 9 - 16


def test_slices_and_shapes() -> None:
    x, y = int8(4, 6), int8(2, 3)
    text = """
    func.func @main(%x: tensor<4x6xi8>, %y: tensor<2x3xi8>)
        -> (tensor<2x3xi8>, tensor<3xi8>, tensor<4x6xi8>, tensor<2x2x6xi8>) {
      %a = tensor.extract_slice %x[1, 0] [2, 3] [2, 2]
        : tensor<4x6xi8> to tensor<2x3xi8>
      %b = tensor.extract_slice %x[3, 1] [1, 3] [1, 1] : tensor<4x6xi8> to tensor<3xi8>
      %c = tensor.insert_slice %y into %x[0, 1] [2, 3] [3, 2]
        : tensor<2x3xi8> into tensor<4x6xi8>
      %d = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 2, 6]
        : tensor<4x6xi8> into tensor<2x2x6xi8>
      return %a, %b, %c, %d
        : tensor<2x3xi8>, tensor<3xi8>, tensor<4x6xi8>, tensor<2x2x6xi8>
    }"""
    before = x.copy()
    a, b, c, d = run(text, x, y)
    np.testing.assert_array_equal(a, x[1::2, 0:6:2])
    np.testing.assert_array_equal(b, x[3, 1:4])
    want = x.copy()
    want[0::3, 1::2] = y
    np.testing.assert_array_equal(c, want)
    np.testing.assert_array_equal(d, x.reshape(2, 2, 6))
    np.testing.assert_array_equal(x, before)


CONCATENATION = """
    func.func @main(%x: tensor<2x3xi8>, %y: tensor<2x1xi8>) -> tensor<2x4xi8> {{
      %empty = tensor.empty() : tensor<2x4xi8>
      %first = tensor.insert_slice %x into %empty[0, 0] [2, 3] [1, 1]
        : tensor<2x3xi8> into tensor<2x4xi8>
      %both = tensor.insert_slice %y into %first[0, {column}] [2, 1] [1, 1]
        : tensor<2x1xi8> into tensor<2x4xi8>
      return %both : tensor<2x4xi8>
    }}"""


def test_concatenation() -> None:
    x, y = int8(2, 3), int8(2, 1)
    (got,) = run(CONCATENATION.format(column=3), x, y)
    np.testing.assert_array_equal(got, np.concatenate([x, y], axis=1))


def test_elements_that_were_never_written() -> None:
    message = "reads an element of a tensor that was never written"
    with pytest.raises(InterpretationError, match=message):
        run(CONCATENATION.format(column=2), int8(2, 3), int8(2, 1))
    text = """
    func.func @main(%x: tensor<4xi8>) -> tensor<4xi8> {
      %empty = tensor.empty() : tensor<4xi8>
      %r = linalg.generic {
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]
      } ins(%x : tensor<4xi8>) outs(%empty : tensor<4xi8>) {
      ^bb0(%a: i8, %b: i8):
        %s = arith.addi %a, %b : i8
        linalg.yield %s : i8
      } -> tensor<4xi8>
      return %r : tensor<4xi8>
    }"""
    with pytest.raises(InterpretationError, match=f"'arith.addi' {message}"):
        run(text, int8(4))


def test_pad_by_place() -> None:
    text = """
    func.func @main(%x: tensor<2x2xi32>) -> tensor<4x3xi32> {
      %r = tensor.pad %x low[1, 0] high[1, 1] {
      ^bb0(%i: index, %j: index):
        %ten = arith.constant 10 : index
        %t = arith.muli %i, %ten : index
        %p = arith.addi %t, %j : index
        %n = arith.index_cast %p : index to i32
        tensor.yield %n : i32
      } : tensor<2x2xi32> to tensor<4x3xi32>
      return %r : tensor<4x3xi32>
    }"""
    (got,) = run(text, np.full((2, 2), -1, np.int32))
    assert got.tolist() == [[0, 1, 2], [-1, -1, 12], [-1, -1, 22], [30, 31, 32]]


def test_a_window_outside_its_tensor() -> None:
    text = """
    func.func @main(%x: tensor<4xi8>) -> tensor<3xi8> {
      %zero = arith.constant dense<0> : tensor<3xi8>
      %window = tensor.empty() : tensor<3xi8>
      %r = linalg.generic {
        indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>,
                         affine_map<(i, k) -> (i)>],
        iterator_types = ["parallel", "reduction"]
      } ins(%x, %window : tensor<4xi8>, tensor<3xi8>) outs(%zero : tensor<3xi8>) {
      ^bb0(%a: i8, %_: i8, %acc: i8):
        %s = arith.addi %acc, %a : i8
        linalg.yield %s : i8
      } -> tensor<3xi8>
      return %r : tensor<3xi8>
    }"""
    with pytest.raises(InterpretationError, match="indexes 4 in an axis of 4 elements"):
        run(text, int8(4))


@pytest.mark.parametrize(
    ("kind", "dtype", "text"),
    [
        ("i1", np.bool_, "[true, false]"),
        ("i4", np.int8, "[7, -8]"),
        ("i8", np.int8, "[127, -128]"),
        ("i64", np.int64, "[9223372036854775807, -1]"),
        ("index", np.int64, "[3, 4]"),
        ("f32", np.float32, "[0.1, -0.0]"),
        ("f64", np.float64, "[0.1, 1.0e300]"),
    ],
)
def test_dense_constants(kind: str, dtype: type[np.generic], text: str) -> None:
    (got,) = run(
        f"""func.func @main() -> tensor<2x{kind}> {{
          %r = arith.constant dense<{text}> : tensor<2x{kind}>
          return %r : tensor<2x{kind}>
        }}"""
    )
    python = text.replace("true", "1").replace("false", "0").strip("[]").split(",")
    convert = float if kind[0] == "f" else int
    want = np.array([convert(number) for number in python]).astype(dtype)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == dtype


def test_hex_constant_is_little_endian() -> None:
    (got,) = run(
        """func.func @main() -> tensor<2x2xi16> {
          %r = arith.constant dense<"0x0100FFFF00800001"> : tensor<2x2xi16>
          return %r : tensor<2x2xi16>
        }"""
    )
    assert got.tolist() == [[1, -1], [-32768, 256]]


def test_calls_and_listeners() -> None:
    text = """
    func.func @main(%x: i32) -> i32 {
      %a = func.call @twice(%x) : (i32) -> i32
      %b = func.call @twice(%a) : (i32) -> i32
      return %b : i32
    }
    func.func private @twice(%x: i32) -> i32 {
      %r = arith.addi %x, %x : i32
      return %r : i32
    }"""
    counter = OpCounter()
    module = parse_module(text)
    lanes = np.arange(3, dtype=np.int32)
    (got,) = run_function(module, "main", [lanes], listeners=[counter])
    assert got.tolist() == [0, 4, 8]
    assert counter.ops == {"func.call": 2, "arith.addi": 2, "func.return": 3}
    declaration = "func.func private @main(%x: i32) -> i32"
    with pytest.raises(InterpretationError, match="@main is called, but has no body"):
        run_function(parse_module(declaration), "main", [1])
    endless = text.replace(
        "arith.addi %x, %x : i32", "func.call @twice(%x) : (i32) -> i32"
    )
    with pytest.raises(InterpretationError, match=r"'func\.call' recurses without end"):
        run_function(parse_module(endless), "main", [1])
    with pytest.raises(InterpretationError, match="the module has no function @other"):
        run_function(module, "other", [])
    with pytest.raises(InterpretationError, match="@main takes 1 arguments, got 0"):
        run_function(module, "main", [])


def test_blocks_cover_each_point_once() -> None:
    loops = nest.Loops((3, 4, 100, 700), (False, True, False, False))
    seen = np.zeros((3, 100, 700), np.int8)
    for box in loops.blocks():
        assert box[1] == slice(0, 4)
        part = seen[box[0], box[2], box[3]]
        assert part.size <= nest.BLOCK_LANES
        part += 1
    assert (seen == 1).all()
    assert list(loops.reduction_points()) == [(0,), (1,), (2,), (3,)]
    assert len(list(itertools.islice(loops.blocks(), 100))) == 6


def test_what_a_nest_does_not_write_stays() -> None:
    (found,) = run(
        """
func.func @main(%x: tensor<2xi32>, %o: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, 1)>],
    iterator_types = ["parallel"]
  } ins(%x : tensor<2xi32>) outs(%o : tensor<2x3xi32>) {
  ^bb0(%a: i32, %b: i32):
    linalg.yield %a : i32
  } -> tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}""",
        np.array([7, 8], np.int32),
        np.arange(6, dtype=np.int32).reshape(2, 3),
    )
    assert found.tolist() == [[0, 7, 2], [3, 8, 5]]
