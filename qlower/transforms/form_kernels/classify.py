"""Which family of loop skeletons suits a nest, read off its maps and its body."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qlower.dialects.kernel import NestOp, YieldOp


def classify(nest: NestOp) -> str:
    """One of `NestOp.FAMILIES`, which defines them."""
    if not nest.reduction_bounds:
        return "map"
    body = nest.body.block
    maps = nest.input_maps
    parallel = range(len(nest.parallel_bounds))
    factors = product_factors(nest)
    if factors is not None:
        activation, weight = factors
        moves_weight_only = maps[weight].used_dims() - maps[activation].used_dims()
        if not moves_weight_only.isdisjoint(parallel):
            return "contraction"
    activations = [
        index
        for index, value in enumerate(nest.inputs)
        if body.args[index].uses and not is_constant(value)
    ]
    if not activations:
        return "loop"
    map = maps[activations[0]]
    moved = {d for d in parallel if nest.parallel_bounds[d] > 1}
    if not moved <= map.used_dims():
        return "loop"
    return "row" if _has_plain_indices(map) else "window"


def _has_plain_indices(map: AffineMap) -> bool:
    return all(
        isinstance(expression, AffineDimExpr) or not expression.used_dims()
        for expression in map.results
    )


def product_factors(nest: NestOp) -> tuple[int, int] | None:
    """The inputs f and g of a body `accumulator + f * g`: activation, then weight.

    Each factor may be computed from its input (widened, zero point subtracted). The
    weight is the constant one, else the second. None for any other body.
    """
    body = nest.body.block
    terminator = body.last_op
    assert isinstance(terminator, YieldOp)
    if len(terminator.arguments) != 1:
        return None
    accumulator = body.args[-1]
    total = terminator.arguments[0].owner
    if not isinstance(total, arith.AddiOp):
        return None
    terms = [term for term in (total.lhs, total.rhs) if term is not accumulator]
    if len(terms) != 1 or not isinstance(terms[0].owner, arith.MuliOp):
        return None
    product = terms[0].owner
    sources = [_sources(factor, body) for factor in (product.lhs, product.rhs)]
    indices = [next(iter(source)).index for source in sources if len(source) == 1]
    if len(indices) != 2 or accumulator.index in indices or indices[0] == indices[1]:
        return None
    first, second = indices
    if is_constant(nest.inputs[first]) and not is_constant(nest.inputs[second]):
        return second, first
    return first, second


def _sources(value: SSAValue, body: Block) -> set[BlockArgument]:
    """The arguments of the body that a value is computed from."""
    if isinstance(value, BlockArgument):
        return {value} if value.block is body else set()
    assert isinstance(value.owner, Operation)
    return {
        source for operand in value.owner.operands for source in _sources(operand, body)
    }


def is_constant(value: SSAValue) -> bool:
    """Whether a tensor is read-only data of the program, up to its shape."""
    match value.owner:
        case arith.ConstantOp():
            return True
        case ExpandShapeOp(src=source) | CollapseShapeOp(src=source):
            return is_constant(source)
        case _:
            return False
