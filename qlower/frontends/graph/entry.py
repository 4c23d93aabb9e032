"""An entry of the table of operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .context import NodeContext

UNLIMITED = 1 << 16
"""For operators with a list of operands or results."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How one ONNX operator becomes qnn operations.

    `inputs` and `outputs` are the fewest and the most that the operator has.
    """

    build: Callable[[NodeContext], None]
    inputs: tuple[int, int]
    outputs: tuple[int, int] = (1, 1)
