"""The difference of two tensors of one shape."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qlower.interp.values import Array
from qlower.observe.place import Index


@dataclass
class Difference:
    """The second tensor against the first, added up over inputs.

    `first` is where they differ first: the number of the input, and the index.
    `signal`, `own` and `noise` are sums of squares, of what the first and the second
    store less their zero point and of the difference; `product` is the sum of products.
    """

    elements: int = 0
    differing: int = 0
    largest: float = 0.0
    signal: float = 0.0
    noise: float = 0.0
    own: float = 0.0
    product: float = 0.0
    first: tuple[int, Index] | None = None

    def add(self, number: int, a: Array, b: Array, zero_point: int = 0) -> None:
        """Take in the results for input `number`; NaN is like NaN."""
        wide = np.float64 if a.dtype.kind == "f" else np.int64
        left, right = a.astype(wide), b.astype(wide)
        apart = left != right
        if wide is np.float64:
            apart &= ~(np.isnan(left) & np.isnan(right))
        self.elements += a.size
        centred = [(side - zero_point).astype(float) for side in (left, right)]
        self.signal += float(np.nansum(np.square(centred[0])))
        self.own += float(np.nansum(np.square(centred[1])))
        self.product += float(np.nansum(centred[0] * centred[1]))
        count = int(np.count_nonzero(apart))
        if not count:
            return
        with np.errstate(invalid="ignore"):
            distances = np.abs(left[apart] - right[apart]).astype(float)
        self.differing += count
        self.largest = max(self.largest, float(np.max(distances)))
        self.noise += float(np.sum(np.square(distances)))
        if self.first is None:
            place = np.unravel_index(int(np.argmax(apart)), apart.shape)
            self.first = number, tuple(int(at) for at in place)

    @property
    def cosine(self) -> float | None:
        """The cosine between the two; None where one of them is all zero."""
        power = math.sqrt(self.signal) * math.sqrt(self.own)
        return self.product / power if power and math.isfinite(power) else None

    @property
    def decibels(self) -> float | None:
        """The ratio of signal to noise; None where there is no number for it."""
        if not (self.signal and self.noise and math.isfinite(self.noise)):
            return None
        return 10 * math.log10(self.signal / self.noise)
