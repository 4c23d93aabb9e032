"""Quantization with scales that are known at run time.

What is stored has the scale 1 in its type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, f32, i1, i8, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.dialects.quant import QuantizedType
from qlower.dialects.quant.ops import StorageCastOp
from qlower.dialects.types import shape_of
from qlower.emit.reductions import ranges_of_rows
from qlower.emit.tensors import reshape
from qlower.model.nests import Emitter, Nest

from ...entry import takes
from ...scalars import Scalars, mapped, text
from ..context import NodeContext
from ..narrow import CODED, NARROW, named
from ..nodes import FLOAT, MICROSOFT, TYPES_BY_NUMBER
from ..operands import STORED_TYPES
from ..values import Value
from .integer_products import matmul_integer, stored_operand
from .open_quantization import rounded_to
from .real import elementwise, real_operand

UINT8 = 2
INTEGERS_BY_NUMBER = {6: i32, 7: i64, 9: i1}
"""ONNX's numbers of types."""

CODES = QuantizedType.per_tensor(8, False, 1.0, 0)
"""The type in which stored integers with a scale of their own are read."""

_COLUMNS = 128
"""Columns of the matrix of whose columns extremes are taken first, at most."""


ZERO_POINT, CODE = (text("_mlas", f"dynamic_{name}") for name in ("zero_point", "code"))


def import_dynamic_quantize(node: NodeContext) -> None:
    results = quantize_dynamically(node, real_operand(node, 0), node.node.outputs)
    for index, result in enumerate(results):
        node.define(result, index)


