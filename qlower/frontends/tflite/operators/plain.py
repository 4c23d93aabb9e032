"""Operators on float32, on integers and booleans, and those that only compare stored
8-bit values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import element_type, shape_of

from ...scalars import Scalars
from ..context import OperatorContext
from ..importer import UNLIMITED, Importer
from ..nests import finish, finish_map, read, start, take
from ..types import PLAIN_TYPES, stored_type

Unary: TypeAlias = Callable[[Scalars, SSAValue], SSAValue]
Binary: TypeAlias = Callable[[Scalars, SSAValue, SSAValue], SSAValue]

REAL = ("FLOAT32",)
NUMBERS = ("FLOAT32", "INT32", "INT64")
STORED = (*NUMBERS, "INT8", "UINT8", "INT16")
BOOLEAN = ("BOOL",)

LOWEST, LARGEST = float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)

ACTIVATION_BOUNDS: Mapping[str | None, tuple[float | None, float | None]] = {
    None: (None, None),
    "relu": (0.0, None),
    "relu6": (0.0, 6.0),
    "relu_n1_to_1": (-1.0, 1.0),
}


def is_plain(op: OperatorContext) -> bool:
    """Whether the operator is on plain numbers, not on quantized ones."""
    return op.input(0).type in PLAIN_TYPES


def check_types(op: OperatorContext, legal: tuple[str, ...]) -> None:
    """Refuse operands of several types, or of others."""
    check_type(op, legal)
    for number in range(1, len(op.operator.inputs)):
        op.check_type(op.input(number), op.input(0).type)


def check_type(op: OperatorContext, legal: tuple[str, ...]) -> None:
    """Refuse a first operand of another type."""
    tensor = op.input(0)
    if tensor.type not in legal:
        raise op.error(
            f"{tensor}: type {tensor.type} is not supported by {op.operator.name}"
            f" here; expected {' or '.join(legal)}"
        )


def scalars(op: OperatorContext, rank_of: tuple[int, ...], number: int = 0) -> Scalars:
    """A nest over a shape, for steps on elements of the type of an operand."""
    return Scalars(start(op, rank_of), op.input(number).type == "UINT8")


def c_function(name: str) -> Unary:
    """A function of the C library."""
    return lambda steps, x: steps.c(name, x)


def unary(compute: Unary, legal: tuple[str, ...] = REAL) -> Importer:
    """An operator on one element."""

    def build(op: OperatorContext) -> None:
        check_type(op, legal)
        map_one(op, compute)

    return Importer(build, (1, 1))


def map_one(op: OperatorContext, compute: Unary) -> None:
    """The operator on each element of its operand."""
    steps = scalars(op, op.shape(0))
    finish_map(op, steps.nest, compute(steps, read(op, steps.nest, 0)))


def map_two(op: OperatorContext, compute: Binary, legal: tuple[str, ...]) -> None:
    """The operator on elements of two operands that broadcast, and its activation."""
    check_types(op, legal)
    steps = scalars(op, op.broadcast_shape(0, 1))
    x, y = (read(op, steps.nest, number) for number in (0, 1))
    value = compute(steps, x, y)
    if "fused_activation_function" in op.options:
        value = activated(op, steps, value)
    if value.type == x.type:
        op.check_type(op.output(), op.input(0).type)
    finish_map(op, steps.nest, value)


def activated(op: OperatorContext, steps: Scalars, value: SSAValue) -> SSAValue:
    """The fused activation of a number."""
    return bounded(steps, value, *ACTIVATION_BOUNDS[op.activation()])


def bounded(
    steps: Scalars,
    value: SSAValue,
    low: float | None = None,
    high: float | None = None,
) -> SSAValue:
    """A number within bounds; of float32, within those of finite ones at least
    (kernel_util.h, CalculateActivationRange), so that no infinity is left."""
    if value.type == f32:
        low = LOWEST if low is None else low
        high = LARGEST if high is None else high
    return steps.clamp(value, low, high)


def binary(
    compute: Binary, legal: tuple[str, ...], options: str | None = None
) -> Importer:
    """An operator on two operands."""
    return Importer(lambda op: map_two(op, compute, legal), (2, 2), options)


def comparison(predicate: str) -> Binary:
    return lambda steps, x, y: steps.compare(predicate, x, y)


def squared_difference(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    difference = steps.subtract(x, y)
    return steps.multiply(difference, difference)


def sign(steps: Scalars, x: SSAValue) -> SSAValue:
    zero, one = (steps.constant(value, x.type) for value in (0, 1))
    negative = steps.select(steps.compare("lt", x, zero), steps.negate(one), zero)
    return steps.select(steps.compare("gt", x, zero), one, negative)


def import_cast(op: OperatorContext) -> None:
    """Stored integers count as they are, whatever their scale."""
    steps = scalars(op, op.shape(0))
    type = stored_type(op.result_type(op.shape(0)))
    value = read(op, steps.nest, 0)
    finish_map(op, steps.nest, steps.cast(value, type))


def import_select(op: OperatorContext) -> None:
    """What SELECT takes has one shape, or its condition is one or one for each row;
    in SELECT_V2 all broadcast."""
    if op.input(0).type != "BOOL":
        raise op.error(
            f"{op.input(0)}: a condition of type {op.input(0).type}; expected BOOL"
        )
    op.check_type(op.input(2), op.input(1).type)
    op.check_type(op.output(), op.input(1).type)
    condition, values, others = (op.shape(number) for number in range(3))
    if op.operator.name == "SELECT" and (
        values != others or condition not in (values, values[:1], ())
    ):
        shapes = f"{list(values)} and {list(others)}"
        raise op.error(
            f"a condition of shape {list(condition)} chooses from {shapes};"
            " expected equal shapes, and a condition of that or of its first dimension"
        )
    rows = op.operator.name == "SELECT" and len(condition) < len(values)
    shape = op.shape(1) if rows else op.broadcast_shape(0, 1, 2)
    steps = scalars(op, shape, 1)
    chosen = read(op, steps.nest, 0, range(len(condition)) if rows else None)
    x, y = (read(op, steps.nest, number) for number in (1, 2))
    finish_map(op, steps.nest, steps.select(chosen, x, y))


def import_fill(op: OperatorContext) -> None:
    shape = op.integers(0, "dims")
    op.check_type(op.output(), op.input(1).type)
    steps = scalars(op, tuple(shape), 1)
    finish_map(op, steps.nest, read(op, steps.nest, 1))


def import_zeros_like(op: OperatorContext) -> None:
    check_types(op, NUMBERS)
    type = op.input_type(0).element_type
    steps = scalars(op, op.shape(0))
    finish_map(op, steps.nest, steps.constant(0, type))


def import_add_n(op: OperatorContext) -> None:
    """One operand after the other, each sum of floats finite or NaN."""
    check_types(op, NUMBERS)
    steps = scalars(op, op.shape(0))
    total = read(op, steps.nest, 0)
    for number in range(1, len(op.operator.inputs)):
        total = bounded(steps, steps.add(total, read(op, steps.nest, number)))
    finish_map(op, steps.nest, total)


def import_cumsum(op: OperatorContext) -> None:
    """Sums from one end on, each by itself, in the order of the running sum."""
    check_type(op, NUMBERS)
    shape = op.shape(0)
    axis = op.axis_at(1, len(shape))
    size, rank = shape[axis], len(shape)
    is_exclusive, is_reverse = op.flag("exclusive"), op.flag("reverse")
    turned = [
        range(extent)[::-1] if is_reverse and dim == axis else range(extent)
        for dim, extent in enumerate(shape)
    ]
    source = take(op, op.value(0), turned)
    nest = start(op, (*shape, size), reductions=1)
    steps = Scalars(nest)
    value = nest.input(source, [rank if dim == axis else dim for dim in range(rank)])
    position, turn = (steps.step(IndexOp(loop)) for loop in (axis, rank))
    order = "slt" if is_exclusive else "sle"
    counts = steps.step(arith.CmpiOp(turn, position, order))
    init = nest.emitter.filled(shape, value.type, 0)

    def add(before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [steps.select(counts, steps.add(before[0], value), before[0])]

    finish(op, take(op, nest.reduce([init], add)[0], turned))


def import_one_hot(op: OperatorContext) -> None:
    """Another value where the position along the new dimension is the index."""
    shape = op.shape(0)
    (depth,) = op.integers(1, "depth", count=1)
    op.check_range("depth", depth, 1, 1 << 20)
    axis = op.option("axis", -1, len(shape))
    axis = len(shape) if axis == -1 else axis
    steps = scalars(op, (*shape[:axis], depth, *shape[axis:]), 2)
    loops = [loop for loop in range(len(shape) + 1) if loop != axis]
    index = read(op, steps.nest, 0, loops)
    position = steps.step(IndexCastOp(steps.step(IndexOp(axis)), index.type))
    on, off = (read(op, steps.nest, number) for number in (2, 3))
    equal = steps.compare("eq", index, position)
    finish_map(op, steps.nest, steps.select(equal, on, off))


def reduced_shape(op: OperatorContext) -> tuple[list[int], tuple[int, ...]]:
    """The dimensions that an operator reduces, and the shape of its result."""
    shape = op.shape(0)
    axes = {op.axis(value, len(shape)) for value in op.integers(1, "axes")}
    keep_dims = op.flag("keep_dims")
    result = tuple(
        1 if dim in axes else size
        for dim, size in enumerate(shape)
        if keep_dims or dim not in axes
    )
    return sorted(axes), result


def reduction(
    compute: Binary, legal: tuple[str, ...], initial: str, of_bits: str
) -> Importer:
    """A reduction in the order of the elements, from an initial value on; of booleans
    by `of_bits`, "and" or "or"."""

    def build(op: OperatorContext) -> None:
        if op.input(0).type == "BOOL":
            fold_bits(op, of_bits)
            return
        check_type(op, legal)
        fold(op, compute, initial)

    return Importer(build, (2, 2), "ReducerOptions")


def fold_bits(op: OperatorContext, name: str) -> None:
    """Whether all booleans ("and") or some ("or") are true."""
    check_type(op, BOOLEAN)
    initial = "1" if name == "and" else "0"
    fold(op, lambda steps, before, x: steps.logical(name, before, x), initial)


def fold(op: OperatorContext, compute: Binary, initial: str) -> None:
    """One element after the other, the last dimension fastest."""
    shape = op.shape(0)
    axes, result = reduced_shape(op)
    kept = [dim for dim in range(len(shape)) if dim not in axes]
    order = [*kept, *axes]
    nest = start(op, [shape[dim] for dim in order], reductions=len(axes))
    steps = Scalars(nest, op.input(0).type == "UINT8")
    source = op.elements(0)
    value = nest.input(source, [order.index(dim) for dim in range(len(shape))])
    first = initial_value(initial, op.input(0).type)
    init = nest.emitter.filled(nest.output_shape, value.type, first)
    (folded,) = nest.reduce([init], lambda before: [compute(steps, before[0], value)])
    if shape_of(folded) != result:
        type = TensorType(element_type(folded.type), result)
        folded = op.emit(qnn.ReshapeOp(folded, type), "reshape")
    finish(op, folded)


def initial_value(initial: str, type: str) -> float:
    """Where a reduction begins: at a number, or at an end of the type's range."""
    if initial not in ("lowest", "highest"):
        return float(initial)
    if type == "FLOAT32":
        limits = np.finfo(np.float32)
        return float(limits.min if initial == "lowest" else limits.max)
    limits = np.iinfo(type.lower())
    return int(limits.min if initial == "lowest" else limits.max)


