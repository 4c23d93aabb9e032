"""Assembly formats that are parsed late are xDSL's own, in a process of their own."""

from __future__ import annotations

import subprocess
import sys

BEFORE_AND_AFTER = """
from qlower.late_formats import LateFormat, parse_formats_late

parse_formats_late()
parse_formats_late()
from xdsl.irdl.declarative_assembly_format import FormatProgram
from qlower.text.context import make_context
from qlower.text.parsing import parse_module

parsed = []
program = LateFormat._program.func
LateFormat._program.func = lambda late: parsed.append(late._text) or program(late)
text = "func.func @f(%x: i8) -> i8 { %y = arith.addi %x, %x : i8 return %y : i8 }"
print(FormatProgram.from_str is LateFormat, len(parsed))
module = parse_module(text)
print("arith.addi %x, %x : i8" in str(module), len(parsed) < 4)
"""


def test_formats_are_parsed_when_they_are_used():
    out = subprocess.check_output([sys.executable, "-c", BEFORE_AND_AFTER], text=True)
    assert out.splitlines() == ["True 0", "True True"]
