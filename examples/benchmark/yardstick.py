"""A fixed piece of work like a compiler's, by which machines are compared."""

from __future__ import annotations

import time

import numpy as np

_ROUNDS = 1_000_000
_ARRAYS = 2_000
_NUMBERS = 1 << 14

DESCRIPTION = (
    f"{_ROUNDS:,} rounds of a loop over a dictionary, and {_ARRAYS:,} times a "
    f"multiplication, an addition and a shift of {_NUMBERS:,} numbers by numpy"
)


def yardstick() -> float:
    """CPU seconds that the work takes now, in this process."""
    start = time.process_time()
    seen: dict[int, int] = {}
    for index in range(_ROUNDS):
        seen[index & 1023] = seen.get(index & 511, 0) + 1
    numbers = np.arange(_NUMBERS, dtype=np.int64)
    for _ in range(_ARRAYS):
        numbers = (numbers * 5 + 3) >> 2
    return time.process_time() - start
