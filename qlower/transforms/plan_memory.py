"""Pass plan-memory: where every tensor of the kernel level lives.

A function is a straight line, so a value is live from the op that makes it to its last
use. Values that may share memory by construction form one *storage*: a tensor and its
reshapes, the results of a chain of copies into one tensor, and the result of a nest
that overwrites an input that dies there and that it reads where it writes. Padding that
nests can do without has no memory (padding.py), and nests may write into parts of
tensors (boxes.py; a few hundred are tried), if the arena doesn't grow. A storage that
is returned lies in the caller's buffer; the others get an offset in the arena, the
largest first, each in the tightest gap that is left by those that are live at the same
time. So does the scratch that a nest's code needs on the target while it runs, or the
steps of a scan (storages.py, arena.py).

Where the target is optimized for RAM, inputs and outputs have places in the arena too,
at which a caller may have them, and results lie over what they are made of as far as
the order of the code allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from qlower.codegen.skeletons.memory import NestMemory
from qlower.codegen.targets.optimized import RAM
from qlower.codegen.targets.resolve import Target
from qlower.codegen.targets.set_target import TARGET, target_of
from qlower.diagnostics import QlowerError
from qlower.dialects.integers import integers
from qlower.dialects.kernel import (
    ARENA_ALIGNMENT,
    ARENA_BYTES,
    ARENA_INPUTS,
    ARENA_OUTPUTS,
    BoxAttr,
    CopyOp,
    NestOp,
    ScanOp,
    ScratchAttr,
    UnstoredAttr,
    byte_size,
)
from qlower.dialects.qnn.attributes import states_of
from qlower.dialects.types import tensor_type
from qlower.model.entry import defined_functions
from qlower.tally import count
from qlower.transforms.arena import Storage, place, place_tightly
from qlower.transforms.boxes import writable_boxes
from qlower.transforms.padding import is_read_in_place
from qlower.transforms.storages import (
    Storages,
    form_storages,
    is_stored,
    last_uses,
    outputs_of,
    place_outputs,
    uses_of,
)

_TRIALS = 300
"""Orders of storages that are tried where the arena is to be small."""

_BOXES = 256
"""Tensors of a function for which it is tried whether nests may write into parts of
them: each takes a plan of the whole function."""

_WORTH = 1 / 8
"""Part of the arena for which code does without a routine."""

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
            arena_bytes = plan_memory(function, self.alignment, target)
            count("bytes of arena", arena_bytes)
            function.attributes[ARENA_BYTES] = IntegerAttr(arena_bytes, i64)


def plan_memory(
    function: FuncOp, alignment: int = ARENA_ALIGNMENT, target: Target | None = None
) -> int:
    """Sets the buffers of all nests and copies of a function's body anew, and the
    scratch of nests where the code for the target needs any.

    Returns the bytes of the arena.
    """
    block = function.body.block
    place_padding(block)
    is_tight = (
        target is not None
        and target.optimize == RAM
        and not states_of(function)
        and not isinstance(function.parent_op(), ScanOp)
    )
    planner = _Planner(block, alignment, target, is_tight)
    boxes: dict[SSAValue, SSAValue] = {}
    plan = planner.plan(boxes)
    for first, copies in islice(writable_boxes(block), _BOXES):
        more = boxes | {copy.source: first.result for copy in copies}
        planned = planner.plan(more)
        if planned.bytes <= plan.bytes:
            boxes, plan = more, planned
    if is_tight:
        plan = planner.tightest(boxes)
        inputs = [plan.storages[value].offset for value in block.args]
        function.attributes[ARENA_INPUTS] = integers(inputs)
        outputs = [storage.offset for storage in plan.outputs]
        function.attributes[ARENA_OUTPUTS] = integers(outputs)
    for op in block.ops:
        if is_stored(op):
            op.buffers = ArrayAttr(
                BoxAttr() if result in boxes else plan.storages[result].buffer
                for result in op.results
            )
        if isinstance(op, NestOp | ScanOp) and op in plan.storages:
            scratch = plan.storages[op]
            op.scratch = ScratchAttr(scratch.offset, scratch.size)
    return plan.bytes


def place_padding(block: Block) -> None:
    """Takes buffers from all ops but copies whose padding needs no memory."""
    for op in block.ops:
        if isinstance(op, NestOp | CopyOp | ScanOp):
            op.buffers = None
        if isinstance(op, NestOp | ScanOp):
            op.scratch = None
    for op in block.ops:
        if isinstance(op, CopyOp) and is_read_in_place(op):
            op.buffers = ArrayAttr([UnstoredAttr()])


@dataclass(frozen=True)
class _Plan:
    """Storages of values, and of the scratch of nests, with their places in an arena
    of `bytes` bytes; `outputs` has those of the function's results."""

    bytes: int
    storages: Storages
    outputs: Sequence[Storage]


