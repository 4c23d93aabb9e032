"""Programs of other projects: a file's name is never an option of theirs."""

from __future__ import annotations

import ast
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import qlower
from qlower.codegen.targets.resolve import resolve_target
from qlower.diagnostics import QlowerError
from qlower.files.llvm_tools import find_tool
from qlower.files.programs import run_program
from qlower.frontends import converted
from qlower.packages.link import compiler_driver, link_shared

ROOT = Path(qlower.__file__).parent
STARTING = ("subprocess", "os.system", "os.popen", "os.spawn", "os.exec", "posix_spawn")


ALONE = ("files/programs.py", "verification/smt/solve.py")
"""What starts programs: the function for all of qlower, and a script that users run
where qlower isn't, on files by their absolute paths."""


@pytest.mark.parts(4)
def test_programs_are_run_by_one_function():
    """Only `run_program` starts programs; `subprocess` is there for its exceptions."""
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).as_posix() in ALONE:
            continue
        text = path.read_text()
        if not any(name.split(".")[-1] in text for name in STARTING):
            continue
        tree = ast.parse(text)
        used = {ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        started = {u for u in used if u.startswith(STARTING)}
        assert "from subprocess" not in text, path
        assert started <= {"subprocess.TimeoutExpired"}, path


def test_files_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    done = run_program(["echo", Path("--version"), "--", Path("./-n")])
    assert done.stdout.decode().split() == [
        str(tmp_path / "--version"),
        "--",
        str(tmp_path / "-n"),
    ]


def test_a_program_that_fails_says_what_it_wrote():
    done = run_program(["sh", "-c", "cat; echo why >&2; exit 3"], input=b"given")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"given", b"why\n")


@pytest.mark.parametrize("suffix", [".mlirbc", ".tosa"])
def test_a_model_whose_name_is_an_option(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """`--load-dialect-plugin=` would run a library that lies beside the model."""
    monkeypatch.chdir(tmp_path)
    tool = tmp_path / "tool"
    tool.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/given\n')
    tool.chmod(0o755)
    monkeypatch.setattr(converted, "find_tool", lambda *_: str(tool))
    model = Path(f"--load-dialect-plugin=sub/x{suffix}")
    model.parent.mkdir()
    model.write_bytes(b"")
    if suffix == ".tosa":
        names = ("bin/tosa-opt", "bin/tosa.fbs")
        parts = [_Installed(name, tool) for name in names]
        monkeypatch.setattr(converted, "files", lambda _: parts)
    converted.text_of(model)
    given = (tmp_path / "given").read_text().splitlines()
    assert any(str(tmp_path / model) in argument for argument in given)
    assert not any(argument.startswith("--load") for argument in given)


def test_a_tool_that_reads_a_file_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tool, model = tmp_path / "mlir-opt", tmp_path / "x.mlirbc"
    tool.write_text("#!/bin/sh\nwhile :; do :; done\n")
    tool.chmod(0o755)
    model.write_bytes(b"ML")
    monkeypatch.setattr(converted, "find_tool", lambda *_: str(tool))
    monkeypatch.setattr(converted, "WORK", 1)
    with pytest.raises(QlowerError, match=r"x.mlirbc by mlir-opt: not within 1 s"):
        converted.text_of(model)


def test_a_tool_that_takes_all_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tool, model = tmp_path / "mlir-opt", tmp_path / "x.mlirbc"
    tool.write_text(f"#!{sys.executable}\nbytearray(3 << 30)\n")
    tool.chmod(0o755)
    model.write_bytes(b"ML")
    monkeypatch.setattr(converted, "find_tool", lambda *_: str(tool))
    with pytest.raises(QlowerError, match=r"x.mlirbc by mlir-opt: it failed"):
        converted.text_of(model)


@dataclass(frozen=True)
class _Installed:
    """A file of a package, which lies elsewhere than its name says."""

    name: str
    file: Path

    def __str__(self) -> str:
        return self.name

    def locate(self) -> Path:
        return self.file


def test_a_library_whose_name_is_an_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    triple = resolve_target("host").triple
    source = tmp_path / "-x.c"
    source.write_text("int f(void) { return 1; }\n")
    run_program([*compiler_driver(triple), "-fPIC", "-c", source, "-o", Path("--x.o")])
    link_shared(Path("--x.o"), Path("--version.so"), triple)
    assert (tmp_path / "--version.so").stat().st_size > 0


def test_a_tool_is_found_that_has_its_version_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in (9, 22, 21):
        tool = tmp_path / f"qlower-tool-{version}"
        tool.write_text(f"#!/bin/sh\necho LLVM version {version}.1.0\n")
        tool.chmod(0o755)
    (tmp_path / "qlower-tool-22-docs").touch()
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    newest = str(tmp_path / "qlower-tool-22")
    assert find_tool("mlir", "qlower-tool", 22) == newest
    assert find_tool("mlir", "qlower-tool", 23) is None
