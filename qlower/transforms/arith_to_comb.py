"""Turns scalar functions of integers into circuits: `hw.module` with `comb` operations.

Each value gets no more bits than the integers it can be need (`scalar_ranges`): it is
unsigned where none of them is negative. A sum, difference or product is computed modulo
two to that width, which is exact; so are the operands' missing bits. A step that may
wrap has the bits of its type. Steps in floats are refused.

What isn't defined by the arith level (a shift by the width or more, a division by 0)
must not be asked of the circuit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, comb, func, hw, math, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from qlower.diagnostics import QlowerError
from qlower.dialects import fixed
from qlower.dialects.fixed import RoundingMode
from qlower.text.hints import set_hint
from qlower.transforms.ranges import Range, width_of
from qlower.transforms.scalar_ranges import function_ranges, table_entries

PORTS = "qlower.ports"
"""The attribute of a module with the integers of each port, `[low, high]`: the port is
signed if `low` is negative."""

RESULT = "result"
"""The output of a function with one result; of more they are numbered."""


def bits_of(range: Range) -> int:
    """The bits of the narrowest integer that holds all of a range, unsigned where none
    is negative; at least 1."""
    low, high = range
    if low >= 0:
        return max(high.bit_length(), 1)
    return max(high.bit_length(), (~low).bit_length()) + 1


def signed_bits(range: Range) -> int:
    """The bits of the narrowest signed integer that holds all of a range."""
    return bits_of(range) + (range[0] >= 0)


@dataclass(frozen=True)
class Wire:
    """A value of the circuit, of `bits_of` its range."""

    value: SSAValue
    range: Range

    @property
    def bits(self) -> int:
        """Its width."""
        return bits_of(self.range)

    @property
    def is_signed(self) -> bool:
        """Whether its top bit is a sign."""
        return self.range[0] < 0


class ArithToCombPass(ModulePass):
    """Scalar functions of integers as circuits whose widths are proved."""

    name = "arith-to-comb"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in tuple(op.body.block.ops):
            if isinstance(function, func.FuncOp):
                block = op.body.block
                block.insert_op_before(to_comb(function), function)
                block.detach_op(function)
                function.erase()


def to_comb(function: func.FuncOp) -> hw.HWModuleOp:
    """The circuit of a function, whose ports are named after its arguments.

    Raises `QlowerError` at an operation that is no step of a circuit.
    """
    name = function.sym_name.data
    if function.is_declaration or len(function.body.blocks) != 1:
        raise QlowerError(f"function {name} is no straight line", function.location)
    ranges = function_ranges(function)
    block = Block()
    work = _Circuit(block, ranges)
    ports: list[hw.ModulePort] = []
    limits: dict[str, Attribute] = {}

    def port(own: str, range: Range, direction: hw.Direction) -> None:
        type = IntegerType(bits_of(range))
        attribute = hw.DirectionAttr(direction)
        ports.append(hw.ModulePort(StringAttr(own), type, attribute))
        limits[own] = DenseArrayBase.from_list(i64, list(range))

    for index, argument in enumerate(function.args):
        if argument not in ranges:
            raise QlowerError(
                f"function {name} takes {argument.type}, a circuit has integers only",
                function.location,
            )
        range = ranges[argument]
        own = argument.name_hint or f"in{index}"
        port(own, range, hw.Direction.INPUT)
        value = block.insert_arg(IntegerType(bits_of(range)), index)
        set_hint(value, own)
        work.wires[argument] = Wire(value, range)
    outputs: Sequence[Wire] = ()
    for op in function.body.block.ops:
        if isinstance(op, func.ReturnOp):
            outputs = [work.wire(operand) for operand in op.operands]
        else:
            work.step(op)
    for index, wire in enumerate(outputs):
        own = RESULT if len(outputs) == 1 else f"{RESULT}{index}"
        port(own, wire.range, hw.Direction.OUTPUT)
    block.add_op(hw.OutputOp([wire.value for wire in outputs]))
    for op in reversed(tuple(block.ops)):
        if op.results and not op.results[0].uses:
            block.erase_op(op)
    module = hw.HWModuleOp(
        StringAttr(name), hw.ModuleType(ArrayAttr(ports)), Region(block)
    )
    module.attributes[PORTS] = DictionaryAttr(limits)
    module.location = function.location
    return module


class _Circuit:
    """The operations of a circuit, under construction."""

    def __init__(self, block: Block, ranges: Mapping[SSAValue, Range]) -> None:
        self._block, self._ranges = block, ranges
        self.wires: dict[SSAValue, Wire] = {}
        self._constants: dict[tuple[int, int], SSAValue] = {}
        self._known: dict[object, SSAValue] = {}

    def wire(self, value: SSAValue) -> Wire:
        """The wire of a value of the function; a constant where it is one number."""
        if value not in self.wires:
            range = self._ranges[value]
            self.wires[value] = Wire(self._number(range[0], bits_of(range)), range)
        return self.wires[value]

    def step(self, op: Operation) -> None:
        """Append what an operation of the function does."""
        if isinstance(op, arith.ConstantOp):
            return  # made where it is used
        (result,) = op.results
        convert = _STEPS.get(type(op))
        is_known = all(one in self._ranges for one in (*op.operands[:1], result))
        if convert is None or not (is_known or isinstance(op, tensor.ExtractOp)):
            raise QlowerError(
                f"{op.name} is no step of a circuit of integers", op.location
            )
        range = self._ranges[result]
        if range[0] == range[1]:
            return
        found = convert(self, op, range)
        assert found.type == IntegerType(bits_of(range))
        if found.name_hint is None and not isinstance(found.owner, Block):
            set_hint(found, result.name_hint)
        self.wires[result] = Wire(found, range)

    def add(self, op: Operation) -> SSAValue:
        """Append an operation, unless the same one is there; its result."""
        (result,) = op.results
        key = type(op), tuple(op.operands), tuple(op.properties.values()), result.type
        if key in self._known:
            op.drop_all_references()
            return self._known[key]
        self._block.add_op(op)
        self._known[key] = result
        return result

    def _number(self, value: int, bits: int) -> SSAValue:
        """A constant, modulo two to its width."""
        key = value % (1 << bits), bits
        if key not in self._constants:
            attribute = IntegerAttr(value, IntegerType(bits), truncate_bits=True)
            op = hw.ConstantOp(attribute.value, bits)
            self._constants[key] = op.result
            first = self._block.first_op
            if first is None:
                self._block.add_op(op)
            else:
                self._block.insert_op_before(op, first)
        return self._constants[key]

    def slice(self, value: SSAValue, low: int, bits: int) -> SSAValue:
        """Some bits of a value."""
        type = value.type
        assert isinstance(type, IntegerType)
        assert low + bits <= type.bitwidth
        if bits == type.bitwidth:
            return value
        attribute = IntegerAttr(low, i32)
        return self.add(comb.ExtractOp(value, attribute, IntegerType(bits)))

    def concat(self, *parts: SSAValue) -> SSAValue:
        """Values side by side, the upper one first."""
        op = comb.ConcatOp.from_int_values(parts)
        assert op is not None
        return self.add(op)

    def fit(self, wire: Wire, bits: int) -> SSAValue:
        """A wire modulo two to the number of bits, with zeros or its sign on top."""
        if wire.range[0] == wire.range[1]:
            return self._number(wire.range[0], bits)
        if bits <= wire.bits:
            return self.slice(wire.value, 0, bits)
        more = bits - wire.bits
        if not wire.is_signed:
            return self.concat(self._number(0, more), wire.value)
        sign = self.slice(wire.value, wire.bits - 1, 1)
        if more > 1:
            sign = self.add(comb.ReplicateOp(sign, IntegerType(more)))
        return self.concat(sign, wire.value)

    def compare(self, a: Wire, predicate: str, b: Wire) -> SSAValue:
        """A signed comparison, `lt`, `le`, `eq` ..., of integers of any width."""
        if not (a.is_signed or b.is_signed) or predicate in ("eq", "ne"):
            either = signed_bits if a.is_signed or b.is_signed else bits_of
            bits = max(either(a.range), either(b.range))
            kind = predicate if predicate in ("eq", "ne") else f"u{predicate}"
        else:
            bits = max(signed_bits(a.range), signed_bits(b.range))
            kind = f"s{predicate}"
        return self.add(comb.ICmpOp(self.fit(a, bits), self.fit(b, bits), kind))

    def modulo(self, op: Operation, operand: SSAValue) -> Wire:
        """An operand as an unsigned number of its type."""
        wire = self.wire(operand)
        if not wire.is_signed:
            return wire
        bits = type_bits(op, operand)
        return Wire(self.fit(wire, bits), (0, (1 << bits) - 1))

    def read(self, op: Operation, operand: SSAValue, signed: bool) -> Wire:
        """An operand as a signed or an unsigned number of its type."""
        return self.wire(operand) if signed else self.modulo(op, operand)

    def clamped(self, x: Wire, low: int, high: int) -> Wire:
        """The nearest integer in a range."""
        for bound, predicate, choose in ((low, "lt", max), (high, "gt", min)):
            range = choose(x.range[0], bound), choose(x.range[1], bound)
            if range == x.range:
                continue
            bits = bits_of(range)
            beyond = self.compare(x, predicate, self.known(bound))
            value = comb.MuxOp(beyond, self._number(bound, bits), self.fit(x, bits))
            x = Wire(self.add(value), range)
        return x

    def known(self, value: int) -> Wire:
        """A number."""
        range = value, value
        return Wire(self._number(value, bits_of(range)), range)


def type_bits(op: Operation, value: SSAValue) -> int:
    """The width of an integer's type."""
    width = width_of(value.type)
    if width is None:
        raise QlowerError(f"{op.name} takes {value.type}, no integer", op.location)
    return width


