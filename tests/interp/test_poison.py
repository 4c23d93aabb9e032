"""All that has no defined result, in its words, with what is just inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.values.scalars import evaluate_text
from xdsl.dialects.builtin import (
    IndexType,
    IntegerType,
    ModuleOp,
    TensorType,
    f32,
    i1,
    i8,
    i32,
)
from xdsl.interpreter import Interpreter
from xdsl.ir.affine import AffineExpr, AffineMap

from qlower.dialects.fixed import RoundingMode
from qlower.interp import InterpretationError
from qlower.interp.fixed import pair_dot, round_float, rounds_up, shift_right
from qlower.interp.math import count_leading_zeros, fma
from qlower.interp.nest import (
    Access,
    Loops,
    evaluate_nest,
    infer_bounds,
    loop_counter,
)
from qlower.interp.tensor import box_of, gather, insert
from qlower.interp.values import (
    PartialTensor,
    Poison,
    as_signed,
    as_unsigned,
    as_value,
    dtype_of,
    integer_width,
    rearrange,
    require,
    wrap,
)

EMPTY = PartialTensor.empty(TensorType(i8, (2,)))
D0, D1 = AffineExpr.dimension(0), AffineExpr.dimension(1)


def run_nest(
    bounds: tuple[int, ...], reduces: tuple[bool, ...], out: AffineMap, shape: Any
) -> np.ndarray:
    """Ones added for each reduction point, to where the map says."""
    found = np.zeros(shape, np.int64)
    evaluate_nest(
        Interpreter(ModuleOp([])),
        Loops(bounds, reduces),
        [],
        [(found, out)],
        init=lambda _: (np.int64(0),),
        body=lambda _, sums: (sums[0] + 1,),
        epilogue=lambda _, sums: sums,
    )
    return found


def scalars(kind: type[np.generic], *numbers: float) -> list[Any]:
    """Numbers as the interpreter holds them, which are no arrays."""
    return [kind(number) for number in numbers]


REFUSALS: list[tuple[Callable[[], object], str]] = [
    (
        lambda: integer_width(IntegerType(65)),
        "has type i65, but the widest integer is i64",
    ),
    (
        lambda: integer_width(IntegerType(0)),
        "has type i0, but the widest integer is i64",
    ),
    (lambda: integer_width(f32), "can't compute with type f32"),
    (lambda: np.add(EMPTY, 1), "reads an element of a tensor that was never written"),
    (lambda: np.asarray(EMPTY), "reads an element of a tensor that was never written"),
    (lambda: EMPTY.astype(), "reads an element of a tensor that was never written"),
    (
        lambda: gather(EMPTY, [np.array(0)]),
        "reads an element of a tensor that was never written",
    ),
    (
        lambda: as_value(np.array([1], np.int16), i8),
        "has type i8, got an array of int16",
    ),
    (
        lambda: as_value(np.array([1], np.uint16), i8),
        "has type i8, got an array of uint16",
    ),
    (
        lambda: as_value(np.array([1], np.float32), i32),
        "has type i32, got an array of float32",
    ),
    (
        lambda: as_value(np.array([1], np.int8), TensorType(i8, (2,))),
        "has type tensor<2xi8>, got an array of shape (1,)",
    ),
    (
        lambda: as_value(np.array([7, 8], np.int8), IntegerType(4)),
        "has type i4, got a number out of its range",
    ),
    (
        lambda: as_value(np.array([-9], np.int8), IntegerType(4)),
        "has type i4, got a number out of its range",
    ),
    (lambda: as_value(256, i8), "has type i8, got 256, which is out of its range"),
    (lambda: as_value(-129, i8), "has type i8, got -129, which is out of its range"),
    (lambda: as_value(1.5, i8), "has type i8, got 1.5, which is out of its range"),
    (lambda: as_value(2, i1), "has type i1, got 2, which is out of its range"),
    (
        lambda: gather(np.zeros((2, 3)), [np.array([0, 1]), np.array([2, 3])]),
        "reads at 3 in axis 1, outside [0, 3)",
    ),
    (
        lambda: gather(np.zeros((2, 3)), [np.array([0, -1]), np.array(0)]),
        "reads at -1 in axis 0, outside [0, 2)",
    ),
    (
        lambda: box_of((9, 4), (0, 1), (1, 4), (1, 1)),
        "takes 4 elements from 1 by 1 in axis 1, which has 4",
    ),
    (
        lambda: box_of((4,), (-1,), (1,), (1,)),
        "takes 1 elements from -1 by 1 in axis 0, which has 4",
    ),
    (
        lambda: box_of((4,), (0,), (1,), (0,)),
        "takes 1 elements from 0 by 0 in axis 0, which has 4",
    ),
    (
        lambda: box_of((4,), (0,), (-1,), (1,)),
        "takes -1 elements from 0 by 1 in axis 0, which has 4",
    ),
    (
        lambda: box_of((4,), (1,), (2,), (3,)),
        "takes 2 elements from 1 by 3 in axis 0, which has 4",
    ),
    (
        lambda: insert(EMPTY, np.zeros(2), (slice(0, 2),)),
        "copies a tensor that was never written",
    ),
    (
        lambda: Access(np.zeros(4), AffineMap(1, 0, (D0 * 2,)), Loops((3,), (False,))),
        "indexes 4 in an axis of 4 elements",
    ),
    (
        lambda: Access(
            np.zeros(4), AffineMap(1, 0, (D0 * -1 + 1,)), Loops((3,), (False,))
        ),
        "indexes -1 in an axis of 4 elements",
    ),
    (
        lambda: Access(np.zeros(4), AffineMap(1, 0, (D0 // 2,)), Loops((3,), (False,))),
        "has the indexing (d0 floordiv 2), which is not linear",
    ),
    (
        lambda: run_nest((2, 2), (False, True), AffineMap(2, 0, (D1,)), 2),
        "writes at a place that depends on a reduction loop",
    ),
    (
        lambda: run_nest((2, 2), (False, False), AffineMap(2, 0, (D0 + D1,)), 3),
        "writes an element at more than one point of its parallel loops",
    ),
    (
        lambda: run_nest((2, 2), (False, False), AffineMap(2, 0, (D0,)), 2),
        "writes an element at more than one point of its parallel loops",
    ),
    (
        lambda: infer_bounds([AffineMap(1, 0, (D0,))] * 2, [[3], [4]]),
        "has a loop d0 of both 3 and 4 steps",
    ),
    (
        lambda: infer_bounds(
            [AffineMap(3, 0, (AffineExpr.dimension(2), D0))], [[3, 4]]
        ),
        "has a loop d1 whose bound no operand tells",
    ),
    (
        lambda: loop_counter(Interpreter(ModuleOp([])), 0),
        "stands outside a loop nest",
    ),
    (
        lambda: require(
            np.array([True, False]), "is {} of {}", np.array([1, 2]), np.array(7)
        ),
        "is 2 of 7",
    ),
]


@pytest.mark.parametrize(("call", "text"), REFUSALS)
def test_refusals(call: Callable[[], object], text: str) -> None:
    with pytest.raises(Poison) as caught:
        call()
    assert str(caught.value) == text


def test_what_is_just_inside() -> None:
    assert [integer_width(one) for one in (i1, i32, IntegerType(64))] == [1, 32, 64]
    assert integer_width(IndexType()) == 64
    assert as_value(255, i8) == -1
    assert as_value(127, i8) == 127
    assert as_value(128, i8) == -128
    assert as_value(-128, i8) == -128
    assert as_value(True, i1) == np.bool_(True)
    assert as_value(-1, i1) == np.bool_(True)
    assert as_value(3, f32).dtype == np.float32
    assert as_value(np.array([255], np.uint8), i8).tolist() == [-1]
    assert as_value(np.array([7, -8], np.int8), IntegerType(4)).tolist() == [7, -8]
    assert box_of((4,), (1,), (2,), (2,)) == (slice(1, 5, 2),)
    assert box_of((4,), (9,), (0,), (1,)) == (slice(9, 9, 1),)
    assert gather(np.arange(6).reshape(2, 3), [np.array(1), np.array(2)]) == 5
    last = Access(np.zeros(5), AffineMap(1, 0, (D0 * 2,)), Loops((3,), (False,)))
    assert not last.repeats
    # Nothing is read where a loop has no iteration.
    Access(np.zeros(0), AffineMap(1, 0, (D0 + 3,)), Loops((0,), (False,)))
    require(np.array([True]), "")
    assert infer_bounds([AffineMap(2, 0, (D1, D0))], [[3, 4]]) == (4, 3)


def test_points_of_nests() -> None:
    """Each parallel point once, whatever the reductions, in blocks or not."""
    plain = AffineMap(2, 0, (D0,))
    assert run_nest((3, 4), (False, True), plain, 3).tolist() == [4, 4, 4]
    assert run_nest((3, 0), (False, True), plain, 3).tolist() == [0, 0, 0]
    assert run_nest((0, 4), (False, True), plain, 3).tolist() == [0, 0, 0]
    beyond = AffineMap(2, 0, (D0 + 1,))
    with pytest.raises(Poison, match="indexes 3 in an axis of 3 elements"):
        run_nest((3, 0), (False, True), beyond, 3)
    turned = AffineMap(2, 0, (D1, D0))
    assert run_nest((2, 3), (False, False), turned, (3, 2)).tolist() == [[1, 1]] * 3
    for bounds, count in (
        *(((1 << 16, 3), 4), ((3, 1 << 16), 3), ((1 << 17, 2), 4)),
        *(((2, 1 << 17), 4), ((5, 13_200), 2), ((0, 7), 0)),
    ):
        counts = np.zeros(bounds, np.int8)
        boxes = list(Loops(bounds, (False, False)).blocks())
        assert len(boxes) == count
        for box in boxes:
            counts[box] += 1
            assert np.prod([part.stop - part.start for part in box]) <= 1 << 16
        assert (counts == 1).all()
    assert [*Loops((3, 0), (False, True)).blocks()] == [(slice(0, 3), slice(0, 0))]
    reduction = Loops((2, 5, 3), (True, False, True))
    assert [*reduction.blocks()] == [(slice(0, 2), slice(0, 5), slice(0, 3))]
    assert [*reduction.reduction_points()] == [
        *((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)),
    ]


def test_boxes_of_tensors_that_are_written_in_parts() -> None:
    half = insert(np.array([5], np.int8), EMPTY, (slice(1, 2),))
    assert isinstance(half, PartialTensor)
    assert half.written.tolist() == [False, True]
    whole = insert(np.array([4], np.int8), half, (slice(0, 1),))
    assert isinstance(whole, np.ndarray)
    assert whole.tolist() == [4, 5]
    assert half.settle() is half
    assert EMPTY.written.tolist() == [False, False]
    given = np.array([1, 2, 3], np.int8)
    assert isinstance(
        found := insert(np.array([9], np.int8), given, (slice(2, 3),)), np.ndarray
    )
    assert (found.tolist(), given.tolist()) == ([1, 2, 9], [1, 2, 3])
    # What is moved is plain if all of it is written.
    written = rearrange(half, lambda array: array[1:])
    assert isinstance(written, np.ndarray)
    assert written.tolist() == [5]
    assert isinstance(rearrange(half, lambda array: array[::-1]), PartialTensor)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 63, 64])
def test_bits_of_numbers(width: int) -> None:
    """Sign-extended, unsigned and leading zeros, against Python's integers."""
    kind = IntegerType(width)
    held = 1 if width == 1 else max(8, 1 << (width - 1).bit_length())
    assert dtype_of(kind).itemsize * 8 == max(held, 8)
    for number in {0, 1, 2, 3, (1 << width - 1) - 1, 1 << width - 1, (1 << width) - 1}:
        bits = number % (1 << width)
        signed = bits - (1 << width) if bits >> (width - 1) else bits
        value = wrap(np.array([signed], np.int64), kind)
        assert as_signed(value, kind).tolist() == [signed]
        assert as_unsigned(value, kind).tolist() == [bits]
        assert count_leading_zeros(as_unsigned(value, kind), width).tolist() == [
            width - bits.bit_length()
        ]
        if width < 62:
            assert wrap(np.array([signed + (1 << width)], np.int64), kind) == value


