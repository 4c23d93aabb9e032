"""A nest or copy of a model as a module of its own: to be timed, or checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from qlower.codegen.nests.nest import constant_bytes
from qlower.dialects.kernel import CopyOp, NestOp, OutputAttr


@dataclass(frozen=True)
class Alone:
    """`module` has the op, its constants, and in @main an argument for each of its
    other inputs: those are values of the module that it comes from."""

    module: ModuleOp
    arguments: tuple[SSAValue, ...]


def alone(op: NestOp | CopyOp) -> Alone:
    """The op by itself; its results are those of @main."""
    needed: dict[Operation, None] = {}
    arguments: dict[SSAValue, None] = {}
    for value in op.operands:
        _collect(value, needed, arguments)
    block = Block(arg_types=[value.type for value in arguments])
    values: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
    block.add_ops(original.clone(values) for original in needed)
    copy = op.clone(values)
    copy.buffers = ArrayAttr(OutputAttr(index) for index in range(len(op.results)))
    block.add_ops((copy, ReturnOp(*copy.results)))
    for inner in block.walk():
        for result in inner.results:
            result.name_hint = None
    types = ([*block.arg_types], [result.type for result in copy.results])
    return Alone(ModuleOp([FuncOp("main", types, Region(block))]), tuple(arguments))


def with_code(module: ModuleOp) -> Iterator[NestOp | CopyOp]:
    """The nests and copies of a kernel-level module that are native functions."""
    for op in module.walk():
        if isinstance(op, NestOp) or (isinstance(op, CopyOp) and op.has_code):
            yield op


def _collect(
    value: SSAValue, needed: dict[Operation, None], arguments: dict[SSAValue, None]
) -> None:
    """Find what makes a value inside, and what is to be given."""
    owner = value.owner
    is_padding = isinstance(owner, CopyOp) and not owner.is_stored
    if isinstance(owner, Operation) and (is_padding or constant_bytes(value)):
        for operand in owner.operands:
            _collect(operand, needed, arguments)
        needed[owner] = None
    else:
        arguments[value] = None
