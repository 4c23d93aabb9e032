"""Rounding steps that are one instruction of the target, on vectors of its width.

Every function gives None where there is no such instruction, or the vector has too few
lanes for it: `rounding` and LLVM then have a sequence that gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I32, Type, Value, constant, zero
from qlower.codegen.targets.resolve import Packs, Target
from qlower.codegen.values.bounds import constant_value, largest_magnitude
from qlower.codegen.values.elements import scalar_type
from qlower.dialects.fixed import SaturateOp, ShiftRightOp

_LANE_BITS = frozenset((8, 16, 32, 64))
"""Bits of the lanes that vector registers have."""


def doubling_product(
    op: Operation, bounds: dict[SSAValue, float]
) -> tuple[str, SSAValue, SSAValue] | None:
    """Whether a saturation is that of a product's upper half: its rounding and factors.

    That is sat(round(a b / 2^(n-1))) of two factors of n bits, n the result's width, in
    any type that holds the product. Factors may have that type, if they are so small.
    """
    if not isinstance(op, SaturateOp) or op.unsigned_attr is not None:
        return None
    bits, shift = _bits(op.result), op.operand.owner
    if not isinstance(shift, ShiftRightOp) or constant_value(shift.amount) != bits - 1:
        return None
    product = shift.operands[0].owner
    if not isinstance(product, arith.MuliOp) or _bits(op.operand) < 2 * bits:
        return None
    for factor in product.operands:
        is_small = largest_magnitude(factor, bounds) < 1 << (bits - 1)
        if not is_small and extended_from(factor, bits) is None:
            return None
    return shift.rounding.data.value, product.lhs, product.rhs


def extended_from(value: SSAValue, bits: int) -> SSAValue | None:
    """The number of `bits` bits that `value` extends, if it extends one."""
    owner = value.owner
    if isinstance(owner, arith.ExtSIOp):
        narrow = owner.operands[0]
        if _bits(narrow) == bits:
            return narrow
    return None


def _bits(value: SSAValue) -> int:
    return Type(scalar_type(value.type)).bits


def multiply_high(
    f: Function, target: Target, mode: str, a: Value, b: Value
) -> Value | None:
    """sat(round(a b / 2^(n-1)))."""
    known = target.fixed_point
    if known is None or mode not in known.multiply_high or a.type.bits not in (16, 32):
        return None
    return _on_registers(f, target, known.multiply_high[mode], a.type, (a, b))


def shift_right(
    f: Function, target: Target, mode: str, x: Value, amount: Value
) -> Value | None:
    """round(x / 2^amount), ties up or away from zero."""
    known = target.fixed_point
    if known is None or mode not in ("half_up", "half_away"):
        return None
    if not _fills_registers(target, x.type):
        return None
    amount = f.splat(amount, x.type.lanes)
    left = f.binary("sub", zero(amount.type), amount)
    if amount.constant is not None:
        left = constant(amount.type, -amount.constant)
    if mode == "half_away":
        # a tie below zero goes down when the number is one less; nothing else changes
        less = f.binary(
            "ashr", f.binary("and", x, left), constant(x.type, x.type.bits - 1)
        )
        x = f.intrinsic("sadd.sat", x, less)
    flags = [constant(I32, flag) for flag in known.shift_flags]
    return _on_registers(f, target, known.rounding_shift, x.type, (x, left), flags)


def saturate(
    f: Function, target: Target, x: Value, scalar: str, *, unsigned: bool
) -> Value | None:
    """The signed x clamped to the range of the narrower `scalar`."""
    known = target.fixed_point
    bits, wanted = x.type.bits, Type(scalar).bits
    if not {bits, wanted} <= _LANE_BITS:
        return None
    if target.packs is not None:
        return _pack(f, target, target.packs, x, wanted, unsigned=unsigned)
    if known is None or known.narrow is None or known.narrow_unsigned is None:
        return None
    if not _fills_registers(target, x.type.of(f"i{2 * wanted}")):
        return None
    while bits > wanted:
        is_last = bits == 2 * wanted
        name = known.narrow_unsigned if unsigned and is_last else known.narrow
        narrowed = x.type.of(f"i{bits // 2}")
        # a register is narrowed to half of one, whose other half may be anything
        padded = f.concatenate(x, x) if x.type.lanes * bits == 64 else x
        done = _on_registers(
            f, target, name, padded.type.of(narrowed.scalar), (padded,)
        )
        assert done is not None
        x = f.shuffle(done, range(narrowed.lanes))
        bits //= 2
    return x


def _pack(
    f: Function, target: Target, packs: Packs, x: Value, wanted: int, *, unsigned: bool
) -> Value | None:
    """`saturate` for two registers or more, that make one or less."""
    last = packs.unsigned if unsigned else packs.signed
    whole, bits = target.vector_bits, x.type.bits
    count, rest = divmod(x.type.lanes * bits, whole)
    if bits > 32 or wanted not in last or rest or not 2 <= count <= bits // wanted:
        return None
    lanes = whole // bits
    parts = [
        f.shuffle(x, range(first, first + lanes))
        for first in range(0, x.type.lanes, lanes)
    ]
    while bits > wanted:
        bits //= 2
        name = (last if bits == wanted else packs.signed)[bits]
        type = Type(f"i{bits}", whole // bits)
        pairs = zip(parts[::2], parts[1::2] or parts, strict=True)
        parts = [f.call(name, type, pair) for pair in pairs]
    # each 128 bits have an equal part of what comes from every register
    parts_of_segment = x.type.bits // wanted
    unit = Type(f"i{128 // parts_of_segment}", whole // 128 * parts_of_segment)
    order = [
        segment * parts_of_segment + part
        for part in range(count)
        for segment in range(whole // 128)
    ]
    ordered = f.shuffle(f.bitcast(parts[0], unit), order)
    return f.bitcast(ordered, Type(f"i{wanted}", x.type.lanes))


def convert_float(
    f: Function, target: Target, mode: str, x: Value, scalar: str
) -> Value | None:
    """`x` rounded by the named mode, saturated to the signed range of `scalar`."""
    known = target.fixed_point
    wide = x.type.of(f"i{x.type.bits}")
    bits = Type(scalar).bits
    is_single = x.type.scalar == "float" and bits <= wide.bits
    if target.to_nearest is not None and mode == "half_even" and is_single:
        return _to_nearest(f, target.to_nearest, x, Type(scalar))
    if known is None or mode not in known.convert:
        return None
    if bits > wide.bits or bits not in _LANE_BITS:
        return None
    integer = _on_registers(f, target, known.convert[mode], wide, (x,))
    if integer is None or integer.type.scalar == scalar:
        return integer
    return saturate(f, target, integer, scalar, unsigned=False)


def _to_nearest(f: Function, intrinsic: str, x: Value, scalar: Type) -> Value:
    """Each lane of float32 by an instruction that saturates to i32, and then on."""
    wide, limit = Type("i32"), 1 << (scalar.bits - 1)
    lanes: list[Value] = []
    for lane in range(x.type.lanes):
        converted = f.call(intrinsic, Type("float"), [f.extract(x, lane)])
        number = f.bitcast(converted, wide)
        if scalar.bits < wide.bits:
            number = f.intrinsic("smax", number, constant(wide, -limit))
            number = f.intrinsic("smin", number, constant(wide, limit - 1))
            number = f.cast("trunc", number, scalar.scalar)
        lanes.append(number)
    return f.join(lanes)


def _fills_registers(target: Target, type: Type) -> bool:
    """Whether the vector is made of whole registers, or of halves of them that
    instructions take."""
    if type.lanes == 1 or type.bits not in _LANE_BITS:
        return False
    known, parts = target.fixed_point, 2
    if known is not None:
        if type.bits > known.widest:
            return False
        parts = 2 if known.takes_halves else 1
    return type.lanes * type.bits * parts % target.vector_bits == 0


def _on_registers(
    f: Function,
    target: Target,
    intrinsic: str,
    result: Type,
    operands: Sequence[Value],
    flags: Sequence[Value] = (),
) -> Value | None:
    """The intrinsic on each register of operands with the same number of lanes, and on
    flags that follow them."""
    widest = max((operand.type for operand in operands), key=lambda type: type.bits)
    if not _fills_registers(target, widest):
        return None
    lanes = min(widest.lanes, target.vector_bits // widest.bits)
    part = Type(result.scalar, lanes)
    name = f"{intrinsic}.{part.mangled}"
    if flags:
        name += f".{part.mangled}"
    if operands[0].type.is_float:
        name += f".{Type(operands[0].type.scalar, lanes).mangled}"
    parts = [
        f.call(
            name,
            part,
            [*(f.shuffle(x, range(first, first + lanes)) for x in operands), *flags],
        )
        for first in range(0, widest.lanes, lanes)
    ]
    return f.concatenate_all(parts)
