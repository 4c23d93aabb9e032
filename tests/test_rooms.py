"""Imports point down: each room of the package stands on those below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

import qlower

FLOORS = (
    ("diagnostics", "operators", "process", "version"),
    ("dialects", "kept"),
    ("files",),
    ("interp", "tables", "text"),
    ("contracts", "model"),
    ("emit",),
    ("frontends", "semantics", "tally"),
    ("codegen",),
    ("transforms",),
    ("runtime", "universe"),
    ("compilation",),
    ("emulation", "exports", "inspection"),
    ("bench", "contract_pages", "packages", "validation"),
    ("observe",),
    ("sides",),
    ("explain",),
    ("verification",),
    ("circuits", "identification", "report"),
    ("exploration",),
    ("api", "torch"),
    ("improvement",),
    ("cli",),
    ("__init__", "__main__"),
    ("docs",),
)
"""The rooms, the lowest floor first. A room imports from its own floor only itself."""

FRONT_ENDS = (
    ("import_options", "linalg", "model_files", "scalars", "site"),
    ("accessor", "budget", "ranking", "tosa"),
    ("signature",),
    ("entry", "format"),
    ("graph",),
    ("espdl", "ncnn", "onnx", "pt2", "tflite", "tpu"),
    ("digest", "fx"),
    ("converted", "fused_additions", "linear_sequences", "readings"),
    ("load",),
    ("check", "in_memory"),
    ("__init__",),
)
"""The rooms in `frontends`: what formats share is below all of them."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
ROOT = Path(qlower.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def room(module: str) -> str:
    """The room of a module that is named from the package on."""
    return module.removeprefix("qlower").strip(".").partition(".")[0] or "__init__"


def module_of(path: Path) -> str:
    """The module of a file, an `__init__` as its package's."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    if parts[-1] == "__init__" and len(parts) > 2:
        parts = parts[:-1]
    return ".".join(parts)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a module or statement, and what they are listed in."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            yield child
            yield from statements(child)


@cache
def imports(path: Path) -> Sequence[str]:
    """The modules of ours that a file imports anywhere in it."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    package = path.relative_to(ROOT.parent).parent.parts
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imports_in_front_ends(path: Path) -> Iterator[tuple[str, str]]:
    """Pairs of a module of `frontends` and another that it takes something from."""
    own = module_of(path).removeprefix("qlower.frontends").strip(".")
    for module in imports(path):
        if module.startswith("qlower.frontends."):
            yield own, module.removeprefix("qlower.frontends.")


def test_every_room_has_a_floor() -> None:
    assert {room(module_of(path)) for path in FILES} == set(FLOOR)


@pytest.mark.parametrize("own", FLOOR)
def test_imports_point_down(own: str) -> None:
    for path in (path for path in FILES if room(module_of(path)) == own):
        for module in imports(path):
            if module.split(".")[0] == "qlower":
                other = room(module)
                assert other == own or FLOOR[other] < FLOOR[own], (path, module)


def test_a_model_of_one_format_needs_no_other_front_end() -> None:
    (formats,) = (rooms for rooms in FRONT_ENDS if "tflite" in rooms)
    (shared,) = (rooms for rooms in FRONT_ENDS if "readings" in rooms)
    files = [path for path in FILES if "frontends" in path.parts]
    for own, other in (pair for path in files for pair in imports_in_front_ends(path)):
        is_for_all = own in (*shared, "load")
        assert not is_for_all or other.split(".")[0] not in formats, (own, other)


def test_front_ends_stand_on_what_they_share() -> None:
    floor = {room: at for at, rooms in enumerate(FRONT_ENDS) for room in rooms}
    files = [path for path in FILES if "frontends" in path.parts]
    for own, other in (pair for path in files for pair in imports_in_front_ends(path)):
        one, below = (name.split(".")[0] or "__init__" for name in (own, other))
        assert one == below or floor[below] < floor[one], (own, other)
