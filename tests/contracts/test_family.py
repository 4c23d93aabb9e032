"""Members of the family of arithmetics: steps, and choices that change nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from qlower.contracts.family import Arithmetic, arithmetic_text, step
from qlower.contracts.family.choices import (
    BYTE,
    CHOICES,
    FUSED,
    FUSED_INSIDE,
    INSIDE,
    SYMMETRIC,
)
from qlower.contracts.products import PIXEL

FIXED_ONES = {"bias", "scales"}
"""What makes no difference in fixed point."""
SCALED = {"multiplier", "first"}
"""What makes none where sums are scaled by floats."""


@pytest.mark.parametrize(
    ("choices", "without", "steps"),
    [
        (
            {},
            FIXED_ONES,
            "hold_in_32_bits ratio_f64 multiplier_32_bits_half_up shift_once_half_up "
            "add_zero_point_and_clamp",
        ),
        (
            {"accumulator": "24 bits, wrap", "multiplier": "12 bits, floor"},
            FIXED_ONES,
            "wrap_to_24_bits ratio_f64 multiplier_12_bits_floor shift_once_half_up "
            "add_zero_point_and_clamp",
        ),
        (
            {
                **{"accumulator": "12 bits, saturate", "products": "in turn by 4"},
                **{"first": "half_up", "rounding": "floor", "zero_point": BYTE},
            },
            FIXED_ONES,
            "saturate_to_12_bits ratio_f64 multiplier_32_bits_half_up "
            "shift_twice_32_bits_half_up_floor saturate_and_add_zero_point",
        ),
        (
            {
                **{"multiplier": "2 bits, nearest in log2", "zero_point": INSIDE},
                **{"ratio": "f32_product_first"},
            },
            FIXED_ONES,
            "hold_in_32_bits sum_step output_steps ratio_f32_product_first "
            "nearest_power_of_two shift_once_inside_half_up clamp_rounded",
        ),
        (
            {
                **{"scaling": "multiply f32", "ratio": "f32_product_first"},
                **{"scales": "ranges", "zero_point": FUSED_INSIDE},
            },
            SCALED,
            "hold_in_32_bits sum_step_of_ranges output_steps_of_ranges sum_f32 "
            "ratio_f32_product_first multiply_and_zero_point_f32 round_f32_half_up "
            "from_code clamp_rounded",
        ),
        (
            {
                **{"scaling": "multiply f32", "ratio": "f32_reciprocal"},
                **{"scales": "reciprocals", "bias": "real", "zero_point": INSIDE},
            },
            SCALED,
            "hold_in_32_bits sum_step_of_reciprocals output_steps sum_f32 "
            "ratio_f32_reciprocal multiply_f32 add_quotient_f32 zero_point_inside_f32 "
            "round_f32_half_up clamp_rounded",
        ),
        (
            {
                **{"scaling": "divide f32", "ratio": "f32_product_first"},
                **{"scales": "ranges", "bias": FUSED, "zero_point": SYMMETRIC},
            },
            SCALED | {"ratio"},
            "hold_in_32_bits sum_step_of_ranges output_steps_of_ranges sum_f32 "
            "dequantize_with_bias_f32 divide_f32 round_f32_half_up "
            "saturate_to_127_and_add_zero_point",
        ),
        (
            {
                **{"scaling": "reciprocal f32", "ratio": "f32_product_first"},
                **{"scales": "ranges", "bias": "real", "zero_point": FUSED_INSIDE},
            },
            SCALED | {"ratio"},
            "hold_in_32_bits sum_step_of_ranges output_steps_of_ranges sum_f32 "
            "dequantize_f32 add_bias_f32 reciprocal_and_zero_point_f32 "
            "round_f32_half_up from_code clamp_rounded",
        ),
        (
            {
                **{"scaling": "reciprocal f64", "ratio": "f32_product_first"},
                **{"bias": "in steps", "zero_point": INSIDE},
            },
            SCALED | {"ratio", "scales"},
            "hold_in_32_bits sum_and_bias_f64 dequantize_f64 reciprocal_f64 "
            "zero_point_inside_f64 round_f64_half_up clamp_rounded",
        ),
        (
            {"scaling": "multiply f64"},
            SCALED | {"scales"},
            "hold_in_32_bits sum_f64 ratio_f64 multiply_f64 round_f64_half_up "
            "add_zero_point_and_clamp",
        ),
    ],
)
def test_steps(choices: dict[str, str], without: set[str], steps: str) -> None:
    one = Arithmetic(**choices)
    assert one == one.normal()
    assert one.relevant == CHOICES.keys() - without
    assert [each.name for each in one.steps] == steps.split()
    assert one.hold == one.steps[0]


@pytest.mark.parametrize(
    ("choices", "normal"),
    [
        ({"bias": "real", "scales": "ranges"}, {}),
        ({"scaling": "multiply f64", "bias": FUSED}, {"bias": "real"}),
        ({"scaling": "divide f64", "bias": FUSED}, {"bias": "real"}),
        ({"scaling": "divide f32", "bias": FUSED}, {"bias": FUSED}),
        ({"scaling": "divide f64", "ratio": "f64"}, {"ratio": "f32_product_first"}),
        ({"products": "in turn"}, {"products": "exact"}),
        (
            {"products": "in turn by 2", "accumulator": "20 bits, wrap"},
            {"products": "exact"},
        ),
        (
            {"products": "in turn by 2", "accumulator": "20 bits, saturate"},
            {"products": "in turn by 2"},
        ),
        ({"products": PIXEL}, {"products": PIXEL}),
        ({"zero_point": FUSED_INSIDE}, {"zero_point": INSIDE}),
        (
            {"scaling": "multiply f32", "bias": "real", "zero_point": FUSED_INSIDE},
            {"zero_point": INSIDE},
        ),
        (
            {"scaling": "divide f32", "zero_point": FUSED_INSIDE},
            {"zero_point": INSIDE},
        ),
        (
            {"scaling": "reciprocal f32", "bias": "real", "zero_point": FUSED_INSIDE},
            {"zero_point": FUSED_INSIDE},
        ),
        ({"first": "floor", "zero_point": INSIDE}, {"zero_point": "after"}),
        ({"first": "floor", "zero_point": BYTE}, {"zero_point": BYTE}),
        ({"scaling": "multiply f32", "first": "floor"}, {"first": "once"}),
    ],
)
def test_choices_that_make_no_difference(
    choices: dict[str, str], normal: dict[str, str]
) -> None:
    found = Arithmetic(**choices).normal()
    assert {name: found.choices()[name] for name in normal} == normal
    assert found == found.normal()


def test_neighbours_differ_in_one_choice() -> None:
    one = Arithmetic(multiplier="12 bits, floor")
    found = list(one.neighbours())
    assert one not in [other for _, other in found]
    for name, other in found:
        assert other == other.normal()
        assert getattr(other, name) != getattr(one, name)
    by_name = [name for name, _ in found]
    assert {name: by_name.count(name) for name in by_name} == {
        "products": 2,
        "accumulator": len(CHOICES["accumulator"]) - 1,
        "scaling": 6,
        "ratio": len(CHOICES["ratio"]) - 1,
        "multiplier": len(CHOICES["multiplier"]) - 1,
        "first": len(CHOICES["first"]) - 1,
        "rounding": len(CHOICES["rounding"]) - 1,
        "zero_point": 3,
    }
    twice = set(one.second_neighbours())
    assert Arithmetic(scaling="divide f32", bias=FUSED).normal() in twice
    assert Arithmetic(**dict.fromkeys(("first", "rounding"), "floor")) not in twice


def test_words_of_steps() -> None:
    """Widths, and what follows from them, stand in a step's text."""
    held = Arithmetic(accumulator="12 bits, saturate").hold.text
    assert "-2048" in held
    assert "2047" in held
    assert " 20 " in Arithmetic(accumulator="12 bits, wrap").hold.text
    numbers = Arithmetic(multiplier="12 bits, floor").steps[2]
    assert numbers.name == "multiplier_12_bits_floor"
    assert {"42", "1033", "-20"} <= set(re.findall(r"-?\d+", numbers.text))
    twice = Arithmetic(multiplier="12 bits, floor", first="ceil").steps[3]
    assert twice.name == "shift_twice_12_bits_ceil_half_up"
    assert " 11 " in twice.text
    output = step("output_steps", "scale", "inverse", "zero", "offset")
    assert output.arguments == ["output_scale", "output_zero_point"]
    assert len(output.function.function_type.outputs) == len(output.results) == 4


