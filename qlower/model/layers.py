"""Layers: the operations of the source model, each with a name of its own.

A layer's name is the outermost `NameLoc` of its operation, and the name that the file
has for it the innermost; everything that is lowered from the operation keeps both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    FusedLoc,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
)
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import ConstantLike, IsTerminator, OpTrait
from xdsl.utils.hints import isa

from qlower.diagnostics import location_full_name, location_name
from qlower.dialects.qnn import QnnOp
from qlower.dialects.qnn.attributes import NAME, states_of
from qlower.model.entry import main_function, signature_of
from qlower.model.names import short_names


def has_dialect(module: ModuleOp, name: str) -> bool:
    """Whether a module has an operation of a dialect."""
    return any(op.dialect_name() == name for op in module.walk())


OWN_ARITHMETIC = {"tosa": "TOSA", "stablehlo": "StableHLO"}
"""Dialects whose operations say themselves how they round, as people call them."""


def own_arithmetic(module: ModuleOp) -> str | None:
    """The one of these dialects that a module is written in, if any."""
    found = {op.dialect_name() for op in module.walk()}
    return next((name for d, name in OWN_ARITHMETIC.items() if d in found), None)


def layers(module: ModuleOp) -> Iterator[Operation]:
    """The operations of the entry function that compute something, in order."""
    for op in main_function(module).body.block.ops:
        if is_layer(op):
            yield op


def name_layers(module: ModuleOp) -> None:
    """Give every operation of the entry function a name, and every layer its own.

    An operation without a name is named after its first result, or after its kind. A
    layer's name becomes a short one (`short_names`), inside which its location keeps
    the full one; where there are two names already, the outer one stays. No layer is
    called like an input: both are told apart by their names alone.
    """
    taken = {spec.name for spec in signature_of(module).arguments}
    long: dict[str, Operation] = {}
    for index, op in enumerate(main_function(module).body.block.ops):
        if op.has_trait(IsTerminator) or not op.results:
            continue
        kind = op.name.split(".")[-1]
        given = layer_name(op)
        name = given or op.results[0].name_hint or f"{kind}_{index}"
        if not is_layer(op):
            _rename(op, name)
            continue
        while name in taken:
            name = f"{name}#{index}"
        taken.add(name)
        if full_name(op) == given:
            long[name] = op
        else:
            _rename(op, name)
    names = list(long)
    for name, short in zip(names, short_names(names, taken - set(names)), strict=True):
        _rename(long[name], short)


def _rename(op: Operation, name: str) -> None:
    if name != layer_name(op):
        op.location = NameLoc(StringAttr(name), op.location)


def full_result_names(module: ModuleOp) -> dict[str, str]:
    """The name that the model's file has for each result of a layer, by its short name.

    Results are named as in `expose_layers`. Where several have one name in the file,
    the short one follows it, so that the names differ.
    """
    names = {
        short: full
        for op in layers(module)
        for index in range(len(op.results))
        if (short := _result_name(layer_name(op), index)) is not None
        and (full := _result_name(full_name(op), index)) is not None
    }
    uses = Counter(names.values())
    return {
        short: full if uses[full] == 1 else f"{full} {short}"
        for short, full in names.items()
    }


def _result_name(layer: str | None, index: int) -> str | None:
    """The name of one of a layer's results: the layer's own is that of the first."""
    return f"{layer}:{index}" if layer is not None and index else layer


def expose_layers(module: ModuleOp) -> tuple[ModuleOp, dict[str, int]]:
    """A copy of `module` that also returns the result of every layer.

    These follow the outputs and precede new states. The second value maps each layer's
    name to its result's number. A layer with several results has `name`, `name:1`,
    `name:2` ...
    """
    exposed = module.clone()
    function = main_function(exposed)
    terminator = function.body.block.last_op
    assert terminator is not None
    count = len(terminator.operands) - len(states_of(function))
    returned: list[SSAValue] = list(terminator.operands[:count])
    states = terminator.operands[count:]
    places = {value: place for place, value in reversed([*enumerate(returned)])}
    names: dict[str, int] = {}
    new: list[str] = []
    for op in layers(exposed):
        for index, result in enumerate(op.results):
            if not isinstance(result.type, TensorType):
                continue
            name = _result_name(layer_name(op), index)
            if name is None:
                continue
            if result not in places:
                places[result] = len(returned)
                returned.append(result)
                new.append(name)
            names[name] = places[result]
    terminator.operands = [*returned, *states]
    function.function_type = FunctionType.from_lists(
        list(function.function_type.inputs),
        [value.type for value in terminator.operands],
    )
    attributes = (
        list(function.res_attrs)
        if function.res_attrs is not None
        else [DictionaryAttr({})] * (count + len(states))
    )
    attributes[count:count] = [DictionaryAttr({NAME: StringAttr(n)}) for n in new]
    function.res_attrs = ArrayAttr(attributes)
    return exposed, names


def hide_layers(module: ModuleOp, outputs: int) -> ModuleOp:
    """A copy of what came of `expose_layers` that returns the model's own `outputs`,
    of the given number, and new states."""
    hidden = module.clone()
    function = main_function(hidden)
    terminator = function.body.block.last_op
    assert terminator is not None
    end = len(terminator.operands) - len(states_of(function))
    own = [*range(outputs), *range(end, len(terminator.operands))]
    terminator.operands = [terminator.operands[number] for number in own]
    function.function_type = FunctionType.from_lists(
        list(function.function_type.inputs),
        [value.type for value in terminator.operands],
    )
    if function.res_attrs is not None:
        function.res_attrs = ArrayAttr(
            function.res_attrs.data[number] for number in own
        )
    return hidden


def value_names(module: ModuleOp) -> dict[SSAValue, str]:
    """The inputs and the layers' results, by the names that `Executor.run` has."""
    specs = signature_of(module).arguments
    arguments = main_function(module).body.block.args
    names: dict[SSAValue, str] = {
        argument: spec.name for argument, spec in zip(arguments, specs, strict=True)
    }
    for op in layers(module):
        name = layer_name(op)
        for index, result in enumerate(op.results):
            of_result = _result_name(name, index)
            if of_result is not None and isinstance(result.type, TensorType):
                names[result] = of_result
    return names


