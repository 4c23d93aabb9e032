"""Mutants of MLIR text, and judging them in processes that may die.

A mutant changes tokens for others of their kind: numbers, types, operations, values,
keywords, buffers and schedules; or drops, repeats and swaps lines.
"""

from __future__ import annotations

import gc
import os
import random
import re
import resource
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

SECONDS = 10.0
"""Processor time of one mutant; most take a tenth."""

MEMORY = 4 << 30
"""Bytes of address space that a process has, besides what it begins with."""

_TOKEN = re.compile(
    r"(?P<layout>#kernel\.\w+(?:<[^>]*>)?)|(?P<name>%[\w#]+)"
    r"|(?P<type>\b[iuf]\d+\b|\bindex\b)|(?P<number>-?\b\d+(\.\d+)?(e[-+]?\d+)?\b)|(?P<op>\b(?:arith|math|fixed|tensor|linalg|qnn|quant|tosa|stablehlo|kernel)\.\w+)"
    r"|(?P<word>\b[a-z_]{3,}\b)"
)
_NUMBERS = "0 1 -1 2 3 7 8 31 32 63 64 127 -128 255 1000 65536 2147483647 -2147483648"
_REALS = "0.0 -0.0 1.0e-45 1.0e38 -1.5 0.5 2147483648.0 1.0e-8"
_LAYOUTS = """#kernel.arena<0> #kernel.arena<1> #kernel.arena<64>
#kernel.arena<1000000000> #kernel.output<0> #kernel.output<1> #kernel.output<99>
#kernel.unstored #kernel.box #kernel.tile<1,1> #kernel.tile<5,3> #kernel.tile<99,8>
#kernel.tile<0,1> #kernel.tile<2,9> #kernel.tile_registers #kernel.nothing"""
_TYPES = "i1 i3 i8 i12 i16 i24 i32 i48 i64 i128 f16 f32 f64 index"


def mutate(text: str, choice: random.Random) -> str:
    """The text with one to three changes."""
    mutant = text
    for _ in range(choice.choice((1, 1, 1, 2, 3))):
        mutant = _change(mutant, choice)
    return mutate(text, choice) if mutant == text else mutant


def _change(text: str, choice: random.Random) -> str:
    if choice.random() < 0.12:
        lines = text.split("\n")
        first, second = (choice.randrange(len(lines)) for _ in range(2))
        match choice.randrange(3):
            case 0:
                del lines[first]
            case 1:
                lines.insert(second, lines[first])
            case _:
                lines[first], lines[second] = lines[second], lines[first]
        return "\n".join(lines)
    tokens = list(_TOKEN.finditer(text))
    kinds = ("name", "type", "number", "number", "number", "op", "word", "layout")
    there = {token.lastgroup for token in tokens}
    kind = choice.choice([kind for kind in kinds if kind in there])
    same = [token for token in tokens if token.lastgroup == kind]
    old = choice.choice(same)
    new = choice.choice(same)[0]
    if kind == "type" and choice.random() < 0.6:
        new = choice.choice(_TYPES.split())
    elif kind == "number" and choice.random() < 0.7:
        new = choice.choice((_REALS if "." in old[0] else _NUMBERS).split())
    elif kind == "layout" and choice.random() < 0.7:
        new = choice.choice(_LAYOUTS.split())
    if kind == "type" and choice.random() < 0.5:  # everywhere: more of them verify
        return re.sub(rf"(?<!\w){re.escape(old[0])}(?!\w)", new, text)
    return text[: old.start()] + new + text[old.end() :]


def judge_all(
    mutants: Sequence[str],
    judge: Callable[[str], str],
    *,
    seconds: float = SECONDS,
    memory: int = MEMORY,
) -> list[str]:
    """What `judge` says of each, or what ended its process."""
    outcomes: list[str] = []
    while len(outcomes) < len(mutants):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            rest = mutants[len(outcomes) :]
            _judge_in_process(rest, judge, writing, seconds, memory)
        os.close(writing)
        with os.fdopen(reading) as lines:
            outcomes += [line.rstrip("\n") for line in lines]
        _, status = os.waitpid(process, 0)
        if status != 0:
            outcomes.append(f"fault: the process ended with status {status}")
    return outcomes


def _judge_in_process(
    mutants: Sequence[str],
    judge: Callable[[str], str],
    writing: int,
    seconds: float,
    memory: int,
) -> None:
    """Write a line for each mutant, and end the process."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds} s")

    signal.signal(signal.SIGVTALRM, interrupt)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()
    gc.set_threshold(200_000, 5, 5)
    for mutant in mutants:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            outcome = judge(mutant)
        except BaseException as error:
            outcome = f"fault: {type(error).__name__}: {error}"
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        os.write(writing, (outcome.replace("\n", " ")[:500] + "\n").encode())
    os._exit(0)
