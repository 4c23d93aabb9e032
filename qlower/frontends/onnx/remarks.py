"""Remarks for users on the reading of a model: the system whose bits it has, and
where."""

from __future__ import annotations

from collections.abc import Mapping

from ..graph.nodes import DEQUANTIZE, QUANTIZE, Graph, Node
from ..graph.remarks import float_remarks
from ..graph.schema import Constant
from ..import_options import AS_WRITTEN, INTEGER, SHARED_ZERO_POINT
from .ranks import find_ranks

SAME_BITS = "ONNX Runtime gives the same bits"
ANY_THREADS = "with any number of threads"
ONE_THREAD = "with one thread (options.intra_op_num_threads = 1)"
INT8_ALLOWED = (
    "in a session with the entry session.qdqisint8allowed=1:"
    " options.add_session_config_entry('session.qdqisint8allowed', '1')"
)
DEFAULT_SESSION = "in its default session"
DEFAULT_ON_X86 = "in its default session on x86-64"
ON_DEVICES = (
    "activations clip the codes of the layers before them, as on devices of integers;"
    " ONNX Runtime computes such layers on float32"
)
UNFUSED_SESSION = (
    "in a session that fuses nothing: options.graph_optimization_level ="
    " onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL"
)

TRUNCATED_BIASES = (
    "PyTorch's exporter truncates biases to integers, where PyTorch's engines add real"
    " numbers or round: the quantized module has other outputs than this file;"
    " qlower.from_eager takes the module itself"
)

ZERO_BIASES = (
    "all biases are 0: either the module has none, or PyTorch's exporter truncated"
    " them, and the quantized module has other outputs than this file;"
    " qlower.from_eager takes the module itself"
)

OPEN_SIZES = (
    "sizes that the file leaves open are fixed here, and ONNX Runtime fuses additions"
    " with normalizations only where it knows them: a session has the same bits with"
    " options.add_free_dimension_override_by_name('NAME', SIZE) for each"
)

OTHER_AXIS = (
    "ONNX Runtime's fusion of an addition with LayerNormalization leaves out its axis:"
    " normalized along the last one alone"
)

ABSORBING = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""Operators into which OpenVINO takes the zero points of what they multiply."""

SUMS = ("AveragePool", "Conv", "Gemm", "GlobalAveragePool", "MatMul", "ReduceMean")
"""Operators that add many numbers, in an order that ONNX Runtime chooses."""

PACKETS = ("Celu", "Elu", "Log", "Selu")
"""Functions that ONNX Runtime computes in another way at the end of a thread's part."""


def session_of(graph: Graph, qdq: str) -> str:
    """The session that reads groups in this way, for a model as it is written."""
    if qdq == AS_WRITTEN:
        return UNFUSED_SESSION
    if not _has_pairs(graph) or not _is_signed(graph):
        return DEFAULT_SESSION
    return INT8_ALLOWED if qdq == INTEGER else DEFAULT_ON_X86


def bias_remarks(graph: Graph) -> list[str]:
    """A remark on biases that PyTorch's exporter truncated, in the graph as it was
    read. It writes zeros, too, for a layer without a bias."""
    operands = [node.inputs[0] for node in graph.nodes if node.kind == DEQUANTIZE]
    constants = [graph.constants[name] for name in operands if name in graph.constants]
    biases = [one for one in constants if one.type == "INT32"]
    if graph.model.producer != "pytorch" or not biases:
        return []
    return [TRUNCATED_BIASES if any(map(_is_nonzero, biases)) else ZERO_BIASES]


def shared_zero_points(graph: Graph) -> list[str]:
    """A remark on outputs of the graph as it was read that are dequantized with the
    zero point, not 0, of another node whose result is not only multiplied."""
    points = {
        node: node.inputs[2]
        for node in graph.nodes
        if node.kind == DEQUANTIZE and len(node.inputs) > 2
    }
    kept = [
        node
        for node in points
        if not graph.users(node.result)
        or any(one.kind not in ABSORBING for one in graph.users(node.result))
    ]
    named: list[str] = []
    for output in graph.outputs:
        last = graph.producer(output)
        while last is not None and last.kind == "Identity":
            last = graph.producer(last.inputs[0])
        if last not in points or not _is_nonzero(graph.constants.get(points[last])):
            continue
        if any(one is not last and points[one] == points[last] for one in kept):
            named.append(repr(output))
    return [f"{SHARED_ZERO_POINT}: {', '.join(named)}"] if named else []


def _is_nonzero(constant: Constant | None) -> bool:
    if constant is None or constant.array is None:
        return False
    return bool(constant.array.any())


def _is_signed(graph: Graph) -> bool:
    """Whether activations are int8, which ONNX Runtime leaves real by default where
    convolutions and products take them."""
    return any(
        node.kind == QUANTIZE and graph.stored_type(node) == "INT8"
        for node in graph.nodes
    )


def _has_pairs(graph: Graph) -> bool:
    """Whether any operator takes what a node dequantizes."""
    return any(
        node.kind == DEQUANTIZE and graph.users(node.result) for node in graph.nodes
    )


def remarks(graph: Graph, unfused: Mapping[Node, str], session: str) -> list[str]:
    """One remark on the session, and those on operators that stay real."""
    divided = (*SUMS, *PACKETS)
    is_divided = any(node.kind in divided and not node.domain for node in graph.nodes)
    threads = ONE_THREAD if is_divided else ANY_THREADS
    found = [f"{SAME_BITS}, {threads}, {session}", *float_remarks(graph, unfused)]
    sums = [node for node in graph.nodes if node.kind == "SkipLayerNormalization"]
    is_open = any(port.shape and None in port.shape for port in graph.inputs.values())
    if is_open and sums:
        found.append(OPEN_SIZES)
    elsewhere = [n for n in sums if n.attributes.get("axis", -1) not in (-1, 2)]
    ranks = find_ranks(graph) if elsewhere else dict[str, int]()
    moved = [
        repr(node.result)
        for node in elsewhere
        if [ranks.get(value) for value in node.inputs[:2]] == [3, 3]
    ]
    if moved:
        found.append(f"{OTHER_AXIS}: {', '.join(moved)}")
    return found
