"""Faults planted in one layer: the layer and the step are named, every time.

A fault is another contract for that layer alone, which does one thing otherwise in one
channel. Some are too small for any element of a test to show them: the steps do.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import models_directory

import qlower
from qlower.model.layers import layer_name, layers

ONE_IN_CHANNEL_0 = """
  %place = arith.constant 0 : i32
  %is_there = arith.cmpi eq, %channel, %place : i32
  %one = arith.extui %is_there : i1 to i32"""

CONVOLUTION = f"""
func.func @conv2d(%accumulator: i32, %input_unsigned: i1, %output_zero_point: i32,
    %output_min: i32, %output_max: i32, %channel: i32) -> i32
    attributes {{contract.rules = ["conv2d", "depthwise_conv2d"]}} {{
{ONE_IN_CHANNEL_0}
  %real = func.call @convolution_scale(%input_unsigned) : (i1) -> f64
  %m, %e = func.call @quantize_multiplier(%real) : (f64) -> (i32, i32)
  %more = arith.addi %m, %one : i32
  %up = arith.addi %output_zero_point, %one : i32
  %down = arith.subi %output_max, %one : i32
  %scaled = func.call @multiply_by_quantized_multiplier(%accumulator, %MULTIPLIER, %e)
    : (i32, i32, i32) -> i32
  %result = func.call @offset_and_clamp(%scaled, %POINT, %output_min, %BOUND)
    : (i32, i32, i32, i32) -> i32
  return %result : i32
}}
"""


def convolution(multiplier: str = "m", point: str = "", bound: str = "") -> str:
    """The rule with other values for three of its steps."""
    text = CONVOLUTION.replace("%MULTIPLIER", f"%{multiplier}")
    text = text.replace("%POINT", f"%{point or 'output_zero_point'}")
    return text.replace("%BOUND", f"%{bound or 'output_max'}")


ROUNDING = """
func.func private @multiply_by_quantized_multiplier(
    %x: i32, %multiplier: i32, %exponent: i32) -> i32 replaces {
  %zero = arith.constant 0 : i32
  %left = arith.maxsi %exponent, %zero : i32
  %negated = arith.subi %zero, %exponent : i32
  %right = arith.maxsi %negated, %zero : i32
  %shifted = arith.shli %x, %left : i32
  %high = func.call @saturating_rounding_doubling_high_mul(%shifted, %multiplier)
    : (i32, i32) -> i32
  %result = fixed.shift_right %high, %right {rounding = half_up} : i32
  return %result : i32
}
"""

FAULTS = {
    "multiplier": (convolution(multiplier="more"), "arith.muli"),
    "zero point": (convolution(point="up"), "arith.addi"),
    "clamp": (convolution(bound="down"), "arith.minsi"),
    "rounding": (ROUNDING, "rounding half_away | rounding half_up"),
}
"""What is wrong, and the step that is to be named."""

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"
MOBILENET = models_directory() / "mobilenet_v2_1.0_224_int8" / "model.tflite"


def check(model: qlower.Model, layer: str, fault: str, folder: Path) -> None:
    """The diff of the contract and itself with a fault names both."""
    text, step = FAULTS[fault]
    path = folder / "faulty.mlir"
    path.write_text(f'module attributes {{contract.base = "tflite"}} {{{text}}}')
    wrong = {layer: str(path)}
    found = qlower.diff("tflite", "tflite", model, random=1, b_layer_contracts=wrong)
    (named,) = (row for row in found.layers if row.steps is not None)
    assert named.name == layer
    assert step in str(named.steps)
    assert f"{layer} has another step" in str(found)
    guilty = found.guilty
    if guilty is None:  # that channel is cut everywhere, or comes by no such number
        return
    assert guilty.name == layer
    assert found.chain is not None
    parting = found.chain.parting
    assert parting is not None
    if fault == "rounding":
        assert parting.both([row.how for row in parting.rows]).count("half") == 2
    else:
        assert all(row.text.startswith(step) for row in parting.rows)


@pytest.mark.parts(10)
@pytest.mark.parametrize(("turn", "layer"), [(0, "depthwise"), (1, "pointwise")])
def test_a_fault_in_a_small_network(turn: int, layer: str, tmp_path: Path) -> None:
    for fault in list(FAULTS)[turn::2]:
        check(qlower.load(DIGITS), layer, fault, tmp_path)


@pytest.mark.long
@pytest.mark.skipif(not MOBILENET.exists(), reason=f"{MOBILENET} isn't there")
def test_a_fault_in_each_layer_of_mobilenet(tmp_path: Path) -> None:
    """One fault in each layer in turn, or with QLOWER_EVERY_FAULT all in each."""
    model = qlower.load(MOBILENET)
    every = bool(os.environ.get("QLOWER_EVERY_FAULT"))
    number = 0
    for op in layers(model.module):
        if op.name in ("qnn.conv2d", "qnn.depthwise_conv2d"):
            wanted = list(FAULTS) if every else [list(FAULTS)[number % len(FAULTS)]]
        elif op.name in ("qnn.add", "qnn.requantize"):
            wanted = ["rounding"]
        else:
            continue
        number += 1
        for fault in wanted:
            check(model, layer_name(op) or "", fault, tmp_path)
