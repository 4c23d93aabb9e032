"""Lookups of many bytes together, in tables of 256 bytes that registers hold."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i8
from xdsl.ir import Operation, SSAValue

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant, zero
from qlower.codegen.targets.resolve import ByteTables, Target
from qlower.dialects.types import tensor_type

_SIZE = 256
_SIXTEEN = 16
_TYPE = TensorType(i8, [_SIZE])


def table_codes(op: Operation, target: Target) -> SSAValue | None:
    """The i8 by whose bits a `tensor.extract` looks up bytes.

    None where the target has no instruction for what it does.
    """
    if target.byte_tables is None or tensor_type(op.operands[0]) != _TYPE:
        return None
    index = op.operands[1].owner
    if not isinstance(index, arith.IndexCastOp):
        return None
    code = index.operands[0].owner
    if not isinstance(code, arith.ExtUIOp) or code.input.type != i8:
        return None
    return code.input


def look_up(f: Function, target: Target, table: Value, codes: Value) -> Value:
    """The bytes for `codes` (i8, unsigned) in the table at an address.

    Lanes are any power of two.
    """
    known = target.byte_tables
    assert known is not None
    lanes, wanted = target.vector_bits // 8, codes.type.lanes
    if wanted < lanes:  # the rest of a register looks up the same again
        codes = _repeated(f, codes, lanes)
    parts = [
        f.shuffle(codes, range(first, first + lanes))
        for first in range(0, codes.type.lanes, lanes)
    ]
    if known.of_sixteen:
        found = _by_sixteen(f, known, table, parts)
    else:
        bytes_ = Type("i8", lanes)
        registers = [
            f.load(bytes_, f.at(table, constant(I64, start)), 1)
            for start in range(0, _SIZE, lanes)
        ]
        found = [_in_register(f, known, registers, part) for part in parts]
    return f.shuffle(f.concatenate_all(found), range(wanted))


def _repeated(f: Function, x: Value, lanes: int) -> Value:
    return f.shuffle(x, [lane % x.type.lanes for lane in range(lanes)])


def _in_register(
    f: Function, known: ByteTables, table: Sequence[Value], codes: Value
) -> Value:
    """One register of bytes, from the registers of the table."""
    type, size = codes.type, known.registers * codes.type.lanes
    parts: list[Value] = []
    for start in range(0, _SIZE, size):
        first = start // type.lanes
        arguments = list(table[first : first + known.registers])
        index = codes
        if known.zero_beyond and start:
            index = f.binary("sub", codes, constant(type, start))
        arguments.insert(known.index_argument, index)
        parts.append(f.call(known.intrinsic, type, arguments))
    if known.zero_beyond:
        result, *others = parts
        for other in others:
            result = f.binary("or", result, other)
        return result
    lower, upper = parts
    return f.select(f.compare("slt", codes, zero(type)), upper, lower)


def _by_sixteen(
    f: Function, known: ByteTables, table: Value, codes: Sequence[Value]
) -> list[Value]:
    """Registers of bytes, from sixteen entries of the table at a time: a loop, whose
    code is short.

    A code whose upper half is that of these entries becomes less than 16 and then 112
    more; any other becomes 128 or more.
    """
    type = codes[0].type

    def look(part: Value, carried: list[Value]) -> list[Value]:
        upper, *found = carried
        start = f.at(table, f.scale(part, _SIXTEEN))
        entries = _repeated(f, f.load(Type("i8", _SIXTEEN), start, 1), type.lanes)
        for number, code in enumerate(codes):
            own = f.binary("xor", code, upper)
            index = f.intrinsic("uadd.sat", own, constant(type, 112))
            new = f.call(known.intrinsic, type, [entries, index])
            found[number] = f.binary("or", found[number], new)
        return [f.binary("add", upper, constant(type, _SIXTEEN)), *found]

    return f.loop(_SIZE // _SIXTEEN, [zero(type)] * (1 + len(codes)), look)[1:]
