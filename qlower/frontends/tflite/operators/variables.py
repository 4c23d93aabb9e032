"""Variables that a model keeps between calls: CALL_ONCE, VAR_HANDLE, READ_VARIABLE and
ASSIGN_VARIABLE."""

from __future__ import annotations

import numpy as np

from qlower.dialects.types import shape_of

from ...entry import takes
from ..context import OperatorContext
from ..schema import Operator, Subgraph
from ..variables import handles_of

LAST_SUBGRAPH = 1 << 16


def import_call_once(op: OperatorContext) -> None:
    """The first values of variables: a subgraph that assigns constants to them, or
    float16 that it widens."""
    number = op.option("init_subgraph_index", 0, LAST_SUBGRAPH)
    subgraph = op.graph.subgraph(number, op)
    handles = handles_of(subgraph)
    widened: dict[int, bytes] = {}
    for operator in subgraph.operators:
        if operator.name == "VAR_HANDLE":
            continue
        if operator.name == "DEQUANTIZE":
            widened |= _widened(op, subgraph, operator)
            continue
        subject = f"operator {operator.index} {operator.name} of subgraph {number}"
        if operator.name != "ASSIGN_VARIABLE" or len(operator.inputs) != 2:
            raise op.error(
                f"{subject} is not supported there; expected ASSIGN_VARIABLE"
            )
        handle, index = operator.inputs
        op.check_range(f"{subject}: tensor", index, 0, len(subgraph.tensors) - 1)
        tensor = subgraph.tensors[index]
        data = widened.get(index) or op.graph.constant(tensor, op)
        if handle not in handles or data is None:
            raise op.error(f"{subject} is not supported: {tensor} is not constant")
        op.graph.variables.initial[handles[handle]] = tensor, data


def _widened(
    op: OperatorContext, subgraph: Subgraph, operator: Operator
) -> dict[int, bytes]:
    """The float32 numbers that a DEQUANTIZE makes of constants in float16, by the index
    of its result; nothing where it is of other operands."""
    if len(operator.inputs) != 1 or len(operator.outputs) != 1:
        return {}
    (index,) = operator.inputs
    op.check_range("tensor index", index, 0, len(subgraph.tensors) - 1)
    tensor = subgraph.tensors[index]
    data = op.graph.constant(tensor, op)
    if tensor.type != "FLOAT16" or data is None or len(data) % 2:
        return {}
    return {operator.outputs[0]: np.frombuffer(data, "<f2").astype("<f4").tobytes()}


def import_var_handle(op: OperatorContext) -> None:
    op.graph.variables.handles[op.output().index] = op.text("shared_name", "")


def import_read_variable(op: OperatorContext) -> None:
    name = _variable(op)
    type = op.result_type()
    value = op.graph.states.find(name)
    if value is None:
        tensor = op.output()
        if name not in op.graph.variables.initial:
            raise op.error(f"variable {name!r} is read before it has a value")
        first, data = op.graph.variables.initial[name]
        if (first.type, first.shape) != (tensor.type, tensor.shape):
            raise op.error(
                f"variable {name!r} begins as {first.type} of shape"
                f" {list(first.shape)}, and is read as {tensor.type} of shape"
                f" {list(tensor.shape)}"
            )
        if name not in op.graph.variables.written:
            op.graph.know(tensor, data, tensor.shape, op)
            return
        value = op.graph.states.read(name, tensor, type, data, op)
    _check_shape(op, name, shape_of(value), type.get_shape())
    op.graph.define(op.output(), op.retyped(value, type), op)


def import_assign_variable(op: OperatorContext) -> None:
    name = _variable(op)
    value = op.value(1)
    type = op.graph.states.type_of(name)
    if type is not None:
        _check_shape(op, name, shape_of(value), type.get_shape())
        value = op.retyped(value, type)
    op.graph.states.write(name, value)


def _variable(op: OperatorContext) -> str:
    handle = op.input(0)
    name = op.graph.variables.handles.get(handle.index)
    if name is None:
        raise op.error(f"{handle}: not the handle of a variable")
    return name


def _check_shape(
    op: OperatorContext, name: str, shape: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    if shape != expected:
        raise op.error(
            f"variable {name!r} of shape {list(expected)} can't become"
            f" {list(shape)}: variables keep their shape"
        )


IMPORTERS = {
    "CALL_ONCE": takes("", import_call_once, (0, 0)),
    "VAR_HANDLE": takes("", import_var_handle),
    "READ_VARIABLE": takes("handle", import_read_variable),
    "ASSIGN_VARIABLE": takes("handle, value", import_assign_variable, (0, 0)),
}
