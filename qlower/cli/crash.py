"""What happens when qlower itself fails: a folder from which the failure reproduces."""

from __future__ import annotations

import platform
import shlex
import shutil
import sys
import tempfile
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from qlower.version import __version__

LARGEST_COPY = 64 << 20
"""Bytes of the largest file that is copied into the folder."""


def report_crash(error: Exception, arguments: Sequence[str]) -> None:
    """Save command, files, versions and traceback, and say where they are."""
    folder = Path(tempfile.mkdtemp(prefix="qlower-bug-"))
    command = ["qlower", *arguments]
    for index, argument in enumerate(arguments):
        path = Path(argument.split("=", 1)[-1])
        if path.is_file() and path.stat().st_size <= LARGEST_COPY:
            shutil.copy(path, folder / path.name)
            command[index + 1] = argument.replace(str(path), path.name)
    (folder / "command.sh").write_text(f"{shlex.join([*command, '--debug'])}\n")
    (folder / "report.txt").write_text(
        f"qlower {__version__}, {_versions()}, Python {platform.python_version()}, "
        f"{platform.platform()}\n\n" + "".join(traceback.format_exception(error))
    )
    sys.stdout.flush()
    summary = str(error).split("\n")[0]
    print(
        f"error: qlower itself failed: {type(error).__name__}: {summary}\n"
        f"note: this is a bug of qlower, not of your input\n"
        f"note: what reproduces it is in {folder}\n"
        "help: --debug shows the traceback",
        file=sys.stderr,
    )


def _versions() -> str:
    found: list[str] = []
    for package in ("xdsl", "llvmlite", "numpy"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} missing")
    return ", ".join(found)
