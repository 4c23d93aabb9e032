"""PyTorch's threads while improvements are measured."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")


def test_one_thread_for_the_time_being(monkeypatch: pytest.MonkeyPatch) -> None:
    """And as many as before in the end, whatever happens."""
    improve = import_module("qlower.improvement.improve")
    threads = [5]
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads[-1])
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    alone = vars(improve)["_one_thread"]
    with alone():
        assert threads[-1] == 1
    assert threads == [5, 1, 5]
    with pytest.raises(ValueError, match="x"), alone():
        raise ValueError("x")
    assert threads == [5, 1, 5, 1, 5]
