"""What commands don't import, because they have no use for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.cli import COMMANDS, make_parser

LOADED = """
import sys
from qlower.cli import main

code = main({line!r})
print(code, *sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
"""Runs a command, and prints last its exit code and the packages that are loaded."""


def loaded(line: str) -> set[str]:
    """The packages that a process has loaded when a command is through."""
    source = LOADED.format(line=line.split())
    process = subprocess.run(
        [sys.executable, "-c", source], env=os.environ, capture_output=True, check=True
    )
    code, *packages = process.stdout.decode().splitlines()[-1].split()
    assert code == "0"
    return set(packages)


def test_help_loads_no_arrays():
    assert not loaded("--help") & {"numpy", "xdsl", "llvmlite"}


def test_cached_code_runs_without_what_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QLOWER_CACHE_DIR", str(tmp_path / "cache"))
    Path("model.mlir").write_text(SMALL_MODEL)
    line = "run model.mlir --random"
    assert "xdsl" in loaded(line)
    assert not loaded(line) & {"xdsl", "email"}  # which importlib.metadata imports


def test_a_model_loads_no_dialect_that_it_has_not(tmp_path: Path):
    (tmp_path / "model.mlir").write_text(SMALL_MODEL)
    code = "import sys, qlower; qlower.jit('model.mlir'); print(*sys.modules)"
    out = subprocess.check_output(
        [sys.executable, "-c", code],
        env={**os.environ, "QLOWER_CACHE_DIR": ""},
        cwd=tmp_path,
        text=True,
    )
    others = {"qlower.dialects.tosa", "qlower.dialects.stablehlo"}
    assert not others & set(out.split())


READ_THEN_ALL = """
import sys
from qlower.frontends.tflite.accessors import load_tflite_package

ours = load_tflite_package()
kinds = ours.Model, ours.BuiltinOperator, ours.Conv2DOptions
files = [name for name in sys.modules if name.startswith("tflite.")]
import tflite

print(len(files), kinds == (tflite.Model, tflite.BuiltinOperator, tflite.Conv2DOptions))
print(tflite.Conv2DOptionsStart.__module__, tflite.__version__ > "2")
"""


def test_a_model_needs_few_files_of_its_package():
    """Who imports the package afterwards has all of it."""
    pytest.importorskip("tflite", reason="tflite is not installed")
    out = subprocess.check_output([sys.executable, "-c", READ_THEN_ALL], text=True)
    assert out.splitlines() == ["3 True", "tflite.Conv2DOptions True"]


@pytest.mark.parametrize("file", COMMANDS)
def test_a_command_alone_has_the_help_that_it_has_among_all(
    file: str, capsys: pytest.CaptureFixture[str]
):
    name = file.rstrip("_")
    texts: list[str] = []
    for parser in (make_parser(name), make_parser()):
        with pytest.raises(SystemExit):
            parser.parse_args([name, "--help"])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert texts[0].startswith(f"usage: qlower {name}")
