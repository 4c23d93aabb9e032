"""Operations on integers as circuits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith, comb, hw, math, tensor
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects import fixed
from qlower.dialects.fixed import RoundingMode
from qlower.text.hints import set_hint
from qlower.transforms.arith_to_comb.circuit import (
    Circuit,
    Wire,
    bits_of,
    signed_bits,
    type_bits,
)
from qlower.transforms.ranges import Range
from qlower.transforms.scalar_ranges import table_entries

Convert = Callable[[Circuit, Operation, Range], SSAValue]


def _modular(make: Callable[[SSAValue, SSAValue], Operation]) -> Convert:
    """A step whose low bits depend on its operands' low bits alone."""

    def convert(c: Circuit, op: Operation, range: Range) -> SSAValue:
        a, b = (c.fit(c.wire(operand), bits_of(range)) for operand in op.operands)
        return c.add(make(a, b))

    return convert


def _same(c: Circuit, op: Operation, range: Range) -> SSAValue:
    return c.fit(c.wire(op.operands[0]), bits_of(range))


def _zero_extended(c: Circuit, op: Operation, range: Range) -> SSAValue:
    return c.fit(c.modulo(op, op.operands[0]), bits_of(range))


def _extreme(predicate: str, *, signed: bool) -> Convert:
    """The operand for which the comparison with the other one holds."""

    def convert(c: Circuit, op: Operation, range: Range) -> SSAValue:
        a, b = (c.read(op, operand, signed) for operand in op.operands)
        bits = bits_of(range)
        is_below, is_above = a.range[1] <= b.range[0], a.range[0] >= b.range[1]
        if is_below or is_above:
            return c.fit(a if is_below == (predicate == "lt") else b, bits)
        holds = c.compare(a, predicate, b)
        return c.add(comb.MuxOp(holds, c.fit(a, bits), c.fit(b, bits)))

    return convert


def _compared(c: Circuit, op: Operation, range: Range) -> SSAValue:
    assert isinstance(op, arith.CmpiOp)
    name = _PREDICATES[op.predicate.value.data]
    a, b = (c.read(op, operand, name[0] != "u") for operand in op.operands)
    return c.compare(a, name[1:] if name[0] in "su" else name, b)


_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def _chosen(c: Circuit, op: Operation, range: Range) -> SSAValue:
    condition, *values = (c.wire(operand) for operand in op.operands)
    yes, no = (c.fit(value, bits_of(range)) for value in values)
    if condition.range[0] == condition.range[1]:
        return yes if condition.range[0] else no
    return c.add(comb.MuxOp(c.fit(condition, 1), yes, no))


def _amount(c: Circuit, op: Operation) -> Wire:
    """The number of bits of a shift, within the width of the type."""
    wire = c.wire(op.operands[1])
    most = type_bits(op, op.operands[0]) - 1
    low, high = max(wire.range[0], 0), min(wire.range[1], most)
    if low > high:
        raise QlowerError(f"{op.name} shifts by {wire.range[0]} or more", op.location)
    if (low, high) == wire.range:
        return wire
    if low == high:
        return c.known(low)
    return Wire(c.fit(wire, bits_of((low, high))), (low, high))


def _shifted_left(c: Circuit, op: Operation, range: Range) -> SSAValue:
    x, n, bits = c.wire(op.operands[0]), _amount(c, op), bits_of(range)
    if n.range[0] == n.range[1]:
        count = n.range[0]
        if count == 0:
            return c.fit(x, bits)
        if count >= bits:
            return c.fit(c.known(0), bits)
        return c.concat(c.fit(x, bits - count), c.fit(c.known(0), count))
    wide = max(bits, n.bits)
    shifted = c.add(comb.ShlOp(c.fit(x, wide), c.fit(n, wide)))
    return c.slice(shifted, 0, bits)


def _floor(c: Circuit, x: Wire, n: Wire, bits: int) -> SSAValue:
    """floor(x / 2^n) modulo two to the number of bits."""
    if n.range[0] == n.range[1]:
        count = n.range[0]
        if count + bits <= x.bits:
            return c.slice(x.value, count, bits)
        return c.slice(c.fit(x, count + bits), count, bits)
    wide = max(x.bits, n.bits, bits)
    kind = comb.ShrSOp if x.is_signed else comb.ShrUOp
    return c.slice(c.add(kind(c.fit(x, wide), c.fit(n, wide))), 0, bits)


def _shifted_right(c: Circuit, op: Operation, range: Range) -> SSAValue:
    unsigned = isinstance(op, arith.ShRUIOp)
    x = c.modulo(op, op.operands[0]) if unsigned else c.wire(op.operands[0])
    return _floor(c, x, _amount(c, op), bits_of(range))


