"""Entries of the cache, byte by byte, and what is no entry."""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qlower.diagnostics import LOGGER
from qlower.kept import cache
from qlower.kept.cache import DIRECTORY, LIMIT, cache_folder, find_entry

BODY = b"123456789"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(DIRECTORY, str(tmp_path))
    monkeypatch.setenv(LIMIT, "1")
    monkeypatch.setattr(cache, "_UNSEEN", {})
    cache.keep_before_others(tmp_path / "a.qo", BODY[:2], b"", BODY[2:])
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_entry_with_any_byte_changed_or_missing_is_a_miss(folder: Path) -> None:
    path = folder / "a.qo"
    whole = path.read_bytes()
    assert find_entry(path) == BODY
    assert whole.endswith(BODY)
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert find_entry(path) is None
        path.write_bytes(whole[:place])
        assert find_entry(path) is None
    for other in (whole + b"\0", whole[: -len(BODY)], b""):
        path.write_bytes(other)
        assert find_entry(path) is None
    path.write_bytes(whole)
    assert find_entry(path) == BODY


def test_an_entry_is_its_name_s_alone(folder: Path) -> None:
    """Whatever folder it is in."""
    whole = (folder / "a.qo").read_bytes()
    (folder / "b.qo").write_bytes(whole)
    assert find_entry(folder / "b.qo") is None
    (folder / "inner").mkdir()
    (folder / "inner" / "a.qo").write_bytes(whole)
    assert find_entry(folder / "inner" / "a.qo") == BODY


def test_pieces_are_one_content(folder: Path) -> None:
    for pieces in ((), (b"",), (b"1", b"2"), (b"12",), (b"", b"12", b"")):
        cache.keep_before_others(folder / "b.qo", *pieces)
        assert find_entry(folder / "b.qo") == b"".join(pieces)
    first = (folder / "b.qo").read_bytes()
    cache.keep_before_others(folder / "b.qo", b"1", b"2")
    assert (folder / "b.qo").read_bytes() == first


def test_what_is_found_counts_as_used(folder: Path) -> None:
    path = folder / "a.qo"
    os.utime(path, (1e9, 1e9))
    (folder / "none.qo").write_bytes(b"")
    os.utime(folder / "none.qo", (1e9, 1e9))
    assert find_entry(folder / "none.qo") is None
    assert (folder / "none.qo").stat().st_mtime == 1e9
    assert find_entry(path) == BODY
    assert path.stat().st_mtime > 1e9


def test_entries_are_files_of_this_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path, pipe = folder / "a.qo", folder / "p.qo"
    os.mkfifo(pipe)
    with caplog.at_level(logging.DEBUG, logger=LOGGER.name):
        assert find_entry(pipe) is None
        assert find_entry(folder / "none.qo") is None
        assert find_entry(folder) is None
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
        assert find_entry(path) is None
        monkeypatch.setattr(os, "geteuid", lambda: own)
        assert find_entry(path) == BODY
        path.write_bytes(b"x")
        assert find_entry(path) is None
    assert caplog.messages == [
        f"the entry {pipe} is not this user's",
        f"the entry {path} is not this user's",
        f"the entry {path} is damaged",
    ]


def test_times_that_cannot_be_set_are_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert find_entry(folder / "a.qo") == BODY


@pytest.mark.parametrize(
    "keep",
    [
        lambda path: cache.keep_entry(path, b"1"),
        lambda path: cache.keep_entries({path: [b"1"], path.with_name("z.qo"): [b"2"]}),
        lambda path: cache.keep_before_others(path, b"1"),
    ],
)
def test_a_full_disk_leaves_nothing_behind(
    keep: Callable[[Path], None],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After it no other entry is tried."""
    tried: list[str] = []

    def refuse(source: str, target: Path) -> None:
        tried.append(target.name)
        raise OSError(errno.ENOSPC, "No space left on device")

    before = names(folder)
    monkeypatch.setattr(os, "replace", refuse)
    with caplog.at_level(logging.INFO, logger=LOGGER.name):
        keep(folder / "b.qo")
    assert (names(folder), tried) == (before, ["b.qo"])
    assert caplog.messages == ["not cached: No space left on device"]

    def gone(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(os, "unlink", gone)
    keep(folder / "c.qo")
    assert tried == ["b.qo", "c.qo"]


def test_entries_are_kept_together(folder: Path) -> None:
    cache.keep_entries({folder / f"{name}.qo": [name.encode()] for name in "bcd"})
    assert [find_entry(folder / f"{name}.qo") for name in "bcd"] == [b"b", b"c", b"d"]
    assert names(folder) == ["a.qo", "b.qo", "c.qo", "d.qo"]
    state = (folder / "b.qo").stat()
    assert stat.S_ISREG(state.st_mode)


def test_a_link_counts_as_itself(folder: Path) -> None:
    """Not as the file that it leads to, which is not the cache's."""
    target = folder / "note"
    target.write_bytes(bytes(1000))
    (folder / "l.qo").symlink_to(target)
    (folder / "gone.part").symlink_to(folder / "none")
    counts, size = cache.cache_size()
    assert counts == {".qo": 2, ".part": 1}
    head = (folder / "a.qo").stat().st_size
    assert size == head + len(str(target)) + len(str(folder / "none"))


def test_files_that_go_meanwhile_are_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = os.unlink

    def gone(path: Any) -> None:
        unlink(path)
        raise FileNotFoundError

    (folder / "b.qo").write_bytes(b"12")
    size = cache.cache_size()[1]
    monkeypatch.setattr(os, "unlink", gone)
    assert cache.clear() == 0
    assert size > 2
    assert names(folder) == []
    monkeypatch.setenv(DIRECTORY, str(folder / "none"))
    assert cache.cache_size() == ({}, 0)
    (folder / "file").write_bytes(b"")
    monkeypatch.setenv(DIRECTORY, str(folder / "file"))
    assert cache.cache_size() == ({}, 0)
    monkeypatch.setenv(DIRECTORY, "")
    assert cache.cache_size() == ({}, 0)


@pytest.mark.parametrize(
    ("chosen", "base", "expected"),
    [
        ("c", None, "c"),
        ("c", "b", "c"),
        ("", "b", None),
        (None, "b", "b/qlower"),
        (None, None, "home/.cache/qlower"),
        (None, "", "home/.cache/qlower"),
    ],
)
def test_where_the_cache_is(
    chosen: str | None,
    base: str | None,
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in ((DIRECTORY, chosen), ("XDG_CACHE_HOME", base)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(Path, "home", lambda: Path("home"))
    assert cache_folder() == (None if expected is None else Path(expected))

    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    is_there = expected is not None and not expected.startswith("home")
    assert (cache_folder() is None) is not is_there


def test_nothing_is_kept_where_nothing_may_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT, "0")
    cache.keep_entry(folder / "b.qo", b"1")
    assert not (folder / "b.qo").exists()
    cache.keep_entry(folder / "c.qo", b"")
    assert not (folder / "c.qo").exists()
    assert not (folder / "a.qo").exists()


@pytest.mark.parametrize(("spare", "left"), [(0, "ab"), (1, "b")])
def test_what_just_fits_stays(spare: int, left: str, folder: Path) -> None:
    """To the byte."""
    head = (folder / "a.qo").stat().st_size - len(BODY)
    (folder / "a.qo").write_bytes(bytes(1 << 19))
    os.utime(folder / "a.qo", (1e9, 1e9))
    cache.keep_entry(folder / "b.qo", bytes((1 << 19) - head + spare))
    assert names(folder) == [f"{name}.qo" for name in left]
