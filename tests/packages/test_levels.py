"""Objects of several levels: their bits, which one is chosen, and what is refused."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_models import conv2d
from support.machines.levels import on_processor
from support.values.stored import random_stored

import qlower
from qlower.codegen.llvm.binding import BINDING
from qlower.codegen.program.interface import (
    STATUS_CODES,
)
from qlower.codegen.program.module import arena_bytes
from qlower.codegen.skeletons.tile_registers import plan as tile_plan
from qlower.codegen.targets.base import Target
from qlower.codegen.targets.resolve import host_target, resolve_levels, resolve_target
from qlower.emulation.emulator import BUFFERS, Emulator
from qlower.model.entry import main_function
from qlower.packages.compiled import Compiled
from qlower.packages.link import compiler_driver

X86 = ["x86-64-v2", "x86-64-v3", "cascadelake"]
ARM = ["generic", "+dotprod", "generic+dotprod+i8mm"]
X86_TRIPLE, ARM_TRIPLE = "x86_64-linux-gnu", "aarch64-linux-gnu"

V2 = ["sse4.1", "sse4.2"]
V3 = [*V2, "avx", "avx2", "fma"]
VNNI = [*V3, "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"]

needs_cc = pytest.mark.skipif(
    shutil.which("cc") is None, reason="there is no C compiler"
)
needs_x86 = pytest.mark.skipif(
    not BINDING.get_process_triple().startswith("x86_64-"), reason="needs x86-64"
)
needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-aarch64") is None
    or shutil.which("aarch64-linux-gnu-gcc") is None,
    reason="needs qemu-aarch64 and aarch64-linux-gnu-gcc",
)


def targets_of(compiled: Compiled) -> list[Target]:
    """The target of each level."""
    return [level.target for level in compiled.levels]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("levels") / "conv.tflite"
    path.write_bytes(conv2d())
    return path


@pytest.fixture(scope="module")
def x86(path: Path) -> Compiled:
    return qlower.compile(path, target=X86_TRIPLE, cpu=X86)


@pytest.fixture(scope="module")
def arm(path: Path) -> Compiled:
    return qlower.compile(path, target=ARM_TRIPLE, cpu=ARM)


@pytest.fixture(scope="module")
def image(path: Path) -> np.ndarray:
    return random_stored(qlower.load(path).inputs[0].shape, signed=True)


@pytest.fixture(scope="module")
def expected(path: Path, image: np.ndarray) -> np.ndarray:
    outputs = qlower.interpret(path, image)
    assert isinstance(outputs, np.ndarray)
    return outputs


def runs_here(target: Target) -> bool:
    """Whether this machine has it all, and its system permits it to us."""
    present = BINDING.get_host_cpu_features()
    if not all(present.get(feature) for feature in target.needs):
        return False
    return target.tiles is None or target.tiles.request()


@pytest.mark.parts(6)
@needs_cc
@needs_x86
@pytest.mark.parametrize(
    ("present", "level"),
    [
        (V2, "x86-64-v2"),
        (V3, "x86-64-v3"),
        (["sse4.1", "avx2", "fma"], "x86-64-v2"),
        (VNNI[:-1], "x86-64-v3"),
        (VNNI, "cascadelake"),
        ([*VNNI, "avxvnni", "gfni"], "cascadelake"),
    ],
)
def test_each_level_on_its_processor(
    present: list[str],
    level: str,
    x86: Compiled,
    image: np.ndarray,
    expected: np.ndarray,
    tmp_path: Path,
):
    on_processor(x86, present).save(tmp_path / "out", emit=["shared"])
    library = qlower.load_compiled(tmp_path / "out")
    assert library.interface.levels == tuple(X86)
    assert library.level == level
    if runs_here(targets_of(x86)[X86.index(level)]):
        np.testing.assert_array_equal(library(image), expected)


@needs_cc
@needs_x86
def test_this_machine(
    x86: Compiled, image: np.ndarray, expected: np.ndarray, tmp_path: Path
):
    """The registers that CPUID and XGETBV really give."""
    x86.save(tmp_path / "out", emit=["shared"])
    usable = [
        name for name, t in zip(X86, targets_of(x86), strict=True) if runs_here(t)
    ]
    library = qlower.load_compiled(tmp_path / "out")
    assert library.level == usable[-1]
    np.testing.assert_array_equal(library(image), expected)


@pytest.mark.parts(2)
@needs_cc
@needs_x86
@pytest.mark.parametrize("cpu", [X86, "x86-64-v3"])
def test_processor_without_any_level(
    cpu: str | list[str], path: Path, image: np.ndarray, tmp_path: Path
):
    compiled = on_processor(qlower.compile(path, target=X86_TRIPLE, cpu=cpu), ["sse3"])
    compiled.save(tmp_path / "out", emit=["shared"])
    with pytest.raises(qlower.QlowerError, match="this processor lacks"):
        qlower.load_compiled(tmp_path / "out")
    entry = ctypes.CDLL(str(tmp_path / "out" / "libconv.so")).conv_run_checked
    entry.argtypes = [ctypes.c_uint64, *[ctypes.c_void_p] * 3, ctypes.c_uint64]
    interface = compiled.interface
    memory = np.zeros(interface.arena_bytes + 2 * interface.arena_alignment, np.uint8)
    arena = memory.ctypes.data + -memory.ctypes.data % interface.arena_alignment
    y = np.zeros(interface.signature.outputs[0].shape, np.int8)
    arguments = image.ctypes.data, y.ctypes.data, arena, interface.arena_bytes
    status, _ = STATUS_CODES["ERROR_PROCESSOR"]
    assert entry(interface.identity, *arguments) == status
    assert not memory.any()
    assert not y.any()


@pytest.mark.parts(2)
@needs_cc
@needs_x86
@pytest.mark.parametrize("uses_tiles", [False, True])
def test_tiles_only_where_they_are_used(
    uses_tiles: bool,
    path: Path,
    image: np.ndarray,
    expected: np.ndarray,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """No permission is asked for, or waited for, that the code does without."""
    cycles = 0.0 if uses_tiles else 1e9
    monkeypatch.setattr(tile_plan, "product_cycles", lambda *_: cycles)
    monkeypatch.setenv("QLOWER_CACHE_DIR", str(tmp_path / "no_plan_of_other_cycles"))
    cpus = ["icelake-server", "sapphirerapids"]
    compiled = qlower.compile(path, target=X86_TRIPLE, cpu=cpus)
    assert ("@system_call" in compiled.object.llvm_text) == uses_tiles
    for number, level in enumerate(targets_of(compiled)):
        folder = tmp_path / level.tuned_for
        on_processor(compiled, level.needs).save(folder, emit=["shared"])
        library = qlower.load_compiled(folder)
        assert library.level == cpus[number if uses_tiles else 1]
        if runs_here(level):
            np.testing.assert_array_equal(library(image), expected)


@needs_cc
@pytest.mark.skipif(
    host_target().tiles is None, reason="this machine has no tile registers"
)
def test_the_object_asks_for_tiles(
    path: Path,
    image: np.ndarray,
    expected: np.ndarray,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """In a process that hasn't got them yet."""
    monkeypatch.setattr(tile_plan, "product_cycles", lambda *_: 0.0)
    cpus = ["cascadelake", "cascadelake+amx-int8"]
    qlower.compile(path, cpu=cpus).save(tmp_path, emit=["shared"])
    np.save(tmp_path / "x.npy", image)
    program = (
        "import numpy, qlower\n"
        "run = qlower.load_compiled('.')\n"
        f"assert run.level == {cpus[-1]!r}\n"
        "numpy.save('y.npy', run(numpy.load('x.npy')))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)


def test_the_system_must_save_what_is_used(x86: Compiled):
    """Bits of XCR0: without them, registers would be lost."""
    _, avx2, avx512 = targets_of(x86)
    processor = avx2.processor
    assert processor is not None
    saved = processor.words - 1
    assert processor.masks(avx2.needs)[saved] == 0x6
    assert processor.masks(avx512.needs)[saved] == 0xE6


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("hwcap", "level"),
    [
        ({}, 1),
        ({16: 1 << 20}, 2),
        ({16: 1 << 20, 26: 1 << 13}, 3),
        ({26: 1 << 13}, 1),
    ],
)
def test_aarch64_under_emulation(
    hwcap: dict[int, int],
    level: int,
    arm: Compiled,
    image: np.ndarray,
    expected: np.ndarray,
):
    interface = arm.interface
    assert interface.levels == ("generic", "generic+dotprod", "generic+dotprod+i8mm")
    emulator = Emulator(arm.object.object_bytes, hwcap)
    assert emulator.call("conv_level") == level
    y, arena = BUFFERS + (1 << 16), BUFFERS + (2 << 16)
    emulator.map(BUFFERS, (2 << 16) + interface.arena_bytes)
    emulator.write(BUFFERS, image.tobytes())
    arguments = interface.identity, BUFFERS, y, arena, interface.arena_bytes
    assert emulator.call("conv_run_checked", *arguments) == 0
    got = np.frombuffer(emulator.read(y, expected.size), np.int8)
    np.testing.assert_array_equal(got, expected.ravel())


