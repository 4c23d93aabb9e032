"""Taking some layers out of a model, to be a model of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Operation, SSAValue

from qlower.dialects.qnn.attributes import NAME
from qlower.model.entry import main_function
from qlower.model.layers import is_layer, layer_names, value_names


def extract_layers(module: ModuleOp, chosen: Collection[str]) -> ModuleOp:
    """A copy of `module`, at any level with tensors, that has the layers of these names
    alone, and the constants and the memory that they take.

    Its inputs are what else they read; its results are theirs that are read elsewhere,
    or nowhere.
    """
    copy = module.clone()
    function = main_function(copy)
    names = value_names(copy)
    block = function.body.block
    terminator = block.last_op
    assert terminator is not None
    kept = {op for op in block.ops if not set(chosen).isdisjoint(layer_names(op))}
    results = [
        result
        for op in block.ops
        if op in kept and is_layer(op)
        for result in op.results
        if not result.uses or any(use.operation not in kept for use in result.uses)
    ]
    read = [operand for op in block.ops if op in kept for operand in op.operands]
    kept |= {
        value.owner
        for value in read
        if isinstance(value.owner, Operation) and not is_layer(value.owner)
    }
    inputs: dict[SSAValue, str] = {}
    for value in dict.fromkeys(read):
        if value.owner not in kept:
            argument = block.insert_arg(value.type, len(block.args))
            argument.name_hint = value.name_hint
            value.replace_uses_with_if(argument, lambda use: use.operation in kept)
            inputs[argument] = names.get(value, f"input{len(inputs)}")
    terminator.operands = results
    for op in reversed(list(block.ops)):
        if op is not terminator and op not in kept:
            block.erase_op(op)
    for argument in list(block.args):
        if argument not in inputs:
            block.erase_arg(argument)
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in inputs], [value.type for value in results]
    )
    function.arg_attrs = _names(inputs.values())
    function.res_attrs = _names(
        names.get(value, f"output{number}") for number, value in enumerate(results)
    )
    return copy


def _names(names: Iterable[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr(DictionaryAttr({NAME: StringAttr(name)}) for name in names)
