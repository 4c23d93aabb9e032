"""Constants in MLIR text: decimal lists parsed in one step, and elements at the end of
the file."""

from __future__ import annotations

import json
import math
import re
from functools import cache

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyDenseElement,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    RankedStructure,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, base
from xdsl.parser import AttrParser, Parser
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from qlower.dialects.types import has_spare_bits
from qlower.files.digits import reason
from qlower.text.floats import float_from_bits

LARGEST_CONSTANT = 1 << 30
"""Bytes that one dense constant may occupy."""

MOST_REPEATED = 1 << 25
"""Elements in all of those constants of a text that have more than it writes."""

_NUMBER_LIST = re.compile(r"\s*(\[[-+0-9.eE,\s\[\]]{1024,}\])\s*>")
"""A decimal list long enough to be worth reading in one go."""

_ONE_NUMBER = re.compile(r"\s*[-+0-9.a-zA-Z]+\s*>")
"""An element that all are equal to."""

_BLOB = re.compile(r'([\w.$]+)\s*:\s*"0x((?:[0-9A-Fa-f]{2})*)"')
"""A resource at the end of a file, `name: "0x..."`."""


def _is_hexadecimal(number: Span) -> bool:
    return number.text.lstrip("-")[:2] in ("0x", "0X")


@cache
def _dense_types() -> AttrConstraint[RankedStructure[AnyDenseElement]]:
    """The types of constants; xDSL makes this constraint for each of them, which takes
    longer than all else that is done for a small one."""
    return base(RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType])


