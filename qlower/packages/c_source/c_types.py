"""C's storage of values: integers sign-extended in the narrowest of its types that has
their width, an i1 as a `bool`, an index as an `int64_t`."""

from __future__ import annotations

from xdsl.ir import Attribute

from qlower.codegen.llvm.values import Type
from qlower.codegen.values.elements import scalar_type
from qlower.dialects.kernel import integer_byte_size

from .literals import integer, integer_mask

REALS = {"float": "f32", "double": "f64"}
"""The names of C's types of floats in helpers."""


def bits_of(type: Attribute) -> int:
    """The width of an integer; an index has 64 bits."""
    return Type(scalar_type(type)).bits


def stored_bits(type: Attribute) -> int:
    """Bits of the C type that an integer is held in."""
    return 8 * integer_byte_size(bits_of(type))


def c_type(type: Attribute) -> str:
    """The C type of a value; QlowerError for one that has none."""
    name = scalar_type(type)
    if name in REALS:
        return name
    return "bool" if name == "i1" else f"int{stored_bits(type)}_t"


def real_of(type: Attribute) -> str:
    """f32 or f64."""
    return REALS[scalar_type(type)]


def unsigned(type: Attribute, text: str) -> str:
    """A held integer as an unsigned one of its width, of at least 32 bits."""
    bits, held = bits_of(type), stored_bits(type)
    if bits == 1:
        return f"({text} ? 1u : 0u)"
    word = 64 if held == 64 else 32
    if bits == word:
        return f"(uint{word}_t){text}"
    return f"((uint{word}_t){text} & {integer_mask(bits)})"


def signed(type: Attribute, text: str) -> str:
    """An unsigned integer, whose higher bits don't count, as it is held."""
    bits, held = bits_of(type), stored_bits(type)
    if bits == 1:
        return f"(({text}) & 1u) != 0u"
    if bits == held:
        return f"(int{held}_t)({text})"
    word, sign = max(held, 32), 1 << (bits - 1)
    low = f"(int{word}_t)((({text}) & {integer_mask(bits)}) ^ {sign:#x}u)"
    return f"(int{held}_t)({low} - {integer(sign)})"


def loaded(type: Attribute, text: str) -> str:
    """An element of memory as it is held; of bits it is a byte."""
    return f"{text} != 0u" if scalar_type(type) == "i1" else text


def stored(type: Attribute, text: str) -> str:
    """A held value as an element of memory."""
    return f"{text} ? 1u : 0u" if scalar_type(type) == "i1" else text
