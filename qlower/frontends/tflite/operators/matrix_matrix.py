"""Products of constant float32 matrices with several rows together, in Eigen's order.

Its product of matrices (GeneralBlockPanelKernel.h, packets of four, without FMAs) adds
one column after the other, in one sum except where four rows meet outputs behind the
last whole eight: four of those have two sums in turn, the rest four.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects.types import shape_of
from qlower.emit.reductions import summed
from qlower.files.arrays import Array
from qlower.operators.sums import Sums, matrix_rows

from ...scalars import PACKET, Scalars
from ..context import OperatorContext
from ..nests import emitter, start, sums_of, take
from .real import reshaped

PANEL = 4
"""Rows that are multiplied at once."""

BLOCK = 2 * PACKET
"""Outputs that are computed at once; behind them there may be a packet, and others."""

SMALL = 20
"""Below that in rows, columns and outputs together, each element is a sum of its own
(EIGEN_GEMM_TO_COEFFBASED_PRODUCT_THRESHOLD)."""

MOST_COLUMNS = 680
"""The most columns that go through a cache of 32 KiB at once; Eigen adds more in parts,
by the machine's (computeProductBlockingSizes)."""

Element: TypeAlias = Callable[[Scalars], SSAValue]
"""A product's element in a nest over [rows, outputs]."""

Product: TypeAlias = Callable[[SSAValue], Element]
"""Makes the sums of a matrix and each of the rows [rows, columns] of a tensor."""


def is_of_matrices(matrix: Array, together: int) -> bool:
    """Whether the product of a matrix and `together` rows is a product of matrices."""
    outputs, columns = matrix.shape
    return min(outputs, together) > 1 and outputs + columns + together >= SMALL


def matrix_product(
    op: OperatorContext, matrices: Sequence[Array], together: int
) -> Product:
    """The product of matrices [outputs, columns] of one shape, whose outputs follow
    each other, with rows that are multiplied `together` at a time."""
    weights = np.stack(matrices)
    count, outputs, columns = weights.shape
    if columns > MOST_COLUMNS:
        raise op.error(
            f"{columns} columns of weights of float32 with {together} rows at once,"
            f" which Eigen adds by the size of caches; expected {MOST_COLUMNS} at most"
        )
    panel = together // PANEL * PANEL
    whole = outputs // BLOCK * BLOCK
    first = whole + (outputs - whole) // PACKET * PACKET
    parts = (slice(whole, first), 2, BLOCK), (slice(first, outputs), 4, PACKET)

    def multiply(x: SSAValue) -> Element:
        steps = shape_of(x)[0] // together
        sums = _sums(op, x, weights.reshape(count * outputs, columns))
        sums = reshaped(op, sums, (steps, together, count, outputs))
        x = reshaped(op, x, (steps, together, columns))
        emitter = start(op, ()).emitter
        for part, chains, period in parts if panel else ():
            if part.start < part.stop:
                rows = take(op, x, [range(steps), range(panel), range(columns)])
                piece = _in_turns(op, rows, weights[:, part], chains, period)
                sums = emitter.inserted(piece, sums, (0, 0, 0, part.start))
        sums = reshaped(op, sums, (steps * together, count * outputs))
        return lambda scalars: scalars.nest.input(sums, (0, 1))

    return multiply


def _sums(op: OperatorContext, x: SSAValue, weights: Array) -> SSAValue:
    """[rows, outputs], one column after the other."""
    matrix = emitter(op).constant(weights, f32)
    return sums_of(op, Sums(matrix_rows(2)), x, matrix)


def _in_turns(
    op: OperatorContext, x: SSAValue, weights: Array, chains: int, period: int
) -> SSAValue:
    """[steps, rows, matrices, outputs] of x [steps, rows, columns]: sums in turn of the
    columns of whole periods, then the others."""
    steps, rows, columns = shape_of(x)
    matrices, outputs, _ = weights.shape
    bounds = (steps, rows, matrices, outputs)
    end = columns // period * period
    parts: list[SSAValue] = []
    for chain in range(chains if end else 0):
        taken = weights[..., chain:end:chains]
        nest = start(op, (*bounds, end // chains), reductions=1)
        weight = nest.input(nest.emitter.constant(taken, f32), (2, 3, 4))
        column = AffineDimExpr(4) * chains + chain
        factor = nest.input(x, (0, 1, column))
        parts.append(summed(nest, Scalars(nest).multiply(factor, weight)))
    scalars = Scalars(start(op, bounds))
    nest = scalars.nest
    values = [nest.input(part, range(4)) for part in parts]
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [scalars.add(*pair) for pair in pairs]
    (total,) = values or [scalars.constant(0.0, f32)]
    for column in range(end, columns):
        factor = nest.input(x, (0, 1, AffineConstantExpr(column)))
        weight = nest.constant(weights[..., column], f32, (2, 3))
        total = scalars.add(total, scalars.multiply(factor, weight))
    return nest.build([total])[0]