def _rounded(c: Circuit, op: Operation, range: Range) -> SSAValue:
    """floor(x / 2^n), plus 1 where the bits that are dropped say so: `guard` is the
    upper one of these, `sticky` whether any other one is set."""
    assert isinstance(op, fixed.ShiftRightOp)
    x, n, bits = c.wire(op.operand), _amount(c, op), bits_of(range)
    if n.range == (0, 0):
        return c.fit(x, bits)
    floor, mode = _floor(c, x, n, bits), op.rounding.data
    guard, sticky = _dropped(c, x, n, only_guard=mode == RoundingMode.HALF_UP)
    up = _goes_up(c, mode, guard, sticky, c.slice(floor, 0, 1), _sign(c, x))
    if up is None:
        return floor
    set_hint(up, "round_up")
    more = up if bits == 1 else c.concat(c.fit(c.known(0), bits - 1), up)
    return c.add(comb.AddOp([floor, more]))


def _sign(c: Circuit, x: Wire) -> SSAValue | None:
    """Whether a number is negative; None if it never is."""
    if not x.is_signed:
        return None
    return c.slice(x.value, x.bits - 1, 1)


def _dropped(
    c: Circuit, x: Wire, n: Wire, *, only_guard: bool
) -> tuple[SSAValue, SSAValue | None]:
    """The upper bit that is dropped, and whether any below it is set; None if there is
    none below it, or with `only_guard`."""
    if n.range[0] == n.range[1]:
        count = n.range[0]
        inside = x.value if count <= x.bits else c.fit(x, count)
        guard = c.slice(inside, count - 1, 1)
        if count == 1 or only_guard:
            return guard, None
        rest = c.fit(x, count - 1)
        zero = c.fit(c.known(0), count - 1)
        return guard, c.add(comb.ICmpOp(rest, zero, "ne"))
    # With a zero below, bit n is the guard, and the bits below it are the others.
    wide = max(n.range[1] + 1, n.bits)
    doubled = c.concat(c.fit(x, wide - 1), c.fit(c.known(0), 1))
    amount = c.fit(n, wide)
    guard = c.slice(c.add(comb.ShrUOp(doubled, amount)), 0, 1)
    if only_guard:
        return guard, None
    one, ones = c.fit(c.known(1), wide), c.fit(c.known(-1), wide)
    power = c.add(comb.ShlOp(one, amount))
    mask = c.add(comb.AddOp([power, ones]))
    rest = c.add(comb.AndOp([doubled, mask]))
    sticky = c.add(comb.ICmpOp(rest, c.fit(c.known(0), wide), "ne"))
    return guard, sticky


def _goes_up(
    c: Circuit,
    mode: RoundingMode,
    guard: SSAValue,
    sticky: SSAValue | None,
    odd: SSAValue,
    negative: SSAValue | None,
) -> SSAValue | None:
    """Whether the floor is not the result; None for never."""

    def either(*bits: SSAValue | None) -> SSAValue | None:
        known = [bit for bit in bits if bit is not None]
        return c.add(comb.OrOp(known)) if len(known) > 1 else (known or [None])[0]

    def both(a: SSAValue, b: SSAValue | None) -> SSAValue | None:
        return None if b is None else c.add(comb.AndOp([a, b]))

    def opposite(bit: SSAValue) -> SSAValue:
        return c.add(comb.XorOp([bit, c.fit(c.known(1), 1)]))

    match mode:
        case RoundingMode.CEIL:
            return either(guard, sticky)
        case RoundingMode.TOWARD_ZERO:
            dropped = either(guard, sticky)
            assert dropped is not None
            return both(dropped, negative)
        case RoundingMode.HALF_UP:
            return guard
        case RoundingMode.HALF_DOWN:
            return both(guard, sticky)
        case RoundingMode.HALF_EVEN:
            return both(guard, either(sticky, odd))
        case RoundingMode.HALF_AWAY:
            if negative is None:
                return guard
            return both(guard, either(sticky, opposite(negative)))
        case RoundingMode.HALF_TOWARD_ZERO:
            return both(guard, either(sticky, negative))
        case RoundingMode.FLOOR:
            return None


def _saturated(c: Circuit, op: Operation, range: Range) -> SSAValue:
    assert isinstance(op, fixed.SaturateOp)
    return c.fit(c.clamped(c.wire(op.operands[0]), *op.bounds), bits_of(range))


def _divided(*, signed: bool, remainder: bool) -> Convert:
    """A quotient toward zero, or what is left of it."""

    def convert(c: Circuit, op: Operation, range: Range) -> SSAValue:
        a, b = (c.read(op, operand, signed) for operand in op.operands)
        if a.is_signed or b.is_signed:
            bits = max(map(signed_bits, (a.range, b.range, range)))
            kind = comb.ModSOp if remainder else comb.DivSOp
        else:
            bits = max(map(bits_of, (a.range, b.range, range)))
            kind = comb.ModUOp if remainder else comb.DivUOp
        found = c.add(kind(c.fit(a, bits), c.fit(b, bits)))
        return c.slice(found, 0, bits_of(range))

    return convert


