"""Operations on plain tensors between quantized ones, which stay as they are.

A model that computes in float32 for a while, or on integers of its own, says so in
`linalg`, `tensor` and `arith`: the order of every step is in the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.transforms.lower_qnn.lowering import Lowering


def keep(lowering: Lowering, op: Operation) -> Sequence[SSAValue]:
    """A copy that takes the lowered values, also those that its regions use."""
    used = {operand for inner in op.walk() for operand in inner.operands}
    for value in (*op.operands, *op.results):
        if isinstance(element_type(value.type), QuantizedType):
            raise QlowerError(
                f"{op.name} is not defined on {value.type}",
                op.location,
                help="qnn.dequantize gives real values, quant.scast stored ones",
            )
    lowered = {value: lowering.value(value) for value in used if value in lowering}
    return lowering.emit.add(op.clone(lowered)).results
