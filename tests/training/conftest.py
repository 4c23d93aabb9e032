"""What tests of training share."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """PyTorch on one thread, from the same seed: its threads wait by spinning."""
    if find_spec("torch") is None:
        yield
        return
    torch: Any = import_module("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)
