"""Verilog of an engineer's: a requantization with numbers that may be wrong."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

import pytest

from qlower.verification.smt.solve import find_solvers

needs_rtl_tools = pytest.mark.skipif(
    shutil.which("yosys") is None or not {"bitwuzla", "z3"} & set(find_solvers()),
    reason="yosys, or one of the solvers bitwuzla and z3, isn't installed",
)


def wrapped(value: int, bits: int) -> int:
    """A number as a signed one of some bits."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


@dataclass(frozen=True)
class Requantizer:
    """A product that is rounded half up once, as in contract tvm; each number may be
    planted wrong."""

    multiplier: int
    shift: int
    zero_point: int
    half: int | None = None
    bits: int = 52
    clamps_low: bool = True
    clamps_high: bool = True

    @property
    def constant(self) -> int:
        """What is added before the shift."""
        return 1 << (self.shift - 1) if self.half is None else self.half

    def least_bits(self, bits: int) -> int:
        """The bits that hold all products of accumulators of some bits."""
        return ((self.multiplier << (bits - 1)) - 1).bit_length() + 1

    def rounded(self, accumulator: int) -> int:
        """The number before the zero point is added."""
        product = wrapped(accumulator * self.multiplier, self.bits)
        return (product + self.constant) >> self.shift

    def of(self, accumulator: int) -> int:
        """The module's output."""
        y = self.rounded(accumulator) + self.zero_point
        if self.clamps_low and y < -128:
            return -128
        return 127 if self.clamps_high and y > 127 else wrapped(y, 8)

    @property
    def steps(self) -> str:
        """The lines that compute r."""
        return f"""\
  wire signed [{self.bits - 1}:0] p = acc * 52'sd{self.multiplier};
  wire signed [52:0] sum = p + 53'sd{self.constant};
  wire signed [31:0] r = sum >>> {self.shift};"""

    @property
    def text(self) -> str:
        """The module."""
        low = "y < -128 ? -128 : " if self.clamps_low else ""
        high = "y > 127 ? 127 : " if self.clamps_high else ""
        return f"""\
module requantize (input signed [19:0] acc, output signed [7:0] q);
{self.steps}
  wire signed [31:0] y = r + ({self.zero_point});
  assign q = {low}{high}y[7:0];
endmodule
"""


@dataclass(frozen=True)
class Double(Requantizer):
    """A product that is rounded half up, then shifted and rounded half away from 0, as
    in contract tflm."""

    def rounded(self, accumulator: int) -> int:
        product = wrapped(accumulator * self.multiplier, self.bits)
        high = (product + (1 << 30)) >> 31
        return (high + self.constant - (high < 0)) >> self.shift

    @property
    def steps(self) -> str:
        return f"""\
  wire signed [{self.bits - 1}:0] p = acc * 52'sd{self.multiplier};
  wire signed [52:0] sum = p + 53'sd1073741824;
  wire signed [31:0] h = sum >>> 31;
  wire signed [31:0] r = (h + {self.constant} - (h < 0 ? 1 : 0)) >>> {self.shift};"""
