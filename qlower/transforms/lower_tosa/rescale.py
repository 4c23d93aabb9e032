"""RESCALE, and what brings elements into a range or looks them up."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, i8, i32, i64
from xdsl.dialects.tosa import RoundingMode
from xdsl.ir import SSAValue

from qlower.dialects import tosa
from qlower.dialects.tosa.base import known_integers
from qlower.dialects.types import element_type, integer_range, shape_of
from qlower.emit.inline_rule import inline_rule
from qlower.interp.values import integer_width
from qlower.model.nests import Nest, extract, narrow, scalar_constant, widen
from qlower.transforms.lower_tosa.lowering import (
    Lowering,
    is_unsigned,
    known_number,
    signless,
)


def lower_rescale(lowering: Lowering, op: tosa.RescaleOp) -> SSAValue:
    """`saturate(apply_scale(x - input_zp) + output_zp)`, scales along the last axis."""
    nest = Nest(lowering.emit, shape_of(op.output))
    wide = i32 if bool(op.scale32) else i64
    stored = nest.input(lowering.value(op.input), range(nest.parallel))
    unsigned = bool(op.input_unsigned) or is_unsigned(op.input.type)
    x = widen(nest, stored, wide, unsigned=unsigned)
    input_zp = _zero_point("input_zp", op.input_zp, unsigned)
    if input_zp:
        offset = nest.add(scalar_constant(input_zp, wide)).result
        x = nest.add(arith.SubiOp(x, offset)).result
    constants = {
        "multiplier": _numbers("multiplier", op.multiplier, np.int32),
        "shift": _numbers("shift", op.shift, np.int64),
    }
    if bool(op.scale32):
        twice = op.rounding_mode.data == RoundingMode.DOUBLE_ROUND
        constants["double_round"] = np.array(twice)
    function = "apply_scale_32" if bool(op.scale32) else "apply_scale_16"
    scaled = lowering.inline(nest, function, {"x": x}, constants)
    unsigned = bool(op.output_unsigned) or is_unsigned(op.output.type)
    output_zp = _zero_point("output_zp", op.output_zp, unsigned)
    if output_zp:
        offset = nest.add(scalar_constant(output_zp, i32)).result
        scaled = nest.add(arith.AddiOp(scaled, offset)).result
    target = signless(element_type(op.output.type))
    return nest.build_one(narrow(nest, scaled, target, unsigned=unsigned))


def _numbers(
    name: str, value: SSAValue, dtype: type[np.int32 | np.int64]
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32 | np.int64]]:
    """A parameter: one number, or one along the last loop."""
    numbers = np.array(known_integers(name, value), dtype)
    return numbers.reshape(()) if numbers.size == 1 else numbers


def _zero_point(name: str, value: SSAValue, unsigned: bool) -> int:
    """A zero point by the sign of its tensor; constants have none."""
    number = known_number(name, value)
    if unsigned and number < 0:
        number += 1 << integer_width(value.type)
    return number


def lower_clamp(lowering: Lowering, op: tosa.ClampOp) -> SSAValue:
    """`min(max(x, min_val), max_val)`, without what the type says already."""
    element = element_type(op.output.type)
    value = lowering.value(op.input)
    if isinstance(element, AnyFloat):
        maximum, minimum = arith.MaximumfOp, arith.MinimumfOp
        low, high = -np.inf, np.inf
    else:
        maximum, minimum = arith.MaxSIOp, arith.MinSIOp
        low, high = integer_range(integer_width(element))
    least, most = op.min_val.value.data, op.max_val.value.data
    if least <= low and most >= high:
        return value
    nest = Nest(lowering.emit, shape_of(op.output))
    x: SSAValue = nest.input(value, range(nest.parallel))
    if least > low:
        x = nest.add(
            maximum(x, nest.add(scalar_constant(least, element)).result)
        ).result
    if most < high:
        x = nest.add(minimum(x, nest.add(scalar_constant(most, element)).result)).result
    return nest.build_one(x)


def lower_table(lowering: Lowering, op: tosa.TableOp) -> SSAValue:
    """An entry for each byte; of i16 a point between two entries, with 7 bits more."""
    nest = Nest(lowering.emit, shape_of(op.output))
    stored = nest.input(lowering.value(op.input1), range(nest.parallel))
    table = lowering.value(op.table)
    if element_type(op.input1.type) == i8:
        index = nest.add(arith.ExtSIOp(stored, i32)).result
        return nest.build_one(_entry(nest, table, index, 128))
    wide = nest.add(arith.ExtSIOp(stored, i32)).result
    position = lowering.step("tosa_table_position")
    index, fraction = inline_rule(position, {"input1": wide}, {}, nest)
    below, above = (
        nest.add(arith.ExtSIOp(_entry(nest, table, index, offset), i32)).result
        for offset in (256, 257)
    )
    values = {"below": below, "above": above, "fraction": fraction}
    return nest.build_one(lowering.inline(nest, "tosa_table_between", values, {}))


def _entry(nest: Nest, table: SSAValue, index: SSAValue, offset: int) -> SSAValue:
    """The table's element `index + offset`."""
    first = nest.add(scalar_constant(offset, i32)).result
    place = nest.add(arith.AddiOp(index, first)).result
    position = nest.add(arith.IndexCastOp(place, IndexType())).result
    return extract(nest, table, [position])
