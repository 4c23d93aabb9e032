"""A region's scalar operations as LLVM values, at any number of lanes.

One table, from op name to builder, is all that native code knows of arithmetic. A value
that is the same in all lanes stays a scalar until it meets one that is not.

The file is long because the table is one: a short builder for each operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Operation, Region, SSAValue

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import FLOAT, I1, I32, I64, Type, Value, constant
from qlower.codegen.targets.resolve import Target
from qlower.codegen.values import byte_tables, division, fixed_point, rounding
from qlower.codegen.values.bounds import (
    largest_magnitude,
    magnitude_unless_nan,
    of_arguments,
)
from qlower.codegen.values.elements import load_lanes, scalar_type
from qlower.codegen.values.facts import loop_of
from qlower.codegen.values.neighbours import (
    before_clamps,
    is_extended,
    is_limit,
    is_of_line,
    is_zero_point,
)
from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import ConvertOp, ShiftRightOp
from qlower.dialects.types import tensor_type


@dataclass(frozen=True)
class Context:
    """The surroundings of a region.

    `index` gives the current index of a loop, `tables` the addresses of whole tensors.
    """

    function: Function
    target: Target
    index: Callable[[int], Value]
    tables: Mapping[SSAValue, Value]


def emit_region(
    context: Context,
    region: Region,
    arguments: Sequence[Value | None],
    magnitudes: Sequence[float],
) -> list[Value]:
    """The values that the region yields for `arguments`.

    An argument that the region does not use may be None. No integer among the first
    arguments is greater than its entry of `magnitudes`.
    """
    block = region.block
    operations = tuple(block.ops)

    def write() -> list[Value]:
        values, bounds = of_arguments(block, arguments, magnitudes)
        emitter = _Emitter(context, values, bounds)
        for op in operations[:-1]:
            emitter.emit(op)
        return [values[operand] for operand in operations[-1].operands]

    if any(op.name == "kernel.index" for op in operations):
        return write()
    used = [value for value in arguments if value is not None]
    return context.function.again((region, *magnitudes), used, write)


def without_code(region: Region) -> list[QlowerError]:
    """An error for each operation of a region that has no native code."""
    *operations, _ = region.block.ops
    return [_without_code(op) for op in operations if op.name not in BUILDERS]


def _without_code(op: Operation) -> QlowerError:
    return QlowerError(
        f"no native code for operation {op.name} inside a loop nest",
        op.location,
        help="the interpreter computes it: qlower run --executor interp",
    )


class _Emitter:
    def __init__(
        self,
        context: Context,
        values: dict[SSAValue, Value],
        bounds: dict[SSAValue, float],
    ):
        self.context = context
        self.f = context.function
        self.values = values
        self.bounds = bounds
        self.unless_nan = dict(bounds)

    def emit(self, op: Operation) -> None:
        builder = BUILDERS.get(op.name)
        if builder is None:
            raise _without_code(op)
        operands = [
            self.values[operand]
            for operand in op.operands
            if not isinstance(operand.type, TensorType)
        ]
        lanes = max((value.type.lanes for value in operands), default=1)
        operands = [self.f.splat(value, lanes) for value in operands]
        self.values[op.results[0]] = builder(self, op, operands)


Builder = Callable[[_Emitter, Operation, list[Value]], Value]


def _scalar(op: Operation) -> str:
    return scalar_type(op.results[0].type)


def _binary(opcode: str) -> Builder:
    return lambda e, op, v: e.f.binary(opcode, *v)


def _intrinsic(name: str) -> Builder:
    return lambda e, op, v: e.f.intrinsic(name, *v)


def _cast(opcode: str) -> Builder:
    return lambda e, op, v: e.f.cast(opcode, v[0], _scalar(op))


def _from_integer(opcode: str) -> Builder:
    return lambda e, op, v: rounding.from_integer(
        e.f, e.context.target, opcode, v[0], _scalar(op)
    )


def _round(mode: str) -> Builder:
    return lambda e, op, v: rounding.round_float(e.f, e.context.target, mode, v[0])


def _extreme(name: str) -> Builder:
    return lambda e, op, v: rounding.extreme(e.f, e.context.target, name, *v)


def _constant(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    assert isinstance(op, arith.ConstantOp)
    type = Type(_scalar(op))
    match op.value:
        case IntegerAttr(value=value) if type == I32 and _may_differ(op):
            return e.f.number(value.data)
        case FloatAttr(value=value) if type == FLOAT and is_of_line(op):
            return e.f.float_number(value.data)
        case IntegerAttr(value=value) | FloatAttr(value=value):
            return constant(type, value.data)
        case _:
            raise QlowerError("a constant in a loop nest must be a number", op.location)


def _may_differ(number: arith.ConstantOp) -> bool:
    return is_zero_point(number) or is_limit(number)


def _divide(opcode: str) -> Builder:
    def build(e: _Emitter, op: Operation, v: list[Value]) -> Value:
        a, b = (largest_magnitude(operand, e.bounds) for operand in op.operands)
        return division.divide(e.f, opcode, v[0], v[1], a, b)

    return build


_INTEGER_PREDICATES = arith.CMPI_COMPARISON_OPERATIONS
_FLOAT_PREDICATES = arith.CMPF_COMPARISON_OPERATIONS


def _compare(predicates: Sequence[str]) -> Builder:
    def build(e: _Emitter, op: Operation, v: list[Value]) -> Value:
        predicate = op.properties["predicate"]
        assert isinstance(predicate, IntegerAttr)
        return e.f.compare(predicates[predicate.value.data], *v)

    return build


def _index_cast(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    scalar = _scalar(op)
    narrower = Type(scalar).bits < v[0].type.bits
    return e.f.cast("trunc" if narrower else "sext", v[0], scalar)


def _fused(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    if v[0].type.scalar == "double" and not e.context.target.fuses:
        raise QlowerError(
            f"math.fma on f64 needs a target with FMA, {e.context.target.cpu} has none",
            op.location,
            help="choose one that has it with --cpu or --features",
        )
    return rounding.fused_multiply_add(e.f, e.context.target, v[0], v[1], v[2])


def _root(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    if not e.context.target.has_roots:
        raise QlowerError(
            f"math.sqrt needs an instruction, which {e.context.target.cpu} lacks",
            op.location,
        )
    return e.f.intrinsic("sqrt", v[0])


def _with_flag(name: str) -> Builder:
    """An intrinsic whose second argument says that some input is poison: never."""

    def build(e: _Emitter, op: Operation, v: list[Value]) -> Value:
        type = v[0].type
        return e.f.call(f"llvm.{name}.{type.mangled}", type, (v[0], constant(I1, 0)))

    return build


def _loop_index(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    return e.context.index(loop_of(op))


def _extract(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    """An element of a table: one load, or one a lane.

    Indices are clamped into the table, so that no lane can read outside of it.
    """
    table = op.operands[0]
    codes = byte_tables.table_codes(op, e.context.target)
    if codes is not None:
        address = e.context.tables[table]
        return byte_tables.look_up(e.f, e.context.target, address, e.values[codes])
    type = tensor_type(table)
    scalar = scalar_type(type.element_type)
    offset = constant(I64, 0)
    for index, size in zip(v, type.get_shape(), strict=True):
        inside = e.f.intrinsic("umin", index, constant(index.type, size - 1))
        outer = e.f.splat(offset, index.type.lanes)
        scaled = e.f.binary("mul", outer, constant(index.type, size))
        offset = e.f.binary("add", scaled, inside)
    return load_lanes(e.f, e.context.tables[table], offset, scalar)


def _shift_right(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    done = fixed_point.shift_right(e.f, e.context.target, _mode(op), v[0], v[1])
    if done is not None:
        return done
    magnitude = largest_magnitude(op.operands[0], e.bounds)
    return rounding.shift_right(e.f, _mode(op), v[0], v[1], magnitude)


def _convert(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    target, scalar = e.context.target, _scalar(op)
    done = fixed_point.convert_float(e.f, target, _mode(op), v[0], scalar)
    if done is not None:
        return done
    magnitude = largest_magnitude(op.operands[0], e.bounds)
    is_number = math.isfinite(magnitude)
    if not is_number:
        magnitude = magnitude_unless_nan(op.operands[0], e.unless_nan)
    return rounding.convert_float(
        e.f, target, _mode(op), v[0], scalar, magnitude, is_number=is_number
    )


def _saturate(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    unsigned = isinstance(op.properties.get("unsigned"), UnitAttr)
    scalar = _scalar(op)
    done = _multiply_high(e, op, v[0].type.lanes)
    if done is not None:
        return done
    limit = 1 << (Type(scalar).bits - 1)
    if not unsigned and largest_magnitude(op.operands[0], e.bounds) < limit:
        return e.f.cast("trunc", v[0], scalar)
    low = 0 if unsigned else -limit
    source, clamps = before_clamps(op.operands[0])
    x = e.f.splat(e.values[source], v[0].type.lanes)
    result = None
    if not is_extended(op.results[0]):
        result = fixed_point.saturate(
            e.f, e.context.target, x, scalar, unsigned=unsigned
        )
    if result is None:
        result = rounding.saturate(e.f, x, scalar, unsigned=unsigned)
    # saturation is monotone: the clamps may follow it, on more lanes a vector
    for is_high, bound in clamps:
        bound = min(max(bound, low), low + 2 * limit - 1)
        if bound != (low + 2 * limit - 1 if is_high else low):
            name = f"{'u' if unsigned else 's'}{'min' if is_high else 'max'}"
            result = e.f.intrinsic(name, result, constant(result.type, bound))
    return result


def _multiply_high(e: _Emitter, op: Operation, lanes: int) -> Value | None:
    """The saturation, its shift and its product as one instruction."""
    found = fixed_point.doubling_product(op, e.bounds)
    if found is None:
        return None
    mode, *wide = found
    scalar = _scalar(op)
    factors: list[Value] = []
    for factor in wide:
        narrow = fixed_point.extended_from(factor, Type(scalar).bits)
        value = e.values[narrow or factor]
        factors.append(e.f.splat(e.f.cast("trunc", value, scalar), lanes))
    return fixed_point.multiply_high(e.f, e.context.target, mode, *factors)


def _pair_dot(e: _Emitter, op: Operation, v: list[Value]) -> Value:
    """Two products of bytes, each exact in 17 bits, summed and saturated to 16."""
    a0, b0, a1, b1 = v
    first, second = (
        e.f.binary("mul", e.f.cast("zext", a, "i32"), e.f.cast("sext", b, "i32"))
        for a, b in ((a0, b0), (a1, b1))
    )
    total = e.f.binary("add", first, second)
    return rounding.saturate(e.f, total, "i16", unsigned=False)


def _mode(op: Operation) -> str:
    assert isinstance(op, ShiftRightOp | ConvertOp)
    return op.rounding.data.value


BUILDERS: dict[str, Builder] = {
    "arith.constant": _constant,
    "arith.addi": _binary("add"),
    "arith.subi": _binary("sub"),
    "arith.muli": _binary("mul"),
    "arith.divsi": _divide("sdiv"),
    "arith.divui": _divide("udiv"),
    "arith.remsi": _divide("srem"),
    "arith.remui": _divide("urem"),
    "arith.andi": _binary("and"),
    "arith.ori": _binary("or"),
    "arith.xori": _binary("xor"),
    "arith.shli": _binary("shl"),
    "arith.shrsi": _binary("ashr"),
    "arith.shrui": _binary("lshr"),
    "arith.minsi": _intrinsic("smin"),
    "arith.maxsi": _intrinsic("smax"),
    "arith.minui": _intrinsic("umin"),
    "arith.maxui": _intrinsic("umax"),
    "arith.extsi": _cast("sext"),
    "arith.extui": _cast("zext"),
    "arith.trunci": _cast("trunc"),
    "arith.index_cast": _index_cast,
    "arith.cmpi": _compare(_INTEGER_PREDICATES),
    "arith.cmpf": _compare(_FLOAT_PREDICATES),
    "arith.select": lambda e, op, v: e.f.select(v[0], v[1], v[2]),
    "arith.addf": _binary("fadd"),
    "arith.subf": _binary("fsub"),
    "arith.mulf": _binary("fmul"),
    "arith.divf": _binary("fdiv"),
    "arith.negf": lambda e, op, v: e.f.unary("fneg", v[0]),
    "arith.minimumf": _extreme("minimum"),
    "arith.maximumf": _extreme("maximum"),
    "arith.sitofp": _from_integer("sitofp"),
    "arith.uitofp": _from_integer("uitofp"),
    "arith.extf": _cast("fpext"),
    "arith.truncf": _cast("fptrunc"),
    "arith.bitcast": lambda e, op, v: e.f.bitcast(v[0], v[0].type.of(_scalar(op))),
    "math.fma": _fused,
    "math.floor": _round("floor"),
    "math.ceil": _round("ceil"),
    "math.trunc": _round("trunc"),
    "math.round": _round("round"),
    "math.roundeven": _round("roundeven"),
    "math.sqrt": _root,
    "math.absf": _intrinsic("fabs"),
    "math.absi": _with_flag("abs"),
    "math.ctlz": _with_flag("ctlz"),
    "math.copysign": _intrinsic("copysign"),
    "fixed.shift_right": _shift_right,
    "fixed.convert": _convert,
    "fixed.saturate": _saturate,
    "fixed.pair_dot": _pair_dot,
    "kernel.index": _loop_index,
    "tensor.extract": _extract,
}
"""Everything that native code can compute."""
