"""Functions of one byte among operators on float32.

A function between a DEQUANTIZE and a QUANTIZE has 256 results, which are tabulated. One
whose result stays a real number, or meets others, is computed when the model runs.
"""

from __future__ import annotations

from .context import OperatorContext
from .schema import Operator

POINTWISE = frozenset(
    {
        *("ABS", "ADD", "CEIL", "COS", "DIV", "ELU", "EXP", "FLOOR", "GELU"),
        *("HARD_SWISH", "LEAKY_RELU", "LOG", "LOGISTIC", "MAXIMUM", "MINIMUM", "MUL"),
        *("NEG", "POW", "RELU", "RELU6", "RELU_N1_TO_1", "ROUND", "RSQRT", "SELECT"),
        *("SELECT_V2", "SIGN", "SIN", "SQRT", "SQUARE", "SQUARED_DIFFERENCE", "SUB"),
        "TANH",
    }
)
"""Operators of which an element of the result takes one element of each operand."""


def returns_to_bytes(op: OperatorContext, number: int) -> bool:
    """Whether all that comes of the result is quantized again, and depends on operand
    `number` and constants only."""
    reached = {op.input(number).index, *op.operator.outputs}
    outputs = frozenset(op.graph.model.outputs)
    wanted, seen = list(op.operator.outputs), {op.operator.index}
    is_quantized = False
    while wanted:
        index = wanted.pop()
        if index in outputs:
            return False
        for user in op.graph.users.get(index, ()):
            if user.name == "QUANTIZE":
                is_quantized = True
            elif user.name not in POINTWISE:
                return False
            elif user.index not in seen:
                seen.add(user.index)
                reached.update(user.outputs)
                wanted.extend(user.outputs)
    users = (u for index in reached for u in op.graph.users.get(index, ()))
    return is_quantized and all(
        _takes_only(op, user, reached) for user in users if user.index in seen
    )


def _takes_only(op: OperatorContext, user: Operator, reached: set[int]) -> bool:
    """Whether an operator's operands are these tensors, or constants."""
    return all(
        index == -1
        or index in reached
        or op.graph.constant(op.graph.tensor(index, op), op) is not None
        for index in user.inputs
    )
