"""What people see when they look for a fault: the IR and time of each pass, what
reproduces a failure."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from resource import RLIM_INFINITY

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode, ending
from qlower.cli.opt import main as opt
from qlower.codegen.targets.resolve import host_target
from qlower.compilation.passes import VERIFY_EACH
from qlower.compilation.to_kernel import kernel_passes
from qlower.model.entry import main_function
from qlower.model.layers import layer_name, layers
from qlower.transforms.lower_qnn import LowerQnnPass
from qlower.transforms.tabulate_functions import TabulateFunctionsPass

Capture = pytest.CaptureFixture[str]


def test_dumped_ir_goes_on_with_qlower_opt(model: str, image: str, capsys: Capture):
    assert main(["run", model, "--input", image, "--dump-ir", "ir"]) == 0
    capsys.readouterr()
    files = sorted(Path("ir").iterdir())
    names = [step.name for step in kernel_passes(host_target())]
    assert [file.name[3:] for file in files[-len(names) - 1 :]] == [
        *(f"{name}.mlir" for name in names),
        "llvm.ll",
    ]
    assert files[0].name == "00-input.mlir"
    assert opt([str(files[-2])]) == 0
    final = capsys.readouterr().out
    for file in (files[5], files[8]):
        head = file.read_text().splitlines()[0]
        tool, name, *arguments = shlex.split(head.removeprefix("// "))
        assert (tool, name) == ("qlower-opt", file.name)
        assert opt([str(file), *arguments]) == 0
        assert capsys.readouterr().out == final


def test_times_and_counts_of_passes(model: str, capsys: Capture):
    assert main(["inspect", model, "--at", "llvm", "--timing"]) == 0
    out, error = capsys.readouterr()
    assert "define" in out
    for expected in ("prove-epilogues", "2 epilogues proved", "machine code", "scores"):
        assert expected in error
    rows = error[error.index("\nlayer ") :].splitlines()[3:-2]
    named = {name for line in rows for name in line.split("  ")[0].split(" + ")}
    assert named == {layer_name(op) for op in layers(qlower.load(model).module)}


def test_times_are_those_without_looking_at_them(
    model: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    verified: list[ModuleOp] = []
    monkeypatch.setattr("qlower.compilation.passes.verify_module", verified.append)
    counts: list[int] = []
    for options in (["--timing"], []):
        verified.clear()
        assert main(["compile", model, "-o", str(tmp_path / "package"), *options]) == 0
        counts.append(len(verified))
    assert counts == [1, 1]
    verified.clear()
    monkeypatch.setenv(VERIFY_EACH, "1")
    assert main(["compile", model, "-o", str(tmp_path / "package")]) == 0
    assert len(verified) > 10
    rows = [line.split()[0] for line in capsys.readouterr().err.splitlines() if line]
    assert {"verification", "machine"} <= set(rows)


def test_times_of_a_command_that_compiles_inside(model: str, capsys: Capture):
    assert main(["diff", "interp", "jit", model, "--random", "--timing"]) == 0
    assert "prove-epilogues" in capsys.readouterr().err


def test_verbose(model: str, image: str, capsys: Capture):
    command = ["run", model, "--input", image]
    errors: list[str] = []
    for level in ("-v", "-vv", "-vvv"):
        assert main([*command, level]) == 0
        errors.append(capsys.readouterr().err)
    assert "prove-epilogues\n" in errors[0]
    assert "fingerprint" not in errors[0]
    assert "kernel.nest" not in errors[1]
    assert "epilogues proved: conv\n" in errors[2]
    assert "// after prove-epilogues\n" in errors[2]
    assert "kernel.nest" in errors[2]


def fail(self: TabulateFunctionsPass, ctx: Context, op: ModuleOp) -> None:
    raise IndexError("planted")


def test_a_failing_pass_leaves_what_repeats_it(
    model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(TabulateFunctionsPass, "apply", fail)
    assert main(["inspect", model, "--at", "kernel"]) == 70
    assert "tabulate-functions: IndexError: planted" in capsys.readouterr().err
    (folder,) = tmp_path.glob("qlower-bug-*")
    command = shlex.split((folder / "pass.sh").read_text())
    assert command == ["qlower-opt", "before.mlir", "-p", "tabulate-functions"]
    assert "kernel.nest" in (folder / "before.mlir").read_text()
    passes = "canonicalize,tabulate-functions"
    assert opt([str(folder / "before.mlir"), "-p", passes]) == 70
    assert (
        "qlower-opt itself failed: CompilerBug: tabulate-functions: IndexError: planted"
        in (capsys.readouterr().err)
    )
    (again,) = set(tmp_path.glob("qlower-bug-*")) - {folder}
    assert "kernel.nest" in (again / "before.mlir").read_text()
    monkeypatch.undo()
    assert opt([str(again / "before.mlir"), "-p", "tabulate-functions"]) == 0


def test_a_pass_that_leaves_what_does_not_verify_is_to_blame(
    model: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Also where the module is verified only after later passes."""
    lower = LowerQnnPass.apply

    def use_too_early(self: LowerQnnPass, ctx: Context, op: ModuleOp) -> None:
        lower(self, ctx, op)
        block = main_function(op).body.block
        last = block.last_op
        assert last is not None
        block.detach_op(last)
        block.insert_op_before(last, next(iter(block.ops)))

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(LowerQnnPass, "apply", use_too_early)
    monkeypatch.delenv(VERIFY_EACH, raising=False)
    assert main(["inspect", model, "--at", "kernel"]) == 70
    assert "CompilerBug: lower-qnn: " in capsys.readouterr().err


def test_what_is_said_between_passes_is_not_the_result(model: str, capsys: Capture):
    assert opt([model, "-p", "canonicalize,cse", "--print-between-passes"]) == 0
    out, error = capsys.readouterr()
    assert "IR after canonicalize" in error
    assert "IR after" not in out


@pytest.mark.long
def test_a_full_disk_is_no_bug(model: str):
    code = "import sys; from qlower.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "inspect", model]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "error: cannot write: No space left on device\n"


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs Linux")
@pytest.mark.parametrize(
    ("room", "code", "said"),
    [
        (0, ExitCode.WRONG_INPUT, "allows are too few: 'frame' object is not callable"),
        (1 << 50, ExitCode.OUR_BUG, "a bug of qlower"),
        (RLIM_INFINITY, ExitCode.OUR_BUG, "a bug of qlower"),
    ],
    ids=["used", "free", "unlimited"],
)
def test_anything_that_fails_where_addresses_run_out_is_no_bug(
    room: int,
    code: ExitCode,
    said: str,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    """Python gives odd errors then; else they are bugs, under a limit, too."""

    def fail() -> int:
        raise TypeError("'frame' object is not callable")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    limits = room, RLIM_INFINITY
    ends = sys.modules[ending.__module__]
    monkeypatch.setattr(ends, "getrlimit", lambda _: limits)
    assert ending(fail, "qlower", ["inspect"]) == code
    assert said in capsys.readouterr().err


def test_outputs_on_a_full_disk(
    model: str, image: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    def make_file(prefix: str, dir: Path) -> tuple[int, str]:
        name = dir / f"{prefix}full"
        name.touch()
        return os.open("/dev/full", os.O_WRONLY), str(name)

    qlower.jit(model)  # or the cache would want a file, too
    monkeypatch.setattr("tempfile.mkstemp", make_file)
    assert main(["run", model, "--input", image, "--output", "y.npz"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: cannot write y.npz: No space left on device")
    assert not Path("y.npz").exists()
    assert not list(Path().glob("*full*"))
