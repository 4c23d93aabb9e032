"""The digits model, its held-out pictures and their classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.files.arrays import Array
from qlower.validation.result import Validation

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture(scope="session")
def model() -> Path:
    return DIGITS / "digits.mlir"


@pytest.fixture(scope="session")
def images() -> Array:
    return np.load(DIGITS / "test_images.npy")


@pytest.fixture(scope="session")
def labels() -> Array:
    return np.load(DIGITS / "test_labels.npy")


@pytest.fixture(scope="session")
def stored(
    tmp_path_factory: pytest.TempPathFactory, images: Array, labels: Array
) -> Path:
    """An archive with pictures and classes."""
    path = tmp_path_factory.mktemp("data") / "digits.npz"
    np.savez(path, image=images, label=labels)
    return path


@pytest.fixture(scope="session")
def expected(model: Path, stored: Path) -> Validation:
    """What one thread finds for two contracts."""
    contracts = ("tflite", "pow2-shift")
    return qlower.validate(model, stored, contracts=contracts, against="tflite", jobs=1)