class _Planner:
    """The memory of a function's body. If it `is_tight`, inputs and outputs are in the
    arena, and results may lie over what they are made of."""

    def __init__(
        self, block: Block, alignment: int, target: Target | None, is_tight: bool
    ) -> None:
        self.block = block
        self.alignment = alignment
        self.is_tight = is_tight
        self.last_use = last_uses(block)
        self.uses = uses_of(block, self.last_use)
        self.code = NestMemory(target)

    def plan(self, boxes: Mapping[SSAValue, SSAValue], trials: int = 0) -> _Plan:
        """Storages and their places. `boxes` are the results that lie in the tensor
        that a chain of copies writes, whose first result is given."""
        storages = self.inputs() if self.is_tight else {}
        form_storages(self.uses, boxes, self.code.scratch, storages)
        outputs = outputs_of(self.block)
        place_outputs(outputs, storages)
        distinct = [*dict.fromkeys(storages.values())]
        if not self.is_tight:
            own = [storage for storage in distinct if storage.output is None]
            return _Plan(place(own, self.alignment), storages, ())
        end = len(self.block.ops) - 1  # the return, where outputs are copied
        returned: list[Storage] = []
        for index, value in enumerate(outputs):
            storage = storages.get(value)
            if storage is None or storage.output != index:
                storage = Storage(byte_size(tensor_type(value)), end, end, index)
                distinct.append(storage)
            storage.last = end
            returned.append(storage)
        overlaps = self.overlaps(boxes, storages)
        size = place_tightly(distinct, self.alignment, overlaps, trials=trials)
        return _Plan(size, storages, returned)

    def inputs(self) -> Storages:
        """Storages of what the caller gives, from the beginning on."""
        return {
            value: Storage(
                byte_size(tensor_type(value)), -1, self.last_use.get(value, -1)
            )
            for value in self.block.args
        }

    def overlaps(
        self, boxes: Mapping[SSAValue, SSAValue], storages: Storages
    ) -> dict[tuple[Storage, Storage], int]:
        """The largest overlap of results with inputs that die."""
        found: dict[tuple[Storage, Storage], int] = {}
        for use in self.uses:
            if not isinstance(use.op, NestOp):
                continue
            result, position = use.op.results[0], use.position
            born = storages[result]
            for value, distance in self.code.distances(use.op, result in boxes):
                dying = storages.get(value)
                if value not in use.dying or dying is None or dying is born:
                    continue
                if (dying.last, born.first) == (position, position):
                    found[dying, born] = int(max(distance, -dying.size))
        return found

    def tightest(self, boxes: Mapping[SSAValue, SSAValue]) -> _Plan:
        """The plan in a small arena. Nests do without the routines whose scratch is
        much of it."""
        best = self.plan(boxes, _TRIALS)
        nests = [op for op in best.storages if isinstance(op, NestOp)]
        for nest in sorted(nests, key=lambda op: -best.storages[op].size):
            if best.storages[nest].size < _WORTH * best.bytes:
                break
            nest.scratch = ScratchAttr(0, 0)
            other = self.plan(boxes, _TRIALS)
            if other.bytes <= (1 - _WORTH) * best.bytes:
                best = other
            else:
                nest.scratch = None
        return best
