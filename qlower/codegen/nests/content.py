"""All that decides the code of a nest, as bytes: equal ones have equal code."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Attribute, Region, SSAValue

from qlower.codegen.nests.operand import box_of, constant_bytes
from qlower.dialects.kernel import CopyOp, NestOp


def nest_content(op: NestOp) -> Iterator[bytes]:
    """Everything that decides the code of a nest, for a target: the loops, the scalar
    code, and how tensors are read and written; constants with all their bytes.

    The positions of tensors are no part of it, nor is the nest's name.
    """
    numbers: dict[SSAValue, int] = {}
    for value in (*op.inputs, *op.tables):
        if value not in numbers:
            numbers[value] = len(numbers)
            yield from _origin(value)
    for result in op.res:
        box = box_of(result)
        place = "" if box is None else f"{_text(box.offsets)} {_text(box.result.type)}"
        yield f"{_text(result.type)} {place}".encode()
    places = [numbers[value] for value in (*op.inputs, *op.tables)]
    memory = "buffers", "scratch"
    properties = {k: v for k, v in op.properties.items() if k not in memory}
    refused = op.scratch is not None and op.scratch.bytes.data == 0
    yield f"{places} {len(op.inputs)} {refused}{_texts(properties)}".encode()
    for region in op.regions:
        yield "\n".join(_code(region, numbers)).encode()


def classes_of_equal(nests: Iterable[NestOp]) -> dict[NestOp, int]:
    """A number for each nest, which nests of equal content share."""
    numbers: dict[tuple[bytes, ...], int] = {}
    return {
        nest: numbers.setdefault(tuple(nest_content(nest)), len(numbers))
        for nest in nests
    }


def _origin(value: SSAValue) -> Iterator[bytes]:
    """The facts about a tensor that a nest reads which its code may use."""
    yield _text(value.type).encode()
    data = constant_bytes(value)
    if data is not None:
        yield from (b"constant", data)
    elif isinstance(copy := value.owner, CopyOp) and not copy.is_stored:
        yield f"padding{_texts(copy.properties)}".encode()
        yield from _origin(copy.source)


def _code(region: Region, numbers: dict[SSAValue, int]) -> Iterator[str]:
    """Scalar operations, a line each, with their operands by number."""
    for block in region.blocks:
        for value in block.args:
            numbers[value] = len(numbers)
        yield f"block {[_text(value.type) for value in block.args]}"
        for op in block.ops:
            operands = [numbers[operand] for operand in op.operands]
            types = [_text(type) for type in op.result_types]
            attributes = _texts(op.properties) + _texts(op.attributes)
            yield f"{op.name} {operands} {types}{attributes}"
            for value in op.results:
                numbers[value] = len(numbers)
            for inner in op.regions:
                yield from _code(inner, numbers)


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
