"""The pages of contracts: current and complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from qlower.cli import main
from qlower.contract_pages.pages import (
    INDEX,
    INHERITED,
    REQUIRED,
    SECTIONS,
    header,
    stale_pages,
)
from qlower.contracts import contract_names, load_contract


def test_pages_are_current(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts", "pages", "--check"]) == 0, "run `qlower contracts pages`"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", contract_names())
def test_every_contract_explains_itself(name: str):
    contract = load_contract(name)
    lines = header(contract.text).splitlines()
    titles = [line.removeprefix("# ") for line in lines if line.startswith("# ")]
    assert [title for title in SECTIONS if title in titles] == titles
    left_out = INHERITED if contract.origin is not None else ()
    assert {*REQUIRED} <= {*titles, *left_out}
    assert 0 < len(contract.summary) <= 78
    assert contract.family
    first = lines[0]
    assert first
    assert not first.startswith("#")


def test_stale_pages_are_found(tmp_path: Path):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "gone.md").write_text("of a contract that there is no more")
    (pages / "differences.md").write_text("made otherwise")
    expected: list[str | None] = [INDEX, *(f"pages/{n}.md" for n in contract_names())]
    stale = stale_pages(tmp_path)
    assert stale.pop("pages/gone.md") is None
    assert sorted(stale) == sorted(filter(None, expected))
