"""Operations on one element at a time: arithmetic, rescaling, borders, tables.

Functions of a byte become tables of all their values. Of 16 bits they are computed as
the rule says, from tables of its own that are smaller by two orders of magnitude; a
target that has memory for 65,536 values makes a table of them later (pass
tabulate-words).
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from qlower.contracts.values import mapping_rule, operand_values, operation_values
from qlower.dialects import qnn
from qlower.dialects.operations import named_operands
from qlower.dialects.quant import quantized_element
from qlower.dialects.types import shape_of
from qlower.emit.tables import looked_up, stored_values
from qlower.model.nests import Nest, broadcast_indices
from qlower.transforms.lower_qnn.lowering import Lowering


def lower_mapped(lowering: Lowering, op: Operation) -> SSAValue:
    """The rule of one element of each operand; two operands broadcast as numpy's do."""
    (result,) = op.results
    shape = shape_of(result)
    nest = Nest(lowering.emit, shape)
    alone = len(op.operands) == 1
    runtime = {
        name: lowering.read(
            nest,
            operand,
            range(len(shape)) if alone else broadcast_indices(shape_of(operand), shape),
        )
        for name, operand in named_operands(op)
    }
    constants = operation_values(lowering.contract, op)
    return lowering.finish_with_rule(nest, mapping_rule(op), runtime, constants, result)


def lower_compare(lowering: Lowering, op: qnn.CompareOp) -> SSAValue:
    """The rule of each operand, and which of the two numbers is larger."""
    result = shape_of(op.result)
    nest = Nest(lowering.emit, result)
    lhs, rhs = (
        lowering.apply_rule(
            nest,
            "compare",
            {
                "input": lowering.read(
                    nest, value, broadcast_indices(shape_of(value), result)
                )
            },
            operand_values("input", value.type),
        )
        for value in (op.lhs, op.rhs)
    )
    signed = "" if op.predicate in ("eq", "ne") else "s"
    comparison = arith.CmpiOp(lhs, rhs, f"{signed}{op.predicate}")
    return nest.build_one(nest.add(comparison).result)


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
