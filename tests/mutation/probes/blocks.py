"""Which blocks of the product run.

A block is what follows a branch: the body of a function, of a loop, of one arm of an
`if`. While a module is compiled, each of its blocks gets a statement that sets a byte
under the number of the block's first line. That is cheap enough for all tests to run
with all blocks. Files stay as they are. What is written names a block by its function
and its number there, so that it holds for a tree that has changed elsewhere.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import json
import os
from collections import defaultdict
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path

_NAME = "_reached_blocks"
_METHOD = "source_to_code"
_reached: dict[str, bytearray] = {}
_compile = SourceFileLoader.source_to_code


def blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements below functions that run under one condition."""
    found: list[list[ast.stmt]] = []
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            found.append(function.body)
            for node in ast.walk(function):
                if node is not function and not isinstance(
                    node, ast.FunctionDef | ast.ClassDef | ast.With
                ):
                    for field in ("body", "orelse", "finalbody"):
                        body = getattr(node, field, None)
                        if isinstance(body, list) and body:
                            found.append(body)
    return list({id(body): body for body in found}.values())


def named_blocks(tree: ast.AST) -> dict[int, tuple[str, int]]:
    """By its first line, the innermost function of each block and the block's number in
    it: names that stay when other functions change."""
    found: dict[int, tuple[str, int]] = {}

    def visit(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}".lstrip(".")
            if isinstance(child, ast.FunctionDef):
                for number, body in enumerate(blocks(child)):
                    found[body[0].lineno] = inner, number
            visit(child, inner)

    visit(tree, "")
    return found


def block_of(text: str, line: int) -> tuple[str, int]:
    """The innermost block that holds a line of a file."""
    tree = ast.parse(text)
    first = max(
        (
            body[0].lineno
            for body in blocks(tree)
            if body[0].lineno <= line <= (body[-1].end_lineno or 0)
        ),
        default=0,
    )
    return named_blocks(tree).get(first, ("", 0))


def _source_to_code(
    self: SourceFileLoader, data: bytes, path: str, *, _optimization: int = -1
) -> object:
    _, found, inside = path.rpartition("/qlower/")
    if not found:
        return _compile(self, data, path)
    tree = ast.parse(data)
    for body in blocks(tree):
        line = body[0].lineno
        position = int(_is_text(body[0]))
        mark = ast.parse(f"{_NAME}[{line}] = 1").body[0]
        body.insert(position, _at(mark, line))
    start = 0
    while start < len(tree.body) and (
        _is_text(tree.body[start])
        or (
            isinstance(first := tree.body[start], ast.ImportFrom)
            and first.module == "__future__"
        )
    ):
        start += 1
    lines = data.count(b"\n") + 2
    new = f"{_NAME} = __import__('builtins').{_NAME}('qlower/{inside}', {lines})"
    tree.body.insert(start, _at(ast.parse(new).body[0], 1))
    return compile(tree, path, "exec", dont_inherit=True, optimize=_optimization)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _at(statement: ast.stmt, line: int) -> ast.stmt:
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = 0
    return statement


def _blocks_of(file: str, lines: int) -> bytearray:
    return _reached.setdefault(file, bytearray(lines))


def start() -> None:
    """Record from here on, and in a process of a test write what it reached."""
    setattr(builtins, _NAME, _blocks_of)
    setattr(SourceFileLoader, _METHOD, _source_to_code)
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if test:
        atexit.register(lambda: write(test, 0, taken()))


def taken() -> dict[str, list[int]]:
    """The blocks that were reached since the last call, by their first lines."""
    found: dict[str, list[int]] = {}
    for file, reached in _reached.items():
        if 1 in reached:
            found[file] = [
                line for line, is_reached in enumerate(reached) if is_reached
            ]
            reached[:] = bytes(len(reached))
    return found


@cache
def _names(file: str) -> dict[int, tuple[str, int]]:
    return named_blocks(ast.parse((Path(os.environ["QLOWER_TREE"]) / file).read_text()))


def write(test: str, seconds: float, found: dict[str, list[int]]) -> None:
    named: dict[str, dict[str, list[int]]] = {}
    for file, lines in found.items():
        of_file = named[file] = defaultdict(list)
        for line in lines:
            name, number = _names(file)[line]
            of_file[name].append(number)
    with Path(os.environ["QLOWER_REACH"]).open("a") as file:
        file.write(json.dumps([test, seconds, named]) + "\n")
