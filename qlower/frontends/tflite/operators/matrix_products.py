"""Products of constant matrices with rows, in the order of the kernels of LSTMs.

In float32 it is the order of Eigen's product of a matrix and a vector
(GeneralMatrixVector.h), or for a matrix of one row of its product of vectors. Several
rows that are multiplied together have the order of its product of matrices
(GeneralBlockPanelKernel.h), unless all are small: it adds one column after the other,
in one sum except where four rows meet outputs behind the last whole eight; four of
those have two sums in turn, the rest four.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.emit.ordered_sums import Factors, sums_in
from qlower.files.arrays import Array
from qlower.model.nests import dense
from qlower.operators.eigen_orders import PACKET, of_panels, of_vectors
from qlower.operators.orders import ROW_ORDERS, Order
from qlower.operators.products import Products
from qlower.operators.sums import Sums, matrix_rows

from ..context import OperatorContext
from ..nests import emitter, take
from .hybrid import by_litert

PANEL = 4
"""Rows that are multiplied together."""

BLOCK = 2 * PACKET
"""Outputs that are computed together; a packet and single ones may follow."""

BEHIND_BLOCKS, BEHIND_PACKETS = Order(of_panels(2, BLOCK)), Order(of_panels(4, PACKET))

SMALL = 20
"""Below that in rows, columns and outputs together, each element is a sum of its own
(EIGEN_GEMM_TO_COEFFBASED_PRODUCT_THRESHOLD)."""

MOST_COLUMNS = 680
"""The most columns that go through a cache of 32 KiB at once; Eigen adds more in parts,
by the machine's (computeProductBlockingSizes)."""

Product: TypeAlias = Callable[[SSAValue], SSAValue]
"""Makes the sums [rows, outputs] of a matrix and each of the rows [rows, columns] of a
tensor."""


def real_product(
    op: OperatorContext, matrices: Sequence[Array], together: int = 1
) -> Product:
    """Product of float32 matrices [outputs, columns] of one shape with rows, `together`
    rows at a time; the outputs of the matrices are concatenated."""
    outputs, columns = matrices[0].shape
    if min(outputs, together) > 1 and outputs + columns + together >= SMALL:
        return _product_of_matrices(op, np.stack(matrices), together)
    is_inner = outputs == together == 1
    order = Order(of_vectors) if is_inner else ROW_ORDERS["lanes"]
    weights = np.concatenate(matrices)
    return lambda x: _sums(op, x, weights, order)


def _sums(op: OperatorContext, x: SSAValue, weights: Array, order: Order) -> SSAValue:
    """The sums of weights [..., columns] and rows, in an order."""
    emit, matrix = emitter(op), weights.reshape(-1, weights.shape[-1])
    products = Products.of(Sums(matrix_rows(2)), shape_of(x), matrix.shape)
    return sums_in(order, emit, Factors(products, x, emit.constant(matrix, f32)))


def _product_of_matrices(op: OperatorContext, weights: Array, together: int) -> Product:
    """Product of matrices [count, outputs, columns], with several rows at a time."""
    count, outputs, columns = weights.shape
    if columns > MOST_COLUMNS:
        raise op.error(
            f"{columns} columns of weights of float32 with {together} rows at once,"
            f" which Eigen adds by the size of caches; expected {MOST_COLUMNS} at most"
        )
    panel = together // PANEL * PANEL
    whole = outputs // BLOCK * BLOCK
    first = whole + (outputs - whole) // PACKET * PACKET
    parts = (
        (slice(whole, first), BEHIND_BLOCKS),
        (slice(first, outputs), BEHIND_PACKETS),
    )

    def multiply(x: SSAValue) -> SSAValue:
        steps = shape_of(x)[0] // together
        sums = _sums(op, x, weights, ROW_ORDERS["sequential"])
        sums = op.reshaped(sums, (steps, together, count, outputs))
        x = op.reshaped(x, (steps, together, columns))
        for part, order in parts if panel else ():
            if part.start < part.stop:
                rows = take(op, x, [range(steps), range(panel), range(columns)])
                rows = op.reshaped(rows, (steps * panel, columns))
                piece = _sums(op, rows, weights[:, part], order)
                shape = (steps, panel, count, part.stop - part.start)
                piece = op.reshaped(piece, shape)
                sums = emitter(op).inserted(piece, sums, (0, 0, 0, part.start))
        return op.reshaped(sums, (steps * together, count * outputs))

    return multiply


def hybrid_product(
    op: OperatorContext,
    matrices: Sequence[Array],
    scales: Sequence[float],
    *,
    symmetric: bool,
) -> Product:
    """The product of int8 matrices with a scale each, and rows that are quantized by
    their range: `F(F(sum) F(s w))`."""
    weights = np.concatenate(matrices)
    of_outputs = np.repeat(
        np.array(scales, np.float32), [len(matrix) for matrix in matrices]
    )
    element = QuantizedType.per_axis(
        8, True, 0, of_outputs.tolist(), [0] * len(of_outputs)
    )
    stored = dense(weights, element.storage_type)
    value = op.emit(
        qnn.ConstantOp(stored, TensorType(element, weights.shape)), "weights"
    )

    def multiply(x: SSAValue) -> SSAValue:
        type = TensorType(f32, (shape_of(x)[0], len(weights)))
        layer = qnn.HybridLinearOp(x, value, None, type, contract="tflite")
        return op.emit(by_litert(layer, is_symmetric=symmetric), "sums")

    return multiply
