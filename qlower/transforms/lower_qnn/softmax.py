"""Softmax over rows: maximum, sum of terms, quotients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import BlockArgument, SSAValue

from qlower.contracts.values import softmax_values
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.model.nests import Nest, extract, to_index
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_softmax(
    lowering: Lowering, op: qnn.SoftmaxOp | qnn.LogSoftmaxOp
) -> Sequence[SSAValue]:
    """Three nests over (rows..., c): a maximum, a sum and a map.

    Terms and addends depend on the difference from the row's maximum alone, one of 256
    values, or 65,536 of 16 bits, and are tabulated.
    """
    contract = lowering.contract
    shape = shape_of(op.input)
    rows = shape[:-1]
    constants = softmax_values(contract, op)
    differences = np.arange(smallest_difference(op), 1, dtype=np.int32)
    term_rule = contract.rule("softmax_term")
    (terms,) = term_rule.evaluate({"difference": differences, **constants})
    addend_rule = contract.rule("softmax_addend")
    (addends,) = addend_rule.evaluate({"term": terms})
    (term_type,) = term_rule.function.function_type.outputs
    (addend_type,) = addend_rule.function.function_type.outputs
    term_table = lowering.emit.constant(terms, term_type)
    addend_table = lowering.emit.constant(addends, addend_type)

    nest = Nest(lowering.emit, shape, reductions=1)
    loops = range(len(shape))
    value = lowering.read(nest, op.input, loops)

    def larger(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
        return [nest.add(arith.MaxSIOp(accumulators[0], value)).result]

    init = lowering.emit.filled(rows, i32, np.iinfo(np.int32).min)
    (maxima,) = nest.reduce([init], larger)

    sums_nest = Nest(lowering.emit, shape, reductions=1)
    position = _table_position(lowering, sums_nest, op, maxima)
    addend = extract(sums_nest, addend_table, [position])
    init = lowering.emit.filled(rows, addend_type, 0)
    (sums,) = sums_nest.reduce([init], sums_nest.adding(addend))

    nest = Nest(lowering.emit, shape)
    runtime: dict[str, SSAValue] = {"sum": nest.input(sums, loops[:-1])}
    if isinstance(op, qnn.SoftmaxOp):
        position = _table_position(lowering, nest, op, maxima)
        runtime["term"] = extract(nest, term_table, [position])
    else:
        runtime["difference"] = _difference(lowering, nest, op, maxima)
    type = quantized_element(op.result.type)
    return [lowering.finish_with_rule(nest, op.rules[0], runtime, constants, type)]


def _difference(
    lowering: Lowering,
    nest: Nest,
    op: qnn.SoftmaxOp | qnn.LogSoftmaxOp,
    maxima: SSAValue,
) -> SSAValue:
    """The stored element less the maximum of its row."""
    loops = range(len(nest.bounds))
    value = lowering.read(nest, op.input, loops)
    maximum = nest.input(maxima, loops[:-1])
    return nest.add(arith.SubiOp(value, maximum)).result


def _table_position(
    lowering: Lowering,
    nest: Nest,
    op: qnn.SoftmaxOp | qnn.LogSoftmaxOp,
    maxima: SSAValue,
) -> SSAValue:
    """Where the tables hold the element's difference from the maximum of its row.

    It is cut to the bits of an element, which says that it lies in the table.
    """
    difference = _difference(lowering, nest, op, maxima)
    first = nest.constant(np.array(-smallest_difference(op), np.int32), i32)
    position = nest.add(arith.AddiOp(difference, first)).result
    stored = quantized_element(op.input.type).storage_type
    code = nest.add(arith.TruncIOp(position, stored)).result
    return to_index(nest, nest.add(arith.ExtUIOp(code, i32)).result)


def smallest_difference(op: qnn.SoftmaxOp | qnn.LogSoftmaxOp) -> int:
    """Between two stored integers, less the larger one."""
    return 1 - (1 << quantized_element(op.input.type).storage_width)
