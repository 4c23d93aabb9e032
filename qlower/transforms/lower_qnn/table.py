"""Functions of one stored integer: of a byte as tables of all their values.

Of 16 bits they are computed as the rule says, from tables of its own that are smaller
by two orders of magnitude; a target that has memory for 65,536 values makes a table of
them later (pass tabulate-words).
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from qlower.contracts.values import operation_values
from qlower.dialects import qnn
from qlower.dialects.quant import quantized_element
from qlower.emit.tables import looked_up, stored_values
from qlower.transforms.lower_qnn.elementwise import lower_mapped
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_tabulated(lowering: Lowering, op: qnn.TabulatedOp) -> SSAValue:
    """The rule of each stored value, computed now, then one look-up an element; or the
    rule itself."""
    source, target = quantized_element(op.input.type), quantized_element(op.result.type)
    if source.storage_width > 8:
        return lower_mapped(lowering, op)
    stored = stored_values(source)
    values = operation_values(lowering.contract, op)
    (results,) = lowering.contract.rule(op.rules[0]).evaluate_each(
        {**values, "input": stored}, stored.shape
    )
    table = lowering.emit.constant(results, target.storage_type)
    return looked_up(lowering.emit, lowering.value(op.input), table)


def lower_lut(lowering: Lowering, op: qnn.LutOp) -> SSAValue:
    """A table of the model's own."""
    table = lowering.value(op.table)
    return looked_up(lowering.emit, lowering.value(op.input), table)
