"""Tools written in Python, run in forks of lit's own processes.

A process that starts anew imports xDSL and our package, which takes longer than most
tests of a pass do; a fork has all that. What a tool reads, prints and ends with is the
same: the shell of lit connects it as it connects any other command.
"""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

Tool: TypeAlias = Callable[[], object]
"""What a console script calls: reads `sys.argv`, and returns or exits with a code."""


Popen: TypeAlias = Callable[..., subprocess.Popen[str]]


def forking(popen: Popen, tools: Mapping[str, Tool]) -> Popen:
    """`popen` that forks for commands whose executable is a path of `tools`."""

    def start(
        arguments: Sequence[str],
        *,
        executable: str | None = None,
        env: Mapping[str, str] | None = None,
        **options: object,
    ) -> subprocess.Popen[str]:
        tool = tools.get(executable or arguments[0])
        if tool is not None:
            # Called between fork and exec, when the standard streams are connected.
            options["preexec_fn"] = partial(_run, tool, arguments, env or os.environ)
        return popen(arguments, executable=executable, env=env, **options)

    return start


def _run(tool: Tool, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run the tool as a process of its own does, and end this process."""
    code: object = 1
    try:
        # A pipe of the parent among them: it waits until that is closed.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        variables = dict(environment)
        os.environ.clear()
        os.environ.update(variables)
        sys.argv[:] = arguments
        sys.stdin = os.fdopen(0)
        sys.stdout = os.fdopen(1, "w")
        sys.stderr = os.fdopen(2, "w")
        code = tool()
    except SystemExit as ending:
        code = ending.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else code is not None)
