"""The scripts that complete commands and options."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from qlower.cli import main
from qlower.cli.completion import SHELLS

shtab = pytest.importorskip("shtab")

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_know_commands_and_options(shell: str, capsys: Capture):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for word in ("inspect", "compare", "layer-contract", "accumulator-bits"):
        assert word in text


@pytest.mark.skipif(which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("qlower insp", ["inspect"]),
        ("qlower lint --acc", ["--accumulator-bits"]),
        ("qlower inspect --at ll", ["llvm"]),
        ("qlower contracts sh", ["show"]),
        ("qlower inspect mod", ["model.mlir"]),
    ],
)
def test_bash_completes(model: str, line: str, offered: list[str], capsys: Capture):
    assert main(["completion", "bash"]) == 0
    script = f"""
COMP_WORDS=({line}); COMP_CWORD=$(({len(line.split())} - 1)); COMP_LINE='{line}'
_shtab_qlower qlower {line.split()[-1]} {line.split()[-2]}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    Path("script.bash").write_text(capsys.readouterr().out + script)
    command = ["bash", "--norc", "script.bash"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered


def test_without_shtab(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    error = capsys.readouterr().err
    assert "completion needs the package 'shtab'" in error
    assert "help: pip install " in error


def test_a_shell_that_shtab_lacks(capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shtab, "SUPPORTED_SHELLS", ["bash", "zsh"])
    assert main(["completion", "fish"]) == 1
    assert "has no completion for fish" in capsys.readouterr().err