def test_aarch64_processor_without_the_level(path: Path):
    compiled = qlower.compile(path, target=ARM_TRIPLE, cpu="neoverse-n1")
    for hwcap, level in (({}, 0), ({16: 1 << 20}, 1)):
        emulator = Emulator(compiled.object.object_bytes, hwcap)
        assert emulator.call("conv_level") == level


@needs_qemu
def test_levels_under_qemu(arm: Compiled, expected: np.ndarray, tmp_path: Path):
    """What a real libc and kernel interface say of three processors."""
    arm.save(tmp_path, emit=["obj", "header"])
    (tmp_path / "main.c").write_text(
        '#include "conv.h"\nint main(void) { return conv_level(); }\n'
    )
    command = [*compiler_driver(ARM_TRIPLE), "-std=c99", "-Wall", "-Werror", "-static"]
    subprocess.run(
        [*command, "main.c", "conv.o", "-o", "program"], check=True, cwd=tmp_path
    )
    for cpu, level in {"cortex-a53": 1, "cortex-a76": 2, "max": 3}.items():
        run = ["qemu-aarch64", "-cpu", cpu, str(tmp_path / "program")]
        assert subprocess.run(run, check=False).returncode == level


def test_the_arena_is_enough_for_all_levels(x86: Compiled):
    sizes = [arena_bytes(main_function(kernel)) for kernel in x86.kernels]
    assert x86.interface.arena_bytes == max(*sizes, x86.interface.arena_alignment)
    assert x86.object.arena_bytes == max(sizes)


