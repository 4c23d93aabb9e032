"""The version is stated in one place; what repeats it must agree."""

from __future__ import annotations

import re
from pathlib import Path

from qlower.version import __version__

ROOT = Path(__file__).parents[1]


def test_citation_names_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^version: (.+)$", text, re.MULTILINE) == [__version__]


def test_changelog_begins_with_the_version() -> None:
    """A release is described before it is tagged, with its day."""
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## (\S+) - \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    assert releases[0] == __version__
