"""Tensors of ONNX, in every field and of every type, against messages made by hand."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from qlower.files import tensor_proto
from qlower.files.tensor_proto import DTYPES, read_tensor_proto

INTEGERS: Any = vars(tensor_proto)["_integers"]

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    digits = [number & 127]
    while number := number >> 7:
        digits.append(number & 127)
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


def field(number: int, content: int | bytes) -> bytes:
    if isinstance(content, int):
        return varint(number << 3 | VARINT) + varint(content)
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def packed(numbers: Sequence[int]) -> bytes:
    return b"".join(map(varint, numbers))


def message(kind: int, dims: Sequence[int], *content: bytes) -> bytes:
    return b"".join([field(1, packed(dims)), field(2, kind), *content])


NUMBERS = [0, 1, 127, 128, 300, -1, -128, (1 << 31) - 1, -(1 << 31)]


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (3, 3), (9, 1, 1)])
def test_bytes_of_every_type(kind: int, shape: tuple[int, ...]) -> None:
    """The shape as one field of packed numbers, or as a field for each."""
    dtype = np.dtype(DTYPES[kind])
    with np.errstate(over="ignore"):
        array = np.array(NUMBERS[: math.prod(shape)]).astype(dtype)
    raw = field(9, array.tobytes())
    for head in (
        field(1, packed(shape)),
        b"".join(field(1, extent) for extent in shape),
    ):
        name, found = read_tensor_proto(head + field(2, kind) + field(8, b"t") + raw)
        assert name == "t"
        np.testing.assert_array_equal(found, array.reshape(shape), strict=True)


FIELDS = {2: 5, 3: 5, 4: 5, 5: 5, 6: 5, 9: 5, 7: 7, 12: 11, 13: 11}
"""The field of integers that ONNX has for a type."""


@pytest.mark.parametrize("kind", FIELDS)
def test_numbers_in_the_field_of_their_type(kind: int) -> None:
    """Packed, one at a time, or in several parts."""
    dtype = np.dtype(DTYPES[kind])
    wanted = np.array(NUMBERS, np.int64).astype(dtype)
    number = FIELDS[kind]
    for content in (
        field(number, packed(NUMBERS)),
        b"".join(field(number, one) for one in NUMBERS),
        field(number, packed(NUMBERS[:4])) + field(number, packed(NUMBERS[4:])),
    ):
        name, found = read_tensor_proto(message(kind, [9], content))
        assert name == ""
        np.testing.assert_array_equal(found, wanted, strict=True)


def test_numbers_of_64_bits() -> None:
    numbers = [(1 << 63) - 1, 1 << 62, (1 << 62) - 1, -(1 << 62), -(1 << 63)]
    found = read_tensor_proto(message(7, [5], field(7, packed(numbers))))[1]
    assert found.tolist() == numbers


def test_real_numbers() -> None:
    numbers = [0.0, -1.5, 1e30, math.inf]
    for kind, number, form in ((1, 4, "<4f"), (11, 10, "<4d"), (10, 4, "<4f")):
        data = message(kind, [4], field(number, struct.pack(form, *numbers)))
        with np.errstate(over="ignore"):
            found = read_tensor_proto(data)[1]
            wanted = np.array(numbers, np.float32 if kind != 11 else np.float64)
            np.testing.assert_array_equal(found, wanted.astype(DTYPES[kind]))


@pytest.mark.parametrize("kind", DTYPES)
def test_tensors_as_the_package_makes_them(kind: int) -> None:
    """Such as halves, whose bits are among the integers."""
    helper = pytest.importorskip("onnx.helper", reason="onnx is not installed")
    wanted = np.array([0, 1, 2.5, 3]).astype(DTYPES[kind])
    made = helper.make_tensor("t", kind, wanted.shape, wanted.tolist())
    found = read_tensor_proto(made.SerializeToString())[1]
    np.testing.assert_array_equal(found, wanted, strict=True)


def test_raw_bytes_come_before_numbers() -> None:
    data = message(3, [2], field(5, packed([1, 2])), field(9, b"\3\4"))
    assert read_tensor_proto(data)[1].tolist() == [3, 4]


def test_nothing_is_an_empty_tensor() -> None:
    assert read_tensor_proto(message(3, [0, 5]))[1].shape == (0, 5)


def test_other_fields_are_passed_over() -> None:
    """Of every wire type and of any size, as of names and metadata."""
    others = (
        *(field(3, 5), field(12, b"doc"), field(14, (1 << 64) - 1), field(99, b"")),
        varint(20 << 3 | FIXED64) + bytes(8),
        varint(21 << 3 | FIXED32) + bytes(4),
        field(22, bytes(300)),
    )
    for other in others:
        inner = field(9, b"\7")
        for content in ((other, inner), (inner, other)):
            assert read_tensor_proto(message(3, [1], *content))[1].tolist() == [7]


def test_fields_of_another_wire_type_are_passed_over() -> None:
    """A name that is a number, a type that is bytes, elements that are numbers."""
    content = (
        field(8, 5),
        field(2, b"\1"),
        field(9, 3),
        field(9, b"\6"),
        field(8, b"n"),
    )
    assert read_tensor_proto(message(3, [1], *content))[0] == "n"
    assert read_tensor_proto(message(3, [1], *content))[1].tolist() == [6]


def test_a_name_that_is_no_text() -> None:
    assert read_tensor_proto(message(3, [0], field(8, b"a\xff")))[0] == "a\ufffd"


@pytest.mark.parametrize("wire", [3, 4, 6, 7])
def test_wire_types_that_protobuf_has_not(wire: int) -> None:
    with pytest.raises(ValueError, match=f"^it is no TensorProto: wire type {wire}$"):
        read_tensor_proto(bytes([1 << 3 | wire, 0]))


def test_fields_end_where_the_message_does() -> None:
    for key, size in ((20 << 3 | FIXED64, 8), (21 << 3 | FIXED32, 4)):
        head = message(3, [0]) + varint(key)
        assert read_tensor_proto(head + bytes(size))[1].size == 0
        reason = f"^a field of {size} bytes goes past the end$"
        with pytest.raises(ValueError, match=reason):
            read_tensor_proto(head + bytes(size - 1))
    with pytest.raises(ValueError, match=r"^a field of 2 bytes goes past the end$"):
        read_tensor_proto(varint(9 << 3 | BYTES) + b"\2\0")


def test_numbers_have_ten_bytes_at_most() -> None:
    """The last byte holds one bit of 64."""
    tail = field(2, 3)
    longest = b"\xff" * 9 + b"\x01"
    with pytest.raises(ValueError, match=r"^the shape \[-1\] is negative$"):
        read_tensor_proto(b"\x08" + longest + tail)
    beyond = b"\x81" + b"\x80" * 8 + b"\x7e"  # bits above the 64th are lost
    assert read_tensor_proto(b"\x08" + beyond + tail + field(9, b"\5"))[1].tolist() == [
        5
    ]
    with pytest.raises(ValueError, match=r"^a number goes past the end$"):
        read_tensor_proto(b"\x08" + b"\x81" + b"\x80" * 9 + b"\0" + tail)
    with pytest.raises(ValueError, match=r"^a number goes past the end$"):
        read_tensor_proto(field(1, b"\x80"))


@pytest.mark.parametrize("kind", [0, 8, 14, 15, 16])
def test_types_that_are_not_read(kind: int) -> None:
    with pytest.raises(
        ValueError, match=f"^elements of ONNX type {kind} can't be read$"
    ):
        read_tensor_proto(message(kind, [1], field(9, b"\0\0")))


def test_the_shape_says_how_many_there_are() -> None:
    for dims, size in (([2, 3], 5), ([2, 3], 7), ([], 0), ([0], 1), ([0, 3], 3)):
        needed = math.prod(dims)
        with pytest.raises(ValueError, match="elements, it has") as caught:
            read_tensor_proto(message(3, dims, field(9, bytes(size))))
        reason = f"shape {dims} has {needed} elements, it has {size}"
        assert str(caught.value) == reason


def test_elements_elsewhere_are_refused() -> None:
    for content in (field(13, b"file"), field(13, 1)):
        with pytest.raises(ValueError, match=r"^its elements are in another file$"):
            read_tensor_proto(message(3, [1], content))


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ((1 << 62), [1 << 62]),
        ((1 << 63) - 1, [(1 << 63) - 1]),
        (1 << 63, [-(1 << 63)]),
        ((1 << 64) - 1, [-1]),
        (0, [0]),
        (memoryview(b"\x01\x80\x01\x7f"), [1, 128, 127]),
        (memoryview(b"\xff" * 9 + b"\x01"), [-1]),
        (memoryview(b""), []),
    ],
)
def test_numbers_of_64_bits_have_a_sign(
    value: int | memoryview, numbers: list[int]
) -> None:
    assert INTEGERS(value) == numbers
