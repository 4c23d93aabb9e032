"""How often a process looks for garbage while it compiles."""

from __future__ import annotations

import atexit
import ctypes
import gc
import platform
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from qlower.process.garbage import (
    NEW_OBJECTS,
    keep_freed_memory,
    rare_collections,
    search_rarely,
)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.long
def test_overlapping_blocks_leave_what_was_set():
    gc.set_threshold(700, 11, 12)
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    assert gc.get_threshold() == (NEW_OBJECTS, 11, 12)
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (NEW_OBJECTS, 11, 12)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("threshold", [0, NEW_OBJECTS + 1])
def test_who_looks_more_rarely_still_does(threshold: int):
    gc.set_threshold(threshold)
    with rare_collections():
        assert gc.get_threshold()[0] == threshold


def test_a_command_searches_rarely(monkeypatch: pytest.MonkeyPatch):
    left: list[object] = []
    monkeypatch.setattr(atexit, "register", left.append)
    search_rarely()
    assert gc.get_threshold()[0] == NEW_OBJECTS
    assert left == [gc.freeze]


def test_freed_memory_is_kept_by_glibc():
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_a_system_without_such_a_library(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def library(_: object) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", library)
    assert keep_freed_memory() is False


@pytest.mark.parametrize("taken", [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_both_options_have_to_be_taken(
    taken: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[int, int] = {}

    def mallopt(option: int, size: int) -> int:
        given[option] = size
        return taken[len(given) - 1]

    library = SimpleNamespace(mallopt=mallopt)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    assert keep_freed_memory() is (taken == (1, 1))
    assert given == {-1: 1 << 27, -3: 1 << 25}
