"""Wires of a circuit, and the operations that connect them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import comb, hw
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i32
from xdsl.ir import Block, Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.transforms.ranges import Range, width_of


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


class Circuit:
    """The operations of a circuit, under construction."""

    def __init__(self, block: Block, ranges: Mapping[SSAValue, Range]) -> None:
        self._block, self.ranges = block, ranges
        self.wires: dict[SSAValue, Wire] = {}
        self._constants: dict[tuple[int, int], SSAValue] = {}
        self._known: dict[object, SSAValue] = {}

    def wire(self, value: SSAValue) -> Wire:
        """The wire of a value of the function; a constant where it is one number."""
        if value not in self.wires:
            range = self.ranges[value]
            self.wires[value] = Wire(self._number(range[0], bits_of(range)), range)
        return self.wires[value]

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
