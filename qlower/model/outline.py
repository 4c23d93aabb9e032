"""A module apart from the bytes of its constants, which is what stays when weights
change."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from qlower.dialects.qnn.attributes import SOURCE
from qlower.dialects.quant import QuantizedType
from qlower.model.layers import is_constant, layer_names


@dataclass(frozen=True)
class Outline:
    """A hash of all that a module says but the bytes of its constants, and these: each
    operation's with the hash of its bytes, in order.

    Of locations it has the layers' names.
    """

    digest: bytes
    constants: tuple[tuple[Operation, str], ...]

    @property
    def digests(self) -> tuple[str, ...]:
        """The hashes of the constants."""
        return tuple(digest for _, digest in self.constants)

    @staticmethod
    def of(module: ModuleOp) -> Outline:
        """The outline of a module at any level."""
        constants: list[tuple[Operation, str]] = []
        digest = sha256()
        for line in _lines(module, {}, constants):
            digest.update(line.encode() + b"\n")
        return Outline(digest.digest(), tuple(constants))


def elements_digest(dense: Attribute) -> str:
    """A hash of the bytes of a constant, and of their type."""
    assert isa(dense, DenseIntOrFPElementsAttr)
    digest = sha256(_text(dense.type).encode() + b"\n")
    digest.update(dense.data.data)
    return digest.hexdigest()


def _lines(
    op: Operation,
    numbers: dict[SSAValue, int],
    constants: list[tuple[Operation, str]],
) -> Iterator[str]:
    """An operation and what is inside of it, a line each: values by number."""
    operands = [numbers[operand] for operand in op.operands]
    attributes = {**op.properties, **op.attributes}
    attributes.pop(SOURCE, None)
    value = attributes.get("value")
    if is_constant(op) and isinstance(value, DenseIntOrFPElementsAttr):
        constants.append((op, elements_digest(attributes.pop("value"))))
    for result in op.results:
        numbers[result] = len(numbers)
    yield (
        f"{op.name} {operands} {[_text(type) for type in op.result_types]} "
        f"{ {name: _text(attribute) for name, attribute in attributes.items()} } "
        f"{layer_names(op)} {len(op.regions)}"
    )
    for region in op.regions:
        for block in region.blocks:
            for argument in block.args:
                numbers[argument] = len(numbers)
            yield f"block {[_text(argument.type) for argument in block.args]}"
            for inner in block.ops:
                yield from _lines(inner, numbers, constants)
        yield "end"


@cache
def _text(attribute: Attribute) -> str:
    """An attribute's text, to the last bit; long lists of numbers by their bytes."""
    match attribute:
        case QuantizedType(data=data):
            scales = array("d", data.scales).tobytes().hex()
            zeros = data.zero_points if any(data.zero_points) else 0
            rest = f"{data.storage} {data.expressed_type} {data.blocks} {data.shape}"
            return f"{rest} {scales} {zeros}"
        case TensorType():
            shape = attribute.get_shape()
            return f"{shape} {_text(attribute.element_type)} {attribute.encoding}"
        case DenseIntOrFPElementsAttr():
            return elements_digest(attribute)
        case _:
            return str(attribute)
