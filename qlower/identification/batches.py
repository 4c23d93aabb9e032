"""Models that take many inputs at a time, where each gets what it gets alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator
from xdsl.utils.hints import isa

from qlower.contracts import Contract
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import states_of
from qlower.dialects.types import shape_of
from qlower.model.entry import main_function
from qlower.model.layers import is_constant
from qlower.text.verification import verify_module

POSITIONAL = {"element", "element_count"}
"""Values of rules that depend on the size of the whole tensor."""


def batched(module: ModuleOp, rows: int) -> ModuleOp | None:
    """The model for `rows` inputs at a time, which the leading dimension counts.

    None where rows might not stay apart: for models with states, with a tensor whose
    leading dimension isn't 1 or is its only one, and with an operation that doesn't
    take more than one row.
    """
    found = module.clone()
    function = main_function(found)
    if states_of(function):
        return None
    for value in list(_computed(found)):
        type = value.type
        if not isa(type, TensorType) or len(type.get_shape()) < 2:
            return None
        first, *rest = type.get_shape()
        if first != 1:
            return None
        wide = TensorType(type.element_type, [rows, *rest])
        Rewriter.replace_value_with_new_type(value, wide)
    block = function.body.block
    assert block.last_op is not None
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in block.args],
        [operand.type for operand in block.last_op.operands],
    )
    try:
        verify_module(found)
    except QlowerError:
        return None
    return found


def largest(module: ModuleOp) -> int:
    """The elements of the largest tensor that the model takes or computes."""
    return max(math.prod(shape_of(value)) for value in _computed(module))


def is_positional(op: Operation, contract: Contract) -> bool:
    """Whether the contract's rules for an operation ask where in a tensor a result is,
    or how large that is."""
    names = op.rules if isinstance(op, qnn.QnnOp) else ()
    rules = (contract.rules.get(name) for name in names)
    return any(rule is not None and POSITIONAL & set(rule.values) for rule in rules)


def _computed(module: ModuleOp) -> Iterator[SSAValue]:
    """The inputs, and what operations compute of them."""
    block = main_function(module).body.block
    yield from block.args
    for op in block.ops:
        if not is_constant(op) and not op.has_trait(IsTerminator):
            yield from op.results
