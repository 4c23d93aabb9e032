"""Numbers in the text of types, attributes and operations: true and false are none,
and some have no sign."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from qlower.text.context import make_context

TYPES = {
    "the least code": ("!quant.uniform<i8<{}:7>:f32, 0.5>", 1),
    "the largest code": ("!quant.uniform<i8<-7:{}>:f32, 0.5>", 1),
    "zero point": ("!quant.uniform<i8:f32, 0.5:{}>", 1),
    "axis": ("!quant.uniform<i8:f32:{}, {{0.5}}>", 1),
    "dimension of blocks": ("!quant.uniform<i8:f32:{{{}:2, 0:3}}, {{{{0.5}}}}>", 1),
    "size of blocks": ("!quant.uniform<i8:f32:{{0:{}, 1:2}}, {{{{0.5}}}}>", 1),
    "rank of a shape": ("!tosa.shape<{}>", 1),
}
UNSIGNED_TYPES = {
    "bits of an exponent": ("!smtlib.float<{}, 24>", 8),
    "bits of a significand": ("!smtlib.float<8, {}>", 24),
}
ATTRIBUTES = {
    "index vector": ("#stablehlo.gather<index_vector_dim = {}>", 1),
    "list of dimensions": ("#stablehlo.gather<offset_dims = [0, {}]>", 1),
}
UNSIGNED_ATTRIBUTES = {
    "place in the arena": ("#kernel.arena<{}>", 64),
    "output": ("#kernel.output<{}>", 1),
    "place of scratch": ("#kernel.scratch<{}, 64>", 64),
    "bytes of scratch": ("#kernel.scratch<64, {}>", 64),
}
X = "func.func @f(%x: tensor<4x4xf32>) {"
OPERATIONS = {
    "dim of concatenate": (
        "stablehlo.concatenate %x, %x, dim = {} : (tensor<4x4xf32>, tensor<4x4xf32>) "
        "-> tensor<4x8xf32>",
        1,
    ),
    "dim of iota": ("stablehlo.iota dim = {} : tensor<4x4xf32>", 1),
    **{
        f"{part} of slice": (
            f"stablehlo.slice %x [0:4, {box}] : (tensor<4x4xf32>) -> tensor<4x2xf32>",
            number,
        )
        for part, box, number in (
            ("start", "{}:3", 1),
            ("limit", "0:{}", 2),
            ("stride", "0:4:{}", 2),
        )
    },
    "dims of transpose": (
        "stablehlo.transpose %x, dims = [0, {}] : (tensor<4x4xf32>) -> tensor<4x4xf32>",
        1,
    ),
}


def reads(place: str, number: object) -> bool:
    """Whether a text is read with a number at this place."""
    if place in OPERATIONS:
        line = OPERATIONS[place][0].format(number)
        text = f"{X}\n  %y = {line}\n  return\n}}"
        parser = Parser(make_context(), text)
        work = parser.parse_module
    else:
        types = TYPES | UNSIGNED_TYPES
        known = types | ATTRIBUTES | UNSIGNED_ATTRIBUTES
        parser = Parser(make_context(), known[place][0].format(number))
        work = parser.parse_type if place in types else parser.parse_attribute
    try:
        work()
    except ParseError:
        return False
    return True


SIGNED = TYPES | ATTRIBUTES | OPERATIONS
UNSIGNED = UNSIGNED_TYPES | UNSIGNED_ATTRIBUTES


@pytest.mark.parametrize("place", SIGNED)
def test_truth_is_no_number(place: str) -> None:
    assert reads(place, SIGNED[place][1])
    assert not reads(place, "true")
    assert not reads(place, "false")


@pytest.mark.parametrize("place", UNSIGNED)
def test_numbers_without_a_sign(place: str) -> None:
    assert reads(place, UNSIGNED[place][1])
    assert not reads(place, -1)


def test_dimensions_of_a_convolution_may_be_words() -> None:
    """Upstream has letters for some, and reads true as a word that is none of them."""
    text = "#stablehlo.conv<[b, 0, f]x[0, i, {}]->[b, 0, f]>"
    for word in ("o", "true", "2"):
        attribute = Parser(make_context(), text.format(word)).parse_attribute()
        assert str(attribute) == text.format(word)
