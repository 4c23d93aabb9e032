"""A folder from which an internal failure of qlower can be reproduced."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
import tempfile
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from qlower.cli.colour import complain
from qlower.compilation.passes import CompilerBug
from qlower.version import __version__

LARGEST_COPY = 64 << 20
"""Bytes of the largest file that is copied into the folder."""


def report_crash(error: Exception, arguments: Sequence[str], tool: str) -> None:
    """Save what reproduces the failure, and say where that is."""
    try:
        where = f"what reproduces it is in {_save(error, arguments, tool)}"
    except OSError as unsaved:
        where = f"what reproduces it can't be saved: {unsaved}"
    sys.stdout.flush()
    summary = str(error).split("\n")[0]
    lines = [
        f"error: {tool} itself failed: {type(error).__name__}: {summary}",
        "note: this is a bug of qlower, not of your input",
        f"note: {where}",
    ]
    if tool == "qlower":
        lines.append("help: --debug shows the traceback")
    complain("\n".join(lines))


def _save(error: Exception, arguments: Sequence[str], tool: str) -> Path:
    """A folder with the command, its files, versions and traceback; and where a pass
    failed, with the IR before it, and the command that applies it."""
    folder = Path(tempfile.mkdtemp(prefix="qlower-bug-"))
    command = [tool, *arguments]
    for index, argument in enumerate(arguments):
        path = Path(argument.split("=", 1)[-1])
        if os.path.isfile(path) and path.stat().st_size <= LARGEST_COPY:
            shutil.copy(path, folder / path.name)
            command[index + 1] = argument.replace(str(path), path.name)
    if tool == "qlower":
        command.append("--debug")
    _write(folder / "command.sh", f"{shlex.join(command)}\n")
    _write(
        folder / "report.txt",
        f"qlower {__version__}, {_versions()}, Python {platform.python_version()}, "
        f"{platform.platform()}\n\n" + "".join(traceback.format_exception(error)),
    )
    if isinstance(error, CompilerBug):
        _write(folder / "before.mlir", error.before)
        repeated = shlex.join(["qlower-opt", "before.mlir", "-p", error.passes])
        _write(folder / "pass.sh", f"{repeated}\n")
    return folder


def _write(path: Path, text: str) -> None:
    """Write text that may name files whose names are not UTF-8."""
    path.write_text(text, encoding="utf-8", errors="surrogateescape")


def _versions() -> str:
    found: list[str] = []
    for package in ("xdsl", "llvmlite", "numpy"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} missing")
    return ", ".join(found)
