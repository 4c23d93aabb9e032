"""Many small models as one, so that they are compiled and run together."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, NameLoc, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

import qlower
from qlower.model.entry import main_function
from qlower.model.layers import name_layers
from qlower.text.verification import verify_module


def side_by_side(models: Mapping[str, qlower.Model]) -> qlower.Model:
    """A model that takes the inputs of all, one after another, and gives all outputs.

    Operations are called like the model they come from.
    """
    block = Block()
    results: list[SSAValue] = []
    for name, model in models.items():
        body = main_function(model.module).body.block
        values: dict[SSAValue, SSAValue] = {
            argument: block.insert_arg(argument.type, len(block.args))
            for argument in body.args
        }
        for op in body.ops:
            if isinstance(op, ReturnOp):
                results += [values[operand] for operand in op.operands]
                continue
            copy = op.clone(values)
            copy.location = NameLoc(StringAttr(name), op.location)
            block.add_op(copy)
    block.add_op(ReturnOp(*results))
    types = [value.type for value in results]
    main = FuncOp("main", (list(block.arg_types), types), Region(block))
    module = ModuleOp([main])
    name_layers(module)
    verify_module(module)
    return qlower.Model(module)
