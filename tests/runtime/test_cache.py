"""The cache gives what would be compiled now, or nothing: whatever is edited, damaged,
killed, or full."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from support.layers.custom_contracts import ADDING
from support.layers.small_model import SMALL_MODEL
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.codegen.program import module
from qlower.codegen.targets.resolve import Target
from qlower.compilation import to_kernel
from qlower.compilation.passes import Observer
from qlower.diagnostics import QlowerError, warn
from qlower.frontends import load as frontend
from qlower.frontends.import_options import ImportOptions
from qlower.kept import cache
from qlower.kept.cache import (
    DIRECTORY,
    LIMIT,
    cache_folder,
    cache_size,
    clear,
    find_entry,
    keep_entry,
)
from qlower.kept.fingerprint import fingerprint
from qlower.kept.journal import Journal, read_file
from qlower.model.signature import Array
from qlower.runtime import objects
from qlower.text.parsing import parse_module
from qlower.transforms import prove_epilogues
from qlower.transforms.prove_epilogues.machine import Machine
from qlower.transforms.prove_epilogues.proved_before import Found
from qlower.transforms.prove_epilogues.staircase import Staircase

PLAIN = 'module attributes {{contract.base = "{base}"}} {{}}\n'

SMALL = "onnxruntime"
"""A contract that is soon read."""

NOBODY = 65534
"""The user that owns nothing."""

IMAGE = np.array([-128, -20, 30, 127], np.int8).reshape(1, 2, 2, 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's; the working directory has a model and the contracts that it names:
    a.mlir, its base b.mlir, and its base's base c.mlir."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "cache"))
    Path("model.mlir").write_text(SMALL_MODEL.replace('"tflite"', '"./a.mlir"'))
    Path("a.mlir").write_text(PLAIN.format(base="./b.mlir"))
    Path("b.mlir").write_text(PLAIN.format(base="./c.mlir"))
    Path("c.mlir").write_text(ADDING.format(base=SMALL, added=1))
    return tmp_path / "cache"


def run(contract: str | None = None) -> Array:
    result = qlower.jit("model.mlir", contract)(IMAGE)
    assert isinstance(result, np.ndarray)
    return result


def is_compiled(call: Callable[[], object]) -> bool:
    """Whether a call compiles anything."""
    compiled: list[bool] = []

    def lower(
        module: ModuleOp, target: Target, observers: Sequence[Observer]
    ) -> ModuleOp:
        compiled.append(True)
        return lower_to_kernel(module, target, observers)

    lower_to_kernel = to_kernel.lower_to_kernel
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(to_kernel, "lower_to_kernel", lower)
        call()
    return bool(compiled)


def compiled_anew(contract: str | None = None) -> Array:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DIRECTORY, "")
        return run(contract)


def only_model(folder: Path) -> Path:
    """The entry of the only model."""
    (path,) = folder.glob("*.qo")
    return path


def parts(folder: Path) -> list[Path]:
    """The entries of layers."""
    return sorted(folder.glob("*.part"))


NAMED = 'qnn.contract = "tflite"'

NAMES = {
    "plain": SMALL_MODEL.replace(NAMED, 'qnn.contract = "./a.mlir"'),
    "quoted key": SMALL_MODEL.replace(NAMED, '"qnn.contract"="./a.mlir"'),
    "escape": SMALL_MODEL.replace(NAMED, 'qnn.contract = "\\2E/a.mlir"'),
    "alias": '#c = "./a.mlir"\n' + SMALL_MODEL.replace(NAMED, "qnn.contract = #c"),
    "comment": SMALL_MODEL.replace(NAMED, 'qnn.contract = // what\n "./a.mlir"'),
}
"""Ways to name a contract file in a model."""


@pytest.mark.parts(25)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("way", NAMES)
def test_a_contract_is_part_of_what_is_compiled_however_it_is_named(way: str):
    Path("model.mlir").write_text(NAMES[way])
    before = run()
    assert not is_compiled(run)
    Path("c.mlir").write_text(ADDING.format(base=SMALL, added=3))
    after = run()
    assert (before != after).any()
    np.testing.assert_array_equal(after, compiled_anew())


def rewrite(name: str, text: str) -> Callable[[pytest.MonkeyPatch], None]:
    def edit(patch: pytest.MonkeyPatch) -> None:
        Path(name).write_text(text)

    return edit


def set_variable(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setenv(name, "1")


EDITS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "the model": rewrite(
        "model.mlir", NAMES["plain"].replace("[1, 2, 3]>", "[99, 2, 3]>")
    ),
    "the contract": rewrite("a.mlir", ADDING.format(base="./b.mlir", added=5)),
    "which base it has": rewrite("a.mlir", PLAIN.format(base=SMALL)),
    "its base": rewrite("b.mlir", ADDING.format(base="./c.mlir", added=7)),
    "its base's base": rewrite("c.mlir", ADDING.format(base=SMALL, added=9)),
    "the environment": set_variable("QLOWER_ANYTHING"),
    "the compiler": lambda patch: patch.setattr(objects, "own_code", lambda: b"new"),
}


@pytest.mark.parts(28)
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("edited", EDITS)
def test_an_edited_input_is_compiled_anew(edited: str, monkeypatch: pytest.MonkeyPatch):
    run()
    assert not is_compiled(run)
    EDITS[edited](monkeypatch)
    assert is_compiled(run)
    np.testing.assert_array_equal(run(), compiled_anew())


@pytest.mark.parts(4)
@pytest.mark.usefixtures("folder")
def test_other_options_are_compiled_anew():
    run()
    for call in (
        lambda: qlower.jit("model.mlir", cpu="x86-64"),
        lambda: qlower.jit("model.mlir", cpu="x86-64-v3"),
        lambda: qlower.jit("model.mlir", cpu="x86-64-v3", features="-fma"),
        lambda: qlower.jit("model.mlir", contract="tflite"),
        lambda: qlower.jit("model.mlir", contract="./c.mlir"),
        lambda: qlower.jit("model.mlir", threads=2),
        lambda: qlower.jit("model.mlir", profile=True),
        lambda: qlower.jit("model.mlir", with_layers=True),
    ):
        assert is_compiled(call)
        assert not is_compiled(call)


@pytest.mark.usefixtures("folder")
def test_a_model_is_known_by_its_content():
    run()
    Path("model.mlir").rename("moved.mlir")
    assert not is_compiled(lambda: qlower.jit("moved.mlir"))
    model = qlower.load("moved.mlir")
    assert not is_compiled(lambda: qlower.jit(model))
    Path("c.mlir").write_text(ADDING.format(base=SMALL, added=3))
    assert is_compiled(lambda: qlower.jit(model))
    Path("c.mlir").unlink()
    with pytest.raises(qlower.QlowerError, match=r"c\.mlir"):
        qlower.jit(model)


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_a_contract_that_is_edited_meanwhile(monkeypatch: pytest.MonkeyPatch):
    """The entry is what the old text made, and found for the old text alone."""
    lower_to_kernel = to_kernel.lower_to_kernel
    old, new = Path("c.mlir").read_text(), ADDING.format(base=SMALL, added=50)

    def edit(
        module: ModuleOp, target: Target, observers: Sequence[Observer]
    ) -> ModuleOp:
        Path("c.mlir").write_text(new)
        return lower_to_kernel(module, target, observers)

    with monkeypatch.context() as patch:
        patch.setattr(to_kernel, "lower_to_kernel", edit)
        first = run()
    np.testing.assert_array_equal(run(), compiled_anew())
    Path("c.mlir").write_text(old)
    np.testing.assert_array_equal(run(), first)


@pytest.mark.usefixtures("folder")
def test_warnings_are_repeated(caplog: pytest.LogCaptureFixture):
    def load(
        path: Path, contracts: Sequence[str], reading: ImportOptions | None
    ) -> qlower.Model:
        warn("something looks wrong")
        return original(path, contracts, reading)

    original = frontend.as_model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frontend, "as_model", load)
        run()
    run()
    assert caplog.messages == ["warning: something looks wrong"] * 2


@pytest.mark.parts(8)
@pytest.mark.parametrize("kind", ["model", "parts"])
def test_damaged_entries_are_misses(folder: Path, kind: str):
    expected = run()
    model = only_model(folder)
    good = {path: path.read_bytes() for path in [model, *parts(folder)]}
    damaged = [model] if kind == "model" else parts(folder)

    def flipped(data: bytes) -> bytes:
        middle = len(data) // 2
        return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]

    ways: list[Callable[[bytes], bytes]] = [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[:-1],
        lambda data: b"x" + data,
        flipped,
    ]
    for damage in ways:
        model.unlink()
        for path in damaged:
            path.write_bytes(damage(good[path]))
        np.testing.assert_array_equal(run(), expected)
        assert {path: path.read_bytes() for path in good} == good


@pytest.mark.parts(3)
def test_an_entry_under_the_name_of_another_is_a_miss(folder: Path):
    """Of its own kind, or of any other."""
    run()
    expected = run("tflite")
    keep_entry(folder / "1.tuned", b"#kernel.tile<4 by 4>")
    keep_entry(folder / "2.tuned", b"#kernel.tile<8 by 4>")
    entries = {path: path.read_bytes() for path in folder.iterdir()}
    some = [
        path for kind in cache.KINDS for path in sorted(folder.glob(f"*{kind}"))[:2]
    ]
    assert len(some) == 2 * len(cache.KINDS)
    for path, other in permutations(some, 2):
        path.write_bytes(entries[other])
        assert find_entry(path) is None
        path.write_bytes(entries[path])
    for path, other in zip(entries, [*entries][1:], strict=False):
        path.write_bytes(entries[other])
    np.testing.assert_array_equal(run("tflite"), expected)


@pytest.mark.parts(4)
def test_another_layer_is_compiled_alone(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Of two layers the one that is edited, and what calls both. What a layer has by
    channel is data, which is quickly made again for both."""
    made: list[str] = []
    searches: list[Staircase] = []

    def machine_code(text: str, target: Target) -> bytes:
        made.append(text)
        return original_code(text, target)

    def search(staircases: Sequence[Staircase], machine: Machine) -> list[Found]:
        searches.extend(staircases)
        return original_search(staircases, machine)

    original_code = module.machine_code
    original_search = prove_epilogues.cheapest_lines
    monkeypatch.setattr(module, "machine_code", machine_code)
    monkeypatch.setattr(prove_epilogues, "cheapest_lines", search)

    def functions() -> set[str]:
        """What was compiled since this was asked last."""
        found = re.findall(r"define .* @(\w+)\(", "".join(made))
        made.clear()
        return set(found)

    run()
    assert functions() == {"_nest_0_conv", "_nest_1_scores", "qlower_main"}
    assert len(searches) == 2
    model = NAMES["plain"].replace("[1, 2, 3]>", "[99, 2, 3]>")
    Path("model.mlir").write_text(model)
    run()
    assert functions() <= {"_nest_1_scores"}
    assert len(searches) == 3
    signed = model.replace("<u8:f32, 6.250000e-02:128", "<i8:f32, 6.250000e-02:0")
    Path("model.mlir").write_text(signed)
    after = run()
    assert functions() == {"_nest_1_scores", "qlower_main"}
    assert len(searches) == 4
    qlower.compile("model.mlir")
    assert len(searches) == 4
    np.testing.assert_array_equal(after, compiled_anew())
    for path in folder.iterdir():
        path.unlink()
    np.testing.assert_array_equal(after, run())


