"""Tensors and numpy arrays of the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from qlower.model.signature import Array


def tensor_of(array: Array) -> Tensor:
    """A tensor that shares the array's memory."""
    return cast(Any, torch).from_numpy(array)


def array_of(tensor: Tensor) -> Array:
    """An array that is contiguous, and shares the tensor's memory where that is."""
    return np.ascontiguousarray(cast(Any, tensor.detach().cpu()).numpy())


def arrays_of(tensors: Sequence[Tensor]) -> list[Array]:
    """`array_of` for each tensor."""
    return [array_of(tensor) for tensor in tensors]


def type_of(dtype: np.dtype[np.generic]) -> torch.dtype:
    """The type of tensors whose elements have a numpy type."""
    return tensor_of(np.empty(0, dtype)).dtype
