"""Functions of one stored integer: of a byte as tables of all their values.

Of 16 bits they are computed as the rule says, from tables of its own that are smaller
by two orders of magnitude; a target that has memory for 65,536 values makes a table of
them later (pass tabulate-words).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from qlower.contracts.values import unary_values
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.model.nests import Nest, extract, to_index
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_tabulated(lowering: Lowering, op: qnn.TabulatedOp) -> Sequence[SSAValue]:
    """The rule of each stored value, computed now, then one look-up an element; or the
    rule itself."""
    source, target = quantized_element(op.input.type), quantized_element(op.result.type)
    values = unary_values(lowering.contract, op)
    name = op.rules[0]
    if source.storage_width > 8:
        nest = Nest(lowering.emit, shape_of(op.input))
        runtime = {"input": lowering.read(nest, op.input, range(nest.parallel))}
        return [lowering.finish_with_rule(nest, name, runtime, values, target)]
    codes = np.arange(1 << source.storage_width, dtype=f"u{source.storage_width // 8}")
    stored = codes.view(f"i{codes.itemsize}") if source.signed else codes
    (results,) = lowering.contract.rule(name).evaluate_each(
        {"input": stored.astype(np.int32), **values}, codes.shape
    )
    table = lowering.emit.constant(results, target.storage_type)
    return [_look_up(lowering, op.input, table)]


def lower_lut(lowering: Lowering, op: qnn.LutOp) -> Sequence[SSAValue]:
    """A table of the model's own."""
    return [_look_up(lowering, op.input, lowering.value(op.table))]


def _look_up(lowering: Lowering, source: SSAValue, table: SSAValue) -> SSAValue:
    """`table[stored value read as unsigned]` for each element."""
    nest = Nest(lowering.emit, shape_of(source))
    stored = nest.input(lowering.value(source), range(nest.parallel))
    code = nest.add(arith.ExtUIOp(stored, i32)).result
    return nest.build([extract(nest, table, [to_index(nest, code)])])[0]
