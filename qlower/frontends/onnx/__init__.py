"""ONNX files as qnn modules.

A module computes the results of ONNX Runtime's kernels: shapes, scales, zero points and
weights are taken over unchanged. Operators on integers (QLinearConv and the like) are
imported as they are; groups of DequantizeLinear, operator, QuantizeLinear as the
operators that ONNX Runtime makes of them. Images are kept with their channels last;
transposes appear where a model needs another order.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr

from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import QDQ
from qlower.kept.journal import read_given

from ..graph.importer import Framework, Reading, build_module, find_problems
from ..graph.nodes import Graph, Node
from ..graph.operators import IMPORTERS
from ..graph.schema import Model
from ..import_options import AS_WRITTEN, ImportOptions
from .fusing import check_arity, fuse
from .quantizers import convert_quantizers
from .reader import read_model
from .remarks import bias_remarks, remarks, session_of
from .simplifying import fold_quantized

__all__ = ["check_onnx", "import_onnx"]


def _read_graph(graph: Graph, options: ImportOptions) -> Reading:
    check_arity(graph)
    convert_quantizers(graph)
    session = session_of(graph, options.qdq)
    of_biases = bias_remarks(graph)
    unfused: dict[Node, str] = {}
    is_optimized = options.qdq != AS_WRITTEN
    if is_optimized:
        unfused = fuse(graph, options.qdq)
    else:
        fold_quantized(graph)

    def all_remarks() -> list[str]:
        return [*remarks(graph, unfused, session), *of_biases]

    return Reading("onnxruntime", unfused, all_remarks, has_blocks=is_optimized)


ONNX_RUNTIME = Framework(
    IMPORTERS,
    _read_graph,
    "the model isn't quantized: do that first, such as by"
    " onnxruntime.quantization.quantize_static",
    "run ONNX Runtime's offline optimization on the model first, which folds what can"
    " be folded",
)


def import_onnx(
    path_or_bytes: str | Path | bytes,
    *,
    name: str,
    options: ImportOptions | None = None,
) -> ModuleOp:
    """Read a quantized ONNX model into a module at the qnn level.

    `name` is the file name of locations and messages; `options` fixes shapes and cuts
    the model. External data is read from the folder of the file. Raises `QlowerError`
    when the file can't be read, is damaged, or has something that is not supported; the
    message names node, operand, value and the legal range.
    """
    options = options or ImportOptions()
    module = build_module(_read(path_or_bytes, name), options, ONNX_RUNTIME)
    module.attributes[QDQ] = StringAttr(options.qdq)
    return module


def check_onnx(path: Path, options: ImportOptions) -> list[QlowerError]:
    """Everything that keeps `import_onnx` from reading a file."""
    return find_problems(_read(path, str(path)), options, ONNX_RUNTIME)


def _read(path_or_bytes: str | Path | bytes, name: str) -> Model:
    is_file = not isinstance(path_or_bytes, bytes)
    folder = Path(path_or_bytes).parent if is_file else None
    return read_model(read_given(path_or_bytes), name, folder)
