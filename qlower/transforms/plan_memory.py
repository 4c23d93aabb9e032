"""Pass plan-memory: where every tensor of the kernel level lives.

A function is a straight line, so a value is live from the op that makes it to its last
use. Values that may share memory by construction form one *storage*: a tensor and its
reshapes, the results of a chain of copies into one tensor, and the result of a nest
that overwrites an input that dies there and that it reads where it writes. Padding that
nests can do without has no memory (padding.py), and nests may write into parts of
tensors (boxes.py), if the arena doesn't grow. A storage that is returned lies in the
caller's buffer; the others get an offset in the arena, the largest first, each in the
tightest gap that is left by those that are live at the same time. So does the scratch
that a nest's code needs on the target while it runs, or the steps of a scan.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.recognise import DepthwiseProducts
from qlower.codegen.skeletons.choose import Skeletons, scratch_bytes
from qlower.codegen.targets.resolve import Target
from qlower.codegen.targets.set_target import TARGET, target_of
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import (
    ARENA_ALIGNMENT,
    ARENA_BYTES,
    ArenaAttr,
    BoxAttr,
    Buffer,
    CopyOp,
    NestOp,
    OutputAttr,
    ScanOp,
    ScratchAttr,
    UnstoredAttr,
    byte_size,
    element_byte_size,
)
from qlower.dialects.types import tensor_type
from qlower.model.entry import defined_functions
from qlower.tally import count
from qlower.transforms.boxes import writable_boxes
from qlower.transforms.padding import is_read_in_place

SMALL_ALIGNMENT = 16
"""Bytes, of what is smaller than that."""

_ALIGNMENTS = (1, 2, 4, 8, 16, 32, ARENA_ALIGNMENT)


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Give every result of a kernel a buffer, and the function its arena size.

    Buffers begin at multiples of `alignment` bytes in the arena, a power of two of up
    to 64; what is smaller than a cache line at multiples of at most 16.
    """

    name = "plan-memory"

    alignment: int = ARENA_ALIGNMENT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.alignment not in _ALIGNMENTS:
            legal = ", ".join(map(str, _ALIGNMENTS))
            raise QlowerError(f"plan-memory aligns to {legal}, not to {self.alignment}")
        target = target_of(op) if TARGET in op.attributes else None
        for function in defined_functions(op):
            arena_bytes = plan_memory(function.body.block, self.alignment, target)
            count("bytes of arena", arena_bytes)
            function.attributes[ARENA_BYTES] = IntegerAttr(arena_bytes, i64)


@dataclass(eq=False)
class Storage:
    """Memory of values that follow each other; live from op `first` to op `last`.

    It is the caller's buffer for result number `output`, if there is one, or lies in
    the arena.
    """

    size: int
    first: int
    last: int
    output: int | None = None
    offset: int = 0

    @property
    def buffer(self) -> Buffer:
        return (
            ArenaAttr(self.offset) if self.output is None else OutputAttr(self.output)
        )


def plan_memory(
    block: Block, alignment: int = ARENA_ALIGNMENT, target: Target | None = None
) -> int:
    """Sets the buffers of all nests and copies of a function's body anew, and the
    scratch of nests where the code for the target needs any.

    Returns the bytes of the arena.
    """
    for op in block.ops:
        if isinstance(op, NestOp | CopyOp | ScanOp):
            op.buffers = None
        if isinstance(op, NestOp | ScanOp):
            op.scratch = None
    for op in block.ops:
        if isinstance(op, CopyOp) and is_read_in_place(op):
            op.buffers = ArrayAttr([UnstoredAttr()])
    boxes: dict[SSAValue, SSAValue] = {}
    outputs, uses = _outputs(block), _uses(block, _scratch_sizes(block, target))
    arena_bytes, storages = _plan(outputs, uses, boxes, alignment)
    for first, copies in writable_boxes(block):
        more = boxes | {copy.source: first.result for copy in copies}
        size, planned = _plan(outputs, uses, more, alignment)
        if size <= arena_bytes:
            boxes, arena_bytes, storages = more, size, planned
    for op in block.ops:
        if _is_stored(op):
            op.buffers = ArrayAttr(
                BoxAttr() if result in boxes else storages[result].buffer
                for result in op.results
            )
        if isinstance(op, NestOp | ScanOp) and op in storages:
            scratch = storages[op]
            op.scratch = ScratchAttr(scratch.offset, scratch.size)
    return arena_bytes


