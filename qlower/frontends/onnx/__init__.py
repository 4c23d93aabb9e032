"""ONNX files as qnn modules.

A module computes the results of ONNX Runtime's kernels: shapes, scales, zero points and
weights are taken over unchanged. Operators on integers (QLinearConv and the like) are
imported as they are; groups of DequantizeLinear, operator, QuantizeLinear as the
operators that ONNX Runtime makes of them. Images are kept with their channels last;
transposes appear where a model needs another order.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr

from qlower.dialects.qnn.attributes import QDQ
from qlower.kept.journal import read_given

from ..format import Source
from ..graph.importer import Framework, Reading, build_module, graph_format
from ..graph.narrow import narrow_types
from ..graph.nodes import Graph, Node
from ..graph.operators import IMPORTERS
from ..graph.schema import Model
from ..import_options import AS_WRITTEN, DEVICE, INTEGER, ImportOptions
from ..site import Site
from .device import check_stored
from .fusing import check_arity, fuse
from .halves import optimized_otherwise, widen_halves
from .quantizers import convert_quantizers
from .reader import read_model
from .remarks import (
    ON_DEVICES,
    bias_remarks,
    remarks,
    session_of,
    shared_zero_points,
)
from .simplifying import fold_quantized

__all__ = ["FORMAT", "import_onnx"]


def _read_graph(graph: Graph, options: ImportOptions) -> Reading:
    check_arity(graph)
    convert_quantizers(graph)
    session = session_of(graph, options.qdq)
    of_file = bias_remarks(graph)
    if options.qdq == INTEGER:
        of_file += shared_zero_points(graph)
    unfused: dict[Node, str] = {}
    is_optimized = options.qdq != AS_WRITTEN
    is_fused = options.qdq not in (AS_WRITTEN, DEVICE)
    narrow = narrow_types(graph)
    other = optimized_otherwise(graph, narrow) if is_fused else None
    if other is not None:
        subject = f"node {other.index} {graph.written_operator(other)}"
        raise Site(graph.model.filename, other.index, subject).error(
            f"ONNX Runtime's optimizer replaces {other.result!r}, which takes"
            " dequantized FLOAT16, by another operator, which is not supported",
            help="--qdq as-written reads the model so",
        )
    if options.qdq != DEVICE and widen_halves(graph, narrow):
        is_optimized = False
    elif is_optimized:
        unfused = fuse(graph, options.qdq)
        if options.qdq == DEVICE:
            check_stored(graph, unfused)
    if not is_optimized:
        fold_quantized(graph)

    def all_remarks() -> list[str]:
        if options.qdq == DEVICE:
            return [ON_DEVICES, *of_file]
        return [*remarks(graph, unfused, session), *of_file]

    return Reading("onnxruntime", all_remarks, has_blocks=is_optimized)


ONNX_RUNTIME = Framework(
    IMPORTERS,
    _read_graph,
    "the model isn't quantized: do that first, such as by"
    " onnxruntime.quantization.quantize_static",
    "run ONNX Runtime's offline optimization on the model first, which folds what can"
    " be folded",
)


def _read(source: Source, name: str, options: ImportOptions) -> Model:
    """The model of a file, in whose folder external data is."""
    folder = None if isinstance(source, bytes) else Path(source).parent
    return read_model(read_given(source), name, folder)


def _build(model: Model, options: ImportOptions) -> ModuleOp:
    module = build_module(model, options, ONNX_RUNTIME)
    module.attributes[QDQ] = StringAttr(options.qdq)
    return module


FORMAT = replace(graph_format(_read, ONNX_RUNTIME), build=_build)
import_onnx = FORMAT.module
