"""The pages of contracts: current, complete, and made for any contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from qlower.cli import main
from qlower.contract_pages.pages import (
    INDEX,
    REQUIRED,
    SECTIONS,
    explain,
    function_texts,
    header,
    section_titles,
    stale_pages,
)
from qlower.contracts import contract_names, load_contract, parse_contract

MINE = """\
// The arithmetic of my device.
//
// # Ties
// half *up*, in [0, 1)

module attributes {contract.summary = "mine", contract.base = "tflite"} {

// ------------ steps

// Not two roundings but one.
func.func private @multiply_by_quantized_multiplier(%x: i32, %m: i32, %e: i32) -> i32 {
  %zero = arith.constant 0 : i32
  return %zero : i32
}

// Said where it is computed,
// on two lines.
func.func private @halved(%x: i32) -> i32 {
  %one = arith.constant 1 : i32
  %y = arith.shrsi %x, %one : i32
  return %y : i32
}

func.func @requantize(%x: i32 {contract.value = "input"}) -> i32 {
  %y = func.call @halved(%x) : (i32) -> i32
  return %y : i32
}
}
"""


def test_pages_are_current(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts", "pages", "--check"]) == 0, "run `qlower contracts pages`"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", contract_names())
def test_every_contract_explains_itself(name: str):
    contract = load_contract(name)
    titles = section_titles(contract)
    assert [title for title in SECTIONS if title in titles] == titles
    assert set(REQUIRED) <= set(titles)
    assert 0 < len(contract.summary) <= 78
    assert contract.family
    first = header(contract.text).splitlines()[0]
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


def test_a_page_says_what_the_text_says():
    page = explain(parse_contract(MINE, "mine", "mine.mlir"))
    assert page.startswith("# mine\n\n*mine*\n")
    assert "The arithmetic of my device.\n\n## Ties\nhalf *up*, in [0, 1)\n" in page
    assert "- `requantize`: Said where it is computed, on two lines.\n" in page
    assert "- `multiply_by_quantized_multiplier`: Not two roundings but one.\n" in page
    assert "base: tflite\n" in page
    assert "As in tflite: `conv2d`, " in page
    assert "refused by name: `real_layer_norm`, " in page
    assert "steps" not in page


def test_comments_belong_to_the_function_below():
    functions = function_texts(MINE)
    assert list(functions) == [
        "multiply_by_quantized_multiplier",
        "halved",
        "requantize",
    ]
    assert functions["requantize"].comment == ""
    assert functions["requantize"].callees == ("halved",)
