"""The context in which one operator is imported: its operands, options and results.

The file is long because a context is one class, with a method for each question.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, StorageCastOp
from qlower.dialects.types import element_type, shape_of
from qlower.files.arrays import Array

from ..accessor import Operands
from ..graph.values import Place
from .schema import Operator, OptionValue, Tensor
from .tensor_table import TensorTable
from .types import Element, checked_shape, stored_bytes

ACTIVATIONS: Mapping[int, str | None] = {
    0: None,
    1: "relu",
    2: "relu_n1_to_1",
    3: "relu6",
}
"""The schema's fused activation functions that qnn operations have."""

ARRAY_TYPES = {
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "FLOAT16": np.dtype("<f2"),
    "FLOAT32": np.dtype("<f4"),
    "BOOL": np.dtype(np.bool_),
}
"""The types of plain numbers that constants have."""

ACTIVATION_NAMES = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")

_NAMES_A_TENSOR = re.compile(r"\btensor (index )?-?\d")


class OperatorContext(Operands):
    """One operator of the file, and the function that it is added to.

    Operands and results are numbered as in the file. Every accessor checks what it
    returns and raises a `QlowerError` that names operator, tensor and value.
    """

    def __init__(
        self,
        graph: TensorTable,
        filename: str,
        operator: Operator,
        options: Mapping[str, OptionValue],
    ) -> None:
        of = f" of subgraph {operator.subgraph}" if operator.subgraph else ""
        subject = f"operator {operator.index}{of} {operator.name}"
        super().__init__(filename, operator.index, subject)
        self.graph = graph
        self.operator = operator
        self.options = options

    def error(self, message: str, *, help: str | None = None) -> QlowerError:
        """Return an error as any site does. Where no tensor is named the operator's
        result is, and the help says how the model works without the operator."""
        tensors = self.graph.tensors
        given = [n for n in self.operator.outputs if 0 <= n < len(tensors)]
        if given and not _NAMES_A_TENSOR.search(message):
            message = f"{message} ({tensors[given[0]]})"
        return super().error(message, help=help or self.graph.way_out(self.operator))

    # Operands

    def has(self, number: int) -> bool:
        """Whether an optional operand is there."""
        inputs = self.operator.inputs
        return number < len(inputs) and inputs[number] != -1

    def input(self, number: int) -> Tensor:
        if not self.has(number):
            raise self.error(f"operand {number} is missing")
        return self.graph.tensor(self.operator.inputs[number], self)

    def intermediate(self, number: int) -> Tensor:
        """A tensor without value and size, which has the scale of one in the kernel."""
        count = len(self.operator.intermediates)
        if number >= count:
            raise self.error(f"{count} intermediate tensors, expected {number + 1}")
        tensor = self.graph.tensor(self.operator.intermediates[number], self)
        return replace(tensor, shape=())

    def input_type(self, number: int) -> TensorType[Element]:
        return self.graph.type(self.input(number), self)

    def shape(self, number: int, rank: int | None = None) -> tuple[int, ...]:
        """The shape of an operand, which must have `rank` dimensions."""
        shape = self.input_type(number).get_shape()
        self.checked_rank(shape, number, rank)
        return shape

    def broadcast_shape(self, *numbers: int) -> tuple[int, ...]:
        """The shape that operands have together, as numpy's do."""
        shapes = [self.shape(number) for number in numbers]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            listed = " and ".join(str(list(shape)) for shape in shapes)
            raise self.error(f"shapes {listed} do not broadcast") from None

    def value(self, number: int) -> SSAValue:
        """An operand of any type."""
        tensor = self.input(number)
        return self.graph.value(tensor, self.graph.type(tensor, self), self)

    def quantized(self, number: int) -> SSAValue:
        """An activation or constant with one scale, of the same type as the result."""
        self.per_tensor(self.input(number))
        self.check_type(self.input(number), self.output().type)
        return self.value(number)

    def moved(self, number: int, output: int = 0) -> SSAValue:
        """An operand whose elements a result takes as they are stored.

        The kernels don't look at quantization, so that what they move has that of the
        result.
        """
        self.check_type(self.input(number), self.output(output).type)
        shape = self.shape(number)
        element = self.result_type(number=output).element_type
        return self.retyped(self.value(number), TensorType(element, shape))

    def elements(self, number: int) -> SSAValue:
        """The stored elements of an operand, of the type of the result's."""
        self.check_type(self.output(), self.input(number).type)
        return self.stored(self.value(number))

    def retyped(self, value: SSAValue, type: TensorType[Element]) -> SSAValue:
        """The stored elements of a value as those of another type."""
        if value.type == type:
            return value
        return self.as_stored(self.stored(value), type)

    def state(self, number: int) -> SSAValue:
        """The value of a variable tensor among the operands, as `keep` left it.

        At first that is the constant that it was widened from, or 0 (for INT8 the zero
        point), as in LiteRT's `ResetVariableTensor` (interpreter's util).
        """
        tensor, type = self._variable(number)
        zero = 0
        if tensor.type == "INT8" and isinstance(type.element_type, QuantizedType):
            zero = type.element_type.zero_points[0]
        zeros = stored_bytes(type) * zero.to_bytes(1, "little", signed=True)
        initial = self.graph.initially(tensor) or zeros
        name = self.graph.name(tensor)
        return self.graph.states.read(name, tensor, type, initial, self)

    def keep(self, number: int, value: SSAValue) -> None:
        """Leave a value in a variable tensor among the operands, for the next call."""
        tensor, type = self._variable(number)
        if value.type != type:
            raise self.error(f"{tensor}: has type {type}, is given {value.type}")
        self.graph.states.write(self.graph.name(tensor), value)

    def _variable(self, number: int) -> tuple[Tensor, TensorType[Element]]:
        tensor = self.input(number)
        if not tensor.is_variable:
            raise self.error(f"{tensor}: operand {number} must be a variable tensor")
        return tensor, self.graph.type(tensor, self)

    def stored(self, value: SSAValue) -> SSAValue:
        """The stored integers of a quantized value, a plain value itself."""
        element = element_type(value.type)
        if not isinstance(element, QuantizedType):
            return value
        owner = value.owner
        if isinstance(owner, StorageCastOp):
            return owner.input
        type = TensorType(element.storage_type, shape_of(value))
        return self.emit(StorageCastOp(value, type), "stored")

    def as_stored(self, value: SSAValue, type: TensorType[Element]) -> SSAValue:
        """A value of a quantized type, from its stored integers."""
        owner = value.owner
        if isinstance(owner, StorageCastOp) and owner.input.type == type:
            return owner.input
        return self.emit(StorageCastOp(value, type), "stored")

    def is_float(self, number: int) -> bool:
        return self.input(number).type == "FLOAT32"

    def is_constant(self, number: int) -> bool:
        return self.graph.constant(self.input(number), self) is not None

    def constant(self, number: int) -> bytes:
        """The bytes of an operand that must be a constant, or of no elements."""
        tensor = self.input(number)
        data = self.graph.constant(tensor, self)
        if data is None and _is_empty(tensor):
            return b""
        if data is None:
            raise self.error(f"{tensor}: operand {number} must be a constant")
        return data

    @property
    def operator_name(self) -> str:
        return self.operator.name

    @property
    def count(self) -> int:
        return len(self.operator.inputs)

    @property
    def result_count(self) -> int:
        return len(self.operator.outputs)

    def type_name(self, number: int) -> str:
        return self.input(number).type

    def described(self, number: int) -> str:
        return str(self.input(number))

    def plain_array(self, number: int, what: str) -> tuple[str, Array]:
        type = self.input(number).type
        is_known = type in ARRAY_TYPES or not self.constant(number)
        return type, self.array(number) if is_known else np.empty(0)

    def array(self, number: int) -> Array:
        """A constant operand of plain numbers."""
        tensor = self.input(number)
        data = self.constant(number)
        return self._as_array(tensor, data, self.dtype_of(tensor))

    def dtype_of(self, tensor: Tensor) -> np.dtype[np.generic]:
        """The type of a constant of plain numbers."""
        if tensor.type not in ARRAY_TYPES:
            raise self.error(
                f"{tensor}: type {tensor.type} is not supported for constants here;"
                f" expected {', '.join(ARRAY_TYPES)}"
            )
        return ARRAY_TYPES[tensor.type]

    def stored_array(self, number: int) -> Array:
        """The stored integers of a constant operand of 8 bits."""
        tensor = self.input(number)
        dtype = np.dtype(np.uint8 if tensor.type == "UINT8" else np.int8)
        return self._as_array(tensor, self.constant(number), dtype)

    def _as_array(
        self, tensor: Tensor, data: bytes, dtype: np.dtype[np.generic]
    ) -> Array:
        shape = tensor.shape if _is_empty(tensor) else checked_shape(tensor, self)
        expected = math.prod(shape) * dtype.itemsize
        if len(data) != expected:
            raise self.error(
                f"{tensor}: {len(data)} bytes of data, expected {expected}"
            )
        return np.frombuffer(data, dtype).reshape(shape)

    def stored_integer(self, number: int) -> int:
        """The element of a constant quantized scalar, as it is stored."""
        tensor = self.input(number)
        self.per_tensor(tensor)
        data = self.constant(number)
        size = 2 if tensor.type == "INT16" else 1
        if len(data) != size:
            raise self.error(f"{tensor}: {len(data)} bytes of data, expected {size}")
        return int.from_bytes(data, "little", signed=tensor.type != "UINT8")

    # Options

    noun = "option"

    @property
    def attributes(self) -> Mapping[str, object]:
        return self.options

    def option(self, name: str, low: int, high: int) -> int:
        """An integer option in [low, high]."""
        return self.integer(name, None, low, high)

    def real_list(self, name: str) -> tuple[float, ...]:
        value = self.options[name]
        assert isinstance(value, tuple)
        return value

    def activation(self) -> str | None:
        """The fused activation function, by its name in qnn."""
        code = self.integer("fused_activation_function")
        if code not in ACTIVATIONS:
            known = 0 <= code < len(ACTIVATION_NAMES)
            raise self.error(
                f"fused activation function"
                f" {ACTIVATION_NAMES[code] if known else code} is not supported;"
                f" expected one of {', '.join(ACTIVATION_NAMES[:4])}"
            )
        return ACTIVATIONS[code]

    # Results

    def output(self, number: int = 0) -> Tensor:
        return self.graph.tensor(self.operator.outputs[number], self)

    def result_type(
        self, shape: Sequence[int] | None = None, number: int = 0
    ) -> TensorType[Element]:
        """The type of a result, with the shape that follows from the operands'.

        Without `shape` that is the file's, for whoever builds the operation to check.
        """
        tensor = self.output(number)
        if shape is not None:
            self.graph.resize(tensor, tuple(shape), self)
        return self.graph.type(self.output(number), self)

    def quantized_result_type(
        self, shape: Sequence[int] | None = None, number: int = 0
    ) -> TensorType[Element]:
        """The type of a result, which must have one scale and zero point."""
        self.per_tensor(self.output(number))
        return self.result_type(shape, number)

    def emit(
        self, operation: Operation, suffix: str | None = None, output: int = 0
    ) -> SSAValue:
        """Add an operation; with `suffix` it is a step on the way to the result.

        It is named after the result, or after the last operand if there is none.
        """
        has_result = len(self.operator.outputs) > 0
        name = self.graph.name(self.output(output) if has_result else self.input(-1))
        place = Place(name, self.location, self.error)
        return self.graph.builder.add(operation, place, suffix)

    def reshaped(
        self, value: SSAValue, shape: Sequence[int], suffix: str = "reshape"
    ) -> SSAValue:
        """A value's elements in another shape, as a step on the way to the result."""
        if shape_of(value) == tuple(shape):
            return value
        type = TensorType(element_type(value.type), shape)
        return self.emit(qnn.ReshapeOp(value, type), suffix)

    def permuted(
        self, value: SSAValue, perm: Sequence[int], suffix: str = "transpose"
    ) -> SSAValue:
        """A value with its dimensions in another order, as a step."""
        shape = [shape_of(value)[dim] for dim in perm]
        type = TensorType(element_type(value.type), shape)
        return self.emit(qnn.TransposeOp(value, type, perm=perm), suffix)

    def finish(self, operation: Operation) -> None:
        """Add the operation whose results are those of the operator, in order."""
        self.emit(operation)
        for number, result in enumerate(operation.results):
            self.graph.define(self.output(number), result, self)

    def finish_part(
        self, number: int, operation: Operation, suffix: str | None = None
    ) -> None:
        """Add the operation whose one result is result `number` of the operator."""
        value = self.emit(operation, suffix, output=number)
        self.graph.define(self.output(number), value, self)

    # Checks

    def check_type(self, tensor: Tensor, expected: str) -> None:
        """Refuse a tensor of another type than the operator's other tensors."""
        if tensor.type != expected:
            raise self.error(
                f"{tensor}: type {tensor.type} is not supported together with"
                f" {expected}"
            )

    def per_tensor(self, tensor: Tensor) -> QuantizedType:
        """The quantization of `tensor`, which must have one scale and zero point."""
        element = self.graph.type(tensor, self).element_type
        if not isinstance(element, QuantizedType):
            raise self.error(
                f"{tensor}: type {tensor.type} is not supported by {self.operator.name}"
                " here; expected quantized INT8, UINT8 or INT16"
            )
        if tensor.quantization is None:
            raise self.error(
                f"{tensor}: {tensor.type} without a scale is not supported by"
                f" {self.operator.name} here; expected one"
            )
        if element.is_per_axis:
            raise self.error(
                f"{tensor}: {len(element.scales)} scales along dimension"
                f" {element.axis} are not supported by {self.operator.name} here;"
                " expected one scale"
            )
        return element


def _is_empty(tensor: Tensor) -> bool:
    """Whether a tensor has no elements, whatever the model is given."""
    return 0 in tensor.shape and min(tensor.shape + tensor.signature) >= 0
