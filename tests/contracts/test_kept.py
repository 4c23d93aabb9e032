"""Functions of contracts that are kept beside the bytecode are whole, or not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.layers.custom_contracts import ADDING

from qlower.contracts.shorthand import parse_contract_module
from qlower.kept.beside_bytecode import KeptFunctions

TEXT = ADDING.format(base="onnxruntime", added=1)
NAME = "clamp_and_offset"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only file, that of the contract above."""
    monkeypatch.chdir(tmp_path)
    kept = KeptFunctions(TEXT, "a.mlir")
    kept.keep(parse_contract_module(TEXT, "a.mlir"))
    Path("__pycache__").mkdir()
    kept.write()
    (file,) = Path("__pycache__").iterdir()
    return file


@pytest.mark.usefixtures("file")
def test_functions_are_found_as_they_were_parsed():
    found = KeptFunctions(TEXT, "a.mlir").module([NAME])
    assert str(found) == str(parse_contract_module(TEXT, "a.mlir"))
    assert KeptFunctions(TEXT, "a.mlir").module(["another"]) is None
    assert KeptFunctions(f"{TEXT}\n", "a.mlir").module([NAME]) is None


def test_a_damaged_file_is_a_miss(file: Path):
    whole = file.read_bytes()
    for place in range(0, len(whole), 7):
        flipped = bytes([whole[place] ^ 1 << place % 8])
        file.write_bytes(whole[:place] + flipped + whole[place + 1 :])
        assert KeptFunctions(TEXT, "a.mlir").module([NAME]) is None
        file.write_bytes(whole[:place])
        assert KeptFunctions(TEXT, "a.mlir").module([NAME]) is None


def test_nothing_else_is_kept_beside_the_bytecode():
    """Code that Python doesn't check itself has a checksum of ours, or isn't kept."""
    import qlower

    root = Path(qlower.__file__).parent
    readers = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if "cache_from_source" in file.read_text()
        or "import marshal" in file.read_text()
    }
    assert readers == {"kept/beside_bytecode.py"}
