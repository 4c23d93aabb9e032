"""What pages show of commands: run again, they print the same.

A block of a page that begins with `$ qlower ...` has a command, in the folder of the
repository, on a terminal of 100 characters, and all that it prints. Files and lines of
contracts may be other ones, and with them the width of columns.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from qlower.cli import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```console\n\$ qlower ([^\n]*)\n(.*?)```", re.DOTALL)
VARYING = {r"[\w.-]+\.mlir:\d+": "PLACE", r"-{3,}": "---", r"\s+": " "}


def commands() -> list[tuple[str, str, str]]:
    """Page, arguments and output of each command."""
    pages = sorted((ROOT / "examples").glob("*/README.md"))
    return [
        (page.parent.name, found[1], found[2])
        for page in pages
        for found in BLOCK.finditer(page.read_text())
    ]


def lines(text: str) -> list[str]:
    """The lines of an output, without what may vary."""
    found = text.strip().splitlines()
    for pattern, same in VARYING.items():
        found = [re.sub(pattern, same, line).strip() for line in found]
    return found


@pytest.mark.parts(32)
@pytest.mark.parametrize(("page", "arguments", "output"), commands())
def test_a_page_shows_what_a_command_prints(
    page: str,
    arguments: str,
    output: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if ".onnx" in arguments:
        pytest.importorskip("onnx", reason="onnx is not installed")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(shlex.split(arguments)) in (0, 1)
    assert lines(capsys.readouterr().out) == lines(output)


def test_each_story_is_told_by_a_command() -> None:
    stories = {
        "fbgemm-overflow",
        "glow-divergence",
        "pytorch-conv-30-or-31",
        "relay-requantize",
        "tvm-vs-torch",
    }
    assert stories <= {page for page, _, _ in commands()}
