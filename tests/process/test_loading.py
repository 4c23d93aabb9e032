"""Modules that are loaded in another form, step by step, in this process."""

from __future__ import annotations

import gc
import platform
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from qlower.process import garbage
from qlower.process.garbage import NEW_OBJECTS, rare_collections, search_rarely
from qlower.process.quick_imports import LateFormat, import_quickly

inner: Any = vars(import_module("qlower.process.quick_imports"))

FORMATS, INTERPRETER = (
    "xdsl.irdl.declarative_assembly_format",
    "xdsl.interpreter",
)


def test_the_finder_comes_first_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    others: list[Any] = [object(), object()]
    monkeypatch.setattr(sys, "meta_path", [*others])
    for _ in range(2):
        import_quickly()
        assert sys.meta_path == [inner["_Finder"], *others]


def test_two_modules_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python finds them, with another loader; others are left to it."""
    asked: list[Any] = []

    class Loader:
        def create_module(self, spec: ModuleSpec) -> Any:
            return "made", spec.name

        def exec_module(self, module: ModuleType) -> None:
            asked.append(module)

    specs: dict[str, Any] = {
        FORMATS: ModuleSpec(FORMATS, Loader()),  # pyright: ignore[reportArgumentType]
        INTERPRETER: None,
    }

    def find(name: str, path: Any, target: Any) -> Any:
        asked.append((name, path, target))
        return specs[name]

    monkeypatch.setattr(PathFinder, "find_spec", find)
    finder = inner["_Finder"]
    assert finder.find_spec("xdsl.ir", ["p"]) is None
    assert finder.find_spec("xdsl", None) is None
    assert asked == []
    assert finder.find_spec(INTERPRETER, ["p"]) is None
    specs[INTERPRETER] = ModuleSpec(INTERPRETER, None)
    assert finder.find_spec(INTERPRETER, ["p"]).loader is None
    target = ModuleType("t")
    spec = finder.find_spec(FORMATS, ["p"], target)
    assert asked == [(INTERPRETER, ["p"], None)] * 2 + [(FORMATS, ["p"], target)]
    assert spec.loader.create_module(spec) == ("made", FORMATS)
    asked.clear()
    module: Any = ModuleType(FORMATS)
    module.FormatProgram = SimpleNamespace(from_str="parses")
    spec.loader.exec_module(module)
    assert asked == [module]
    assert module.FormatProgram.from_str is LateFormat


def test_the_width_of_an_address_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one module is loaded, whatever happens."""
    before = platform.architecture
    load = inner["_LOADED"][INTERPRETER]
    found: list[Any] = []

    def read(module: ModuleType) -> None:
        found.append((module, platform.architecture("x", "y")))

    module = ModuleType(INTERPRETER)
    load(module, read)
    assert found == [(module, (f"{sys.maxsize.bit_length() + 1}bit", ""))]
    assert platform.architecture is before

    def fail(module: ModuleType) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        load(module, fail)
    assert platform.architecture is before
    monkeypatch.setattr(sys, "maxsize", (1 << 31) - 1)
    load(module, read)
    assert found[-1][1] == ("32bit", "")


def test_a_format_is_parsed_with_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """And then kept."""
    made: list[Any] = []

    class Parser:
        def __init__(self, *given: Any) -> None:
            made.append(given)

        def parse_format(self) -> Any:
            return SimpleNamespace(
                parse=lambda parser, kind: ("parsed", parser, kind),
                print=lambda printer, op: made.append((printer, op)),
            )

    module = import_module("xdsl.irdl.declarative_assembly_format_parser")
    monkeypatch.setattr(module, "FormatParser", Parser)
    late: Any = LateFormat("text", "definition")  # pyright: ignore
    assert made == []
    assert late.parse("parser", "kind") == ("parsed", "parser", "kind")
    late.print("printer", "op")
    assert made == [("text", "definition"), ("printer", "op")]


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ((700, 11, 12), (NEW_OBJECTS, 11, 12)),
        ((NEW_OBJECTS + 1, 11, 12), (NEW_OBJECTS + 1, 11, 12)),
        ((0, 11, 12), (0, 11, 12)),
    ],
)
def test_searches_in_a_block(
    before: tuple[int, int, int],
    inside: tuple[int, int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of what was set; a process that never searches isn't set at all."""
    state = [before]
    calls: list[tuple[int, ...]] = []

    def put(*threshold: int) -> None:
        calls.append(threshold)
        state[0] = (*threshold, *state[0][len(threshold) :])[:3]  # pyright: ignore

    monkeypatch.setattr(gc, "get_threshold", lambda: state[0])
    monkeypatch.setattr(gc, "set_threshold", put)
    monkeypatch.setattr(garbage, "_BEFORE", [])
    with rare_collections():
        assert state == [inside]
    assert calls == [*([inside] if before[0] else []), before]
    assert vars(garbage)["_BEFORE"] == []


def test_a_command_freezes_its_objects_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    exits = SimpleNamespace(
        register=lambda call: calls.append(("+", call)),
        unregister=lambda call: calls.append(("-", call)),
    )
    monkeypatch.setattr(garbage, "atexit", exits)
    monkeypatch.setattr(gc, "set_threshold", lambda *given: calls.append(given))
    search_rarely()
    assert calls == [(NEW_OBJECTS,), ("-", gc.freeze), ("+", gc.freeze)]
    assert NEW_OBJECTS == 1_000_000
