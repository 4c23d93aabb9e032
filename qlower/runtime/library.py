"""A shared library that `qlower compile --emit shared` made, back in Python."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory
from weakref import finalize

import numpy as np

from qlower.codegen.program.interface import STATUS_CODES, Interface
from qlower.diagnostics import QlowerError
from qlower.model.signature import Array
from qlower.model.state import State, state_of
from qlower.runtime.executors import Executor, Results, Variant
from qlower.tables.table import counted


class CompiledLibrary(Executor):
    """A compiled model from a shared library: the same calls as `qlower.jit` gives.

    Thread-safe: every call has an arena of its own. `interface` has the contract,
    the model's hash and the target.
    """

    def __init__(self, path: Path, entry: str | None = None) -> None:
        try:
            library = _loaded_privately(path)
        except OSError as error:
            raise QlowerError(f"cannot load {path}: {error}") from error
        name = path.name.removeprefix("lib").removesuffix(".so")
        name = _entry(path, entry, _entries(library, name))
        try:
            text = ctypes.c_char.in_dll(library, f"{name}_interface")
            self._entry = library[f"{name}_run_checked"]
            self._level = library[f"{name}_level"]
        except (AttributeError, ValueError) as error:
            raise QlowerError(f"{path} is not a model compiled by qlower") from error
        json = ctypes.string_at(ctypes.addressof(text))
        try:
            self.interface = Interface.from_json(json.decode())
            plain = Variant.plain(self.interface.signature)
            size, unit = self.interface.arena_bytes, self.interface.arena_alignment
            for shape in ((size, unit - 1), (size + unit,)):
                _check_array(shape, np.dtype(np.uint8))
            found = plain.signature
            for spec in (*found.inputs, *found.outputs, *found.states):
                _check_array(spec.shape, spec.numpy_dtype)
            is_served = self.level is not None
        except (
            *(ArithmeticError, AttributeError, LookupError),
            *(RecursionError, TypeError, ValueError),
        ) as error:
            raise QlowerError(f"{path} says of its model what is damaged") from error
        super().__init__(plain)
        if not is_served:
            raise QlowerError(
                f"{path} is compiled for {self.interface.target}, "
                f"{' or '.join(self.interface.levels)}; this processor lacks what the "
                "code needs"
            )
        self._entry.restype = ctypes.c_int32
        pointers = [ctypes.c_void_p] * (len(self.interface.pointers) + 1)
        self._entry.argtypes = [ctypes.c_uint64, *pointers, ctypes.c_uint64]
        nothing = (*[None] * len(pointers), 0)  # which the code refuses, too, but later
        status = self._entry(self.interface.identity, *nothing)
        if status == STATUS_CODES["ERROR_VERSION"][0]:
            raise QlowerError(f"{path} says of its model what is damaged")

    @property
    def level(self) -> str | None:
        """The one of `interface.levels` that runs on this processor; None for none."""
        number = int(self._level())
        return self.interface.levels[number - 1] if number else None

    def _run_example(self, arrays: Sequence[Array], state: State | None) -> Results:
        states = self.interface.signature.states
        kept: list[Array] = []
        if states or state is not None:
            kept.append(state_of(states, state).memory)
        bound = [
            np.require(array, requirements=("C_CONTIGUOUS", "ALIGNED"))
            for array in arrays
        ]
        outputs: tuple[Array, ...] = tuple(
            np.empty(spec.shape, spec.numpy_dtype) for spec in self.outputs
        )
        size, unit = self.interface.arena_bytes, self.interface.arena_alignment
        memory = np.empty(size + unit, np.uint8)
        start = memory.ctypes.data
        arena = start + -start % unit
        addresses = [array.ctypes.data for array in (*bound, *outputs, *kept)]
        status = self._entry(self.interface.identity, *addresses, arena, size)
        if status:
            meanings = {code: meaning for code, meaning in STATUS_CODES.values()}
            raise QlowerError(f"{self.interface.name}: {meanings[status]}")
        return outputs, {}

    def __repr__(self) -> str:
        return f"<CompiledLibrary {self.interface.summary}>"

    def _repr_html_(self) -> str:
        return self.interface.table().render("html")


def _check_array(shape: Sequence[int], dtype: np.dtype[np.generic]) -> None:
    """Raise ValueError or TypeError for sizes that no array has."""
    np.broadcast_to(np.zeros((), dtype), shape)


def _entries(library: ctypes.CDLL, name: str) -> list[str]:
    """The names of a library's models: its own, or one for each shape of the inputs."""
    try:
        text = ctypes.c_char.in_dll(library, f"{name}_entries")
    except ValueError:
        return [name]
    listed = ctypes.string_at(ctypes.addressof(text))
    return listed.decode(errors="replace").split(",")


def _entry(path: Path, wanted: str | None, entries: Sequence[str]) -> str:
    """The model of a library that is wanted, or the only one."""
    if wanted is not None and wanted in entries:
        return wanted
    if wanted is None and len(entries) == 1:
        return entries[0]
    found = f"{path} has code for {counted(len(entries), 'shape')} of the inputs"
    raise QlowerError(
        found if wanted is None else f"{path} has no entry {wanted!r}",
        help=f"expected an entry: one of {', '.join(entries)}",
    )


def _loaded_privately(path: Path) -> ctypes.CDLL:
    """A library, loaded from a copy of its own, and unloaded with its last function.

    The dynamic linker knows libraries by their names: of a file that was written again
    it gives the code that it has loaded before.
    """
    with TemporaryDirectory() as folder:
        library = ctypes.CDLL(copy(path, folder))
    close = ctypes.CDLL(None).dlclose
    handle = ctypes.c_void_p(attrgetter("_handle")(library))
    finalize(library, close, handle).atexit = False
    return library


def load_library(path: Path, entry: str | None = None) -> CompiledLibrary:
    """The library at `path`, or the one in the folder `path`; of one for inputs of
    several shapes, the model of the name `entry`.

    Raises QlowerError where there isn't exactly one.
    """
    found = sorted(path.glob("lib*.so")) if os.path.isdir(path) else [path]
    if len(found) != 1 or not os.path.isfile(found[0]):
        raise QlowerError(
            f"{path} holds {len(found)} shared libraries, 1 is expected"
            if os.path.isdir(path)
            else f"there is no library {path}",
            help="qlower compile MODEL -o DIR --emit shared",
        )
    return CompiledLibrary(found[0], entry)
