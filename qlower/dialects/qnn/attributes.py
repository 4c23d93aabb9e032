"""The attributes that modules and functions have in addition to their operations."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects.builtin import (
    AnyDenseElement,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..quant import QuantizedType
from ..types import is_tensor_type

CONTRACT = "qnn.contract"
"""A module's contract: that of every operation which names none itself."""

SOURCE = "qnn.source"
"""The name of the file that a module was read from; nothing follows from it."""

REMARKS = "qnn.remarks"
"""The front end's remarks on the bits of a module that it made: a list of texts."""

OPEN_SIZES = "qnn.open_sizes"
"""Present where a module has its own sizes for some that its file leaves open."""

QDQ = "onnx.qdq"
"""The reading of an ONNX file's groups of dequantize, operator, quantize: "integer",
"x86" or "as-written" (`qlower.frontends.import_options`)."""

NAME = "qnn.name"
"""An argument's or result's name in the source model."""

STATE = "qnn.state"
"""Values that a function keeps from one call to the next (`states_of`)."""

TYPE = "qnn.type"
"""An argument's or result's quantized type, where values are plain integers."""


def module_contract(module: ModuleOp) -> str | None:
    """The contract that a module names, if it does."""
    name = module.attributes.get(CONTRACT)
    return name.data if isinstance(name, StringAttr) else None


InitialValue: TypeAlias = DenseIntOrFPElementsAttr[AnyDenseElement]


def states_of(function: FuncOp) -> tuple[InitialValue, ...]:
    """The initial values of a function's states, stored elements.

    The last arguments of the function are its states, and its last results, in the same
    order, what the next call takes for them. Raises VerifyException for an attribute
    that doesn't say this.
    """
    given = function.attributes.get(STATE)
    if given is None:
        return ()
    if not isa(given, ArrayAttr[InitialValue]):
        raise VerifyException(f"{STATE} is no list of dense tensors")
    count, types = len(given), function.function_type
    for what, have in (("arguments", types.inputs), ("results", types.outputs)):
        if len(have) < count:
            raise VerifyException(
                f"{STATE} has {count} initial values, the function {len(have)} {what}"
            )
    first_argument, first_result = len(types.inputs) - count, len(types.outputs) - count
    for index, initial in enumerate(given):
        taken = types.inputs.data[first_argument + index]
        left = types.outputs.data[first_result + index]
        if taken != left:
            raise VerifyException(
                f"state {index} is taken as {taken}, and left as {left}"
            )
        if initial.type != _stored(taken):
            raise VerifyException(
                f"state {index} is {taken}, its initial value {initial.type}"
            )
    return tuple(given)


def _stored(type: Attribute) -> Attribute:
    """The type of the stored elements of a tensor."""
    if is_tensor_type(type) and isinstance(type.element_type, QuantizedType):
        return TensorType(type.element_type.storage_type, type.get_shape())
    return type