SERVED = r'rules = \[(.*)\], contract.product = "(.*)"\}'


@pytest.mark.parametrize(
    ("choices", "rules"),
    [
        (
            {},
            [
                ('"conv2d", "linear", "depthwise_conv2d"', "exact"),
                ('"matmul"', "exact"),
            ],
        ),
        (
            {"products": PIXEL},
            [
                ('"depthwise_conv2d"', "saturating_pairs_taps"),
                ('"conv2d", "linear"', PIXEL),
                ('"matmul"', "exact"),
            ],
        ),
        (
            {"products": "in turn by 8", "accumulator": "16 bits, saturate"},
            [
                ('"conv2d", "linear", "depthwise_conv2d"', "in_turn"),
                ('"matmul"', "in_turn"),
            ],
        ),
        (
            {"scaling": "divide f32", "bias": "real"},
            [('"conv2d", "linear", "depthwise_conv2d"', "exact")],
        ),
    ],
)
def test_rules_of_a_contract(
    choices: dict[str, str], rules: Sequence[tuple[str, str]]
) -> None:
    one = Arithmetic(**choices)
    text = arithmetic_text(one, "tflm", summary="mine", notes=["", "more"])
    assert text.startswith(
        '//\n// more\n\nmodule attributes {\n  contract.summary = "mine",\n'
        '  contract.base = "tflm"\n} {\n\n// '
    )
    assert text.endswith("}\n\n}\n")
    assert re.findall(SERVED, text) == rules
    assert ("@quantize_bias" in text) == (one.bias == "integer")
    assert ("@dequantize_bias" in text) == (one.bias != "integer")
    group = re.search(r"@accumulate_group\(\) -> i32 \{\n.*constant (\d+)", text)
    assert (int(group[1]) if group else 0) == one.group
    assert ("@accumulate(" in text) == (one.group > 0)


