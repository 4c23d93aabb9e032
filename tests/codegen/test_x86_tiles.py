"""Tile registers of Intel's: who has them, and what the processor is given."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from qlower.codegen.targets import x86_tiles
from qlower.codegen.targets.x86_tiles import AMX, tiles_of, withheld

PRESENT = {"avx2": True, "amx-tile": True, "amx-int8": True, "amx-bf16": False}


@pytest.mark.parametrize("granted", [False, True])
def test_features_of_tiles_are_withheld_where_linux_refuses(
    granted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is asked only where there are tiles."""
    asked: list[tuple[int, ...]] = []

    def syscall(*numbers: ctypes.c_long) -> int:
        asked.append(tuple(number.value for number in numbers))
        return 0 if granted else -1

    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(syscall=syscall))
    found = list(withheld(PRESENT))
    assert found == ([] if granted else ["amx-tile", "amx-int8", "amx-bf16"])
    assert asked == [(158, 0x1023, 18)]
    assert AMX.request() is granted
    for without in ({}, {"amx-tile": False, "amx-int8": True}):
        asked.clear()
        assert not list(withheld(without))
        assert not asked


@pytest.mark.parametrize(
    ("triple", "features", "bits", "has_tiles"),
    [
        ("x86_64-linux-gnu", {"amx-int8", "avx2"}, 512, True),
        ("x86_64-unknown-linux-gnu", {"amx-int8"}, 512, True),
        ("x86_64-linux-gnu", {"amx-int8"}, 256, False),
        ("x86_64-linux-gnu", {"amx-tile"}, 512, False),
        ("x86_64-apple-darwin", {"amx-int8"}, 512, False),
        ("x86_64-linuxlike-gnu", {"amx-int8"}, 512, False),
    ],
)
def test_tiles_of_code(
    triple: str, features: set[str], bits: int, has_tiles: bool
) -> None:
    found = tiles_of(triple, frozenset(features), bits)
    assert found is (AMX if has_tiles else None)
    assert (AMX.rows, AMX.row_bytes) == (16, 64)


def test_the_configuration() -> None:
    """Intel's manual, LDTILECFG: palette, start row, 14 reserved bytes, then bytes a
    row in 16 bits and rows in 8 for each of 16 tiles."""
    found = AMX.configuration({0: (16, 64), 3: (5, 8), 7: (1, 4)})
    row_bytes, rows = [0] * 32, [0] * 16
    for register, height, width in ((0, 16, 64), (3, 5, 8), (7, 1, 4)):
        row_bytes[2 * register], rows[register] = width, height
    assert list(found) == [1, *[0] * 15, *row_bytes, *rows]
    assert len(found) == 64
    assert x86_tiles.ARCH_REQ_XCOMP_PERM == 0x1023
