"""LRN: normalization of real images by the squares of neighbouring channels."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr

from qlower.model.nests import extract, to_index

from ...entry import takes
from ...ranking import running_sums
from ...scalars import Scalars, Steps, by_packets, text
from ..context import NodeContext
from ..values import Value, real_value
from .real import eigen, real_operand


def import_local_response(node: NodeContext) -> None:
    """`F(x s^-beta)`, s being a bias and shares of the squares of channels around it.

    The sum of the first channel is added in turn; each other one is the sum before it,
    with what enters its window added and what leaves it subtracted (nn/lrn.cc).
    """
    value = node.in_order(real_operand(node, 0))
    if len(value.shape) != 4:
        raise node.error(f"an input of rank {len(value.shape)}; expected 4")
    size = node.integer("size", None, 1)
    if not size % 2:
        raise node.error(f"size {size} is not supported; expected an odd number")
    beta = np.float32(node.number("beta", 0.75))
    if beta == np.rint(beta) != 1:
        raise node.error(
            f"beta {beta} is not supported; expected 1 or a number that isn't whole"
        )
    share = np.float32(node.number("alpha", 1e-4)) / np.float32(size)
    terms = _squares_in_turn(node, value, size, float(share))
    emit = node.builder.emitter(node.place(), "sums")
    bias = node.number("bias", 1.0)
    sums = running_sums(emit, terms, 1, bias, is_exclusive=False, is_reverse=False)

    power: Steps = eigen("ppow") if beta != 1 else _reciprocal
    nest = node.nest(value.shape)
    steps = Scalars(nest)
    last = AffineDimExpr(1) * 2 + (size - 1)
    of_sum = by_packets(power, text("_glibc", "powf"))(
        steps, nest.input(sums, [0, last, 2, 3]), steps.constant(-float(beta), f32)
    )
    x = nest.input(value.ssa, range(4))
    node.define(real_value(nest.build([steps.multiply(x, of_sum)])[0]))


def _reciprocal(steps: Scalars, x: SSAValue, exponent: SSAValue) -> SSAValue:
    """A number to the power -1, as Eigen has it in packets."""
    del exponent
    return steps.eigen("one_over", x)


def _squares_in_turn(
    node: NodeContext, value: Value, size: int, share: float
) -> SSAValue:
    """Return the terms of the windows' running sums, with their signs: all channels of
    the first window, then for each other the one that enters and that which leaves."""
    batch, channels, *image = value.shape
    window = np.arange(size) - (size - 1) // 2
    later = np.arange(1, channels)[:, None] + [window[-1], window[0] - 1]
    places = np.concatenate([window, later.reshape(-1)])
    factors = np.full(places.size, share, np.float32)
    factors[size + 1 :: 2] *= -1
    is_inside = (places >= 0) & (places < channels)
    nest = node.nest((batch, places.size, *image), "terms")
    steps = Scalars(nest)
    tables = [
        (np.where(is_inside, places, 0).astype(np.int32), i32),
        (np.where(is_inside, factors, 0).astype(np.float32), f32),
    ]
    place, factor = (
        nest.input(node.builder.constant(table, type, node.place()), (1,))
        for table, type in tables
    )
    x = extract(nest, value.ssa, [0, to_index(nest, place), 2, 3])
    term = steps.multiply(factor, steps.multiply(x, x))
    none = steps.constant(0.0, f32)
    is_none = steps.compare("eq", factor, none)
    return nest.build([steps.select(is_none, none, term)])[0]


IMPORTERS = {("", "LRN"): takes("x", import_local_response)}
