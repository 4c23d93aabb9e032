"""Layers on real numbers with stored weights: codes, exact sums, and the rules.

The zero point is taken off the sums, exactly:
`sum((x - z) w) = sum(x w) - z sum(w)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i8, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr

from qlower.contracts.hybrid import hybrid_values, kind_values, ranges_of
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import inline_rule
from qlower.emit.reductions import ranges_of_rows
from qlower.emit.sums import Factor, from_zero, sum_products
from qlower.emit.tensors import constant_of
from qlower.interp.values import Array
from qlower.model.nests import Index, Nest, narrow
from qlower.transforms.lower_qnn.lowering import Lowering


@dataclass(frozen=True, slots=True)
class _Codes:
    """Numbers [rows, ...] as stored integers, with a scale [rows] and, where 0 isn't
    the code of 0, a zero point [rows]."""

    stored: SSAValue
    scale: SSAValue
    zero_point: SSAValue | None


def lower_hybrid(lowering: Lowering, op: qnn.HybridOp) -> Sequence[SSAValue]:
    """Sums of products of codes and weights, and the rule."""
    weight = op.operands[1]
    codes = _quantized(lowering, op)
    factors = Factor(codes.stored), Factor.quantized(lowering.value(weight), weight)
    zero = from_zero(lowering.emit, i32)
    sums = sum_products(lowering.emit, op.sums.without_padding(), factors, zero)
    shape = shape_of(op.results[0])
    nest = Nest(lowering.emit, shape)
    total: SSAValue = nest.input(sums, range(len(shape)))
    if codes.zero_point is not None:
        point = nest.input(codes.zero_point, [0])
        totals = nest.constant(_totals(lowering, op), i32)
        excess = nest.add(arith.MuliOp(point, totals)).result
        total = nest.add(arith.SubiOp(total, excess)).result
    runtime = {"accumulator": total, "input_scale": nest.input(codes.scale, [0])}
    if len(op.operands) > 2 and "real_bias" in lowering.contract.rule(op.kind).values:
        bias = lowering.value(op.operands[2])
        runtime["real_bias"] = nest.input(bias, [len(shape) - 1])
    result = lowering.apply_rule(nest, op.kind, runtime, hybrid_values(op))
    return nest.build([result])


def _quantized(lowering: Lowering, op: qnn.HybridOp) -> _Codes:
    """The codes of the input, with the padding of a window around it."""
    value = lowering.value(op.operands[0])
    rows, *_ = shape_of(value)
    ranges = lowering.reshape(value, ranges_of(lowering.contract, op))
    nest = Nest(lowering.emit, (rows,))
    each: list[Index] = [0] if shape_of(ranges)[0] == rows else [AffineConstantExpr(0)]
    lowest, highest = (
        nest.input(end, each) for end in ranges_of_rows(lowering.emit, ranges)
    )
    rule = lowering.contract.rule(op.range_rule)
    scale, factor, point = inline_rule(
        rule, {"lowest": lowest, "highest": highest}, kind_values(op), nest
    )
    has_point = not _is_zero(point)
    made = {"input_scale": scale, "input_factor": factor}
    if has_point:
        made["input_zero_point"] = point
    found = dict(zip(made, nest.build([*made.values()]), strict=True))
    if isinstance(op, qnn.ConvolutionOp):
        top, bottom, left, right = op.pad
        value = lowering.pad(value, (0, top, left, 0), (0, bottom, right, 0), 0)
    nest = Nest(lowering.emit, shape_of(value))
    asked = lowering.contract.rule("hybrid_code").values
    runtime: dict[str, SSAValue] = {"input": nest.input(value, range(nest.parallel))}
    for name, each_row in found.items():
        if name in asked:
            runtime[name] = nest.input(each_row, [0])
    constants = kind_values(op)
    if not has_point:
        constants["input_zero_point"] = np.zeros((), np.int32)
    code = lowering.apply_rule(nest, "hybrid_code", runtime, constants)
    stored = nest.build_one(narrow(nest, code, i8, unsigned=False))
    return _Codes(stored, found["input_scale"], found.get("input_zero_point"))


def _is_zero(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, arith.ConstantOp) and owner.value == IntegerAttr(0, i32)


def _totals(lowering: Lowering, op: qnn.HybridOp) -> Array:
    """The sums of each output channel's weights."""
    weights = constant_of(lowering.value(op.operands[1]))
    if weights is None:
        raise QlowerError(
            f"{op.name} with computed weights is not supported; expected a constant",
            op.location,
        )
    channels = 3 if isinstance(op, qnn.HybridDepthwiseConv2DOp) else 0
    axes = tuple(axis for axis in range(weights.ndim) if axis != channels)
    return weights.sum(axis=axes, dtype=np.int32)
