"""Native code in processes that fork, and in those that load much of it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.compilation.compilation import Compilation
from qlower.runtime.executable import Executable

FORKS_AMID_IMPORTS = """
import os, signal, sys, threading, time
import qlower

threading.Thread(target=qlower.jit, args=["model.mlir"], daemon=True).start()
time.sleep(float(sys.argv[1]))
child = os.fork()
if child == 0:
    signal.alarm(60)
    qlower.jit("model.mlir")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0, "the child hung or failed"
os._exit(0)
"""

FORKS = """
import os, signal, sys, threading, time
import qlower

def compile_for_ever(folder):
    while True:
        os.environ["QLOWER_CACHE_DIR"] = folder
        qlower.jit("model.mlir")

qlower.jit("model.mlir")
for folder in ("", "cache"):
    threading.Thread(target=compile_for_ever, args=[folder], daemon=True).start()
for number in range(int(sys.argv[1])):
    time.sleep(0.01 * (number * 7 % 11))  # at all stages of a compilation
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        qlower.jit("model.mlir")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, f"child {number} hung or failed"
os._exit(0)  # threads are compiling
"""


@pytest.mark.parts(5)
@pytest.mark.parametrize("count", [8, pytest.param(300, marks=pytest.mark.long)])
def test_forks_while_other_threads_compile(count: int, tmp_path: Path):
    (tmp_path / "model.mlir").write_text(SMALL_MODEL)
    command = [sys.executable, "-c", FORKS, str(count)]
    done = subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parts(10)
@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(0.01 * n, marks=[] if n in (3, 18) else [pytest.mark.long])
        for n in range(1, 40)
    ],
)
def test_forks_while_another_thread_imports(seconds: float, tmp_path: Path):
    """The first compilation imports a compiler."""
    (tmp_path / "model.mlir").write_text(SMALL_MODEL)
    command = [sys.executable, "-c", FORKS_AMID_IMPORTS, str(seconds)]
    environment = {**os.environ, "QLOWER_CACHE_DIR": ""}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 0, done.stderr


NO_THREAD_MEMORY = "cannot allocate memory for thread-local data: ABORT\n"
"""The dynamic linker of glibc ends a process itself where a library's first call in a
thread finds no memory (elf/dl-tls.c, oom)."""


@pytest.mark.parts(4)
@pytest.mark.parametrize("kilobytes", [60_000, 120_000, 200_000, 230_000])
def test_too_few_addresses_are_no_bug(kilobytes: int, tmp_path: Path):
    """Neither for numpy's libraries nor for LLVM nor for a model."""
    (tmp_path / "model.mlir").write_text(SMALL_MODEL)
    limited = f"ulimit -v {kilobytes}; exec {sys.executable} -m qlower"
    command = ["sh", "-c", f"{limited} run model.mlir --random"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if done.stderr == NO_THREAD_MEMORY:
        assert done.returncode == 127
        return
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("error: ")


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="needs Linux")
def test_code_that_is_loaded_and_freed_leaves_nothing(tmp_path: Path):
    (tmp_path / "model.mlir").write_text(SMALL_MODEL)
    code = Compilation(tmp_path / "model.mlir").object

    def resident_after(cycles: int) -> int:
        for _ in range(cycles):
            Executable(code)
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    before = resident_after(100)
    assert resident_after(500) - before < 500 << 10, "a kilobyte of each is left"
