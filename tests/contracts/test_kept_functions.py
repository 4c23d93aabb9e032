"""Functions of contracts that are found again are those that are parsed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from qlower import contracts
from qlower.contracts.outline import Outline
from qlower.contracts.shorthand import parse_contract_module
from qlower.kept import beside_bytecode as kept

TEXTS = Path(contracts.__file__).parent


@pytest.fixture
def outline(tmp_path: Path) -> Outline:
    """A contract in a folder where Python keeps bytecode."""
    file = tmp_path / "tflite.mlir"
    shutil.copy(TEXTS / file.name, file)
    (tmp_path / "__pycache__").mkdir()
    return Outline(file.read_text(), str(file))


def again(outline: Outline) -> Outline:
    """The same for a process that starts afterwards."""
    return Outline(outline.text, outline.filename)


def described(module: ModuleOp) -> list[str]:
    """The operations of a module with their places, and the names of all values."""
    return [str(module), *(f"{op.name} {op.location}" for op in module.walk())]


def kept_files(outline: Outline) -> list[Path]:
    return list((Path(outline.filename).parent / "__pycache__").iterdir())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(file.stem, marks=() if file.stem == "tvm" else pytest.mark.long)
        for file in sorted(TEXTS.glob("*.mlir"))
    ],
)
def test_what_is_kept_is_what_was_parsed(name: str):
    filename = str(TEXTS / f"{name}.mlir")
    outline = Outline(Path(filename).read_text(), filename)
    whole = parse_contract_module(outline.text, filename)
    functions = kept.KeptFunctions(outline.text, filename)
    functions.keep(whole)
    found = functions.module(piece.name for piece in outline.pieces)
    assert found is not None
    assert described(found) == described(whole)


@pytest.mark.parametrize("names", [frozenset({"clamp_code", "round_mantissa"}), None])
def test_another_process_parses_nothing(
    names: frozenset[str] | None, outline: Outline, monkeypatch: pytest.MonkeyPatch
):
    first = outline.parse(names)
    outline.kept.write()
    assert len(kept_files(outline)) == 1
    monkeypatch.setattr("qlower.contracts.outline.parse_contract_module", None)
    assert described(again(outline).parse(names)) == described(first)
    changed = Outline(outline.text + "\n", outline.filename)
    with pytest.raises(TypeError):
        changed.parse(names)


@pytest.mark.parametrize("size", [0, 20, 64, 1000])
def test_a_damaged_file_is_made_anew(outline: Outline, size: int):
    names = frozenset({"clamp_code"})
    first = outline.parse(names)
    outline.kept.write()
    (file,) = kept_files(outline)
    whole = file.read_bytes()
    file.write_bytes(whole[:size])
    other = again(outline)
    assert described(other.parse(names)) == described(first)
    other.kept.write()
    assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written(outline: Outline):
    outline.parse(frozenset({"clamp_code"}))
    shutil.rmtree(Path(outline.filename).parent)
    outline.kept.write()
    assert not Path(outline.filename).parent.exists()
