"""Aliases that stand for more than anyone could read are refused where that begins."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region

import qlower
from qlower.diagnostics import QlowerError
from qlower.text.aliases import LARGEST_EXPANSION
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

Bomb = Callable[[int], str]
"""Text that stands for 2^n elements."""


def _chain(first: str, step: str, count: int) -> str:
    lines = [step.replace("$m", str(n)).replace("$n", str(n + 1)) for n in range(count)]
    return "\n".join([first, *lines, ""])


def _used(alias: str) -> str:
    return SMALL_MODEL.replace("attributes {", f"attributes {{x = {alias}, ", 1)


BOMBS: dict[str, Bomb] = {
    "array": lambda n: (
        _chain("#a0 = [1, 1]", "#a$n = [#a$m, #a$m]", n) + _used(f"#a{n}")
    ),
    "dictionary": lambda n: (
        _chain("#a0 = {}", "#a$n = {a = #a$m, b = #a$m}", n) + _used(f"#a{n}")
    ),
    "tuple": lambda n: (
        _chain("!t0 = tuple<i8, i8>", "!t$n = tuple<!t$m, !t$m>", n) + _used(f"!t{n}")
    ),
    "function": lambda n: (
        _chain("!t0 = i8", "!t$n = (!t$m, !t$m) -> !t$m", n) + _used(f"!t{n}")
    ),
    "location": lambda n: (
        _chain('#l0 = loc("a")', "#l$n = loc(fused[#l$m, #l$m])", n)
        + f"{SMALL_MODEL.rstrip()} loc(#l{n})\n"
    ),
    "early location": lambda n: (
        _chain('#loc0 = loc("a")', "#loc$n = loc(fused[#loc$m, #loc$m])", n)
        + f"{SMALL_MODEL.rstrip()} loc(#loc{n})\n"
    ),
    "many uses": lambda n: (
        _chain("#a0 = [1, 1]", "#a$n = [#a$m, #a$m]", min(n, 14))
        + _used(f"[{', '.join(['#a14'] * (1 << max(0, n - 14)))}]")
    ),
}


@pytest.mark.parametrize("kind", BOMBS)
@pytest.mark.parametrize("size", [22, 39])
def test_what_aliases_stand_for_is_limited(kind: str, size: int, tmp_path: Path):
    if kind == "many uses" and size > 30:
        pytest.skip("has no short text")
    path = tmp_path / "model.mlir"
    path.write_text(BOMBS[kind](size))
    before = time.process_time()
    with pytest.raises(QlowerError, match=f"more than {LARGEST_EXPANSION} ele") as e:
        qlower.load(path)
    assert str(e.value).startswith(f"{path}:")
    assert time.process_time() - before < 2


@pytest.mark.parts(7)
@pytest.mark.parametrize("kind", BOMBS)
def test_aliases_of_aliases_are_read(kind: str, tmp_path: Path):
    path = tmp_path / "model.mlir"
    path.write_text(BOMBS[kind](14 if kind == "many uses" else 8))
    x = np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1)
    assert (qlower.jit(path)(x) == qlower.interpret(path, x)).all()


@pytest.mark.parametrize(
    "text",
    [
        _chain("#a0 = [1]", "#a$n = [#a$m]", 500) + _used("#a500"),
        _used("[" * 300 + "1" + "]" * 300),
        _used("tuple<" * 300 + "i8" + ">" * 300),
        f"{SMALL_MODEL.rstrip()} loc({'callsite(' * 300}unknown{' at unknown)' * 300})",
    ],
    ids=["aliases", "brackets", "types", "locations"],
)
def test_what_is_nested_is_limited(text: str):
    with pytest.raises(QlowerError, match="nested"):
        parse_module(text)


def test_what_ended_is_no_nesting():
    """Lists beside each other in each of seventy aliases, which count twice."""
    text = _chain("#a0 = [1]", "#a$n = [[1], [1], #a$m]", 70) + _used("#a70")
    assert parse_module(text)


def test_what_ended_makes_nothing_less_deep():
    for beside in ("[1], ", "[1], [1], ", "[[[1]]], "):
        text = _chain("#a0 = [1]", f"#a$n = [{beside}#a$m]", 200) + _used("#a200")
        with pytest.raises(QlowerError, match="more than 150 attributes are nested"):
            parse_module(text)


def test_what_was_built_too_deep_is_refused_too():
    """Regions that no text held."""
    block = Block()
    module = ModuleOp([ModuleOp(Region(block))])
    for _ in range(1_000):
        inner = Block()
        block.add_op(ModuleOp(Region(inner)))
        block = inner
    with pytest.raises(QlowerError, match="regions are nested too deeply"):
        verify_module(module)
