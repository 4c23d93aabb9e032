"""What is passed to a shared library and read from it, by one written in C."""

from __future__ import annotations

import ctypes
import gc
import json
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from qlower import QlowerError
from qlower.codegen.program.interface import STATUS_CODES, Interface
from qlower.model.signature import Signature, StateSpec, TensorSpec
from qlower.runtime.library import CompiledLibrary, load_library

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SIGNATURE = Signature(
    (TensorSpec("x", (2, 3), "int8", (0.5,), (0,)), TensorSpec("z", (1,), "int32")),
    (TensorSpec("y", (3,), "int16"), TensorSpec("n", (), "int32")),
    (StateSpec("count", (2,), "int32", initial=b"\1\0\0\0\2\0\0\0"),),
)
INTERFACE = Interface(
    *("toy", SIGNATURE, 96, 64, "tflite", "0" * 64, "x86_64-linux-gnu"),
    ("x86-64", "x86-64-v3"),
)
SOURCE = """
#include <stdint.h>
const char toy_interface[] = INTERFACE;
const char toy_entries[] = "ENTRIES";
int toy_level(void) { return LEVEL; }
int32_t toy_run_checked(uint64_t id, const int8_t *x, const int32_t *z, int16_t *y,
                        int32_t *n, int32_t *count, unsigned char *arena,
                        uint64_t size) {
  if (id != IDENTITYull) return 1;
  if ((uintptr_t)arena % 64) return 4;
  if (size != 96) return 3;
  if (z[0] < 0) return -z[0];
  for (uint64_t i = 0; i < size; ++i) arena[i] = (unsigned char)i;
  for (int j = 0; j < 3; ++j) y[j] = x[j] + 10 * x[3 + j];
  n[0] = z[0] + 100 * count[0] + 10000 * count[1];
  ++count[0], count[1] += 2;
  return 0;
}
"""


def build(
    folder: Path,
    interface: Interface = INTERFACE,
    text: str = "",
    level: int = 2,
    entries: str = "toy",
) -> Path:
    made = SOURCE.replace("IDENTITY", str(interface.identity))
    made = made.replace("INTERFACE", json.dumps(text or interface.to_json()))
    made = made.replace("LEVEL", str(level)).replace("ENTRIES", entries)
    library = folder / "libtoy.so"
    library.write_bytes(compiled(made))
    return library


@cache
def compiled(source: str) -> bytes:
    with TemporaryDirectory() as folder:
        library = Path(folder, "libtoy.so")
        command = ["cc", "-shared", "-fPIC", "-xc", "-", "-o", str(library)]
        subprocess.run(command, input=source.encode(), check=True)
        return library.read_bytes()


X = np.array([[1, 2, 3], [4, 5, -6]], np.int8)
Z = np.array([7], np.int32)


def test_all_that_a_call_passes(tmp_path: Path) -> None:
    """Pointers in order, strided inputs, an arena at a multiple of its alignment, and a
    state that stays with its caller."""
    library = load_library(build(tmp_path))
    assert library.interface == INTERFACE
    assert library.level == "x86-64-v3"
    assert repr(library) == f"<CompiledLibrary {INTERFACE.summary}>"
    assert "toy" in vars(CompiledLibrary)["_repr_html_"](library)
    state, other = library.new_state(), library.new_state()
    strided = np.repeat(np.repeat(X, 2, 0), 2, 1)[::2, ::2]
    for call in range(3):
        y, n = library(strided, z=Z, state=state)
        np.testing.assert_array_equal(y, np.array([41, 52, -57], np.int16))
        assert y.dtype == np.int16
        assert n.shape == ()
        assert n == 7 + 100 * (1 + call) + 10000 * (2 + 2 * call)
        assert library(X, Z)[1] == 20107
    assert state.arrays[0].tolist() == [4, 8]
    assert other.arrays[0].tolist() == [1, 2]
    many = library(np.stack([X, X + 1]), np.stack([Z, Z + 1]))
    np.testing.assert_array_equal(many[0], [[41, 52, -57], [52, 63, -46]])
    assert many[1].tolist() == [20107, 20108]


@pytest.mark.parametrize("name", [name for name in STATUS_CODES if name != "OK"])
def test_each_status_is_an_error(name: str, tmp_path: Path) -> None:
    code, meaning = STATUS_CODES[name]
    with pytest.raises(QlowerError, match=f"toy: {meaning}"):
        load_library(build(tmp_path))(X, np.array([-code], np.int32))


def test_one_without_states(tmp_path: Path) -> None:
    """It takes none, and its code gets the arena in the state's place."""
    plain = replace(INTERFACE, signature=replace(SIGNATURE, states=()))
    library = load_library(build(tmp_path, plain))
    assert not library.new_state().specs
    given = load_library(build(tmp_path)).new_state()
    with pytest.raises(QlowerError, match="is of another model"):
        library(X, Z, state=given)


@pytest.mark.parametrize(("level", "name"), [(1, "x86-64"), (2, "x86-64-v3")])
def test_levels(level: int, name: str, tmp_path: Path) -> None:
    assert load_library(build(tmp_path, level=level)).level == name


