"""QONNX's quantizers: what a node says about its codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qlower.emit.inline_rule import library_function
from qlower.interp import evaluate_function

from .nodes import Graph, Node
from .real_constants import Reals

LIBRARY = "_qonnx"
"""The functions by which the package `qonnx` runs these nodes, as text."""

DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas")

KINDS = ("IntQuant", "Quant")
"""The operator's name, and that of older files."""

MODES = {
    **{mode.upper(): mode for mode in ("round", "ceil", "floor", "up", "down")},
    **{mode.upper(): mode for mode in ("half_up", "half_down")},
    "HALF_EVEN": "round",
}
"""Functions of codes by names of rounding modes."""

SIGN = "sign_of"
"""The function of codes that a BipolarQuant has."""

EXPECTED = (
    "scale, zero point and bit width have to be constants of FLOAT, the width a whole"
    f" number from 1 to 32, and rounding_mode one of {', '.join(MODES)}"
)


@dataclass(frozen=True)
class Quantizer:
    """The steps of codes, their range and their rounding.

    `mode` is a function of the library; scales and zero points broadcast with what is
    quantized.
    """

    mode: str
    scale: Reals
    zero_point: Reals
    bits: int
    signed: bool
    low: float
    high: float

    def codes(self, x: Reals) -> Reals:
        """Codes of numbers, before the zero point is subtracted."""
        if self.mode == SIGN:
            return evaluate(SIGN, x)
        return evaluate(self.mode, x, self.scale, self.zero_point, self.low, self.high)

    def reals(self, codes: Reals) -> Reals:
        """The numbers of codes."""
        return evaluate("real_of", codes, self.scale, self.zero_point)


def evaluate(name: str, *operands: Reals | float) -> Reals:
    """A function of the library, applied to numbers that broadcast."""
    arrays = np.broadcast_arrays(*(np.asarray(x, np.float32) for x in operands))
    with np.errstate(all="ignore"):
        (result,) = evaluate_function(
            library_function(LIBRARY, name), [np.array(x) for x in arrays]
        )
    return result.astype(np.float32)


def quantizer_of(graph: Graph, node: Node) -> Quantizer | None:
    """The quantization that an IntQuant or BipolarQuant states; None if it isn't
    supported."""
    if node.kind == "BipolarQuant":
        scales = _reals(graph, node.inputs[1:2])
        if scales is None:
            return None
        zero = np.zeros((), np.float32)
        return Quantizer(SIGN, scales[0], zero, 1, True, -1.0, 1.0)
    arrays = _reals(graph, node.inputs[1:4])
    mode = node.attributes.get("rounding_mode", "ROUND")
    flags = [node.attributes.get(name, 1) for name in ("signed", "narrow")]
    function = MODES.get(mode.upper()) if isinstance(mode, str) else None
    if arrays is None or len(arrays) != 3 or function is None:
        return None
    scale, zero_point, width = arrays
    if width.size != 1:
        return None
    bits = float(width.reshape(())[()])
    if not (1 <= bits <= 32 and bits == int(bits)):
        return None
    signed, narrow = (flag == 1 for flag in flags)
    half = 2.0 ** (bits - signed)
    return Quantizer(
        "bipolar" if signed and bits == 1 else function,
        scale,
        zero_point,
        int(bits),
        signed,
        float(np.float32(narrow - half)) if signed else 0.0,
        float(np.float32(half - 1 - (narrow and not signed))),
    )


def _reals(graph: Graph, values: Sequence[str]) -> list[Reals] | None:
    """Constants of float32; None if a value is something else."""
    arrays = [graph.array(value) for value in values]
    if any(array is None or array.dtype != np.float32 for array in arrays):
        return None
    return [array.astype(np.float32) for array in arrays if array is not None] or None
