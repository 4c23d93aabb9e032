"""A function while its operations are lowered into the block that will be its body."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    LocationAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from qlower.contracts import Rule, load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import TYPE
from qlower.emit.inline_rule import inline_rule
from qlower.emit.tensors import constant_of
from qlower.interp.values import Array
from qlower.model.nests import Emitter, Nest
from qlower.tally import timed_layer

Lower: TypeAlias = Callable[[Any, Any], SSAValue | Sequence[SSAValue]]
"""From a lowered function and an operation to its result, or results."""

Rows: TypeAlias = Mapping[type[Operation], Lower]
"""The lowering of each class, also for classes below it without a row."""


def find_lowering(rows: Rows, kind: type[Operation]) -> Lower | None:
    """The lowering for operations of a class; None if there is none."""
    return next((rows[base] for base in kind.__mro__ if base in rows), None)


class LoweredFunction(ABC):
    """The lowered body of a function with one block, and the lowered forms of values.

    `emit` appends operations at the location of the one at hand, `op`.
    """

    folds_movements: ClassVar[bool] = False
    """Whether elements of constants are moved when a function is lowered."""

    neighbours: ClassVar[str]
    """The operations that those without a row can't be next to, for messages."""

    def __init__(self, function: func.FuncOp) -> None:
        self._function = function
        self._values: dict[SSAValue, SSAValue] = {}
        arguments = function.body.block.args
        self.block = Block(arg_types=[self.convert(arg.type) for arg in arguments])
        for argument, lowered in zip(arguments, self.block.args, strict=True):
            lowered.location = argument.location
            self.bind(argument, lowered)

    @staticmethod
    @abstractmethod
    def convert(type: Attribute) -> Attribute:
        """The lowered form of a type."""

    @staticmethod
    @abstractmethod
    def note(type: Attribute) -> Attribute | None:
        """Note the facts that the lowered form of an argument's or result's type
        doesn't state."""

    def bind(self, source: SSAValue, lowered: SSAValue) -> None:
        """Record the lowered form of a value."""
        if lowered.name_hint is None:
            lowered.name_hint = source.name_hint
        self._values[source] = lowered

    def __contains__(self, source: SSAValue) -> bool:
        """Whether a value is one of the function's own, so that it has been lowered."""
        return source in self._values

    def value(self, source: SSAValue) -> SSAValue:
        """The lowered form of a value."""
        return self._values[source]

    def lower(
        self, rows: Rows, locations: Mapping[Operation, LocationAttr] = {}
    ) -> None:
        """Lower all operations, in order, each by its row.

        What is lowered has an operation's own location where `locations` has none.
        """
        for op in self._function.body.block.ops:
            self.op = op
            self.emit = Emitter(self.block.add_op, locations.get(op, op.location))
            if isinstance(op, func.ReturnOp):
                self.emit.add(func.ReturnOp(*map(self.value, op.operands)))
                continue
            lower = find_lowering(rows, type(op))
            if lower is None:
                raise QlowerError(
                    f"{op.name} can't stand beside {self.neighbours}", op.location
                )
            with timed_layer(op):
                lowered = self.results(lower, op)
            for result, value in zip(op.results, lowered, strict=True):
                self.bind(result, value)

    def results(self, lower: Lower, op: Operation) -> Sequence[SSAValue]:
        """The results of a row for an operation."""
        lowered = lower(self, op)
        return [lowered] if isinstance(lowered, SSAValue) else lowered

    def keep(self, op: Operation) -> Sequence[SSAValue]:
        """A copy that takes the lowered values, also those that its regions use."""
        used = {operand for inner in op.walk() for operand in inner.operands}
        lowered = {value: self.value(value) for value in used if value in self}
        return self.emit.add(op.clone(lowered)).results

    def finish(self) -> None:
        """Give the function its lowered body and signature, with the notes."""
        function, types = self._function, self._function.function_type
        inputs, outputs = types.inputs.data, types.outputs.data
        function.arg_attrs = _with_notes(function.arg_attrs, map(self.note, inputs))
        function.res_attrs = _with_notes(function.res_attrs, map(self.note, outputs))
        function.function_type = FunctionType.from_lists(
            [self.convert(type) for type in inputs],
            [self.convert(type) for type in outputs],
        )
        source = function.body.block
        function.body.detach_block(source)
        source.erase(safe_erase=False)
        function.body.add_block(self.block)


def _with_notes(
    attributes: ArrayAttr[DictionaryAttr] | None, notes: Iterable[Attribute | None]
) -> ArrayAttr[DictionaryAttr]:
    entries = [{} if note is None else {TYPE: note} for note in notes]
    given = attributes or [DictionaryAttr({})] * len(entries)
    return ArrayAttr(
        DictionaryAttr({**dictionary.data, **more})
        for dictionary, more in zip(given, entries, strict=True)
    )


@cache
def _function(contract: str, name: str) -> Rule:
    return load_contract(contract).definition.function(name)


class StatedFunction(LoweredFunction):
    """A lowered function whose steps are functions of `contract`, and of no other."""

    contract: ClassVar[str]

    @classmethod
    def step(cls, name: str) -> Rule:
        """A function of the contract."""
        return _function(cls.contract, name)

    def constant(self, source: SSAValue) -> Array | None:
        """The stored elements of a constant operand; None if it is computed."""
        return constant_of(self.value(source))

    def inline(
        self,
        nest: Nest,
        name: str,
        runtime: Mapping[str, SSAValue],
        constants: Mapping[str, Array],
    ) -> SSAValue:
        """The results of a contract's function at each iteration."""
        (result,) = inline_rule(self.step(name), runtime, constants, nest)
        return result
