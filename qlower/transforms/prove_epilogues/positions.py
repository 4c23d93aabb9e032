"""Comparisons of an element's position that come out the same in a whole nest.

Systems that treat a tensor's last elements differently do so where its size is no
multiple of a vector; where it is, the comparison is a constant.
"""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from qlower.dialects.kernel import IndexOp, NestOp
from qlower.transforms.prove_epilogues.monotone import Values, run_scalars
from qlower.transforms.prove_epilogues.rewrite import erase_dead_code

_MOST_POSITIONS = 1 << 22
"""The most positions of a nest's loops that are looked at; with more, none are."""


def fold_positions(nest: NestOp) -> None:
    """Replaces such comparisons in the epilogue by constants."""
    bounds, block = nest.parallel_bounds, nest.epilogue.block
    if not any(isinstance(op, IndexOp) for op in block.ops):
        return
    if math.prod(bounds) > _MOST_POSITIONS:
        return
    values: Values = {}
    positions: set[SSAValue] = set()
    for op in tuple(block.ops):
        if isinstance(op, IndexOp):
            extents = [1] * len(bounds)
            loop = op.dim.value.data
            extents[loop] = bounds[loop]
            values[op.results[0]] = np.arange(bounds[loop]).reshape(extents)
            positions.update(op.results)
        elif not positions.isdisjoint(op.operands) or isinstance(op, arith.ConstantOp):
            if not all(operand in values for operand in op.operands):
                continue
            run_scalars([op], values)
            if op.operands:
                positions.update(op.results)
            if isinstance(op, arith.CmpiOp):
                held = np.asarray(values[op.result])
                if np.all(held == held.flat[0]):
                    constant = arith.ConstantOp(IntegerAttr(int(held.flat[0]), i1))
                    constant.location = op.location
                    Rewriter.replace_op(op, constant)
                    erase_dead_code(block)
