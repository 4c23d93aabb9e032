"""An entry of the table of operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qlower.dialects import qnn

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


def function(kind: Callable[..., qnn.QnnOp], **defaults: float) -> Entry:
    """An operation on one quantized value: it has these numbers, and five operands, two
    of scale and zero point before the result's."""

    def build(node: NodeContext) -> None:
        value = node.stored(0, 1, 2)
        type = node.typed(node.quantization(3, 4), value.shape, value.order)
        given = {name: node.number(name, at) for name, at in defaults.items()}
        node.finish(kind(value.ssa, type, **given), value)

    return Entry(build, (4, 5))
