"""Which tests a mutant may be shown."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from mutation.record import PROBES

CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--long", action="store_true")
"""
OPTIONS = "[pytest]\naddopts = --import-mode=importlib -q\nmarkers = long: takes long\n"
SHORT = "def test_a():\n    pass\n"
LONG = "import pytest\n\n@pytest.mark.long\ndef test_b():\n    pass\n"


def test_files_of_one_name_in_several_folders_are_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the project's options import them."""
    monkeypatch.syspath_prepend(str(PROBES))
    for name, text in (
        *(("pytest.ini", OPTIONS), ("conftest.py", CONFTEST)),
        *(("tests/one/test_same.py", SHORT), ("tests/two/test_same.py", LONG)),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    names = tmp_path / "names.json"
    record: Any = import_module("mutation.record")
    record._collect(tmp_path, ["tests"], names)
    assert json.loads(names.read_text()) == {
        "tests/one/test_same.py::test_a": False,
        "tests/two/test_same.py::test_b": True,
    }