def _scratch_sizes(block: Block, target: Target | None) -> dict[Operation, int]:
    """Bytes of the scratch that nests and scans need, those that need any."""
    sizes: dict[Operation, int] = {
        op: op.memory.size for op in block.ops if isinstance(op, ScanOp)
    }
    if target is None or target.halves is None:
        return sizes
    for op in block.ops:
        if isinstance(op, NestOp):
            nest = analyse(op)
            skeleton = Skeletons(target, nest).of(nest, op.schedule)
            sizes[op] = scratch_bytes(skeleton)
    return {op: size for op, size in sizes.items() if size}


_Storages: TypeAlias = dict[SSAValue | Operation, Storage]


@dataclass(frozen=True)
class _Use:
    """What a stored nest or copy does, whatever else is planned.

    Nothing later reads the values `dying`. `results` are its results, each with its
    bytes, its last use, and the values whose storage it may take over if they die.
    `scratch` is memory for the time that it runs.
    """

    op: NestOp | CopyOp | ScanOp
    position: int
    dying: Sequence[SSAValue]
    results: Sequence[tuple[SSAValue, int, int, Sequence[SSAValue]]]
    scratch: int


def _plan(
    outputs: Sequence[SSAValue],
    uses: Sequence[_Use],
    boxes: Mapping[SSAValue, SSAValue],
    alignment: int,
) -> tuple[int, _Storages]:
    """The bytes of the arena and the storages, with their places.

    `boxes` are the results that lie in the tensor that a chain of copies writes, whose
    first result is given.
    """
    storages = _form_storages(uses, boxes)
    _place_outputs(outputs, storages)
    unplaced = [s for s in dict.fromkeys(storages.values()) if s.output is None]
    return _place_in_arena(unplaced, alignment), storages


def root(value: SSAValue) -> SSAValue:
    """The value whose memory `value` sees, through reshapes and unstored copies."""
    while True:
        match value.owner:
            case ExpandShapeOp(src=source) | CollapseShapeOp(src=source):
                value = source
            case CopyOp(source=source, is_stored=False):
                value = source
            case _:
                return value


def _is_stored(op: Operation) -> TypeGuard[NestOp | CopyOp | ScanOp]:
    """Whether the results of an op need buffers."""
    return isinstance(op, NestOp | ScanOp) or (isinstance(op, CopyOp) and op.is_stored)


def _uses(block: Block, scratch_sizes: Mapping[Operation, int]) -> list[_Use]:
    """What the nests and copies of a function do, in order."""
    operands = [
        ()
        if isinstance(op, ExpandShapeOp | CollapseShapeOp)
        else tuple(map(root, op.operands))
        for op in block.ops
    ]
    last_use = {
        value: position for position, used in enumerate(operands) for value in used
    }
    uses: list[_Use] = []
    for position, op in enumerate(block.ops):
        if not _is_stored(op):
            continue
        dying = [
            value
            for value in dict.fromkeys(operands[position])
            if last_use[value] == position
        ]
        results: list[tuple[SSAValue, int, int, Sequence[SSAValue]]] = [
            (
                result,
                byte_size(tensor_type(result)),
                last_use.get(result, position),
                _overwritable(op, index, dying),
            )
            for index, result in enumerate(op.results)
        ]
        uses.append(_Use(op, position, dying, results, scratch_sizes.get(op, 0)))
    return uses


def _form_storages(
    uses: Sequence[_Use], boxes: Mapping[SSAValue, SSAValue]
) -> _Storages:
    """The storage of every result of a nest or copy, and of the scratch of a nest by
    that; of `boxes` see `_plan`."""
    sizes = {result: size for use in uses for result, size, _, _ in use.results}
    early: dict[SSAValue, Storage] = {}
    storages: _Storages = {}
    for use in uses:
        position = use.position
        dying = {value: storages[value] for value in use.dying if value in storages}
        for result, size, last, overwritable in use.results:
            whole = boxes.get(result)
            if whole is not None:
                new = Storage(sizes[whole], position, last)
                storage = storages.get(whole) or early.setdefault(whole, new)
            else:
                overwritten = next((v for v in overwritable if v in dying), None)
                storage = (
                    early.get(result) if overwritten is None else dying.pop(overwritten)
                )
                storage = storage or Storage(size, position, last)
            storage.last = max(storage.last, last)
            storages[result] = storage
        if use.scratch:
            storages[use.op] = Storage(use.scratch, position, position)
    return storages


