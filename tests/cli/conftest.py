"""Files that most commands need: a small model and an input for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL


@pytest.fixture(autouse=True)
def own_directory(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every test runs in a folder of its own, with a cache of its own."""
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))
    monkeypatch.setenv("QLOWER_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def model() -> str:
    Path("model.mlir").write_text(SMALL_MODEL)
    return "model.mlir"


@pytest.fixture
def image() -> str:
    array = np.array([-128, -1, 64, 127], np.int8).reshape(1, 2, 2, 1)
    np.save("image.npy", array)
    return "image.npy"
