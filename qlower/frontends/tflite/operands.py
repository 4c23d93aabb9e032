"""The operands and options of one operator, as the file has them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import TensorType

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.files.arrays import Array

from ..accessor import Operands
from .schema import Operator, OptionValue, Tensor
from .tensor_table import TensorTable
from .types import Element, checked_shape

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


class OperatorOperands(Operands):
    """One operator of the file.

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
        self.operator_name = operator.name
        self.count, self.result_count = len(operator.inputs), len(operator.outputs)
        self.options = options

    def error(self, message: str, *, help: str | None = None) -> QlowerError:
        """Return an error as any site does. Where no tensor is named the operator's
        result is, and the help says how the model works without the operator."""
        tensors = self.graph.tensors
        given = [n for n in self.operator.outputs if 0 <= n < len(tensors)]
        if given and not _NAMES_A_TENSOR.search(message):
            message = f"{message} ({tensors[given[0]]})"
        return super().error(message, help=help or self.graph.way_out(self.operator))

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
        """The shape that operands broadcast to, as in numpy."""
        shapes = [self.shape(number) for number in numbers]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            listed = " and ".join(str(list(shape)) for shape in shapes)
            raise self.error(f"shapes {listed} do not broadcast") from None

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
            if tensor.index in self.graph.model.inputs:
                raise self.error(
                    f"{tensor}: operand {number} is an input of the model; expected a"
                    " constant",
                    help=f"give {tensor.name!r} a value before the model is converted",
                )
            if tensor.index in self.graph.computed:
                raise self.error(
                    f"{tensor}: operand {number} is computed by a run; expected a"
                    " constant, or what is computed from constants and shapes"
                )
            raise self.error(
                f"{tensor}: operand {number} has no data; expected a constant"
            )
        return data

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

    def output(self, number: int = 0) -> Tensor:
        return self.graph.tensor(self.operator.outputs[number], self)

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
