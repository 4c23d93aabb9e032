"""A nest, copy or scan of a model as a module of its own: to be timed, or checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from qlower.codegen.nests.operand import constant_bytes
from qlower.dialects.kernel import (
    ARENA_BYTES,
    CopyOp,
    NestOp,
    OutputAttr,
    ScanOp,
    ScratchAttr,
)
from qlower.model.entry import main_function


@dataclass(frozen=True)
class Alone:
    """`module` has the op, its constants, and in @main an argument for each of its
    other inputs: those are values of the module that it comes from."""

    module: ModuleOp
    arguments: tuple[SSAValue, ...]


def alone(op: NestOp | CopyOp | ScanOp) -> Alone:
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
    arena_bytes = 0
    if not isinstance(copy, CopyOp) and copy.scratch is not None:
        arena_bytes = copy.scratch.bytes.data
        copy.scratch = ScratchAttr(0, arena_bytes)
    block.add_ops((copy, ReturnOp(*copy.results)))
    for inner in block.walk():
        for result in inner.results:
            result.name_hint = None
    types = ([*block.arg_types], [result.type for result in copy.results])
    main = FuncOp("main", types, Region(block))
    main.attributes[ARENA_BYTES] = IntegerAttr(arena_bytes, i64)
    return Alone(ModuleOp([main]), tuple(arguments))


def with_code(module: ModuleOp) -> Iterator[NestOp | CopyOp | ScanOp]:
    """The nests, copies and scans of a kernel-level module that are native
    functions."""
    for op in main_function(module).body.block.ops:
        if isinstance(op, NestOp | ScanOp) or (isinstance(op, CopyOp) and op.has_code):
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
