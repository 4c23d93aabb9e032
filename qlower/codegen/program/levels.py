"""The choice of the level of an object that runs, by the processor's features.

    int32_t <name>_level(void);

gives the number of a level, from 1 on, or 0 where the processor has none of them. The
choice is a pure function of what the processor says (`WORDS`): the last level whose
needs it meets, so that levels are listed from the least to the most.

It is made anew in every call where asking is cheap. Where it isn't, the object keeps
the number in one word of memory, the only one that it writes to: the first call
stores what all others would store too, so calls stay re-entrant and need no order. An
indirect function (IFUNC) would spare that word, but musl loads none.
"""

from __future__ import annotations

from collections.abc import Sequence

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I1, I32, I64, Value, constant, symbol
from qlower.codegen.targets.processor import WORDS, Processor

_KNOWN = "known.level"
"""No name of C, so that no model can be called so."""


def add_level_function(
    module: Module,
    name: str,
    processor: Processor | None,
    needs: Sequence[frozenset[str]],
) -> None:
    """Define the function `name`, and what it calls, for levels with `needs`."""
    f = Function(module, name, [], [], result=I32, internal=False)
    if processor is None or not any(needs):
        return f.finish(constant(I32, len(needs)))
    processor.add_reader(module, frozenset[str]().union(*needs))
    if not processor.remembers:
        return f.finish(_choice(f, processor, needs))
    module.globals.append(f"@{_KNOWN} = internal global i32 -1, align 4")
    known = symbol(_KNOWN)

    def find() -> None:
        f.store_atomic(f.call(f"{_KNOWN}.now", I32, []), known, 4)

    f.when(f.compare("slt", f.load_atomic(I32, known, 4), constant(I32, 0)), find)
    f.finish(f.load_atomic(I32, known, 4))
    now = Function(module, f"{_KNOWN}.now", [], [], result=I32)
    now.finish(_choice(now, processor, needs))


def add_alias(module: Module, name: str, known: str) -> None:
    """Define a function `name` that gives what the level function `known` gives."""
    f = Function(module, name, [], [], result=I32, internal=False)
    f.finish(f.call(known, I32, []))


def _choice(
    f: Function, processor: Processor, needs: Sequence[frozenset[str]]
) -> Value:
    """The number of the last level whose needs the processor meets."""
    words = f.allocate(8 * processor.words, 8)
    f.call_function(WORDS, [words])
    level = constant(I32, 0)
    for number, features in enumerate(needs, 1):
        has = constant(I1, 1)
        for word, bits in processor.masks(features).items():
            wanted = constant(I64, bits)
            told = f.load(I64, f.at(words, constant(I64, 8 * word)), 8)
            same = f.compare("eq", f.binary("and", told, wanted), wanted)
            has = f.binary("and", has, same)
        level = f.select(has, constant(I32, number), level)
    return level