def leaky_relu(op: OperatorContext) -> Unary:
    alpha = op.number("alpha")

    def compute(steps: Scalars, x: SSAValue) -> SSAValue:
        positive = steps.compare("gt", x, steps.constant(0.0, x.type))
        below = steps.multiply(x, steps.constant(alpha, x.type))
        return steps.select(positive, x, below)

    return compute


def hard_swish(steps: Scalars, x: SSAValue) -> SSAValue:
    three, six = (steps.constant(value, x.type) for value in (3.0, 6.0))
    gate = steps.clamp(steps.add(x, three), 0.0, 6.0)
    return steps.divide(steps.multiply(x, gate), six)


def reciprocal_root(steps: Scalars, x: SSAValue) -> SSAValue:
    return steps.divide(steps.constant(1.0, x.type), steps.sqrt(x))


IMPORTERS = {
    "NEG": unary(Scalars.negate, (*NUMBERS, "INT8", "INT16")),
    "SQUARE": unary(lambda steps, x: steps.multiply(x, x)),
    "FLOOR": unary(Scalars.floor),
    "CEIL": unary(Scalars.ceil),
    "ROUND": unary(Scalars.round_half_even),
    "SIN": unary(c_function("sinf")),
    "COS": unary(c_function("cosf")),
    "SIGN": unary(sign, NUMBERS),
    "LOGICAL_NOT": unary(Scalars.invert, BOOLEAN),
    "LOGICAL_AND": binary(lambda s, x, y: s.logical("and", x, y), BOOLEAN),
    "LOGICAL_OR": binary(lambda s, x, y: s.logical("or", x, y), BOOLEAN),
    "ATAN2": binary(lambda steps, y, x: steps.c("atan2f", y, x), REAL),
    "CUMSUM": Importer(import_cumsum, (2, 2), "CumsumOptions"),
    "ADD_N": Importer(import_add_n, (1, UNLIMITED)),
    "MAXIMUM": binary(Scalars.larger, STORED),
    "MINIMUM": binary(Scalars.smaller, STORED),
    "CAST": Importer(import_cast, (1, 1)),
    "SELECT": Importer(import_select, (3, 3)),
    "SELECT_V2": Importer(import_select, (3, 3)),
    "FILL": Importer(import_fill, (2, 2)),
    "ZEROS_LIKE": Importer(import_zeros_like, (1, 1)),
    "ONE_HOT": Importer(import_one_hot, (4, 4), "OneHotOptions"),
    "REDUCE_MAX": reduction(
        lambda s, before, x: s.select(s.compare("gt", x, before), x, before),
        STORED,
        "lowest",
        of_bits="or",
    ),
    "REDUCE_MIN": reduction(
        lambda s, before, x: s.select(s.compare("lt", x, before), x, before),
        STORED,
        "highest",
        of_bits="and",
    ),
    "REDUCE_ANY": Importer(lambda op: fold_bits(op, "or"), (2, 2), "ReducerOptions"),
    "REDUCE_ALL": Importer(lambda op: fold_bits(op, "and"), (2, 2), "ReducerOptions"),
}
