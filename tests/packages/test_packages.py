"""Models as C programs and shared libraries: they compile cleanly, link, run with the
bits of `qlower.jit`, and refuse what is wrong without writing anything."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import main
from qlower.codegen.program.interface import (
    STANDARD_HEADERS,
    STATUS_CODES,
    c_identifier,
    check_name,
)
from qlower.diagnostics import QlowerError
from qlower.emulation.elf import read_object
from qlower.packages.link import compiler_driver

WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
CPUS = ["x86-64", "x86-64-v3"]
EVERYTHING = ["obj", "header", "shared", "c-example"]

needs_cc = pytest.mark.skipif(
    shutil.which("cc") is None, reason="there is no C compiler"
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with everything that can be made of the small model."""
    model = tmp_path / "Small-model.mlir"
    model.write_text(SMALL_MODEL)
    qlower.compile(model).save(tmp_path / "out", emit=EVERYTHING)
    return tmp_path / "out"


@pytest.fixture
def image() -> np.ndarray:
    return np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1)


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )


def test_names():
    assert c_identifier("MobileNet v2 (1.0)") == "mobilenet_v2_1_0"
    assert c_identifier("2nd") == "model_2nd"
    assert c_identifier("日本") == "model"
    assert c_identifier("stdint") == "model_stdint"
    for name in ("x" * 300, "1" * 300, *STANDARD_HEADERS):
        assert check_name(c_identifier(name))
        with pytest.raises(QlowerError, match="is no name for"):
            check_name(name)


@pytest.mark.parts(4)
@pytest.mark.parametrize("name", ["MyNet", "known", "choose", "a_1"])
def test_a_name_is_what_everything_begins_with(name: str, tmp_path: Path):
    """Also one that code inside could be called by."""
    model = tmp_path / "7 my-model.v2.mlir"
    model.write_text(SMALL_MODEL)
    compiled = qlower.compile(model, target="x86_64-linux-gnu", cpu=CPUS, name=name)
    compiled.save(tmp_path / "out", emit=["obj", "header"])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"{name}.o",
        f"{name}.h",
    }
    assert f"#define {name.upper()}_ARENA_BYTES " in compiled.text("header")
    assert f"int32_t {name}_run(" in compiled.text("header")


@pytest.mark.parametrize(
    ("name", "layer", "cpus"),
    [("nest_0", "run_checked", CPUS[:1]), ("level_1_nest_0", "level", CPUS)],
)
def test_a_name_that_a_layer_completes(
    name: str, layer: str, cpus: list[str], tmp_path: Path
):
    """A layer's function is called after it, entry points after the name."""
    model = tmp_path / "model.mlir"
    model.write_text(SMALL_MODEL.replace("%conv", f"%{layer}"))
    compiled = qlower.compile(model, target="x86_64-linux-gnu", cpu=cpus, name=name)
    (path,) = compiled.save(tmp_path, emit=["obj"])
    names = {symbol.name for symbol in read_object(path.read_bytes()).symbols}
    prefix = "_level_1" if len(cpus) > 1 else ""
    assert {f"{prefix}_nest_0_{layer}", f"{name}_{layer}"} <= names


