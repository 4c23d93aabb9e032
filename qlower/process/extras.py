"""Packages that are for some of the work only: the extras of `pyproject.toml`."""

from __future__ import annotations

import re
import shlex

_REQUIREMENT = re.compile(r"(?P<package>[^;]+?)\s*;\s*extra == (['\"])(?P<extra>.*)\2")


def install_line(extra: str) -> str:
    """The command that installs an extra, wherever it is typed.

    It names the packages themselves, so that no index need have qlower; where qlower
    runs without being installed, the extra of the clone.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        known = requires("qlower") or []
    except PackageNotFoundError:
        known = []
    found = [match for line in known if (match := _REQUIREMENT.fullmatch(line))]
    packages = [match["package"] for match in found if match["extra"] == extra]
    return f"pip install {shlex.join(packages or [f'.[{extra}]'])}"
