"""The code of dataclasses is found again, and is what Python would have made."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from qlower import generated_code
from qlower.generated_code import GeneratedCode


def check_classes() -> None:
    """That a new class has what its decorator says."""
    fields = [("x", int, dataclasses.field(default=3)), ("name", str, "a")]
    point = dataclasses.make_dataclass("Point", fields, order=True, frozen=True)
    assert repr(point(5)) == "Point(x=5, name='a')"
    assert point() < point(4)
    assert hash(point(1)) == hash(point(1, "a"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(point(), "x", 2)  # noqa: B010


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GeneratedCode:
    """Code that `dataclasses` uses while a test runs."""
    code = GeneratedCode(tmp_path / "code")
    monkeypatch.setattr(dataclasses, "exec", code.execute, raising=False)
    return code


def test_nothing_is_compiled_twice(
    code: GeneratedCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    check_classes()
    code.write()
    again = GeneratedCode(tmp_path / "code")
    monkeypatch.setattr(dataclasses, "exec", again.execute)
    monkeypatch.setattr(generated_code, "compile", None, raising=False)
    check_classes()
    (kept,) = tmp_path.iterdir()
    before = kept.stat().st_mtime_ns
    again.write()
    assert kept.stat().st_mtime_ns == before


@pytest.mark.parametrize("size", [0, 3, 40, 1000])
def test_a_damaged_file_is_made_anew(
    code: GeneratedCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
):
    check_classes()
    code.write()
    file = tmp_path / "code"
    whole = file.read_bytes()
    file.write_bytes(whole[:size])
    again = GeneratedCode(file)
    monkeypatch.setattr(dataclasses, "exec", again.execute)
    check_classes()
    again.write()
    assert len(file.read_bytes()) == len(whole)


def test_a_folder_that_cannot_be_written(code: GeneratedCode, tmp_path: Path):
    check_classes()
    tmp_path.rmdir()
    code.write()
    assert not tmp_path.exists()
