"""Faults planted in an engineer's requantizers: each is found, and replayed."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.circuits.rtl import Double, Requantizer, needs_rtl_tools

from qlower.circuits.rtl.subject import rule_subject
from qlower.circuits.rtl.verify import verify_rtl

SETS = 4
"""Sets of constants, each with all faults."""

BITS = 20
"""Bits of accumulators."""

NOTHING = ("addend", "subtrahend", "left_shift", "constant")


def single(seed: int) -> tuple[str, Requantizer]:
    draw = random.Random(seed)
    multiplier = draw.randrange(101, 199, 2)  # a tie that isn't saturated
    return "tvm", Requantizer(multiplier, draw.randrange(15, 18), draw.randrange(-9, 9))


def double(seed: int) -> tuple[str, Requantizer]:
    draw = random.Random(100 + seed)
    multiplier = draw.randrange(1 << 30, 1 << 31)
    return "tflm", Double(multiplier, draw.randrange(4, 8), draw.randrange(-9, 9))


def faults(good: Requantizer) -> dict[str, Requantizer]:
    half = 1 << (good.shift - 1)
    return {
        "constant one more": replace(good, half=half + 1),
        "constant one less": replace(good, half=half - 1),
        "no upper saturation": replace(good, clamps_high=False),
        "no lower saturation": replace(good, clamps_low=False),
        "shift one more": replace(good, shift=good.shift + 1, half=half),
        "shift one less": replace(good, shift=good.shift - 1, half=half),
        "one bit too few": replace(good, bits=good.least_bits(BITS) - 1),
    }


CASES = [
    pytest.param(contract, good, one, id=f"{contract}-{seed}-{name.replace(' ', '-')}")
    for seed in range(SETS)
    for contract, good in (single(seed), double(seed))
    for name, one in {"good": good, **faults(good)}.items()
]


@pytest.mark.long
@needs_rtl_tools
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog isn't installed")
@pytest.mark.parametrize(("contract", "good", "module"), CASES)
def test_fault(
    contract: str, good: Requantizer, module: Requantizer, tmp_path: Path
) -> None:
    file = tmp_path / "mine.sv"
    file.write_text(module.text)
    numbers = {
        "multiplier": good.multiplier,
        "shift": good.shift,
        "output_zero_point": good.zero_point,
        "output_min": -128,
        "output_max": 127,
    }
    names = NOTHING if contract == "tvm" else ("left_shift",)
    values = {**dict.fromkeys(names, 0), **numbers}
    subject = rule_subject(contract, "conv2d", values, accumulator_bits=BITS)
    found = verify_rtl(file, "requantize", subject, ports={}, seconds=300)
    if module == good:
        assert found.verdict == "equal"
        return
    example = found.counterexample
    assert found.verdict == "differs"
    assert example is not None
    assert example.confirmed
    accumulator = example.inputs["accumulator"]
    assert example.module == module.of(accumulator)
    assert example.contract == good.of(accumulator) != example.module
