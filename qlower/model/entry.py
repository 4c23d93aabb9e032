"""A module's functions, and what its entry function takes and gives."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    Float32Type,
    Float64Type,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from qlower.diagnostics import QlowerError, location_name
from qlower.dialects.kernel import PACKED, ScanOp
from qlower.dialects.qnn.attributes import NAME, TYPE, InitialValue, states_of
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import is_tensor_type
from qlower.model.signature import Signature, StateSpec, TensorSpec


def signature_of(module: ModuleOp) -> Signature:
    """The signature of the module's entry function, at any level."""
    function = main_function(module)
    returned = _return_op(function).operands
    taken = _specs(function, function.body.block.args, function.arg_attrs, "input")
    given = _specs(function, returned, function.res_attrs, "output")
    initial = states_of(function)
    inputs, outputs = len(taken) - len(initial), len(given) - len(initial)
    states = zip(taken[inputs:], initial, strict=True)
    return Signature(
        taken[:inputs],
        given[:outputs],
        tuple(StateSpec(**vars(spec), initial=_bytes(dense)) for spec, dense in states),
    )


def name_tensors(module: ModuleOp) -> None:
    """Write the name of every input and output into the entry function's attributes.

    Raises `QlowerError` for an entry function that isn't a model.
    """
    function = main_function(module)
    signature = signature_of(module)
    function.arg_attrs = _with_names(function.arg_attrs, signature.arguments)
    function.res_attrs = _with_names(function.res_attrs, signature.results)


def _with_names(
    attributes: ArrayAttr[DictionaryAttr] | None, specs: Sequence[TensorSpec]
) -> ArrayAttr[DictionaryAttr]:
    given = attributes or [DictionaryAttr({})] * len(specs)
    return ArrayAttr(
        DictionaryAttr({**entries.data, NAME: StringAttr(spec.name)})
        for entries, spec in zip(given, specs, strict=True)
    )


def mark_packed(module: ModuleOp, names: Collection[str]) -> None:
    """Mark the entry function's arguments of these names as `PACKED`."""
    function = main_function(module)
    specs = signature_of(module).arguments
    function.arg_attrs = ArrayAttr(
        DictionaryAttr({**entries.data, PACKED: UnitAttr()})
        if spec.name in names
        else entries
        for entries, spec in zip(function.arg_attrs or (), specs, strict=True)
    )


def refuse_packed(module: ModuleOp) -> None:
    """Raise QlowerError for a model with an argument that is `PACKED`: its caller
    doesn't know how."""
    function = main_function(module)
    if any(PACKED in entries.data for entries in function.arg_attrs or ()):
        raise QlowerError(
            f"{PACKED} is an attribute that only a compilation sets", function.location
        )


def main_function(module: ModuleOp) -> FuncOp:
    """The entry point: `@main`, or the only function there is."""
    functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
    named = [op for op in functions if op.sym_name.data == "main"]
    found = named or functions
    if len(found) != 1:
        raise QlowerError(
            f"the module has {len(found)} functions, one of them must be called @main",
            module.location,
        )
    (function,) = found
    if len(function.body.blocks) != 1:
        raise QlowerError("the model's function must have one block", function.location)
    return function


def defined_functions(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module that have a body, those of steps before the function
    that runs them."""
    found: list[FuncOp] = []
    for op in module.ops:
        if isinstance(op, FuncOp) and not op.is_declaration:
            found += (*_steps_of(op), op)
    return found


def _steps_of(function: FuncOp) -> Iterator[FuncOp]:
    for op in function.body.ops:
        if isinstance(op, ScanOp):
            yield from _steps_of(op.function)
            yield op.function


def _bytes(dense: InitialValue) -> bytes:
    """All stored elements of a constant, which may have one for all of them."""
    data = dense.data.data
    size = math.prod(dense.get_shape()) * dense.get_element_type().compile_time_size
    return data * (size // len(data))


def _return_op(function: FuncOp) -> ReturnOp:
    last = function.body.block.last_op
    if not isinstance(last, ReturnOp):
        raise QlowerError(
            "the model's function must end with return", function.location
        )
    return last


def _specs(
    function: FuncOp,
    values: Sequence[SSAValue],
    attributes: ArrayAttr[DictionaryAttr] | None,
    role: str,
) -> tuple[TensorSpec, ...]:
    specs: list[TensorSpec] = []
    taken: set[str] = set()
    for index, value in enumerate(values):
        entries: Mapping[str, Attribute] = {}
        if attributes is not None:
            entries = attributes.data[index].data
        name = entries.get(NAME)
        if isinstance(name, StringAttr):
            text = name.data
        else:
            owner = value.owner
            location = getattr(owner, "location", None)
            text = location_name(location) or value.name_hint or f"{role}{index}"
        if text in taken:
            text = f"{text}#{index}"
        taken.add(text)
        try:
            specs.append(_spec(text, value, entries.get(TYPE)))
        except QlowerError as error:
            error.location = function.location
            raise
    return tuple(specs)


def _spec(name: str, value: SSAValue, quantization: Attribute | None) -> TensorSpec:
    type = value.type
    if not is_tensor_type(type) or any(n < 1 for n in type.get_shape()):
        raise QlowerError(
            f"{name!r} has type {type}; models take and give tensors of fixed shape,"
            " with at least one element"
        )
    shape = tuple(type.get_shape())
    element = quantization or type.element_type
    if _storage(element) != _storage(type.element_type):
        raise QlowerError(
            f"{name!r} has elements {type.element_type}, but {TYPE} = {element}"
        )
    if isinstance(element, QuantizedType):
        dtype = _integer_dtype(element.storage_width, element.signed)
        if dtype is not None and element.is_per_tensor:
            return TensorSpec(name, shape, dtype, element.scales, element.zero_points)
        if dtype is not None:
            return TensorSpec(name, shape, dtype)
    elif isa(element, IntegerType):
        signed = element.signedness.data is not Signedness.UNSIGNED
        dtype = _integer_dtype(element.width.data, signed)
        if dtype is not None:
            return TensorSpec(name, shape, dtype)
    elif isinstance(element, Float32Type):
        return TensorSpec(name, shape, "float32")
    elif isinstance(element, Float64Type):
        return TensorSpec(name, shape, "float64")
    raise QlowerError(f"{name!r} has element type {element}, which no array can hold")


def _storage(element: Attribute) -> Attribute | int:
    """The width of integers, signed or not; otherwise the type itself."""
    if isinstance(element, QuantizedType):
        return element.storage_width
    return element.width.data if isa(element, IntegerType) else element


def _integer_dtype(width: int, signed: bool) -> str | None:
    if width == 1:
        return "bool"
    return f"{'' if signed else 'u'}int{width}" if width in (8, 16, 32, 64) else None
