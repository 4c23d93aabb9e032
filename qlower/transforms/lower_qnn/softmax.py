"""Softmax over rows: maximum, sum of terms, quotients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from qlower.contracts.values import operation_values
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.emit.reductions import reduced_by, summed
from qlower.interp.values import Array
from qlower.model.nests import Nest, extract, to_index
from qlower.transforms.lower_qnn.lowering import Lowering

Softmax: TypeAlias = qnn.SoftmaxOp | qnn.LogSoftmaxOp


def lower_softmax(lowering: Lowering, op: Softmax) -> SSAValue:
    """Three nests over (rows..., c): a maximum, a sum and a map.

    Terms and addends depend on the difference from the row's maximum alone. Of bytes it
    is one of 256 values, for which they are tabulated; of 16 bits they are computed.
    """
    shape = shape_of(op.input)
    constants = operation_values(lowering.contract, op)
    width = quantized_element(op.input.type).storage_width
    terms = (_Tabulated if width == 8 else _Computed)(lowering, op, constants)

    nest = Nest(lowering.emit, shape, reductions=1)
    loops = range(len(shape))
    value = lowering.read(nest, op.input, loops)
    maxima = reduced_by(nest, arith.MaxSIOp, value, np.iinfo(np.int32).min)

    sums_nest = Nest(lowering.emit, shape, reductions=1)
    position = _position(lowering, sums_nest, op, maxima)
    addend = terms.addend(sums_nest, position)
    sums = summed(sums_nest, addend)

    nest = Nest(lowering.emit, shape)
    runtime: dict[str, SSAValue] = {"sum": nest.input(sums, loops[:-1])}
    if isinstance(op, qnn.SoftmaxOp):
        position = _position(lowering, nest, op, maxima)
        runtime["term"] = terms.term(nest, position)
    else:
        runtime["difference"] = _difference(lowering, nest, op, maxima)
    return lowering.finish_with_rule(nest, op.rules[0], runtime, constants, op.result)


def _difference(
    lowering: Lowering, nest: Nest, op: Softmax, maxima: SSAValue
) -> SSAValue:
    """The stored element less the maximum of its row."""
    loops = range(len(nest.bounds))
    value = lowering.read(nest, op.input, loops)
    maximum = nest.input(maxima, loops[:-1])
    return nest.add(arith.SubiOp(value, maximum)).result


def _position(
    lowering: Lowering, nest: Nest, op: Softmax, maxima: SSAValue
) -> SSAValue:
    """The distance, as i32, of the difference from the smallest one.

    It is cut to the bits of an element, which is the number of elements.
    """
    difference = _difference(lowering, nest, op, maxima)
    first = nest.constant(np.array(-smallest_difference(op), np.int32), i32)
    position = nest.add(arith.AddiOp(difference, first)).result
    stored = quantized_element(op.input.type).storage_type
    code = nest.add(arith.TruncIOp(position, stored)).result
    return nest.add(arith.ExtUIOp(code, i32)).result


def smallest_difference(op: Softmax) -> int:
    """The smallest difference of two stored integers, the larger one subtracted."""
    return 1 - (1 << quantized_element(op.input.type).storage_width)


class _Computed:
    """Terms, and what they add to the sum of a row, by their rules."""

    def __init__(
        self, lowering: Lowering, op: Softmax, constants: Mapping[str, Array]
    ) -> None:
        self._lowering = lowering
        self._constants = constants
        self._smallest = np.array(smallest_difference(op), np.int32)

    def term(self, nest: Nest, position: SSAValue) -> SSAValue:
        smallest = nest.constant(self._smallest, i32)
        difference = nest.add(arith.AddiOp(position, smallest)).result
        return self._rule(nest, "softmax_term", {"difference": difference})

    def addend(self, nest: Nest, position: SSAValue) -> SSAValue:
        return self._rule(nest, "softmax_addend", {"term": self.term(nest, position)})

    def _rule(self, nest: Nest, name: str, runtime: Mapping[str, SSAValue]) -> SSAValue:
        return self._lowering.apply_rule(nest, name, runtime, self._constants)


class _Tabulated:
    """Terms, and what they add to the sum of a row, from a table of each."""

    def __init__(
        self, lowering: Lowering, op: Softmax, constants: Mapping[str, Array]
    ) -> None:
        differences = np.arange(smallest_difference(op), 1, dtype=np.int32)
        term_rule = lowering.contract.rule("softmax_term")
        (terms,) = term_rule.evaluate_each(
            {"difference": differences, **constants}, differences.shape
        )
        addend_rule = lowering.contract.rule("softmax_addend")
        (addends,) = addend_rule.evaluate_each({"term": terms}, differences.shape)
        (term_type,) = term_rule.function.function_type.outputs
        (addend_type,) = addend_rule.function.function_type.outputs
        self._terms = lowering.emit.constant(terms, term_type)
        self._addends = lowering.emit.constant(addends, addend_type)

    def term(self, nest: Nest, position: SSAValue) -> SSAValue:
        return extract(nest, self._terms, [to_index(nest, position)])

    def addend(self, nest: Nest, position: SSAValue) -> SSAValue:
        return extract(nest, self._addends, [to_index(nest, position)])
