"""All that decides the code of a nest, as bytes: equal ones have equal code."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, Region, SSAValue

from qlower.codegen.nests.nest import box_of, constant_bytes
from qlower.dialects.kernel import CopyOp, NestOp


def nest_content(op: NestOp) -> Iterator[bytes]:
    """What the code of a nest follows from, for a target: the loops, the scalar code,
    and how tensors are read and written; constants with all their bytes.

    Where tensors lie is no part of it, nor what the nest is called.
    """
    numbers: dict[SSAValue, int] = {}
    for value in (*op.inputs, *op.tables):
        if value not in numbers:
            numbers[value] = len(numbers)
            yield from _origin(value)
    for result in op.res:
        yield _text(result.type)
        box = box_of(result)
        if box is not None:
            yield from (b"box", _text(box.offsets), _text(box.result.type))
    places = [numbers[value] for value in (*op.inputs, *op.tables)]
    properties = {k: v for k, v in op.properties.items() if k != "buffers"}
    yield f"{places} {len(op.inputs)}".encode() + _texts(properties)
    for region in op.regions:
        yield from _code(region, numbers)


def _origin(value: SSAValue) -> Iterator[bytes]:
    """What a nest knows of a tensor that it reads."""
    yield _text(value.type)
    data = constant_bytes(value)
    if data is not None:
        yield from (b"constant", data)
    elif isinstance(copy := value.owner, CopyOp) and not copy.is_stored:
        yield b"padding" + _texts(copy.properties)
        yield from _origin(copy.source)


def _code(region: Region, numbers: dict[SSAValue, int]) -> Iterator[bytes]:
    """Scalar operations, with their operands by number."""
    for block in region.blocks:
        yield b"block"
        for argument in block.args:
            numbers[argument] = len(numbers)
            yield _text(argument.type)
        for op in block.ops:
            operands = [numbers[operand] for operand in op.operands]
            attributes = _texts(op.properties) + _texts(op.attributes)
            yield f"{op.name} {operands} ".encode() + attributes
            for result in op.results:
                numbers[result] = len(numbers)
                yield _text(result.type)
            for inner in op.regions:
                yield from _code(inner, numbers)


def _texts(attributes: Mapping[str, Attribute]) -> bytes:
    return b"".join(
        b" %s %s" % (name.encode(), _text(attribute))
        for name, attribute in attributes.items()
    )


@lru_cache(maxsize=1 << 12)
def _text(attribute: Attribute) -> bytes:
    """An attribute's text, of a float its bits too."""
    text = str(attribute).encode()
    match attribute:
        case FloatAttr(value=value):
            return struct.pack("<d", value.data) + text
        case _:
            return text
