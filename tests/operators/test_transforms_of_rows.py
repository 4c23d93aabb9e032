"""Transforms of rows: what they are, and their sums as recorded."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from qlower.operators.fourier import Transform, transform


def applied(found: Transform, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value = row
    for places, factors in found.levels:
        x, y = (
            np.array(by) * value[list(at)]
            for at, by in zip(places, factors, strict=True)
        )
        value = x + y
    return value[list(found.real)], value[list(found.imaginary)]


@pytest.mark.parametrize("power", range(1, 9))
def test_levels_are_transforms(power: int) -> None:
    count = 1 << power
    row = np.random.default_rng(power).standard_normal(count)
    real, imaginary = applied(transform(count), row)
    expected = np.conj(np.fft.rfft(row))
    np.testing.assert_allclose(real, expected.real, atol=1e-12)
    np.testing.assert_allclose(imaginary, expected.imag[1:-1], atol=1e-12)


RECORDED = {
    2: "3b7fb4a38b42",
    4: "c7e8537a6915",
    8: "8177c5429f2c",
    16: "7a256ffaf5ca",
    32: "5dc0c60fffad",
    64: "a0b8a4e2167e",
    128: "d7c38804190d",
    256: "861557f85539",
    512: "f4662b8f1c88",
    1024: "38812d28dcfc",
}
"""Digests of the sums whose bits were compared with LiteRT's."""


@pytest.mark.parametrize("count", RECORDED)
def test_sums_are_those_that_were_compared(count: int) -> None:
    digest = sha256(repr(transform(count)).encode()).hexdigest()
    assert digest[:12] == RECORDED[count]
