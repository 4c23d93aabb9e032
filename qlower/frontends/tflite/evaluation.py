"""Operators that are computed when a model is read, where constants decide them.

Models compute shapes with operators: SHAPE of a tensor, parts of it, their products. As
all shapes are fixed when a model is read, so are these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from qlower.files.arrays import Array

from .context import OperatorContext
from .operands import ARRAY_TYPES
from .operators.layout import MOVEMENTS, Read, read_reshape, result_shape
from .slices import read_slice, read_strided_slice

Evaluate: TypeAlias = Callable[[OperatorContext], Array | list[Array]]

MOST_SIZES, LARGEST_SIZE = 16, 2.0**31
"""Real numbers of one operand, and the least that is none of them."""

MOST_ELEMENTS = 1 << 16
"""Elements of one evaluated result: shapes, indices and masks are small."""

INTEGRAL = ("INT32", "INT64", "BOOL")


@dataclass(frozen=True, slots=True)
class Evaluator:
    """The evaluation of an operator on constants.

    It takes what its importer does, or where none is, what the `signature` says.
    Results of INT32, INT64 and BOOL are computed; with `moves` the operator computes
    nothing, or what LiteRT does, so that FLOAT32 is as good. With `looks_only` operands
    may have any value: their types decide. One that `rounds` gives what IEEE 754 does,
    and computes sizes of FLOAT32, too.
    """

    evaluate: Evaluate
    signature: str = ""
    moves: bool = False
    looks_only: bool = False
    rounds: bool = False

    def applies(self, op: OperatorContext) -> bool:
        """Whether constants decide the results, and are of types for it."""
        if self.looks_only:
            return True
        takes_real = self.moves or self.rounds
        legal = (*INTEGRAL, "FLOAT32") if takes_real else INTEGRAL
        types = {op.output(n).type for n in range(len(op.operator.outputs))}
        numbers = [n for n in range(len(op.operator.inputs)) if op.has(n)]
        return (
            types.issubset(legal)
            and not op.options.get("fused_activation_function")
            and all(op.input(number).type in ARRAY_TYPES for number in numbers)
            and all(
                op.graph.constant(op.input(number), op) is not None
                for number in numbers
            )
            and (self.moves or _are_sizes(op, numbers))
        )

    def results(self, op: OperatorContext) -> list[Array]:
        """The results, in the types that the file says."""
        try:
            found = self.evaluate(op)
        except (ValueError, IndexError) as error:
            raise op.error(f"can't be computed: {error}") from error
        # numpy's functions of arrays without axes give numbers.
        arrays = found if isinstance(found, list) else [found]
        return [
            np.asarray(array, op.dtype_of(op.output(number)))
            for number, array in enumerate(arrays)
        ]


def _are_sizes(op: OperatorContext, numbers: Sequence[int]) -> bool:
    """Whether constants are integral, or few numbers that are computed of shapes: what
    a model does with its own real numbers is the contract's to say."""
    reals = [op.array(number) for number in numbers if op.is_float(number)]
    if not reals and op.output().type != "FLOAT32":
        return True
    return any(op.input(number).index in op.graph.known for number in numbers) and all(
        array.size <= MOST_SIZES and bool((np.abs(array) < LARGEST_SIZE).all())
        for array in reals
    )


class _Conjunction(Evaluator):
    """LOGICAL_AND, which one operand of nothing but False decides."""

    def applies(self, op: OperatorContext) -> bool:
        known = (number for number in range(op.count) if op.is_constant(number))
        return super().applies(op) or any(
            not op.array(number).any() for number in known
        )


def _conjunction(op: OperatorContext) -> Array:
    op.broadcast_shape(0, 1)
    parts = [
        op.array(number) if op.is_constant(number) else np.ones(op.shape(number), bool)
        for number in range(2)
    ]
    return np.logical_and(*parts)


