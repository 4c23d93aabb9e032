"""The version is stated in one place; what repeats it must agree."""

from __future__ import annotations

import re
from pathlib import Path

from qlower.version import __version__

ROOT = Path(__file__).parents[1]


def test_citation_names_the_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert re.findall(r"^version: (.+)$", text, re.MULTILINE) == [__version__]
