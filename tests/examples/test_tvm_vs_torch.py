"""The example tvm-vs-torch: its page shows what it prints, and what that says holds."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "tvm-vs-torch"


@pytest.fixture(scope="module")
def compare() -> Any:
    """The script as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        sys.modules.pop("compare", None)
        module = import_module("compare")
        del sys.modules["compare"]
    return module


@pytest.fixture(scope="module")
def shares(compare: Any) -> Any:
    return compare.shares()


@pytest.mark.long
def test_the_page_shows_what_is_printed(
    compare: Any,
    shares: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(compare, "shares", lambda: shares)
    assert compare.main([]) == 0
    page = (FOLDER / "README.md").read_text()
    for table in capsys.readouterr().out.strip().split("\n\n"):
        lines = [f"    {line}".rstrip() for line in table.splitlines()]
        assert "\n".join(lines) in page


@pytest.mark.long
def test_shares(compare: Any, shares: Any):
    """As often as the theory has it: half of 2^s, for two roundings and for ties."""
    expected = [100 * 2.0 ** -(shift + 1) for shift in compare.SHIFTS]
    for heading in ("two roundings", "half even, 2^s", "z inside, 2^s"):
        found = [100 * share for share in shares[heading]]
        assert found == pytest.approx(expected, rel=0.2, abs=0.05)
    assert not any(shares["repaired"])
    assert max(shares["half even"]) < 1e-4


def test_the_zero_point_is_inside(compare: Any):
    for zero_point, expected in ((2, [0, 2, 2, 4]), (3, [1, 1, 3, 3])):
        module, image = compare.pool(zero_point)
        for contract in ("pytorch-nchw", "pytorch-fbgemm", "pytorch-onednn"):
            result = compare.run(module, image, contract) - zero_point
            assert result.tolist() == expected
        assert (compare.run(module, image, "tvm") - zero_point).tolist() == [0, 1, 2, 3]


@pytest.mark.long
def test_the_picture(compare: Any, shares: Any, tmp_path: Path):
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    compare.draw(shares, tmp_path / "shares.svg")
    assert "tvm-neon: two roundings" in (tmp_path / "shares.svg").read_text()


def test_pytorch_itself(compare: Any):
    pytest.importorskip("torch", reason="PyTorch isn't installed")
    steps = [line[28:].strip() for line in compare.torch_lines()][1:]
    assert steps == ["0 2 2 4", "1 1 3 3"] * 2