ROUNDED = {
    RoundingMode.FLOOR: [-2, -2, -2, -1, -1, 0, 0, 0, 1, 1, 1],
    RoundingMode.CEIL: [-1, -1, -1, -1, 0, 0, 1, 1, 1, 2, 2],
    RoundingMode.TOWARD_ZERO: [-1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1],
    RoundingMode.HALF_UP: [-2, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2],
    RoundingMode.HALF_DOWN: [-2, -2, -1, -1, -1, 0, 0, 0, 1, 1, 1],
    RoundingMode.HALF_AWAY: [-2, -2, -1, -1, -1, 0, 0, 1, 1, 1, 2],
    RoundingMode.HALF_TOWARD_ZERO: [-2, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1],
    RoundingMode.HALF_EVEN: [-2, -2, -1, -1, 0, 0, 0, 0, 1, 1, 2],
}
QUARTERS = [-7, -6, -5, -4, -2, 0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize("mode", ROUNDED)
def test_roundings(mode: RoundingMode) -> None:
    """Of quarters, as floats and by a shift."""
    expected = ROUNDED[mode]
    assert len(ROUNDED) == len(RoundingMode)
    for dtype in (np.float32, np.float64):
        reals = np.array(QUARTERS, dtype) / 4
        assert round_float(reals, mode).tolist() == expected
        with np.errstate(invalid="ignore"):
            assert np.isposinf(round_float(np.array([np.inf], dtype), mode)).all()
        # The largest fraction below a half.
        below = np.nextafter(np.array([0.5], dtype), np.array([0], dtype))
        up = mode is RoundingMode.CEIL
        assert round_float(below, mode).tolist() == [int(up)]
    numbers = np.array(QUARTERS, np.int32)
    by_none, by_two, by_most = scalars(np.int32, 0, 2, 31)
    assert shift_right(numbers, by_two, mode).tolist() == expected
    assert shift_right(numbers, by_none, mode).tolist() == QUARTERS
    least = shift_right(np.array([-(1 << 31)], np.int32), by_most, mode)
    assert least.tolist() == [-1]
    middle = np.array([1], np.int32)
    whole = rounds_up(mode, np.array([3], np.int32), np.array([0], np.int32), middle)
    assert whole.tolist() == [False]


def test_pairs_of_products_saturate() -> None:
    """Of an unsigned and a signed byte each."""
    assert pair_dot(np.int8(-1), np.int8(127), np.int8(-1), np.int8(127)) == 32767
    assert pair_dot(np.int8(-1), np.int8(-128), np.int8(-1), np.int8(-128)) == -32768
    assert pair_dot(np.int8(-1), np.int8(2), np.int8(3), np.int8(-5)) == 510 - 15


def test_products_and_sums_are_rounded_once() -> None:
    """Against exact fractions, of numbers whose sums are ties of float32, or tiny."""
    from fractions import Fraction

    random = np.random.default_rng(4)
    for scale in (1.0, 2.0**-140, 2.0**-70, 2.0**60):
        a = np.array(random.integers(1, 1 << 24, 400) * scale, np.float32)
        b = np.array(random.integers(1, 1 << 24, 400) * 2.0**-23, np.float32)
        ends = random.integers(-3, 4, 400) * 2.0 ** random.integers(-50, 1, 400)
        c = np.array(-a * b * np.float32(1.0) + ends * scale, np.float32)
        found = fma(a, b, c)
        assert found.dtype == np.float32
        for x, y, z, one in zip(a, b, c, found, strict=True):
            exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            near = [one, np.nextafter(one, np.float32(np.inf))]
            near.append(np.nextafter(one, np.float32(-np.inf)))
            apart = [abs(Fraction(float(n)) - exact) for n in near]
            assert apart[0] == min(apart)
            if apart.count(apart[0]) > 1:
                assert not int(one.view(np.int32)) & 1, "ties to even"


def test_exact_sums_of_float64() -> None:
    def one(a: float, b: float, c: float) -> float:
        with np.errstate(invalid="ignore"):
            return float(fma(*scalars(np.float64, a, b, c)))

    tiny = 2.0**-60
    assert one(1 + 2.0**-52, 1 - 2.0**-52, -1.0) == -(2.0**-104)
    assert one(1.0, 1.0, tiny) == 1.0
    assert one(1e200, 1e200, -1e300) == np.inf
    assert one(-1e200, 1e200, 1e300) == -np.inf
    assert np.isnan(one(np.inf, 0.0, 1.0))
    assert one(np.inf, 1.0, 1.0) == np.inf
    assert np.signbit(one(-0.0, 1.0, -0.0))
    assert not np.signbit(one(1.0, 1.0, -1.0))


OPERATIONS: list[tuple[str, list[Any], str]] = [
    ("%r = arith.divsi %a, %b : i8", [7, 0], "'arith.divsi' divides 7 by zero"),
    (
        "%r = arith.divsi %a, %b : i8",
        [-128, -1],
        "'arith.divsi' divides -128 by -1, which overflows",
    ),
    (
        "%r = arith.floordivsi %a, %b : i8",
        [7, 0],
        "'arith.floordivsi' divides 7 by zero",
    ),
    ("%r = arith.ceildivsi %a, %b : i8", [7, 0], "'arith.ceildivsi' divides 7 by zero"),
    ("%r = arith.remsi %a, %b : i8", [7, 0], "'arith.remsi' divides 7 by zero"),
    ("%r = arith.divui %a, %b : i8", [7, 0], "'arith.divui' divides 7 by zero"),
    ("%r = arith.remui %a, %b : i8", [7, 0], "'arith.remui' divides 7 by zero"),
    (
        "%r = arith.shli %a, %b : i8",
        [7, 8],
        "'arith.shli' shifts 7 by 8, which is outside [0, 8)",
    ),
    (
        "%r = arith.shrsi %a, %b : i8",
        [7, -1],
        "'arith.shrsi' shifts 7 by -1, which is outside [0, 8)",
    ),
    (
        "%r = arith.addi %a, %b overflow<nsw> : i8",
        [100, 28],
        "'arith.addi' has nsw, but overflows i8 for operands 100 and 28",
    ),
    (
        "%r = arith.subi %a, %b overflow<nuw> : i8",
        [1, 2],
        "'arith.subi' has nuw, but overflows i8 for operands 1 and 2",
    ),
    ("%r = arith.addi %a, %b overflow<nsw> : i8", [100, 27], "127"),
    ("%r = arith.subi %a, %b overflow<nuw> : i8", [-1, 127], "-128"),
    ("%r = arith.shli %a, %b : i8", [1, 7], "-128"),
    ("%r = arith.remsi %a, %b : i8", [-7, 2], "-1"),
    ("%r = arith.divsi %a, %b : i8", [-128, 1], "-128"),
    ("%r = arith.divsi %a, %b : i8", [-127, -1], "127"),
]


@pytest.mark.parametrize(("text", "given", "expected"), OPERATIONS)
def test_operations(text: str, given: list[Any], expected: str) -> None:
    operands = [("a", "i8", np.int8(given[0])), ("b", "i8", np.int8(given[1]))]
    if not expected.startswith("'"):
        assert str(evaluate_text(text, operands, "i8")) == expected
        return
    with pytest.raises(InterpretationError) as caught:
        evaluate_text(text, operands, "i8")
    assert caught.value.message == expected
