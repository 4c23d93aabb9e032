"""Elements in memory, and the attributes that say where tensors lie."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerType,
    NoneType,
    TensorType,
    bf16,
    f32,
    f64,
    i8,
    i64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.test_value import create_ssa_value

from qlower.dialects.kernel import (
    ARENA_INPUTS,
    ArenaAttr,
    OutputAttr,
    arena_offsets,
    element_byte_size,
)
from qlower.dialects.kernel.memory import (
    BoxAttr,
    ScratchAttr,
    UnstoredAttr,
    byte_size,
    integer_byte_size,
    verified_shape,
    verify_buffers,
)
from qlower.text.context import make_context


def test_bytes_of_integers() -> None:
    """A power of two that holds the bits."""
    for bytes, widths in (
        (1, (1, 2, 4, 7, 8)),
        (2, (9, 12, 16)),
        (4, (17, 24, 31, 32)),
        (8, (33, 48, 64)),
        (16, (65, 128)),
    ):
        assert {integer_byte_size(width) for width in widths} == {bytes}


def test_bytes_of_elements() -> None:
    for element, bytes in (
        (IndexType(), 8),
        (IntegerType(1), 1),
        (IntegerType(24), 4),
        (bf16, 2),
        (f32, 4),
        (f64, 8),
    ):
        assert element_byte_size(element) == bytes
        assert byte_size(TensorType(element, [3, 5])) == 15 * bytes
        assert byte_size(TensorType(element, [])) == bytes
    with pytest.raises(ValueError, match="tensors of none have no layout in memory"):
        element_byte_size(NoneType())


def test_shapes() -> None:
    for shape in ([], [1, 7]):
        value = create_ssa_value(TensorType(i8, shape))
        assert verified_shape(value) == tuple(shape)
    for shape in ([0], [-1, 2], [2, 0, 3]):
        with pytest.raises(VerifyException, match="must be static and without empty"):
            verified_shape(create_ssa_value(TensorType(i8, shape)))


def test_buffers() -> None:
    op = test.TestOp(result_types=[i8, i8])
    verify_buffers(op, None)
    for two in (
        (ArenaAttr(0), OutputAttr(1)),
        (UnstoredAttr(), BoxAttr()),
    ):
        verify_buffers(op, ArrayAttr[Attribute](two))
    with pytest.raises(VerifyException, match="1 buffers for 2 results"):
        verify_buffers(op, ArrayAttr[Attribute]([ArenaAttr(0)]))
    for wrong in (ScratchAttr(0, 8), i8):
        given = ArrayAttr[Attribute]([ArenaAttr(0), wrong])
        with pytest.raises(VerifyException, match=r"is neither #kernel\.arena nor"):
            verify_buffers(op, given)


def test_offsets_in_the_arena() -> None:
    op = test.TestOp(
        attributes={ARENA_INPUTS: DenseArrayBase.from_list(i64, [64, 0, 8])}
    )
    assert arena_offsets(op, ARENA_INPUTS) == (64, 0, 8)
    assert arena_offsets(test.TestOp(), ARENA_INPUTS) == ()
    assert arena_offsets(test.TestOp(attributes={ARENA_INPUTS: i8}), ARENA_INPUTS) == ()


@pytest.mark.parametrize(
    "attribute", [ArenaAttr(64), OutputAttr(0), ScratchAttr(64, 512)]
)
def test_text(attribute: Attribute) -> None:
    assert Parser(make_context(), str(attribute)).parse_attribute() == attribute


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#kernel.scratch<64>", r"scratch has an offset and bytes, not \[64\]"),
        ("#kernel.scratch<1, 2, 3>", "scratch has an offset and bytes, not"),
        ("#kernel.scratch<-1, 2>", "Expected integer literal"),
        ("#kernel.arena<-1>", "Expected integer literal"),
        ("#kernel.arena<1, 2>", "expected"),
    ],
)
def test_refused_text(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        Parser(make_context(), text).parse_attribute()
