"""Checks of a whole module: each operation's own, upstream's, and order of use."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region
from xdsl.traits import NoTerminator

from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import states_of
from qlower.text.source_errors import first_line
from qlower.text.upstream_checks import verify_as_upstream

_SCALAR = frozenset(("arith", "fixed", "math"))
"""Dialects whose operations are right or wrong by their parts, wherever they stand."""


@dataclass(frozen=True)
class _Verified:
    """The operations that verify, and the parts of those that have no others."""

    ops: set[Operation]
    parts: set[Hashable] = field(default_factory=set[Hashable])


def verify_module(module: ModuleOp, known: Collection[Operation] = ()) -> None:
    """Check every operation but the known ones, which verify, innermost first; the
    first mistake is a `QlowerError`."""
    try:
        _verify_operation(module, _Verified(set(known)))
    except RecursionError:
        raise QlowerError("regions are nested too deeply", module.location) from None


def _verify_operation(op: Operation, verified: _Verified) -> None:
    for region in op.regions:
        _verify_region(region, verified)
    try:
        parts = _parts(op)
        if parts is None or parts not in verified.parts:
            _verify_alone(op)
            verified.parts.add(parts)
        _verify_dominance(op, verified.ops)
    except QlowerError:
        raise
    except Exception as error:
        # Besides VerifyException: attribute accessors of operations whose attributes
        # are missing or malformed raise whatever they like.
        reason = first_line(error)
        subject = "" if op.name in reason else f"{op.name}: "
        raise QlowerError(f"{subject}{reason}", op.location) from error
    verified.ops.add(op)


def _parts(op: Operation) -> Hashable:
    """All that decides whether an operation within a block verifies: its operands'
    types, and whether they were erased; None if other things do, too."""
    is_within = op.next_op is not None and not op.regions and not op.successors
    if not is_within or op.dialect_name() not in _SCALAR:
        return None
    operands = [(type(operand), operand.type) for operand in op.operands]
    attributes = (*op.properties.items(), None, *op.attributes.items())
    return type(op), tuple(operands), op.result_types, attributes


def _verify_alone(op: Operation) -> None:
    op.verify(verify_nested_ops=False)
    verify_as_upstream(op)
    if isinstance(op, FuncOp):
        states_of(op)
    for region in op.regions:
        _verify_end(op, region)


def _verify_region(region: Region, verified: _Verified) -> None:
    for block in region.blocks:
        for op in block.ops:
            if op not in verified.ops:
                _verify_operation(op, verified)


def _verify_end(op: Operation, region: Region) -> None:
    """Check that a region has an end, which xDSL does with a whole block only."""
    is_empty = len(region.blocks) == 1 and region.block.is_empty
    if is_empty and not op.has_trait(NoTerminator):
        raise QlowerError(f"{op.name}: an empty region has no terminator", op.location)


def _verify_dominance(op: Operation, verified: set[Operation]) -> None:
    """Check that operands are defined before their use, and in a region around it,
    which xDSL doesn't.

    `verified` are the operations before. Uses across blocks of one region (control
    flow) are not looked at.
    """
    for operand in op.operands:
        owner = operand.owner
        block = owner if isinstance(owner, Block) else owner.parent
        region = None if block is None else block.parent
        if block is not op.parent and not (region and region.is_ancestor(op)):
            fault = "is defined in a region that this is not in"
        elif (
            isinstance(owner, Operation)
            and owner not in verified
            and block is not None
            and block.find_ancestor_op_in_block(op) is not None
        ):
            fault = "is used before it is defined"
        else:
            continue
        default = f"of {owner.name}" if isinstance(owner, Operation) else "of a block"
        name = operand.name_hint or default
        raise QlowerError(f"{op.name}: operand %{name} {fault}", op.location)
