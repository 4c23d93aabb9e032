"""LLVM's command-line tools: those of the `mlir` extra, or the system's."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from qlower.files.programs import run_program


@cache
def find_tool(
    package: str, name: str, oldest: int, named: str | None = None
) -> str | None:
    """`named`, else the one that `package` brings, else one on the path.

    On the path it may have its version in its name, as in `mlir-opt-22`: the newest is
    taken. None where there is none of LLVM version `oldest` or newer.
    """
    installed = Path(sysconfig.get_path("purelib"), package, "bin", name)
    candidates = (
        named,
        str(installed) if installed.is_file() else None,
        shutil.which(name),
        *_with_versions(name),
    )
    return next((c for c in candidates if c and _version(c) >= oldest), None)


def _with_versions(name: str) -> Iterator[str | None]:
    """The programs on the path that are called `name-NUMBER`, the largest first."""
    found = {
        int(match[1])
        for folder in os.get_exec_path()
        for path in Path(folder).glob(f"{name}-*")
        if (match := re.fullmatch(rf"{re.escape(name)}-(\d+)", path.name))
    }
    return (shutil.which(f"{name}-{one}") for one in sorted(found, reverse=True))


def _version(path: str) -> int:
    try:
        printed = run_program([path, "--version"]).stdout
    except OSError:
        return 0
    match = re.search(rb"LLVM version (\d+)", printed)
    return int(match[1]) if match else 0
