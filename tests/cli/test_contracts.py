"""`qlower contracts`: the list, and one contract's text."""

from __future__ import annotations

import pytest

from qlower.cli import main
from qlower.contracts import contract_names, load_contract


def test_the_list_has_one_line_a_contract(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == contract_names()
    for line, name in zip(lines, contract_names(), strict=True):
        assert line.endswith(load_contract(name).summary)
        assert load_contract(name).summary


def test_show_prints_rules_and_text(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts", "show", "tflm"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("// tflm: ")
    assert 'contract.base = "tflite"' in text
    assert "func.func @linear" in text


def test_show_needs_a_name_that_exists(capsys: pytest.CaptureFixture[str]):
    assert main(["contracts", "show"]) == 1
    assert "show needs the name of a contract" in capsys.readouterr().err
    assert main(["contracts", "show", "tflit"]) == 1
    assert "did you mean tflite?" in capsys.readouterr().err
