"""Programs of others that read Verilog: found, and run within limits."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qlower.diagnostics import QlowerError
from qlower.files.programs import run_program

PROGRAMS = {
    "yosys": "apt install yosys",
    "iverilog": "apt install iverilog",
    "vvp": "apt install iverilog",
    "verilator": "apt install verilator",
}
"""Where each program is from."""


MOST_MEMORY = 4 << 30
"""Bytes that a program may take."""


@dataclass(frozen=True)
class Done:
    """The outcome of a program: `code` is None if it exceeded its time limit."""

    code: int | None
    output: str


def is_installed(name: str) -> bool:
    """Whether a program is there."""
    return shutil.which(name) is not None


def find_program(name: str) -> str:
    """The path of a program; a `QlowerError` says how to get it."""
    path = shutil.which(name)
    if path is None:
        raise QlowerError(f"{name} is not installed", help=PROGRAMS[name])
    return path


def run_within_limits(words: Sequence[str], folder: Path, seconds: float) -> Done:
    """Run a program in a folder within a time and `MOST_MEMORY`; it sees no variables
    of the environment but PATH, and reads nothing from standard input."""
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder)}
    try:
        done = run_program(
            words,
            seconds=seconds,
            environment=environment,
            folder=folder,
            most_memory=MOST_MEMORY,
        )
    except subprocess.TimeoutExpired:
        return Done(None, "")
    text = (done.stdout + done.stderr).decode(errors="replace")
    return Done(done.returncode, text)
