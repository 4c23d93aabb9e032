"""The pages of contracts: what a file's comments say and what it defines, in markdown.

A file begins with a comment in markdown: a paragraph, then sections, in the order of
`SECTIONS`. Every contract that comes with qlower has those of `REQUIRED`, but one that
is based on another leaves out those of `INHERITED` that hold as they are there.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from qlower.contracts import Contract, Rule, contract_names, load_contract
from qlower.contracts.products import EXACT
from qlower.contracts.rules import AUXILIARY, RULES, is_of_words

SECTIONS = (
    "Formula",
    "Ties",
    "Operands",
    "Quirks",
    "Not matched",
    "Checked against",
    "Sources",
)
INHERITED = ("Formula", "Ties", "Operands")
REQUIRED = (*INHERITED, "Checked against", "Sources")

INDEX = "README.md"
PAGES = "pages"
"""The index and the folder of the pages, beside the contracts."""

DIFFERENCES = "differences.md"
"""The one page that is made from models: by `comparison.py`."""

_GENERATED = "<!-- made by `qlower contracts pages` from {source}; change that -->"
_INDEX_HEAD = """\
# Contracts

Whose arithmetic a model can have. Each page says the formulas, what happens to ties,
where operands come from, what it was compared with, and what isn't matched;
[differences]({differences}) says how often they differ on real layers.

"""
_FUNCTION = re.compile(r"\s*func\.func (?:private )?@([\w.]+)")
_SYMBOL = re.compile(r"@([\w.]+)")
_COMMENT = re.compile(r"\s*// ?(.*)")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^)]*\)")
_WIDTH = 95


@dataclass(frozen=True)
class FunctionText:
    """A function as its file has it: the comment above it, and whom it calls."""

    comment: str
    callees: tuple[str, ...]


def explain(contract: Contract) -> str:
    """The contract's page for a terminal: without links, and with what it lacks."""
    lines = [*_page_lines(contract), *_missing_lines(contract)]
    return _LINK.sub(r"\1", "\n".join(lines))


def all_pages() -> dict[str, str]:
    """Every page of the contracts that come with qlower, by its path in their
    folder."""
    contracts = [load_contract(name) for name in contract_names()]
    pages = {
        f"{PAGES}/{contract.name}.md": "\n".join(
            [_GENERATED.format(source=f"{contract.name}.mlir"), *_page_lines(contract)]
        )
        for contract in contracts
    }
    pages[INDEX] = _index(contracts)
    return pages


def stale_pages(folder: Path) -> dict[str, str | None]:
    """Differences between the contracts' folder and `all_pages`: the right text of each
    file, None for one that shouldn't be there."""
    pages = all_pages()
    stale: dict[str, str | None] = {}
    for path, text in pages.items():
        file = folder / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale[path] = text
    for file in (folder / PAGES).glob("*.md"):
        path = f"{PAGES}/{file.name}"
        if path not in pages and file.name != DIFFERENCES:
            stale[path] = None
    return stale


def header(text: str) -> str:
    """The markdown of the comment that the text begins with, a blank line before each
    heading."""
    lines: list[str] = []
    for line in text.splitlines():
        match = _COMMENT.fullmatch(line)
        if match is None:
            break
        if match[1].startswith("# ") and lines and lines[-1]:
            lines.append("")
        lines.append(match[1])
    return "\n".join(lines)


def function_texts(text: str) -> dict[str, FunctionText]:
    """The functions of a contract's text by name, in order."""
    found: dict[str, FunctionText] = {}
    comment: list[str] = []
    name = None
    for line in text.splitlines():
        above = _COMMENT.fullmatch(line)
        start = _FUNCTION.match(line)
        if above is not None:
            comment.append(above[1])
            continue
        if start is not None:
            name = start[1]
            found[name] = FunctionText(" ".join(comment), ())
            line = line[start.end() :]
        if name is not None:
            function = found[name]
            callees = (*function.callees, *_SYMBOL.findall(line))
            found[name] = FunctionText(function.comment, callees)
        comment = []
    return found


def _page_lines(contract: Contract) -> Iterator[str]:
    yield f"# {contract.name}"
    yield ""
    yield f"*{contract.summary}*" if contract.summary else "*(no summary)*"
    yield ""
    yield f"- family: {contract.family}"
    yield f"- base: {_base_link(contract)}"
    yield f"- text: [{contract.name}.mlir](../{contract.name}.mlir)"
    yield ""
    for title, lines in _sections(contract).items():
        yield from [f"## {title}", *lines] if title else lines
        yield ""
    yield from _rule_lines(contract)
    yield ""