def quantize_dynamically(
    node: NodeContext, value: Value, names: Sequence[str]
) -> tuple[Value, Value, Value]:
    """The codes of uint8 that fit the values, their scale and their zero point, which
    come to be called `names`.

    DynamicQuantizeLinear: 0 lies in the range. Where infinities and scales of 0 make
    NaN of it, z is 255 and y is 0.
    """
    of_codes, of_scale, of_point = (
        node.builder.emitter(node.place(name)) for name in names
    )
    size = math.prod(value.type.get_shape())
    columns = next(n for n in range(_COLUMNS, 0, -1) if size % n == 0)
    matrix = reshape(of_scale, value.ssa, (1, size // columns, columns))
    ends = [reshape(of_scale, end, ()) for end in ranges_of_rows(of_scale, matrix)]
    scale = mapped(of_scale, text("_mlas", "dynamic_scale"), *ends)
    point = mapped(of_point, _zero_point, ends[0], scale)
    of_step = Value(scale, (), is_real=True), Value(_stored_as(of_point, point), ())
    return _codes_of(of_codes, value, of_step), *of_step


def _zero_point(steps: Scalars, lowest: SSAValue, scale: SSAValue) -> SSAValue:
    return steps.cast(ZERO_POINT(steps, lowest, scale), i8)


def _code(steps: Scalars, x: SSAValue, scale: SSAValue, point: SSAValue) -> SSAValue:
    zero = steps.step(arith.ExtUIOp(point, i32))
    return steps.cast(CODE(steps, x, scale, zero), i8)


def _codes_of(emit: Emitter, value: Value, step: tuple[Value, Value]) -> Value:
    """`rne(clamp(F(x / s))) + z`, for a scale and a zero point in one element each."""
    scale, point = step
    shape = point.type.get_shape()
    plain = emit.add(StorageCastOp(point.ssa, TensorType(i8, shape))).result
    nest = Nest(emit, value.type.get_shape())
    first = AffineConstantExpr(0)
    code = _code(
        Scalars(nest),
        nest.input(value.ssa, range(nest.parallel)),
        nest.input(scale.ssa, [first] * len(scale.shape)),
        nest.input(plain, [first] * len(shape)),
    )
    return Value(_stored_as(emit, nest.build([code])[0]), value.order)


def import_cast(node: NodeContext) -> None:
    """Cast integers to the nearest FLOAT, FLOAT to UINT8 toward zero and to the nearest
    float of fewer bits, and stored values to their own type, which leaves them as they
    are."""
    value = node.value(0)
    element, target = value.element, node.integer("to", None)
    if isinstance(element, QuantizedType) and not value.is_real:
        name = TYPES_BY_NUMBER.get(target)
        if name in STORED_TYPES and STORED_TYPES[name] == element.signed:
            node.define(value)
            return
    if target == FLOAT and element in (i32, i64, i1):
        made = elementwise(node, [value], _from_integer)
        node.define(replace(made, is_real=True))
    elif target in INTEGERS_BY_NUMBER and element in (i32, i64, i1):
        type = INTEGERS_BY_NUMBER[target]
        made = elementwise(node, [value], lambda n, x: Scalars(n).cast(x[0], type))
        node.define(replace(made, is_real=False))
    elif target == FLOAT and value.is_real:
        node.define(real_operand(node, 0))
    elif (type := named(target)) and value.is_real:
        if type in CODED:
            node.expect("saturate", 1)
        node.define(rounded_to(node, real_operand(node, 0), type))
    elif target == UINT8 and value.is_real:
        real = real_operand(node, 0)
        emit = node.builder.emitter(node.place())
        codes = mapped(emit, _cut_code, real.ssa)
        node.define(Value(_stored_as(emit, codes), real.order))
    else:
        raise node.error(
            f"a cast of {element} to {TYPES_BY_NUMBER.get(target, target)} is not"
            " supported; expected INT32, INT64 or BOOL to any of them or to FLOAT, or"
            f" FLOAT to UINT8 or one of {', '.join(NARROW)}"
        )


def _from_integer(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
    (x,) = elements
    return Scalars(nest).cast(x, f32)


def _cut_code(steps: Scalars, x: SSAValue) -> SSAValue:
    """The code of uint8 that is nearest to a number cut toward zero."""
    return steps.cast(steps.within(steps.cast(x, i32), 255), i8)


def _stored_as(emit: Emitter, codes: SSAValue) -> SSAValue:
    type = TensorType(CODES, shape_of(codes))
    return emit.add(StorageCastOp(codes, type)).result


def import_matmul_integer_to_float(node: NodeContext) -> None:
    """`F(F(sum) F(s_a s_b))`, and the bias."""
    sums = matmul_integer(node, stored_operand(node, 0, 4), 1, 5, "sums")
    scales = [node.real(index) for index in (2, 3)]
    _to_float(node, sums, scales, 6)


def import_dynamic_quantize_matmul(node: NodeContext) -> None:
    """DynamicQuantizeLinear, and MatMulIntegerToFloat of what it gives."""
    codes, scale, point = quantize_dynamically(
        node,
        real_operand(node, 0),
        [f"{node.result()}/{step}" for step in ("codes", "scale", "zero_point")],
    )
    sums = matmul_integer(node, (codes, point), 1, 3, "sums")
    _to_float(node, sums, [scale, node.real(2)], 4)


def _to_float(
    node: NodeContext, sums: Value, scales: Sequence[Value], bias: int
) -> None:
    more = [node.real(bias)] if node.has(bias) else []
    node.define(real_sums(node, sums, scales, more))


def real_sums(
    node: NodeContext, sums: Value, scales: Sequence[Value], more: Sequence[Value]
) -> Value:
    """`F(F(sum) F(s_a s_b))`, to which something may be added."""

    def body(nest: Nest, elements: Sequence[SSAValue]) -> SSAValue:
        total, lhs_scale, rhs_scale, *bias = elements
        real = _from_integer(nest, [total])
        scale = nest.add(arith.MulfOp(lhs_scale, rhs_scale)).result
        real = nest.add(arith.MulfOp(real, scale)).result
        for offset in bias:
            real = nest.add(arith.AddfOp(real, offset)).result
        return real

    return elementwise(node, [sums, *scales, *more], body)


IMPORTERS = {
    ("", "DynamicQuantizeLinear"): takes("x", import_dynamic_quantize, (3, 3)),
    ("", "Cast"): takes("x", import_cast),
    (MICROSOFT, "MatMulIntegerToFloat"): takes(
        "x, y, x_scale, y_scale, x_zero_point?, y_zero_point?, bias?",
        import_matmul_integer_to_float,
    ),
    (MICROSOFT, "DynamicQuantizeMatMul"): takes(
        "x, y, y_scale, y_zero_point?, bias?", import_dynamic_quantize_matmul
    ),
}
