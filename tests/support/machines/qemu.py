"""Objects under QEMU, for machines whose vectors unicorn doesn't know.

These are Cortex-M55, RISC-V with RVV, and Cortex-A7 with NEON.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.model.signature import Array, Signature

_SUPPORT = Path(__file__).parent


class QemuExecutable(ABC):
    """A compiled model that QEMU runs, with the interface of `EmulatedExecutable`.

    Skips the test where a compiler that links it or QEMU isn't installed.
    """

    tools: ClassVar[tuple[str, ...]]

    def __init__(self, compiled: CompiledObject):
        for tool in self.tools:
            if shutil.which(tool) is None:
                pytest.skip(f"{tool} isn't installed")
        self.compiled = compiled
        self.folder = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.folder)
        objects: list[str] = []
        for number, data in enumerate(compiled.objects):
            objects.append(f"{self.folder}/{number}.o")
            Path(objects[-1]).write_bytes(data)
        self.program = str(self.folder / "program")
        self.link(objects)

    @property
    def signature(self) -> Signature:
        return self.compiled.signature

    def __call__(self, inputs: Sequence[Array], *, at_end: bool = True) -> list[Array]:
        """The outputs. Every array ends at memory that can't be touched, or else starts
        there."""
        ports = self.signature.arguments
        given = [p.check(x) for p, x in zip(ports, inputs, strict=True)]
        outputs: list[Array] = [
            np.zeros(port.shape, port.numpy_dtype) for port in self.signature.results
        ]
        data = self.run(given, outputs, at_end=at_end)
        for output in outputs:
            flat = np.frombuffer(data, output.dtype, output.size)
            output[...] = flat.reshape(output.shape)
            data = data[output.nbytes :]
        return outputs

    def file(self, name: str, data: bytes) -> str:
        """The path of a file with those bytes."""
        path = self.folder / name
        path.write_bytes(data)
        return str(path)

    @abstractmethod
    def link(self, objects: Sequence[str]) -> None:
        """Make the program of the objects."""

    @abstractmethod
    def run(
        self, inputs: Sequence[Array], outputs: Sequence[Array], *, at_end: bool
    ) -> bytes:
        """The bytes of all outputs, one after another."""


_JOB, _ARRAYS = 0x21180000, 0x60000000
_UNIT, _MOST_REGIONS, _MOST_OUTPUTS = 32, 13, 8
"""Bytes of memory that is protected together, and how many arrays there may be."""


class CortexM55(QemuExecutable):
    """An Arm MPS3 board. Arrays are apart by multiples of 32 bytes."""

    tools = ("arm-none-eabi-gcc", "qemu-system-arm")

    def link(self, objects: Sequence[str]) -> None:
        abi = "hard" if self.compiled.target.triple.endswith("hf") else "soft"
        _run(
            *(self.tools[0], "-O1", "-mcpu=cortex-m55", f"-mfloat-abi={abi}"),
            *("-mthumb", "-nostartfiles", "-T", str(_SUPPORT / "cortex_m55.ld")),
            *(str(_SUPPORT / "cortex_m55.c"), *objects, "-o", self.program),
        )
        symbols = _run("arm-none-eabi-nm", self.program).split("\n")
        (line,) = (line for line in symbols if line.endswith(f" {ENTRY}"))
        self._entry = int(line.split()[0], 16) | 1

    def run(
        self, inputs: Sequence[Array], outputs: Sequence[Array], *, at_end: bool
    ) -> bytes:
        unit = self.compiled.target.alignment
        arena = np.full(-(-self.compiled.arena_bytes // unit) * unit, 0x5A, np.uint8)
        arrays = [*inputs, *outputs, arena]
        addresses, regions, memory = _place(arrays, at_end)
        table = _ARRAYS + len(memory)
        memory += struct.pack(f"<{len(arrays)}I", *addresses)
        regions.append((table, table + 4 * len(arrays) - 1))
        first = len(inputs)
        sizes = [y.nbytes for y in outputs]
        results = list(zip(addresses[first:-1], sizes, strict=True))
        assert len(regions) <= _MOST_REGIONS
        assert len(results) <= _MOST_OUTPUTS
        path = self.folder / "outputs"
        job = struct.pack(
            f"<6I{2 * _MOST_REGIONS}I{2 * _MOST_OUTPUTS}I256s",
            *(self._entry, table, table + 4 * first, addresses[-1]),
            *(len(regions), len(results)),
            *_padded(regions, _MOST_REGIONS),
            *_padded(results, _MOST_OUTPUTS),
            str(path).encode(),
        )
        loaded: list[str] = []
        for name, address, data in (
            ("job", _JOB, job),
            ("memory", _ARRAYS, bytes(memory)),
        ):
            place = f"addr={address:#x},force-raw=on"
            loaded += ["-device", f"loader,file={self.file(name, data)},{place}"]
        _run(
            *(self.tools[1], "-M", "mps3-an547", "-nographic", "-monitor", "none"),
            *("-serial", "none", "-semihosting", *loaded, "-kernel", self.program),
        )
        return path.read_bytes()


def _place(
    arrays: Sequence[Array], at_end: bool
) -> tuple[list[int], list[tuple[int, int]], bytearray]:
    """The address of each array, the first and last byte that may be touched for it,
    and the memory that holds them all."""
    addresses: list[int] = []
    regions: list[tuple[int, int]] = []
    memory = bytearray(_UNIT)
    for array in arrays:
        size = -(-array.nbytes // _UNIT) * _UNIT
        before = size - array.nbytes if at_end else 0
        first = _ARRAYS + len(memory)
        addresses.append(first + before)
        if size:
            regions.append((first, first + size - 1))
        data = bytes(before) + array.tobytes()
        memory += data + bytes(size + _UNIT - len(data))
    return addresses, regions, memory


def _padded(pairs: Sequence[tuple[int, int]], count: int) -> list[int]:
    flat = [number for pair in pairs for number in pair]
    return flat + [0] * (2 * count - len(flat))


class LinuxProcess(QemuExecutable):
    """A process of Linux on the processor `cpu`."""

    cpu: ClassVar[str]

    def link(self, objects: Sequence[str]) -> None:
        source = str(_SUPPORT / "guarded_call.c")
        define = f"-DENTRY={ENTRY}"
        _run(
            *(self.tools[0], "-O1", "-static", define, source),
            *(*objects, "-o", self.program),
        )

    def run(
        self, inputs: Sequence[Array], outputs: Sequence[Array], *, at_end: bool
    ) -> bytes:
        arrays = [*inputs, *outputs]
        numbers = [len(inputs), len(outputs), int(at_end)]
        numbers += [*(array.nbytes for array in arrays), self.compiled.arena_bytes]
        data = struct.pack(f"<{len(numbers)}Q", *numbers)
        job = self.file("job", data + b"".join(x.tobytes() for x in inputs))
        path = self.folder / "outputs"
        _run(self.tools[1], "-cpu", self.cpu, self.program, job, str(path))
        return path.read_bytes()


class RiscvVectors(LinuxProcess):
    """RV64GC with vectors of 128 bits."""

    tools = ("riscv64-linux-gnu-gcc", "qemu-riscv64")
    cpu = "rv64,v=true,vlen=128"


class WideRiscvVectors(RiscvVectors):
    """Wider registers than the code counts on."""

    cpu = "rv64,v=true,vlen=512"


class ArmNeon(LinuxProcess):
    """ARMv7-A with NEON."""

    tools = ("arm-linux-gnueabihf-gcc", "qemu-arm")
    cpu = "cortex-a7"


def qemu_executable(compiled: CompiledObject) -> QemuExecutable | None:
    """The object under QEMU; None for a machine that unicorn runs here."""
    if compiled.target.triple.startswith("armv7"):
        return ArmNeon(compiled)
    if not compiled.target.widens_in_memory:
        return None
    is_arm = compiled.target.whole_dot is not None
    return (CortexM55 if is_arm else RiscvVectors)(compiled)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "decode_save_opc" in done.stderr:  # a fault of QEMU 7.2
        pytest.skip("this QEMU aborts where vectors of floats are cut to integers")
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout
