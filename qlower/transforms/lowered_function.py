"""A function while its operations are lowered into the block that will be its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    LocationAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from qlower.dialects.qnn.attributes import TYPE
from qlower.model.nests import Emitter
from qlower.tally import timed_layer

Lower: TypeAlias = Callable[[Any, Any], SSAValue | Sequence[SSAValue]]
"""From a lowered function and an operation to its result, or results."""


def find_lowering(
    rows: Mapping[type[Operation], Lower], kind: type[Operation]
) -> Callable[[LoweredFunction, Operation], Sequence[SSAValue]] | None:
    """What lowers operations of a class: the row of it or of the nearest class above it
    that has one; None if there is none."""
    lower = next((rows[base] for base in kind.__mro__ if base in rows), None)
    if lower is None:
        return None

    def results(lowering: LoweredFunction, op: Operation) -> Sequence[SSAValue]:
        found = lower(lowering, op)
        return [found] if isinstance(found, SSAValue) else found

    return results


class LoweredFunction:
    """The lowered body of a function with one block, and the lowered forms of values.

    `convert` gives the lowered form of a type, of the function's arguments and results
    among others. `emit` appends operations at the location of the one at hand, `op`.
    """

    folds_movements: ClassVar[bool] = False
    """Whether elements of constants are moved at once."""

    def __init__(
        self, function: func.FuncOp, convert: Callable[[Attribute], Attribute]
    ) -> None:
        self._function = function
        self._convert = convert
        self._values: dict[SSAValue, SSAValue] = {}
        arguments = function.body.block.args
        self.block = Block(arg_types=[convert(arg.type) for arg in arguments])
        for argument, lowered in zip(arguments, self.block.args, strict=True):
            lowered.location = argument.location
            self.bind(argument, lowered)

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
        self,
        lower: Callable[[Self, Operation], Sequence[SSAValue]],
        locations: Mapping[Operation, LocationAttr] = {},
    ) -> None:
        """Lower all operations, in order, to the values that `lower` gives for one.

        What is lowered has an operation's own location where `locations` has none.
        """
        for op in self._function.body.block.ops:
            self.op = op
            self.emit = Emitter(self.block.add_op, locations.get(op, op.location))
            if isinstance(op, func.ReturnOp):
                self.emit.add(func.ReturnOp(*map(self.value, op.operands)))
                continue
            with timed_layer(op):
                lowered = lower(self, op)
            for result, value in zip(op.results, lowered, strict=True):
                self.bind(result, value)

    def finish(self, note: Callable[[Attribute], Attribute | None]) -> None:
        """Give the function its lowered body and signature.

        What `note` says of the type of an argument or result is kept beside it.
        """
        function, types = self._function, self._function.function_type
        inputs, outputs = types.inputs.data, types.outputs.data
        function.arg_attrs = _with_notes(function.arg_attrs, map(note, inputs))
        function.res_attrs = _with_notes(function.res_attrs, map(note, outputs))
        function.function_type = FunctionType.from_lists(
            [self._convert(type) for type in inputs],
            [self._convert(type) for type in outputs],
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