def test_no_level_of_this_processor(tmp_path: Path) -> None:
    message = (
        "libtoy.so is compiled for x86_64-linux-gnu, x86-64 or x86-64-v3; this "
        "processor lacks what the code needs$"
    )
    with pytest.raises(QlowerError, match=message):
        load_library(build(tmp_path, level=0))


def changed(**fields: Any) -> str:
    return json.dumps({**json.loads(INTERFACE.to_json()), **fields})


@pytest.mark.parts(4)
@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "[" * 100_000,
        "{}",
        changed(arena_bytes=1.5),
        changed(arena_alignment=None),
        changed(levels=3),
        changed(levels=["x86-64"]),  # and the code says the second
        changed(other=1),
        changed(signature={"inputs": [], "outputs": []}),
        changed(signature={"inputs": [{}], "outputs": [], "states": []}),
        changed(
            signature={
                "inputs": [{"name": "x", "shape": [1], "dtype": "int5"}],
                "outputs": [],
                "states": [],
            }
        ),
        changed(arena_alignment=0),
        changed(arena_bytes=-64),
        changed(arena_bytes=1 << 64),
        *(
            INTERFACE.to_json().replace("[2, 3]", shape)
            for shape in ("[2, null]", "[-2, -3]", f"[2, {1 << 62}]", f"[{1 << 80}]")
        ),
        INTERFACE.to_json().replace('"int16"', '"int17"'),
    ],
)
def test_an_interface_that_is_damaged(text: str, tmp_path: Path) -> None:
    with pytest.raises(QlowerError, match="says of its model what is damaged"):
        load_library(build(tmp_path, text=text))


def test_an_interface_of_another_compilation(tmp_path: Path) -> None:
    """Before memory is taken for what it says: here 3 TiB."""
    text = changed(arena_bytes=3 << 40)
    with pytest.raises(QlowerError, match="says of its model what is damaged"):
        load_library(build(tmp_path, text=text))


def test_which_entry(tmp_path: Path) -> None:
    """The only one, or that of the name; the others are told."""
    assert load_library(build(tmp_path), "toy").interface.name == "toy"
    several = build(tmp_path, entries="toy,tab")
    assert load_library(several, "toy").interface.name == "toy"
    for wanted, message in [
        (None, "has code for 2 shapes of the inputs"),
        ("ab", "has no entry 'ab'"),
    ]:
        with pytest.raises(QlowerError, match=message) as caught:
            load_library(several, wanted)
        assert caught.value.help == "expected an entry: one of toy, tab"
    with pytest.raises(QlowerError, match="is not a model compiled by qlower"):
        load_library(several, "tab")


def test_which_file(tmp_path: Path) -> None:
    help = "qlower compile MODEL -o DIR --emit shared"
    for path, message in [
        (tmp_path, "holds 0 shared libraries, 1 is expected"),
        (tmp_path / "none", "there is no library "),
    ]:
        with pytest.raises(QlowerError, match=message) as caught:
            load_library(path)
        assert caught.value.help == help
    library = build(tmp_path)
    assert load_library(tmp_path).interface == INTERFACE
    shutil.copy(library, tmp_path / "libother.so")
    with pytest.raises(QlowerError, match="holds 2 shared libraries"):
        load_library(tmp_path)
    library.write_text("no library")
    with pytest.raises(QlowerError, match="cannot load "):
        load_library(library)


def test_a_library_written_again_is_loaded_again(tmp_path: Path) -> None:
    """And the code of the first is still there for those that have it."""
    first = load_library(build(tmp_path))
    other = replace(INTERFACE, contract="exact")
    second = load_library(build(tmp_path, other))
    assert [one.interface.contract for one in (first, second)] == ["tflite", "exact"]
    assert first(X, Z)[1] == second(X, Z)[1] == 20107


def test_a_library_is_unloaded_with_its_last_function(tmp_path: Path) -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("this system doesn't list what is loaded")
    library = load_library(build(tmp_path))
    where = ctypes.cast(vars(library)["_entry"], ctypes.c_void_p).value
    assert where is not None

    def loaded() -> bool:
        ranges = (line.split()[0].split("-") for line in maps.read_text().splitlines())
        return any(int(low, 16) <= where < int(high, 16) for low, high in ranges)

    assert loaded()
    del library
    gc.collect()
    assert not loaded()


@pytest.mark.parametrize(("size", "unit"), [(96, 64), (0, 1), (5, 4096), (8192, 16)])
def test_the_arena_lies_in_memory_of_the_call(
    size: int, unit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interface = replace(INTERFACE, arena_bytes=size, arena_alignment=unit)
    library = load_library(build(tmp_path, interface))
    made: list[np.ndarray] = []
    given: list[int] = []
    empty = np.empty

    def recorded(*arguments: Any) -> np.ndarray:
        made.append(empty(*arguments))
        return made[-1]

    def entry(*arguments: int) -> int:
        given[:] = arguments
        return 0

    monkeypatch.setattr(np, "empty", recorded)
    monkeypatch.setattr(library, "_entry", entry)
    library(X, Z)
    first, (*_, arena, passed) = given[0], given
    assert (first, passed, arena % unit) == (interface.identity, size, 0)
    start = made[-1].ctypes.data
    assert start <= arena
    assert arena + size <= start + made[-1].nbytes
    assert made[-1].nbytes < size + 2 * unit
