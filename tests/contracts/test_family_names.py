"""Members of the family of arithmetics by name, and what such a name stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from qlower.contracts import PREFIX
from qlower.contracts.family.names import arithmetic, text_of
from qlower.diagnostics import QlowerError


@pytest.mark.parametrize(
    ("base", "choices", "name"),
    [
        ("tflm", {}, "base tflm; multiplier 32 bits half_up"),
        ("tflite", {"multiplier": 12}, "base tflite; multiplier 12 bits half_up"),
        (
            "tflite",
            {"multiplier": "12, floor"},
            "base tflite; multiplier 12 bits floor",
        ),
        (
            *("tvm", {"accumulator": "24 saturate", "first": "ceil"}),
            "base tvm; accumulator 24 bits saturate; first ceil",
        ),
        ("x.mlir", {}, f"base {Path.cwd()}/x.mlir; multiplier 32 bits half_up"),
    ],
)
def test_names(base: str, choices: dict[str, str | int], name: str) -> None:
    assert arithmetic(base, **choices) == f"{PREFIX} {name}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("multiplier", "'multiplier' is not CHOICE VALUE, once"),
        ("bias real; bias real", "'bias real' is not CHOICE VALUE, once"),
        ("colour red", "an arithmetic has no choice 'colour'"),
        ("first ,", "first ',' is not one of once; "),
        (
            "accumulator 33 bits",
            "is not one of 32 bits; 12 to 31 bits, wrap; 12 to 31 bits, saturate",
        ),
        (
            "multiplier 33",
            "is not one of 2 or 8 to 32 bits, half_up; 2 or 8 to 32 bits, half_even; "
            "2 or 8 to 32 bits, floor; 2 or 8 to 32 bits, ceil; 2 bits, nearest in",
        ),
        (
            "bias real",
            "bias 'real' makes no difference, or can't be, with accumulator '32 bits', "
            "scaling 'fixed point', first 'once' and zero_point 'after'",
        ),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        text_of(f"{PREFIX} {name}")
    assert message in caught.value.message


def test_the_text_of_a_name() -> None:
    """Choices that make no difference aren't among the notes."""
    text = text_of(f"{PREFIX} multiplier 12 bits floor; base tflm;")
    head = text[: text.index("\n\n")].split("\n")
    assert head == [
        "// An arithmetic put together of steps, for convolutions and linear layers:",
        "//",
        "// - products: exact",
        "// - accumulator: 32 bits",
        "// - scaling: fixed point",
        "// - ratio: f64",
        "// - multiplier: 12 bits, floor",
        "// - first: once",
        "// - rounding: half_up",
        "// - zero_point: after",
        "//",
        "// Everything else is that of tflm.",
    ]
    assert 'contract.summary = "multiplier 12 bits floor"' in text
    assert 'contract.base = "tflm"' in text
    assert 'contract.summary = "multiplier 32 bits half_up"' in text_of(PREFIX)
