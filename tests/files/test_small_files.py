"""Small readers and writers: dumps, JSON, results that replace files, other programs,
and contracts of other packages."""

from __future__ import annotations

import base64
import errno
import importlib.metadata
import io
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.files import contract_plugins, programs
from qlower.files.contract_plugins import plugin_contracts
from qlower.files.dumps import read_dump
from qlower.files.json_text import parse_json
from qlower.files.llvm_tools import find_tool
from qlower.files.programs import run_program
from qlower.files.replacing import (
    not_full,
    replacing,
    replacing_files,
    write_text,
    writing,
)


def encoded(*values: int) -> dict[str, str]:
    stream = io.BytesIO()
    np.save(stream, np.array(values, np.int8))
    return {"array": base64.b64encode(stream.getvalue()).decode()}


def outputs(**arrays: object) -> dict[str, object]:
    return {"outputs": arrays, "runtime": 1}


FORMS: dict[str, tuple[object, list[dict[str, list[int]]]]] = {
    "one": (outputs(a=encoded(1)), [{"a": [1]}]),
    "values": (outputs(a={"values": {"values": encoded(1, 2)}}), [{"a": [1, 2]}]),
    "runs": ([outputs(a=encoded(1)), outputs(a=encoded(2))], [{"a": [1]}, {"a": [2]}]),
    "within": ({"x": {"y": [[outputs(b=encoded(3))]]}, "n": 1}, [{"b": [3]}]),
    "others": (outputs(a=encoded(1), b={"c": 1}, d=[1], e=None), [{"a": [1]}]),
    "no number": (outputs(a={"array": 5, "values": encoded(4)}), [{"a": [4]}]),
    "not outputs": ({"outputs": [outputs(a=encoded(1))]}, [{"a": [1]}]),
}


@pytest.mark.parametrize("name", FORMS)
def test_arrays_in_json(name: str, tmp_path: Path) -> None:
    content, wanted = FORMS[name]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    runs = [{n: a.tolist() for n, a in run.items()} for run in read_dump(path)]
    assert runs == wanted


REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    "suffix": ("x.bin", "", "{path}: unknown kind of dump '.bin'"),
    "no suffix": ("x", "", "{path}: unknown kind of dump '(no suffix)'"),
    "nothing": ("x.json", "{}", "cannot read {path}: it has no outputs as Polygraphy "
                "writes them"),
    "empty": ("x.json", json.dumps(outputs()), "{path} has no arrays"),
    "text": ("x.json", json.dumps(outputs(a={"array": "*"})),
             "cannot read {path}: an array isn't base64: "),
    "twice": ("x.json", '{"a": 1, "b": 2, "a": 1}',
              "cannot read {path}: the key 'a' is there twice"),
    "deep": ("x.json", "[" * 99999, "cannot read {path}: it is nested too deeply"),
    "proto": ("x.pb", b"\x10\x63", "cannot read {path}: elements of ONNX type 99"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_dumps_that_are_refused(name: str, tmp_path: Path) -> None:
    file, content, message = REFUSED[name]
    path = tmp_path / file
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(QlowerError) as caught:
        read_dump(path)
    assert caught.value.message.startswith(message.format(path=path))
    if "suffix" in name:
        assert caught.value.help == (
            "dumps are .npz, .npy, .json, .tensorproto, .pb files or folders of them"
        )


def test_a_folder_of_dumps(tmp_path: Path) -> None:
    """A file without names is called by its path, others by their own names."""
    (tmp_path / "a/b").mkdir(parents=True)
    np.save(tmp_path / "a/b/c.d.npy", np.array(1))
    np.savez(tmp_path / "a/e.npz", f=np.array(2), e=np.array(3))
    (tmp_path / "g.json").write_text(json.dumps(outputs(h=encoded(4))))
    (tmp_path / "i.pb").write_bytes(b"\x08\x01\x10\x03\x4a\x01\x05")
    (tmp_path / "note.txt").write_text("")
    (found,) = read_dump(tmp_path)
    assert {name: array.reshape(-1).tolist() for name, array in found.items()} == {
        **{"a/b/c.d": [1], "f": [2], "a/e": [3], "h": [4], "i": [5]},
    }
    runs = [outputs(h=encoded(4))] * 3
    (tmp_path / "g.json").write_text(json.dumps(runs))
    with pytest.raises(QlowerError) as caught:
        read_dump(tmp_path)
    assert caught.value.message == (
        f"{tmp_path / 'g.json'} has 3 runs, one of a folder has one"
    )
    empty = tmp_path / "a/b"
    (empty / "c.d.npy").unlink()
    with pytest.raises(QlowerError, match="has no dumps") as caught:
        read_dump(empty)
    assert caught.value.help == "they are .npz, .npy, .json, .tensorproto, .pb files"


def test_json_that_readers_may_see_differently() -> None:
    assert parse_json(b'{"a": {"b": [1, {"b": null}]}}') == {
        "a": {"b": [1, {"b": None}]}
    }
    with pytest.raises(ValueError, match=r"^the key 'b' is there twice$"):
        parse_json('[{"a": 1, "b": 1, "c": 2, "b": 3}]')
    with pytest.raises(ValueError, match=r"^it is nested too deeply$"):
        parse_json("[" * 99999)


def test_a_file_is_replaced_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 60)
    with replacing(path) as stream:
        stream.write(b"first")
        assert [one.name[:5] for one in tmp_path.iterdir()] == [".long"]
    with pytest.raises(ZeroDivisionError), replacing(path) as stream:
        stream.write(bytes(1 // (stream.write(b"second") - 6)))
    assert path.read_bytes() == b"first"
    assert [*tmp_path.iterdir()] == [path]
    for wrong, reason in (
        (tmp_path, f"cannot write {tmp_path}: it is a directory"),
        (path / "x", f"cannot write {path / 'x'}: Not a directory"),
        (tmp_path / "none/x", f"cannot write {tmp_path}/none/x: No such file or dir"),
    ):
        with pytest.raises(QlowerError) as caught, replacing(wrong):
            raise AssertionError("refused before the work")
        assert caught.value.message.startswith(reason)


def test_a_device_is_written_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with replacing(pipe) as stream:
        stream.write(b"text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert [*tmp_path.iterdir()] == [pipe]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_a_disk_that_is_full(code: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    error = OSError(code, "why")
    for block in (lambda: not_full(path), lambda: replacing(path)):
        with pytest.raises((QlowerError, OSError)) as caught, block():
            raise error
        if code == errno.EIO:
            assert caught.value is error
        else:
            assert str(caught.value) == f"error: cannot write {path}: why"
    with (
        pytest.raises(QlowerError, match=r"^error: cannot write .*: why$"),
        writing(path),
    ):
        raise error
    with pytest.raises(BrokenPipeError), writing(path):
        raise BrokenPipeError(errno.EPIPE, "gone")
    assert not path.exists()


def test_files_of_a_folder_are_moved_together(tmp_path: Path) -> None:
    target = tmp_path / "new/out"
    with replacing_files(target) as folder:
        assert folder.parent == target
        (folder / "sub").mkdir()
        (folder / "a").write_text("a")
        (folder / "sub/b").write_text("b")
        assert not (target / "a").exists()
    assert sorted(p.relative_to(target).as_posix() for p in target.rglob("*")) == [
        *("a", "sub", "sub/b"),
    ]
    (target / "kept").write_text("kept")
    with pytest.raises(ZeroDivisionError), replacing_files(target) as folder:
        assert 1 // ((folder / "a").write_text("other") - 5)
    assert (target / "a").read_text() == "a"
    assert sorted(path.name for path in target.iterdir()) == ["a", "kept", "sub"]
    with pytest.raises(QlowerError) as caught, replacing_files(target) as folder:
        assert [(folder / name).write_text("?") for name in ("a", "sub")]
    assert caught.value.message == f"{target / 'sub'} is a directory"
    assert (target / "a").read_text() == "a"
    with pytest.raises(ZeroDivisionError), replacing_files(tmp_path / "gone"):
        assert 1 // 0
    assert not (tmp_path / "gone").exists()
    file = target / "a"
    with pytest.raises(QlowerError) as caught, replacing_files(file):
        raise AssertionError("refused before the work")
    assert caught.value.message == f"cannot write into {file}: it is not a directory"


def test_text_goes_to_a_file_or_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_text("-", lambda: "shown\n")
    assert capsys.readouterr().out == "shown\n"
    write_text(str(tmp_path / "x"), lambda: "é\n")
    assert (tmp_path / "x").read_bytes() == "é\n".encode()


SHOWS = (
    "import resource as r; print(r.getrlimit(r.RLIMIT_AS), r.getrlimit(r.RLIMIT_CPU))"
)


@pytest.mark.parts(4)
@pytest.mark.skipif(sys.platform != "linux", reason="limits are Linux's")
@pytest.mark.parametrize(
    ("memory", "work"), [(None, None), (1 << 33, None), (None, 77), (1 << 33, 77)]
)
def test_programs_have_limits(memory: int | None, work: int | None) -> None:
    usual = [
        resource.getrlimit(one) for one in (resource.RLIMIT_AS, resource.RLIMIT_CPU)
    ]
    wanted = [
        usual[0] if memory is None else (memory, memory),
        usual[1] if work is None else (work, work + 1),
    ]
    command = [sys.executable, "-c", SHOWS]
    done = run_program(command, most_memory=memory, most_work=work)
    assert done.stdout.decode().strip() == " ".join(map(str, wanted)), done.stderr


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_limits_are_set_before_a_program_begins(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With time, there is no core either, which SIGXCPU would leave."""
    limit = vars(programs)["_limit"]
    given: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(
        resource, "setrlimit", lambda kind, limits: given.append((kind, limits))
    )
    space = (resource.RLIMIT_AS, (1 << 33, 1 << 33))
    time = [(resource.RLIMIT_CORE, (0, 0)), (resource.RLIMIT_CPU, (77, 78))]
    for memory, work, wanted in (
        (None, None, []),
        (1 << 33, None, [space]),
        (None, 77, time),
        (1 << 33, 77, [space, *time]),
        (0, None, [(resource.RLIMIT_AS, (0, 0))]),
    ):
        limit(memory, work)
        assert given == (wanted if platform == "linux" else [])
        given.clear()


def test_what_a_program_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths as absolute ones, and limits where there are any."""
    monkeypatch.chdir(tmp_path)
    seen: list[Any] = []

    def run(command: Any, **options: Any) -> str:
        before = options.pop("preexec_fn")
        options["limits"] = None if before is None else before.args
        seen.append((command, options))
        return "done"

    monkeypatch.setattr(subprocess, "run", run)
    assert run_program(["x", Path("--y"), Path("/z")]) == "done"
    plain: dict[str, Any] = {
        **{"input": b"", "capture_output": True, "timeout": None, "env": None},
        **{"cwd": None, "check": False, "limits": None},
    }
    assert seen == [(["x", str(tmp_path / "--y"), "/z"], plain)]
    for name, value, changed in (
        *(("input", b"1", "input"), ("seconds", 3.0, "timeout")),
        *(("environment", {"a": "b"}, "env"), ("folder", tmp_path, "cwd")),
    ):
        run_program(["x"], **{name: value})  # pyright: ignore[reportArgumentType]
        assert seen[-1] == (["x"], {**plain, changed: value})
    for memory, work in ((1, None), (None, 0), (0, 2)):
        run_program(["x"], most_memory=memory, most_work=work)
        assert seen[-1] == (["x"], {**plain, "limits": (memory, work)})


def test_a_folder_that_was_there_stays(tmp_path: Path) -> None:
    """Though it is empty; and one that is made for no file, once that is done."""
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ZeroDivisionError), replacing_files(empty):
        assert 1 // 0
    assert [*tmp_path.iterdir()] == [empty]
    with replacing_files(empty), replacing_files(tmp_path / "made"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "made"]
    with pytest.raises(ZeroDivisionError), replacing_files(tmp_path / "other"):
        assert 1 // (tmp_path / "other" / "of another").write_text("")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["of another"]


def test_results_have_the_mode_of_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "x") as stream:
            stream.write(b"1")
        (tmp_path / "plain").write_bytes(b"1")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {0o640}


def test_programs_have_their_folder_variables_and_time(tmp_path: Path) -> None:
    done = run_program(
        ["sh", "-c", "pwd; echo $A"], folder=tmp_path, environment={"A": "b"}
    )
    assert done.stdout.decode().split() == [str(tmp_path.resolve()), "b"]
    with pytest.raises(subprocess.TimeoutExpired):
        run_program(["sleep", "9"], seconds=0.01)
    with pytest.raises(OSError, match="none"):
        run_program([str(tmp_path / "none")])


def tool(folder: Path, name: str, version: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho 'LLVM (http://llvm.org/):'\necho '{version}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "site"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'one'}:{tmp_path / 'two'}:/bin:/usr/bin")
    return find_tool.__wrapped__


def test_tools_are_found_by_their_version(search: Any, tmp_path: Path) -> None:
    name = "my-opt"
    assert search("mine", name, 20) is None
    numbered = {
        number: tool(
            tmp_path / folder, f"{name}-{number}", f"  LLVM version {number}.1"
        )
        for number, folder in ((9, "one"), (21, "two"), (100, "one"))
    }
    tool(tmp_path / "one", f"{name}-22x", "LLVM version 22.0")
    assert search("mine", name, 20) == numbered[100]  # the largest number, as a number
    assert search("mine", name, 100) == numbered[100]
    assert search("mine", name, 101) is None
    plain = tool(tmp_path / "two", name, "LLVM version 20.0")
    assert search("mine", name, 20) == plain
    assert search("mine", name, 21) == numbered[100]
    brought = tool(tmp_path / "site" / "mine" / "bin", name, "LLVM version 21.0")
    assert search("mine", name, 21) == brought
    assert search("other", name, 20) == plain
    given = tool(tmp_path, "given", "LLVM version 23.0")
    assert search("mine", name, 20, given) == given
    for odd in (tool(tmp_path, "odd", "no version"), str(tmp_path / "none")):
        assert search("mine", name, 20, odd) == brought
        assert search("mine", name, 1, odd) == brought
        assert search("mine", name, 0, odd) == odd  # any version will do
    shutil.rmtree(tmp_path / "one")
    assert search("other", name, 21) == numbered[21]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Entry points, and the packages that they name."""
    points: list[Any] = []
    monkeypatch.setattr(contract_plugins, "may_have_entry_points", lambda _: True)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(name: str, package: str, *, file: bool = True) -> None:
        points.append(SimpleNamespace(name=name, value=package))
        folder = tmp_path.joinpath(*package.split("."))
        if package.startswith("plug"):
            folder.mkdir(parents=True, exist_ok=True)
            if file:
                (folder / f"{name}.mlir").write_text("")

    return add


def test_contracts_of_other_packages(
    packages: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read: Any = plugin_contracts.__wrapped__
    packages("npu-b", "plug_one.inner")
    packages("npu-a", "plug_one.inner")
    packages("npu-c", "plug_two", file=False)
    packages("npu-d", "nothing.at_all")
    packages("npu-e", "sys")
    found = read()
    folder = tmp_path / "plug_one" / "inner"
    assert list(found.items()) == [
        ("npu-a", folder / "npu-a.mlir"),
        ("npu-b", folder / "npu-b.mlir"),
    ]
    assert caplog.messages == [
        f"warning: contract npu-{name} of another package isn't there: there is no "
        f"npu-{name}.mlir in the package {package}"
        for name, package in (("c", "plug_two"), ("d", "nothing.at_all"), ("e", "sys"))
    ]


def test_without_entry_points_nothing_is_looked_for(
    packages: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages("npu-a", "plug_one")
    monkeypatch.setattr(contract_plugins, "may_have_entry_points", lambda _: False)
    read: Any = plugin_contracts.__wrapped__
    assert read() == {}
