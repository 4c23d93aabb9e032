"""The description on package indexes: README without links that lead nowhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_links_of_the_description_lead_somewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setuptools = pytest.importorskip("setuptools", reason="needs setuptools")
    given: dict[str, str] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **words: given.update(words))
    runpy.run_path(str(ROOT / "setup.py"))
    text = given["long_description"]
    for link in re.findall(r"\]\(([^)]*)\)", text):
        assert link.startswith(("https://", "http://", "#")), link
    readme = (ROOT / "README.md").read_text()
    assert text.count("\n## ") == readme.count("\n## ")
    assert text.count("```") == readme.count("```")
