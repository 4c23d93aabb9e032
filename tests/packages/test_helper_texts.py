"""The functions that C sources are given, whether a test's model needs them or not."""

from __future__ import annotations

import itertools

import pytest

from qlower.dialects.fixed import RoundingMode
from qlower.packages.c_source.helpers import Helpers

MODES = [mode.value for mode in RoundingMode]


@pytest.mark.parametrize("mode", MODES)
def test_functions_end(mode: str) -> None:
    """Each is static, says what it does, and closes what it opens."""
    helpers = Helpers()
    sizes = (32, 64) if mode != "floor" else ()  # C's own shift
    names = [helpers.shift_right(mode, bits) for bits in sizes]
    names += [helpers.round_float(mode, real) for real in ("f32", "f64")]
    names += [
        helpers.convert(mode, real, bits, f"int{bits}_t")
        for real, bits in itertools.product(("f32", "f64"), (8, 16, 32, 64))
    ]
    assert set(names) <= set(helpers.texts)
    for name in names:
        text = helpers.texts[name]
        comment, *lines = text.strip().splitlines()
        assert comment.startswith("/* ")
        assert any(line.startswith("static inline") for line in lines)
        for opened, closed in ("{}", "()"):
            assert text.count(opened) == text.count(closed)
        assert lines[-1] == "}"
