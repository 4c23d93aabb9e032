"""Models run by ONNX Runtime, with every value between, beside the same by qlower.

Needs the packages `onnx` and `onnxruntime`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

import qlower
from qlower.dialects.qnn.attributes import module_contract
from qlower.frontends.import_options import AS_WRITTEN, INTEGER
from qlower.interp.values import Array
from qlower.model import Model
from support.machines.vnni import LACKS_VNNI

INT8_ALLOWED = {"session.qdqisint8allowed": "1"}

BLOCKED = "com.microsoft.nchwc"
"""The operators that take and give images in blocks of channels."""


def make_session(
    model: Path | bytes,
    level: str,
    entries: Mapping[str, str] = INT8_ALLOWED,
    optimized: Path | None = None,
) -> Any:
    """A session of one thread, at an optimization level ("DISABLE_ALL", ...), which
    writes the graph that it runs to `optimized`."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(
        runtime.GraphOptimizationLevel, f"ORT_{level}"
    )
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    if optimized is not None:
        options.optimized_model_filepath = str(optimized)
    given = model if isinstance(model, bytes) else str(model)
    return runtime.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def optimized_graph(
    model: Path,
    folder: Path,
    entries: Mapping[str, str] = INT8_ALLOWED,
    level: str = "ENABLE_EXTENDED",
) -> Any:
    """The graph that ONNX Runtime makes of a model at an optimization level."""
    file = folder / "optimized.onnx"
    make_session(model, level, entries, file)
    onnx: Any = import_module("onnx")
    return onnx.load(str(file))


def run_graph(model: Path, folder: Path, entries: Mapping[str, str]) -> Any:
    """A graph with the bits of ONNX Runtime's highest level: that of "extended", where
    more values have their names, but where images lie in blocks of channels."""
    graph = optimized_graph(model, folder, entries, "ENABLE_ALL")
    if any(node.domain == BLOCKED for node in graph.graph.node):
        return graph
    return optimized_graph(model, folder, entries)


def operators(model: Any) -> Counter[str]:
    """How many nodes of each operator there are, where what ONNX Runtime fuses of real
    operators counts as what it was made of."""
    return Counter(name for node in model.graph.node for name in _unfused(node))


def _unfused(node: Any) -> Iterator[str]:
    name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    plain = name.removeprefix("com.microsoft.Fused")
    yield plain
    if plain != name:
        yield from (
            value.s.decode()
            for value in node.attribute
            if value.name == "activation" and value.s
        )
        if len(node.input) > 3:
            yield "Add"


@dataclass
class Comparison:
    """What was compared: values between, by name, and final outputs."""

    values: int = 0
    differing: Counter[str] = field(default_factory=Counter[str])
    missing: set[str] = field(default_factory=set[str])
    outputs: int = 0
    differing_outputs: int = 0

    @property
    def is_equal(self) -> bool:
        return not (self.differing.total() or self.differing_outputs)


def contract_here(model: Model) -> str | None:
    """The contract that ONNX Runtime has for a model on this machine: where x86-64 has
    no VNNI, its products of uint8 and int8 saturate in pairs."""
    own = module_contract(model.module)
    return f"{own}-avx2" if own == "onnxruntime" and LACKS_VNNI else own


def compare(
    path: Path,
    folder: Path,
    feeds: Sequence[Mapping[str, Array]] | None = None,
    *,
    interpreted: bool = True,
    count: int = 1,
    qdq: str = INTEGER,
) -> Comparison:
    """Run a model with every input by ONNX Runtime, native code and interpreter.

    Values between are those of the graph that ONNX Runtime optimized, run node by node;
    the final outputs are those of its highest level. With groups as they are written,
    nothing is optimized.
    """
    model = qlower.load(path, qdq=qdq)
    onnx: Any = import_module("onnx")
    entries = INT8_ALLOWED if qdq == INTEGER else {}
    level = "DISABLE_ALL" if qdq == AS_WRITTEN else "ENABLE_ALL"
    if qdq == AS_WRITTEN:
        graph = onnx.load(str(path))
    else:
        graph = run_graph(path, folder, entries)
    known = {value.name for value in graph.graph.output}
    computed = [name for node in graph.graph.node for name in node.output if name]
    graph.graph.output.extend(
        onnx.ValueInfoProto(name=name) for name in computed if name not in known
    )
    nodes = make_session(graph.SerializeToString(), "DISABLE_ALL")
    names = [value.name for value in nodes.get_outputs()]
    whole = make_session(path, level, entries)
    contract = contract_here(model)
    native = qlower.jit(model, contract, with_layers=True)
    result = Comparison(missing=set(computed))
    for feed in feeds or [random_feed(model, seed) for seed in range(count)]:
        references = dict(zip(names, nodes.run(names, feed), strict=True))
        expected = whole.run(None, feed)
        arrays = [feed[spec.name] for spec in model.inputs]
        outputs, layers = native.run(arrays, {})
        _compare_layers(model, layers, references, result)
        _compare_outputs(outputs, expected, result)
        if interpreted:
            recorded: dict[str, Array] = {}
            found = qlower.interpret(
                model, *arrays, contract=contract, at="qnn", layers=recorded
            )
            _compare_layers(model, recorded, references, result)
            alone = found if isinstance(found, tuple) else (found,)
            _compare_outputs(alone, expected, result)
    return result


def random_feed(model: Model, seed: int) -> dict[str, Array]:
    """Normally distributed real numbers, or any stored integers."""
    random = np.random.default_rng(seed)
    feed: dict[str, Array] = {}
    for spec in model.inputs:
        if spec.dtype == "float32":
            feed[spec.name] = random.normal(size=spec.shape).astype(np.float32)
        else:
            stored = random.integers(0, 256, spec.shape).astype(np.uint8)
            feed[spec.name] = stored.view(spec.numpy_dtype)
    return feed


def _compare_layers(
    model: Model,
    layers: Mapping[str, Array],
    references: Mapping[str, Array],
    result: Comparison,
) -> None:
    full = model.full_names
    for short, layer in layers.items():
        name = full.get(short, short)
        # What is moved before it is dequantized is stored integers here.
        if name in references and references[name].dtype == layer.dtype:
            result.missing.discard(name)
            result.values += layer.size
            result.differing[name] += _differing(layer, references[name])


def _compare_outputs(
    outputs: Sequence[Array], expected: Sequence[Array], result: Comparison
) -> None:
    for output, reference in zip(outputs, expected, strict=True):
        assert output.dtype == reference.dtype
        assert output.shape == reference.shape
        result.outputs += output.size
        result.differing_outputs += int((output != reference).sum())


def _differing(layer: Array, reference: Array) -> int:
    """How many elements differ, in the order of dimensions that fits best."""
    orders = [
        reference.transpose(order)
        for order in permutations(range(reference.ndim))
        if tuple(reference.shape[d] for d in order) == layer.shape
    ]
    assert orders, (layer.shape, reference.shape)
    return min(int((layer != moved).sum()) for moved in orders)
