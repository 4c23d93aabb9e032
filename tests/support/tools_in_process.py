"""Tools written in Python, run by lit's shell in the process that runs lit.

A process that starts anew imports xDSL and our package, which takes longer than most
tests of a pass do. What a tool reads, prints and ends with is the same: the shell of
lit connects it as it connects any other command.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from typing import IO, TypeAlias
from unittest import mock

Tool: TypeAlias = Callable[[], object]
"""What a console script calls: reads `sys.argv`, and returns or exits with a code."""

Target: TypeAlias = int | IO[str] | IO[bytes]
"""Where a command writes: a file, or `subprocess.PIPE` or `STDOUT`."""

printed: list[tuple[tuple[str, ...], str]] = []
"""The arguments of tools that have run, and what each has written for another."""


@dataclass
class EndedTool:
    """A tool that has run: what lit asks of a `subprocess.Popen`."""

    stdin: IO[str] | IO[bytes] | None
    stdout: IO[str]
    stderr: IO[str]
    code: int

    def communicate(self) -> tuple[str, str]:
        return self.stdout.read(), self.stderr.read()

    def wait(self) -> int:
        """The exit code, which lit asks for when it has read all output."""
        self.stdout.close()
        self.stderr.close()
        return self.code


class Process(subprocess.Popen[str]):
    """A process whose pipes lit leaves open when it has read them."""

    def wait(self, timeout: float | None = None) -> int:
        for pipe in (self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()
        return super().wait(timeout)


def in_process(tools: Mapping[str, Tool]) -> Callable[..., Process | EndedTool]:
    """`subprocess.Popen` that runs a command whose executable is in `tools` by itself.

    It takes the arguments that lit gives.
    """

    def start(
        arguments: Sequence[str],
        *,
        executable: str,
        cwd: str,
        env: Mapping[str, str],
        stdin: Target,
        stdout: Target,
        stderr: Target,
        close_fds: bool,
        universal_newlines: bool,
        errors: str,
    ) -> Process | EndedTool:
        tool = tools.get(executable)
        if tool is None:
            return Process(
                arguments,
                executable=executable,
                cwd=cwd,
                env=env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                close_fds=close_fds,
                universal_newlines=universal_newlines,
                errors=errors,
            )
        piped_output, piped_errors = _pipe(), _pipe()
        read = _pipe() if isinstance(stdin, int) else stdin
        written = piped_output if isinstance(stdout, int) else stdout
        told = piped_errors
        if stderr == subprocess.STDOUT:
            told = written
        elif not isinstance(stderr, int):
            told = stderr
        with (
            chdir(cwd),
            mock.patch.dict(os.environ, env),
            mock.patch.object(sys, "argv", list(arguments)),
            _again(read, "r") as sys_stdin,
            _again(written, "w") as sys_stdout,
            _again(told, "w") as sys_stderr,
            mock.patch.multiple(
                sys, stdin=sys_stdin, stdout=sys_stdout, stderr=sys_stderr
            ),
        ):
            code = _code(tool)
        piped_output.seek(0)
        printed.append((tuple(arguments), piped_output.read()))
        piped_output.seek(0)
        piped_errors.seek(0)
        return EndedTool(read, piped_output, piped_errors, code)

    return start


def _pipe() -> IO[str]:
    """What a tool has written when another reads: nothing needs to wait."""
    return tempfile.TemporaryFile("w+")


def _again(file: IO[str] | IO[bytes], mode: str) -> IO[str]:
    """Text of an open file, which stays open when this is closed."""
    return open(os.dup(file.fileno()), mode)


def _code(tool: Tool) -> int:
    """What a process that runs the tool ends with."""
    try:
        code = tool()
    except SystemExit as ending:
        code = ending.code
    except Exception:
        traceback.print_exc()
        code = 1
    return code if isinstance(code, int) else int(code is not None)
