"""Additions of 0.0, which change a number only if that is -0.0.

Systems add a zero point of 0 like any other. A product of an integer and of positive
numbers isn't -0.0, unless it is too small for a float32; nor is a sum with anything
that isn't.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith
from xdsl.ir import Block, SSAValue
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
    magnitudes = _least_magnitudes(block, constants)
    for op in sums:
        zero = constants.get(op.rhs)
        is_zero = zero is not None and not np.any(zero)
        if is_zero and op.lhs in magnitudes:
            Rewriter.replace_op(op, (), (op.lhs,))
    erase_dead_code(block)


def _least_magnitudes(block: Block, constants: Values) -> dict[SSAValue, float]:
    """Lower bounds of the magnitudes of float32 where they aren't 0, for those values
    that are never -0.0."""
    found: dict[SSAValue, float] = {}
    for op in block.ops:
        match op:
            case arith.SIToFPOp():  # an integer that is not 0 is at least 1; 0 is +0.0
                found[op.result] = 1.0
            case arith.MulfOp(lhs=factor, rhs=scale):
                scales = constants.get(scale)
                if factor in found and scales is not None and np.all(scales > 0):
                    product = found[factor] * float(np.min(scales))
                    # below that a negative product could be rounded to -0.0
                    if product >= _LEAST:
                        found[op.result] = product
            # only -0.0 and -0.0 add up to -0.0; another sum is a multiple of 2^-149
            case arith.AddfOp(lhs=a, rhs=b) if a in found or b in found:
                found[op.result] = _LEAST
            case _:
                pass
    return found
