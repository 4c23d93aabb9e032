"""Models in upstream's `linalg`: its named operations as `linalg.generic`, and numbers
that upstream leaves without a result."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IntegerType, ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.ml_program import GlobalOp
from xdsl.ir import Operation, Region
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from qlower.dialects import fixed
from qlower.dialects.linalg import NamedOp
from qlower.dialects.types import shape_of
from qlower.model.layers import name_layers
from qlower.model.nests import scalar_constant


def complete_linalg(module: ModuleOp) -> None:
    """Write the layers of a module, under their names, as `linalg.generic`; define
    conversions from floats, and leave out global variables: nothing here reads one."""
    for op in list(module.body.ops):
        # torch-mlir writes the state of a random generator into every model.
        if isinstance(op, GlobalOp):
            module.body.block.erase_op(op)
    changes = [op for op in module.walk() if _is_named(op) or type(op) in _WIDENING]
    if not changes:
        return
    name_layers(module)
    generalize_named(module)
    for op in changes:
        if isinstance(op, arith.FPToSIOp | arith.FPToUIOp):
            _define_conversion(op)


def generalize_named(module: ModuleOp) -> None:
    """Replace every named operation, except `linalg.fill`, by its `linalg.generic`."""
    for op in list(module.walk()):
        generic = _generic(op)
        if generic is None:
            continue
        generic.location = op.location
        for old, new in zip(op.results, generic.results, strict=True):
            new.name_hint = old.name_hint
        Rewriter.replace_op(op, generic)


def _generic(op: Operation) -> linalg.GenericOp | None:
    """The generic form of an operation; None for others than named ones."""
    match op:
        case NamedOp() | linalg.TransposeOp():
            return linalg.GenericOp(
                op.inputs,
                op.outputs,
                op.detach_region(op.body),
                op.get_indexing_maps(),
                op.get_iterator_types(),
                op.result_types,
            )
        case linalg.BroadcastOp():
            given = _without(len(shape_of(op.init)), op.dimensions.get_values())
            return _unary(op, op.hidden_region, given, range(len(shape_of(op.init))))
        case linalg.ReduceOp():
            rank = len(shape_of(op.input))
            kept = _without(rank, op.dimensions.get_values())
            return _unary(op, op.region, range(rank), kept)
        case _:
            return None


def _unary(
    op: linalg.BroadcastOp | linalg.ReduceOp,
    region: Region,
    read: Sequence[int],
    written: Sequence[int],
) -> linalg.GenericOp:
    """One tensor into one, at places that are some of the loops each."""
    loops = max(len(read), len(written))
    maps = [
        AffineMapAttr(AffineMap(loops, 0, tuple(map(AffineExpr.dimension, places))))
        for places in (read, written)
    ]
    iterators = [
        IteratorTypeAttr.parallel() if loop in written else IteratorTypeAttr.reduction()
        for loop in range(loops)
    ]
    return linalg.GenericOp(
        (op.input,),
        (op.init,),
        op.detach_region(region),
        maps,
        iterators,
        op.result_types,
    )


def _is_named(op: Operation) -> bool:
    return isinstance(
        op, NamedOp | linalg.TransposeOp | linalg.BroadcastOp | linalg.ReduceOp
    )


_WIDENING = {arith.FPToSIOp: 0, arith.FPToUIOp: 1}
"""Bits that a signed type has more than the one that a float is converted to."""


def _define_conversion(op: arith.FPToSIOp | arith.FPToUIOp) -> None:
    """Have a float that isn't in the type's range become the end next to it, and a NaN
    zero. Upstream gives these no result."""
    target = op.result.type
    width = target.width.data
    wide = IntegerType(width + _WIDENING[type(op)])
    convert = fixed.ConvertOp(op.input, wide, fixed.RoundingMode.TOWARD_ZERO)
    steps: list[Operation] = [convert]
    if wide != target:
        least = scalar_constant(0, wide)
        clamped = arith.MaxSIOp(convert.result, least)
        steps += [least, clamped, arith.TruncIOp(clamped.result, target)]
    for step in steps:
        step.location = op.location
    Rewriter.replace_op(op, steps)


def _without(rank: int, dimensions: Sequence[int]) -> list[int]:
    return [axis for axis in range(rank) if axis not in dimensions]
