"""Cutting a model at some of its values."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import SSAValue

from qlower.dialects.qnn.attributes import NAME
from qlower.model.entry import main_function, signature_of
from qlower.model.layers import expose_layers


def computed_names(module: ModuleOp) -> list[str]:
    """The names of all layers' results, as `expose_layers` has them."""
    return list(expose_layers(module)[1])


def cut_module(module: ModuleOp, outputs: Sequence[str]) -> ModuleOp:
    """A copy of `module` that returns the results of the layers of these names.

    What they and the states don't depend on is left out, inputs as well. Names are as
    in `computed_names`; the module's inputs have theirs (`name_tensors`).
    """
    cut, places = expose_layers(module)
    function = main_function(cut)
    block = function.body.block
    terminator = block.last_op
    assert terminator is not None
    states = signature_of(module).states
    left = terminator.operands[len(terminator.operands) - len(states) :]
    returned: list[SSAValue] = [terminator.operands[places[name]] for name in outputs]
    returned += left
    terminator.operands = returned
    for op in reversed(list(block.ops)):
        if op is not terminator and not any(value.uses for value in op.results):
            block.erase_op(op)
    attributes = function.arg_attrs
    assert attributes is not None, "a model's inputs have names"
    taken = block.args[len(block.args) - len(states) :]
    kept: list[DictionaryAttr] = []
    for given, argument in zip(attributes, list(block.args), strict=True):
        if argument.uses or argument in taken:
            kept.append(given)
        else:
            block.erase_arg(argument)
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in block.args], [value.type for value in returned]
    )
    function.arg_attrs = ArrayAttr(kept)
    function.res_attrs = ArrayAttr(
        DictionaryAttr({NAME: StringAttr(name)})
        for name in (*outputs, *(spec.name for spec in states))
    )
    return cut
