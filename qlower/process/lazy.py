"""Names that are imported when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(where: str) -> Callable[[], Any]:
    """A function that gives what `where` says, `package.module:Name` or a module."""

    def get() -> Any:
        place, _, name = where.partition(":")
        module = import_module(place)
        return getattr(module, name) if name else module

    return get


def lazy_table(table: Mapping[str, str]) -> dict[str, Callable[[], Any]]:
    """`lazy` for every entry."""
    return {key: lazy(where) for key, where in table.items()}


def lazy_attributes(module: str, table: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`, for names of `table` with what they are for `lazy`."""

    def get(name: str) -> Any:
        if name not in table:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return lazy(table[name])()

    return get
