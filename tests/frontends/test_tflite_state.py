"""Models with state, step by step beside LiteRT's reference kernels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_streams import drawn_frames, keyword_spotter
from support.systems.litert import run_litert_steps

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite
from qlower.model import Model
from qlower.model.state import State
from qlower.runtime.executors import Level

needs_litert = pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)

STEPS = 50


def written(folder: Path, data: bytes) -> Path:
    path = folder / "stream.tflite"
    path.write_bytes(data)
    return path


@pytest.fixture
def spotter(tmp_path: Path) -> Model:
    return qlower.load(written(tmp_path, keyword_spotter()))


@pytest.mark.parts(4)
@needs_litert
def test_every_step_is_that_of_litert(spotter: Model) -> None:
    frames = drawn_frames(STEPS)
    wanted = run_litert_steps(keyword_spotter(), [[x] for x in frames])
    run = qlower.jit(spotter)
    state = run.new_state()
    levels: tuple[Level, ...] = ("qnn", "arith", "kernel")
    states: dict[Level, State] = {at: spotter.new_state() for at in levels}
    for x, (words, count) in zip(frames, wanted, strict=True):
        got = run(x, state=state)
        np.testing.assert_array_equal(got[0], words)
        np.testing.assert_array_equal(got[1], count)
        if count[0] > 10:
            continue
        for at, interpreted in states.items():
            given = qlower.interpret(spotter, x, at=at, state=interpreted)
            np.testing.assert_array_equal(given[0], words)
            np.testing.assert_array_equal(given[1], count)


def test_a_set_of_inputs_is_a_stream_for_a_state(spotter: Model) -> None:
    run, frames = qlower.jit(spotter), drawn_frames(5)
    state, whole = run.new_state(), run.new_state()
    steps = [run(x, state=state)[0] for x in frames]
    np.testing.assert_array_equal(run(np.stack(frames), state=whole)[0], steps)
    firsts = [run(x)[0] for x in frames]
    np.testing.assert_array_equal(run(np.stack(frames))[0], firsts)


@pytest.mark.parts(3)
def test_states_in_threads_share_nothing(spotter: Model) -> None:
    run = qlower.jit(spotter)

    def stream(seed: int) -> list[NDArray[np.int8]]:
        state = run.new_state()
        return [run(x, state=state)[0] for x in drawn_frames(300, seed)]

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(stream, range(8)))
    for seed, found in enumerate(together):
        np.testing.assert_array_equal(found, stream(seed))


def test_a_copy_goes_its_own_way(spotter: Model) -> None:
    run, frames = qlower.jit(spotter), drawn_frames(3)
    state = run.new_state()
    run(frames[0], state=state)
    copied = state.copy()
    first = run(frames[1], state=state)[0]
    run(frames[2], state=state)
    np.testing.assert_array_equal(run(frames[1], state=copied)[0], first)


def test_a_bound_call_keeps_its_state(spotter: Model) -> None:
    run, frames = qlower.jit(spotter), drawn_frames(4)
    x, state = np.empty_like(frames[0]), run.new_state()
    call, other = run.bind(x, state=run.new_state()), run.new_state()
    bound = run.bind(x, state=state)
    for frame in frames:
        x[...] = frame
        call()
        bound()
        wanted = run(frame, state=other)
        np.testing.assert_array_equal(bound.outputs[0], wanted[0])
        np.testing.assert_array_equal(call.outputs[1], wanted[1])
    assert bytes(state.memory) == bytes(other.memory)


def test_the_state_of_another_model(spotter: Model, tmp_path: Path) -> None:
    start = np.zeros((1, 5, 8), np.int8)
    other = qlower.load(written(tmp_path, keyword_spotter(start)))
    with pytest.raises(QlowerError, match="is of another model"):
        qlower.jit(spotter)(drawn_frames(1)[0], state=other.new_state())


def test_what_a_model_is_cut_to_keeps_what_it_reads(tmp_path: Path) -> None:
    path = written(tmp_path, keyword_spotter())
    words = qlower.load(path, outputs=["words"])
    assert [spec.name for spec in words.signature.states] == ["frames"]
    count = qlower.load(path, outputs=["calls_after"])
    assert [spec.name for spec in count.signature.states] == ["count"]
    assert not count.inputs
    run = qlower.jit(count)
    state = run.new_state()
    assert [run(state=state)[0] for _ in range(3)] == [4, 5, 6]


def variable_read(*, is_written: bool, has_first: bool = True) -> bytes:
    """x + variable, which is then 2x."""
    builder = TFLiteBuilder()
    once = builder.subgraph()
    if has_first:
        first = once.tensor("first", (4,), scale=0.1, data=[1, 2, 3, 4])
        handle = once.tensor("h", (), "resource")
        once.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
        once.operator("ASSIGN_VARIABLE", [handle, first], [])
    x, v, y = (builder.tensor(name, (4,), scale=0.1) for name in "xvy")
    handle = builder.tensor("handle", (), "resource")
    builder.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    builder.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    if is_written:
        builder.operator("ASSIGN_VARIABLE", [handle, x], [])
    builder.operator("READ_VARIABLE", [handle], [v])
    builder.operator("ADD", [x, v], [y])
    return builder.build([x], [y], [once.graph([], [])])


@needs_litert
@pytest.mark.parametrize("is_written", [False, True])
def test_what_no_call_leaves_to_the_next_is_no_state(
    is_written: bool, tmp_path: Path
) -> None:
    data = variable_read(is_written=is_written)
    model = qlower.load(written(tmp_path, data))
    assert not model.signature.states
    x = np.array([5, -6, 7, 100], np.int8)
    (wanted,) = run_litert_steps(data, [[x]])[0]
    np.testing.assert_array_equal(qlower.jit(model)(x), wanted)


@needs_litert
def test_a_variable_that_begins_as_float16(tmp_path: Path) -> None:
    builder = TFLiteBuilder()
    once = builder.subgraph()
    handle = once.tensor("h", (), "resource")
    numbers = np.array([0.5, -1.25, 3e-5], np.float16)
    half = once.tensor("half", (3,), "float16", data=numbers)
    first = once.tensor("first", (3,), "float32")
    once.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    once.operator("DEQUANTIZE", [half], [first])
    once.operator("ASSIGN_VARIABLE", [handle, first], [])
    x, v, y = (builder.tensor(name, (3,), "float32") for name in "xvy")
    handle = builder.tensor("handle", (), "resource")
    builder.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    builder.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    builder.operator("READ_VARIABLE", [handle], [v])
    builder.operator("ADD", [x, v], [y])
    builder.operator("ASSIGN_VARIABLE", [handle, y], [])
    data = builder.build([x], [y], [once.graph([], [])])
    steps = list(np.random.default_rng(0).normal(0, 1, (3, 3)).astype(np.float32))
    model = qlower.load(written(tmp_path, data))
    run, state = qlower.jit(model), model.new_state()
    for step, (wanted,) in zip(
        steps, run_litert_steps(data, [[x] for x in steps]), strict=True
    ):
        np.testing.assert_array_equal(run(step, state=state), wanted)


def test_a_variable_without_a_value() -> None:
    data = variable_read(is_written=False, has_first=False)
    message = "variable 'v' is read before it has a value"
    with pytest.raises(QlowerError, match=message) as caught:
        import_tflite(data, name="model.tflite")
    assert "cuts the model" not in (caught.value.help or "")  # a handle is no output


def test_a_subgraph_that_nothing_runs(caplog: pytest.LogCaptureFixture) -> None:
    builder = TFLiteBuilder()
    other = builder.subgraph()
    x = builder.tensor("x", (1,), scale=0.1)
    import_tflite(builder.build([x], [x], [other.graph([], [])]), name="model.tflite")
    assert "the model doesn't run subgraph 1" in caplog.text


def requantized_variable() -> bytes:
    """y = x + variable, which then gets the stored elements of y, in other steps."""
    builder = TFLiteBuilder()
    once = builder.subgraph()
    handle = once.tensor("h", (), "resource")
    first = once.tensor("first", (4,), scale=0.1, data=[1, 2, 3, 4])
    once.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    once.operator("ASSIGN_VARIABLE", [handle, first], [])
    x, v = (builder.tensor(name, (4,), scale=0.1) for name in "xv")
    y = builder.tensor("y", (4,), scale=0.3, zero_point=7)
    handle = builder.tensor("handle", (), "resource")
    builder.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    builder.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    builder.operator("READ_VARIABLE", [handle], [v])
    builder.operator("ADD", [x, v], [y])
    builder.operator("ASSIGN_VARIABLE", [handle, y], [])
    return builder.build([x], [y], [once.graph([], [])])


@needs_litert
def test_variables_hold_stored_elements_whatever_their_scale(tmp_path: Path) -> None:
    steps = list(np.random.default_rng(0).integers(-128, 128, (5, 4)).astype(np.int8))
    wanted = run_litert_steps(requantized_variable(), [[x] for x in steps])
    model = qlower.load(written(tmp_path, requantized_variable()))
    state = model.new_state()
    got = qlower.jit(model)(np.stack(steps), state=state)
    np.testing.assert_array_equal(got, [y for (y,) in wanted])
