"""`qlower contracts`: the list, and one contract's text."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from support.lanes import a_part

from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.contracts import contract_names, load_contract


def test_the_list_has_one_line_a_contract(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split()[0] for line in lines] == contract_names()
    for line, name in zip(lines, contract_names(), strict=True):
        assert f"  {load_contract(name).summary}  " in line
        assert load_contract(name).summary


def test_the_list_says_what_the_files_say(capsys: pytest.CaptureFixture[str]):
    """It reads no functions, and finds the same."""
    assert main(["contracts", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["name"] for row in rows] == contract_names()
    assert a_part(rows, 8, 0) == [
        {
            "name": name,
            "summary": contract.summary,
            "family": contract.family,
            "base": contract.origin.name if contract.origin else "",
        }
        for name in a_part(contract_names(), 8, 0)
        for contract in [load_contract(name)]
    ]


@pytest.mark.parametrize("stale", [{}, {"pages/a.md": "new", "b.md": None}])
@pytest.mark.parametrize("check", [False, True])
def test_pages_are_brought_up_to_date(
    stale: dict[str, str | None],
    check: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Or listed alone: then it is an error if there are any."""
    module = import_module("qlower.cli.contracts")
    monkeypatch.setattr(module, "stale_pages", lambda _: stale)
    monkeypatch.setattr("qlower.contracts.__file__", str(tmp_path / "__init__.py"))
    (tmp_path / "b.md").touch()
    assert main(["contracts", "pages", *["--check"] * check]) == (
        ExitCode.FOUND if stale and check else 0
    )
    assert capsys.readouterr().out == "".join(f"{tmp_path / name}\n" for name in stale)
    texts = {file.name: file.read_text() for file in tmp_path.rglob("*.md")}
    assert texts == ({"b.md": ""} if check or not stale else {"a.md": "new"})


def test_show_explains(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts", "show", "tflm"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# tflm\n\n*TFLite Micro and CMSIS-NN")
    assert "base: tflite\n" in text
    assert "## Ties\n" in text
    assert "- `linear`, `matmul`: A product, or sum of products, times the" in text


def test_show_prints_the_text(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts", "show", "tflm", "--mlir"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("// tflm: ")
    assert 'contract.base = "tflite"' in text
    assert "func.func @linear" in text


def test_show_explains_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    path = tmp_path / "halve.mlir"
    path.write_text("""\
// Halves.

module attributes {contract.summary = "halves everything"} {
// One shift.
func.func @requantize(%x: i32 {contract.value = "input"}) -> i32 {
  %one = arith.constant 1 : i32
  %y = arith.shrsi %x, %one : i32
  return %y : i32
}
}
""")
    assert main(["contracts", "show", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# halve\n\n*halves everything*\n")
    assert "- `requantize`: One shift.\n" in text


def test_show_needs_a_name_that_exists(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts", "show"]) == 2
    assert "show needs the name of a contract" in capsys.readouterr().err
    assert main(["contracts", "show", "tflit"]) == 1
    assert "did you mean tflite?" in capsys.readouterr().err


def test_the_text_of_a_contract_and_of_its_bases(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After two lines that say what it is, and for what it has rules."""
    contract = load_contract("gemmini")
    assert main(["contracts", "show", "gemmini", "--mlir"]) == 0
    first, second, *rest = capsys.readouterr().out.splitlines()
    assert first == f"// gemmini: {contract.summary}"
    assert second == f"// rules: {', '.join(contract.rules)}"
    assert "conv2d" in second
    assert rest == contract.source.splitlines()