class ConstantParser(Parser):
    """xDSL's parser, with fast decimal constants, and those of resources."""

    _blobs: dict[str, tuple[int, int]] | None = None
    _dense_start = 0
    _repeated = 0

    _Literal = Parser._TensorLiteralElement

    class _Element(_Literal):
        """An element of a constant; in hexadecimal, a float is its bits."""

        def to_type(
            self,
            parser: AttrParser,
            type: AnyFloat | IntegerType | IndexType | ComplexType,
        ) -> float | tuple[float, float]:
            if not isinstance(type, AnyFloat) or not _is_hexadecimal(self.span):
                return super().to_type(parser, type)
            try:
                return float_from_bits(int(self.span.text, 16), type)
            except ValueError as error:
                parser.raise_error(reason(error), self.span)

    def _parse_dense_literal_type(self) -> RankedStructure[AnyDenseElement]:
        position = self.pos
        try:
            type = self.expect(
                self.parse_optional_type, "Dense attribute must be typed!"
            )
            if not _dense_types().verifies(type):
                self.raise_error(
                    "Expected memref, vector or tensor type of integer, index, float, "
                    "or complex type"
                )
            if DYNAMIC_INDEX in type.get_shape():
                self.raise_error("Dense literal attribute should have a static shape.")
        except ParseError as error:
            if self.pos == position:
                raise
            self.raise_error(
                f"{error.msg} (stored values have that of the storage: i8, for "
                "example)",
                position,
                self.pos,
            )
        count = math.prod(type.get_shape())
        size = count * type.element_type.compile_time_size
        if size > LARGEST_CONSTANT:
            self.raise_error(
                f"constant of {size} bytes is larger than {LARGEST_CONSTANT}",
                position,
                self.pos,
            )
        self._repeated += count if count > self.pos - self._dense_start else 0
        if self._repeated > MOST_REPEATED:
            self.raise_error(
                f"constants that repeat an element have {self._repeated} in all, more "
                f"than {MOST_REPEATED}",
                position,
                self.pos,
            )
        return type

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        start = self._dense_start = self.pos
        if self._current_token.kind == MLIRTokenKind.LESS:
            literal = _NUMBER_LIST.match(self.lexer.input.content, start + 1)
            if literal is not None:
                return self._parse_number_list(literal, type)
        try:
            if _ONE_NUMBER.match(self.lexer.input.content, start + 1):
                return _sign_extended(self._parse_one_number(type))
            dense = super().parse_dense_int_or_fp_elements_attr(type)
            return _sign_extended(dense)
        except (VerifyException, ValueError, OverflowError) as error:
            self.raise_error(reason(error), start)
        except ParseError as error:
            # What is wrong with the elements is noticed after the type only.
            if error.span.start < self.pos:
                raise
            self.raise_error(error.msg, start)

    def _parse_one_number(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        """A constant of equal elements: xDSL converts each of them, which takes minutes
        for what fits in a line."""
        self.parse_punctuation("<")
        (element,), _ = self._parse_tensor_literal()
        self.parse_punctuation(">")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        number = element.to_type(self, type.element_type)
        if not math.prod(type.get_shape()):
            return DenseIntOrFPElementsAttr(type, BytesAttr(b""))
        return DenseIntOrFPElementsAttr.from_list(type, [number])  # pyright: ignore[reportCallIssue,reportUnknownVariableType,reportArgumentType]

    def _parse_builtin_dense_resource_attr(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
    ) -> DenseIntOrFPElementsAttr:
        """A constant whose elements are at the end of the file, read immediately."""
        self.parse_punctuation("<")
        start = self.pos
        key = self.parse_identifier()
        self.parse_punctuation(">")
        self.parse_punctuation(":")
        type = self.parse_type()
        try:
            return dense_of_bytes(type, self._blob(key))
        except ValueError as error:
            self.raise_error(reason(error), start)

    def _blob(self, key: str) -> bytes:
        """The bytes of a resource; ValueError if the file doesn't have it."""
        text = self.lexer.input.content
        if self._blobs is None:
            entries = _BLOB.finditer(text, max(0, text.rfind("{-#")))
            self._blobs = {entry[1]: entry.span(2) for entry in entries}
        if key not in self._blobs:
            raise ValueError(f"the elements of {key} are not in the file")
        start, end = self._blobs[key]
        # The first four bytes are the alignment.
        return bytes.fromhex(text[start:end])[4:]

    def _parse_tensor_literal_element(self) -> _Element:
        element = super()._parse_tensor_literal_element()
        return self._Element(element.is_negative, element.value, element.span)

    def parse_optional_builtin_int_or_float_attr(
        self,
    ) -> IntegerAttr | FloatAttr | None:
        start = self._current_token.span
        try:
            attribute = super().parse_optional_builtin_int_or_float_attr()
            if isinstance(attribute, FloatAttr) and _is_hexadecimal(start):
                float_from_bits(int(start.text, 16), attribute.type)
        except (ValueError, OverflowError) as error:
            self.raise_error(reason(error), start)
        return attribute

    def _parse_number_list(
        self, literal: re.Match[str], type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        """Read a long decimal list in one go instead of 24 us an element."""
        import numpy as np

        span = Span(literal.start(1), literal.end(1), self.lexer.input)
        self._resume_from(literal.end())
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        element = type.element_type
        if isinstance(element, IntegerType):
            low, end = element.value_range()
            dtype = np.int64
        elif isinstance(element, Float32Type | Float64Type):
            low, end = -math.inf, math.inf
            dtype = np.float32 if isinstance(element, Float32Type) else np.float64
        else:
            raise ParseError(span, f"long decimal lists of {element} are not supported")
        try:
            values = np.array(json.loads(literal[1]))
            if values.dtype.kind not in ("i" if dtype is np.int64 else "if"):
                raise ValueError("element of the wrong kind")
        except ValueError as error:
            raise ParseError(span, f"invalid dense literal: {reason(error)}") from error
        if values.shape != type.get_shape():
            raise ParseError(
                span,
                f"dense literal has shape {list(values.shape)}, "
                f"its type {list(type.get_shape())}",
            )
        if values.size > 0 and not low <= values.min() <= values.max() < end:
            raise ParseError(
                span, f"dense literal has elements outside of the range of {element}"
            )
        if dtype is np.int64:
            dtype = np.dtype(f"<i{element.compile_time_size}")
        with np.errstate(over="ignore"):
            stored = values.astype(dtype)
        if not np.isfinite(stored).all():
            raise ParseError(
                span, f"dense literal has elements outside of the range of {element}"
            )
        data = BytesAttr(stored.tobytes())
        return _sign_extended(DenseIntOrFPElementsAttr(type, data))


def dense_of_bytes(type: Attribute, data: bytes) -> DenseIntOrFPElementsAttr:
    """A constant of raw little-endian elements; ValueError where they don't fit."""
    if not isa(type, TensorType[IntegerType | AnyFloat]):
        raise ValueError(f"resources of {type} are not supported")
    element = type.element_type
    if element.bitwidth not in (8, 16, 32, 64):
        raise ValueError(f"resources of {element} are not supported")
    size = math.prod(type.get_shape()) * element.compile_time_size
    if len(data) != size:
        raise ValueError(f"a resource of {len(data)} bytes, {type} has {size}")
    return DenseIntOrFPElementsAttr(type, BytesAttr(data))


def _sign_extended(dense: DenseIntOrFPElementsAttr) -> DenseIntOrFPElementsAttr:
    """The constant with its elements stored as qlower does where bytes have spare bits.

    Hexadecimal text has whole bytes; upstream's spare bits are zero. ValueError for
    bits that belong to no number of the type.
    """
    element = dense.get_element_type()
    if not has_spare_bits(element):
        return dense
    low, end = element.value_range()
    data = dense.data.data
    # 2 us an element: those of a byte are looked up, once each kind
    size = element.compile_time_size
    kinds = bytes(set(data)) if size == 1 else data
    values = element.unpack(kinds, len(kinds) // size)
    for value in values:
        if not low <= value < end:
            raise ValueError(f"element {value} is outside of the range of {element}")
    signed = element.pack([element.get_normalized_value(value) for value in values])
    if size == 1:
        signed = data.translate(bytes.maketrans(kinds, signed))
    return DenseIntOrFPElementsAttr(dense.type, BytesAttr(signed))