Step = Callable[[_Circuit, Operation, Range], SSAValue]


def _modular(make: Callable[[SSAValue, SSAValue], Operation]) -> Step:
    """A step whose low bits depend on its operands' low bits alone."""

    def convert(c: _Circuit, op: Operation, range: Range) -> SSAValue:
        a, b = (c.fit(c.wire(operand), bits_of(range)) for operand in op.operands)
        return c.add(make(a, b))

    return convert


def _same(c: _Circuit, op: Operation, range: Range) -> SSAValue:
    return c.fit(c.wire(op.operands[0]), bits_of(range))


def _zero_extended(c: _Circuit, op: Operation, range: Range) -> SSAValue:
    return c.fit(c.modulo(op, op.operands[0]), bits_of(range))


def _extreme(predicate: str, *, signed: bool) -> Step:
    """The operand for which the comparison with the other one holds."""

    def convert(c: _Circuit, op: Operation, range: Range) -> SSAValue:
        a, b = (c.read(op, operand, signed) for operand in op.operands)
        bits = bits_of(range)
        is_below, is_above = a.range[1] <= b.range[0], a.range[0] >= b.range[1]
        if is_below or is_above:
            return c.fit(a if is_below == (predicate == "lt") else b, bits)
        holds = c.compare(a, predicate, b)
        return c.add(comb.MuxOp(holds, c.fit(a, bits), c.fit(b, bits)))

    return convert


