"""Merging of functions that differ in numbers only into one that reads them from a
table.

Layers of one class run the same loops; they differ in bounds, strides and offsets. The
texts of their functions are the same but for a few literals. One function is left of
them, which is given the address of its layer's numbers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qlower.codegen.llvm.module import Module

_LAST = re.compile(
    r"(  %\S+ = (?:getelementptr inbounds i8, ptr \S+ |(?:add|sub|mul|udiv|ashr|icmp) "
    r"[a-z ]*))(i32|i64)( (?:\S+, )?)(-?\d+)"
)
"""Instructions whose last operand, a number, may also be a register; those whose first
operand may; and those with an operand that is a float."""

_FIRST = re.compile(
    r"(  %\S+ = (?:add|and|mul|sub) [a-z ]*)(i32|i64)( )(-?\d+)(?=, %\S+$)"
)
_FLOAT = re.compile(
    r"(  %\S+ = (?:fmul|fadd|fsub|fdiv) )(float)( \S+, )(0x[0-9A-F]{16})"
)
_SHIFT = re.compile(r"  (%\S+) = ashr i64 (\S+), (3[2-9]|[45]\d|6[0-3])")
"""A shift by at least a word: a shift of the upper 32 bits by the remainder."""

_LOCAL = re.compile(r"%v\d+\b|\b(?:loop|when)\d+\b")
"""Names that a function counts."""

_CALL = re.compile(
    r"  (?:%\S+ = )?call \S+ @(?!llvm\.)|  %\S+ = call i64 @llvm\.umin\."
)
"""Calls whose arguments may be registers: not those of other intrinsics."""

_ARGUMENT = re.compile(r"\b(i32|i64) (-?\d+)(?=[,)])")
_HEAD = re.compile(r"define ([^@]*) @[^(]+\((.*)\) (.*) \{")
_STORED = {"q": ("i64", 8), "i": ("i32", 4), "f": ("float", 4), "H": ("i16", 2)}
"""Formats of stored numbers: their type and its bytes, by struct's letter."""

_WEAKENED = re.compile(r" (?:noalias|readonly|dereferenceable\(\d+\))(?= )")
"""Attributes that one function may have, and another one not."""


@dataclass(frozen=True)
class _Number:
    """A literal; that of a float has the bits of a double in hexadecimal."""

    type: str
    text: str

    @property
    def value(self) -> int | float:
        if self.type != "float":
            return int(self.text)
        (value,) = struct.unpack(">d", bytes.fromhex(self.text[2:]))
        return float(value)


@dataclass(frozen=True)
class _Body:
    """A function: the `texts` between its `numbers`."""

    head: str
    texts: tuple[str, ...]
    numbers: tuple[_Number, ...]

    @staticmethod
    def of(text: str) -> _Body:
        head, body = _renamed(text).split("\n", 1)
        lines = _SHIFT.sub(_by_words, body).split("\n")
        texts, numbers = [""], list[_Number]()
        for line in lines:
            for before, number in _numbers(line):
                texts[-1] += before
                texts.append("")
                numbers.append(number)
                line = line[len(before) + len(number.text) :]
            texts[-1] += f"{line}\n"
        return _Body(head, tuple(texts), tuple(numbers))

    @property
    def form(self) -> tuple[str, ...]:
        """Equal for functions that may be one."""
        found = _HEAD.fullmatch(self.head)
        assert found is not None
        parts = found[1], _WEAKENED.sub("", found[2]), found[3]
        return (*parts, *self.texts)


def _renamed(text: str) -> str:
    """A function whose names are counted in the order of their appearance."""
    names: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        old = found[0]
        return names.setdefault(old, f"{old.rstrip('0123456789')}{len(names)}")

    return _LOCAL.sub(name, text)


def _by_words(found: re.Match[str]) -> str:
    """A shift of 64 bits by the upper word's, whose number of bits may be given."""
    name = found[1]
    return "\n".join(
        (
            f"  {name}.both = lshr i64 {found[2]}, 32",
            f"  {name}.high = trunc i64 {name}.both to i32",
            f"  {name}.word = ashr i32 {name}.high, {int(found[3]) - 32}",
            f"  {name} = sext i32 {name}.word to i64",
        )
    )


def _numbers(line: str) -> list[tuple[str, _Number]]:
    """The literals of a line that registers can replace, each with the text before
    it."""
    found = _LAST.fullmatch(line) or _FIRST.match(line) or _FLOAT.fullmatch(line)
    if found is not None:
        return [(found[1] + found[2] + found[3], _Number(found[2], found[4]))]
    if not _CALL.match(line):
        return []
    numbers: list[tuple[str, _Number]] = []
    end = 0
    for found in _ARGUMENT.finditer(line):
        numbers.append((line[end : found.start(2)], _Number(found[1], found[2])))
        end = found.end()
    return numbers


