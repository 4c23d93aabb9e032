"""Values that a model keeps from one call to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from qlower.diagnostics import QlowerError
from qlower.model.signature import Array, StateSpec

STATE_ALIGNMENT = 8
"""Bytes; each tensor of a state begins at a multiple; no element has more."""


def state_offsets(specs: Sequence[StateSpec]) -> list[int]:
    """The start of each tensor in a state's memory; the last number is the size in
    bytes."""
    offsets = [0]
    for spec in specs:
        end = offsets[-1] + spec.nbytes
        offsets.append(-(-end // STATE_ALIGNMENT) * STATE_ALIGNMENT)
    return offsets


def initial_memory(specs: Sequence[StateSpec]) -> bytes:
    """The memory of a new state."""
    sizes = np.diff(state_offsets(specs)).tolist()
    pairs = zip(specs, sizes, strict=True)
    return b"".join(spec.initial.ljust(size, b"\0") for spec, size in pairs)


class State:
    """Values that a model keeps from one call to the next; a new state has the initial
    values.

    A call takes a state, and leaves in it the values for the next call. States share
    nothing: each stream of inputs has its own, used by one call at a time. It fits any
    executor of the model.
    """

    __slots__ = ("_arrays", "memory", "specs")

    def __init__(self, specs: Sequence[StateSpec], memory: bytes | None = None) -> None:
        """`memory` is that of another state of these tensors, to begin like that."""
        self.specs = tuple(specs)
        begin = initial_memory(specs) if memory is None else memory
        words = np.frombuffer(begin, np.uint64).copy()
        self.memory: NDArray[np.uint8] = words.view(np.uint8)
        self._arrays = tuple(
            self.memory[start : start + spec.nbytes]
            .view(spec.numpy_dtype)
            .reshape(spec.shape)
            for spec, start in zip(specs, state_offsets(specs), strict=False)
        )

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The stored elements of each tensor, where they lie."""
        return self._arrays

    @property
    def by_name(self) -> dict[str, Array]:
        """The arrays by the names of the tensors."""
        return {spec.name: a for spec, a in zip(self.specs, self._arrays, strict=True)}

    def update(self, arrays: Sequence[Array]) -> None:
        """Take on what a call has left."""
        for kept, array in zip(self._arrays, arrays, strict=True):
            kept[...] = array

    def copy(self) -> State:
        """A state of its own that is as this one is now."""
        return State(self.specs, self.memory.tobytes())

    def __repr__(self) -> str:
        tensors = ", ".join(str(spec) for spec in self.specs)
        return f"<State of {len(self.memory)} bytes: {tensors}>"


def state_of(specs: Sequence[StateSpec], given: object) -> State:
    """The state that a caller gives, for a model that keeps these tensors; a new one if
    that is None. Raises `QlowerError` for anything but a state of the model."""
    if given is None:
        return State(specs)
    if not isinstance(given, State):
        raise QlowerError(
            f"state is {type(given).__name__}, not what new_state() gives",
            help="an input that is called 'state' is given by position",
        )
    if given.specs != tuple(specs):
        raise QlowerError(
            f"{given} is of another model", help="new_state() gives the model's own"
        )
    return given
