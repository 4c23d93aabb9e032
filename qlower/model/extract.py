"""Taking some layers out of a model, to be a model of their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from qlower.dialects.qnn.attributes import NAME, STATE
from qlower.model.entry import main_function
from qlower.model.layers import (
    is_layer,
    layer_name,
    layer_names,
    layers,
    own_arithmetic,
    value_names,
)


def extract_layers(module: ModuleOp, chosen: Collection[str]) -> ModuleOp:
    """A copy of `module`, at the qnn or arith level, that has the layers of these names
    alone, and the constants and the memory that they take.

    Its inputs are what else they read; its results are theirs that are read elsewhere,
    or nowhere.
    """
    body = main_function(module).body.block
    kept = {op for op in body.ops if not set(chosen).isdisjoint(layer_names(op))}
    results = [
        result
        for op in body.ops
        if op in kept and is_layer(op)
        for result in op.results
        if not result.uses or any(use.operation not in kept for use in result.uses)
    ]
    for value in [read for op in kept for read in values_read(op)]:
        if isinstance(value.owner, Operation) and not is_layer(value.owner):
            kept.add(value.owner)
    in_order = (op for op in body.ops if op in kept)
    part = _Part.of(module, in_order, lambda value: value.owner not in kept)
    names = value_names(module)
    return part.module(
        results,
        [names.get(value, f"input{n}") for n, value in enumerate(part.inputs)],
        [names.get(value, f"output{n}") for n, value in enumerate(results)],
    )


def detach_layers(
    module: ModuleOp, names: Collection[str]
) -> tuple[ModuleOp, list[str], list[str]]:
    """As `LayerIndex.detach`, for a module that is asked once."""
    return LayerIndex(module).detach(names)


@dataclass(frozen=True, eq=False)
class LayerIndex:
    """The layers of a module by name, and what it takes to detach some of them.

    The module is walked once, however many layers are then asked for; it must not
    change in between.
    """

    module: ModuleOp

    @cached_property
    def own_arithmetic(self) -> str | None:
        """The dialect that says itself how it rounds, as `own_arithmetic` has it."""
        return own_arithmetic(self.module)

    @cached_property
    def _named(self) -> Mapping[str, Sequence[Operation]]:
        found: defaultdict[str | None, list[Operation]] = defaultdict(list)
        for op in layers(self.module):
            found[layer_name(op)].append(op)
        return {name: ops for name, ops in found.items() if name is not None}

    def layer(self, name: str) -> Operation:
        """The only layer of that name; ValueError for none or several."""
        (op,) = self._named.get(name, ())
        return op

    def __contains__(self, name: str) -> bool:
        return name in self._named

    def __iter__(self) -> Iterator[str]:
        """The names of layers, in order."""
        return iter(self._named)

    @cached_property
    def _values(self) -> dict[SSAValue, str]:
        return value_names(self.module)

    @cached_property
    def _places(self) -> dict[Operation, int]:
        """The position of each operation in the function."""
        block = main_function(self.module).body.block
        return {op: place for place, op in enumerate(block.ops)}

    def sources(self, name: str) -> list[str]:
        """The inputs and layers whose values a layer reads, as `detach` has them."""
        kept = self._kept(self._named.get(name, ()))
        read = (value for op in kept for value in values_read(op))
        return [self._values[v] for v in dict.fromkeys(read) if v in self._values]

    def detach(
        self, names: Collection[str], *, apart: bool = False
    ) -> tuple[ModuleOp, list[str], list[str]]:
        """A copy of the module with the named layers alone: each takes arguments only,
        and its results are returned. Layers that read one value share an argument, or
        each has one of its own if they are to be `apart`.

        The second value names, for each argument, the input or the layer of the module
        whose value it stands for; the third names the results. Layers with several
        results are as in `expose_layers`.
        """
        named = (op for name in {*names} for op in self._named.get(name, ()))
        chosen = self._in_order(named)
        kept = self._kept(chosen)
        part = _Part.of(self.module, kept, self._values.__contains__, apart=apart)
        results = [
            value for op in chosen for value in op.results if value in self._values
        ]
        sources = [self._values[value] for value in part.inputs]
        returned = [self._values[value] for value in results]
        return (
            part.module(results, _numbered(sources), _numbered(returned)),
            sources,
            returned,
        )

    def _kept(self, chosen: Iterable[Operation]) -> list[Operation]:
        """Some layers and the constants and memory that they take, in order."""
        kept = set(chosen)
        waiting = list(kept)
        while waiting:
            for value in values_read(waiting.pop()):
                owner = value.owner
                if value not in self._values and isinstance(owner, Operation):
                    if owner not in kept:
                        waiting.append(owner)
                    kept.add(owner)
        return self._in_order(kept)

    def _in_order(self, operations: Iterable[Operation]) -> list[Operation]:
        return sorted(operations, key=self._places.__getitem__)


def values_read(op: Operation) -> list[SSAValue]:
    """The values that an operation reads, each once: its operands, then values from
    above that its regions use, as those of a gather do."""
    inner = [one for region in op.regions for one in region.walk()]
    captured = (
        value
        for one in inner
        for value in one.operands
        if not op.is_ancestor(value.owner)
    )
    return list(dict.fromkeys([*op.operands, *captured]))


@dataclass(frozen=True)
class _Part:
    """Copies of some operations of a model's function.

    `copies` has the counterpart of each value of the model, `inputs` the values that
    became arguments, in their order.
    """

    source: ModuleOp
    block: Block
    copies: dict[SSAValue, SSAValue]
    inputs: Sequence[SSAValue]

    @staticmethod
    def of(
        module: ModuleOp,
        kept: Iterable[Operation],
        is_input: Callable[[SSAValue], bool],
        *,
        apart: bool = False,
    ) -> _Part:
        """Copies of the operations `kept`, in order, for which what `is_input` is
        given: once for all, or for each of them if they are `apart`."""
        block = Block()
        copies: dict[SSAValue, SSAValue] = {}
        arguments: dict[SSAValue, SSAValue] = {}
        inputs: list[SSAValue] = []
        for op in kept:
            read = values_read(op)
            if apart:
                arguments.clear()
            for value in read:
                if is_input(value) and value not in arguments:
                    argument = block.insert_arg(value.type, len(block.args))
                    argument.name_hint = value.name_hint
                    arguments[value] = argument
                    inputs.append(value)
            known = {value: arguments.get(value) or copies[value] for value in read}
            copy = op.clone(known)
            copies.update(zip(op.results, copy.results, strict=True))
            block.add_op(copy)
        return _Part(module, block, copies, inputs)

    def module(
        self, results: Sequence[SSAValue], inputs: Iterable[str], outputs: Iterable[str]
    ) -> ModuleOp:
        """The model that returns the copies of `results`; inputs and outputs named."""
        returned = [self.copies[value] for value in results]
        self.block.add_op(ReturnOp(*returned))
        whole = main_function(self.source)
        function = FuncOp(
            whole.sym_name.data,
            (self.block.arg_types, [value.type for value in returned]),
            Region(self.block),
            whole.sym_visibility,
            arg_attrs=_names(inputs),
            res_attrs=_names(outputs),
        )
        function.attributes.update(whole.attributes)
        function.attributes.pop(STATE, None)  # a part takes states as any other value
        function.location = whole.location
        others = [
            function if op is whole else op.clone() for op in self.source.body.block.ops
        ]
        return ModuleOp(others, dict(self.source.attributes))


def _numbered(names: Iterable[str]) -> list[str]:
    """Names with their numbers, which keep them different."""
    return [f"{index}:{name}" for index, name in enumerate(names)]


def _names(names: Iterable[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr(DictionaryAttr({NAME: StringAttr(name)}) for name in names)