def join_alike(module: Module) -> dict[str, str]:
    """Leave one of the functions of a module's units that differ in numbers only. Gives
    the name of the one that is left for each that is gone."""
    bodies = {
        name: _Body.of(text)
        for unit in module.units or ()
        if unit.parameters is not None
        for name, text in unit.functions.items()
    }
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, body in bodies.items():
        groups.setdefault(body.form, []).append(name)
    tables: dict[str, tuple[str, str]] = {}
    for first, *others in groups.values():
        names = [first, *others]
        if not others:
            continue
        text, rows = _joined(first, [bodies[name] for name in names])
        _unit_of(module, first).functions[first] = text
        for name, row in zip(names, rows, strict=True):
            tables[name] = first, module.pass_constant(row).text
        module.units = [
            unit
            for unit in module.units or ()
            if not any(name in unit.functions for name in others)
        ]
    for one in module.modules:
        one.functions = {
            name: _recalled(text, tables) for name, text in one.functions.items()
        }
    return {name: first for name, (first, _) in tables.items()}


def _unit_of(module: Module, name: str) -> Module:
    return next(unit for unit in module.units or () if name in unit.functions)


def _joined(name: str, bodies: Sequence[_Body]) -> tuple[str, list[bytes]]:
    """The text of one function that replaces several, and the numbers of each of these.
    A number is stored in 16 bits without a sign, or 32 or 64 with one."""
    columns = list(zip(*(body.numbers for body in bodies), strict=True))
    differ = dict.fromkeys(column for column in columns if len({*column}) > 1)
    loads: list[str] = []
    names: dict[tuple[_Number, ...], str] = {}
    formats = "<"
    kinds = {column: _kind(column) for column in differ}
    for letter, (stored, size) in _STORED.items():  # the widest first: all aligned
        for column in (column for column, kind in kinds.items() if kind == letter):
            offset, number = struct.calcsize(formats), f"%n{len(names)}"
            formats += letter
            names[column] = number
            is_whole = column[0].type == stored
            read = number if is_whole else f"{number}.stored"
            loads += [
                f"  {number}.at = getelementptr i8, ptr %numbers, i64 {offset}",
                f"  {read} = load {stored}, ptr {number}.at, align {size}",
            ]
            if not is_whole:
                extend = "zext" if stored == "i16" else "sext"
                loads.append(
                    f"  {number} = {extend} {stored} {read} to {column[0].type}"
                )
    rows = [
        struct.pack(formats, *(column[place].value for column in names))
        for place in range(len(bodies))
    ]
    heads = [_HEAD.fullmatch(body.head) for body in bodies]
    arguments = _weakest([found[2] for found in heads if found is not None])
    found = heads[0]
    assert found is not None
    own = f"ptr noalias nonnull readonly dereferenceable({len(rows[0])}) %numbers"
    head = f"define {found[1]} @{name}({arguments}, {own}) {found[3]} {{"
    first, *texts = bodies[0].texts
    parts: list[str] = [first]
    for column, text in zip(columns, texts, strict=True):
        parts += [names[column] if column in names else column[0].text, text]
    entry, _, rest = "".join(parts).partition("\n")
    return "\n".join([head, entry, *loads, rest.rstrip("\n")]), rows


def _kind(column: Sequence[_Number]) -> str:
    """The letter of struct for numbers that are stored in the same way."""
    if column[0].type == "float":
        return "f"
    least, most = (end(number.value for number in column) for end in (min, max))
    if least >= 0 and most < 1 << 16:
        return "H"
    return "i" if least >= -(1 << 31) and most < 1 << 31 else "q"


def _weakest(arguments: Sequence[str]) -> str:
    """Arguments with the attributes that each has in all of several functions: what one
    layer overwrites is elsewhere in another."""
    columns = zip(*(text.split(", ") for text in arguments), strict=True)
    return ", ".join(map(_weakened, columns))


def _weakened(argument: Sequence[str]) -> str:
    def kept(found: re.Match[str]) -> str:
        return found[0] if all(f"{found[0]} " in one for one in argument) else ""

    return _WEAKENED.sub(kept, argument[0])


def _recalled(text: str, tables: Mapping[str, tuple[str, str]]) -> str:
    """A function's text, with its calls of merged functions replaced."""

    def call(found: re.Match[str]) -> str:
        if found[1] not in tables:
            return found[0]
        name, numbers = tables[found[1]]
        return f"  call void @{name}({found[2]}, ptr {numbers})"

    return re.sub(r"  call void @([^(]+)\((.*)\)", call, text)
