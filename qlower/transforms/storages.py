"""The values of a kernel-level function that follow each other in memory, and how long.

A value is live from the op that makes it to its last use. Values that share memory by
construction form one storage.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from xdsl.dialects import func
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Block, Operation, SSAValue

from qlower.codegen.nests.recognise import DepthwiseProducts
from qlower.dialects.kernel import (
    CopyOp,
    NestOp,
    ScanOp,
    byte_size,
    element_byte_size,
    root,
)
from qlower.dialects.types import tensor_type
from qlower.transforms.arena import Storage

Storages: TypeAlias = dict[SSAValue | NestOp | ScanOp, Storage]
"""The storages of values, and of the scratch of nests and scans."""


@dataclass(frozen=True)
class Use:
    """The effect of a stored nest or copy, independent of the rest of the plan.

    Nothing later reads the values `dying`. `results` are its results, each with its
    bytes, its last use, and the values whose storage it may take over if they die.
    """

    op: NestOp | CopyOp | ScanOp
    position: int
    dying: Sequence[SSAValue]
    results: Sequence[tuple[SSAValue, int, int, Sequence[SSAValue]]]


def is_stored(op: Operation) -> TypeGuard[NestOp | CopyOp | ScanOp]:
    """Whether the results of an op need buffers."""
    return isinstance(op, NestOp | ScanOp) or (isinstance(op, CopyOp) and op.is_stored)


def last_uses(block: Block) -> dict[SSAValue, int]:
    """The position of the last operation that reads each value."""
    return {
        value: position
        for position, op in enumerate(block.ops)
        if not isinstance(op, ExpandShapeOp | CollapseShapeOp)
        for value in map(root, op.operands)
    }


def uses_of(block: Block, last_use: Mapping[SSAValue, int]) -> list[Use]:
    """The effects of the nests and copies of a function, in order."""
    uses: list[Use] = []
    for position, op in enumerate(block.ops):
        if not is_stored(op):
            continue
        dying = [
            value
            for value in dict.fromkeys(map(root, op.operands))
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
        uses.append(Use(op, position, dying, results))
    return uses


def form_storages(
    uses: Sequence[Use],
    boxes: Mapping[SSAValue, SSAValue],
    scratch: Callable[[NestOp, bool], int],
    storages: Storages,
) -> None:
    """Add the storage of every result of a nest or copy, and of what a nest, in a box
    or not, needs as `scratch`.

    `boxes` are the results that lie in the tensor that a chain of copies writes, whose
    first result is given.
    """
    sizes = {result: size for use in uses for result, size, _, _ in use.results}
    early: dict[SSAValue, Storage] = {}
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
        bytes = 0
        if isinstance(use.op, NestOp):
            bytes = scratch(use.op, use.op.results[0] in boxes)
        elif isinstance(use.op, ScanOp):
            bytes = use.op.memory.size
        if bytes and not isinstance(use.op, CopyOp):
            storages[use.op] = Storage(bytes, position, position)


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


def outputs_of(block: Block) -> list[SSAValue]:
    """The values that a function returns."""
    terminator = block.last_op
    assert isinstance(terminator, func.ReturnOp)
    return [root(value) for value in terminator.arguments]


def place_outputs(outputs: Sequence[SSAValue], storages: Storages) -> None:
    """Puts storages that are returned into the caller's buffers, each into one."""
    for index, value in enumerate(outputs):
        storage = storages.get(value)
        if storage is not None and storage.output is None:
            storage.output = index
