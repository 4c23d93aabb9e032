"""The pages of commands: options as tables, each with an anchor, and a run with output.

Both are made of the parsers and of `EXAMPLES`, which run in the folder of the digit
classifier when the site is built.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import cast
from unittest.mock import patch

from qlower.cli import ABOUT, TASKS, main, make_parser
from qlower.cli.exit_codes import MEANINGS, ExitCode
from qlower.cli.parser import Commands

EXAMPLES = {
    "inspect": "qlower inspect digits.mlir --stats",
    "trace": "qlower trace digits.mlir --input images/3.npy --at 'conv1[0,0,0,0]'",
    "report": "qlower report digits.mlir --against tvm --no-native -o report.html",
    "diff": "qlower diff tflite tvm digits.mlir --input test_images.npy",
    "identify": "qlower identify tvm digits.mlir --input images/3.npy"
    " --contract tflite,tvm,tvm-neon",
    "validate": "qlower validate digits.mlir --data test_images.npy"
    " --labels test_labels.npy --contract tflite,tvm",
    "contracts": "qlower contracts",
    "explore": "qlower explore digits.mlir --data test_images.npy --labels"
    " test_labels.npy --area bits --points 30 --limit 60 --jobs 1",
    "cost": "qlower cost tflm tvm pow2-shift --model digits.mlir=test_images.npy",
    "verify": "qlower verify digits.mlir --equal tflite tflite-ruy",
    "lint": "qlower lint digits.mlir --accumulator-bits 16",
    "bisect": "qlower bisect digits.mlir images/7.npy",
    "import": "qlower import --check digits.mlir",
    "run": "qlower run digits.mlir --input images/7.npy",
    "improve": "qlower improve digits.mlir --data test_images.npy"
    " --contract pow2-shift --methods gains --limit 64",
    "bench": "qlower bench digits.mlir",
    "cache": "qlower cache",
    "compile": "qlower compile digits.mlir -o out --name digits",
    "targets": "qlower targets",
    "vectors": "qlower vectors digits.mlir --layer conv1 -o vectors",
    "completion": "qlower completion bash",
    "help": "qlower help cache",
    "version": "qlower version",
}
"""A command line of each command, for the files of examples/digits."""

TALLEST = 80
"""Lines of an example's output that are shown."""


def command_pages(folder: Path) -> dict[str, str]:
    """The index of all commands, and a page of each with the output of its example,
    which is run in a folder that has the files of examples/digits."""
    parsers = _parsers()
    set_up = {"COLUMNS": "80", "QLOWER_CACHE_DIR": "cache"}
    with chdir(folder), patch.dict(os.environ, set_up):
        outputs = {name: run_example(EXAMPLES[name]) for name in parsers}
    pages = {
        f"commands/{name}.md": "\n".join(_page(name, parser, outputs[name]))
        for name, parser in parsers.items()
    }
    return {"commands/index.md": "\n".join(_index(parsers)), **pages}


def run_example(line: str) -> str:
    """The output of a command line of `qlower` in the current folder, at most `TALLEST`
    lines."""
    printed, _, *words = StringIO(), *shlex.split(line)
    with redirect_stdout(printed):
        code = main(words)
    lines = printed.getvalue().strip("\n").split("\n")
    if code not in (ExitCode.DONE, ExitCode.WRONG_INPUT) or not lines[0]:
        raise RuntimeError(f"{line} exits with {code}")
    return "\n".join([*lines[:TALLEST], *["..."] * (len(lines) > TALLEST)])


def exit_codes() -> Iterator[str]:
    """The page of exit codes."""
    yield "# Exit codes\n"
    yield "| code | meaning |\n|---:|---|"
    for code, meaning in MEANINGS.items():
        yield f"| {code.value} | {meaning} |"
    yield "\nA command that exits with another code than 0 leaves no file half-written."


def task_pages() -> dict[str, list[str]]:
    """The pages of commands by task, for the navigation."""
    return {
        **{
            title.capitalize(): [f"commands/{name.rstrip('_')}.md" for name in files]
            for title, files in TASKS.items()
        },
        ABOUT[0].upper() + ABOUT[1:]: [
            f"commands/{name}.md" for name in ("completion", "help", "version")
        ],
    }


def _parsers() -> Mapping[str, argparse.ArgumentParser]:
    return _actions(make_parser())


def _actions(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The commands of a parser, or the actions of a command, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            return cast("Commands", action).choices
    return {}


def _index(parsers: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    yield "# Commands\n"
    yield (
        "Every command accepts `.tflite`, `.onnx`, `.pt2` and `.mlir` files alike, and "
        "ends with an [exit code](../exit-codes.md). `qlower COMMAND --help` prints "
        "what these pages say.\n"
    )
    for title, pages in task_pages().items():
        yield f"## {title}\n\n| command | what it does |\n|---|---|"
        for page in pages:
            name = Path(page).stem
            about = parsers[name].description or ""
            yield f"| [`qlower {name}`]({name}.md) | {_cell(about)} |"
        yield ""


def _page(name: str, parser: argparse.ArgumentParser, output: str) -> Iterator[str]:
    yield f"# qlower {name}\n"
    yield from _head(parser)
    yield "## Example\n"
    yield f"```sh\n{EXAMPLES[name]}\n```\n\n```text\n{output}\n```\n"
    yield (
        "Run in [examples/digits](../stories/digits.md) of the repository when this "
        "page was made.\n"
    )
    yield from _sections(name, parser, 2)
    for action, each in _actions(parser).items():
        yield f"## qlower {name} {action}\n"
        yield from _head(each)
        yield from _sections(f"{name}-{action}", each, 3)


def _head(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The purpose of a command and its usage."""
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    yield f"{parser.description}\n\n```text\n{usage}\n```\n"


def _sections(
    anchor: str, parser: argparse.ArgumentParser, depth: int
) -> Iterator[str]:
    """A parser's arguments, its options by section, and the end of its help."""
    parser.format_help()  # puts the sections in order
    for group in parser._action_groups:
        shown = [
            action
            for action in group._group_actions
            if action.help is not argparse.SUPPRESS
            and not isinstance(action, argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
        ]
        if shown:
            title = (group.title or "").replace("positional ", "")
            yield f"{'#' * depth} {title.capitalize()} {{#{anchor}-{_word(title)}}}\n"
            kind = "argument" if title == "arguments" else "option"
            yield f"| {kind} | meaning |\n|---|---|"
            for action in shown:
                mark = f'<span id="{anchor}{_mark(action)}"></span>'
                yield f"| {mark}{_spelling(parser, action)} | {_cell(action.help)} |"
            yield ""
    if parser.epilog:
        yield f"```text\n{parser.epilog.strip()}\n```\n"


def _mark(action: argparse.Action) -> str:
    """The end of an option's anchor: `--json`, as it is typed."""
    return action.option_strings[-1] if action.option_strings else f"-{action.dest}"


def _spelling(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """An option as the help spells it, which may be broken after a comma or space."""
    formatter = parser._get_formatter()
    return f"`{formatter._format_action_invocation(action)}`"


def _word(title: str) -> str:
    return title.replace(" ", "-")


def _cell(text: str | None) -> str:
    """Text of a help that is a table's cell in markdown."""
    escaped = re.sub(r"([\\|*_<>\[\]])", r"\\\1", text or "")
    parts = escaped.split("`")  # code is as it was
    for place in range(1, len(parts), 2):
        parts[place] = re.sub(r"\\([\\*_<>\[\]])", r"\1", parts[place])
    return "`".join(parts).replace("%%", "%")
