"""Operators on float32, on integers and booleans, and those that only compare stored
8-bit values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, i1, i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.fixed import SaturateOp
from qlower.dialects.types import integer_range

from ...entry import Entry, takes
from ...ranking import running_sums
from ...scalars import Binary, Compute, Scalars, Steps, folded, in_turn, square, text
from ..context import OperatorContext
from ..nests import emitter, finish, finish_map, read, start
from ..types import PLAIN_TYPES, stored_type


def is_plain(op: OperatorContext) -> bool:
    """Whether the operator is on plain numbers, not on quantized ones."""
    return op.input(0).type in PLAIN_TYPES


def scalars(op: OperatorContext, rank_of: tuple[int, ...], number: int = 0) -> Scalars:
    """A nest over a shape, for steps on elements of the type of an operand."""
    return Scalars(start(op, rank_of), op.input(number).type == "UINT8")


def c_function(name: str) -> Steps:
    """A function of the C library."""
    return text("_glibc", name)


def litert(name: str) -> Steps:
    """A function that LiteRT's kernels write out."""
    return text("_litert", name)


def unary(compute: Compute, legal: str = "REAL") -> Entry[OperatorContext]:
    """An operator on one element."""
    return takes(f"x: {legal}", lambda op: map_elements(op, compute))


def binary(compute: Compute, legal: str) -> Entry[OperatorContext]:
    """An operator on two operands."""
    return takes(f"x: {legal}, y: as x", lambda op: map_elements(op, compute))


