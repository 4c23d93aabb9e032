"""Emitted operations as a function of arrays, which the interpreter runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    FunctionType,
    ModuleOp,
    TensorType,
    UnknownLoc,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from qlower.interp import evaluate_function
from qlower.model.nests import Emitter

TYPES: dict[np.dtype[Any], Attribute] = {
    **{np.dtype(np.int8): i8, np.dtype(np.int16): i16, np.dtype(np.int32): i32},
    **{np.dtype(np.int64): i64, np.dtype(np.float32): f32, np.dtype(np.float64): f64},
}
Build = Callable[..., Any]


def built(
    build: Build, *arrays: np.ndarray, known: Sequence[int] = ()
) -> tuple[list[Any], list[str]]:
    """What a builder's values are for these arrays, and the names of its operations.

    It is given an emitter, and a value for each array; those that are `known` are
    constants.
    """
    types = [TensorType(TYPES[array.dtype], array.shape) for array in arrays]
    given = [n for n in range(len(arrays)) if n not in known]
    block = Block(arg_types=[types[n] for n in given])
    emit = Emitter(block.add_op, UnknownLoc())
    values: list[SSAValue] = []
    for number, array in enumerate(arrays):
        if number in known:
            values.append(emit.constant(array, TYPES[array.dtype]))
        else:
            values.append(block.args[given.index(number)])
    found = build(emit, *values)
    results = [found] if isinstance(found, SSAValue) else list(found)
    names = [op.name for op in block.ops][len(known) :]
    block.add_op(ReturnOp(*results))
    kind = FunctionType.from_lists(block.arg_types, [one.type for one in results])
    function = FuncOp("main", kind, Region(block))
    ModuleOp([function])
    function.verify()
    outputs = evaluate_function(function, [arrays[n] for n in given])
    return [np.asarray(one) for one in outputs], names
