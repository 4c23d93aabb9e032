"""What there is: targets, the cache, passes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import qlower
from qlower.cli import main
from qlower.cli.opt import main as opt
from qlower.codegen.targets.resolve import resolve_target
from qlower.text.pass_options import quote_options
from qlower.transforms import PASSES
from qlower.version import __version__

Capture = pytest.CaptureFixture[str]


def printed(capsys: Capture, *arguments: str) -> str:
    assert main(arguments) == 0
    out, error = capsys.readouterr()
    assert error == ""
    return out


def test_targets(capsys: Capture):
    rows = json.loads(printed(capsys, "targets", "--json"))["rows"]
    assert len(rows) == 16
    for row in rows:
        for cpu in row["cpus"]:
            assert resolve_target(row["triple"], cpu).cpu == cpu
        for feature in row["features"]:
            resolve_target(row["triple"], None, f"+{feature}")
    text = " ".join(printed(capsys, "targets").split())
    assert "tuned and tested" in text
    assert "thumbv7em-none-eabi tuned and tested" in text
    assert "thumbv8.1m.main-none-eabi tuned and tested" in text
    assert "armv7-linux-gnueabihf tuned and tested" in text
    assert "thumbv6m-none-eabi experimental" in text
    assert "riscv64-linux-gnu experimental" in text


def test_names_of_a_target(capsys: Capture):
    rows = json.loads(printed(capsys, "targets", "thumbv7em-none-eabi", "--json"))[
        "rows"
    ]
    assert {"option": "--cpu", "name": "cortex-m4", "has": ["vfp4d16sp"]} in rows
    dsp = {"option": "--features", "name": "dsp", "has": []}
    assert dsp in rows
    assert printed(capsys, "targets", "host")
    assert main(["targets", "z80"]) == 1
    assert "architecture 'z80'" in capsys.readouterr().err


def test_cache(model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch):
    def state(*arguments: str) -> dict[str, str | int | None]:
        (row,) = json.loads(printed(capsys, "cache", "--json", *arguments))["rows"]
        return row

    monkeypatch.setenv("QLOWER_CACHE_DIR", str(Path("kept").resolve()))
    monkeypatch.setenv("QLOWER_CACHE_MEGABYTES", "3")
    limit = 3 << 20
    kinds = dict.fromkeys(("files", "models", "parts_of_layers", "schedules"), 0)
    empty = {"folder": str(Path("kept").resolve()), **kinds, "bytes": 0}
    assert state() == {**empty, "limit": limit}
    qlower.jit(model)
    files = list(Path("kept").iterdir())
    assert state()["bytes"] == sum(file.stat().st_size for file in files) > 0
    assert (state()["models"], state()["schedules"]) == (1, 0)
    assert state()["parts_of_layers"] == len(files) - 1 > 0
    Path("kept/notes.txt").touch()
    assert state("--clear") == {**empty, "limit": limit}
    assert [file.name for file in Path("kept").iterdir()] == ["notes.txt"]
    monkeypatch.setenv("QLOWER_CACHE_DIR", "")
    assert state()["folder"] is None
    assert "There is no cache" in printed(capsys, "cache")
    monkeypatch.setenv("QLOWER_CACHE_MEGABYTES", "lots")
    assert main(["cache"]) == 1
    assert "QLOWER_CACHE_MEGABYTES is 'lots'" in capsys.readouterr().err


def test_passes(capsys: Capture):
    assert opt(["--list-passes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    own = [line for line in lines if re.match(r"\S+ +qlower ", line)]
    assert [line.split()[0] for line in own] == list(PASSES)
    assert all(line.split()[-1] != "-" for line in own)
    assert any("plan-memory" in line and "alignment=64" in line for line in own)
    text = " ".join(lines[:-1])
    assert "\u2026" not in text[: text.index(own[-1])]
    assert any(line.startswith("canonicalize ") for line in lines)


def test_help_of_qlower_opt(capsys: Capture):
    assert opt(["--help"]) == 0
    text = capsys.readouterr().out
    assert "see\n                        --list-passes" in text
    assert len(text.splitlines()) < 80
    for option in ("--version", "-v", "-V"):
        assert opt([option]) == 0
        told = capsys.readouterr().out
        assert told.startswith(f"qlower-opt {__version__} (xDSL 0.")


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("a{b=./x.mlir}", 'a{b="./x.mlir"}'),
        ("a{b=../my-npu/x.mlir c=3},d", 'a{b="../my-npu/x.mlir" c=3},d'),
        ("a{b=/x=y.mlir}", 'a{b="/x=y.mlir"}'),
        ("a{b=+dotprod}", 'a{b="+dotprod"}'),
        ("a{b=+x,-y,z c=./d}", 'a{b="+x,-y,z" c="./d"}'),
        ("a{b=-x,-y}", 'a{b="-x,-y"}'),
        ("a{b=x86-64.v3}", 'a{b="x86-64.v3"}'),
        ("a{b=3.mlir}", 'a{b="3.mlir"}'),
    ],
)
def test_options_of_passes_need_no_quotes(typed: str, read: str):
    assert quote_options(typed) == read
    assert quote_options(read) == read


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a,b-c,d{e=f}",
        "a{b=1,-2,3.5,4.5e3 c=true d}",
        "a{b=cortex-a76 c=2d-slice}",
        'a{b="x=./y" c="say \\"=./z\\""}',
        "mlir-opt[canonicalize{x=./y}]",
    ],
)
def test_what_xdsl_reads_stays(text: str):
    assert quote_options(text) == text


@pytest.mark.parts(5)
def test_pipelines_with_paths(model: str, capsys: Capture):
    Path("x.mlir").write_text('module attributes {contract.base = "tflite"} {}')
    passes = "lower-qnn{contract=./x.mlir},set-target{features=+fma,-avx512f}"
    assert opt([model, "-p", passes]) == 0
    text = capsys.readouterr().out
    assert '+fma,-avx512f"' in text
    assert "qnn.conv2d" not in text
    steps = ["--at", "kernel", "--arith-passes", "set-target{features=+fma}"]
    assert "kernel.nest" in printed(capsys, "inspect", model, *steps)
