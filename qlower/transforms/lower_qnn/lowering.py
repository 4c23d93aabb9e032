"""The state of lowering one function, and the steps that all operations share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import (
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.contracts import Contract
from qlower.contracts.values import position_values, rounding_values
from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.emit.inline_rule import inline_rule
from qlower.emit.tensors import pad, reshape, storage_type
from qlower.interp.values import Array
from qlower.model.nests import Index, Nest, narrow, row_major_index, widen
from qlower.transforms.lowered_function import Lower, LoweredFunction

ContractOf: TypeAlias = Callable[[Operation], Contract]


class Lowering(LoweredFunction):
    """Lowers the operations of one function, each by the rules of its contract.

    Refusals are kept in `refused`, and a placeholder tensor replaces the result, so
    that later refusals come to light, too.
    """

    neighbours = "qnn operations"
    convert = staticmethod(storage_type)

    def __init__(self, function: func.FuncOp, contract_of: ContractOf) -> None:
        super().__init__(function)
        self._contract_of = contract_of
        self.refused: list[tuple[Operation, QlowerError]] = []

    @staticmethod
    def note(type: Attribute) -> Attribute | None:
        element = element_type(type)
        return element if isinstance(element, QuantizedType) else None

    def results(self, lower: Lower, op: Operation) -> Sequence[SSAValue]:
        try:
            return super().results(lower, op)
        except QlowerError as error:
            self.refused.append((op, error))
        return [
            self.emit.add(tensor.EmptyOp((), storage_type(value.type))).tensor
            for value in op.results
        ]

    def keep(self, op: Operation) -> Sequence[SSAValue]:
        """A copy of an operation on plain tensors between quantized ones.

        A model that computes in float32 for a while, or on integers of its own, says so
        in `linalg`, `tensor` and `arith`: the order of every step is in the text.
        """
        for value in (*op.operands, *op.results):
            if isinstance(element_type(value.type), QuantizedType):
                raise QlowerError(
                    f"{op.name} is not defined on {value.type}",
                    op.location,
                    help="qnn.dequantize gives real values, quant.scast stored ones",
                )
        return super().keep(op)

    @property
    def contract(self) -> Contract:
        """The contract that gives the operation at hand its arithmetic."""
        return self._contract_of(self.op)

    def read(self, nest: Nest, source: SSAValue, indices: Sequence[Index]) -> SSAValue:
        """Read a tensor in a nest: a number of f32, or a stored integer as i32."""
        scalar = nest.input(self.value(source), indices)
        type = element_type(source.type)
        is_stored = isinstance(type, QuantizedType)
        return self.widen(nest, scalar, type) if is_stored else scalar

    def widen(self, nest: Nest, scalar: SSAValue, type: QuantizedType) -> SSAValue:
        """A stored integer as i32, by its own signedness."""
        return widen(nest, scalar, i32, unsigned=not type.signed)

    def narrow(self, nest: Nest, scalar: SSAValue, type: QuantizedType) -> SSAValue:
        """An i32 that the storage can hold, as a stored integer."""
        return narrow(nest, scalar, type.storage_type, unsigned=not type.signed)

    def finish_with_rule(
        self,
        nest: Nest,
        name: str,
        runtime: Mapping[str, SSAValue],
        constants: Mapping[str, Array],
        stored: SSAValue,
    ) -> SSAValue:
        """Finish a map whose result is what rule `name` gives, as `stored` has it."""
        result = self.apply_rule(nest, name, runtime, constants)
        if isinstance(type := element_type(stored.type), QuantizedType):
            result = self.narrow(nest, result, type)
        return nest.build([result])[0]

    def apply_rule(
        self,
        nest: Nest,
        name: str,
        runtime: Mapping[str, SSAValue],
        constants: Mapping[str, Array],
    ) -> SSAValue:
        """The results of rule `name` at each iteration of a map.

        The position, and the values that hold for the whole operation, are added to
        those given.
        """
        rule = self.contract.rule(name)
        constants = {
            **position_values(nest.output_shape),
            **rounding_values(self.op),
            **constants,
        }
        if "element" in rule.values:
            runtime = {**runtime, "element": row_major_index(nest)}
        (result,) = inline_rule(rule, runtime, constants, nest)
        return result

    def pad(
        self, value: SSAValue, low: Sequence[int], high: Sequence[int], stored: float
    ) -> SSAValue:
        """`value` surrounded by the stored number (`value` itself if by nothing)."""
        return pad(self.emit, value, low, high, stored)

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A tensor of another shape with the elements of `value` in the same order."""
        return reshape(self.emit, value, shape)
