"""Subgraphs that constants or a run decide, beside LiteRT's reference kernels."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_loops import nested, remembering
from support.formats.tflite_streams import NO_ATTRIBUTES, chosen, looped, rescaled
from support.systems.litert import run_litert
from support.values.same_numbers import assert_same

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite
from qlower.model.layers import layer_name, layers
from qlower.verification.equal import equal
from qlower.verification.native.sweep import bind_code
from qlower.verification.native.whole import WholeModel

pytestmark = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)

X = np.array([[100, -128, 3, 127]], np.int8)


@pytest.mark.parts(3)
@pytest.mark.parametrize("times", [1, 2, 5])
def test_loops(times: int) -> None:
    module = import_tflite(looped(times), name="model.tflite")
    names = [layer_name(op) for op in layers(module)]
    assert len(set(names)) == len(names) == 2 * times
    count, value = run_litert(looped(times), [X])
    got = qlower.interpret(qlower.Model(module), X)
    assert_same(got[0], count)
    assert_same(got[1], value)


@pytest.mark.parametrize("condition", [False, True])
def test_branches(condition: bool) -> None:
    model = qlower.Model(import_tflite(chosen(condition), name="model.tflite"))
    (wanted,) = run_litert(chosen(condition), [X[0]])
    assert_same(qlower.jit(model)(X[0]), wanted)


@pytest.mark.parametrize("condition", [False, True])
def test_branches_that_a_run_decides(condition: bool) -> None:
    model = qlower.Model(import_tflite(chosen(None), name="model.tflite"))
    inputs = X[0], np.array(condition)
    (wanted,) = run_litert(chosen(None), inputs)
    assert_same(qlower.jit(model)(*inputs), wanted)
    assert_same(qlower.interpret(model, *inputs), wanted)


def test_composites() -> None:
    """What an operator is made of runs in its place."""
    builder = TFLiteBuilder()
    parts = builder.subgraph()
    a, b, c = (parts.tensor(n, (4,), scale=0.1) for n in "abc")
    parts.operator("SUB", [a, b], [c])
    x, y, z = (builder.tensor(n, (4,), scale=0.1) for n in "xyz")
    options = {
        "name": "odml.difference",
        "decomposition_subgraph_index": 1,
        "composite_attributes": NO_ATTRIBUTES,
    }
    builder.operator("STABLEHLO_COMPOSITE", [x, y], [z], options)
    data = builder.build([x, y], [z], [parts.graph([a, b], [c])])
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    inputs = X[0], X[0, ::-1].copy()
    (wanted,) = run_litert(data, inputs)
    assert_same(qlower.jit(model)(*inputs), wanted)


@pytest.mark.parametrize("kind", ["composite", "branch", "choice", "loop"])
def test_subgraphs_read_elements_by_scales_of_their_own(kind: str) -> None:
    """LiteRT passes bytes, types and shapes, but neither scales nor zero points."""
    data, inputs = rescaled(kind), [X[0]]
    if kind == "choice":
        inputs.append(np.array(True))
    wanted = run_litert(data, inputs)
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    found = qlower.interpret(model, *inputs)
    found = found if isinstance(found, tuple) else (found,)
    for one, other in zip(found, wanted, strict=True):
        assert_same(one, other)


@pytest.mark.parts(4)
@pytest.mark.parametrize("until", [-100, 20, 60, 110])
def test_loops_that_a_run_ends(until: int) -> None:
    """Rows end after different numbers of iterations, from none to all."""
    data = looped(6, until)
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    random = np.random.default_rng(until + 128)
    rows = random.integers(-40, 41, (4, 1, 4)).astype(np.int8)
    run, counts = qlower.jit(model), set[int]()
    for x in (*rows, np.full((1, 4), -128, np.int8), X):
        wanted = run_litert(data, [x])
        for found in (run(x), qlower.interpret(model, x, at="qnn")):
            for one, other in zip(found, wanted, strict=True):
                assert_same(one, other)
        counts.add(int(wanted[0]))
    assert len(counts) > 1 or until == -100


def test_loops_that_nothing_but_a_run_ends() -> None:
    """The body is compiled once; rows run it not at all, or up to four times."""
    data = looped(None)
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    run = qlower.jit(model)
    for count in (-1, 1, 2, 3, 100):
        inputs = X, np.array(count, np.int32)
        wanted = run_litert(data, inputs)
        for found in (run(*inputs), qlower.interpret(model, *inputs, at="qnn")):
            for one, other in zip(found, wanted, strict=True):
                assert_same(one, other)


def test_loops_and_choices_in_loops() -> None:
    model = qlower.Model(import_tflite(nested(), name="model.tflite"))
    run, random = qlower.jit(model), np.random.default_rng(0)
    for count in (0, 1, 6):
        x = random.normal(0, 1, (1, 4)).astype(np.float32)
        inputs = np.array(count, np.int32), x
        wanted = run_litert(nested(), inputs)
        for found in (run(*inputs), qlower.interpret(model, *inputs)):
            for one, other in zip(found, wanted, strict=True):
                assert_same(one, other)


@pytest.mark.parametrize("is_written", [False, True])
def test_states_in_open_loops_are_refused(is_written: bool) -> None:
    with pytest.raises(QlowerError, match=r"operator 5 WHILE: a loop .* state"):
        import_tflite(remembering(is_written=is_written), name="model.tflite")


def test_layers_in_loops_are_not_taken_for_equal(tmp_path: Path) -> None:
    file = tmp_path / "model.tflite"
    file.write_bytes(looped(None))
    model = qlower.load(file)
    layers = equal("tflite", "tflite-ruy", model, native=False).layers
    (loop,) = (layer for layer in layers if layer.kind == "kernel.scan")
    assert loop.verdict == "undecided"
    assert loop.how == "not looked at: the rules linear, add in steps of a loop"
    notes = qlower.lint(model).table.notes
    assert "Not looked at: layers in the loop loop." in notes
    whole = WholeModel(compilation := Compilation(model))
    assert whole.on(compilation, bind_code) is None


def test_a_loop_that_changes_shapes_is_refused() -> None:
    builder = TFLiteBuilder()
    condition, body = builder.subgraph(), builder.subgraph()
    shapes = (), (4,), (1, 4)
    taken, given, left = (
        [graph.tensor(f"{name}{shape}", shape, "int32") for shape in shapes]
        for graph, name in ((condition, "a"), (builder, "b"), (builder, "c"))
    )
    limit = condition.tensor("limit", (), "int32", data=[9])
    goes_on = condition.tensor("goes_on", (), "bool")
    condition.operator("LESS", [taken[0], limit], [goes_on])
    n, x, y = (body.tensor(f"{shape}", shape, "int32") for shape in shapes)
    options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    builder.operator("WHILE", given, left, options)
    others = [condition.graph(taken, [goes_on]), body.graph([n, x, y], [n, y, x])]
    message = r"WHILE: a loop that takes tensor<4xi32> and leaves tensor<1x4xi32>"
    with pytest.raises(QlowerError, match=message):
        import_tflite(builder.build(given, left, others), name="model.tflite")


@pytest.mark.long
def test_a_loop_that_runs_too_often() -> None:
    with pytest.raises(QlowerError, match="a loop of more than 1000 iterations"):
        import_tflite(looped(1001), name="model.tflite")
    assert import_tflite(looped(1000), name="model.tflite")
