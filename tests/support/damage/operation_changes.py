"""Operations with one thing changed: a size, an element type, a number of a property,
an operand more or less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f16,
    f32,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.test_value import create_ssa_value

from qlower.dialects.quant import QuantizedType

T = TypeVar("T")

Change = tuple[str, Callable[[], Attribute]]
"""A name, and what makes the attribute, which may refuse to be made."""

Made = Mapping[T, Any]
NOTHING: Made[Any] = {}

STEPS = (1, -1)
FAR = (0, -2, 1 << 40)
"""Other numbers that a number becomes."""

ELEMENTS: Sequence[Attribute] = (
    *(i1, i8, i16, i32, i64, f16, f32),
    QuantizedType.per_tensor(8, True, 0.5, -3),
    QuantizedType.per_tensor(8, False, 0.25, 128),
    QuantizedType.per_tensor(16, True, 0.5),
    QuantizedType.per_axis(8, True, 0, [0.5, 0.25]),
)


def changes(op: Operation) -> Iterator[tuple[str, Callable[[], Operation]]]:
    """Each change by its name, and what makes a new operation that has it."""
    for index, operand in enumerate(op.operands):
        for name, type in _types(operand.type):
            yield f"operand {index}: {name}", partial(_made, op, operands={index: type})
    for index, result in enumerate(op.results):
        for name, type in _types(result.type):
            yield f"result {index}: {name}", partial(_made, op, results={index: type})
    for name, value in op.properties.items():
        yield f"{name}: none", partial(_made, op, properties={name: None})
        for change, other in _attributes(value):
            yield f"{name}: {change}", partial(_made, op, properties={name: other})
    for name, value in op.attributes.items():
        for change, other in _attributes(value):
            yield f"{name}: {change}", partial(_made, op, attributes={name: other})


def _made(
    op: Operation,
    operands: Made[int] = NOTHING,
    results: Made[int] = NOTHING,
    properties: Made[str] = NOTHING,
    attributes: Made[str] = NOTHING,
) -> Operation:
    types = [one.type for one in op.operands]
    for index, make in operands.items():
        types[index] = make()
    own = [one.type for one in op.results]
    for index, make in results.items():
        own[index] = make()
    values: list[SSAValue] = [create_ssa_value(one) for one in types]
    kept = {n: one for n, one in op.properties.items() if n not in properties}
    kept |= {n: make() for n, make in properties.items() if make is not None}
    return type(op).create(
        operands=values,
        result_types=own,
        properties=kept,
        attributes={**op.attributes, **{n: make() for n, make in attributes.items()}},
        regions=[region.clone() for region in op.regions],
    )


def _types(type: Attribute) -> Iterator[Change]:
    if not isinstance(type, TensorType):
        for element in ELEMENTS:
            if element != type:
                yield f"{type} to {element}", partial(_itself, element)
        return
    element, shape = type.element_type, type.get_shape()
    for at, size in enumerate(shape):
        for new in (size + 1, size - 1, DYNAMIC_INDEX):
            if new >= 0 or new == DYNAMIC_INDEX:
                sizes = [*shape[:at], new, *shape[at + 1 :]]
                yield _shown(sizes), partial(TensorType, element, sizes)
        without = [*shape[:at], *shape[at + 1 :]]
        yield _shown(without), partial(TensorType, element, without)
    for sizes in ([*shape, 1], [1, *shape], [*shape, 2]):
        yield _shown(sizes), partial(TensorType, element, sizes)
    for other in ELEMENTS:
        if other != element:
            yield f"of {other}", partial(TensorType, other, shape)


def _shown(sizes: Sequence[int]) -> str:
    names = ("?" if size == DYNAMIC_INDEX else str(size) for size in sizes)
    return f"[{', '.join(names)}]"


def _attributes(value: Attribute) -> Iterator[Change]:
    """Other attributes of the kind; parts of compound ones by their place."""
    match value:
        case IntegerAttr() if value.type == i1:
            yield "other", partial(BoolAttr.from_bool, not value.value.data)
        case IntegerAttr():
            for number in _numbers(value.value.data):
                if not isinstance(value.type, IntegerType) or (
                    value.type.width.data > 40 or abs(number) < 1 << 7
                ):
                    yield str(number), partial(IntegerAttr, number, value.type)
        case IntAttr():
            for number in _numbers(value.data):
                yield str(number), partial(IntAttr, number)
        case StringAttr():
            yield "a word", partial(StringAttr, "nonsense")
        case DenseArrayBase():
            yield from _arrays(value)
        case ArrayAttr():
            elements = list(value.data)
            for at, one in enumerate(elements):
                for name, other in _attributes(one):
                    yield f"{at}: {name}", partial(_array, elements, at, other)
            for name, some in _lengths(elements):
                yield name, partial(ArrayAttr, some)
        case AffineMapAttr():
            map = value.data
            for name, some in _lengths(list(map.results)):
                yield name, partial(_map, map, map.num_dims, some)
            wider = map.num_dims + 1
            yield "a dimension more", partial(_map, map, wider, map.results)
        case TensorType() | QuantizedType() | IntegerType():
            yield from _types(value)
        case ParametrizedAttribute():
            parameters = list(value.parameters)
            for at, one in enumerate(parameters):
                for name, other in _attributes(one):
                    yield f"{at}: {name}", partial(_other, value, at, other)
        case _:
            return


def _itself(one: Attribute) -> Attribute:
    return one


def _array(elements: Sequence[Attribute], at: int, make: Any) -> Attribute:
    return ArrayAttr([*elements[:at], make(), *elements[at + 1 :]])


def _map(map: AffineMap, dimensions: int, results: Sequence[AffineExpr]) -> Attribute:
    return AffineMapAttr(AffineMap(dimensions, map.num_symbols, tuple(results)))


def _other(value: ParametrizedAttribute, at: int, make: Any) -> Attribute:
    parameters = list(value.parameters)
    return type(value).new([*parameters[:at], make(), *parameters[at + 1 :]])


def _numbers(number: int) -> Iterator[int]:
    near = [number + step for step in STEPS]
    yield from dict.fromkeys(one for one in (*near, *FAR) if one != number)


def _lengths(elements: list[T]) -> Iterator[tuple[str, list[T]]]:
    if elements:
        yield "one less", elements[:-1]
        yield "one more", [*elements, elements[-1]]
    if len(elements) > 1 and elements[0] != elements[1]:
        yield "exchanged", [elements[1], elements[0], *elements[2:]]


def _arrays(value: DenseArrayBase) -> Iterator[Change]:
    if not isinstance(value.elt_type, IntegerType):
        return
    integers: Any = value
    numbers = [int(one) for one in integers.get_values()]
    type = value.elt_type
    for at, number in enumerate(numbers):
        others = (not number,) if type == i1 else _numbers(number)
        for other in others:
            if type.width.data > 40 or abs(other) < 1 << 7:
                changed = [*numbers[:at], int(other), *numbers[at + 1 :]]
                yield str(changed), partial(DenseArrayBase.from_list, type, changed)
    for changed in (numbers[:-1], [*numbers, *numbers[-1:]]):
        if changed != numbers:
            yield str(changed), partial(DenseArrayBase.from_list, type, changed)
