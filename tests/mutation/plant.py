"""A mutant in the product as it is imported: a function's code is exchanged.

That saves the import of product and tests for each mutant, which takes longer than most
mutants live.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

from mutation.sites import Mutant

OWN = ("qlower", "support")
"""Packages that are imported from a tree."""

LEFT_OUT = ("qlower.docs", "qlower.__main__")
"""They run a command, or need an extra, where they are imported."""


def import_product(tree: Path) -> None:
    """Import all of the tree's product, and what its tests share."""
    sys.path[:0] = [str(tree), str(tree / "tests")]
    for package in OWN:
        found = importlib.import_module(package)
        for info in pkgutil.walk_packages(found.__path__, f"{package}."):
            if not info.name.startswith(LEFT_OUT):
                # What needs a package that isn't there is imported by no test.
                with suppress(Exception):
                    importlib.import_module(info.name)


def forget_product() -> None:
    """Let the product be imported anew."""
    for name in list(sys.modules):
        if name.partition(".")[0] in OWN:
            del sys.modules[name]


def plant(tree: Path, mutant: Mutant) -> None:
    """Exchange the code of the function that the mutant is in. Raises LookupError for
    one that has no name of its own, such as a class's or a decorator's."""
    text = (tree / mutant.file).read_text()
    names = [
        name
        for first, last, name in _functions(ast.parse(text))
        if first <= mutant.line <= last
    ]
    if not names:
        raise LookupError(mutant.file)
    module = mutant.file.removesuffix(".py").replace("/", ".")
    value: Any = importlib.import_module(module.removesuffix(".__init__"))
    for part in names[0].split("."):
        value = vars(value)[part]
    changed = compile(mutant.apply(text), str(tree / mutant.file), "exec")
    function = _unwrapped(value)
    if function.__code__.co_qualname != names[0]:
        raise LookupError(names[0])
    function.__code__ = _code(changed, names[0])


def _functions(tree: ast.Module) -> Iterator[tuple[int, int, str]]:
    """First and last line of the bodies of a module's functions and its classes', and
    their names; what they hold themselves changes with them."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, before = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                assert child.end_lineno is not None
                yield child.body[0].lineno, child.end_lineno, before + child.name
            else:
                name = f"{child.name}." if isinstance(child, ast.ClassDef) else ""
                waiting.append((child, before + name))


def _unwrapped(value: Any) -> Any:
    """The function below decorators."""
    while True:
        match value:
            case property():
                value = value.fget
            case functools.cached_property():
                value = value.func
            case _ if hasattr(value, "__wrapped__"):
                value = value.__wrapped__
            case _:
                if not hasattr(value, "__code__"):
                    raise LookupError(repr(value))
                return value


def _code(code: CodeType, name: str) -> CodeType:
    """The code of a function within a module's."""
    waiting = [code]
    while waiting:
        one = waiting.pop()
        if one.co_qualname == name:
            return one
        waiting += [held for held in one.co_consts if isinstance(held, CodeType)]
    raise LookupError(name)
