"""How many instructions of each kind code has: choices that change no result.

`written/` has, for the programs of `tests/run` on processors in turn, the operations at
the levels of arithmetic and of kernels, and the instructions of LLVM IR; and a digest
of each text, but for its data, which shows what counts don't. `pytest
tests/codegen/test_written.py --bless` records them; explain a line that changes before
you record it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from support.layers.run_files import RUN_TESTS
from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.llvm.module import Module
from qlower.codegen.targets.resolve import Target, resolve_target
from qlower.compilation.to_arith import lower_to_arith
from qlower.compilation.to_kernel import lower_to_kernel
from qlower.text.parsing import parse_module

RECORDED = Path(__file__).with_name("written")

TARGETS: dict[str, tuple[str, str | None]] = {
    "avx2": ("x86_64-linux-gnu", "x86-64-v3"),
    "vnni": ("x86_64-linux-gnu", "cascadelake"),
    "sse": ("x86_64-linux-gnu", "x86-64"),
    "dot": ("aarch64-linux-gnu", "neoverse-n1"),
    "m4": ("thumbv7em-none-eabi", None),
    "sums": ("aarch64-linux-gnu", "cortex-a72"),
    "tiles": ("x86_64-linux-gnu", "sapphirerapids"),
}


@cache
def target(name: str) -> Target:
    return resolve_target(*TARGETS[name])


def counted(names: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(names.items()))


def operations(module: ModuleOp) -> str:
    """Those of a module, but for what every module has."""
    return counted(Counter(op.name for op in module.walk() if op is not module))


_INSTRUCTION = re.compile(r"\s+(?:%\S+ = )?((?:tail )?[a-z]\w*)(.*)")
_TYPE = re.compile(r"<\d+ x \w+>|\b(?:i\d+|float|double|ptr)\b")
_CALLED = re.compile(r"@(?:llvm\.)?([\w.]+)\(|asm .*?\"([^\"]*)\"")


def instructions(text: str) -> str:
    """Those of LLVM IR, with the first type or the function that is called."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        match = _INSTRUCTION.match(line)
        if match is None:
            continue
        word, rest = match[1].removeprefix("tail "), match[2]
        called, type = _CALLED.search(rest), _TYPE.search(rest)
        if word == "call" and called is not None:
            found[called[1] or called[2]] += 1
        else:
            found[f"{word} {type[0]}" if type else word] += 1
    return counted(found)


def llvm(module: ModuleOp, name: str) -> str:
    """The text before LLVM reads it."""
    program: Any = vars(import_module("qlower.codegen.program.module"))
    code: Module = program["_empty"](target(name))
    program["_program"](code, program["plan"](module, target(name), program["PLAIN"]))
    return str(code)


_DATA = re.compile(r'c"[^"]*"|dense<"[^"]*">')


def digest(text: object) -> str:
    """Data may be rounded otherwise by another machine's functions."""
    return sha256(_DATA.sub("", str(text)).encode()).hexdigest()[:10]


DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"

PROGRAMS: dict[str, tuple[str, str | None, str]] = {
    **{
        str(test): (test.text, test.contracts[0] or None, list(TARGETS)[at % 7])
        for at, test in enumerate(RUN_TESTS)
    },
    **{
        f"digits {name}": (DIGITS.read_text(), contract, name)
        for name, contract in zip(
            TARGETS, ("tflite", "exact", "tvm", "tflite-ruy") * 2, strict=False
        )
    },
}
"""The text, the contract and the processor of each."""


def written(name: str) -> list[str]:
    """The lines of a program."""
    text, contract, processor = PROGRAMS[name]
    arith = lower_to_arith(parse_module(text), contract)
    kernels = lower_to_kernel(arith, target(processor))
    code = llvm(kernels, processor)
    return [
        f"  arith: {operations(arith)}",
        f"  kernels: {operations(kernels)}",
        f"  {processor}: {instructions(code)}",
        f"  whole: {digest(arith)} {digest(kernels)} {digest(code)}",
    ]


@cache
def recorded() -> dict[str, list[str]]:
    """The lines of each program."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (RECORDED / "programs.txt").read_text().splitlines():
        if line.startswith(" "):
            lines.append(line)
        else:
            lines = found[line] = []
    return found


def test_write(request: pytest.FixtureRequest) -> None:
    """Only with --bless: all programs."""
    if request.config.getoption("--bless"):
        RECORDED.mkdir(exist_ok=True)
        lines = [line for name in PROGRAMS for line in (name, *written(name))]
        (RECORDED / "programs.txt").write_text("\n".join([*lines, ""]))
    assert list(recorded()) == list(PROGRAMS)


@pytest.mark.parts(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_written(name: str) -> None:
    assert written(name) == recorded()[name]