def _compared(c: _Circuit, op: Operation, range: Range) -> SSAValue:
    assert isinstance(op, arith.CmpiOp)
    name = _PREDICATES[op.predicate.value.data]
    a, b = (c.read(op, operand, name[0] != "u") for operand in op.operands)
    return c.compare(a, name[1:] if name[0] in "su" else name, b)


_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def _chosen(c: _Circuit, op: Operation, range: Range) -> SSAValue:
    condition, *values = (c.wire(operand) for operand in op.operands)
    yes, no = (c.fit(value, bits_of(range)) for value in values)
    if condition.range[0] == condition.range[1]:
        return yes if condition.range[0] else no
    return c.add(comb.MuxOp(c.fit(condition, 1), yes, no))


def _amount(c: _Circuit, op: Operation) -> Wire:
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


def _shifted_left(c: _Circuit, op: Operation, range: Range) -> SSAValue:
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


def _floor(c: _Circuit, x: Wire, n: Wire, bits: int) -> SSAValue:
    """floor(x / 2^n) modulo two to the number of bits."""
    if n.range[0] == n.range[1]:
        count = n.range[0]
        if count + bits <= x.bits:
            return c.slice(x.value, count, bits)
        return c.slice(c.fit(x, count + bits), count, bits)
    wide = max(x.bits, n.bits, bits)
    kind = comb.ShrSOp if x.is_signed else comb.ShrUOp
    return c.slice(c.add(kind(c.fit(x, wide), c.fit(n, wide))), 0, bits)


