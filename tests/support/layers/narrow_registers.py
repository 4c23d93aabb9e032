"""Contracts whose registers of 16 bits saturate or wrap, and what is left of a sum."""

from __future__ import annotations

from pathlib import Path

BITS = 16
SATURATE = f"""
  %above = arith.maxsi %accumulator, -{1 << (BITS - 1)} : i32
  %result = arith.minsi %above, {(1 << (BITS - 1)) - 1} : i32"""
WRAP = f"""
  %up = arith.shli %accumulator, {32 - BITS} : i32
  %result = arith.shrsi %up, {32 - BITS} : i32"""


def saturate(sum: int) -> int:
    """The sum, or the end of the register that it is beyond."""
    return max(min(sum, (1 << (BITS - 1)) - 1), -(1 << (BITS - 1)))


def wrap(sum: int) -> int:
    """The low bits of the sum."""
    return (sum + (1 << (BITS - 1))) % (1 << BITS) - (1 << (BITS - 1))


def narrow_contract(folder: Path, body: str, group: int) -> str:
    """A file of rules whose results are the low bytes of sums, with what is above."""
    rule = """
func.func private @low_byte(%accumulator: i32) -> i32
    serves conv2d, depthwise_conv2d, linear, matmul
    attributes {contract.product = "in_turn"} {
  %high = arith.shrsi %accumulator, 12 : i32
  %mixed = arith.xori %accumulator, %high : i32
  %up = arith.shli %mixed, 24 : i32
  %byte = arith.shrsi %up, 24 : i32
  %offset = arith.select %output_unsigned, 128, 0 : i32
  %result = arith.addi %byte, %offset : i32
}
"""
    path = folder / f"device-{group}.mlir"
    path.write_text(
        f"""module attributes {{contract.base = "tflite"}} {{
func.func @accumulate(%accumulator: i32) -> i32 {{{body}
}}
func.func @accumulate_group() -> i32 {{ %result = arith.constant {group} : i32 }}
{rule}
}}
"""
    )
    return str(path)
