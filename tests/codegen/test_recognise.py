"""Which nests are sums of products, and the part that each of their loops plays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.layers.windows import Window, build

from qlower.codegen.nests.nest import analyse
from qlower.codegen.nests.operand import Operand
from qlower.codegen.nests.recognise import (
    Contraction,
    DepthwiseProducts,
    Products,
    factors_of,
    family_of,
    recognise,
)
from qlower.dialects.kernel import NestOp
from qlower.text.parsing import parse_module

Edits = tuple[tuple[str, str], ...]

CONV = Window(5, 7, 8, 6, (3, 3), dilation=(1, 2), zero_x=-3)
DEEP = Window(5, 7, 8, 8, (3, 3), groups=8, depthwise=True, zero_x=4)


def nest_op(case: Window, *edits: tuple[str, str], seed: int = 0) -> NestOp:
    """The nest of a window, whose text has been changed."""
    text, _, _ = build(case, seed)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    (op,) = (op for op in parse_module(text).walk() if isinstance(op, NestOp))
    return op


def found(case: Window, *edits: tuple[str, str], seed: int = 0) -> Products | None:
    return recognise(analyse(nest_op(case, *edits, seed=seed)))


@pytest.mark.parametrize(
    ("case", "lane", "run", "taps", "groups", "pixels"),
    [
        # loops over rows, columns and channels, then over the window's
        (CONV, 2, 5, (3, 4), (), (0, 1)),
        (replace(CONV, dilation=(2, 1)), 1, 3, (2,), (), (0,)),
        (replace(CONV, kernel=(1, 1)), 1, 2, (), (), (0,)),
        (replace(CONV, channels=9, outputs=6, groups=3), 3, 6, (4, 5), (2,), (0, 1)),
        (Window(1, 1, 30, 6), 0, 1, (), (), ()),
        (Window(3, 4, 1, 6), 1, None, (), (), (0,)),
    ],
)
def test_loops_of_contractions(
    case: Window,
    lane: int,
    run: int | None,
    taps: tuple[int, ...],
    groups: tuple[int, ...],
    pixels: tuple[int, ...],
) -> None:
    products = found(case)
    assert isinstance(products, Contraction)
    assert (products.lane, products.run, products.taps) == (lane, run, taps)
    assert (products.groups, products.pixels) == (groups, pixels)
    assert products.accumulator == "i32"
    assert products.nest.bounds[lane] == case.outputs // case.groups
    assert (products.activation.index, products.weight.index) == (0, 1)
    assert family_of(products.nest.op) == "contraction"


def test_factors() -> None:
    """Signs and offsets of each, whichever comes first."""
    case = replace(CONV, unsigned_x=True, zero_w=None)
    for edits in ((), (("muli %x2, %w2", "muli %w2, %x2"),)):
        products = found(case, *edits)
        assert isinstance(products, Contraction)
        x, w = products.activation, products.weight
        assert (x.signed, x.offset, x.scalar, x.index) == (False, -3, "i8", 0)
        assert (w.signed, w.scalar, w.index) == (True, "i8", 1)
        assert isinstance(w.offset, Operand)
        assert w.offset is products.nest.inputs[3]
    words = found(replace(CONV, words=True, zero_x=0))
    assert isinstance(words, Contraction)
    assert (words.activation.scalar, words.accumulator) == ("i16", "i64")


def test_depthwise() -> None:
    products = found(DEEP)
    assert isinstance(products, DepthwiseProducts)
    assert (products.lane, products.zero_point) == (2, 4)
    assert (products.activation.index, products.weight.index) == (0, 1)
    assert family_of(products.nest.op) == "depthwise"
    most = replace(DEEP, height=20, width=20)
    assert isinstance(found(replace(most, kernel=(16, 8))), DepthwiseProducts)
    assert found(replace(most, kernel=(3, 43), width=50)) is None


SUM = "arith.addi %acc, %p : i32"


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        (((SUM, "arith.addi %p, %acc : i32"),), True),
        (((SUM, "arith.subi %acc, %p : i32"),), False),
        (((SUM, "arith.addi %p, %p : i32"),), False),
        ((("kernel.yield %s : i32", "kernel.yield %p : i32"),), False),
        ((("%p = arith.muli", "%p = arith.addi"),), False),
        ((("arith.subi %x1, %zx", "arith.subi %zx, %x1"),), False),
        ((("arith.subi %x1, %zx", "arith.subi %x1, %acc"),), False),
        ((("arith.subi %x1, %zx", "arith.addi %x1, %zx"),), False),
        ((("arith.muli %x2, %w2", "arith.muli %x2, %x2"),), False),
        ((("arith.muli %x2, %w2", "arith.muli %x1, %w1"),), True),
        ((("arith.muli %x2, %w2", "arith.muli %x2, %zc"),), False),
        ((("arith.muli %x2, %w2", "arith.muli %acc, %w2"),), False),
    ],
)
def test_bodies(edits: Edits, wanted: bool) -> None:
    """A product of two widened numbers, less what is known of each, is added."""
    assert (found(CONV, *edits) is not None) is wanted


def test_zero_points_of_activations_by_channel() -> None:
    """No constant can stand for these."""
    by_channel = ("arith.subi %x1, %zx", "arith.subi %x1, %zc")
    assert found(CONV, by_channel) is None
    assert found(DEEP, by_channel) is None
    assert factors_of(analyse(nest_op(CONV, by_channel))) is not None


@pytest.mark.parametrize(("case", "family"), [(CONV, "loop"), (DEEP, "window")])
def test_weights_that_are_not_known(case: Window, family: str) -> None:
    """Then the nest is a loop of another kind."""
    text, _, _ = build(case, 0)
    (line,) = (one for one in text.splitlines() if one.strip().startswith("%w = "))
    type = line.rpartition(" : ")[2]
    op = nest_op(case, (line, ""), ("@main(", f"@main(%w: {type}, "))
    assert recognise(analyse(op)) is None
    assert family_of(op) == family


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"zero_x": 0}, True),
        ({"zero_x": 1}, False),
        ({"zero_w": 1}, False),
        ({"unsigned_x": True}, False),
        ({"unsigned_w": True}, False),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_products_of_words(
    given: dict[str, int | bool | None], wanted: bool, seed: int
) -> None:
    """Signed, without offsets, multiplied in 32 bits or in as many as the sum has."""
    case = replace(CONV, words=True, zero_x=0)
    assert (found(replace(case, **given), seed=seed) is not None) is wanted


def test_bytes_are_summed_in_32_bits() -> None:
    """Wider sums of them are other loops; so are narrower ones."""
    case = replace(CONV, words=True, zero_x=0)
    wide = (("i16", "i8"),)
    assert found(case, *wide) is None


@pytest.mark.parametrize(
    ("case", "family"),
    [
        (replace(CONV, words=True, zero_x=1), "loop"),
        (replace(DEEP, words=True, zero_x=1), "window"),
        (Window(3, 1, 30, 1, words=True, zero_x=1), "window"),
    ],
)
def test_other_families(case: Window, family: str) -> None:
    """Of reductions with an offset that products of words cannot have."""
    assert family_of(nest_op(case)) == family