@pytest.mark.parametrize("name", ["", "7net", "_net", "a-b", "a b", "é", "a;b", "a\n"])
def test_names_that_c_does_not_take(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model = tmp_path / "model.mlir"
    model.write_text(SMALL_MODEL)
    with pytest.raises(qlower.QlowerError, match="is no name for C: expected a letter"):
        qlower.compile(model, name=name)
    assert main(["compile", str(model), "-o", str(tmp_path / "o"), "--name", name]) == 1
    assert "is no name for C" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@needs_cc
def test_library_gives_the_bits_of_jit(package: Path, image: np.ndarray):
    library = qlower.load_compiled(package)
    jit = qlower.jit(package.parent / "Small-model.mlir")
    assert library.inputs == jit.inputs
    assert library.outputs == jit.outputs
    expected = jit(image)
    np.testing.assert_array_equal(library(image), expected)
    np.testing.assert_array_equal(library(image=image), expected)
    interface = library.interface
    assert (interface.name, interface.contract) == ("small_model", "tflite")
    with pytest.raises(qlower.QlowerError, match=r"has shape \[1, 4\]"):
        library(image.reshape(1, 4))


@needs_cc
def test_a_library_whose_interface_is_damaged(package: Path):
    path = package / "libsmall_model.so"
    data = path.read_bytes()
    start = data.index(b'{"arena')
    for told, instead in (
        ('{"', "{'"),  # no JSON
        ('"signature"', '"signaturE"'),
        ('"arena_bytes"', '"arena_byteS"'),
        ('"arena_alignment": 64', '"arena_alignment": 6.'),
        ('"dtype": "int8"', '"dtype": "inT8"'),
        ('"inputs": [', '"inputs": {'),
    ):
        assert told.encode() in data[start:]
        damaged = data[start:].replace(told.encode(), instead.encode(), 1)
        path.write_bytes(data[:start] + damaged)
        with pytest.raises(QlowerError, match="says of its model what is damaged"):
            qlower.load_compiled(package)


@needs_cc
def test_example_program(package: Path, image: np.ndarray):
    program = package / "program"
    command = ["cc", "-std=c99", *WARNINGS, package / "main.c"]
    built = run(*command, package / "small_model.o", "-o", program)
    assert built.returncode == 0, built.stderr
    (package / "x.bin").write_bytes(image.tobytes())
    done = run(program, package / "x.bin", package / "y.bin")
    assert done.returncode == 0, done.stderr
    result = np.fromfile(package / "y.bin", np.uint8).reshape(1, 3)
    expected = qlower.interpret(package.parent / "Small-model.mlir", image)
    np.testing.assert_array_equal(result, expected)
    assert run(program).returncode == 2
    assert "cannot transfer 4 bytes" in run(program, "none", "none").stderr


@needs_cc
def test_header_is_cplusplus_and_models_link_together(tmp_path: Path):
    includes: list[str] = []
    for name in ("first", "second"):
        model = tmp_path / f"{name}.mlir"
        model.write_text(SMALL_MODEL)
        qlower.compile(model).save(tmp_path)
        includes.append(f'#include "{name}.h"')
    source = tmp_path / "both.cpp"
    source.write_text(
        "\n".join(includes) + "\nint main() { return first_run(nullptr, nullptr, "
        "nullptr, 0) + second_run(nullptr, nullptr, nullptr, 0) - 2 * FIRST_ERROR_NULL;"
        " }\n"
    )
    objects = [tmp_path / "first.o", tmp_path / "second.o"]
    program = tmp_path / "both"
    built = run("c++", "-std=c++17", *WARNINGS, source, *objects, "-o", program)
    assert built.returncode == 0, built.stderr
    assert run(program).returncode == 0


@needs_cc
def test_wrong_calls_get_a_code_and_nothing_is_written(
    package: Path, image: np.ndarray
):
    interface = qlower.load_compiled(package).interface
    library = ctypes.CDLL(str(package / "libsmall_model.so"))
    entry = library.small_model_run_checked
    entry.argtypes = [ctypes.c_uint64, *[ctypes.c_void_p] * 3, ctypes.c_uint64]
    memory = np.zeros(interface.arena_bytes + 2 * interface.arena_alignment, np.uint8)
    arena = memory.ctypes.data + -memory.ctypes.data % interface.arena_alignment
    output = np.zeros((1, 3), np.uint8)
    x, y = image.ctypes.data, output.ctypes.data
    identity, size = interface.identity, interface.arena_bytes
    for status, arguments in {
        "ERROR_VERSION": (identity ^ 1, x, y, arena, size),
        "ERROR_NULL": (identity, None, y, arena, size),
        "ERROR_ARENA_SIZE": (identity, x, y, arena, size - 1),
        "ERROR_ARENA_ALIGNMENT": (identity, x, y, arena + 1, size),
    }.items():
        assert entry(*arguments) == STATUS_CODES[status][0], status
    assert entry(identity, x, None, arena, size) == STATUS_CODES["ERROR_NULL"][0]
    assert entry(identity, x, y, None, size) == STATUS_CODES["ERROR_NULL"][0]
    assert not memory.any()
    assert not output.any()
    assert entry(identity, x, y, arena, size) == 0
    assert output.any()


@needs_cc
def test_calls_at_once(package: Path, image: np.ndarray):
    library = qlower.load_compiled(package)
    expected = library(image)
    wrong: list[int] = []

    def call() -> None:
        for _ in range(200):
            if not np.array_equal(library(image), expected):
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_object_exports_its_entry_alone(package: Path):
    code = (package / "small_model.o").read_bytes()
    assert read_object(code).external_symbols <= {"memcpy", "memset"}


@pytest.mark.long
@needs_cc
def test_a_library_that_is_written_again(package: Path, image: np.ndarray):
    """Each is loaded as it is then; one that is loaded stays what it was."""
    folder, libraries, expected = package.parent / "again", [], []
    for constant in ("[1, 2, 3]", "[999, 2, 3]"):
        model = package.parent / "again.mlir"
        model.write_text(SMALL_MODEL.replace("[1, 2, 3]>", f"{constant}>"))
        for written in (folder, folder / "same"):
            qlower.compile(model).save(written, emit=["shared"])
            libraries.append(qlower.load_compiled(written))
            expected.append(qlower.interpret(model, image))
            (written / "libagain.so").write_bytes(b"")
    assert (expected[0] != expected[-1]).any()
    for library, result in zip(libraries, expected, strict=True):
        np.testing.assert_array_equal(library(image), result)


@pytest.mark.long
@needs_cc
def test_a_library_is_unloaded(package: Path):
    def mapped() -> int:
        return Path("/proc/self/maps").read_text().count("libsmall_model.so")

    gc.collect()
    before = mapped()
    library = qlower.load_compiled(package)
    assert mapped() > before
    del library
    gc.collect()
    assert mapped() == before


def test_folders_without_a_library(tmp_path: Path):
    with pytest.raises(qlower.QlowerError, match="holds 0 shared libraries"):
        qlower.load_compiled(tmp_path)
    with pytest.raises(qlower.QlowerError, match="there is no library"):
        qlower.load_compiled(tmp_path / "none")
    (tmp_path / "libfake.so").write_bytes(b"nothing")
    with pytest.raises(qlower.QlowerError, match="cannot load"):
        qlower.load_compiled(tmp_path)


def test_no_linker_is_said_plainly(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(qlower.QlowerError, match="nothing here links for mips-"):
        compiler_driver("mips-unknown-linux")


def test_what_links_for_another_machine(monkeypatch: pytest.MonkeyPatch):
    """The compiler that the triple names, or else the one of the ziglang package."""
    there = ["riscv64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc"]
    monkeypatch.setattr("shutil.which", lambda name: name if name in there else None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "ziglang")
    assert compiler_driver("riscv64-unknown-linux-gnu") == there[:1]
    assert compiler_driver("armv7-unknown-linux-gnueabihf") == there[1:]
    assert compiler_driver("aarch64-unknown-linux-gnu") == [
        *(sys.executable, "-m", "ziglang", "cc"),
        *("-target", "aarch64-linux-gnu"),
    ]


@pytest.mark.parametrize(
    "start", [b"\x7fELF\x02\x02", b"MZ\0\0\x02\x01"], ids=["big-endian", "foreign"]
)
def test_other_objects_are_not_read(start: bytes):
    with pytest.raises(ValueError, match="no little-endian ELF"):
        read_object(start + bytes(60))
