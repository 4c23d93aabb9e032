"""Pass tabulate-words: tables of all results for functions of 16 bits.

Contracts compute such a function by interpolation in a small table. On x86-64 one look
at a table of all 65,536 results takes half the time, so that is what a machine with an
operating system gets, whose caches and memory have room for 128 KiB. Where there is
none, flash may be 256 KiB in all: the interpolation stays, which takes 2 KiB. A
function that no machine has instructions for is looked up anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    ModuleOp,
    TensorType,
    i16,
    i32,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from qlower.codegen.targets.set_target import target_of
from qlower.dialects.kernel import NestOp
from qlower.dialects.types import shape_of, tensor_type
from qlower.interp import InterpretationError
from qlower.model.entry import defined_functions
from qlower.model.nests import dense
from qlower.tally import timed_layer
from qlower.transforms.operations import insert_at
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.rewrite import rebuild, replace_value
from qlower.transforms.tabulate_functions import is_function

WORDS = 1 << 16


class TabulateWordsPass(ModulePass):
    """Look up functions of one i16 that interpolate, or that need a table."""

    name = "tabulate-words"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        has_memory = not target_of(op).is_bare_metal
        for function in defined_functions(op):
            _Tables(has_memory=has_memory).tabulate(function.body.block)


class _Tables:
    """The tables of a function; equal ones are one."""

    def __init__(self, *, has_memory: bool) -> None:
        self._has_memory = has_memory
        self._tables: dict[DenseIntOrFPElementsAttr, arith.ConstantOp] = {}

    def tabulate(self, block: Block) -> None:
        for nest in list(block.ops):
            if isinstance(nest, NestOp) and _may_look_up(nest):
                with timed_layer(nest):
                    self._tabulate(nest)

    def _tabulate(self, nest: NestOp) -> None:
        tables: list[SSAValue] = []
        for block in (block for region in nest.regions for block in region.blocks):
            for source in (*block.args, *(r for op in block.ops for r in op.results)):
                if source.type != i16:
                    continue
                found = [
                    (function, entries)
                    for function in _largest_functions(source, block)
                    if (entries := function.entries(has_memory=self._has_memory))
                    is not None
                ]
                for function, entries in found:
                    table = self._table(entries, nest)
                    function.look_up(table)
                    tables.append(table)
        if tables:
            regions = (nest.detach_region(region) for region in tuple(nest.regions))
            maps = [*nest.input_maps, *nest.result_maps]
            rebuild(nest, nest.inputs, [*nest.tables, *tables], maps, *regions)

    def _table(self, entries: DenseIntOrFPElementsAttr, nest: NestOp) -> SSAValue:
        if entries not in self._tables:
            self._tables[entries] = arith.ConstantOp(entries)
            insert_at(InsertPoint.before(nest), [self._tables[entries]], nest.location)
        return self._tables[entries].result


def _may_look_up(nest: NestOp) -> bool:
    ops = (op for region in nest.regions for block in region.blocks for op in block.ops)
    return any(isinstance(op, tensor.ExtractOp) or is_function(type(op)) for op in ops)


@dataclass(frozen=True)
class _WordFunction:
    """`ops` compute the `value` of an integer `type` from the i16 `source` and
    constants; it is the result of the last one."""

    value: SSAValue
    type: IntegerType
    source: SSAValue
    ops: Sequence[Operation]

    def entries(self, *, has_memory: bool) -> DenseIntOrFPElementsAttr | None:
        """The results for each source's bits, read as unsigned; None if they are better
        computed."""
        is_needed = any(is_function(type(op)) for op in self.ops)
        read = [op.tensor for op in self.ops if isinstance(op, tensor.ExtractOp)]
        interpolates = bool(read) and all(prod(shape_of(t)) < WORDS for t in read)
        if not is_needed and not (has_memory and interpolates):
            return None
        codes = np.arange(WORDS, dtype=np.uint16).view(np.int16)
        values: Values = {self.source: codes}
        outside = [value.owner for value in read if isinstance(value.owner, Operation)]
        try:
            run_scalars([*dict.fromkeys(outside), *self.ops], values)
        except InterpretationError:  # for numbers that the source never is
            return None
        results = np.broadcast_to(values[self.value], codes.shape)
        is_narrow = self.type.bitwidth > 16 and np.all(results == results.astype("i2"))
        stored = i16 if is_narrow else self.type
        if stored.bitwidth > 16 and not is_needed:
            return None
        return dense(results, stored)

    def look_up(self, table: SSAValue) -> None:
        """Put a look at a table of all results in its place."""
        owner = self.ops[-1]
        code = arith.ExtUIOp(self.source, i32)
        index = arith.IndexCastOp(code.result, IndexType())
        stored = tensor_type(table).element_type
        entry = tensor.ExtractOp(table, [index.result], stored)
        ops: list[Operation] = [code, index, entry]
        if stored != self.type:
            ops.append(arith.ExtSIOp(entry, self.type))
        insert_at(InsertPoint.after(owner), ops, owner.location)
        replace_value(self.value, ops[-1].results[0])


def _largest_functions(source: SSAValue, block: Block) -> Iterable[_WordFunction]:
    """The values in a region that are computed from a source and constants alone, and
    used by other operations."""
    takes: dict[SSAValue, dict[Operation, None]] = {source: {}}
    dependent = dict.fromkeys([source])
    for op in block.ops:
        operands = [value for value in op.operands if not _is_table(value)]
        is_constant = isinstance(op, arith.ConstantOp)
        if (operands or is_constant) and all(value in takes for value in operands):
            needed = {step: None for value in operands for step in takes[value]}
            for result in op.results:
                takes[result] = {**needed, op: None}
            if any(value in dependent for value in operands):
                dependent.update(dict.fromkeys(op.results))
    within = {value.owner for value in dependent}
    for value in dependent:
        is_used = any(use.operation not in within for use in value.uses)
        if isa(value.type, IntegerType) and value is not source and is_used:
            yield _WordFunction(value, value.type, source, tuple(takes[value]))


def _is_table(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and isinstance(
        value.owner, arith.ConstantOp
    )
