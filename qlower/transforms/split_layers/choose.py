"""The layers to compute in bands, by an estimate of the memory that is live.

The estimate knows which tensors are live, padding that needs no memory, results that
are made where a copy would put them, and results over inputs. It doesn't know gaps or
scratch: it orders choices, and the planner of memory has the last word.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from qlower.dialects.kernel import CopyOp, NestOp, byte_size, root
from qlower.dialects.types import tensor_type
from qlower.transforms.split_layers.bands import (
    AXIS,
    Divisible,
    Rows,
    bands_of,
    divisible,
    needed_by,
)
from qlower.transforms.storages import is_stored, last_uses

_REACH = 12
"""Ops before and after the one where most memory is live that are looked at."""

_MOST_BANDS = 16

_MOST_WORK = 1.25
"""Points of the loops of layers in bands, as a multiple of those without."""


@dataclass(frozen=True)
class Split:
    """The layers at these `positions` among the ops of a function, in bands of rows
    between the `cuts`; `live` is the estimate of the function's peak, in bytes."""

    positions: Sequence[int]
    cuts: Sequence[int]
    live: int

    def apply(self, block: Block) -> None:
        """Computes the layers of a function in bands."""
        ops = list(block.ops)
        run = [divisible(ops[position]) for position in self.positions]
        layers = [each for each in run if each is not None]
        last = layers[-1].op
        new = bands_of(layers, self.cuts)
        Rewriter.insert_op(new, InsertPoint.after(last))
        last.results[0].replace_all_uses_with(new[-1].results[0])
        for each in reversed(layers):
            Rewriter.erase_op(each.op)


class Layers:
    """The ops of a function's body, whose padding has its place, with the first and
    last op at which each value is live."""

    def __init__(self, block: Block) -> None:
        self.ops = list(block.ops)
        position = {op: n for n, op in enumerate(self.ops)}
        self.position = position
        self.dies = last_uses(block)
        self.born: dict[SSAValue, int] = dict.fromkeys(block.args, 0)
        for op in self.ops:
            if is_stored(op):
                first = op.source.owner if _fills_box(op) else op
                assert isinstance(first, Operation)
                self.born |= dict.fromkeys(op.results, position[first])
        found = ((op, divisible(op)) for op in self.ops)
        self.divisible = {op: each for op, each in found if each is not None}

    def best_splits(self) -> list[Split]:
        """The best splits of runs around the op where most is live, by their estimates,
        that make it less; each of another run."""
        sizes = {value: _size(value) for value in self.born}
        live = [self._live(at, sizes) for at in range(len(self.ops))]
        found: list[Split] = []
        for ops in self._runs(live.index(max(live))):
            positions = [self.position[each.op] for each in ops]
            others = max(live[: positions[0]] + live[positions[-1] + 1 :])
            splits = [
                Split(positions, cuts, max(others, most))
                for cuts, most in self._cuts(ops)
            ]
            found += sorted(splits, key=lambda split: split.live)[:1]
        better = [split for split in found if split.live < max(live)]
        return sorted(better, key=lambda split: split.live)

    def _runs(self, at: int) -> Iterator[list[Divisible]]:
        """Ops around position `at` that only each other read, up to a last one."""
        order = [*self.divisible.values()]
        middle = sum(self.position[each.op] < at for each in order)
        for end in range(middle, min(middle + _REACH, len(order))):
            run = [order[end]]
            for each in reversed(order[max(middle - _REACH, 0) : end]):
                if _is_inside(each, run):
                    run.insert(0, each)
                    if self.position[each.op] <= at:
                        yield [*run]

    def _cuts(self, ops: Sequence[Divisible]) -> Iterator[tuple[Sequence[int], int]]:
        """The ways to cut a run, with the bytes that are live while it is computed."""
        whole = ops[-1].op.results[0]
        height, end = _height(whole), self.position[ops[-1].op]
        made = {each.op.results[0] for each in ops}
        read = {root(value) for each in ops for value in each.op.operands}
        outside = sum(
            _size(value)
            for value, born in self.born.items()
            if value not in made and born < end
            if self.dies.get(value, born) > end or value in read
        )
        points = sum(each.work * _height(each.op.results[0]) for each in ops)
        for count in range(2, min(height, _MOST_BANDS) + 1):
            cuts = [height * n // count for n in range(count + 1)]
            found = [needed_by(ops, Rows(*ends)) for ends in itertools.pairwise(cuts)]
            bands = [rows for rows in found if rows is not None]
            work = sum(
                each.work * rows[each.op.results[0]].count
                for rows in bands
                for each in ops
            )
            if work > _MOST_WORK * points:
                return
            if len(bands) == count:
                most = max(self._live_in_band(ops, rows) for rows in bands)
                yield cuts, outside + _size(whole) + most

    def _live_in_band(
        self, ops: Sequence[Divisible], rows: Mapping[SSAValue, Rows]
    ) -> int:
        """The most bytes of values of a run that are live in a band."""
        made: list[SSAValue] = [each.op.results[0] for each in ops[:-1]]
        sizes = {
            value: _size(value) * rows[value].count // _height(value)
            for value in made
            if value in self.born
        }
        return max(self._live(self.position[each.op], sizes) for each in ops)

    def _live(self, at: int, sizes: Mapping[SSAValue, int]) -> int:
        """The bytes of these values that are live at an op. The result of a nest may
        lie over what dies there."""
        spans = [
            (self.born[v], self.dies.get(v, self.born[v]), sizes[v]) for v in sizes
        ]
        total = sum(size for born, dies, size in spans if born <= at <= dies)
        if isinstance(self.ops[at], NestOp) and self.ops[at] in self.divisible:
            new = sum(size for born, _, size in spans if born == at)
            total -= min(new, sum(size for _, dies, size in spans if dies == at))
        return total


def _is_inside(each: Divisible, run: Sequence[Divisible]) -> bool:
    """Whether only ops of a run read an op's result, band by band."""
    (result,) = each.op.results
    readers = {use.operation for use in result.uses}
    by_rows = {other.op for other in run if other.reads_by_rows(result)}
    return bool(readers) and readers <= by_rows


def _size(value: SSAValue) -> int:
    """Bytes of a tensor; 0 if it is computed in a box of another one."""
    uses = [use.operation for use in value.uses]
    if len(uses) == 1 and _fills_box(uses[0]):
        return 0
    return byte_size(tensor_type(value))


def _fills_box(op: Operation) -> TypeGuard[CopyOp]:
    """Whether a nest can write directly what the op, a copy, would write."""
    return (
        is_stored(op)
        and isinstance(op, CopyOp)
        and op.takes_whole_source
        and op.source.has_one_use()
        and isinstance(op.source.owner, NestOp)
    )


def _height(value: SSAValue) -> int:
    return tensor_type(value).get_shape()[AXIS]
