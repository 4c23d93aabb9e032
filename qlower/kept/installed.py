"""Installed packages, by their metadata folders.

`importlib.metadata` knows more, but importing and querying it takes a tenth of the time
of a cached run of a small model.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress


def releases(packages: Iterable[str]) -> list[str]:
    """The names of some packages' folders, which have their versions."""
    prefixes = tuple(f"{package}-" for package in packages)
    names = map(os.path.basename, _folders())
    return sorted(name for name in names if name.startswith(prefixes))


def may_have_entry_points(group: str) -> bool:
    """Whether a package names something in that group, or may do so in an archive."""
    if any(map(os.path.isfile, sys.path)):
        return True
    for folder in _folders():
        with suppress(OSError), open(f"{folder}/entry_points.txt", "rb") as file:
            if group.encode() in file.read():
                return True
    return False


def _folders() -> Iterator[str]:
    for path in sys.path:
        with suppress(OSError):
            for name in os.listdir(path or "."):
                if name.endswith((".dist-info", ".egg-info")):
                    yield os.path.join(path, name)
