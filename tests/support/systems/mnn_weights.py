"""Codes of weights as MNN keeps them in a model: a table, and where its entries are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from qlower.interp.values import Array


class Storage(IntEnum):
    """The kinds of weights, `quanParameter.type`, that are read here."""

    TABLE = 1
    """An index of the table for each weight."""
    SPARSE = 2
    """Distances between the weights that aren't 0, then an index for each of them."""


def weight_codes(kind: int, buffer: Iterable[int]) -> Array:
    """All codes of a layer in a row, int8. Another kind of weights is a ValueError.

    source/core/ConvolutionCommon.cpp, ReadQuanData_c and ReadSparseQuanData_c
    """
    bytes_left = _Bytes(np.array([*buffer]).astype(np.uint8))
    storage = Storage(kind)
    sizes = [bytes_left.number(2) for _ in range(bytes_left.number(1))]
    codes = np.zeros(np.prod(sizes), np.int8)
    places = np.arange(len(codes))
    if storage is Storage.SPARSE:
        count = bytes_left.number(4)
        places = np.cumsum(bytes_left.packed(count, bytes_left.number(1)))
    # 256 entries are written as 0
    table = bytes_left.take(bytes_left.number(1) or 256).view(np.int8)
    width = max(1, (len(table) - 1).bit_length())
    codes[places] = table[bytes_left.packed(len(places), width)]
    assert not len(bytes_left.rest)
    return codes


@dataclass
class _Bytes:
    """Bytes that are read from the left; numbers begin with their lowest byte."""

    rest: Array

    def take(self, count: int) -> Array:
        taken, self.rest = self.rest[:count], self.rest[count:]
        assert len(taken) == count
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size).tobytes(), "little")

    def packed(self, count: int, width: int) -> Array:
        """Numbers of some bits, the highest bit first, without gaps."""
        bits = np.unpackbits(self.take(-(-count * width // 8)))[: count * width]
        return bits.reshape(count, width) @ (1 << np.arange(width)[::-1])