def test_values_that_steps_make_again_have_other_names() -> None:
    one = Arithmetic(
        scaling="multiply f32", scales="ranges", bias="real", zero_point=INSIDE
    )
    text = arithmetic_text(one, "tflite", summary="")
    body = text[text.index("@device_arithmetic(%") :]
    assert body[: body.index("\n}")].split("\n")[1:] == [
        "  %held = func.call @hold_in_32_bits(%accumulator) : (i32) -> i32",
        "  %scale, %inverse, %zero, %offset = func.call @output_steps_of_ranges() : () "
        "-> (f32, f32, f32, i32)",
        "  %sum = func.call @sum_f32(%held) : (i32) -> f32",
        "  %ratio = func.call @ratio_f64() : () -> f64",
        "  %real = func.call @multiply_f32(%sum, %ratio) : (f32, f64) -> f32",
        "  %real_5 = func.call @add_quotient_f32(%real) : (f32) -> f32",
        "  %real_6 = func.call @zero_point_inside_f32(%real_5, %zero) : (f32, f32) -> "
        "f32",
        "  %rounded = func.call @round_f32_half_up(%real_6) : (f32) -> i32",
        "  %rounded_8 = func.call @from_code(%rounded, %offset) : (i32, i32) -> i32",
        "  %stored = func.call @clamp_rounded(%rounded_8) : (i32) -> i32",
        "  return %stored : i32",
    ]
