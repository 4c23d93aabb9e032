"""Keeping the bytecode of what dataclasses generate, as Python keeps that of files.

`dataclasses` writes the text of each class's methods, and compiles it whenever the
class is made: for the 400 classes of xDSL and qlower that takes a sixth of what a small
model's compilation does. Kept is the code by its text, beside this module's bytecode.
"""

from __future__ import annotations

import atexit
import dataclasses
import marshal
import os
import sys
from contextlib import suppress
from functools import cache, cached_property
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from typing import Any

LARGEST_FILE = 1 << 23
"""Bytes; beyond, code that the process had no use for is forgotten."""


@cache
def keep_generated_code() -> None:
    """Have this process find the code of its dataclasses, and keep what is new when it
    ends; not where Python keeps no bytecode at all."""
    with suppress(NotImplementedError):
        GeneratedCode(Path(f"{cache_from_source(__file__)}.dataclasses")).use()


def write_whole(file: Path, content: bytes) -> None:
    """Write a file beside the bytecode at once, as another process may read it; failing
    to is no error."""
    whole = Path(f"{file}.{os.getpid()}")
    with suppress(OSError):
        whole.write_bytes(content)
        whole.replace(file)


class GeneratedCode:
    """Code by its text, kept in a file for one version of Python: each piece as bytes,
    of which few processes need all."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._used: dict[str, bytes] = {}

    def use(self) -> None:
        """Have `dataclasses` execute it: that calls `exec`, which is hidden by this."""
        setattr(dataclasses, "exec", self.execute)  # noqa: B010
        if not sys.dont_write_bytecode:
            atexit.register(self.write)

    def execute(self, text: str, names: dict[str, Any], found: dict[str, Any]) -> None:
        """As `exec`."""
        kept = self._known.get(text)
        if kept is None:
            code = compile(text, "<string>", "exec", dont_inherit=True)
            kept = marshal.dumps(code)
        self._used[text] = kept
        exec(marshal.loads(kept), names, found)

    def write(self) -> None:
        """Add what is new to the file; failing to is no error."""
        if self._used.keys() <= self._known.keys():
            return
        content = marshal.dumps(self._known | self._used)
        if len(content) > LARGEST_FILE:
            content = marshal.dumps(self._used)
        write_whole(self._file, MAGIC_NUMBER + content)

    @cached_property
    def _known(self) -> dict[str, bytes]:
        with suppress(OSError, EOFError, ValueError, TypeError):
            content = self._file.read_bytes()
            if content.startswith(MAGIC_NUMBER):
                return marshal.loads(content[len(MAGIC_NUMBER) :])
        return {}
