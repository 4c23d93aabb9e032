"""What is left out when xDSL is imported comes to the same, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

FORMATS = """
from qlower.process.quick_imports import LateFormat, import_quickly

import_quickly()
import_quickly()
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

INTERPRETER = """
import platform, subprocess, sys

if sys.argv[1:]:
    from qlower.process.quick_imports import import_quickly

    import_quickly()
    subprocess.Popen = None
before = platform.architecture
from xdsl.interpreter import Interpreter

print(Interpreter.SYSTEM_BITWIDTH, platform.architecture is before)
"""


def printed(source: str, *arguments: str) -> list[str]:
    """What a program prints."""
    line = [sys.executable, "-c", source, *arguments]
    return subprocess.check_output(line, text=True).splitlines()


def test_formats_are_parsed_when_they_are_used():
    assert printed(FORMATS) == ["True 0", "True True"]


def test_the_interpreter_asks_no_program():
    assert printed(INTERPRETER, "quickly") == printed(INTERPRETER) == ["64 True"]
