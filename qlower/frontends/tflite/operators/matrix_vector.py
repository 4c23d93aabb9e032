"""Products of constant matrices with rows, in the order of the kernels of LSTMs.

In float32 it is the order of Eigen's product of a matrix and a vector
(GeneralMatrixVector.h): four sums, each of every fourth column, as `(s0 + s2) + (s1 +
s3)`, then the columns behind the last whole packet. For a matrix of one row it is the
order of its product of vectors (InnerProduct.h): as many sums for each of four packets
in turn, which are added from the last to the first. Several rows that are multiplied
together have the order of its product of matrices (`matrix_matrix.py`), unless all are
small.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import shape_of
from qlower.emit.reductions import summed
from qlower.files.arrays import Array
from qlower.model.nests import dense

from ...scalars import PACKET, Scalars
from ..context import OperatorContext
from ..nests import start
from .hybrid import by_litert
from .matrix_matrix import Element, Product, is_of_matrices, matrix_product

CHAINS = 4
"""Packets of sums in a product of vectors."""


def real_product(
    op: OperatorContext, matrices: Sequence[Array], together: int = 1
) -> Product:
    """Product of float32 matrices with rows, `together` rows at a time; the outputs of
    the matrices are concatenated."""
    if is_of_matrices(matrices[0], together):
        return matrix_product(op, matrices, together)
    weights = np.concatenate(matrices)
    outputs, columns = weights.shape
    packets = columns // PACKET
    is_inner = len(matrices[0]) == 1 and together == 1
    chains = min(CHAINS, packets) if is_inner else min(1, packets)

    def sums(x: SSAValue, first: int) -> SSAValue:
        """The sums of one chain [rows, packet, outputs]."""
        taken = range(first, packets, chains)
        emitter = start(op, ()).emitter
        parts = weights[:, : packets * PACKET].reshape(outputs, packets, PACKET)
        constant = emitter.constant(parts[:, taken].transpose(1, 2, 0), f32)
        bounds = (shape_of(x)[0], PACKET, outputs, len(taken))
        nest = start(op, bounds, reductions=1)
        packet = AffineDimExpr(3) * chains + first
        factor = nest.input(x, [0, packet * PACKET + AffineDimExpr(1)])
        weight = nest.input(constant, [3, 1, 2])
        return summed(nest, Scalars(nest).multiply(factor, weight))

    def multiply(x: SSAValue) -> Element:
        folded = [sums(x, first) for first in range(chains)]

        def element(steps: Scalars) -> SSAValue:
            nest = steps.nest
            lanes: list[SSAValue] = []
            for lane in range(PACKET if folded else 0):
                at = (0, AffineConstantExpr(lane), 1)
                total, *others = [nest.input(chain, at) for chain in reversed(folded)]
                for other in others:
                    total = steps.add(other, total)
                lanes.append(total)
            result: SSAValue | None = None
            if lanes:
                even, odd = (steps.add(*lanes[part::2]) for part in (0, 1))
                result = steps.add(even, odd)
            for column in range(packets * PACKET, columns):
                factor = nest.input(x, [0, AffineConstantExpr(column)])
                weight = nest.constant(weights[:, column], f32)
                product = steps.multiply(factor, weight)
                result = product if result is None else steps.add(result, product)
            assert result is not None
            return result

        return element

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

    def multiply(x: SSAValue) -> Element:
        type = TensorType(f32, (shape_of(x)[0], len(weights)))
        layer = qnn.HybridLinearOp(x, value, None, type, contract="tflite")
        sums = op.emit(by_litert(layer, is_symmetric=symmetric), "sums")
        return lambda steps: steps.nest.input(sums, (0, 1))

    return multiply