@pytest.mark.parts(2)
@pytest.mark.parametrize("value", ["", "/dev/null/nowhere"])
def test_no_cache(folder: Path, value: str, monkeypatch: pytest.MonkeyPatch):
    expected = run()
    monkeypatch.setenv(DIRECTORY, value)
    np.testing.assert_array_equal(run(), expected)
    assert cache_size() == (Counter(), 0)
    assert clear() == 0


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch):
    full: list[str] = []

    def make_file(dir: Path, suffix: str) -> tuple[int, str]:
        full.append(str(dir / f"full{suffix}"))
        Path(full[-1]).touch()
        return os.open("/dev/full", os.O_WRONLY), full[-1]

    monkeypatch.setattr(cache.tempfile, "mkstemp", make_file)
    expected = run()
    assert full
    assert list(folder.iterdir()) == []
    np.testing.assert_array_equal(run(), expected)


def test_a_disk_that_is_read_only(folder: Path, monkeypatch: pytest.MonkeyPatch):
    expected = run()
    kept = set(folder.iterdir())

    def make_file(dir: Path, suffix: str) -> tuple[int, str]:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(cache.tempfile, "mkstemp", make_file)
    assert not is_compiled(run)
    np.testing.assert_array_equal(run("tflite"), compiled_anew("tflite"))
    assert set(folder.iterdir()) == kept
    np.testing.assert_array_equal(run(), expected)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write")
