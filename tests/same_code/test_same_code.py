"""Changes that are planted in a copy of the package are found, at the right level.

    QLOWER_SAME_CODE_AS=main python -m pytest --long tests/same_code

compares the machine code of all models with a commit's, as `compare.py` does.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from same_code.compare import ROOT, compare, main
from support.formats.tflite_cases import CASES

SUM = """\
  %both = arith.addi %a, %b : i32
  %stored = arith.subi %both, %output_zero_point : i32"""
"""How TVM's contract adds two operands."""

CONTRACTS = "tvm"
"""The contract that tests edit, and compare under."""

COMMIT = os.environ.get("QLOWER_SAME_CODE_AS")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a copy of the package that may be edited."""
    folder = tmp_path / "edited"
    shutil.copytree(ROOT / "qlower", folder / "qlower")  # with its bytecode
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with one model."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "add.tflite").write_bytes(CASES["add"]())
    return folder


def edit(package: Path, name: str, old: str, new: str) -> None:
    """Replace text that a file of the package has."""
    path = package / "qlower" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.long
def test_a_sum(package: Path, corpus: Path) -> None:
    edit(package, "contracts/tvm.mlir", SUM, SUM.replace("subi", "addi"))
    found = compare(ROOT, package, corpus, ["add.tflite"], CONTRACTS)
    assert not found.is_same
    assert "add.tflite tvm" in found.moved["code"]
    assert "code    add.tflite tvm\n" in found.render() + "\n"


@pytest.mark.long
def test_a_name_leaves_code_as_it_was(package: Path, corpus: Path) -> None:
    edit(package, "contracts/tvm.mlir", SUM, SUM.replace("%both", "%sum"))
    found = compare(ROOT, package, corpus, ["add.tflite"], CONTRACTS)
    assert found.is_same
    assert "add.tflite tvm" in found.moved["arith"]
    assert not found.moved["code"]


@pytest.mark.long
def test_code_that_moves_alone(package: Path, corpus: Path) -> None:
    edit(package, "codegen/targets/x86.py", "vector_bits=bits", "vector_bits=128")
    assert not compare(ROOT, package, corpus, ["add.tflite"], CONTRACTS).moved["arith"]
    found = compare(ROOT, package, corpus, ["add.tflite"], CONTRACTS, code_of_all=True)
    assert not found.is_same
    assert found.moved["code"] == ["add.tflite tvm"]


@pytest.mark.long
def test_a_refusal(package: Path, corpus: Path) -> None:
    edit(package, "contracts/tvm.mlir", "func.func @add(", "func.func @added(")
    found = compare(ROOT, package, corpus, ["add.tflite"], CONTRACTS)
    assert not found.is_same
    assert "add.tflite tvm" in found.refusals


def test_a_pattern_that_matches_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("same_code.compare.write_corpus", Path.iterdir)
    with pytest.raises(SystemExit, match="no file of the corpus matches 'no-such'"):
        main(["HEAD", "--files", "no-such"])


@pytest.mark.long
def test_a_pattern_that_matches_no_contract() -> None:
    options = ["--files", "tflite/add.tflite", "--contracts", "no-such"]
    with pytest.raises(SystemExit, match="none of 1 files has a case of a contract"):
        main(["HEAD", *options])


@pytest.mark.long
@pytest.mark.skipif(not COMMIT, reason="QLOWER_SAME_CODE_AS names no commit")
def test_all_models() -> None:
    assert main([str(COMMIT)]) == 0
