"""What is kept between runs: parts, packages, files that were read, and entries."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.printer import Printer

from qlower.diagnostics import QlowerError, warn
from qlower.kept import cache, parts
from qlower.kept.cache import DIRECTORY, LIMIT, cache_limit, cache_size, clear
from qlower.kept.fingerprint import fingerprint
from qlower.kept.installed import may_have_entry_points, releases
from qlower.kept.journal import Journal, beside, read_file, read_given
from qlower.kept.parts import (
    PartsInMemory,
    are_kept,
    digest_of,
    find_or_make,
    find_or_make_all,
    keep_last,
    kept_at_least_in,
    kept_in,
    last_kept,
)


def test_packages_are_found_by_their_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (
        one / "xdsl-1.0.dist-info",
        one / "xdsl_more-2.dist-info",
        one / "other-3.dist-info",
        one / "xdsl-1.0",
        two / "numpy-2.egg-info",
        two / "axdsl-5.dist-info",
    ):
        folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(two), str(tmp_path / "none"), str(one)])
    assert releases(["xdsl"]) == ["xdsl-1.0.dist-info"]
    assert releases(["xdsl", "numpy"]) == ["numpy-2.egg-info", "xdsl-1.0.dist-info"]
    assert releases(["none"]) == []
    monkeypatch.chdir(two)
    monkeypatch.setattr(sys, "path", [""])
    assert releases(["numpy"]) == ["numpy-2.egg-info"]
    assert not may_have_entry_points("my.group")
    points = two / "axdsl-5.dist-info" / "entry_points.txt"
    points.write_text("[other]\n")
    assert not may_have_entry_points("my.group")
    points.write_text("[other]\n[my.group]\n")
    assert may_have_entry_points("my.group")
    points.unlink()
    (two / "archive.zip").write_bytes(b"")
    monkeypatch.setattr(sys, "path", ["", str(two / "archive.zip")])
    assert may_have_entry_points("my.group")


def test_parts_are_found_where_they_are_kept() -> None:
    made: list[bytes] = []

    def make() -> bytes:
        made.append(b"x")
        return b"made"

    assert not are_kept()
    for _ in range(2):
        assert find_or_make([b"a"], make) == b"made"
    assert len(made) == 2
    keep_last([b"n"], b"1")
    assert last_kept([b"n"]) is None
    memory, other = PartsInMemory(), PartsInMemory()
    with kept_in(memory):
        assert are_kept()
        for _ in range(2):
            assert find_or_make([b"a"], make) == b"made"
        assert len(made) == 3
        assert last_kept([b"n"]) is None
        for value in (b"1", b"2"):
            keep_last([b"n"], value)
            assert last_kept([b"n"]) == value
        with kept_at_least_in(other):
            assert find_or_make([b"a"], make) == b"made"
    assert (len(made), other.made) == (3, {})
    with kept_at_least_in(other):
        find_or_make([b"a"], make)
    assert len(made) == 4
    assert [*other.made] == [digest_of([b"a"])]


def test_only_what_is_new_is_made() -> None:
    """Equal contents once, in one step, and each result in its place."""
    asked: list[list[int]] = []
    names = [b"a", b"b", b"a", b"c", b"b"]

    def make(places: list[int]) -> list[bytes]:
        asked.append(places)
        return [names[place].upper() for place in places]

    contents = [[name] for name in names]
    assert find_or_make_all(contents, make) == [b"A", b"B", b"A", b"C", b"B"]
    memory = PartsInMemory()
    memory.keep(digest_of([b"b"]), b"known")
    with kept_in(memory):
        found = [find_or_make_all(contents, make) for _ in range(2)]
    assert found == [[b"A", b"known", b"A", b"C", b"known"]] * 2
    assert asked == [[0, 1, 2, 3, 4], [0, 3]]


def test_borders_of_texts_count() -> None:
    several = ([b"ab"], [b"a", b"b"], [b"", b"ab"], [b"ab", b""], [], [b""])
    assert len({digest_of(one) for one in several}) == len(several)


def test_large_parts_are_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_SMALL_BYTES", 4)
    memory = PartsInMemory()
    memory.keep(b"1", bytes(4))
    memory.keep(b"2", bytes(5))
    assert memory.find(b"1") == bytes(4)
    assert memory.find(b"2") is None


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def test_a_journal_notes_files_and_warnings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    for name in ("a", "sub/b", "model"):
        Path(name).write_bytes(name.encode())
    journal = Journal("sub")
    with journal.kept():
        with journal.kept():  # within itself it stays the one that it is
            warn("odd")
        assert read_file("a") == b"a"
        assert read_file(Path("sub/b")) == b"sub/b"
        assert read_given("model") == b"model"
        assert read_given(b"itself") == b"itself"
        with pytest.raises(FileNotFoundError):
            read_file("none")
        Path("a").write_bytes(b"changed")
        assert read_file("a") == b"a"
        journal.contents.clear()
        with pytest.raises(QlowerError, match=r"^error: a changed while it was comp"):
            read_file("a")
    warn("unheard")
    assert journal.warnings == ["warning: odd"]
    assert journal.hashes == {"a": digest(b"a"), "sub/b": digest(b"sub/b"), "none": b""}
    assert journal.beside_model() == {"b": digest(b"sub/b")}
    assert Journal().beside_model() == {}
    with pytest.raises(QlowerError, match=r"^error: cannot read none: No such file"):
        read_given("none")
    with (
        Journal().kept(),
        pytest.raises(QlowerError, match="cannot read none: No such"),
    ):
        read_given("none")


def test_a_model_at_hand_has_all_relative_files_beside_it() -> None:
    journal = Journal("", {"a": b"1", "/b": b"2", "c/d": b"3"})
    assert journal.beside_model() == {"a": b"1", "c/d": b"3"}
    journal = Journal("m", {"m/a": b"1", "m//b": b"2", "mn/c": b"3", "m": b"4"})
    assert journal.beside_model() == {"a": b"1"}


def test_what_was_read_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m").mkdir()
    Path("a").write_bytes(b"1")
    Path("m/b").write_bytes(b"2")
    same = {"a": digest(b"1"), "none": b""}
    journal = Journal("m")
    assert journal.has_read(same, {"b": digest(b"2")})
    assert journal.hashes == {**same, "m/b": digest(b"2")}
    for hashes, moved in (
        ({"a": digest(b"2")}, {}),
        ({"none": digest(b"")}, {}),
        (same, {"b": digest(b"1")}),
        (same, {"c": digest(b"2")}),
        ({"a": b""}, {}),
    ):
        journal = Journal("m")
        assert not journal.has_read(hashes, moved)
        assert journal.hashes == {}
    assert Journal(None).has_read({}, {"a": digest(b"1")})


@pytest.mark.parametrize(
    ("file", "name", "path"),
    [("m.mlir", "c", "c"), ("d/m.mlir", "c", "d/c"), ("d/m", "/c", "/c")],
)
def test_paths_are_relative_to_the_file_that_has_them(
    file: str, name: str, path: str
) -> None:
    assert beside(file, name) == path


@pytest.mark.parametrize(
    ("text", "limit"), [(None, 1 << 30), ("0", 0), ("3", 3 << 20), ("007", 7 << 20)]
)
def test_the_limit_of_the_cache(
    text: str | None, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LIMIT, raising=False)
    if text is not None:
        monkeypatch.setenv(LIMIT, text)
    assert cache_limit() == limit


@pytest.mark.parametrize("text", ["", "-1", "1.5", "x", " 1"])
def test_limits_that_are_no_numbers(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, text)
    with pytest.raises(QlowerError) as caught:
        cache_limit()
    assert caught.value.message == (
        f"{LIMIT} is {text!r}, not a number of megabytes from 0 on"
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "cache"))
    monkeypatch.setenv(LIMIT, "1")
    monkeypatch.setattr(cache, "_UNSEEN", {})
    return tmp_path / "cache"


def test_entries_are_counted_and_removed(folder: Path) -> None:
    assert cache_size() == (Counter(), 0)
    assert clear() == 0
    cache.keep_entry(folder / "a.qo", b"12", b"345")
    cache.keep_before_others(folder / "b.part", b"6")
    (folder / "c.tmp").write_bytes(b"789")
    (folder / "note").write_bytes(b"0")
    sizes = {path.suffix: path.stat().st_size for path in folder.iterdir()}
    head = sizes[".part"] - 1
    assert sizes == {".qo": head + 5, ".part": head + 1, ".tmp": 3, "": 1}
    counts, size = cache_size()
    assert counts == Counter({".qo": 1, ".part": 1, ".tmp": 1})
    assert size == 2 * head + 9
    assert cache.find_entry(folder / "a.qo") == b"12345"
    assert (folder.stat().st_mode & 0o777) == 0o700
    assert clear() == size
    assert [path.name for path in folder.iterdir()] == ["note"]


def test_an_entry_of_all_that_may_be_kept_is_kept(folder: Path) -> None:
    cache.keep_before_others(folder / "a.qo", bytes(1 << 20))
    assert cache.find_entry(folder / "a.qo") == bytes(1 << 20)
    cache.keep_before_others(folder / "b.qo", bytes(1 << 20), b"1")
    assert not (folder / "b.qo").exists()


def aged(folder: Path, name: str, size: int, age: float) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(bytes(size))
    seconds = time.time() - age
    os.utime(path, (seconds, seconds))
    return path


def test_the_longest_unused_are_removed_until_the_rest_fits(folder: Path) -> None:
    half = 1 << 19
    for name, age in (("b.qo", 200), ("a.qo", 300), ("c.part", 100)):
        aged(folder, name, half, age)
    old = aged(folder, "old.tmp", 1, 3700)
    new = aged(folder, "new.tmp", 1, 3500)
    cache.keep_entry(folder / "d.qo", bytes(half - 200))
    left = {path.name for path in folder.iterdir()}
    # with the files that are being written, two halves are too much
    assert left == {"d.qo", "new.tmp", "c.part"}
    assert not old.exists()
    assert new.exists()


def test_a_folder_is_looked_at_again_after_a_part_of_the_limit(folder: Path) -> None:
    part = (1 << 20) // 64
    cache.keep_entry(folder / "a.qo", b"1")
    stale = aged(folder, "old.tmp", 1, 3700)
    cache.keep_entry(folder / "b.qo", bytes(part - 1))
    assert stale.exists()
    cache.keep_entry(folder / "c.qo", b"1")
    assert not stale.exists()


@pytest.mark.parametrize("text", ["", 'a "b\\c"\n\t~', "".join(map(chr, range(300)))])
def test_a_fingerprint_is_that_of_the_text_of_a_module(text: str) -> None:
    """Strings are printed at once, and as xDSL prints them."""
    module = ModuleOp([], {"remark": StringAttr(text)})
    printed = StringIO()
    Printer(stream=printed).print_op(module)
    expected = hashlib.sha256(printed.getvalue().encode()).digest()
    assert fingerprint(module, locations=False) == expected
