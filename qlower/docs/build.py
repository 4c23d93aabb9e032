"""Builds the documentation site: pages written here, and pages made of the code.

python qlower/docs/build.py [--output FOLDER]

Contracts, stories and results are pages of the repository; levels are made of the
dialects' docstrings, commands of the parsers, the Python interface of the docstrings of
`qlower.__all__`. All of that is collected anew in a temporary folder, from which mkdocs
makes the site; any of its warnings is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from types import ModuleType
from typing import TypeAlias, cast

from xdsl.ir import Dialect

import qlower
from qlower.cli import make_parser
from qlower.cli.exit_codes import MEANINGS

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "qlower/docs/pages"
LEVELS = ("qnn", "quant", "fixed", "kernel")

Navigation: TypeAlias = list[dict[str, str | list[str]]]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument(
        "--output", default="site", metavar="FOLDER", help="default: site"
    )
    output = Path(parser.parse_args(arguments).output).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        docs = Path(temporary, "docs")
        copied = copied_pages()
        for source, page in copied.items():
            write(docs / page, with_links(source, page, copied, docs))
        for page, text in made_pages().items():
            write(docs / page, text)
        config = {
            "INHERIT": str(ROOT / "qlower/docs/mkdocs.yml"),
            "docs_dir": str(docs),
            "nav": navigation(copied),
        }
        path = Path(temporary, "mkdocs.yml")  # JSON is YAML
        path.write_text(json.dumps(config))
        command = ["mkdocs", "build", "--strict", "--quiet", "--config-file", str(path)]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(
            [sys.executable, "-m", *command, "--site-dir", str(output)],
            env=environment,
            check=False,
        )
    return done.returncode


def copied_pages() -> dict[Path, str]:
    """Where in the site each page of the repository stands."""
    contracts = ROOT / "qlower/contracts"
    return {
        **{path: path.name for path in sorted(PAGES.glob("*.md"))},
        contracts / "README.md": "contracts/index.md",
        **{
            path: f"contracts/{path.name}"
            for path in sorted(contracts.glob("pages/*.md"))
        },
        **{
            path: f"stories/{path.parent.name}.md"
            for path in sorted(ROOT.glob("examples/*/README.md"))
        },
        ROOT / "qlower/bench/RESULTS.md": "speed.md",
        ROOT / "CHANGELOG.md": "changelog.md",
        ROOT / "CONTRIBUTING.md": "contributing.md",
    }


def with_links(source: Path, page: str, copied: Mapping[Path, str], docs: Path) -> str:
    """A page's text, whose links hold in the site.

    Files of the repository that are no pages are copied to where `docs` is collected.
    """

    def moved(match: re.Match[str]) -> str:
        link, anchor = match[1], match[2] or ""
        target = (source.parent / link).resolve()
        if "://" in link or not target.is_file():
            return match[0]
        place = copied.get(target)
        if place is None:
            place = f"source/{target.relative_to(ROOT)}"
            (docs / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, docs / place)
        return f"]({os.path.relpath(place, Path(page).parent)}{anchor})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", moved, source.read_text())


def made_pages() -> dict[str, str]:
    """The pages that are made of the code."""
    return {
        "commands.md": "\n".join(commands()),
        "exit-codes.md": "\n".join(exit_codes()),
        "python.md": "\n".join(python_interface()),
        **{f"levels/{name}.md": "\n".join(dialect(name)) for name in LEVELS},
    }


def commands() -> Iterator[str]:
    """The help of each command, as it is printed."""
    yield "# Commands\n"
    yield "Every command ends with an [exit code](exit-codes.md)."
    os.environ["COLUMNS"] = "88"
    parser = make_parser()
    parsers: dict[str, argparse.ArgumentParser] = {"qlower": parser}
    for action in parser._actions:
        if action.dest == "command":
            found = cast("Mapping[str, argparse.ArgumentParser]", action.choices)
            parsers |= {f"qlower {name}": each for name, each in found.items()}
    for name, each in parsers.items():
        yield f"\n## {name}\n\n```text\n{each.format_help().rstrip()}\n```"


def exit_codes() -> Iterator[str]:
    """What the commands end with."""
    yield "# Exit codes\n"
    yield "| code | meaning |\n|---:|---|"
    for code, meaning in MEANINGS.items():
        yield f"| {code.value} | {meaning} |"
    yield "\nA command that doesn't end with 0 leaves no file half-written."


def python_interface() -> Iterator[str]:
    """The public names, whose docstrings mkdocstrings reads."""
    yield "# Python\n"
    for name in qlower.__all__:
        found = getattr(qlower, name)
        if isinstance(found, ModuleType):
            yield f"::: {found.__name__}\n"
        elif not name.startswith("_"):
            yield f"::: {found.__module__}.{name}\n"


def dialect(name: str) -> Iterator[str]:
    """The ops and attributes of one dialect: formula, legal ranges, example."""
    module = import_module(f"qlower.dialects.{name}")
    (dialect,) = (each for each in vars(module).values() if isinstance(each, Dialect))
    yield f"# {dialect.name}\n"
    yield cleandoc(module.__doc__ or "")
    for kind, members in (
        ("Operations", dialect.operations),
        (
            "Types and attributes",
            dialect.attributes,
        ),
    ):
        documented = [each for each in members if each.__doc__]
        if documented:
            yield f"\n## {kind}"
        for each in documented:
            yield f"\n### {each.name}\n\n{cleandoc(each.__doc__ or '')}"


def navigation(copied: Mapping[Path, str]) -> Navigation:
    """The order of the site; pages that it doesn't name have their title from text."""

    def folder(prefix: str) -> list[str]:
        return [page for page in copied.values() if page.startswith(prefix)]

    return [
        {"Home": "index.md"},
        {"Quick start": "quick-start.md"},
        {"Bring your model": "bring-your-model.md"},
        {"My model is off by one": "off-by-one.md"},
        {"Where do two systems part": "where-systems-part.md"},
        {"Whose arithmetic is it": "whose-arithmetic.md"},
        {"For all inputs": "verifying.md"},
        {"A model to look at": "report.md"},
        {"Accuracy over a data set": "data-sets.md"},
        {"Microcontrollers and C": "embedded.md"},
        {"Stories": [*folder("stories/")]},
        {"Contracts": ["contracts/index.md", *folder("contracts/")]},
        {"From file to machine code": "from-file-to-machine-code.md"},
        {"Levels": [f"levels/{name}.md" for name in LEVELS]},
        {
            "Reference": [
                "commands.md",
                "exit-codes.md",
                "python.md",
                "debugging.md",
                "glossary.md",
                "speed.md",
                "contributing.md",
                "changelog.md",
            ]
        },
    ]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    raise SystemExit(main())
