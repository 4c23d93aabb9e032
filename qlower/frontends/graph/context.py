"""The context in which one node is imported: its values, steps and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Operation, SSAValue

from qlower.dialects.quant import QuantizedType
from qlower.dialects.quant.ops import StorageCastOp
from qlower.dialects.types import shape_of
from qlower.model.nests import Nest

from .narrow import NARROW
from .nodes import QUANTIZE
from .operands import PLAIN_TYPES, NodeOperands
from .orders import Order, identity, stored_shape
from .schema import MAX_ELEMENTS
from .values import Element, Origin, Value

OTHER_STORED_TYPES: Mapping[str, QuantizedType] = {
    **{
        f"{'' if signed else 'U'}INT{bits}": QuantizedType.per_tensor(
            8, signed, 1.0, 0, -(1 << bits - 1) * signed, (1 << bits - signed) - 1
        )
        for bits in (2, 4)
        for signed in (True, False)
    },
    "INT16": QuantizedType.per_tensor(16, True, 1.0),
    "UINT16": QuantizedType.per_tensor(16, False, 1.0),
}
"""Types of stored values that come from and go to real numbers only: as they are held,
with the scale 1. Those of fewer bits are bytes of a smaller range."""


class NodeContext(NodeOperands):
    """One node of the graph, and the function that it is added to."""

    # Operands

    def value(self, number: int) -> Value:
        """An operand of any type; a constant becomes one of the function."""
        if self.is_constant(number):
            return self._plain_constant(number)
        return self.importer.value(self.name(number), self)

    def real(self, number: int) -> Value:
        """An operand of real numbers."""
        value = self.value(number)
        if not value.is_real:
            raise self.error(
                f"operand {self.name(number)!r} holds integers; expected real numbers"
            )
        return value

    def _plain_constant(self, number: int) -> Value:
        constant = self.constant(number, "operand")
        array = self.array(number, "operand")
        if constant.type in NARROW:
            place = self.place(self.name(number))
            ssa = self.builder.constant(array.astype(np.float32), f32, place)
            return Value(ssa, identity(array.ndim), is_real=True)
        if constant.type not in PLAIN_TYPES:
            raise self.error(
                f"a constant {self.name(number)!r} of type {constant.type} is not"
                f" supported here; expected one of {', '.join(PLAIN_TYPES)}"
            )
        ssa = self.builder.constant(
            array, PLAIN_TYPES[constant.type], self.place(self.name(number))
        )
        return Value(ssa, identity(array.ndim), constant.type == "FLOAT")

    # Quantized operands

    def stored(self, number: int, scale: int, zero_point: int) -> Value:
        """A quantized operand with one scale, which two other operands give."""
        return self.stored_as(number, self.quantization(scale, zero_point))

    def stored_as(self, number: int, element: QuantizedType) -> Value:
        """A quantized operand with these scales, whatever was said of it before."""
        name = self.name(number)
        if self.is_constant(number):
            array = self.stored_array(number, element)
            ssa = self.builder.constant(array, element, self.place(name))
            return Value(ssa, identity(array.ndim))
        value = self.importer.value(name, self)
        given = value.element
        if value.is_real or not isinstance(given, QuantizedType):
            raise self.error(f"operand {name!r} is not quantized")
        if (given.storage_width, given.signed) != (
            element.storage_width,
            element.signed,
        ):
            raise self.error(
                f"operand {name!r} is stored as {given}, its zero point as {element}"
            )
        return self.builder.as_stored(value, element, self.place())

    # Attributes and results

    def place(self, name: str | None = None) -> Origin:
        """The name and location of the operations that make a value; by default the
        result."""
        wanted = next(filter(None, self.node.outputs), "") if name is None else name
        return Origin(wanted, self.location, self.error)

    def emit(
        self, operation: Operation, suffix: str | None = None, number: int = 0
    ) -> SSAValue:
        """Add an operation; with `suffix` it is a step on the way to the result."""
        is_step = suffix is not None and not number
        name = None if is_step else self.result(number)
        return self.builder.emit(operation, self.place(name), suffix)

    def nest(
        self, bounds: Sequence[int], suffix: str | None = None, reductions: int = 0
    ) -> Nest:
        """A nest over `bounds`, named like the result or as a step."""
        return Nest(self.builder.emitter(self.place(), suffix), bounds, reductions)

    def plain(self, value: Value, suffix: str = "stored") -> SSAValue:
        """A value's elements as they are stored, without their meaning."""
        element = value.element
        if not isinstance(element, QuantizedType):
            return value.ssa
        type = TensorType(element.storage_type, shape_of(value.ssa))
        return self.emit(StorageCastOp(value.ssa, type), suffix)

    def meant(
        self, stored: SSAValue, element: Element, suffix: str | None = None
    ) -> SSAValue:
        """Stored elements with the meaning of a type."""
        if not isinstance(element, QuantizedType):
            return stored
        type = TensorType(element, shape_of(stored))
        return self.emit(StorageCastOp(stored, type), suffix)

    def in_order(self, value: Value, order: Order | None = None) -> Value:
        """The value stored in an order, by default that of the model's dimensions."""
        order = identity(len(value.order)) if order is None else order
        return self.builder.in_order(value, order, self.place())

    def reshaped(
        self, value: Value, shape: Sequence[int], order: Order | None = None
    ) -> Value:
        """The stored elements as a value of another shape, by default in the order of
        its dimensions."""
        order = identity(len(shape)) if order is None else order
        return self.builder.reshape(value, shape, order, self.place())

    def has_result(self, number: int) -> bool:
        """Whether an optional result is there."""
        return number < len(self.node.outputs) and bool(self.node.outputs[number])

    def result(self, number: int = 0) -> str:
        if not self.has_result(number):
            raise self.error(f"result {number} is missing")
        return self.node.outputs[number]

    def define(self, value: Value, number: int = 0) -> None:
        """The value of a result."""
        self.importer.define(self.result(number), value, self)

    def given(self) -> Value:
        """The value of the first result, after it was defined."""
        return self.importer.value(self.result(0), self)

    def finish(self, operation: Operation, like: Value) -> None:
        """Add the operation whose result is the node's, in the order of an operand."""
        self.define(replace(like, ssa=self.emit(operation), is_real=False))

    def typed(
        self, element: Element, shape: Sequence[int], order: Order
    ) -> TensorType[Element]:
        """The type of a value of the model's `shape`, stored in this order."""
        for size in shape:
            self.check_range("dimension of the result", size, 1, MAX_ELEMENTS)
        return TensorType(element, stored_shape(shape, order))

    def quantizer(self) -> NodeContext | None:
        """The quantization that is the only user of the only result, if it is."""
        user = self.graph.only_user(self.node, QUANTIZE)
        return None if user is None else NodeContext(self.importer, user)
