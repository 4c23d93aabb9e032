"""Native code in this process: numpy arrays in, numpy arrays out."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from qlower.codegen.llvm.binding import BINDING, LLJIT
from qlower.codegen.program.compiled import ENTRY, CompiledObject
from qlower.diagnostics import QlowerError
from qlower.model.signature import Array, Signature
from qlower.runtime.bound import BoundCall, KernelTimes
from qlower.tables.table import counted

_IDLE_ARENAS = 4
"""Arenas that are kept for the next call; more calls at a time allocate their own."""


class Executable:
    """A compiled model, ready to be called from any number of threads.

    Calls run without Python's global lock. The code stays loaded as long as this object
    lives.
    """

    def __init__(self, compiled: CompiledObject):
        self.compiled = compiled
        tiles = compiled.target.tiles
        if tiles is not None and not tiles.request():
            raise QlowerError(
                "the system refuses this process the tile registers that the code uses",
                help="compile with --features=-amx-tile",
            )
        builder = BINDING.JITLibraryBuilder()
        for one in compiled.objects:
            builder = builder.add_object_img(one)
        # memcpy, memset, clock_gettime are the process's
        builder = builder.add_current_process().export_symbol(ENTRY)
        if compiled.flavour.threads > 1:
            from qlower.runtime.openmp import openmp_runtime

            for name, address in openmp_runtime().items():
                builder = builder.import_symbol(name, address)
        try:
            self._tracker = builder.link(_new_jit(), "qlower")
        except RuntimeError as error:
            raise QlowerError(f"the code cannot be loaded: {error}") from error
        # no status to convert and no types to check: arguments are always addresses
        self._entry = ctypes.CFUNCTYPE(None)(self._tracker[ENTRY])
        self._arenas: list[Array] = []

    @property
    def signature(self) -> Signature:
        return self.compiled.signature

    def __call__(
        self, inputs: Sequence[Array], packed: Sequence[Array] = ()
    ) -> list[Array]:
        """The model's outputs, as new arrays.

        Inputs must have the signature's dtypes and shapes, else QlowerError. A
        contiguous one is read in place. `packed` is the data that the compiled object
        describes.
        """
        ports = self.signature.arguments
        if len(inputs) != len(ports):
            raise QlowerError(
                f"the model takes {counted(len(ports), 'input')}, "
                f"given are {len(inputs)}"
            )
        arrays = [
            _in_place(port.check(array))
            for port, array in zip(ports, inputs, strict=True)
        ]
        outputs: list[Array] = [
            np.empty(port.shape, port.numpy_dtype) for port in self.signature.results
        ]
        self.run([*arrays, *packed], outputs)
        return outputs

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Write the model's outputs into given arrays, without any check.

        All arrays must be contiguous, aligned, of the signature's dtypes and shapes,
        and the outputs must overlap nothing.
        """
        arena = self._take_arena()
        self.run_in(arena, inputs, outputs)
        self._return_arena(arena)

    def run_in(
        self, arena: Array, inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> None:
        """`run` with scratch memory of the caller's: as many bytes as the compiled
        object says, from a multiple of its target's `alignment` on."""
        written = (*outputs, *self._times())
        self._entry(_addresses(inputs), _addresses(written), _address(arena))

    def run_set(
        self, sets: Sequence[Sequence[Array]], packed: Sequence[Array] = ()
    ) -> list[Array]:
        """The model's outputs for each of a set of examples, with an axis for these.

        `sets` has the arrays of every input: one for each example, or one for all.
        They are checked; so is that there is one example at least.
        """
        count = max(map(len, sets))
        columns = [*sets, *([array] for array in packed)]
        arrays = [[_in_place(array) for array in column] for column in columns]
        outputs: list[Array] = [
            np.empty((count, *port.shape), port.numpy_dtype)
            for port in self.signature.results
        ]
        read = _address_rows(count, arrays)
        written = _address_rows(
            count, [*map(list, outputs), *([one] for one in self._times())]
        )
        arena = self._take_arena()
        for inputs, results in zip(read, written, strict=True):
            self._entry(_address(inputs), _address(results), _address(arena))
        self._return_arena(arena)
        return outputs

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> BoundCall:
        """`run` with these arrays, prepared: nothing is left to do but the call."""
        arena, times = self._new_arena(), self._times()
        written = (*outputs, *times)
        call = partial(
            self._entry, _addresses(inputs), _addresses(written), _address(arena)
        )
        owned = (self, arena)
        return BoundCall(call, tuple(inputs), tuple(outputs), times, owned)

    def _times(self) -> tuple[KernelTimes, ...]:
        """The array to which profiled code writes the nanoseconds of its kernels."""
        if not self.compiled.flavour.is_profiled:
            return ()
        return (np.zeros(len(self.compiled.kernels), np.int64),)

    def _take_arena(self) -> Array:
        """Scratch memory that no other call uses (list.pop is atomic)."""
        try:
            return self._arenas.pop()
        except IndexError:
            return self._new_arena()

    def _return_arena(self, arena: Array) -> None:
        if len(self._arenas) < _IDLE_ARENAS:
            self._arenas.append(arena)

    def _new_arena(self) -> Array:
        return self.aligned_bytes(self.compiled.arena_bytes)

    def aligned_bytes(self, size: int) -> Array:
        """New memory, at a multiple of the target's `alignment`."""
        unit = self.compiled.target.alignment
        raw = np.empty(size + unit, np.uint8)
        start = -raw.ctypes.data % unit
        return raw[start : start + size]


def _new_jit() -> LLJIT:
    """A JIT for one library: of each that a JIT has loaded LLVM keeps 10 KB until the
    JIT goes.

    RuntimeDyld has code and constants apart, and aborts where more than 2 GiB are
    between; JITLink has all of an object in one block.
    """
    machine = BINDING.Target.from_triple(BINDING.get_process_triple())
    return BINDING.create_lljit_compiler(
        machine.create_target_machine(
            cpu="", features="", opt=0, reloc="default", codemodel="jitdefault"
        ),  # without one, LLVM asks the processor what it has, which takes 1 ms
        use_jit_link=True,
    )


def _in_place(array: Array) -> Array:
    """The array, or a copy that code can read where it is."""
    return np.require(array, requirements=("C_CONTIGUOUS", "ALIGNED"))


def _address(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _addresses(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    pointers = [array.ctypes.data for array in arrays]
    return (ctypes.c_void_p * len(pointers))(*pointers)


def _address_rows(count: int, columns: Sequence[Sequence[Array]]) -> NDArray[np.uintp]:
    """The addresses of arrays that a call after another takes: of each column one for
    each of them, or one for all."""
    rows = np.empty((count, len(columns)), np.uintp)
    for index, column in enumerate(columns):
        rows[:, index] = [array.ctypes.data for array in column]
    return rows
