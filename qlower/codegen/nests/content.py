"""All that decides the code of a nest, as bytes: equal ones have equal code."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from qlower.codegen.nests.operand import box_of, constant_bytes
from qlower.dialects.kernel import CopyOp, NestOp


def nest_content(op: NestOp) -> Iterator[bytes]:
    """Everything that decides the code of a nest, for a target: the loops, the scalar
    code, and how tensors are read and written; constants with all their bytes.

    The positions of tensors are no part of it, nor is the nest's name.
    """
    numbers: dict[int, int] = {}
    inputs = op.inputs
    read = *inputs, *op.tables
    for value in read:
        if id(value) not in numbers:
            numbers[id(value)] = len(numbers)
            yield from _origin(value)
    for result in op.results:
        box = box_of(result)
        place = "" if box is None else f"{_text(box.offsets)} {_text(box.result.type)}"
        yield f"{_text(result.type)} {place}".encode()
    places = [numbers[id(value)] for value in read]
    memory = "buffers", "scratch"
    properties = {k: v for k, v in op.properties.items() if k not in memory}
    refused = op.scratch is not None and op.scratch.bytes.data == 0
    yield f"{places} {len(inputs)} {refused}{_texts(properties)}".encode()
    for region in op.regions:
        yield "\n".join(_code(region, numbers)).encode()


def classes_of_equal(nests: Iterable[NestOp]) -> dict[NestOp, int]:
    """A number for each nest, which nests of equal content share."""
    alike: dict[object, list[NestOp]] = {}
    found: dict[NestOp, int] = {}
    for nest in nests:
        found[nest] = len(found)
        loops = nest.parallel_bounds, nest.reduction_bounds
        alike.setdefault((loops, len(nest.operands)), []).append(nest)
    for group in alike.values():
        numbers: dict[tuple[bytes, ...], int] = {}
        for nest in group if len(group) > 1 else ():
            content = tuple(nest_content(nest))
            found[nest] = numbers.setdefault(content, found[nest])
    return found


def _origin(value: SSAValue) -> Iterator[bytes]:
    """The facts about a tensor that a nest reads which its code may use."""
    yield _text(value.type).encode()
    data = constant_bytes(value)
    if data is not None:
        yield from (b"constant", data)
    elif isinstance(copy := value.owner, CopyOp) and not copy.is_stored:
        yield f"padding{_texts(copy.properties)}".encode()
        yield from _origin(copy.source)


def _code(region: Region, numbers: dict[int, int]) -> list[str]:
    """Scalar operations, a line each, with their operands by number; `numbers` are
    those of values, by identity."""
    lines: list[str] = []
    for block in region.blocks:
        for value in block.args:
            numbers[id(value)] = len(numbers)
        lines.append(f"block {[_text(value.type) for value in block.args]}")
        for op in block.ops:
            operands = [numbers[id(operand)] for operand in op.operands]
            lines.append(f"{_parts(op)} {operands}")
            for value in op.results:
                numbers[id(value)] = len(numbers)
            for inner in op.regions:
                lines += _code(inner, numbers)
    return lines


_LINES: dict[tuple[object, ...], tuple[str, object]] = {}
"""Texts of operations, by the identity of their parts, which live as long."""

_MOST_LINES = 1 << 12


def _parts(op: Operation) -> str:
    """All of an operation but its operands. Operations of equal nests mostly have the
    same objects for attributes, which are known sooner than equal ones."""
    types = [result.type for result in op.results]
    parts = *types, *op.properties.values(), *op.attributes.values()
    key = (op.name, *op.properties, *op.attributes, *map(id, parts))
    known = _LINES.get(key)
    if known is not None:
        return known[0]
    if len(_LINES) >= _MOST_LINES:
        _LINES.clear()
    text = f"{op.name} {[_text(type) for type in types]}"
    text += _texts(op.properties) + _texts(op.attributes)
    _LINES[key] = text, parts
    return text


def _texts(attributes: Mapping[str, Attribute]) -> str:
    return "".join(f" {k} {_text(attribute)}" for k, attribute in attributes.items())


@lru_cache(maxsize=1 << 12)
def _text(attribute: Attribute) -> str:
    """An attribute's text, in one line, of a float its bits too."""
    match attribute:
        case FloatAttr(value=value):
            return f"{struct.pack('<d', value.data).hex()} {attribute}"
        case _:
            return str(attribute)
