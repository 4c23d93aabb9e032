"""Native code whose weights are inputs, packed for it when they change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qlower.model.signature import Array
from qlower.runtime.executable import Executable
from qlower.runtime.executors import JitFunction, Variant


class PackingFunction(JitFunction):
    """A model with arguments that are `PACKED`, as native code in this process.

    They are packed when a call has others than the last one: once for all examples of a
    set. Thread-safe.
    """

    def __init__(self, executable: Executable, variant: Variant) -> None:
        super().__init__(executable, variant)
        self._data = executable.compiled.packed
        self._packings = list(dict.fromkeys(data.packing for data in self._data))
        self._last: tuple[list[bytes], list[Array]] = [], []

    def _packed(self, inputs: Sequence[Array]) -> Sequence[Array]:
        elements = [inputs[packing.argument].tobytes() for packing in self._packings]
        key, packed = self._last
        if key == elements:
            return packed
        made = {
            packing: packing.make(given)
            for packing, given in zip(self._packings, elements, strict=True)
        }
        packed = [self._aligned(made[one.packing][one.position]) for one in self._data]
        self._last = elements, packed
        return packed

    def _aligned(self, data: bytes) -> Array:
        """The bytes where the code takes constants to be."""
        memory = self._executable.aligned_bytes(len(data))
        memory[:] = np.frombuffer(data, np.uint8)
        return memory