def _arrays(op: OperatorContext) -> list[Array]:
    return [op.array(number) for number in range(len(op.operator.inputs))]


def _sized(op: OperatorContext, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that operands ask for, if it is one that can be computed now."""
    for size in shape:
        op.check_range("size", size, 0, MOST_ELEMENTS)
    op.check_range("number of elements", math.prod(shape), 0, MOST_ELEMENTS)
    return tuple(shape)


def _numpy(function: Callable[..., Array]) -> Evaluate:
    """An evaluation by numpy's function of as many operands."""

    def evaluate(op: OperatorContext) -> Array:
        op.broadcast_shape(*range(len(op.operator.inputs)))
        return np.asarray(function(*_arrays(op)))

    return evaluate


def _quotient(function: Callable[[Array, Array], Array]) -> Evaluate:
    def evaluate(op: OperatorContext) -> Array:
        op.broadcast_shape(0, 1)
        dividend, divisor = _arrays(op)
        if not divisor.all():
            raise op.error(f"{op.input(1)}: a division by zero")
        return function(dividend, divisor)

    return evaluate


def _divided(dividend: Array, divisor: Array) -> Array:
    if dividend.dtype.kind == "f":
        return np.divide(dividend, divisor)
    return _truncated(dividend, divisor)


def _truncated(dividend: Array, divisor: Array) -> Array:
    quotient = np.abs(dividend) // np.abs(divisor)
    return np.where((dividend < 0) == (divisor < 0), quotient, -quotient)


def _reduced(function: Callable[..., Array]) -> Evaluate:
    def evaluate(op: OperatorContext) -> Array:
        array = op.array(0)
        axes = {op.axis(axis, array.ndim) for axis in op.integers(1, "axes")}
        keep = op.flag("keep_dims")
        return np.asarray(function(array, axis=tuple(axes), keepdims=keep))

    return evaluate


def _segment_products(op: OperatorContext) -> Array:
    """The product of the rows that have the same number."""
    array, numbers = op.array(0), op.array(1)
    (count,) = _sized(op, op.integers(2, "number of segments", count=1))
    rows = array.shape[: numbers.ndim]
    if rows != numbers.shape:
        raise op.error(
            f"{op.input(1)}: shape {list(numbers.shape)}, expected {list(rows)}"
        )
    for number in numbers.reshape(-1).tolist():
        op.check_range("segment", number, 0, count - 1)
    products = np.ones((count, *array.shape[numbers.ndim :]), array.dtype)
    np.multiply.at(products, numbers, array)
    return products


def _shape(op: OperatorContext) -> Array:
    return np.array(op.shape(0), np.int64)


def _rank(op: OperatorContext) -> Array:
    return np.array(len(op.shape(0)))


def _pack(op: OperatorContext) -> Array:
    arrays = _arrays(op)
    rank = arrays[0].ndim + 1
    return np.stack(arrays, op.option("axis", -rank, rank - 1))


def _unpack(op: OperatorContext) -> list[Array]:
    array = op.array(0)
    axis = op.option("axis", -array.ndim, array.ndim - 1)
    return [np.asarray(part) for part in np.moveaxis(array, axis, 0)]


def _concatenation(op: OperatorContext) -> Array:
    arrays = _arrays(op)
    return np.concatenate(arrays, op.axis(op.option("axis", -8, 8), arrays[0].ndim))


def _gather(op: OperatorContext) -> Array:
    array, indices = _arrays(op)
    op.option("batch_dims", 0, 0)
    axis = op.axis(op.option("axis", -8, 8), array.ndim)
    for index in indices.reshape(-1).tolist():
        op.check_range("index", index, 0, array.shape[axis] - 1)
    return np.take(array, indices, axis)


def _moved(read: Read) -> Evaluate:
    """An evaluation of operators that are one movement of their first operand's
    elements."""

    def evaluate(op: OperatorContext) -> Array:
        array = op.array(0)
        movement = read(op, array.shape)
        result_shape(op, movement, array.shape, MOST_ELEMENTS)
        return movement.evaluate(array)

    return evaluate


def _fill(op: OperatorContext) -> Array:
    shape = _sized(op, op.integers(0, "dims"))
    return np.broadcast_to(op.array(1).reshape(()), shape)


def _broadcast_arguments(op: OperatorContext) -> Array:
    shapes = (tuple(op.integers(number, "shape")) for number in (0, 1))
    return np.array(np.broadcast_shapes(*shapes))


def _range(op: OperatorContext) -> Array:
    if op.output().type == "FLOAT32":
        return _real_range(op)
    start, limit, delta = (int(array.reshape(())) for array in _arrays(op))
    if delta == 0:
        raise op.error("a range in steps of 0")
    values = range(start, limit, delta)
    _sized(op, [len(values)])
    return np.array(values, np.int64)


def _real_range(op: OperatorContext) -> Array:
    """Each number is the one before with a step added, in float32 (range.cc)."""
    start, limit, delta = (np.float32(array.item()) for array in _arrays(op))
    with np.errstate(all="ignore"):
        count = np.ceil(np.abs((limit - start) / delta))
    if not (0 <= count <= MOST_ELEMENTS) or (limit - start) * delta < 0:
        raise op.error(
            f"no range from {start} to {limit} in steps of {delta} of up to"
            f" {MOST_ELEMENTS} numbers"
        )
    steps = np.full(int(count), delta, np.float32)
    steps[:1] = start
    return np.add.accumulate(steps, dtype=np.float32)


def _same(op: OperatorContext) -> Array:
    """A cast, or weights in float16, which converters widen by a DEQUANTIZE."""
    return op.array(0)


_FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LOGICAL_OR": np.logical_or,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "NEG": np.negative,
    "ABS": np.abs,
    "SIGN": np.sign,
    "LOGICAL_NOT": np.logical_not,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
}

