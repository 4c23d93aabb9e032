"""Identify, explore, vectors, cache and compile, with the work itself replaced; and
what is saved of a failure."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.command_lines import parsed

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.compilation.passes import CompilerBug
from qlower.diagnostics import QlowerError
from qlower.sides.make_side import UnknownSide

Capture = pytest.CaptureFixture[str]
identify: Any = import_module("qlower.cli.identify")
explore: Any = import_module("qlower.cli.explore")
vectors: Any = import_module("qlower.cli.vectors")
caching: Any = import_module("qlower.cli.cache")
compiling: Any = import_module("qlower.cli.compile")
crash: Any = import_module("qlower.cli.crash")
probing: Any = import_module("qlower.identification.probe")


def refused(call: Any) -> QlowerError:
    with pytest.raises(QlowerError) as caught:
        call()
    return caught.value


class Result:
    """What a command prints, as text or as data."""

    table, text = "table", "its text"

    def __init__(self, **of: Any) -> None:
        vars(self).update(of)

    def render(self, width: int | None) -> str:
        return f"text in {width}"

    def to_dict(self) -> dict[str, object]:
        return {"data": 1}

    def html(self) -> str:
        return "<p>"


def data_of(text: str) -> dict[str, Any]:
    found = json.loads(text)
    assert found.pop("schema") == 1
    return found


# identify


@pytest.fixture
def identifying(monkeypatch: pytest.MonkeyPatch) -> Any:
    asked = SimpleNamespace(calls=[], found=True)

    def found(*of: Any, **named: Any) -> Any:
        named.pop("progress")
        asked.calls.append((of, named))
        if of[0] == "nobody":
            raise UnknownSide("who?", help="somebody")
        return Result(is_found=asked.found)

    monkeypatch.setattr(identify, "given_model", lambda options: options.model)
    monkeypatch.setattr(identify, "as_model", lambda model: f"model {model}")
    monkeypatch.setattr(identify, "arrays_for_layers", lambda model, options: {"x": 1})
    monkeypatch.setattr(identify, "identify", found)
    return asked


def test_what_is_identified(identifying: Any, capsys: Capture) -> None:
    assert identify.run(parsed("identify d m --random")) == 0
    assert capsys.readouterr().out == "text in None\n"
    plain = {"contracts": None, "verify": True, "family": None}
    assert identifying.calls == [(("d", "model m", 1), plain)]
    identifying.found = False
    line = "identify d m --random --json --contract a,,b --no-verify --family -o t.mlir"
    assert identify.run(parsed(line)) == ExitCode.FOUND
    assert data_of(capsys.readouterr().out) == {"data": 1}
    assert Path("t.mlir").read_text() == "its text"
    assert identifying.calls[1][1] == {
        **{"contracts": ["a", "b"], "verify": False, "family": True},
    }
    error = refused(lambda: identify.run(parsed("identify nobody m --random")))
    assert (type(error), error.message, error.help) == (UsageError, "who?", "somebody")
    for line in ("identify", "identify d"):
        error = refused(lambda line=line: identify.run(parsed(line)))
        assert error.message == "DUMP and MODEL are needed, or --probe FORMAT"


def test_a_probe_is_written(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    outputs = [SimpleNamespace(name=n, shape=(1, 3)) for n in "pq"]
    made = SimpleNamespace(outputs=6, model=SimpleNamespace(outputs=outputs))
    checked: list[str] = []

    def write(probe: Any, format: str, folder: Path) -> Path:
        (folder / "probe.mlir").write_text("text")
        return folder / "probe.mlir"

    monkeypatch.setattr(probing, "check_format", checked.append)
    monkeypatch.setattr(probing, "probe", lambda format, progress: made)
    monkeypatch.setattr(probing, "write_probe", write)
    line = "identify --probe mlir"
    takes = "--probe FORMAT takes -o FOLDER, and neither DUMP nor MODEL"
    for wrong in (line, "identify d m --probe mlir -o f"):
        assert refused(lambda wrong=wrong: identify.run(parsed(wrong))).message == takes
    assert identify.run(parsed(f"{line} -o f")) == 0
    assert checked == ["mlir"]
    assert capsys.readouterr().out.splitlines() == [
        "f/probe.mlir has 2 outputs of 6 numbers altogether.",
        "Its inputs are in f/inputs.npz, by name: run it on the device,",
        "save the outputs by name as an .npz file, and then",
        "  qlower identify outputs.npz f/probe.mlir --input f/inputs.npz",
    ]
    assert Path("f/probe.mlir").read_text() == "text"
    assert identify.run(parsed(f"{line} -o g --json")) == 0
    assert data_of(capsys.readouterr().out) == {
        **{"model": "g/probe.mlir", "inputs": "g/inputs.npz", "numbers": 6},
        "outputs": {"p": [1, 3], "q": [1, 3]},
    }


# explore, vectors, cache


def test_a_walk_and_its_files(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    calls: list[Any] = []
    drawn: list[Path] = []

    @contextmanager
    def given(*of: Any) -> Generator[Any]:
        yield of[0]

    def noted(name: str, result: Any) -> Any:
        def call(*of: Any, **named: Any) -> Any:
            calls.append((name, of, named))
            return result

        return call

    monkeypatch.setattr(explore, "prepare_job", noted("job", "a job"))
    monkeypatch.setattr(explore, "described", lambda job, data: f"{job} of {data}")
    monkeypatch.setattr(explore, "plan", noted("plan", "a plan"))
    monkeypatch.setattr(explore, "run_plan", noted("run", Result(plot=drawn.append)))
    monkeypatch.setattr(explore, "cluster", given)
    monkeypatch.setattr(explore, "bar", given)
    monkeypatch.setattr(explore, "print_table", lambda table, options: print(table))
    monkeypatch.setattr(explore.os, "sched_getaffinity", lambda pid: {1, 2, 3})
    assert explore.run(parsed("explore m --data d")) == 0
    out, error = capsys.readouterr()
    assert (out, error) == ("table\n", "note: a job of d\n")
    (_, of, _), (_, planned, options), (_, ran, how) = calls
    assert of[1] == ["tflite"]
    assert planned == ("a job", Path("m"))
    assert options["base"] == "tflite"
    assert (ran, how) == (
        ("a plan",),
        {"jobs": 3, "client": None, "resume": None, "on_progress": options["points"]},
    )
    line = "explore m --data d --jobs 2 --resume r --report p.html --plot p.svg"
    assert explore.run(parsed(f"{line} --format json")) == 0
    assert data_of(capsys.readouterr().out) == {"data": 1}
    assert (calls[-1][2]["jobs"], calls[-1][2]["resume"]) == (2, Path("r"))
    assert Path("p.html").read_text() == "<p>"
    assert drawn == [Path("p.svg")]


def test_vectors_of_layers_are_files(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    calls: list[Any] = []
    data = SimpleNamespace(arrays={"scale": np.zeros(1)}, to_dict=lambda: {"d": 1})
    layers = [
        SimpleNamespace(number=n, name=name, arrays={"x": np.zeros(2)}, data=data)
        for n, name in ((3, "a/b c"), (12, "plain-1.0"))
    ]
    monkeypatch.setattr(vectors, "given_model", lambda options: options.model)
    monkeypatch.setattr(vectors, "as_model", lambda model: model)
    monkeypatch.setattr(vectors, "with_layer_contracts", lambda *of: of)
    monkeypatch.setattr(vectors, "print_table", lambda table, options: print(table))

    def made(*of: Any, **named: Any) -> Any:
        calls.append((of, named))
        return Result(layers=layers)

    def write(folder: Path, arrays: Any, formats: Any, name: str) -> None:
        folder.mkdir(parents=True)
        calls.append((folder.name, list(arrays), formats, name))

    monkeypatch.setattr(vectors, "vectors", made)
    monkeypatch.setattr(vectors, "write_array_files", write)
    files = list(vectors.FILES)
    line = f"vectors m -o f --files {','.join(files)} --layer l --seed 4 --contract c"
    assert vectors.run(parsed(f"{line} --layer-contract a=b")) == 0
    assert capsys.readouterr().out == "table\n"
    names = [("03-a_b_c", "layer03-a_b_c"), ("12-plain-1.0", "layer12-plain-1.0")]
    assert calls == [
        ((("m", {"a": "b"}), "c"), {"layer": "l", "seed": 4}),
        *((folder, ["x", "scale"], files, name) for folder, name in names),
    ]
    assert json.loads(Path("f/03-a_b_c/layer.json").read_text())["d"] == 1
    assert json.loads(Path("f/coverage.json").read_text())["data"] == 1
    error = refused(lambda: vectors.run(parsed("vectors m -o g --files zzz")))
    assert error.message == f"--files 'zzz': they are {', '.join(files)}"


@pytest.mark.parametrize("clears", [False, True])
def test_a_cache_is_cleared_where_that_is_asked(
    clears: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(caching, "clear", lambda: done.append("cleared"))
    monkeypatch.setattr(caching, "cache_table", lambda: "table")
    monkeypatch.setattr(
        caching, "print_table", lambda table, options: done.append(table)
    )
    assert caching.run(parsed(f"cache {'--clear' * clears}")) == 0
    assert done == ["cleared"] * clears + ["table"]


# compile


@pytest.fixture
def emitting(monkeypatch: pytest.MonkeyPatch) -> Any:
    asked = SimpleNamespace(calls=[], bare=False, source=False, checked=[])

    def memory(with_stack: bool) -> Any:
        asked.calls.append(("stack", with_stack))
        return SimpleNamespace(
            check=lambda **limits: asked.checked.append(limits),
            to_json=lambda: {"ram": 1},
            table=lambda: "memory",
        )

    def shapes(made: Any, name: Any, section: Any) -> Any:
        asked.calls.append((made, name, section))
        target = SimpleNamespace(is_bare_metal=asked.bare, is_source=asked.source)
        return SimpleNamespace(
            target=target, memory=memory, write=lambda folder, emit, package: emit
        )

    for name in ("check_emitted", "check_name", "check_shared"):
        monkeypatch.setattr(
            compiling, name, lambda *of, name=name: asked.checked.append((name, *of))
        )
    monkeypatch.setattr(
        compiling, "make_levels", lambda options: (options.shape, options.target)
    )
    monkeypatch.setattr(compiling, "compile_shapes", shapes)
    return asked


@pytest.mark.parametrize(
    ("line", "bare", "source", "stack"),
    [
        ("", False, False, False),
        ("--stack", False, False, True),
        ("", True, False, True),
        ("--max-ram 1K", False, False, True),
        ("--max-flash 1K", False, False, False),
        ("--stack", False, True, False),
        ("--max-ram 1K", True, True, False),
    ],
)
def test_when_the_stack_is_counted(
    line: str, bare: bool, source: bool, stack: bool, emitting: Any, capsys: Capture
) -> None:
    emitting.bare, emitting.source = bare, source
    assert compiling.run(parsed(f"compile m -o d --emit obj {line}")) == 0
    assert emitting.calls[-1] == ("stack", stack)
    assert capsys.readouterr().out == "d/obj\n\nmemory\n"
    limits = {
        f"max_{n}": 1024 if f"max-{n}" in line else None for n in ("flash", "ram")
    }
    assert emitting.checked[-1] == limits


def test_shapes_and_targets_that_are_compiled(emitting: Any, capsys: Capture) -> None:
    line = "compile m -o d --emit obj,,header --shape x=1,2 --name n --json"
    assert compiling.run(parsed(f"{line} --weights-section .w")) == 0
    assert data_of(capsys.readouterr().out) == {
        **{"files": ["d/obj", "d/header"], "memory": {"ram": 1}},
    }
    shapes = [(["x=1"], "host"), (["x=2"], "host")]
    assert emitting.calls[0] == (shapes, "n", ".w")
    assert emitting.checked[:3] == [
        ("check_emitted", ["obj", "header"], None),
        ("check_name", "n"),
        ("check_shared", ["obj", "header"]),
    ]
    for emit, target in (("c", compiling.PORTABLE_C), ("c,obj", "host")):
        emitting.calls.clear()
        compiling.run(parsed(f"compile m -o d --emit {emit}"))
        assert emitting.calls[0][0] == [([], target)]
    emitting.calls.clear()
    compiling.run(parsed("compile m -o d --emit c --target t"))
    assert emitting.calls[0][0] == [([], "t")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "m --emit comb --max-flash 1K",
            "--max-flash and --max-ram: circuits take no ",
        ),
        (
            "m --emit comb --max-ram 1K",
            "--max-flash and --max-ram: circuits take no me",
        ),
        (
            "m --emit comb --weights-section s",
            "--package and --weights-section: circui",
        ),
        ("m --emit obj --stages 3", ""),
        (
            "- --emit obj --shape x=1,2",
            "several shapes are for a model's file, not for",
        ),
    ],
)
@pytest.mark.usefixtures("emitting")
def test_what_is_not_compiled(line: str, message: str) -> None:
    error = refused(lambda: compiling.run(parsed(f"compile {line} -o d")))
    assert error.message.startswith(message)
    assert not Path("d").exists()


# Failures


@pytest.mark.parametrize("tool", ["qlower", "qlower-opt"])
def test_what_is_saved_of_a_failure(
    tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The files that a command names, if they aren't too large, under their names."""
    folder = tmp_path / "saved"
    folder.mkdir()
    monkeypatch.setattr(crash.tempfile, "mkdtemp", lambda prefix: str(folder))
    monkeypatch.setattr(crash, "LARGEST_COPY", 5)
    below = tmp_path / "d"
    below.mkdir()
    for name, size in (("m.mlir", 5), ("x.npy", 3), ("large.npy", 6)):
        (below / name).write_bytes(b"x" * size)
    given = ["run", f"{below}/m.mlir", f"--input=x={below}/x.npy", f"{below}/large.npy"]
    assert crash._save(ValueError("odd"), given, tool) == folder
    assert {path.name for path in folder.iterdir()} == {
        *("command.sh", "report.txt", "m.mlir"),
    }
    debug = " --debug" if tool == "qlower" else ""
    assert (folder / "command.sh").read_text() == (
        f"{tool} run m.mlir --input=x={below}/x.npy {below}/large.npy{debug}\n"
    )
    report = (folder / "report.txt").read_text()
    assert report.startswith(f"qlower {crash.__version__}, xdsl ")
    assert report.endswith("ValueError: odd\n")
    bug = CompilerBug("cse: odd", "the module", "cse{a=1}")
    crash._save(bug, [f"x={below}/x.npy"], tool)
    assert (folder / "x.npy").read_text() == "xxx"
    assert (folder / "before.mlir").read_text() == "the module"
    assert (folder / "pass.sh").read_text() == "qlower-opt before.mlir -p 'cse{a=1}'\n"


@pytest.mark.parametrize(
    ("tool", "fails", "where"),
    [
        ("qlower", False, "what reproduces it is in saved"),
        ("qlower-opt", False, "what reproduces it is in saved"),
        ("qlower", True, "what reproduces it can't be saved: full"),
    ],
)
def test_what_is_said_of_a_failure(
    tool: str, fails: bool, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def save(*of: Any) -> str:
        if fails:
            raise OSError("full")
        return "saved"

    monkeypatch.setattr(crash, "_save", save)
    monkeypatch.setattr(crash, "complain", said.append)
    crash.report_crash(ValueError("first\nsecond"), [], tool)
    help = ["help: --debug shows the traceback"] if tool == "qlower" else []
    assert said[0].splitlines() == [
        f"error: {tool} itself failed: ValueError: first",
        "note: this is a bug of qlower, not of your input",
        f"note: {where}",
        *help,
    ]
    monkeypatch.setattr(
        crash, "version", lambda name: "1" if name != "numpy" else missing()
    )
    assert crash._versions() == "xdsl 1, llvmlite 1, numpy missing"


def missing() -> str:
    raise crash.PackageNotFoundError
