"""Loaded code under threads, and the cache under damage."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.native import compile_text

from qlower.codegen.program.flavour import PLAIN
from qlower.codegen.program.module import CompiledObject
from qlower.codegen.targets.resolve import host_target, resolve_target
from qlower.diagnostics import QlowerError
from qlower.runtime.cache import DIRECTORY, cached, fingerprint
from qlower.runtime.executable import Executable
from qlower.text.parsing import parse_module


def text_of(step: int, size: int = 5000) -> str:
    """x + step through the arena, so that calls which shared one would be seen."""
    identity = "affine_map<(d0) -> (d0)>"
    type = f"tensor<{size}xi8>"

    def nest(source: str, add: int, buffer: str) -> str:
        return f"""kernel.nest map parallel [{size}] maps [{identity}, {identity}]
        ins({source} : {type}) epilogue {{
        ^bb0(%a: i8):
          %c = arith.constant {add} : i8
          %s = arith.addi %a, %c : i8
          kernel.yield %s : i8
        }} -> {type} in [{buffer}] loc("layer-{add}/a b")"""

    return f"""
    func.func @main(%x: {type} {{qnn.name = "image"}}) -> {type}
        attributes {{kernel.arena_bytes = {size} : i64}} {{
      %y = {nest("%x", step, "#kernel.arena<0>")}
      %z = {nest("%y", 1, "#kernel.output<0>")}
      return %z : {type}
    }}"""


@pytest.fixture(scope="module")
def compiled() -> CompiledObject:
    return compile_text(text_of(2), host_target())


def test_calls_from_many_threads(compiled: CompiledObject):
    runs = [Executable(compile_text(text_of(step), host_target())) for step in (2, 9)]
    inputs = [np.full(5000, n, np.int8) for n in range(40)]

    def call(index: int) -> bool:
        run, step = (runs[0], 3) if index % 2 else (runs[1], 10)
        (got,) = run([inputs[index % 40]])
        return bool((got == inputs[index % 40] + np.int8(step)).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(2000)))


def test_strided_inputs_and_fresh_outputs(compiled: CompiledObject):
    run = Executable(compiled)
    x = np.arange(10000).astype(np.int8)[::2]
    (first,), (second,) = run([x]), run([x + np.int8(1)])
    np.testing.assert_array_equal(first, x + np.int8(3))
    np.testing.assert_array_equal(second, x + np.int8(4))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([np.zeros(5000, np.uint8)], "'image' has type uint8.*int8"),
        ([np.zeros((1, 5000), np.int8)], r"'image' has shape \[1, 5000\].*\[5000\]"),
        ([], "takes 1 inputs, given are 0"),
    ],
)
def test_wrong_inputs(compiled: CompiledObject, inputs: list[np.ndarray], message: str):
    with pytest.raises(QlowerError, match=message):
        Executable(compiled)(inputs)


def test_names_and_text(compiled: CompiledObject):
    assert "@nest_0_layer_2_a_b(" in compiled.llvm_text
    assert "nest_1_layer_1_a_b:" in compiled.assembly()


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "new" / "cache"))
    return tmp_path / "new" / "cache"


class Maker:
    def __init__(self, compiled: CompiledObject):
        self.compiled = compiled
        self.made = 0

    def __call__(self) -> CompiledObject:
        self.made += 1
        return self.compiled


def test_hits_and_misses(compiled: CompiledObject, directory: Path):
    make = Maker(compiled)
    first = cached([b"a"], compiled.target, PLAIN, make)
    again = cached([b"a"], compiled.target, PLAIN, make)
    assert make.made == 1
    assert again.object_bytes == first.object_bytes
    assert again.signature == first.signature
    assert again.arena_bytes == first.arena_bytes
    cached([b"b"], compiled.target, PLAIN, make)
    cached([b"a", b""], compiled.target, PLAIN, make)
    cached([b"a"], resolve_target(cpu="x86-64"), PLAIN, make)
    assert make.made == 4
    assert all(path.suffix == ".qo" for path in directory.iterdir())


def test_damaged_entries_are_misses(compiled: CompiledObject, directory: Path):
    make = Maker(compiled)
    cached([b"a"], compiled.target, PLAIN, make)
    (path,) = directory.iterdir()
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 4
    for bad in (b"", good[:10], good[:-1], bytes(flipped), b"x" + good):
        path.write_bytes(bad)
        before = make.made
        assert cached([b"a"], compiled.target, PLAIN, make) == compiled
        assert make.made == before + 1
        assert path.read_bytes() == good


@pytest.mark.parametrize("value", ["", "/dev/null/nowhere"])
def test_no_cache(
    compiled: CompiledObject, value: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(DIRECTORY, value)
    make = Maker(compiled)
    assert cached([b"a"], compiled.target, PLAIN, make) == compiled
    assert make.made == 1


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write")
def test_directory_without_permission(
    compiled: CompiledObject, directory: Path, tmp_path: Path
):
    tmp_path.chmod(0o500)
    make = Maker(compiled)
    assert cached([b"a"], compiled.target, PLAIN, make) == compiled
    tmp_path.chmod(0o700)


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
