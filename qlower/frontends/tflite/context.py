"""The context in which one operator is imported: its values, steps and results."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, StorageCastOp
from qlower.dialects.types import element_type, shape_of

from ..graph.values import Origin
from .operands import OperatorOperands
from .schema import Tensor
from .types import Element, stored_bytes


class OperatorContext(OperatorOperands):
    """One operator of the file, and the function that it is added to."""

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

    # Results

    def result_type(
        self, shape: Sequence[int] | None = None, number: int = 0
    ) -> TensorType[Element]:
        """The type of a result, with the shape that follows from the operands'.

        Without `shape` that is the file's, which the operation's builder checks.
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
        """Add an operation; with `suffix` it is a step on the way to the result."""
        return self.graph.builder.add(operation, self.place(output), suffix)

    def place(self, output: int = 0) -> Origin:
        """The name and location of what is computed for a result, or for the last
        operand if there is none."""
        has_result = len(self.operator.outputs) > 0
        name = self.graph.name(self.output(output) if has_result else self.input(-1))
        return Origin(name, self.location, self.error)

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
