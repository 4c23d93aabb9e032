"""Calls on arrays that were chosen before: they neither allocate nor copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from qlower.diagnostics import QlowerError
from qlower.model.signature import Array, TensorSpec
from qlower.model.state import State
from qlower.tables.table import counted

KernelTimes: TypeAlias = NDArray[np.int64]


class BoundCall:
    """A model together with the arrays that it reads and writes.

    A call reads `inputs` as they are then and overwrites `outputs`. It has scratch
    memory of its own, so each thread needs a bound call of its own. Profiled code
    leaves the nanoseconds of each kernel in `times[0]`.
    """

    __slots__ = ("_call", "_owned", "inputs", "outputs", "times")

    def __init__(
        self,
        call: Callable[[], None],
        inputs: tuple[Array, ...],
        outputs: tuple[Array, ...],
        times: tuple[KernelTimes, ...],
        owned: object,
    ) -> None:
        """`call` runs the code; `owned` is all other memory that it needs."""
        self.inputs = inputs
        self.outputs = outputs
        self.times = times
        self._owned = owned
        self._call = call

    def __call__(self) -> None:
        """Run the model."""
        self._call()

    def keeping(
        self, inputs: int, outputs: int, state: State, left: State
    ) -> BoundCall:
        """This call with the given numbers of inputs and outputs; the remaining ones
        are the values of `state` and those that `left` receives, which then become the
        state."""

        def step() -> None:
            self._call()
            state.memory[...] = left.memory

        arrays = self.inputs[:inputs], self.outputs[:outputs]
        return BoundCall(step, *arrays, self.times, (self, state, left))


def check_outputs(
    specs: Sequence[TensorSpec], outputs: Sequence[Array], inputs: Sequence[Array]
) -> None:
    """Refuse arrays that results can't be written into, in place.

    Each must have the output's shape and type, be writable, contiguous and aligned, and
    share no memory with an input or another output.
    """
    if len(outputs) != len(specs):
        raise QlowerError(
            f"the model has {counted(len(specs), 'output')}, {len(outputs)} arrays are "
            "given"
        )
    for index, (spec, array) in enumerate(zip(specs, outputs, strict=True)):
        if not isinstance(cast(object, array), np.ndarray):
            raise QlowerError(
                f"output {spec.name!r} needs an array to be written into, not "
                f"{type(array).__name__}"
            )
        if array.dtype != spec.numpy_dtype or array.shape != spec.shape:
            raise QlowerError(
                f"output {spec.name!r} is {list(spec.shape)} of {spec.dtype}, the "
                f"array {list(array.shape)} of {array.dtype}"
            )
        check_in_place(f"output {spec.name!r}", array)
        if not array.flags.writeable:
            raise QlowerError(f"the array for output {spec.name!r} is read-only")
        if any(np.may_share_memory(array, o) for o in (*inputs, *outputs[:index])):
            raise QlowerError(
                f"the array for output {spec.name!r} overlaps another array"
            )


def check_in_place(what: str, array: Array) -> None:
    """Refuse an array that native code can't use where it lies."""
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise QlowerError(
            f"the array for {what} is not contiguous and aligned",
            help="a bound call copies nothing; numpy.ascontiguousarray makes a copy",
        )
