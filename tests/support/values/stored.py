"""Random stored values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qlower.interp.values import Array


def random_stored(shape: Sequence[int], *, signed: bool = True, seed: int = 0) -> Array:
    """Stored 8-bit integers, all equally likely."""
    dtype = np.int8 if signed else np.uint8
    info = np.iinfo(dtype)
    random = np.random.default_rng(seed)
    return random.integers(info.min, info.max, tuple(shape), dtype, endpoint=True)