def test_a_folder_that_cannot_be_written(folder: Path):
    expected = run()
    kept = set(folder.iterdir())
    folder.chmod(0o500)
    assert not is_compiled(run)
    np.testing.assert_array_equal(run("tflite"), compiled_anew("tflite"))
    assert set(folder.iterdir()) == kept
    np.testing.assert_array_equal(run(), expected)
    folder.chmod(0o700)


def test_an_entry_of_another_user_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    run()
    monkeypatch.setattr(cache.os, "geteuid", lambda: os.getuid() + 1)
    assert is_compiled(run)


def test_a_pipe_in_the_place_of_an_entry(folder: Path):
    expected = run()
    for path in folder.iterdir():
        path.unlink()
        os.mkfifo(path)
    assert is_compiled(lambda: np.testing.assert_array_equal(run(), expected))


def test_the_longest_unused_go_first(folder: Path, monkeypatch: pytest.MonkeyPatch):
    def name(index: int) -> Path:
        return folder / f"{index}.qo"

    monkeypatch.setenv(LIMIT, "1")
    kept = 300_000
    for index in range(3):
        keep_entry(name(index), bytes(kept))
        os.utime(name(index), (index + 1, index + 1))
    abandoned, recent, foreign = (folder / n for n in ("a.tmp", "b.tmp", "notes"))
    for path in (abandoned, recent, foreign):
        path.write_bytes(b"x")
    os.utime(abandoned, (1, 1))
    assert find_entry(name(0)) == bytes(kept)  # which is a use
    keep_entry(name(3), bytes(kept))
    assert sorted(p.name for p in folder.iterdir()) == [
        "0.qo",
        "2.qo",
        "3.qo",
        "b.tmp",
        "notes",
    ]
    keep_entry(name(4), bytes(2 << 20))
    assert not name(4).exists()
    counts, size = cache_size()
    assert counts == {".qo": 3, ".tmp": 1}
    assert clear() == size
    assert list(folder.iterdir()) == [foreign]
    monkeypatch.setenv(LIMIT, "much")
    with pytest.raises(qlower.QlowerError, match="is 'much', not a number"):
        run()


