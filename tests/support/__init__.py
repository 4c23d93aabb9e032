"""Helpers for tests: where recorded data is, and small modules of one operation."""

from __future__ import annotations

import os
from pathlib import Path

MODELS_VARIABLE = "QLOWER_MODELS"
GOLDEN_VARIABLE = "QLOWER_GOLDEN"


def models_directory() -> Path:
    """The folder of real quantized models, which may not exist."""
    default = Path(__file__).parents[2].parent / "shared" / "models"
    return Path(os.environ.get(MODELS_VARIABLE, default))


def golden_directory() -> Path:
    """The folder of what real systems answered, which may not exist."""
    default = models_directory().parent / "golden"
    return Path(os.environ.get(GOLDEN_VARIABLE, default))
