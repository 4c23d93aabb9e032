"""Results have the permissions that any new file gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qlower.files.replacing import replacing


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000, 0o027])
def test_a_result_is_as_any_new_file(mask: int, tmp_path: Path) -> None:
    """Also where it takes the place of one that nobody else could read."""
    before = os.umask(mask)
    try:
        (tmp_path / "new").touch()
        (tmp_path / "result").touch(0o400)
        with replacing(tmp_path / "result") as stream:
            stream.write(b"x")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "result")]
    assert modes == [0o666 & ~mask] * 2
    assert (tmp_path / "result").read_bytes() == b"x"
