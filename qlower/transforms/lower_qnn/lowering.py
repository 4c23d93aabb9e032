"""The state of lowering one function, and the steps that all operations share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from qlower.contracts import Contract
from qlower.contracts.values import position_values, rounding_values
from qlower.diagnostics import QlowerError
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.emit.inline_rule import inline_rule
from qlower.emit.tensors import pad, reshape, storage_type
from qlower.interp.values import Array
from qlower.model.cloning import clone_in_order
from qlower.model.nests import Index, Nest, narrow, row_major_index, widen
from qlower.transforms.lowered_function import Lower, LoweredFunction

ContractOf: TypeAlias = Callable[[Operation], Contract]


@dataclass(frozen=True)
class _Lowered:
    """The lowered form of an operation: those that were appended for it, and their
    results, with the names that they had then."""

    operands: Sequence[SSAValue]
    ops: Sequence[Operation]
    results: Sequence[SSAValue]
    names: Sequence[str | None]


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
        self._known: dict[Hashable, _Lowered] = {}

    @staticmethod
    def note(type: Attribute) -> Attribute | None:
        element = element_type(type)
        return element if isinstance(element, QuantizedType) else None

    def results(self, lower: Lower, op: Operation) -> Sequence[SSAValue]:
        operands = [self.value(operand) for operand in op.operands]
        parts = _parts(op, operands)
        if parts in self._known:
            return self._again(self._known[parts], operands)
        last = self.block.last_op
        try:
            results = super().results(lower, op)
        except QlowerError as error:
            self.refused.append((op, error))
            return [
                self.emit.add(tensor.EmptyOp((), storage_type(value.type))).tensor
                for value in op.results
            ]
        if parts is not None:
            ops: list[Operation] = []
            new = self.block.first_op if last is None else last.next_op
            while new is not None:
                ops.append(new)
                new = new.next_op
            names = [value.name_hint for value in results]
            self._known[parts] = _Lowered(operands, ops, results, names)
        return results

    def _again(
        self, lowered: _Lowered, operands: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """A copy of an equal operation's lowered code, for other operands."""
        values = dict(zip(lowered.operands, operands, strict=True))
        for op in lowered.ops:
            self.block.add_op(clone_in_order(op, values, self.emit.location))
        results = [values[value] for value in lowered.results]
        for result, value, name in zip(
            results, lowered.results, lowered.names, strict=True
        ):
            if value not in lowered.operands:
                result.name_hint = name
        return results

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
        return nest.build_one(result)

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


def _parts(op: Operation, operands: Sequence[SSAValue]) -> Hashable:
    """All that decides how an operation with those lowered operands is lowered; None if
    other things do, too. Constants have elements, other operands a number."""
    if not isinstance(op, qnn.QnnOp) or op.regions or not operands:
        return None
    read = [
        (
            own.type,
            operand.type,
            operand.owner.value
            if isinstance(operand.owner, arith.ConstantOp)
            else operands.index(operand),
        )
        for own, operand in zip(op.operands, operands, strict=True)
    ]
    attributes = (*op.properties.items(), None, *op.attributes.items())
    return type(op), tuple(read), op.result_types, attributes