EVALUATORS: Mapping[str, Evaluator] = {
    "SHAPE": Evaluator(_shape, signature="x", looks_only=True),
    "RANK": Evaluator(_rank, signature="x", looks_only=True),
    "BROADCAST_ARGS": Evaluator(_broadcast_arguments, signature="x, y"),
    "RANGE": Evaluator(_range, signature="start, limit, delta", moves=True),
    **{
        name: Evaluator(evaluate, moves=True)
        for name, evaluate in (
            ("PACK", _pack),
            ("UNPACK", _unpack),
            ("CONCATENATION", _concatenation),
            ("GATHER", _gather),
            *((name, _moved(read)) for name, (_, read) in MOVEMENTS.items()),
            ("RESHAPE", _moved(partial(read_reshape, otherwise=()))),
            ("SLICE", _moved(read_slice)),
            ("STRIDED_SLICE", _moved(read_strided_slice)),
            ("FILL", _fill),
            ("DEQUANTIZE", _same),
            ("SELECT", _numpy(np.where)),
            ("SELECT_V2", _numpy(np.where)),
        )
    },
    "CAST": Evaluator(_same, rounds=True),
    **{
        name: Evaluator(_numpy(function), rounds=True)
        for name, function in _FUNCTIONS.items()
    },
    "LOGICAL_AND": _Conjunction(_conjunction),
    "DIV": Evaluator(_quotient(_divided), rounds=True),
    "FLOOR_DIV": Evaluator(_quotient(np.floor_divide)),
    "FLOOR_MOD": Evaluator(_quotient(np.mod)),
    "SUM": Evaluator(_reduced(np.sum)),
    "REDUCE_PROD": Evaluator(_reduced(np.prod)),
    "REDUCE_MAX": Evaluator(_reduced(np.max)),
    "REDUCE_MIN": Evaluator(_reduced(np.min)),
    "UNSORTED_SEGMENT_PROD": Evaluator(_segment_products),
}
"""Evaluator by the operator's name in the TFLite schema."""
