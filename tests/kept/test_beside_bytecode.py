"""Functions of a contract beside its bytecode: what is kept, when, and what makes it
another."""

from __future__ import annotations

import atexit
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from qlower.kept import beside_bytecode
from qlower.kept.beside_bytecode import KeptFunctions
from qlower.text.parsing import parse_module

TEXT = """module attributes {mine = 3 : i32} {
  func.func private @one(%a: i32, %0: f64) -> (i32, f64) attributes {two = "x"} {
    %sum_1 = arith.addi %a, %a {kept} : i32
    return %sum_1, %0 : i32, f64
  }
  func.func private @other(%x: i8) -> i8 {
    return %x : i8
  }
}"""


@pytest.fixture(autouse=True)
def left(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is done when the process ends."""
    found: list[Any] = []
    monkeypatch.setattr(atexit, "register", found.append)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return found


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "__pycache__").mkdir()
    return str(tmp_path / "mine.mlir")


def module() -> ModuleOp:
    return parse_module(TEXT, "m.mlir")


def shown(found: ModuleOp | None) -> list[str]:
    assert found is not None
    names = [
        value.name_hint
        for op in found.walk()
        for value in [
            *op.results,
            *(a for r in op.regions for b in r.blocks for a in b.args),
        ]
    ]
    places = [f"{op.name} {op.location}" for op in found.walk()]
    return [str(found), *places, *map(str, names)]


def test_functions_are_kept_when_the_process_ends(file: str, left: list[Any]) -> None:
    kept = KeptFunctions("text", file)
    assert kept.module(["one"]) is None
    kept.keep(module())
    kept.keep(module())
    assert left == [kept.write]
    assert shown(kept.module(["one", "other"])) == shown(module())
    kept.write()
    again = KeptFunctions("text", file)
    assert shown(again.module(["one", "other"])) == shown(module())
    found = again.module(["other"])
    assert found is not None
    assert [op.sym_name.data for op in found.body.ops] == ["other"]  # pyright: ignore
    assert found.attributes == module().attributes
    assert again.module(["one", "none"]) is None
    assert again.module([]) is not None
    names = os.listdir(Path(file).parent / "__pycache__")
    assert len(names) == 1
    assert names[0].startswith("mine.")
    assert names[0].endswith(".functions")


def test_without_bytecode_nothing_is_written(
    file: str, left: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kept = KeptFunctions("text", file)
    kept.keep(module())
    assert left == []
    assert kept.module(["one"]) is not None  # in this process


def test_another_text_name_or_reader_is_another_contract(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptFunctions("text", file)
    kept.keep(module())
    kept.write()
    (path,) = (Path(file).parent / "__pycache__").iterdir()
    content = path.read_bytes()
    assert KeptFunctions("text2", file).module(["one"]) is None
    for place in (0, 31, 32, 63, 64, len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        assert KeptFunctions("text", file).module(["one"]) is None
    for size in (0, 31, 40, len(content) - 1):
        path.write_bytes(content[:size])
        assert KeptFunctions("text", file).module(["one"]) is None
    path.write_bytes(content)
    assert KeptFunctions("text", file).module(["one"]) is not None
    monkeypatch.setattr(beside_bytecode, "_readers", lambda: b"other")
    assert KeptFunctions("text", file).module(["one"]) is None


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    kept = KeptFunctions("text", str(tmp_path / "none" / "mine.mlir"))
    kept.keep(module())
    kept.write()
    assert not (tmp_path / "none").exists()


def test_readers_are_known_by_size_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own: Any = vars(import_module("qlower.kept.beside_bytecode"))
    readers = own["_readers"].__wrapped__
    usual = readers()
    assert readers() == usual
    package = tmp_path / "qlower"
    for room in ("contracts", "dialects", "text", "model"):
        (package / room / "inner").mkdir(parents=True)
        (package / room / "inner" / "a.py").write_text("1")
        (package / room / "note.txt").write_text("1")
    monkeypatch.setitem(own, "__file__", str(package / "kept" / "beside_bytecode.py"))
    before = readers()
    assert before != usual
    (package / "model" / "inner" / "a.py").write_text("22")
    (package / "text" / "note.txt").write_text("22")
    assert readers() == before
    for room in ("contracts", "dialects", "text"):
        (package / room / "inner" / "a.py").write_text("22")
        after = readers()
        assert after != before
        before = after
    path = package / "text" / "inner" / "a.py"
    os.utime(path, ns=(1, 1))
    assert readers() != before
