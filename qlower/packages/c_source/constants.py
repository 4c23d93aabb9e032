"""Constant tensors as C arrays, each written once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from qlower.codegen.nests.operand import lanes_of
from qlower.codegen.values.elements import storage_bytes

from .c_types import REALS
from .literals import integer, real_number

_WIDTH = 88

_SMALL_BYTES = 32
"""Bytes of the largest array that is placed with the code when weights aren't."""


@dataclass
class Constants:
    """The arrays of a file by content; names begin with `prefix`."""

    prefix: str
    names: dict[tuple[str, bytes], str] = field(
        default_factory=dict[tuple[str, bytes], str]
    )

    def name(self, scalar: str, data: bytes) -> str:
        """The name of the array of these elements, little-endian in `data`."""
        return self.names.setdefault(
            (element_type(scalar, data), data), f"{self.prefix}_data_{len(self.names)}"
        )

    def lines(self, attribute: str) -> Iterator[str]:
        """The definitions; those of large arrays have an attribute."""
        for (type, data), name in self.names.items():
            texts = list(_elements(type, data))
            place = f" {attribute}" if len(data) > _SMALL_BYTES else ""
            yield f"static const {type} {name}[{len(texts)}]{place} = {{"
            line = " "
            for text in texts:
                if len(line) + len(text) + 2 > _WIDTH:
                    yield line
                    line = " "
                line += f" {text},"
            yield line
            yield "};"


def memory_type(scalar: str) -> str:
    """The C type of an element in memory."""
    if scalar in REALS:
        return scalar
    return "uint8_t" if scalar == "i1" else f"int{8 * storage_bytes(scalar)}_t"


def element_type(scalar: str, data: bytes) -> str:
    """The C type of a constant's elements: floats that no literal has are bits."""
    if scalar in REALS and not np.isfinite(lanes_of(scalar, data)).all():
        return f"uint{8 * storage_bytes(scalar)}_t"
    return memory_type(scalar)


def _elements(type: str, data: bytes) -> Iterator[str]:
    if type in REALS:
        for value in lanes_of(type, data).tolist():
            yield real_number(value, REALS[type])
        return
    is_signed = type.startswith("int")
    bits = int("".join(filter(str.isdigit, type)))
    for value in np.frombuffer(
        data, f"<{'i' if is_signed else 'u'}{bits // 8}"
    ).tolist():
        # a decimal literal has the first type that it fits
        least = is_signed and value == -1 << (bits - 1) and bits >= 32
        yield integer(value) if least else f"{value}{'' if is_signed else 'u'}"
