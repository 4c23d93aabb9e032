"""The function that says which level a processor runs, beside one that stands in."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence

import pytest
from support.machines.straight_code import load_function

from qlower.codegen.llvm.module import Module
from qlower.codegen.program.levels import add_alias, add_level_function
from qlower.codegen.targets.processor import WORDS, Processor
from qlower.codegen.targets.resolve import host_target

BITS = {"a": {0: 1}, "b": {0: 4}, "c": {1: 2, 0: 8}, "d": {1: 1 << 40}}
HAS = {
    "nothing": (0, 0),
    "a": (1, 0),
    "a and b": (5, 0),
    "half of c": (8 + 5, 0),
    "all but d": (8 + 5, 2),
    "all": (8 + 5, 2 + (1 << 40)),
}
LEVELS: list[tuple[list[str], dict[str, int]]] = [
    # what each level needs, and the level that is run
    (["", "a", "ab"], {"nothing": 1, "a": 2, "a and b": 3, "all": 3}),
    (["a", "b"], {"nothing": 0, "a": 1, "a and b": 2}),
    (["", "abc"], {"a and b": 1, "half of c": 1, "all but d": 2}),
    (["a", "d"], {"all but d": 1, "all": 2}),
    (["", "", ""], {"nothing": 3}),
]


def level(
    needs: Sequence[str], words: Sequence[int], *, remembers: bool
) -> tuple[list[int], set[str], str]:
    """What two calls give, the features that are asked for, and the code."""
    asked: set[str] = set()

    def add_reader(module: Module, features: Collection[str]) -> None:
        asked.update(features)
        lines = [f"define internal void @{WORDS}(ptr %words) {{"]
        for number, word in enumerate(words):
            lines += [
                f"%p{number} = getelementptr i64, ptr %words, i64 {number}",
                f"store i64 {word}, ptr %p{number}",
            ]
        module.texts.append("\n".join([*lines, "ret void", "}"]))

    host = host_target()
    module = Module(host.triple, host.function_attributes)
    processor = Processor(BITS, len(words), add_reader, remembers)
    add_level_function(
        module, "toy_level", processor, [frozenset(one) for one in needs]
    )
    add_alias(module, "f", "toy_level")
    text = "\n".join(
        line
        for line in str(module).splitlines()
        if not line.startswith(("declare void @" + WORDS, "declare i32 @toy_level"))
        and not line.startswith("declare i32 @known.level.now")
    )
    library = load_function(text, host)
    call = ctypes.CFUNCTYPE(ctypes.c_int32)(library["f"])
    return [call(), call()], asked, text


@pytest.mark.parametrize("remembers", [False, True])
@pytest.mark.parametrize(("needs", "wanted"), LEVELS)
def test_levels(needs: list[str], wanted: dict[str, int], remembers: bool) -> None:
    """The last one whose needs are all met, each time it is asked."""
    for has, number in wanted.items():
        found, asked, text = level(needs, HAS[has], remembers=remembers)
        assert found == [number, number]
        assert asked == set("".join(needs))
        is_kept = remembers and any(needs)
        assert ("@known.level = internal global i32 -1" in text) is is_kept


@pytest.mark.parametrize("count", [1, 3])
def test_nobody_to_ask(count: int) -> None:
    """Then the last level is what runs."""
    module = Module("x", "")
    add_level_function(module, "toy_level", None, [frozenset("a")] * count)
    assert f"ret i32 {count}" in str(module)
