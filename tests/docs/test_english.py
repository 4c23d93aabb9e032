"""Words that read as translated stay out of README, pages, help and public docstrings.

A smoke alarm, no editor: each pattern is a habit that editors had to take out again and
again, precise enough not to hit a sentence that is right.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import qlower
from qlower.cli import make_parser

ROOT = Path(qlower.__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("qlower/docs/pages/*.md")),
    *sorted(ROOT.glob("examples/*/README.md")),
]

HABITS = {
    r"\b(tells?|told|telling)\b": "show, report, print, list; distinguish",
    r"\b(of|all of|those of|most of) which\b": "a sentence of its own, or 'whose'",
    r"\bso many\b(?! that)": "that many, the given number of",
    r"\b(is|are) another\b": "differs",
    r"\b(is|are|was|were) called like\b": "is named after",
    r"\b(to|can|could|may) be had\b|\bis had\b": "is available",
    r"\bfor want of\b": "because there is no",
    r"(?:^|[.:;] )Besides,": "also",
    r"\bbesides(?=[.,;:)]|$)": "also, in addition",
    r"\bwhoever\b|\b[Ff]or who\b|(?:^|[.;] )Who (?!else)\w+s\b": "anyone who",
    r"\b(bug|one|error|mistake)s? of ours\b": "in qlower, internal error",
    r"\bhand(s|ed|ing)? (on|over)\b": "pass, forward",
    r"\bends? with (an? )?(exit|code|\d)": "exits with",
    r"\bput (down|together) (in|of)\b": "stored in, composed of",
    r"\ball but\b(?! (the|one|two|this|these|those))": "almost",
    r"\bat once\b": "at a time, immediately, in one step",
    r"\bthe rest being so\b": "with everything else unchanged",
    r"\b(stand|stands|stood) (beside|below|above|between|in|on)\b": "is, appears",
    r"\bdoesn't matter to\b": "is ignored by",
    r"\b(gives|give) other (numbers|bits|results|answers)\b": "different",
}
"""What to write instead, by the pattern."""


def without_code(text: str) -> str:
    """Prose of a page: its code, tables' rules and links' targets left out."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"(?m)^    .*$", "", text)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def faults(text: str) -> list[str]:
    """Each habit in a text, with what to write."""
    found: list[str] = []
    for pattern, instead in HABITS.items():
        for match in re.finditer(pattern, text, re.MULTILINE):
            near = text[max(match.start() - 30, 0) : match.end() + 30]
            found.append(f"{' '.join(near.split())!r}: {instead}")
    return found


def help_texts() -> Iterator[tuple[str, str]]:
    """The help of each command, unwrapped, without its examples."""
    parser = make_parser()
    for action in parser.every_action():
        if isinstance(action.help, str):
            yield " ".join(action.option_strings) or action.dest, action.help
        choices = getattr(action, "choices", None)
        if isinstance(choices, dict):
            for name, command in choices.items():
                yield name, f"{command.description}\n{command.epilog or ''}"


def docstrings() -> Iterator[tuple[str, str]]:
    """Docstrings of what `qlower` exports, and of the public members of its classes."""
    for name in qlower.__all__:
        found = getattr(qlower, name)
        yield name, inspect.getdoc(found) or ""
        if inspect.isclass(found):
            for member, value in vars(found).items():
                if not member.startswith("_") and getattr(value, "__doc__", None):
                    yield f"{name}.{member}", value.__doc__


@pytest.mark.parametrize("page", PAGES, ids=lambda page: "/".join(page.parts[-2:]))
def test_pages_are_in_plain_english(page: Path) -> None:
    assert faults(without_code(page.read_text(encoding="utf-8"))) == []


def test_help_is_in_plain_english() -> None:
    assert [
        (name, found) for name, text in help_texts() if (found := faults(text))
    ] == []


def test_public_docstrings_are_in_plain_english() -> None:
    assert [
        (name, found) for name, text in docstrings() if (found := faults(text))
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "The table tells the time.",
        "layers of which one differs",
        "takes so many rows",
        "a rule that is another",
        "Besides, it is slow.",
        "It is compared besides.",
        "for who builds it",
        "an error of ours",
        "ends with 1 where",
        "runs 4 at once",
    ],
)
def test_habits_are_noticed(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "so many that they fit",
        "besides the usual ones",
        "another contract",
        "all but the first",
        "those who ask",
        "a name that ends with _run",
    ],
)
def test_plain_sentences_are_left_alone(text: str) -> None:
    assert faults(text) == []