def _magnitude(c: Circuit, op: Operation, range: Range) -> SSAValue:
    x, bits = c.wire(op.operands[0]), bits_of(range)
    same, sign = c.fit(x, bits), _sign(c, x)
    if sign is None:
        return same
    negated = c.add(comb.SubOp(c.fit(c.known(0), bits), same))
    return c.add(comb.MuxOp(sign, negated, same))


def _leading_zeros(c: Circuit, op: Operation, range: Range) -> SSAValue:
    x, bits = c.modulo(op, op.operands[0]), bits_of(range)
    width = type_bits(op, op.operands[0])
    found = c.fit(c.known(width), bits)
    for bit in _counted(x.bits):
        number = c.fit(c.known(width - 1 - bit), bits)
        found = c.add(comb.MuxOp(c.slice(x.value, bit, 1), number, found))
    return found


def _counted(count: int) -> Sequence[int]:
    return tuple(range(count))


def _entry(c: Circuit, op: Operation, range: Range) -> SSAValue:
    """An entry of a table, which has the entries up to the largest index."""
    assert isinstance(op, tensor.ExtractOp)
    entries = table_entries(op.tensor)
    if entries is None or len(op.indices) != 1:
        raise QlowerError(
            "a circuit's table is a constant list of integers", op.location
        )
    index = c.wire(op.indices[0])
    low, high = max(index.range[0], 0), min(index.range[1], len(entries) - 1)
    if low >= high:
        return c.fit(c.known(entries[min(low, len(entries) - 1)]), bits_of(range))
    bits = bits_of(range)
    numbers = [c.fit(c.known(one), bits) for one in reversed(entries[: high + 1])]
    table = c.add(hw.ArrayCreateOp(*numbers))
    return c.add(hw.ArrayGetOp(table, c.fit(index, high.bit_length())))


_STEPS: Mapping[type[Operation], Convert] = {
    arith.AddiOp: _modular(lambda a, b: comb.AddOp([a, b])),
    arith.SubiOp: _modular(comb.SubOp),
    arith.MuliOp: _modular(lambda a, b: comb.MulOp([a, b])),
    arith.AndIOp: _modular(lambda a, b: comb.AndOp([a, b])),
    arith.OrIOp: _modular(lambda a, b: comb.OrOp([a, b])),
    arith.XOrIOp: _modular(lambda a, b: comb.XorOp([a, b])),
    arith.DivSIOp: _divided(signed=True, remainder=False),
    arith.DivUIOp: _divided(signed=False, remainder=False),
    arith.RemSIOp: _divided(signed=True, remainder=True),
    arith.RemUIOp: _divided(signed=False, remainder=True),
    arith.MinSIOp: _extreme("lt", signed=True),
    arith.MaxSIOp: _extreme("gt", signed=True),
    arith.MinUIOp: _extreme("lt", signed=False),
    arith.MaxUIOp: _extreme("gt", signed=False),
    arith.CmpiOp: _compared,
    arith.SelectOp: _chosen,
    arith.ShLIOp: _shifted_left,
    arith.ShRSIOp: _shifted_right,
    arith.ShRUIOp: _shifted_right,
    arith.ExtSIOp: _same,
    arith.ExtUIOp: _zero_extended,
    arith.TruncIOp: _same,
    arith.IndexCastOp: _same,
    fixed.ShiftRightOp: _rounded,
    fixed.SaturateOp: _saturated,
    math.AbsIOp: _magnitude,
    math.CountLeadingZerosOp: _leading_zeros,
    tensor.ExtractOp: _entry,
}
"""The circuit of each operation; others are refused."""


def append_step(circuit: Circuit, op: Operation) -> None:
    """Append what an operation of the function does."""
    if isinstance(op, arith.ConstantOp):
        return  # made where it is used
    (result,) = op.results
    convert = _STEPS.get(type(op))
    is_known = all(one in circuit.ranges for one in (*op.operands[:1], result))
    if convert is None or not (is_known or isinstance(op, tensor.ExtractOp)):
        raise QlowerError(f"{op.name} is no step of a circuit of integers", op.location)
    range = circuit.ranges[result]
    if range[0] == range[1]:
        return
    found = convert(circuit, op, range)
    assert found.type == IntegerType(bits_of(range))
    if found.name_hint is None and not isinstance(found.owner, Block):
        set_hint(found, result.name_hint)
    circuit.wires[result] = Wire(found, range)