def test_levels_use_nothing_that_is_not_asked_for():
    """Ice Lake has much besides VNNI, that LLVM would be free to use."""
    levels = resolve_levels(X86_TRIPLE, "x86-64, x86-64-v3, icelake-server")
    assert [*levels] == ["x86-64", "x86-64-v3", "icelake-server"]
    least, _, most = levels.values()
    assert not least.needs
    assert {target.cpu for target in levels.values()} == {"x86-64"}
    assert most.tuned_for == "icelake-server"
    assert most.features == ",".join(f"+{name}" for name in sorted(most.needs))
    exact = resolve_target(X86_TRIPLE, "icelake-server")
    assert most.dots.signed == exact.dots.signed
    assert most.vector_bits == exact.vector_bits


@pytest.mark.parametrize(
    ("triple", "cpus", "message"),
    [
        (X86_TRIPLE, "x86-64,cortex-a76", "unknown cpu 'cortex-a76' for x86_64"),
        (X86_TRIPLE, "x86-64,x86-64+sse5", "unknown feature 'sse5'"),
        (X86_TRIPLE, "x86-64-v3,haswell", "'x86-64-v3' would never run"),
        (X86_TRIPLE, "x86-64-v3,x86-64", "'x86-64-v3' would never run"),
        (X86_TRIPLE, "x86-64,host", "'host' can't be one of several"),
        (X86_TRIPLE, "x86-64,", "'' can't be one of several"),
        (ARM_TRIPLE, "generic,+sve2", "can't ask a processor for feature 'sve2'"),
        ("aarch64-none-elf", "generic,+dotprod", "carries one level"),
        ("x86_64-none-elf", "x86-64,x86-64-v3", "carries one level"),
    ],
)
def test_refusals(triple: str, cpus: str, message: str):
    with pytest.raises(qlower.QlowerError, match=message):
        resolve_levels(triple, cpus)