def test_a_process_looks_at_all_entries_rarely(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    looks: list[Path | None] = []

    def observed() -> list[tuple[Path, os.stat_result]]:
        looks.append(folder)
        return []

    monkeypatch.setattr(cache, "_entries", observed)
    monkeypatch.setenv(LIMIT, "1")
    for index in range(7):  # a third of a 64th of the limit each
        keep_entry(folder / f"{index}.part", bytes((1 << 20) // 64 // 3 + 1))
    assert len(looks) == 3


WORKER = """
import sys, numpy as np, qlower
x = np.array([-128, -20, 30, 127], np.int8).reshape(1, 2, 2, 1)
for cpu in sys.argv[1:]:
    print(qlower.jit("model.mlir", cpu=cpu)(x).tolist())
"""


def start(*cpus: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORKER, *cpus]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.long
def test_processes_at_once(folder: Path):
    check_processes(folder, 2)


@pytest.mark.long
def test_twenty_processes_and_some_that_are_killed(folder: Path):
    were_killed: list[bool] = []
    for delay in (0.4, 0.7, 1.0, 1.3, 1.6, 2.0):
        process = start("x86-64", "x86-64-v2")
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=delay)
        were_killed.append(process.poll() is None)
        process.kill()
        process.communicate()
    assert any(were_killed)
    check_processes(folder, 20)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act for others")
def test_a_folder_that_belongs_to_somebody_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Who may not write there leaves it as it is; who may, reads what is theirs."""
    with TemporaryDirectory() as name:  # pytest's folders are for their owner alone
        place = Path(name, "shared")
        shutil.copytree(folder.parent, place)
        Path(name).chmod(0o755)
        place.chmod(0o755)
        monkeypatch.chdir(place)
        monkeypatch.setenv(DIRECTORY, str(place / "cache"))
        check_sharing(place / "cache")


def check_sharing(folder: Path) -> None:
    """Two users of one folder."""
    expected = run()
    ours = set(folder.iterdir())

    def gives_the_same() -> bool:
        return is_compiled(lambda: np.testing.assert_array_equal(run(), expected))

    assert not gives_the_same()  # which also imports all that others may not read
    folder.chmod(0o755)
    assert is_true_for_nobody(gives_the_same)
    assert set(folder.iterdir()) == ours
    assert not is_compiled(run)
    folder.chmod(0o777)
    assert is_true_for_nobody(gives_the_same)
    assert is_true_for_nobody(lambda: not gives_the_same())
    assert gives_the_same()
    assert set(folder.iterdir()) == ours
    assert not is_compiled(run)


def is_true_for_nobody(call: Callable[[], bool]) -> bool:
    """What a call gives in a process of another user."""
    child = os.fork()
    if child == 0:
        try:
            os.setuid(NOBODY)
            os._exit(0 if call() else 1)
        except BaseException as error:
            print(error, file=sys.stderr, flush=True)
            os._exit(2)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 1)
    return code == 0


def check_processes(folder: Path, count: int) -> None:
    """All give the same bits, and leave whole entries."""
    cpus = ("x86-64", "x86-64-v2")
    processes = [start(*cpus) for _ in range(count)]
    expected = f"{compiled_anew().tolist()}\n" * len(cpus)
    for process in processes:
        assert process.communicate()[0] == expected
        assert process.returncode == 0
    for cpu in cpus:
        assert not is_compiled(lambda cpu=cpu: qlower.jit("model.mlir", cpu=cpu))
    assert parts(folder)
    for path in folder.iterdir():
        assert find_entry(path) is not None
    assert cache_folder() == folder


def test_fingerprint_sees_constants_and_locations():
    def of(byte: str, layer: str) -> bytes:
        data = "0x" + byte * 400
        text = f"""func.func @main() -> tensor<400xi8> {{
          %c = arith.constant dense<"{data}"> : tensor<400xi8> loc("{layer}")
          return %c : tensor<400xi8>
        }}"""
        return fingerprint(parse_module(text, "same.mlir"))

    assert of("01", "a") == of("01", "a")
    assert len({of("01", "a"), of("02", "a"), of("01", "b")}) == 3


def test_a_file_that_is_read_again_is_what_it_was(tmp_path: Path):
    """Whether its content is still there, or only its hash."""
    file, journal = tmp_path / "file", Journal()
    file.write_bytes(b"one")
    with journal.kept():
        assert read_file(file) == b"one"
        file.write_bytes(b"two")
        assert read_file(file) == b"one"
        journal.contents.clear()
        with pytest.raises(QlowerError, match="file changed while it was compiled"):
            read_file(file)
