"""QONNX's quantizers as ONNX's conversions, where these give the same numbers."""

from __future__ import annotations

import math

import numpy as np

from ..graph.nodes import DEQUANTIZE, QUANTIZE, Graph, Node
from ..graph.quantizers import DOMAINS, KINDS, Quantizer, quantizer_of
from ..graph.real_constants import Reals
from ..graph.schema import Array


def convert_quantizers(graph: Graph) -> None:
    """Store quantized constants as their codes, and quantize to 8 bits by a pair of
    conversions, without a zero point; 0 then has no sign. Others stay."""
    for node in list(graph.nodes):
        if node.domain not in DOMAINS or node.kind not in (*KINDS, "BipolarQuant"):
            continue
        quantizer = quantizer_of(graph, node)
        if quantizer is None or len(node.outputs) != 1:
            continue
        value = graph.array(node.inputs[0])
        if value is not None and value.dtype == np.float32:
            _store(graph, node, value.astype(np.float32), quantizer)
        elif _is_byte(quantizer):
            _convert(graph, node, quantizer)


def _is_byte(quantizer: Quantizer) -> bool:
    """Whether a pair of conversions of one scale rounds to the same codes."""
    return (
        quantizer.bits == 8
        and quantizer.high - quantizer.low == 255
        and quantizer.mode == "round"
        and quantizer.scale.size == 1
        and _has_plain_steps(quantizer)
    )


def _has_plain_steps(quantizer: Quantizer) -> bool:
    """Whether conversions have these scales, without zero points."""
    scale = quantizer.scale
    return not quantizer.zero_point.any() and bool(
        ((scale > 0) & (scale < math.inf)).all()
    )


def _convert(graph: Graph, node: Node, quantizer: Quantizer) -> None:
    dtype = np.int8 if quantizer.signed else np.uint8
    steps = [
        graph.add_constant(node.inputs[0], quantizer.scale.reshape(())),
        graph.add_constant(node.inputs[0], np.zeros((), dtype)),
    ]
    codes = [graph.fresh(node.result)]
    graph.remove(node)
    graph.add(node.like(QUANTIZE, [node.inputs[0], *steps], codes))
    graph.add(node.like(DEQUANTIZE, [*codes, *steps], node.outputs))


def _store(graph: Graph, node: Node, constant: Reals, quantizer: Quantizer) -> None:
    """The codes of a constant with one scale or with some along one dimension, where a
    stored type has them, else its numbers."""
    scale = quantizer.scale
    try:
        found = np.broadcast_shapes(
            constant.shape, scale.shape, quantizer.zero_point.shape
        )
    except ValueError:
        return
    if found != constant.shape:  # more numbers than the file has: by the importer
        return
    codes = quantizer.codes(constant)
    missing = max(constant.ndim - scale.ndim, 0)
    sizes = [1] * missing + list(scale.shape)
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    stored = _stored(quantizer, codes)
    if len(axes) > 1 or stored is None:
        _replace(graph, node, quantizer.reals(codes))
        return
    operands = [
        graph.add_constant(node.result, stored),
        graph.add_constant(node.result, scale.reshape(-1 if axes else ())),
    ]
    graph.remove(node)
    attributes = {"axis": axes[0]} if axes else {}
    graph.add(node.like(DEQUANTIZE, operands, node.outputs, attributes))


def _stored(quantizer: Quantizer, codes: Reals) -> Array | None:
    """Codes as integers of a stored type: of more than 8 bits those of a bias alone."""
    wide = quantizer.signed and codes.ndim == 1
    if not _has_plain_steps(quantizer) or not (quantizer.bits <= 8 or wide):
        return None
    name = "int32" if quantizer.bits > 8 else "int8" if quantizer.signed else "uint8"
    limits = np.iinfo(name)
    exact = codes.astype(np.float64)  # in float32 the last int32 is the one above
    fits = (exact >= limits.min) & (exact <= limits.max)
    return codes.astype(name) if fits.all() else None


def _replace(graph: Graph, node: Node, reals: Reals) -> None:
    graph.replace_uses(node.result, graph.add_constant(node.result, reals))
    if not graph.is_returned(node.result):
        graph.remove(node)
