"""Small decisions of passes, by hand."""

from __future__ import annotations

from importlib import import_module


def test_bytes_with_their_highest_bit_flipped() -> None:
    flip = vars(import_module("qlower.transforms.match_signs"))["_flip"]
    found = [flip(byte) for byte in range(-128, 128)]
    assert found == [*range(128), *range(-128, 0)]
