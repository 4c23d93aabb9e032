"""Run a few ops written as text in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence

from qlower.interp import Array, run_function
from qlower.text.parsing import parse_module


def evaluate_text(
    body: str, arguments: Sequence[tuple[str, str, object]], result: str
) -> Array:
    """The value %r of type `result` that the ops in `body` compute.

    Arguments are (name, type, value), such as ("a", "i32", 7).
    """
    declared = ", ".join(f"%{name}: {kind}" for name, kind, _ in arguments)
    module = parse_module(
        f"func.func @main({declared}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"
    )
    (value,) = run_function(module, "main", [value for *_, value in arguments])
    return value
