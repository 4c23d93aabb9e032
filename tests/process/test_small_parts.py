"""Names that are imported late, lines that install extras, forks, float settings."""

from __future__ import annotations

import ctypes
import importlib.metadata
import math
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.process import float_environment, forking
from qlower.process.extras import install_line
from qlower.process.float_environment import default_floats
from qlower.process.garbage import rare_collections
from qlower.process.lazy import lazy, lazy_attributes, lazy_table


def test_names_are_imported_when_they_are_asked_for() -> None:
    assert lazy("math")() is math
    assert lazy("math:pi")() == math.pi
    missing = lazy("math:nothing")
    with pytest.raises(AttributeError):
        missing()
    table = lazy_table({"a": "math", "b": "math:e"})
    assert {name: get() for name, get in table.items()} == {"a": math, "b": math.e}
    get = lazy_attributes("mine", {"a": "math:pi"})
    assert get("a") == math.pi
    with pytest.raises(AttributeError) as caught:
        get("b")
    assert str(caught.value) == "module 'mine' has no attribute 'b'"


REQUIREMENTS = [
    "numpy>=1.24",
    "onnx>=1.16; extra == 'onnx'",
    'tflite >= 2 ; extra == "tflite"',
    "torch<3,>=2; extra == 'torch'",
    "jax; extra == 'torch'",
    "odd; python_version > '3'",
]


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        ("onnx", "pip install 'onnx>=1.16'"),
        ("tflite", "pip install 'tflite >= 2'"),
        ("torch", "pip install 'torch<3,>=2' jax"),
        ("none", "pip install '.[none]'"),
    ],
)
def test_the_command_that_installs_an_extra(
    extra: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: REQUIREMENTS)
    assert install_line(extra) == line
    for known in ([], None):
        monkeypatch.setattr(importlib.metadata, "requires", lambda _, k=known: k)
        assert install_line(extra) == f"pip install '.[{extra}]'"

    def missing(_: str) -> None:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "requires", missing)
    assert install_line(extra) == f"pip install '.[{extra}]'"


class Lock:
    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def __enter__(self) -> None:
        self.log.append(f"+{self.name}")

    def __exit__(self, *_: object) -> None:
        self.log.append(f"-{self.name}")


def test_locks_are_held_while_a_process_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turn, and released the other way round; those added meanwhile aren't."""
    log: list[str] = []
    monkeypatch.setattr(forking, "_LOCKS", [])
    monkeypatch.setattr(forking, "_MODULE_LOCKS", {})
    for name in "ab":
        forking.hold_while_forking(Lock(name, log))
    own = vars(forking)
    own["_hold"]()
    forking.hold_while_forking(Lock("c", log))
    own["_release"]()
    assert log == ["+a", "+b", "-b", "-a"]
    own["_release"]()
    assert len(log) == 4
    own["_hold"]()
    own["_begin_child"]()
    assert log[4:] == ["+a", "+b", "+c", "-c", "-b", "-a"]


def imported(monkeypatch: pytest.MonkeyPatch, **owners: object) -> dict[str, Any]:
    locks: dict[str, Any] = {
        name: (lambda owner=owner: SimpleNamespace(owner=owner))
        for name, owner in owners.items()
    }
    monkeypatch.setattr(forking, "_LOCKS", [])
    monkeypatch.setattr(forking, "_MODULE_LOCKS", locks)
    return locks


def test_a_fork_waits_for_imports_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    own = threading.get_ident()
    locks = imported(monkeypatch, other=own + 1, mine=own, free=None)
    locks["gone"] = lambda: None
    assert vars(forking)["_imported_by_others"]() == ["other"]
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            del locks["other"]

    monkeypatch.setattr(time, "sleep", sleep)
    vars(forking)["_hold"]()
    assert waits == [0.001] * 3
    # but not for longer than it has patience
    locks["other"] = lambda: SimpleNamespace(owner=own + 1)
    looks = iter([100.0, 105.0, 109.9, 110.0, 999.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(looks))
    vars(forking)["_hold"]()
    assert len(waits) == 5
    assert next(looks) == 999.0


def test_a_child_imports_anew_what_was_half_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = threading.get_ident()
    locks = imported(monkeypatch, half=own + 1, mine=own, unseen=own + 1)
    for name in ("half", "mine"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())
    vars(forking)["_begin_child"]()
    assert [*locks] == ["mine"]
    assert "half" not in sys.modules
    assert "mine" in sys.modules


@pytest.mark.parametrize(
    ("version", "locked"), [((3, 10), True), ((3, 11, 9), True), ((3, 12), False)]
)
def test_properties_have_locks_in_old_versions_alone(
    version: tuple[int, ...], locked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported(monkeypatch)
    unlocked: list[bool] = []
    monkeypatch.setattr(forking, "_unlock_properties", lambda: unlocked.append(True))
    monkeypatch.setattr(sys, "version_info", version)
    vars(forking)["_begin_child"]()
    assert unlocked == [True] * locked


@pytest.mark.skipif(sys.platform != "linux", reason="FE_DFL_ENV is glibc's or musl's")
def test_floats_are_rounded_as_usual_in_a_block() -> None:
    library: Any = ctypes.PyDLL(None)
    before = library.fegetround()
    upward = 0x800 if before == 0 else before

    def third() -> float:
        return float(np.float64(1) / np.float64(3))

    usual = third()
    if library.fesetround(upward):
        pytest.skip("the machine has no such mode")
    try:
        changed = third()
        with default_floats():
            assert library.fegetround() == 0
            assert third() == usual
        assert library.fegetround() == upward
        assert third() == changed
        with pytest.raises(ZeroDivisionError), default_floats():
            assert 1 // 0
        assert library.fegetround() == upward
    finally:
        library.fesetround(before)


def test_elsewhere_floats_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    find = vars(float_environment)["_library"].__wrapped__
    assert (find() is not None) == (sys.platform == "linux")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert find() is None
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "PyDLL", lambda _: SimpleNamespace())
    assert find() is None
    monkeypatch.setattr(float_environment, "_library", lambda: None)
    ran = 0
    with default_floats():
        ran += 1
    assert ran == 1


def test_blocks_that_overlap_leave_what_was_set() -> None:
    import gc

    before = gc.get_threshold()
    try:
        gc.set_threshold(700, 11, 12)
        first, second = rare_collections(), rare_collections()
        first.__enter__()
        inside = gc.get_threshold()
        second.__enter__()
        first.__exit__(None, None, None)
        assert gc.get_threshold() == inside == (1_000_000, 11, 12)
        second.__exit__(None, None, None)
        assert gc.get_threshold() == (700, 11, 12)
        with pytest.raises(ZeroDivisionError), rare_collections():
            assert 1 // 0
        assert gc.get_threshold() == (700, 11, 12)
    finally:
        gc.set_threshold(*before)
