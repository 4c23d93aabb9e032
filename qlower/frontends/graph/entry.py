"""An entry of the table of operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from qlower.dialects import qnn

from ..signature import arity, check_ranks, legal_types, misfit
from .context import NodeContext


@dataclass(frozen=True, slots=True)
class Entry:
    """How one ONNX operator becomes qnn operations.

    `inputs` and `outputs` are the fewest and the most that the operator has.
    """

    build: Callable[[NodeContext], None]
    inputs: tuple[int, int]
    outputs: tuple[int, int] = (1, 1)


def takes(
    signature: str,
    build: Callable[[NodeContext], None],
    outputs: tuple[int, int] = (1, 1),
) -> Entry:
    """An entry of an operator whose operands have to fit a signature."""

    def checked(node: NodeContext) -> None:
        number = misfit(node, signature)
        if number is not None:
            node.expect_type(number, *legal_types(node, signature, number))
        check_ranks(node, signature)
        build(node)

    return Entry(checked, arity(signature), outputs)


def quantized(*names: str) -> str:
    """The part of a signature for operands that have a scale and a zero point."""
    return ", ".join(f"{name}, {name}_scale, {name}_zero_point" for name in names)


RESULT = "scale, zero_point?"
"""The part of a signature for what the result has."""


def function(kind: Callable[..., qnn.QnnOp], **defaults: float) -> Entry:
    """An operation on one quantized value that has these numbers."""

    def build(node: NodeContext) -> None:
        value = node.stored(0, 1, 2)
        type = node.typed(node.quantization(3, 4), value.shape, value.order)
        given = {name: node.number(name, at) for name, at in defaults.items()}
        node.finish(kind(value.ssa, type, **given), value)

    return takes(f"{quantized('x')}, {RESULT}", build)
