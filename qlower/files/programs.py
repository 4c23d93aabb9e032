"""Other projects' programs, and the files that they are given."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path


def run_program(
    command: Sequence[str | Path],
    *,
    input: bytes = b"",
    seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    most_memory: int | None = None,
    most_work: int | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end, without a shell, and return what it wrote.

    It runs in `folder`, by default the present one, and on Linux is given at most
    `most_memory` bytes of addresses and ends with SIGXCPU after `most_work` seconds of
    a processor.

    Arguments that are files are paths, not strings: a program gets the absolute path,
    since a file such as `--load-dialect-plugin=x` would be an option otherwise. Raises
    OSError where the program can't be started, and subprocess.TimeoutExpired after
    `seconds`.
    """
    return subprocess.run(
        [str(a.absolute()) if isinstance(a, Path) else a for a in command],
        input=input,
        capture_output=True,
        timeout=seconds,
        env=environment,
        cwd=folder,
        preexec_fn=partial(_limit, most_memory, most_work)
        if most_memory is not None or most_work is not None
        else None,
        check=False,
    )


def _limit(most_memory: int | None, most_work: int | None) -> None:
    if sys.platform == "linux":
        if most_memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (most_memory, most_memory))
        if most_work is not None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (most_work, most_work + 1))
