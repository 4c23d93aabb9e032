"""Objects for Cortex-M55 under QEMU, which knows MVE: unicorn doesn't."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.model.signature import Array, Signature

_SUPPORT = Path(__file__).parent
_COMPILER, _EMULATOR = "arm-none-eabi-gcc", "qemu-system-arm"
_JOB, _ARRAYS = 0x21180000, 0x60000000
_MACHINE = ("-M", "mps3-an547", "-nographic", "-monitor", "none", "-serial", "none")
_UNIT, _MOST_REGIONS, _MOST_OUTPUTS = 32, 13, 8
"""Bytes of memory that is protected together, and how many arrays there may be."""


class QemuExecutable:
    """A compiled model that QEMU runs, with the interface of `EmulatedExecutable`.

    Skips the test where the compiler that links it or QEMU isn't installed.
    """

    def __init__(self, compiled: CompiledObject):
        for tool in (_COMPILER, _EMULATOR):
            if shutil.which(tool) is None:
                pytest.skip(f"{tool} isn't installed")
        self.compiled = compiled
        self._folder = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self._folder)
        self._program = self._folder / "program"
        objects: list[str] = []
        for number, data in enumerate(compiled.objects):
            objects.append(f"{self._folder}/{number}.o")
            Path(objects[-1]).write_bytes(data)
        abi = "hard" if compiled.target.triple.endswith("hf") else "soft"
        _run(
            *(_COMPILER, "-O1", "-mcpu=cortex-m55", f"-mfloat-abi={abi}", "-mthumb"),
            *("-nostartfiles", "-T", str(_SUPPORT / "cortex_m55.ld")),
            *(str(_SUPPORT / "cortex_m55.c"), *objects, "-o", str(self._program)),
        )
        symbols = _run("arm-none-eabi-nm", str(self._program)).split("\n")
        (line,) = (line for line in symbols if line.endswith(f" {ENTRY}"))
        self._entry = int(line.split()[0], 16) | 1

    @property
    def signature(self) -> Signature:
        return self.compiled.signature

    def __call__(self, inputs: Sequence[Array], *, at_end: bool = True) -> list[Array]:
        """The outputs. Every array ends at memory that can't be touched, or else starts
        there; both at multiples of 32 bytes."""
        ports = self.signature.arguments
        given = [p.check(x) for p, x in zip(ports, inputs, strict=True)]
        outputs: list[Array] = [
            np.zeros(port.shape, port.numpy_dtype) for port in self.signature.results
        ]
        unit = self.compiled.target.alignment
        arena = np.full(-(-self.compiled.arena_bytes // unit) * unit, 0x5A, np.uint8)
        arrays = [*given, *outputs, arena]
        addresses, regions, memory = _place(arrays, at_end)
        table = _ARRAYS + len(memory)
        memory += struct.pack(f"<{len(arrays)}I", *addresses)
        regions.append((table, table + 4 * len(arrays) - 1))
        results = list(
            zip(addresses[len(given) :], (y.nbytes for y in outputs), strict=False)
        )
        assert len(regions) <= _MOST_REGIONS
        assert len(results) <= _MOST_OUTPUTS
        path = f"{self._folder}/outputs"
        job = struct.pack(
            f"<6I{2 * _MOST_REGIONS}I{2 * _MOST_OUTPUTS}I256s",
            *(self._entry, table, table + 4 * len(given), addresses[-1]),
            *(len(regions), len(results)),
            *_padded(regions, _MOST_REGIONS),
            *_padded(results, _MOST_OUTPUTS),
            path.encode(),
        )
        loaded: list[str] = []
        for name, address, data in (("job", _JOB, job), ("memory", _ARRAYS, memory)):
            file = self._folder / name
            file.write_bytes(data)
            loaded += ["-device", f"loader,file={file},addr={address:#x},force-raw=on"]
        _run(
            *(_EMULATOR, *_MACHINE, "-semihosting", *loaded),
            *("-kernel", str(self._program)),
        )
        data = Path(path).read_bytes()
        for output in outputs:
            flat = np.frombuffer(data, output.dtype, output.size)
            output[...] = flat.reshape(output.shape)
            data = data[output.nbytes :]
        return outputs


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


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout
