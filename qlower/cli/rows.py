"""Options as rows of text, which are their only statement: the parser, its help, the
completion of shells and the documentation's pages come from them.

    model MODEL ?  an argument that may be left out
    -o, --output FILE required  what the option is for, in as many words as it takes:
        lines that are indented go on with the row
    --stages N int = 0  a number, and what it is by default
    --order any|memory = any  one of some words
    --stack  an option without a value
    [output]
    @format plain

Options behind a line in brackets are listed under that title. A line with `@` stands
for rows that commands share, in which `{0}` is what follows the name; where several
things do, ` | ` is between them. Behind the words for its values an argument may have:

    int, float, bytes, share, sizes, numbers, names   what its text is read as
    +        one or more
    ?        one or none; with `const X` that is X for an option without a value
    several  the option may be repeated: its value is a list
    either   the option may be had with `no-` before its name
    const X  what the option without a value means, as `as`
    as NAME  the name of its value where that isn't the option's
    = X      the value where there is none; '' is no text
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TypedDict

from qlower.cli.parser import Section, section
from qlower.files.digits import is_number


def _bytes(text: str) -> int:
    """A number of bytes, of KiB with K or of MiB with M after it."""
    number, unit = text[:-1], {"K": 10, "M": 20}.get(text[-1:].upper())
    if unit is None:
        number, unit = text, 0
    if not is_number(number):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of bytes, such as 65536 or 64K"
        )
    return int(number) << unit


def _share(text: str) -> float:
    """A share of 1, or in percent."""
    number = text.removesuffix("%")
    try:
        found = float(number) / (100 if number != text else 1)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share: 0.9, or 90%")
    return found


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split("x") if text)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.split(","))


def _names(text: str) -> list[str]:
    return text.split(",") if text else []


KINDS: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "float": float,
    "bytes": _bytes,
    "share": _share,
    "sizes": _sizes,
    "numbers": _numbers,
    "names": _names,
}
"""What a value's text may be read as."""

_CHOICES = re.compile(r"[a-z0-9-]+(\|[a-z0-9-]+)+")


class _Keywords(TypedDict, total=False):
    """Keywords of `add_argument`."""

    action: str | type[argparse.Action]
    choices: tuple[str, ...]
    const: object
    default: object
    dest: str
    metavar: str | tuple[str, ...]
    nargs: str | int
    required: bool
    type: Callable[[str], object]


@dataclass(frozen=True)
class _Row:
    """The head of a row, word by word."""

    words: list[str]

    @property
    def flags(self) -> list[str]:
        """The names of an option, or of an argument."""
        flags = takewhile(lambda word: word.startswith("-"), self.words)
        return [flag.rstrip(",") for flag in flags] or self.words[:1]

    def keywords(self) -> _Keywords:
        """What the words behind the names say."""
        found = _Keywords()
        words = iter(self.words[len(self.flags) :])
        metavar: list[str] = []
        read: Callable[[str], object] = str
        for word in words:
            match word:
                case "=":
                    text = " ".join(words)
                    found["default"] = read("" if text == "''" else text)
                case "const":
                    found["const"] = read(next(words))
                case "as":
                    found["dest"] = next(words)
                case "required":
                    found["required"] = True
                case "several":
                    found["action"], found["default"] = "append", []
                case "either":
                    found["action"] = argparse.BooleanOptionalAction
                case "+" | "?":
                    found["nargs"] = word
                case _ if word in KINDS:
                    read = found["type"] = KINDS[word]
                case _ if _CHOICES.fullmatch(word):
                    found["choices"] = tuple(word.split("|"))
                case _:
                    metavar.append(word)
        if len(metavar) > 1:
            found["nargs"] = len(metavar)
        if metavar:
            found["metavar"] = metavar[0] if len(metavar) == 1 else tuple(metavar)
        takes_text = metavar or "choices" in found or "type" in found
        if self.flags[0].startswith("-") and not takes_text and "action" not in found:
            found["action"] = "store_const" if "const" in found else "store_true"
        return found


def add_rows(
    parser: argparse.ArgumentParser, text: str, shared: Mapping[str, str]
) -> None:
    """Add the arguments and options that rows state; `shared` are rows by the names
    that `@` is before."""
    group: argparse.ArgumentParser | Section = parser
    for row in _rows(text):
        head, _, help = row.partition("  ")
        if head.startswith("["):
            group = section(parser, head[1:-1])
        elif head.startswith("@"):
            name, _, given = row[1:].partition(" ")
            rows = shared[name]
            for number, words in enumerate(given.split(" | ")):
                rows = rows.replace(f"{{{number}}}", words)
            add_rows(parser, rows, shared)
        else:
            read = _Row(head.split())
            group.add_argument(*read.flags, help=help, **read.keywords())


def _rows(text: str) -> Iterator[str]:
    """The rows of a text, each with the lines that go on with it."""
    row = ""
    for line in text.splitlines():
        if line.startswith(" "):
            row = f"{row} {line.strip()}"
        else:
            if row:
                yield row
            row = line
    if row:
        yield row
