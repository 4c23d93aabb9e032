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


@dataclass(frozen=True)
class Requantizer:
    """One rounding half up by a multiplier of 31 bits and a shift, as in contract
    tflite-single; each number may be planted wrong."""

    multiplier: int
    shift: int
    zero_point: int
    low: int = -128
    high: int = 127
    half: int | None = None
    bits: int = 52
    clamps_low: bool = True
    clamps_high: bool = True

    @property
    def text(self) -> str:
        """The module."""
        half = 1 << (self.shift - 1) if self.half is None else self.half
        low = f"y < {self.low} ? {self.low} : " if self.clamps_low else ""
        high = f"y > {self.high} ? {self.high} : " if self.clamps_high else ""
        wide = self.bits
        return f"""\
module requantize (input signed [19:0] acc, output signed [7:0] q);
  wire signed [{wide - 1}:0] p = acc * 52'sd{self.multiplier};
  wire signed [{wide - 1}:0] r = (p + 52'sd{half}) >>> {self.shift};
  wire signed [31:0] y = r + ({self.zero_point});
  assign q = {low}{high}y[7:0];
endmodule
"""
