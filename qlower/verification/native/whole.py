"""The whole code of a model on drawn inputs: what its functions pass to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import ScanOp
from qlower.interp import Array
from qlower.model.layers import layers
from qlower.model.made_up_sizes import check_size
from qlower.model.random_inputs import random_inputs
from qlower.verification.native.sweep import Bind

DRAWN = 3
"""The inputs that are drawn."""


@dataclass(frozen=True)
class Whole:
    """The given number of `inputs` was drawn; `differing` of `outputs` numbers differ
    from what the contract says."""

    inputs: int
    outputs: int
    differing: int


@dataclass(frozen=True)
class WholeModel:
    """A model by its contract."""

    compilation: Compilation

    @cached_property
    def _examples(self) -> Sequence[tuple[Sequence[Array], Sequence[Array]]]:
        """Inputs, and what the interpreter makes of them."""
        specs = self.compilation.model.signature.inputs
        run = self.compilation.interpreter("qnn").run
        drawn = [random_inputs(specs, seed) for seed in range(DRAWN)]
        return [(inputs, run(inputs, {})[0]) for inputs in drawn]

    def on(self, level: Compilation, bind: Bind) -> Whole | None:
        """The results of the code of a level for these inputs; None for a model that
        keeps something between calls, is too large, or has a loop that drawn inputs may
        never end."""
        model = self.compilation.model
        try:
            check_size(layers(model.module))
        except QlowerError:
            return None
        loops = (op for op in model.module.walk() if isinstance(op, ScanOp))
        if model.signature.states or any(loop.is_open for loop in loops):
            return None
        code = level.code
        ports = code.signature
        inputs = [np.zeros(one.shape, one.numpy_dtype) for one in ports.inputs]
        outputs = [np.zeros(one.shape, one.numpy_dtype) for one in ports.outputs]
        call = bind(code, inputs, outputs)
        count = differing = 0
        for given, expected in self._examples:
            for array, values in zip(inputs, given, strict=True):
                array[...] = values
            call()
            for array, values in zip(outputs, expected, strict=True):
                count += array.size
                differing += _differing(array, values)
        return Whole(len(self._examples), count, differing)


def _differing(array: Array, other: Array) -> int:
    """The number of elements with other bits."""
    one, two = (
        np.ascontiguousarray(given).reshape(-1).view(np.uint8)
        for given in (array, other)
    )
    return int((one != two).reshape(-1, array.itemsize).any(axis=1).sum())
