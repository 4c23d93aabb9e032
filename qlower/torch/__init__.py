"""A device's integers inside PyTorch: exact forward, straight-through backward.

import qlower.torch
module = qlower.torch.Module("model.tflite", contract="pow2-shift")
loss = criterion(module(images), labels)
loss.backward()
module.to_model().save("trained.mlir")

PyTorch is imported when one of the names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qlower.process.lazy import lazy_attributes

if TYPE_CHECKING:
    from qlower.torch.arrays import jax_function, numpy_function
    from qlower.torch.emulation import emulate
    from qlower.torch.module import Module

__all__ = ["Module", "emulate", "jax_function", "numpy_function"]

__getattr__ = lazy_attributes(
    __name__,
    {
        "Module": "qlower.torch.module:Module",
        "emulate": "qlower.torch.emulation:emulate",
        "jax_function": "qlower.torch.arrays:jax_function",
        "numpy_function": "qlower.torch.arrays:numpy_function",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
