"""Additions of 0.0, which change a number only if that is -0.0.

Systems add a zero point of 0 like any other. A product of an integer and of positive
numbers isn't -0.0, unless it is too small for a float32; nor is a sum with anything
that isn't.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from qlower.dialects.kernel import NestOp
from qlower.transforms.prove_epilogues.channels import parallel_constants
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.rewrite import erase_dead_code

_LEAST = 2.0**-149
"""The least positive float32."""


def fold_additions_of_zero(nest: NestOp) -> None:
    """Leaves out such additions in the epilogue where they change nothing."""
    block = nest.epilogue.block
    sums = [op for op in block.ops if isinstance(op, arith.AddfOp)]
    if not sums:
        return
    lanes = parallel_constants(nest)
    constants: Values = {block.args[index]: array for index, array in lanes.items()}
    for op in block.ops:
        if isinstance(op, arith.ConstantOp):
            run_scalars([op], constants)
    for op in sums:
        zero = constants.get(op.rhs)
        is_zero = zero is not None and not np.any(zero)
        if is_zero and _least_magnitude(op.lhs, constants) is not None:
            Rewriter.replace_op(op, (), (op.lhs,))
    erase_dead_code(block)


def _least_magnitude(value: SSAValue, constants: Values) -> float | None:
    """A lower bound of a float32's magnitude where it isn't 0; None if it may be -0.0,
    or nothing is known of it."""
    match value.owner:
        case arith.SIToFPOp():
            return 1.0
        case arith.MulfOp(lhs=factor, rhs=scale):
            least, scales = _least_magnitude(factor, constants), constants.get(scale)
            if least is None or scales is None or not np.all(np.greater(scales, 0)):
                return None
            product = least * float(np.min(scales))
            return product if product >= _LEAST else None
        case arith.AddfOp(lhs=a, rhs=b):
            known = _least_magnitude(a, constants), _least_magnitude(b, constants)
            return None if known == (None, None) else _LEAST
        case _:
            return None