def _sections(contract: Contract) -> dict[str, list[str]]:
    """The lines of the contract's comment by heading, the first without one; where the
    base's hold, a reference to it."""
    parts = re.split(r"^# (.*)\n", header(contract.text), flags=re.MULTILINE)
    titles, texts = ["", *parts[1::2]], parts[::2]
    found = {
        title: text.rstrip().splitlines()
        for title, text in zip(titles, texts, strict=True)
    }
    if contract.origin is None:
        return found
    as_there = {one: [f"As {_base_link(contract)}."] for one in INHERITED}
    known = [one for one in ("", *SECTIONS) if one in found or one in as_there]
    return {one: (as_there | found)[one] for one in [*known, *found]}


def _base_link(contract: Contract) -> str:
    base = contract.origin
    return f"[{base.name}]({base.name}.md)" if base is not None else "none"


def _rule_lines(contract: Contract) -> Iterator[str]:
    """The rules that a contract defines, those it replaces in its base, and those it
    inherits."""
    own = function_texts(contract.text)
    yield "## Rules"
    yield ""
    rules = _rules_of(contract, own)
    for served in rules.values():
        meaning = _meaning(own, contract.rules[served[0]])
        yield from _item(_names(served), meaning)
    if not rules:
        yield "It defines none itself."
    base = _base_with_rules(contract)
    inherited = function_texts(base.source) if base is not None else {}
    replaced = [name for name in own if name in inherited and name not in rules]
    if replaced:
        yield ""
        yield "Steps that it replaces in the rules which it inherits:"
        yield ""
        for name in replaced:
            yield from _item(f"`{name}`", own[name].comment)
    told = {rule for served in rules.values() for rule in served}
    while base is not None:
        taken = _rules_of(base, function_texts(base.text)).values()
        names = [
            rule
            for served in taken
            for rule in served
            if rule in contract.rules and rule not in told
        ]
        if names:
            yield ""
            file = f"../{base.name}.mlir" if base.is_library else f"{base.name}.md"
            yield from _paragraph(f"As in [{base.name}]({file}): {_names(names)}.")
        told.update(names)
        base = _base_with_rules(base)


def _base_with_rules(contract: Contract) -> Contract | None:
    """The contract, or library, that one inherits rules from."""
    base = contract.base
    return base if base is not None and base.rules else None


def _rules_of(
    contract: Contract, functions: Mapping[str, FunctionText]
) -> dict[str, list[str]]:
    """The rules that each of a contract's own `functions` serves, by its name."""
    found: dict[str, list[str]] = {}
    rules = contract.definition.whole.rules
    for rule in RULES:
        if rule in rules:
            name = rules[rule].function.sym_name.data
            if name in functions:
                found.setdefault(name, []).append(rule)
    return found


def _missing_lines(contract: Contract) -> Iterator[str]:
    has_words = any(map(is_of_words, contract.rules))
    missing = [
        name
        for name in RULES
        if name not in contract.rules.keys() | AUXILIARY
        and (has_words or not is_of_words(name))
    ]
    if missing:
        yield from _paragraph(f"Not defined, and refused by name: {_names(missing)}.")
        yield ""


def _meaning(functions: Mapping[str, FunctionText], rule: Rule) -> str:
    """A rule's comment, or that of the first function it calls which has one."""
    products = [name for name in rule.products if name != EXACT]
    notes = [f"Products: {_names(rule.products)}."] if products else []
    comment = _comment(functions, rule.function.sym_name.data)
    return " ".join([comment, *notes]).strip()


def _comment(functions: Mapping[str, FunctionText], name: str) -> str:
    function = functions.get(name)
    if function is None:
        return ""
    if function.comment:
        return function.comment
    comments = (_comment(functions, callee) for callee in function.callees)
    return next(filter(None, comments), "")


def _index(contracts: Sequence[Contract]) -> str:
    lines = [
        _GENERATED.format(source="the .mlir files"),
        *_INDEX_HEAD.format(differences=f"{PAGES}/{DIFFERENCES}").splitlines(),
        "| contract | what it is | family | base |",
        "|---|---|---|---|",
    ]
    for contract in contracts:
        name = f"[{contract.name}]({PAGES}/{contract.name}.md)"
        base = contract.origin
        base_name = base.name if base is not None else ""
        row = (name, contract.summary, contract.family, base_name)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join([*lines, ""])


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _item(names: str, meaning: str) -> list[str]:
    return _paragraph(f"{names}: {meaning}" if meaning else names, "- ")


def _paragraph(text: str, bullet: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
