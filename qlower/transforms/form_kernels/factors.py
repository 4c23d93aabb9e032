"""The two factors of a nest that sums products, and which tensors are constants."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from qlower.dialects.kernel import NestOp, YieldOp


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
    seen, pending = {value}, [value]
    while pending:
        owner = pending.pop().owner
        if isinstance(owner, Operation):
            pending += (new := set(owner.operands) - seen)
            seen |= new
    return {v for v in seen if isinstance(v, BlockArgument) and v.block is body}


def is_constant(value: SSAValue) -> bool:
    """Whether a tensor is read-only data of the program, up to its shape."""
    match value.owner:
        case arith.ConstantOp():
            return True
        case ExpandShapeOp(src=source) | CollapseShapeOp(src=source):
            return is_constant(source)
        case _:
            return False
