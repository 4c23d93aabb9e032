"""Pairs of contracts on models, from what `qlower verify MODEL --groups -o FILE` wrote.

python examples/benchmark/equal_contracts.py FILE... [--write]

For each file, called after its model, the contracts that are the same in every layer,
and a table of all pairs. --write puts it into this folder, as equal_contracts.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from qlower.tables.table import Column, Table, counted
from qlower.verification.group_table import Groups, LayerGroups

PAGE = Path(__file__).with_suffix(".md")
EXPLANATION = """\
# Which contracts are the same

In so many layers two contracts differ for some input; `=` where they are the same for
all inputs of every layer that both have a rule for. `+1` counts layers that aren't
decided. Each layer is looked at by itself.
"""


def read(path: Path) -> Groups:
    """The groups of a verdict's file."""
    record = json.loads(path.read_text())
    rows = [LayerGroups(**row) for row in record["layers"]]
    return Groups(record["contracts"], rows, record["sha256"])


def cell(found: Groups, a: str, b: str) -> str:
    """How many layers differ for a pair, and how many aren't decided."""
    verdicts = [row.verdict(a, b) for row in found.layers]
    differ, undecided = (verdicts.count(kind) for kind in ("differs", "undecided"))
    if not any(verdicts):
        return "-"
    if not differ and not undecided:
        return "="
    return f"{differ}+{undecided}" if undecided else str(differ)


def section(path: Path) -> str:
    """A model's part of the page."""
    found = read(path)
    names = found.contracts

    def column(number: int, other: str) -> Column[str]:
        def value(name: str) -> str:
            return "" if name == other else cell(found, name, other)

        return Column(str(number), other, value)

    columns: list[Column[str]] = [
        Column("", "number", lambda name: names.index(name) + 1),
        Column("contract", "contract", lambda name: name, right=False),
        *(column(number, name) for number, name in enumerate(names, 1)),
    ]
    whole = [" = ".join(group) for group in found.everywhere() if len(group) > 1]
    lines = [
        f"## {path.stem}",
        f"{counted(len(found.layers), 'layer')}. The same in all of them: "
        f"{'; '.join(whole) or 'none'}.",
        Table(path.stem, names, columns).render("markdown"),
    ]
    return "\n\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    text = "\n\n".join([EXPLANATION.strip(), *map(section, options.files)])
    text += (
        "\n\n`python examples/benchmark/equal_contracts.py FILE... --write` made this."
    )
    if options.write:
        PAGE.write_text(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
