"""An entry of the table of operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .context import OperatorContext

Build: TypeAlias = Callable[[OperatorContext], None]

UNLIMITED = 1 << 16
"""For operators with a list of operands or results."""


@dataclass(frozen=True, slots=True)
class Importer:
    """How one TFLite operator becomes qnn operations.

    `inputs` and `outputs` are the fewest and the most that the operator has. Without
    `options`, its options table (if any) has nothing that matters.
    """

    build: Build
    inputs: tuple[int, int]
    options: str | None = None
    outputs: tuple[int, int] = (1, 1)
