"""Messages about operations with one thing changed, for each operation of a dialect.

`changed_operations/` has what verifiers say of the operations of `filecheck/dialects`
with one size, type or number changed: a refusal, or `accepted`. `pytest
tests/test_changed_operations.py --bless` chooses changes of different kinds, and
records what they give now; explain a line that changes before you record it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from support.damage.operation_changes import changes
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from qlower.text.parsing import parse_module

DIALECTS = ("fixed", "kernel", "linalg", "qnn", "quant", "stablehlo", "tosa")
INNER = ("kernel.index", "kernel.yield", "linalg.yield")
"""Operations that are verified by where they are, or by xDSL."""

TEXTS = Path(__file__).parents[1] / "filecheck" / "dialects"
RECORDED = Path(__file__).with_name("changed_operations")


UNDEFINED = "not of its definition"
ACCEPTED = "accepted"


def answer(make: Callable[[], Operation]) -> str:
    """What is said of an operation, where its definition leaves anything to say: words
    of xDSL's change with its version."""
    try:
        op = make()
        assert isinstance(op, IRDLOperation)
        op.get_irdl_definition().verify(op)
    except Exception:  # of xDSL, which has no class for all of them
        return UNDEFINED
    try:
        op.verify_()
    except VerifyException as error:
        return str(error).partition("\n")[0]
    return ACCEPTED


@cache
def operations(dialect: str) -> dict[str, Operation]:
    """The dialect's operations by name and number."""
    text = (TEXTS / dialect / "ops.mlir").read_text()
    found: dict[str, Operation] = {}
    numbers: dict[str, int] = {}
    for op in parse_module(text, "ops.mlir").walk():
        is_own = type(op).__module__.startswith("qlower.dialects.")
        if is_own and op.name.startswith(f"{dialect}.") and op.name not in INNER:
            number = numbers[op.name] = numbers.get(op.name, 0) + 1
            found[f"{op.name} {number}"] = op
    return found


def template(text: str) -> str:
    """An answer without its numbers, names and types."""
    text = re.sub(r"!?quant\.uniform<.*?>+|tensor<[^>]*>+", "T", text)
    text = re.sub(r"(\b(i|ui|f|bf)\d+\b|T)( (->|i\d+|f\d+|T))*", "T", text)
    return re.sub(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(, #)*", "#", text)


def chosen(dialect: str) -> Iterator[str]:
    """The lines of a file: of each operation's answers of one kind the first two, of
    those that say nothing the first of each kind of change."""
    seen: dict[str, int] = {}
    for name, op in operations(dialect).items():
        lines: list[str] = []
        for change, changed in changes(op):
            told = answer(changed)
            if told == UNDEFINED:
                continue
            key = f"{op.name} {template(told)}"
            if told == ACCEPTED:
                key += template(change)
            seen[key] = seen.get(key, 0) + 1
            if seen[key] <= (2 if "#" in key and told != ACCEPTED else 1):
                lines.append(f"  {change} -> {told}")
        if lines:
            yield name
            yield from lines


@cache
def recorded(dialect: str) -> dict[str, dict[str, str]]:
    """The answer to each change of each operation."""
    found: dict[str, dict[str, str]] = {}
    told: dict[str, str] = {}
    for line in (RECORDED / f"{dialect}.txt").read_text().splitlines():
        if line.startswith(" "):
            change, _, answered = line.strip().partition(" -> ")
            told[change] = answered
        else:
            told = found[line] = {}
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_write(dialect: str, request: pytest.FixtureRequest) -> None:
    """Only with --bless: all files."""
    if request.config.getoption("--bless"):
        RECORDED.mkdir(exist_ok=True)
        text = "\n".join(chosen(dialect))
        (RECORDED / f"{dialect}.txt").write_text(f"{text}\n")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_changed_operations(dialect: str) -> None:
    for name, wanted in recorded(dialect).items():
        found = {
            change: answer(make)
            for change, make in changes(operations(dialect)[name])
            if change in wanted
        }
        assert found == wanted, name
