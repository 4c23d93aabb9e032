"""The stack that code takes, read off LLVM's assembly.

LLVM's library interface doesn't give the size of frames, so it is read from the
instructions that move the stack pointer. Every instruction that lowers it counts,
wherever in a function it is, so the result is a bound; a move that isn't known here
makes it unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

_UNITS: Mapping[str, Callable[[str], int]] = {
    "bytes": int,
    "more": int,
    "pages": lambda text: int(text) << 12,
    "words": lambda text: 4 * len(text.split(",")),
    "doubles": lambda text: 8 * len(text.split(",")),
    "low": lambda text: (1 << int(text)) - 1,
    "mask": lambda text: (1 << 64) - int(text, 16),
}
"""The bytes that a group of a pattern means, by its name: a number, a list of
registers, or a mask or bits for alignment."""


@dataclass(frozen=True)
class StackUse:
    """Bytes of stack that a call takes at most, None where that isn't known.

    `outside` are functions of other objects that it calls; what they take comes on top.
    """

    bytes: int | None
    outside: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Syntax:
    """The forms in an architecture's assembly that move the stack pointer, and call.

    `takes` are patterns of what moves it down, with groups of `_UNITS`; `restores` of
    what moves it back, and `moves` of all that does either. `calls` has the name of the
    function, `indirect` has none. `below` are accesses under the stack pointer. A call
    itself takes `call_bytes`.
    """

    takes: tuple[str, ...]
    restores: str
    moves: str
    calls: str
    indirect: str
    below: str = r"(?!)"
    call_bytes: int = 0


_SYNTAX = {
    "x86_64": _Syntax(
        takes=(
            r"\tpush\w*\t(?P<doubles>%\w+)$",
            r"\t(?:subq\t\$|(?:addq|andq)\t\$-)(?P<bytes>\d+), %rsp$",
        ),
        restores=r"\t(addq\t\$\d+|subq\t\$-\d+|movq\t%rbp|leaq\t-\d+\(%rbp\)), %rsp$",
        moves=r"\t(?!cmp|test)\w+\t.*, %[re]sp$",
        calls=r"\t(?:call|jmp)q?\t(?!\.L)([\w.$]+)",
        indirect=r"\t(?:call|jmp)q?\t\*",
        below=r"-(\d+)\(%rsp",
        call_bytes=8,
    ),
    "aarch64": _Syntax(
        takes=(
            r"\[sp, #-(?P<bytes>\d+)\]!$",
            r"\tsub\t\w+, sp, #(?:(?P<pages>\d+), lsl #12|(?P<bytes>\d+))$",
            r"\tsub\t(x\d+), sp, #\d+, lsl #12\n\tsub\t\1, \1, #(?P<bytes>\d+)$",
            r"\tand\tsp, x\d+, #(?P<mask>0x\w+)$",
        ),
        restores=r"\t(add\tsp, sp, #.*|sub\tsp, x29, #\d+|mov\tsp, x29)$",
        moves=r"\t\w+\tsp, .*$",
        calls=r"\tbl?\t(?!\.L)([\w.$]+)$",
        indirect=r"\tbl?r\t",
    ),
    "thumbv7em": _Syntax(
        takes=(
            r"\tv?push(?:\.w)?\t\{(?P<words>[rsl][\w, ]*)\}$",
            r"\tvpush\t\{(?P<doubles>d[\w, ]*)\}$",
            r"\[sp, #-(?P<bytes>\d+)\]!$",
            r"\tsubw?(?:\.w)?\tsp, (?:sp, )?#(?P<bytes>\d+)$",
        ),
        restores=r"\t(addw?(\.w)?\tsp, (sp, )?#\d+|subw?(\.w)?\tsp, r\d+, #\d+)$",
        moves=r"\t(?!v?stm|v?ldm)[\w.]+\tsp, .*$",
        calls=r"\tbl?(?:\.w)?\t(?!\.L)([\w.$]+)$",
        indirect=r"\tbl?x\tr",
    ),
    "riscv64": _Syntax(
        takes=(
            r"\taddi\tsp, sp, -(?P<bytes>\d+)$",
            r"\tlui\t(\w+), (?P<pages>\d+)\n(?:\taddiw?\t\1, \1, (?P<more>-?\d+)\n)?"
            r"\tsub\tsp, sp, \1$",
            r"\tandi\tsp, sp, -(?P<bytes>\d+)$",
        ),
        restores=r"\t(addi\tsp, (sp, |s0, -)\d+|add\tsp, sp, \w+)$",
        moves=r"\t\w+\tsp, .*$",
        calls=r"\t(?:call|tail)\t(?!\.L)([\w.$]+)$",
        indirect=r"\tj(?:al)?r\t(?!ra)",
    ),
    "wasm32": _Syntax(
        takes=(
            r"\tglobal\.get\t__stack_pointer\n\ti32\.const\t(?P<bytes>\d+)\n\ti32\.sub",
        ),
        restores=r"\tglobal\.set\t__stack_pointer$",
        moves=r"\tglobal\.set\t__stack_pointer$",
        calls=r"\t(?:return_)?call\t([\w.$]+)$",
        indirect=r"\tcall_indirect",
    ),
}
_SYNTAX["thumbv8m.main"] = _SYNTAX["thumbv8.1m.main"] = _SYNTAX["thumbv7em"]
_SYNTAX["thumbv7m"] = _SYNTAX["thumbv6m"] = _SYNTAX["thumbv7em"]
_SYNTAX["thumbv8m.base"] = _SYNTAX["thumbv7em"]
_SYNTAX["armv7"] = _SYNTAX["armv7a"] = replace(
    _SYNTAX["thumbv7em"],
    takes=(*_SYNTAX["thumbv7em"].takes, r"\tbfc\tsp, #0, #(?P<low>\d+)$"),
)
_SYNTAX["riscv32"] = _SYNTAX["riscv64"]
"""By architecture. Of WebAssembly, what lies in linear memory."""


def stack_use(assembly: str, architecture: str, function: str) -> StackUse:
    """The stack that a call of a function takes, with all functions that it calls."""
    syntax = _SYNTAX[architecture]
    bodies = _functions(assembly)
    outside: set[str] = set()

    @cache
    def depth(name: str) -> int | None:
        if name not in bodies:
            outside.add(name)
            return 0
        frame = _frame(bodies[name], syntax)
        for called in dict.fromkeys(_found(syntax.calls, bodies[name])):
            below = depth(called)
            if frame is None or below is None:
                return None
            deepest[name] = max(deepest.get(name, 0), below + syntax.call_bytes)
        return None if frame is None else frame + deepest.get(name, 0)

    deepest: dict[str, int] = {}
    bytes = depth(function)
    return StackUse(bytes, tuple(sorted(outside)))


def _functions(assembly: str) -> dict[str, str]:
    """The lines of each function, by its name."""
    names = set(_found(r"^\t\.type\t([\w.$]+),[@%]function$", assembly))
    parts = re.split(r"^([\w.$]+):.*$", assembly, flags=re.MULTILINE)
    bodies: dict[str, str] = {}
    current = ""
    for label, lines in zip(parts[1::2], parts[2::2], strict=True):
        current = label if not label.startswith(".L") else current
        if current in names:
            bodies[current] = bodies.get(current, "") + lines
    return bodies


def _frame(body: str, syntax: _Syntax) -> int | None:
    """Bytes that a function takes at most, but for what it calls; None if unknown."""
    known: set[int] = set()
    total = 0
    for pattern in syntax.takes:
        for match in re.finditer(pattern, body, re.MULTILINE):
            known.add(match.end())
            groups = match.groupdict()
            total += sum(_UNITS[name](text) for name, text in groups.items() if text)
    moves, restores = (
        {match.end() for match in re.finditer(pattern, body, re.MULTILINE)}
        for pattern in (syntax.moves, syntax.restores)
    )
    if moves - restores - known or re.search(syntax.indirect, body):
        return None
    return total + max(map(int, _found(syntax.below, body)), default=0)


def _found(pattern: str, text: str) -> list[str]:
    """The only group of each match."""
    return [match[1] for match in re.finditer(pattern, text, re.MULTILINE)]