def of_equal_shapes(compute: Binary, bits: str) -> Entry[OperatorContext]:
    """An operator of StableHLO on stored numbers, whose operands have one shape; of
    booleans it is the logical function `bits`."""

    def build(compute: Binary, op: OperatorContext) -> None:
        if op.shape(0) != op.shape(1):
            shapes = f"shape {list(op.shape(1))}, expected {list(op.shape(0))}"
            raise op.error(f"{op.input(1)}: {shapes}")
        map_elements(op, compute)

    def logical(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
        return steps.logical(bits, x, y)

    numbers = takes("x: NUMBER | STORED, y: as x", partial(build, compute))
    return numbers | takes("x: BOOL, y: as x", partial(build, logical))


def map_elements(op: OperatorContext, compute: Compute, *parameters: float) -> None:
    """The operator on elements of operands that broadcast and on numbers of float32,
    and its activation."""
    operands, call = range(op.count), cast(Steps, compute)
    steps = scalars(op, op.broadcast_shape(*operands))
    elements = [read(op, steps.nest, number) for number in operands]
    given = [steps.constant(parameter, f32) for parameter in parameters]
    value = call(steps, *elements, *given)
    if "fused_activation_function" in op.options:
        value = activated(op, steps, value)
    if value.type == elements[0].type:
        op.check_type(op.output(), op.input(0).type)
    finish_map(op, steps.nest, value)


def activated(op: OperatorContext, steps: Scalars, value: SSAValue) -> SSAValue:
    """The fused activation of a number."""
    return bounded(steps, value, *qnn.ACTIVATION_BOUNDS[op.activation()])


def bounded(
    steps: Scalars,
    value: SSAValue,
    low: float | None = None,
    high: float | None = None,
) -> SSAValue:
    """A number within bounds; of float32, within those of finite ones at least
    (kernel_util.h, CalculateActivationRange), so that no infinity is left."""
    if value.type == f32:
        low = qnn.LOWEST if low is None else low
        high = -qnn.LOWEST if high is None else high
    return steps.clamp(value, low, high)


def squared_difference(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    return square(steps, steps.subtract(x, y))


def sign(steps: Scalars, x: SSAValue) -> SSAValue:
    zero, one = (steps.constant(value, x.type) for value in (0, 1))
    negative = steps.select(steps.compare("lt", x, zero), steps.negate(one), zero)
    return steps.select(steps.compare("gt", x, zero), one, negative)


def import_cast(op: OperatorContext) -> None:
    """Stored integers count as they are, whatever their scale."""
    steps = scalars(op, op.shape(0))
    type = stored_type(op.result_type(op.shape(0)))
    value = read(op, steps.nest, 0)
    if op.is_float(0) and isinstance(type, IntegerType) and type != i1:
        element = _saturated(steps, value, type, op.output().type == "UINT8")
    else:
        element = steps.cast(value, type)
    finish_map(op, steps.nest, element)


def _saturated(
    steps: Scalars, value: SSAValue, type: IntegerType, is_unsigned: bool
) -> SSAValue:
    """A real number cut toward 0 and kept in an integer's range; NaN becomes the
    largest integer (cast.cc, copyCast)."""
    cut = steps.cast(value, type)
    if is_unsigned:
        cut = steps.step(SaturateOp(steps.cast(value, i32), type, unsigned=True))
    _, most = integer_range(type.width.data)
    largest = steps.constant(-1 if is_unsigned else most, type)
    return steps.select(steps.compare("ne", value, value), largest, cut)


def import_select(op: OperatorContext) -> None:
    """Import a selection. The operands of SELECT have one shape, or its condition is
    one element or one for each row; in SELECT_V2 all broadcast."""
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
    type = op.input_type(0).element_type
    steps = scalars(op, op.shape(0))
    finish_map(op, steps.nest, steps.constant(0, type))


def _add_bounded(steps: Scalars, x: SSAValue, y: SSAValue) -> SSAValue:
    return bounded(steps, steps.add(x, y))


def import_add_n(op: OperatorContext) -> None:
    """One operand after the other, each sum of floats finite or NaN."""
    map_elements(op, in_turn(_add_bounded))


def import_cumsum(op: OperatorContext) -> None:
    sums = running_sums(
        emitter(op),
        op.value(0),
        op.axis_at(1, len(op.shape(0))),
        0,
        is_exclusive=op.flag("exclusive"),
        is_reverse=op.flag("reverse"),
    )
    finish(op, sums)


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
    position = steps.place(axis, index.type)
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


def real_reduction(function: str) -> Entry[OperatorContext]:
    """A reduction of real numbers by a contract's rule."""

    def build(op: OperatorContext) -> None:
        axes, shape = reduced_shape(op)
        op.check_type(op.output(), "FLOAT32")
        operation = qnn.RealReduceOp(
            op.value(0),
            op.result_type(shape),
            function=function,
            axes=axes,
            keep_dims=op.flag("keep_dims"),
            fallback="tflite",
        )
        op.finish(operation)

    return takes("x: REAL, axes", build)


def folded_bits(name: str) -> Callable[[OperatorContext], None]:
    """Whether all booleans ("and") or some ("or") are true."""
    initial = "1" if name == "and" else "0"
    return folding(lambda steps, before, x: steps.logical(name, before, x), initial)


def folding(compute: Binary, initial: str) -> Callable[[OperatorContext], None]:
    return lambda op: fold(op, compute, initial)


def fold(op: OperatorContext, compute: Binary, initial: str) -> None:
    """One element after the other, the last dimension fastest."""
    axes, result = reduced_shape(op)
    first = initial_value(initial, op.input(0).type)
    is_unsigned = op.input(0).type == "UINT8"
    value = folded(
        emitter(op), op.elements(0), axes, compute, first, is_unsigned=is_unsigned
    )
    finish(op, op.reshaped(value, result))


def initial_value(initial: str, type: str) -> float:
    """The value that a reduction begins with: a number, or an end of the type's
    range."""
    if initial not in ("lowest", "highest"):
        return float(initial)
    if type == "FLOAT32":
        limits = np.finfo(np.float32)
        return float(limits.min if initial == "lowest" else limits.max)
    limits = np.iinfo(type.lower())
    return int(limits.min if initial == "lowest" else limits.max)


ELEMENTS = "x: INDEX | STORED, axes"

IMPORTERS = {
    "NEG": unary(Scalars.negate, "NUMBER | INT8 | INT16"),
    "SQUARE": unary(square),
    "FLOOR": unary(Scalars.floor),
    "CEIL": unary(Scalars.ceil),
    "ROUND": unary(litert("round_half_even")),
    "SIN": unary(c_function("sinf")),
    "COS": unary(c_function("cosf")),
    "SIGN": unary(sign, "NUMBER"),
    "LOGICAL_NOT": unary(Scalars.invert, "BOOL"),
    "LOGICAL_AND": binary(lambda s, x, y: s.logical("and", x, y), "BOOL"),
    "LOGICAL_OR": binary(lambda s, x, y: s.logical("or", x, y), "BOOL"),
    "ATAN2": binary(c_function("atan2f"), "REAL"),
    "CUMSUM": takes("x: NUMBER, axis", import_cumsum),
    "STABLEHLO_ADD": of_equal_shapes(Scalars.add, "or"),
    "STABLEHLO_MULTIPLY": of_equal_shapes(Scalars.multiply, "and"),
    "STABLEHLO_MAXIMUM": of_equal_shapes(lambda s, x, y: s.larger(y, x), "or"),
    "STABLEHLO_MINIMUM": of_equal_shapes(lambda s, x, y: s.smaller(y, x), "and"),
    "ADD_N": takes("x: NUMBER, more*: as x", import_add_n),
    "MAXIMUM": binary(Scalars.larger, "NUMBER | STORED"),
    "MINIMUM": binary(Scalars.smaller, "NUMBER | STORED"),
    "CAST": takes("x", import_cast),
    "SELECT": takes("condition: BOOL, x, y", import_select),
    "SELECT_V2": takes("condition: BOOL, x, y", import_select),
    "FILL": takes("dims, value", import_fill),
    "ZEROS_LIKE": takes("x: NUMBER", import_zeros_like),
    "ONE_HOT": takes("indices, depth, on, off", import_one_hot),
    "REDUCE_MAX": real_reduction("maximum")
    | takes(ELEMENTS, folding(lambda s, so_far, x: s.larger(x, so_far), "lowest"))
    | takes("x: BOOL, axes", folded_bits("or")),
    "REDUCE_MIN": real_reduction("minimum")
    | takes(ELEMENTS, folding(lambda s, so_far, x: s.smaller(x, so_far), "highest"))
    | takes("x: BOOL, axes", folded_bits("and")),
    "REDUCE_ANY": takes("x: BOOL, axes", folded_bits("or")),
    "REDUCE_ALL": takes("x: BOOL, axes", folded_bits("and")),
}
