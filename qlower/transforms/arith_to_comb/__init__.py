"""Turns scalar functions of integers into circuits: `hw.module` with `comb` operations.

Each value gets no more bits than the integers it can be need (`scalar_ranges`): it is
unsigned where none of them is negative. A sum, difference or product is computed modulo
two to that width, which is exact; so are the operands' missing bits. A step that may
wrap has the bits of its type. Steps in floats are refused.

What isn't defined by the arith level (a shift by the width or more, a division by 0)
must not be asked of the circuit.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import func, hw
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Region
from xdsl.passes import ModulePass

from qlower.diagnostics import QlowerError
from qlower.text.hints import set_hint
from qlower.transforms.arith_to_comb.circuit import Circuit, Wire, bits_of
from qlower.transforms.arith_to_comb.steps import append_step
from qlower.transforms.ranges import Range
from qlower.transforms.scalar_ranges import function_ranges

PORTS = "qlower.ports"
"""The attribute of a module with the integers of each port, `[low, high]`: the port is
signed if `low` is negative."""


RESULT = "result"
"""The output of a function with one result; of more they are numbered."""


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
    work = Circuit(block, ranges)
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
            append_step(work, op)
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
