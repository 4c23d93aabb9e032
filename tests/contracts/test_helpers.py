"""Steps of contracts whose cases no layer on record has all of, by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from qlower.contracts import load_contract
from qlower.contracts.calls import value_name
from qlower.interp import evaluate_function
from qlower.interp.values import Array, dtype_of
from qlower.text.parsing import parse_module


def evaluated(contract: str, name: str, **values: float) -> tuple[Array, ...]:
    """A helper's results for values by their names."""
    function = load_contract(contract).definition.function(name).function
    arguments = [
        np.array(values[value_name(function, number) or ""]).astype(dtype_of(type))
        for number, type in enumerate(function.function_type.inputs)
    ]
    return evaluate_function(function, arguments)


@pytest.mark.parametrize(
    ("input_size", "output_size", "align_corners", "expected"),
    [
        (5, 1, True, (5, 1, 4)),
        (5, 2, True, (4, 1, 4)),
        (5, 3, True, (4, 2, 4)),
        (1, 7, True, (0, 6, 0)),
        (5, 1, False, (5, 1, 4)),
        (5, 2, False, (5, 2, 4)),
        (5, 9, False, (5, 9, 4)),
    ],
)
def test_steps_of_positions(
    input_size: int,
    output_size: int,
    align_corners: bool,
    expected: tuple[int, int, int],
) -> None:
    """From corner to corner if there are two, else from edge to edge."""
    found = evaluated(
        "tflite",
        "resizing_steps",
        input_size=input_size,
        output_size=output_size,
        align_corners=align_corners,
    )
    assert tuple(map(int, found)) == expected


@pytest.mark.parametrize(
    ("weight_scale", "one", "shifts", "real"),
    [
        *((0.25, one, False, 100 * 0.5) for one in (True, False)),
        *((0.25, one, True, 100 * 0.5) for one in (True, False)),
        (0.5, True, False, 100 * 0.5),
        (0.5, False, False, 100 * 1.0),
        (0.5, True, True, 100 * 1.0),
        (0.5, False, True, 100 * 1.0),
    ],
)
def test_openvino_keeps_a_single_scale_for_a_combined_one(
    weight_scale: float, one: bool, shifts: bool, real: float
) -> None:
    """Steps of 1 in, of 1/2 out with 7 as 0, and a bias of 3: only where both scales
    give 1, a single scale of weights stays in place of it."""
    (found,) = evaluated(
        "openvino",
        "in_steps",
        sum=100,
        shifts=shifts,
        one_weight_scale=one,
        in_qdq=False,
        real_bias=3,
        **{"weight_scale": weight_scale, "input_scale": 1, "output_scale": 0.5},
        **{"input_zero_point": 0, "output_zero_point": 7, "input_unsigned": True},
        **{"output_unsigned": True, "storage_min": 0, "storage_max": 255},
    )
    assert int(found) == real + 3 * 2 + 7


@pytest.mark.parametrize(("in_qdq", "step"), [(True, 0.3), (False, 0.30000003)])
def test_openvino_takes_steps_that_are_stated(in_qdq: bool, step: float) -> None:
    """From -0.9 to 75.6 are 255 steps of a little more."""
    found = evaluated(
        "openvino",
        "input_step",
        in_qdq=in_qdq,
        **{"input_scale": 0.3, "input_zero_point": 3, "input_unsigned": True},
    )
    assert found == (np.float32(step),)


PRODUCTS = """
!a = !quant.uniform<i8:f32, 5.0e-01:-3>
!b = !quant.uniform<u8:f32, 2.5e-01:7>
func.func @main(%a: tensor<2x2x!a>, %b: tensor<2x2x!b>) -> tensor<2x2x!a> {
  %y = qnn.OP %a, %b : (tensor<2x2x!a>, tensor<2x2x!b>) -> tensor<2x2x!a>
  return %y : tensor<2x2x!a>
}"""


@pytest.mark.parametrize("kind", ["matmul", "mul"])
def test_factors_have_a_scale_each_and_no_channels(kind: str) -> None:
    module = parse_module(PRODUCTS.replace("OP", kind))
    (op,) = (op for op in module.walk() if op.name == f"qnn.{kind}")
    factor_values = vars(import_module("qlower.contracts.values"))["_factor_values"]
    found = {
        name: np.asarray(value).tolist() for name, value in factor_values(op).items()
    }
    assert found["per_channel"] is False
    for side, scale, point in (("input", 0.5, -3), ("weight", 0.25, 7)):
        assert found[f"{side}_scale"] in (scale, [scale])
        assert found[f"{side}_zero_point"] in (point, [point])


@pytest.mark.parts(3)
@pytest.mark.parametrize("bits", [-2, -1, 0, 1, 2, 3])
def test_each_bit_of_a_scale_counts_at_ties(bits: int) -> None:
    """XNNPACK's rounding on ARM is half up of the exact product; at a half, a unit in
    the last place of the scale decides, as far as products have bits for it."""
    scale = np.float32(2.0**-20)
    for _ in range(abs(bits)):
        scale = np.nextafter(scale, np.float32(np.sign(bits)))
    for x in (1 << 19, -(1 << 19), 3 << 19, -(3 << 19), 5 << 19, -(5 << 19)):
        (found,) = evaluated(
            "xnnpack-rndnu",
            "requantize_rndnu",
            **{"x": x, "scale": float(scale), "output_zero_point": 7},
            **{"output_min": 0, "output_max": 255},
            **{"storage_min": 0, "storage_max": 255},
        )
        exact = x * Fraction(float(scale)) + Fraction(1, 2)
        assert int(found) == min(max(math.floor(exact) + 7, 0), 255)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        *(((3, 3), (7, 6)), ((5, 5), (10, 8)), ((6, 6), (7, 8)), ((7, 7), (21, 10))),
        *(((14, 14), (21, 12)), ((1, 1), (64, 6)), ((2, 2), (64, 8))),
        *(
            ((4, 4), (64, 10)),
            ((3, 2), (85, 9)),
            ((7, 3), (98, 11)),
            ((3, 5), (68, 10)),
        ),
    ],
)
def test_a_pool_divides_by_a_table_or_by_shifts(
    kernel: tuple[int, int], expected: tuple[int, int]
) -> None:
    """Vitis AI: 2^(6 + log2 k), rounded up, over k, to the nearest whole number."""
    height, width = kernel
    values = {"kernel_height": height, "kernel_width": width}
    found = evaluated("vitis-dpu", "pool_factor", **values)
    assert tuple(map(int, found)) == expected


@pytest.mark.parametrize(
    ("fraction", "expected"),
    [
        (0, (1 << 30, 5)),
        ((1 << 52) - 1, (1 << 30, 6)),
        ((1 << 52) - (1 << 21), (1 << 30, 6)),
        ((1 << 52) - (1 << 21) - 1, ((1 << 31) - 1, 5)),
        ((1 << 52) - (1 << 22), ((1 << 31) - 1, 5)),
        (1 << 21, ((1 << 30) + 1, 5)),
        ((1 << 21) - 1, (1 << 30, 5)),
    ],
)
def test_a_multiplier_of_31_bits(fraction: int, expected: tuple[int, int]) -> None:
    """Half away from zero; what becomes 2^31 is half of that, with an exponent more."""
    bits = 1023 << 52 | fraction
    found = evaluated("tflite", "round_mantissa", bits=bits, exponent=5)
    assert tuple(map(int, found)) == expected