def _shifted_right(c: _Circuit, op: Operation, range: Range) -> SSAValue:
    unsigned = isinstance(op, arith.ShRUIOp)
    x = c.modulo(op, op.operands[0]) if unsigned else c.wire(op.operands[0])
    return _floor(c, x, _amount(c, op), bits_of(range))


def _rounded(c: _Circuit, op: Operation, range: Range) -> SSAValue:
    """floor(x / 2^n), plus 1 where the bits that are dropped say so: `guard` is the
    upper one of these, `sticky` whether any other one is set."""
    assert isinstance(op, fixed.ShiftRightOp)
    x, n, bits = c.wire(op.operand), _amount(c, op), bits_of(range)
    if n.range == (0, 0):
        return c.fit(x, bits)
    floor = _floor(c, x, n, bits)
    mode = op.rounding.data
    if mode == RoundingMode.FLOOR:
        return floor
    guard, sticky = _dropped(c, x, n, only_guard=mode == RoundingMode.HALF_UP)
    up = _goes_up(c, mode, guard, sticky, c.slice(floor, 0, 1), _sign(c, x))
    if up is None:
        return floor
    set_hint(up, "round_up")
    more = up if bits == 1 else c.concat(c.fit(c.known(0), bits - 1), up)
    return c.add(comb.AddOp([floor, more]))


def _sign(c: _Circuit, x: Wire) -> SSAValue | None:
    """Whether a number is negative; None if it never is."""
    if not x.is_signed:
        return None
    return c.slice(x.value, x.bits - 1, 1)


def _dropped(
    c: _Circuit, x: Wire, n: Wire, *, only_guard: bool
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
    c: _Circuit,
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


def _saturated(c: _Circuit, op: Operation, range: Range) -> SSAValue:
    assert isinstance(op, fixed.SaturateOp)
    return c.fit(c.clamped(c.wire(op.operands[0]), *op.bounds), bits_of(range))


def _divided(*, signed: bool, remainder: bool) -> Step:
    """A quotient toward zero, or what is left of it."""

    def convert(c: _Circuit, op: Operation, range: Range) -> SSAValue:
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


def _magnitude(c: _Circuit, op: Operation, range: Range) -> SSAValue:
    x, bits = c.wire(op.operands[0]), bits_of(range)
    same, sign = c.fit(x, bits), _sign(c, x)
    if sign is None:
        return same
    negated = c.add(comb.SubOp(c.fit(c.known(0), bits), same))
    return c.add(comb.MuxOp(sign, negated, same))


def _leading_zeros(c: _Circuit, op: Operation, range: Range) -> SSAValue:
    x, bits = c.modulo(op, op.operands[0]), bits_of(range)
    width = type_bits(op, op.operands[0])
    found = c.fit(c.known(width), bits)
    for bit in _counted(x.bits):
        number = c.fit(c.known(width - 1 - bit), bits)
        found = c.add(comb.MuxOp(c.slice(x.value, bit, 1), number, found))
    return found


def _counted(count: int) -> Sequence[int]:
    return tuple(range(count))


def _entry(c: _Circuit, op: Operation, range: Range) -> SSAValue:
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


_STEPS: Mapping[type[Operation], Step] = {
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
"""What each operation is in bits; others are refused."""
