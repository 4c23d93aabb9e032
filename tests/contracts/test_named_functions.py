"""Functions of contracts that Python calls by their names are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import qlower
from qlower.contracts import load_contract

PRODUCT = Path(qlower.__file__).parent

CALLS = {"call_function": 1, "call_results": 1, "text": 0}
"""What calls a function of a library, and which argument names the library."""


def words(tree: ast.Module) -> dict[str, str]:
    """The constants of a module that are words."""
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }


def names_in(path: Path) -> Iterator[tuple[str, str, int | None]]:
    """Library, function, and the number of operands that are written out."""
    text = path.read_text()
    if not re.search(rf"(?<![\w.])(?:{'|'.join(CALLS)})\(", text):
        return
    tree = ast.parse(text)
    known = words(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        at = CALLS.get(node.func.id)
        if at is None or len(node.args) < at + 2:
            continue
        given = node.args[at : at + 2]
        library, name = (
            known.get(one.id)
            if isinstance(one, ast.Name)
            else one.value
            if isinstance(one, ast.Constant)
            else None
            for one in given
        )
        if isinstance(library, str) and isinstance(name, str):
            operands = node.args[at + 2 :]
            has_all = at and not any(isinstance(one, ast.Starred) for one in operands)
            yield library, name, len(operands) if has_all else None


@pytest.mark.parts(5)
def test_functions_that_are_called_by_name() -> None:
    found = [
        (path, *call)
        for path in sorted(PRODUCT.rglob("*.py"))
        for call in names_in(path)
    ]
    assert len(found) > 50
    for path, library, name, count in found:
        where = f"{path.relative_to(PRODUCT)}: {name} of {library}"
        try:
            function = load_contract(library).definition.function(name)
        except (KeyError, ValueError):
            pytest.fail(where)
        inputs = function.function.function_type.inputs
        assert count in (None, len(inputs)), where
