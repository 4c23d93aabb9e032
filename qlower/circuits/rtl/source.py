"""Verilog that is read without letting it do anything.

The file and what it includes are copied to a folder of their own, where the tools run.
Files are included from the file's own folder only. System tasks and functions are
refused but for those that only convert numbers, and so is `import`, through which Yosys
would call functions of the C library.
"""

from __future__ import annotations

import re
from pathlib import Path

from qlower.diagnostics import QlowerError, make_file_location

MOST_CHARACTERS = 1 << 22
"""Characters that all files may have together."""

ALLOWED = frozenset(
    (
        *("$signed", "$unsigned", "$clog2", "$bits"),
        *("$left", "$right", "$size", "$high"),
        *("$low", "$display", "$error", "$fatal"),
        *("$warning", "$info", "$finish", "$stop"),
        *("$write", "$time", "$stime", "$realtime"),
        "$monitor",
    )
)
"""System tasks and functions that no file is read or written by."""

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<escaped>\\\S+)"""
    r"""|(?P<include>`include\b)|(?P<paste>``)|(?P<tick>`"|`\\)|(?P<line>`line\b)"""
    r"""|(?P<system>\$[A-Za-z_$][\w$]*)|(?P<word>[A-Za-z_][\w$]*)""",
    re.S | re.X,
)
_REFUSED_WORDS = ("import", "export", "bind", "config", "library")
_NAME = re.compile(r'\s*"([^"\n]+)"')

MAIN = "rtl.sv"
"""The name of the file's copy."""


def copy_source(file: Path, folder: Path) -> None:
    """Copy a file and what it includes to a folder, the file itself as `MAIN`.

    Raises `QlowerError` at what is refused.
    """
    root = file.resolve().parent
    work = _Copy(root, folder)
    work.add(file, MAIN)


class _Copy:
    def __init__(self, root: Path, folder: Path) -> None:
        self._root, self._folder = root, folder
        self._done: set[str] = set()
        self._characters = 0

    def add(self, file: Path, name: str) -> None:
        """Copy a file under a name."""
        self._done.add(name)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise QlowerError(f"{file} can't be read: {error}") from error
        self._characters += len(text)
        if self._characters > MOST_CHARACTERS:
            raise QlowerError(
                f"{file} and what it includes have more than {MOST_CHARACTERS:,} "
                "characters"
            )
        for match in _TOKEN.finditer(text):
            self._check(match, text, file)
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def _check(self, match: re.Match[str], text: str, file: Path) -> None:
        kind, token = match.lastgroup, match.group()
        if kind == "include":
            self._include(match, text, file)
        elif kind == "system" and token not in ALLOWED:
            self._refuse(match, text, file, f"{token} isn't read: it may use files")
        elif kind in ("paste", "tick", "line"):
            self._refuse(match, text, file, f"{token} in macros isn't read")
        elif kind == "word" and token in _REFUSED_WORDS:
            self._refuse(match, text, file, f"`{token}` isn't read")

    def _include(self, match: re.Match[str], text: str, file: Path) -> None:
        name = _NAME.match(text, match.end())
        if name is None:
            self._refuse(match, text, file, "`include needs a name in quotes")
            return
        path = (self._root / name[1]).resolve()
        if not path.is_relative_to(self._root):
            self._refuse(match, text, file, f'"{name[1]}" is outside {self._root}')
        relative = str(path.relative_to(self._root))
        if relative != name[1]:
            self._refuse(match, text, file, f'write "{relative}" for "{name[1]}"')
        if relative == MAIN:
            self._refuse(match, text, file, f"{MAIN} is the name of the copy")
        if relative not in self._done:
            self.add(path, relative)

    @staticmethod
    def _refuse(match: re.Match[str], text: str, file: Path, why: str) -> None:
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - text.rfind("\n", 0, match.start())
        raise QlowerError(why, make_file_location(str(file), line, column))
