"""Helpers for tests: where the development models are."""

from __future__ import annotations

import os
from pathlib import Path

MODELS_VARIABLE = "QLOWER_MODELS"


def models_directory() -> Path:
    """The folder of real quantized models, which may not exist."""
    default = Path(__file__).parents[2].parent / "shared" / "models"
    return Path(os.environ.get(MODELS_VARIABLE, default))
