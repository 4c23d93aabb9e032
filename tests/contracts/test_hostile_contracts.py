"""Contracts that recurse, loop or explode are refused at their place, and soon."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.machines.counted_calls import counted_calls

from qlower.contracts import LARGEST_TEXT, load_contract
from qlower.contracts.calls import DEEPEST_CALLS, MOST_FUNCTIONS
from qlower.diagnostics import QlowerError

MOST_CALLS = 10_000_000
"""Of functions, for any of them; a second's work or so, when it isn't counted."""

HEAD = """func.func @requantize(%x: i32 {contract.value = "input"}) -> i32 {
  %y = func.call @f0(%x) : (i32) -> i32
  return %y : i32
}
"""


def calls(count: int, each: int) -> str:
    """A chain of functions, each of which calls the next one so many times."""
    lines = [HEAD]
    for number in range(count):
        lines.append(f"func.func private @f{number}(%x0: i32) -> i32 {{")
        lines += [
            f"%x{i + 1} = func.call @f{number + 1}(%x{i}) : (i32) -> i32"
            for i in range(each)
        ]
        lines.append(f"return %x{each} : i32 }}")
    lines.append(f"func.func private @f{count}(%x: i32) -> i32 {{ return %x : i32 }}")
    return "\n".join(lines)


HOSTILE = {
    "self": (
        'module attributes {contract.base = "self.mlir"} {}',
        "self.mlir:1:20: error: the base self.mlir is based on this contract",
    ),
    "first": (
        '\nmodule attributes {contract.base = "second.mlir"} {}',
        "second.mlir:3:20: error: the base first.mlir is based on this contract",
    ),
    "second": (
        '\n\nmodule attributes {contract.base = "first.mlir"} {}',
        "first.mlir:2:20: error: the base second.mlir is based on this contract",
    ),
    "unknown": (
        'module attributes {contract.base = "tflit"} {}',
        "unknown.mlir:1:20: error: there is no contract 'tflit'",
    ),
    "missing": (
        'module attributes {contract.base = "none.mlir"} {}',
        "missing.mlir:1:20: error: contract none.mlir can't be read",
    ),
    "loop": (
        HEAD.replace(
            "%y = func.call @f0(%x) : (i32) -> i32\n", "cf.br ^a ^a: "
        ).replace("return %y : i32", "cf.br ^a"),
        "loop.mlir:1:1: error: function requantize has 2 blocks",
    ),
    "blocks": (
        "module {\n^a:\n^b:\n}",
        "blocks.mlir:1:1: error: a contract's functions are in one block, not 2",
    ),
    "nothing": (
        '"builtin.module"() ({}) : () -> ()',
        "nothing.mlir:1:1: error: a contract's functions are in one block, not 0",
    ),
    "recursion": (
        HEAD.replace("@f0", "@requantize"),
        "recursion.mlir:1:1: error: function requantize calls itself",
    ),
    "deep": (
        calls(DEEPEST_CALLS + 1, 1),
        "deep.mlir:1:1: error: function requantize calls through more than",
    ),
    "doubling": (calls(40, 2), "operations when its calls are inlined, more than"),
    "many": (calls(MOST_FUNCTIONS, 0), "a contract has at most"),
    "long": ("// " + LARGEST_TEXT * "x", "long.mlir:1:1: error: "),
    "cut": (HEAD[: HEAD.rindex("}")], "cut.mlir:4:1: error: unexpected end of text"),
}


@pytest.mark.parts(3)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_contracts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stem, (text, _) in HOSTILE.items():
        (tmp_path / f"{stem}.mlir").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QlowerError) as caught, counted_calls() as calls:
        load_contract(f"{name}.mlir")
    assert calls.count < MOST_CALLS
    assert HOSTILE[name][1] in str(caught.value)
    assert caught.value.location is not None