def _overwritable(
    op: NestOp | CopyOp | ScanOp, index: int, dying: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    match op:
        case NestOp():
            return _overwritable_by_nest(op, index, dying)
        case CopyOp():
            return _overwritable_by_copy(op)
        case ScanOp():
            return ()


def _overwritable_by_copy(copy: CopyOp) -> Sequence[SSAValue]:
    """The destination, unless the copy also reads it as its source."""
    if copy.destination is None or root(copy.destination) is root(copy.source):
        return ()
    return (root(copy.destination),)


def _overwritable_by_nest(
    nest: NestOp, index: int, candidates: Collection[SSAValue]
) -> list[SSAValue]:
    """The dying inputs that result `index` of a nest may overwrite.

    It may none where points are computed twice: the sums of depthwise convolutions are,
    by vectors of channels that may overlap.
    """
    if nest.family.data == DepthwiseProducts.family:
        return []
    in_body = nest.body.block.args if nest.body.blocks else ()
    summed = {
        root(value)
        for value, argument in zip(nest.inputs, in_body, strict=False)
        if argument.uses
    }
    result, written = tensor_type(nest.res[index]), nest.result_maps[index]
    size = element_byte_size(result.element_type)
    tables = {root(table) for table in nest.tables}
    found: list[SSAValue] = []
    for value in nest.inputs:
        candidate = root(value)
        reads = [
            (tensor_type(other), map)
            for other, map in zip(nest.inputs, nest.input_maps, strict=True)
            if root(other) is candidate
        ]
        if (
            candidate in candidates
            and candidate not in tables
            and candidate not in summed
            and all(
                type.get_shape() == result.get_shape()
                and element_byte_size(type.element_type) == size
                and map == written
                for type, map in reads
            )
        ):
            found.append(candidate)
    return found


def _outputs(block: Block) -> list[SSAValue]:
    """What a function returns."""
    terminator = block.last_op
    assert isinstance(terminator, func.ReturnOp)
    return [root(value) for value in terminator.arguments]


def _place_outputs(
    outputs: Sequence[SSAValue], storages: Mapping[SSAValue | Operation, Storage]
) -> None:
    """Puts storages that are returned into the caller's buffers, each into one."""
    for index, value in enumerate(outputs):
        storage = storages.get(value)
        if storage is not None and storage.output is None:
            storage.output = index


def _place_in_arena(storages: list[Storage], alignment: int) -> int:
    """Gives every storage an offset and returns the size of the arena."""

    def aligned(size: int) -> int:
        # the larger ones come first, so the small are between multiples of theirs
        unit = min(
            alignment, ARENA_ALIGNMENT if size >= ARENA_ALIGNMENT else SMALL_ALIGNMENT
        )
        return -(-size // unit) * unit

    ordered = sorted(storages, key=lambda s: (-s.size, s.first))
    first = np.array([storage.first for storage in ordered])
    last = np.array([storage.last for storage in ordered])
    placed: list[tuple[int, int]] = []
    for index, storage in enumerate(ordered):
        both_live = (first[:index] <= last[index]) & (first[index] <= last[:index])
        others: list[int] = np.flatnonzero(both_live).tolist()
        taken = sorted([placed[other] for other in others])
        size = aligned(storage.size)
        storage.offset = _tightest_gap(size, taken)
        placed.append((storage.offset, storage.offset + size))
    return max((stop for _, stop in placed), default=0)


def _tightest_gap(size: int, taken: list[tuple[int, int]]) -> int:
    """The start of the smallest gap of at least `size`, else the end of all."""
    gaps: list[tuple[int, int]] = []
    end = 0
    for start, stop in taken:
        if start - end >= size:
            gaps.append((start - end, end))
        end = max(end, stop)
    return min(gaps)[1] if gaps else end
