"""An engineer's Verilog: equal for all inputs, or where it isn't."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.circuits.rtl import Requantizer, needs_rtl_tools

from qlower.circuits.rtl.source import copy_source
from qlower.circuits.rtl.subject import rule_subject
from qlower.circuits.rtl.verify import RtlEquality, verify_rtl
from qlower.diagnostics import QlowerError

MULTIPLIER, SHIFT = 1515870811, 38
GOOD = Requantizer(MULTIPLIER, SHIFT, 3)


def compared(text: str, tmp_path: Path) -> RtlEquality:
    file = tmp_path / "mine.sv"
    file.write_text(text)
    values = {
        **dict.fromkeys(("addend", "subtrahend", "left_shift", "constant"), 0),
        "multiplier": MULTIPLIER,
        "shift": SHIFT,
        "output_zero_point": 3,
        "output_min": -128,
        "output_max": 127,
    }
    subject = rule_subject("tvm", "conv2d", values, accumulator_bits=20)
    return verify_rtl(file, "requantize", subject, ports={}, seconds=120)


@needs_rtl_tools
def test_equal_for_every_input(tmp_path: Path) -> None:
    assert compared(GOOD.text, tmp_path).verdict == "equal"


@needs_rtl_tools
def test_a_counterexample_is_replayed(tmp_path: Path) -> None:
    half = (1 << (SHIFT - 1)) - (1 << 31)
    found = compared(Requantizer(MULTIPLIER, SHIFT, 3, half=half).text, tmp_path)
    example = found.counterexample
    assert found.verdict == "differs"
    assert example is not None
    assert example.contract != example.module
    assert "step by step" in found.render(80)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('initial $readmemh("/etc/passwd", m);', "isn't read: it may use files"),
        ('initial $system("true");', "isn't read: it may use files"),
        ('import "DPI-C" function int system(string s);', "`import` isn't read"),
        ("`define A(x) im``x\n", "in macros isn't read"),
        ('`include "../secret.v"', "is outside"),
        ('`include "/etc/passwd"', "is outside"),
        ("`include `NAME", "needs a name in quotes"),
    ],
)
def test_hostile_text_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "copy").mkdir()
    file = tmp_path / "own" / "mine.sv"
    file.write_text(f"module a;\n{text}\nendmodule\n")
    with pytest.raises(QlowerError, match=why) as error:
        copy_source(file, tmp_path / "copy")
    assert error.value.location is not None


def test_comments_and_strings_are_no_tasks(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    file = tmp_path / "mine.sv"
    file.write_text('// $system\nmodule a; initial $monitor("$fopen"); endmodule\n')
    copy_source(file, tmp_path / "copy")
    assert (tmp_path / "copy" / "rtl.sv").read_text() == file.read_text()
