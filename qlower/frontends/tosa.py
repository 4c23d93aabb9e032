"""TOSA models: the names of their tensors, and shapes that the text leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from qlower.diagnostics import QlowerError
from qlower.dialects.operations import is_dynamic
from qlower.dialects.qnn.attributes import NAME
from qlower.dialects.tosa import TosaOp
from qlower.dialects.tosa.base import is_tensor
from qlower.dialects.types import shape_of
from qlower.frontends.import_options import ImportOptions, fit_shape
from qlower.model.entry import main_function
from qlower.text.verification import verify_module

ENTRY = "tf.entry_function"
"""The attribute in which converters from TensorFlow Lite name inputs and outputs."""

TENSOR_NAME = "tosa.tensor_name"
"""The attribute of an argument or result in which tosa-opt keeps a file's name."""


def complete_tosa(module: ModuleOp, options: ImportOptions) -> None:
    """Name inputs and outputs as the file does, and fix what shapes it leaves open.

    Sizes come from the options, and are 1 where nobody gives them; they follow from
    operation to operation.
    """
    function = main_function(module)
    _name_ports(function)
    if not any(is_dynamic(value) for value in _values(function)):
        return
    _fix_arguments(function, options)
    for op in function.body.block.ops:
        if isinstance(op, TosaOp) and is_tensor(op.results[0]):
            try:
                _fix(op.results[0], op.result_shape())
            except VerifyException as error:
                raise QlowerError(f"{op.name}: {error}", op.location) from error
        elif any(map(is_dynamic, op.results)):
            raise QlowerError(f"{op.name} has a result of open shape", op.location)
    returned = function.body.block.last_op
    assert isinstance(returned, ReturnOp)
    function.function_type = FunctionType.from_lists(
        [argument.type for argument in function.body.block.args],
        [value.type for value in returned.operands],
    )
    verify_module(module)


def _fix_arguments(function: FuncOp, options: ImportOptions) -> None:
    names = _names(function.arg_attrs, len(function.body.block.args))
    for argument, name in zip(list(function.body.block.args), names, strict=True):
        if not is_dynamic(argument):
            continue
        called = name or argument.name_hint or ""
        declared = [
            None if size == DYNAMIC_INDEX else size for size in shape_of(argument)
        ]
        given = options.shapes.get(called)
        error = partial(QlowerError, location=function.location)
        _fix(argument, fit_shape(f"input {called!r}", given, declared, error))


def _fix(value: SSAValue, shape: Sequence[int]) -> None:
    """Give a tensor its shape, where the text leaves sizes open."""
    type = value.type
    if is_dynamic(value) and isa(type, TensorType[Attribute]):
        Rewriter.replace_value_with_new_type(
            value, TensorType(type.element_type, shape)
        )


def _values(function: FuncOp) -> list[SSAValue]:
    block = function.body.block
    return [*block.args, *(result for op in block.ops for result in op.results)]


def _name_ports(function: FuncOp) -> None:
    """Give arguments and results the names that the file has for them."""
    types = function.function_type
    entry = function.attributes.get(ENTRY)
    given: Mapping[str, Attribute] = {}
    if isinstance(entry, DictionaryAttr):
        given = entry.data
    function.arg_attrs = _named(
        function.arg_attrs, _listed(given, "inputs"), len(types.inputs)
    )
    function.res_attrs = _named(
        function.res_attrs, _listed(given, "outputs"), len(types.outputs)
    )


def _listed(entry: Mapping[str, Attribute], key: str) -> list[str]:
    names = entry.get(key)
    return names.data.split(",") if isinstance(names, StringAttr) else []


def _named(
    attributes: ArrayAttr[DictionaryAttr] | None, names: Sequence[str], count: int
) -> ArrayAttr[DictionaryAttr] | None:
    """Attributes with the names, unless they have some or the names aren't usable."""
    given = list(attributes or [DictionaryAttr({})] * count)
    own = [entries.data.get(TENSOR_NAME) for entries in given]
    if not names:
        names = [name.data for name in own if isinstance(name, StringAttr)]
    if len(set(names)) != count:
        return attributes
    return ArrayAttr(
        DictionaryAttr({NAME: StringAttr(name), **entries.data})
        for name, entries in zip(names, given, strict=True)
    )


def _names(
    attributes: ArrayAttr[DictionaryAttr] | None, count: int
) -> list[str | None]:
    given = [entries.data.get(NAME) for entries in attributes or ()]
    names = [name.data if isinstance(name, StringAttr) else None for name in given]
    return names or [None] * count
