"""Regions of nests, built by cloning scalar code, and their maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from qlower.diagnostics import QlowerError
from qlower.dialects.copying import copy_operation
from qlower.dialects.kernel import IndexOp, YieldOp
from qlower.model.nests import constant

ZERO = AffineExpr.constant(0)


def substitute(map: AffineMap, loops: Sequence[AffineExpr], count: int) -> AffineMap:
    """The map over `count` new loops, where `loops[d]` takes the place of loop d."""
    return map.replace_dims_and_symbols(loops, (), count, 0)


def uses_index(block: Block) -> bool:
    """Whether a region's value depends on the counter of a loop."""
    return any(isinstance(op, IndexOp) for op in block.walk())


def pair(old: Iterable[SSAValue], new: Iterable[SSAValue]) -> dict[SSAValue, SSAValue]:
    """Maps each old value to the new value at the same position."""
    return dict(zip(old, new, strict=True))


def build_region(
    arguments: Iterable[SSAValue], code: Callable[[Block], Sequence[SSAValue]]
) -> Region:
    """A region with one block: `code` fills it and gives what it yields.

    Its arguments have the types and names of `arguments`.
    """
    models = tuple(arguments)
    block = Block(arg_types=[model.type for model in models])
    for argument, model in zip(block.args, models, strict=True):
        argument.name_hint = model.name_hint
    block.add_op(YieldOp.create(operands=code(block)))
    return Region(block)


def inline(
    source: Block,
    values: Mapping[SSAValue, SSAValue],
    into: Block,
    loops: Sequence[AffineExpr],
) -> tuple[SSAValue, ...]:
    """Clones the code of a nest's region to the end of `into` and gives what it yields.

    `values` maps the arguments of `source` that are used. `loops[d]` is the loop (or
    the constant) that takes the place of loop d.
    """
    terminator = source.last_op
    assert isinstance(terminator, YieldOp)
    results = terminator.arguments
    mapped = dict(values)
    for op in _needed(source, results):
        if isinstance(op, IndexOp):
            index = _index(op, loops)
            mapped[op.result] = index.results[0]
            into.add_op(index)
        else:
            into.add_op(copy_operation(op, mapped))
    return tuple(mapped.get(result, result) for result in results)


def move(
    source: Block,
    values: Mapping[SSAValue, SSAValue],
    into: Block,
    loops: Sequence[AffineExpr],
) -> tuple[SSAValue, ...]:
    """Moves the code of a nest that goes, as `inline` clones it."""
    terminator = source.last_op
    assert isinstance(terminator, YieldOp)
    for argument, value in values.items():
        replace_uses(argument, value)
    for op in tuple(source.ops)[:-1]:
        op.detach()
        if isinstance(op, IndexOp):
            index = _index(op, loops)
            replace_uses(op.result, index.results[0])
            op.erase()
            op = index
        into.add_op(op)
    return tuple(terminator.arguments)


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """Has a value used in the place of another, which keeps its name for itself."""
    for use in tuple(old.uses):
        use.operation.operands[use.index] = new


def take(
    source: Block,
    values: Mapping[SSAValue, SSAValue],
    into: Block,
    loops: Sequence[AffineExpr],
) -> tuple[SSAValue, ...]:
    """Moves the code of a `linalg.generic` that goes, as `inline` clones a nest's.

    Scalar constants from above are cloned too, so that regions depend on nothing from
    above but tensors.
    """
    terminator = source.last_op
    assert isinstance(terminator, linalg.YieldOp)
    brought: dict[SSAValue, SSAValue] = {}
    for argument, value in values.items():
        argument.replace_all_uses_with(value)
    for op in tuple(source.ops):
        for index, operand in enumerate(op.operands):
            owner = operand.owner
            home = owner if isinstance(owner, Block) else owner.parent
            if home is not source and home is not into:
                _bring(operand, brought, into)
                op.operands[index] = brought.get(operand, operand)
        if op is terminator:
            break
        op.detach()
        if isinstance(op, linalg.IndexOp):
            number = _index(op, loops)
            op.result.replace_all_uses_with(number.results[0])
            op.erase()
            op = number
        into.add_op(op)
    return tuple(terminator.arguments)


def _needed(block: Block, results: Sequence[SSAValue]) -> list[Operation]:
    """The ops that the results depend on, in order; scalar code has no effects."""
    live = set(results)
    needed: list[Operation] = []
    for op in reversed(tuple(block.ops)[:-1]):
        if not live.isdisjoint(op.results):
            live.update(op.operands)
            needed.append(op)
    return needed[::-1]


def _bring(value: SSAValue, values: dict[SSAValue, SSAValue], into: Block) -> None:
    """Makes a value from above the regions available in `into`."""
    if value in values or isinstance(value.type, TensorType):
        return
    constant = value.owner
    if not isinstance(constant, arith.ConstantOp):
        raise QlowerError(
            f"a loop body uses a value of type {value.type} from outside, which is "
            "neither a tensor nor a constant",
            constant.location if isinstance(constant, Operation) else None,
        )
    clone = constant.clone()
    into.add_op(clone)
    values[value] = clone.result


def _index(op: IndexOp | linalg.IndexOp, loops: Sequence[AffineExpr]) -> Operation:
    """The replacement of a loop's counter."""
    match loops[op.dim.value.data]:
        case AffineDimExpr(position):
            new: Operation = IndexOp(position)
        case AffineConstantExpr(number):
            new = arith.ConstantOp(IntegerAttr(number, IndexType()))
        case other:
            raise AssertionError(f"{other} is no loop")
    new.location = op.location
    new.results[0].name_hint = op.result.name_hint
    return new


def uniform_value(value: SSAValue) -> IntegerAttr | FloatAttr | None:
    """The element that a constant or filled tensor consists of, or None."""
    match value.owner:
        case ExpandShapeOp(src=source) | CollapseShapeOp(src=source):
            return uniform_value(source)
        case linalg.FillOp() as fill:
            return scalar_constant(fill.inputs[0])
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as dense):
            return _splat(dense)
        case _:
            return None


def scalar(value: IntegerAttr | FloatAttr, into: Block) -> SSAValue:
    """Appends a constant to a region's code."""
    op = constant(value)
    into.add_op(op)
    return op.result


def scalar_constant(value: SSAValue) -> IntegerAttr | FloatAttr | None:
    """The attribute of a scalar `arith.constant`, else None."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr() | FloatAttr() as attribute):
            return attribute
        case _:
            return None


def _splat(dense: DenseIntOrFPElementsAttr) -> IntegerAttr | FloatAttr | None:
    data = dense.data.data
    if len(dense) == 0:
        return None
    first = data[: len(data) // len(dense)]
    if data != first * len(dense):
        return None
    element = dense.get_element_type()
    if isinstance(element, IntegerType | IndexType):
        return IntegerAttr.unpack(element, first, 1)[0]
    assert isinstance(element, AnyFloat)
    return FloatAttr.unpack(element, first, 1)[0]
