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
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from xdsl.ir import Dialect

import qlower
from qlower.contracts import contract_names, load_contract
from qlower.dialects.linalg.named import Definition
from qlower.dialects.linalg.table import DEFINITIONS
from qlower.docs.commands import command_pages, exit_codes, task_pages
from qlower.files.programs import run_program

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "qlower/docs/pages"
LEVELS = ("qnn", "quant", "fixed", "kernel")

READ = ("tosa", "stablehlo", "linalg")
"""Dialects of other projects that are read in part."""

FIRST = ("load", "jit", "diff", "interpret", "compile", "load_compiled", "identify")
"""Names of the Python interface that its page begins with."""

ROUNDINGS = ("half up", "half to even", "half away", "toward zero")
"""Roundings as the contracts' pages name them, by which a search finds those pages."""

Navigation: TypeAlias = Sequence["str | Mapping[str, str | Navigation]"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument(
        "--output", default="site", metavar="FOLDER", help="default: site"
    )
    parser.add_argument(
        "--repository",
        metavar="URL",
        help="where the source is: each page then has a link to edit it there",
    )
    options = parser.parse_args(arguments)
    output = Path(options.output).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        docs, scratch = Path(temporary, "docs"), Path(temporary, "digits")
        shutil.copytree(ROOT / "examples/digits", scratch)
        copied = copied_pages()
        for source, page in copied.items():
            write(docs / page, with_links(source, page, copied, docs))
        for page, text in made_pages(scratch).items():
            write(docs / page, text)
        config = {
            "INHERIT": str(ROOT / "qlower/docs/mkdocs.yml"),
            "site_name": f"qlower {qlower.__version__}",
            "docs_dir": str(docs),
            "hooks": [str(ROOT / "qlower/docs/hooks.py")],
            "nav": navigation(copied),
        }
        if options.repository is not None:
            sources = {
                page: str(path.relative_to(ROOT)) for path, page in copied.items()
            }
            config |= {"repo_url": options.repository, "extra": {"sources": sources}}
        path = Path(temporary, "mkdocs.yml")  # JSON is YAML
        path.write_text(json.dumps(config))
        command = ["mkdocs", "build", "--strict", "--quiet", "--config-file", path]
        done = run_program(
            [sys.executable, "-m", *command, "--site-dir", output],
            environment={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        )
        print((done.stdout + done.stderr).decode(), end="", file=sys.stderr)
    found = list(run_together(output)) if not done.returncode else []
    for fault in found:
        print(f"a list in a paragraph: {fault}", file=sys.stderr)
    return done.returncode or bool(found)


def run_together(site: Path) -> Iterator[str]:
    """The lists of a site's pages that are shown as text of a paragraph."""
    for file in sorted(site.rglob("*.html")):
        for paragraph in re.findall(r"<p>(.*?)</p>", file.read_text(), re.DOTALL):
            if re.search(r"\n\s*([-*]|1\.) ", paragraph):
                yield f"{file.relative_to(site)}: {paragraph[:60]!r}"


def copied_pages() -> dict[Path, str]:
    """The place in the site of each page of the repository."""
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
        ROOT / "qlower/bench/MICROCONTROLLERS.md": "speed-of-microcontrollers.md",
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

    text = re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", moved, source.read_text())
    text = re.sub(r"\A<!--.*?-->\n", "", text)  # before which mkdocs sees no title
    tags = [f"round {name}" for name in ROUNDINGS if name in text.lower()]
    is_contract = source.parent.name == "pages" and page.startswith("contracts/")
    return f"---\ntags: {json.dumps(tags)}\n---\n{text}" if is_contract else text


def made_pages(scratch: Path) -> dict[str, str]:
    """The pages that are made of the code, and of runs in the folder `scratch`."""
    return {
        **command_pages(scratch),
        "exit-codes.md": "\n".join(exit_codes()),
        "python.md": "\n".join(python_interface()),
        **{f"levels/{name}.md": "\n".join(dialect(name)) for name in (*LEVELS, *READ)},
    }


def python_interface() -> Iterator[str]:
    """The public names, whose docstrings mkdocstrings reads: functions before classes,
    and `FIRST` before all."""
    yield "# Python\n"
    names = [name for name in qlower.__all__ if name not in FIRST]
    for name in [*FIRST, *sorted(names, key=lambda name: name[0].isupper())]:
        found = getattr(qlower, name)
        if isinstance(found, ModuleType):
            yield f"::: {found.__name__}\n"
        elif not name.startswith("_"):
            yield f"::: {found.__module__}.{name}\n"


def dialect(name: str) -> Iterator[str]:
    """The ops and attributes of one dialect: formula, legal ranges, example."""
    module = import_module(f"qlower.dialects.{name}")
    own = (value for key, value in vars(module).items() if key == name.upper())
    (dialect,) = (each for each in own if isinstance(each, Dialect))
    yield f"# {dialect.name}\n"
    yield cleandoc(module.__doc__ or "")
    if name == "linalg":
        yield from named_linalg()
        return
    bare = [each.name for each in dialect.operations if not each.__doc__]
    if bare:
        listed = ", ".join(f"`{name}`" for name in bare)
        yield f"\nElementwise, as their names say: {listed}."
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


def named_linalg() -> Iterator[str]:
    """The named operations of linalg: their loops, and how operands are indexed."""
    yield "\n## Named operations\n"
    yield cleandoc(Definition.__doc__ or "")
    yield "\n| operation | loops | operands and result |\n|---|---|---|"
    for name, (_, definition) in DEFINITIONS.items():
        words = " ".join(definition.indices)
        yield f"| `{name}` | `{definition.loops or '*'}` | `{words}` |"


def navigation(copied: Mapping[Path, str]) -> Navigation:
    """The order of the site; pages without a name here are titled by their heading."""
    stories = [page for page in copied.values() if page.startswith("stories/")]
    return [
        {"Home": "index.md"},
        {"Quick start": "quick-start.md"},
        {"Bring your model": "bring-your-model.md"},
        {"My model is off by one": "off-by-one.md"},
        {"Which command answers it": "symptoms.md"},
        {"One answer on every machine": "one-answer.md"},
        {"Where do two systems part": "where-systems-part.md"},
        {"Whose arithmetic is it": "whose-arithmetic.md"},
        {"Contracts, measured": "contracts-measured.md"},
        {"For all inputs": "verifying.md"},
        {"Verilog": "hardware.md"},
        {"Proofs, measured": "proofs-measured.md"},
        {"Proofs of inference": "proofs-of-inference.md"},
        {"A model to look at": "report.md"},
        {"Accuracy over a data set": "data-sets.md"},
        {"Sweeps and training": "sweeps-and-training.md"},
        {"Microcontrollers and C": "embedded.md"},
        {"In your build": "in-your-build.md"},
        {"Stories": [{Path(page).stem: page} for page in stories]},
        {"Contracts": ["contracts/index.md", *contract_families()]},
        {"From file to machine code": "from-file-to-machine-code.md"},
        {"Levels": [f"levels/{name}.md" for name in LEVELS]},
        {"Dialects that are read": [f"levels/{name}.md" for name in READ]},
        {
            "Commands": [
                "commands/index.md",
                *(
                    {title: [{Path(page).stem: page} for page in pages]}
                    for title, pages in task_pages().items()
                ),
            ]
        },
        {
            "Reference": [
                "python.md",
                "exit-codes.md",
                "json.md",
                "debugging.md",
                "glossary.md",
                "speed.md",
                "speed-of-microcontrollers.md",
                "contributing.md",
                "developer-overview.md",
                "changelog.md",
            ]
        },
    ]


def contract_families() -> Navigation:
    """The contracts by their names as they are typed, grouped by family; at the end how
    often they differ."""

    def family(name: str) -> str:
        return load_contract(name).family

    names = sorted(contract_names(), key=lambda name: family(name).lower())
    return [
        *(
            {
                title[0].upper() + title[1:]: [
                    {name: f"contracts/{name}.md"} for name in group
                ]
            }
            for title, group in groupby(names, key=family)
        ),
        {"differences": "contracts/differences.md"},
    ]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    raise SystemExit(main())