def is_layer(op: Operation) -> bool:
    """Whether `op` computes values: neither constants nor memory to write to."""
    return bool(
        op.results
        and not is_constant(op)
        and not isinstance(op, EmptyOp)
        and not _has_trait(type(op), IsTerminator)
    )


def rules_inside(op: Operation) -> list[str]:
    """The rules of contracts that operations inside of this one follow, as those of a
    loop's step, each once."""
    rules = (
        rule
        for inner in op.walk()
        if inner is not op and isinstance(inner, QnnOp)
        for rule in inner.rules
    )
    return list(dict.fromkeys(rules))


def is_constant(owner: Operation | Block) -> bool:
    """Whether a value's owner is a constant operation."""
    return isinstance(owner, Operation) and _has_trait(type(owner), ConstantLike)


@cache
def _has_trait(kind: type[Operation], trait: type[OpTrait]) -> bool:
    return kind.has_trait(trait)


def layer_name(op: Operation) -> str | None:
    """The name of the source layer that `op` came from: its outermost `NameLoc`."""
    return location_name(op.location)


def full_name(op: Operation) -> str | None:
    """The name that the model's file has for the layer: its innermost `NameLoc`."""
    return location_full_name(op.location)


def layer_names(op: Operation) -> tuple[str, ...]:
    """The names of all source layers of `op`, which may be several ops fused."""
    location = op.location
    parts = [location]
    if isinstance(location, FusedLoc) and isa(location.locations, ArrayAttr[Attribute]):
        parts = list(location.locations)
    names = (location_name(part) for part in parts)
    return tuple(dict.fromkeys(name for name in names if name is not None))


def layer_title(op: Operation) -> str | None:
    """The title of `op`'s layers for people: `conv + add`; None without a name."""
    return " + ".join(layer_names(op)) or None
