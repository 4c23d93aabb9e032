"""A run's parts with stand-ins for models: rows that are counted, states in files,
sessions of other systems, threads, and what is refused before anything runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.diagnostics import QlowerError
from qlower.model import Model
from qlower.model.signature import TensorSpec
from qlower.process.extras import install_line
from qlower.text.parsing import parse_module
from qlower.validation import schedule
from qlower.validation.counts import Counts, Partial, output_step, to_ticks
from qlower.validation.preprocessing import Preprocessing
from qlower.validation.references import LiveReference
from qlower.validation.schedule import on_executor, on_threads
from qlower.validation.sources import Chunk, Row, RowError
from qlower.validation.state import Progress
from qlower.validation.validate import prepare
from qlower.validation.work import Task, add_partials, count_layers

REFERENCES = vars(import_module("qlower.validation.references"))
STEPS = TensorSpec("y", (1, 3), "int8", (0.5,), (1,))
REALS = TensorSpec("y", (1, 3), "float32")


# Rows that are counted


class Given:
    """A source of given rows."""

    def __init__(self, *rows: Row | RowError) -> None:
        self._rows = rows

    def rows(self, chunk: Chunk) -> Any:
        yield from self._rows[chunk.start : chunk.stop]


def shipped(change: int, spec: TensorSpec = STEPS) -> Any:
    """Code that adds a number to its input."""

    def run(row: tuple[Any, ...], state: Any) -> Any:
        assert state == {}
        found = row[0] + spec.numpy_dtype.type(change)
        return (found, found[:, :1]), {"layer": found}

    outputs = (spec, TensorSpec("z", (1, 1), "int8"))
    variant = SimpleNamespace(
        signature=SimpleNamespace(outputs=outputs), layers={"layer": 0}
    )
    function = SimpleNamespace(outputs=outputs, run=run)
    return SimpleNamespace(function=function, variant=variant)


def row(*codes: int, label: int | None = None) -> Row:
    classes = None if label is None else frozenset([label])
    return Row((np.array([codes], np.int8),), classes)


def not_finite() -> RowError:
    error = RowError("element 0 is nan")
    error.is_not_finite = True
    return error


ROWS = (
    *(row(5, 1, 2, label=0), row(1, 4, 2, label=2), RowError("no picture")),
    *(not_finite(), row(0, 0, 9, label=3), row(7, 8, 9), row(0, 0, 0, label=-1)),
)


ALL: Any = Given(*ROWS)


def test_rows_are_counted_or_named() -> None:
    """The first and last class are counted, those beyond aren't."""
    task = Task(ALL, {"a": shipped(0), "b": shipped(1)}, "a", None)
    found = task.run(Chunk(0, 7))
    assert (found.rows, found.failed, found.not_finite) == (7, 4, 1)
    assert found.failures == [
        (2, "no picture"),
        (3, "element 0 is nan"),
        (4, "label 3 is not in [0, 3)"),
        (6, "label -1 is not in [0, 3)"),
    ]
    a, b = found.counts["a"], found.counts["b"]
    assert (a.examples, a.labelled, a.top1, a.compared) == (3, 2, 1, 0)
    assert (b.examples, b.compared, b.agreeing) == (3, 3, 3)
    assert (b.output.elements, b.output.absolute) == (9, 9 * 256)
    assert b.steps == {1: 9}
    assert b.layers["layer"].differing == 9
    assert (a.layers, a.spreads) == ({}, {})
    later = task.run(Chunk(4, 7))
    assert [number for number, _ in later.failures] == [4, 6]
    assert task.run(Chunk(2, 4)).counts == {}


def test_a_reference_of_another_system() -> None:
    """It is run on each row and has counts of its own; layers aren't compared."""
    seen: list[list[int]] = []

    def run(inputs: Any) -> Any:
        seen.append(inputs[0].ravel().tolist())
        return np.array([[2.0, 0.5, 0.0]], np.float32)

    other: Any = SimpleNamespace(name="other", output=REALS, run=run)
    task = Task(ALL, {"a": shipped(0)}, other, None)
    found = task.run(Chunk(0, 2)).counts
    assert seen == [[5, 1, 2], [1, 4, 2]]
    assert (found["other"].top1, found["a"].top1) == (1, 1)
    assert (found["a"].lost, found["a"].gained, found["a"].agreeing) == (0, 0, 1)
    assert found["a"].output.differing == 5
    assert found["a"].layers == {}


def test_a_metric_has_real_numbers() -> None:
    """Where a scale says which; all outputs, and the classes."""
    seen: list[Any] = []

    def metric(outputs: Any, classes: Any) -> Any:
        seen.append(([one.ravel().tolist() for one in outputs], classes))
        return {"sum": float(outputs[0].sum())}

    task = Task(ALL, {"a": shipped(0)}, None, metric)
    counts = task.run(Chunk(0, 2)).counts["a"]
    assert seen == [
        ([[2.0, 0.0, 0.5], [5]], frozenset([0])),
        ([[0.0, 1.5, 0.5], [1]], frozenset([2])),
    ]
    assert counts.custom == {"sum": 4.5}

    def broken(outputs: Any, classes: Any) -> Any:
        raise OSError("no disk")

    task = Task(ALL, {"a": shipped(0)}, None, broken)
    with pytest.raises(QlowerError) as caught:
        task.run(Chunk(0, 1))
    assert caught.value.message == (
        "the metric gives no finite numbers by name for an example: OSError: no disk"
    )


@pytest.mark.parametrize(
    ("spec", "own", "reference", "absolute", "most"),
    [
        (STEPS, [1, 2, 3], np.array([1, 2, 5], np.int8), 512, 1024),
        (STEPS, [1, 2, 3], np.array([0.0, 0.5, 1.25], np.float32), 128, 640),
        (TensorSpec("y", (1, 3), "int32"), [1, 2, 3], np.array([1, 2, 1]), 512, None),
        (REALS, [1, 2, 3], np.array([1, 2, 2.5], np.float32), 0.5 * 2**28, None),
    ],
)
def test_layers_are_counted(
    spec: Any, own: Any, reference: Any, absolute: float, most: int | None
) -> None:
    """Against stored or real values; how stored ones spread, if they have a scale, and
    what the reference has at most, in ticks."""
    outputs = (TensorSpec("z", (1,), "int8"), spec)
    variant: Any = SimpleNamespace(
        signature=SimpleNamespace(outputs=outputs), layers={"l": 1, "other": 0}
    )
    counts = Counts()
    stored = np.array([own], spec.dtype)
    for _ in range(2):
        count_layers(counts, variant, {"l": stored}, {"l": reference, "m": stored})
    assert list(counts.layers) == ["l"]
    assert (counts.layers["l"].absolute, counts.layers["l"].elements) == (
        *(2 * absolute, 6),
    )
    found = {name: spread.most for name, spread in counts.spreads.items()}
    assert found == ({} if most is None else {"l": most})


@pytest.mark.parametrize(
    ("spec", "step"),
    [
        (STEPS, 0.5),
        (REALS, 2.0**-20),
        (TensorSpec("y", (1,), "int32"), None),
        (TensorSpec("y", (1,), "bool"), None),
    ],
)
def test_the_step_of_an_output(spec: TensorSpec, step: float | None) -> None:
    assert output_step(spec) == step


def test_ticks() -> None:
    """Exact where stored alike, and clipped where they are out of range."""
    other = TensorSpec("x", (1,), "int8", (0.25,), (-2,))
    same = TensorSpec("x", (1,), "uint8", (0.5,), (7,))
    plain = TensorSpec("x", (1,), "int32")
    far = np.array([1e30, -1e30, np.inf, -np.inf], np.float32)
    for own, spec, values, expected in (
        (STEPS, same, np.array([9, 7], np.uint8), [512, 0]),
        (STEPS, other, np.array([0, 1], np.int8), [256, 384]),
        (STEPS, REALS, np.array([0.5, -0.25], np.float32), [256, -128]),
        (plain, plain, np.array([3, -4]), [768, -1024]),
        (plain, TensorSpec("x", (1,), "bool"), np.array([True]), [256]),
        (plain, other, np.array([2], np.int8), [2**28]),
        (REALS, REALS, np.array([2.0**-20, 1]), [256, 2**28]),
        (REALS, STEPS, np.array([3], np.int8), [2**28]),
        (STEPS, REALS, far, [2**40, -(2**40), 2**40, -(2**40)]),
    ):
        assert to_ticks(own, spec, values).tolist() == expected


def test_sums_of_parts() -> None:
    parts = [Partial({"a": Counts(examples=n)}, rows=n) for n in (1, 2, 3)]
    found = add_partials(parts)
    assert (found.rows, found.counts["a"].examples) == (6, 6)
    assert add_partials([]) == Partial()


def test_no_more_failures_are_named_than_twenty() -> None:
    """Those of the least rows, in whatever order they come; all are counted."""
    found, other = Partial(), Partial()
    for number in range(30, 0, -1):
        found.fail(number, "a")
    assert found.failed == 30
    assert [number for number, _ in found.failures] == [*range(1, 21)]
    other.fail(0, "b")
    other.not_finite = 1
    other.add(found)
    assert (other.failed, other.not_finite) == (31, 1)
    assert [number for number, _ in other.failures] == [*range(20)]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("rows",), "7"),
        (("failed",), None),
        (("not_finite",), [1]),
        (("counts", "a", "top1"), True),
        (("counts", "a", "output", "noise"), "1"),
        (("counts", "a", "layers", "l", "power"), None),
        (("counts", "a", "spreads", "l", "least"), "1"),
        (("counts", "a", "spreads", "l", "bins"), ["a"]),
        (("counts", "a", "steps"), [[0, "1"]]),
        (("counts", "a", "confusion"), [[0, 0, None]]),
        (("counts", "a", "nothing"), 1),
    ],
)
def test_counts_in_files_are_numbers(place: tuple[str, ...], value: Any) -> None:
    task = Task(ALL, {"a": shipped(0), "b": shipped(1)}, "b", None)
    text = json.dumps(task.run(Chunk(0, 7)).to_json()).replace('"layer"', '"l"')
    Partial.from_json(json.loads(text))
    data = json.loads(text)
    inner = data
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(TypeError):
        Partial.from_json(data)


# States


def test_a_state_and_what_it_is_of(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    one = Progress({"model": "m", "data": "d"}, path)
    one.load()
    one.take([Chunk(0, 4), Chunk(8, 12)], Partial(rows=8))
    assert not path.exists()  # it is written every few seconds
    one.save()
    again = Progress({"model": "m", "data": "d"}, path)
    again.load()
    assert (again.total, again.done) == (Partial(rows=8), {0, 8})
    for key, differing in (
        ({"model": "n", "data": "d"}, "model"),
        ({"model": "m"}, "data"),
        ({"model": "m", "data": "d", "limit": "3"}, "limit"),
        ({"model": "n", "data": "e"}, "model, data"),
    ):
        with pytest.raises(QlowerError) as caught:
            Progress(key, path).load()
        assert caught.value.message == (
            f"{path} was written by a different run (key differs): {differing}"
        )
        assert caught.value.help == (
            "resume with what it was begun with, or remove the file"
        )
    with pytest.raises(QlowerError, match=f"cannot read {tmp_path}: it is not a file"):
        Progress({}, tmp_path).load()
    unkept = Progress({})
    unkept.load()
    unkept.save()
    assert [*tmp_path.iterdir()] == [path]


def test_a_state_is_written_as_time_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("qlower.validation.state.monotonic", lambda: now[0])
    path = tmp_path / "s.json"
    progress = Progress({}, path, _saved=100.0)
    for moved, is_written in ((5.0, False), (0.1, True), (5.0, False), (0.2, True)):
        path.unlink(missing_ok=True)
        now[0] += moved
        progress.take([Chunk(0, 1)], Partial(rows=1))
        assert path.exists() == is_written


def test_a_state_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.json"
    path.write_text("{}")

    def denied(*_: Any, **__: Any) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(QlowerError) as caught:
        Progress({}, path).load()
    assert caught.value.message == f"cannot read {path}: Permission denied"


# Sessions


def port(name: str, shape: Any, type: str) -> Any:
    return SimpleNamespace(name=name, shape=shape, type=f"tensor({type})")


def test_ports_of_other_systems() -> None:
    detail = {"name": "a", "shape": np.array([1, 2]), "dtype": np.int8}
    quantized = {**detail, "quantization": (0.5, -3)}
    plain = {**detail, "quantization": (0.0, 0)}
    value = SimpleNamespace(shape=("n", 3), dtype="torch.float32")
    node = SimpleNamespace(name="t", meta={"val": value})
    assert REFERENCES["_lite_spec"](quantized) == TensorSpec(
        *("a", (1, 2), "int8", (0.5,), (-3,))
    )
    assert REFERENCES["_lite_spec"](plain) == TensorSpec("a", (1, 2), "int8")
    for given, expected in (
        (port("b", ["batch", 3, None], "float"), ("b", (1, 3, 1), "float32")),
        (port("b", [2], "double"), ("b", (2,), "float64")),
        (port("b", [2], "uint8"), ("b", (2,), "uint8")),
    ):
        assert REFERENCES["_onnx_spec"](given) == TensorSpec(*expected)
    assert REFERENCES["_torch_spec"](node) == TensorSpec("t", (1, 3), "float32")
    read = TensorSpec("other", (1,), "int8", (0.5,), (3,))
    scaled = REFERENCES["_with_scale"](TensorSpec("p", (2,), "int8"), read)
    assert scaled == TensorSpec("p", (2,), "int8", (0.5,), (3,))
    kept = REFERENCES["_with_scale"](TensorSpec("p", (2,), "float32"), read)
    assert kept == TensorSpec("p", (2,), "float32")


class Session:
    """A session that gives the sum of its inputs."""

    made = 0

    def __init__(self, path: Path) -> None:
        Session.made += 1
        self.inputs = [TensorSpec("a", (1, 2), "uint8"), TensorSpec("b", (2,), "f4")]
        self.output = TensorSpec("c", (1, 2), "float32")
        self.read: Any = None

    def read_as(self, signature: Any) -> None:
        self.read = signature
        self.inputs[0] = TensorSpec("a", (1, 2), "uint8", (1.0,), (0,))

    def run(self, inputs: Any) -> Any:
        return inputs[0] + inputs[1]


@pytest.mark.parametrize("found", ["one", "several"])
def test_the_first_result_of_a_program(found: str) -> None:
    first, second = (SimpleNamespace(numpy=lambda x=x: [x]) for x in (1, 2))
    session: Any = object.__new__(REFERENCES["_Torch"])
    vars(session).update(
        _torch=SimpleNamespace(no_grad=nullcontext, from_numpy=np.asarray),
        _module=lambda x: first if found == "one" else (first, second),
    )
    assert session.run([np.zeros(1)]).tolist() == [1]


RELU = """\
!x = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2x!x> {
  %y = qnn.relu %x : (tensor<1x2x!x>) -> tensor<1x2x!x>
  return %y : tensor<1x2x!x>
}"""


def test_runs_of_other_references_differ(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Alone(Session):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            del self.inputs[1:]

    monkeypatch.setitem(REFERENCES["_SESSIONS"], ".pt2", ("torch", Alone))
    model = qlower.Model(parse_module(RELU, "relu.mlir"))
    path, rows = tmp_path / "m.pt2", np.zeros((3, 2), np.int8)

    def key(content: bytes) -> object:
        path.write_bytes(content)
        return prepare(model, rows, contracts=("tflite",), against=str(path)).key()

    assert key(b"a") == key(b"a") != key(b"b")


def test_a_reference_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """One session a thread, with as many inputs, and the meaning of integers."""
    monkeypatch.setitem(REFERENCES["_SESSIONS"], ".onnx", ("onnxruntime", Session))
    own = (TensorSpec("x", (1, 2), "uint8", (2.0,), (0,)), TensorSpec("y", (2,), "f4"))
    reference = LiveReference(Path("d/m.onnx"), own)
    Session.made = 0
    assert reference.name == "m.onnx (onnxruntime)"
    assert reference.is_of_unknown_integers
    inputs = [np.array([[3, 4]], np.uint8), np.array([0.5, 1], np.float32)]
    assert reference.run(inputs).tolist() == [[3.5, 5]]
    signature: Any = SimpleNamespace()
    known = LiveReference(Path("d/m.onnx"), own, signature)
    assert not known.is_of_unknown_integers
    assert known.output.name == "c"
    assert known.run(inputs).tolist() == [[6.5, 9]]
    assert Session.made == 2
    assert set(known.__getstate__()) == {"path", "inputs", "signature"}
    lone = LiveReference(Path("d/m.onnx"), own[:1])
    with pytest.raises(QlowerError) as caught:
        lone.run(inputs[:1])
    assert caught.value.message == "d/m.onnx takes 2 inputs, the model takes 1"


@pytest.mark.parametrize(
    ("dtype", "scales", "unknown"),
    [
        *((name, (), True) for name in ("int8", "uint8", "int16", "uint16")),
        *((name, (), False) for name in ("int32", "int64", "bool", "float32")),
        ("int8", (0.5,), False),
    ],
)
def test_integers_that_need_a_meaning(
    dtype: str, scales: Any, unknown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = (0,) if scales else ()

    def made(name: str) -> Any:
        spec = TensorSpec("a", (1,), dtype, scales, points)
        plain = TensorSpec("b", (1,), "float32")
        ends = {"input": ([spec], plain), "output": ([plain], spec)}
        inputs, output = ends[name]
        return lambda path: SimpleNamespace(inputs=inputs, output=output)

    for name in ("input", "output"):
        session = ("litert", made(name))
        monkeypatch.setitem(REFERENCES["_SESSIONS"], ".tflite", session)
        reference = LiveReference(Path("a.tflite"), (STEPS,))
        assert reference.is_of_unknown_integers == unknown


def test_a_system_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setitem(REFERENCES, "import_module", missing)
    with pytest.raises(QlowerError) as caught:
        REFERENCES["_import"]("ai_edge_litert.interpreter", "litert")
    assert caught.value.message == "ai_edge_litert is not installed"
    assert caught.value.help == install_line("litert")


@pytest.mark.parametrize("is_stream", [False, True])
def test_litert_is_asked_for_reference_kernels(
    is_stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that keeps state starts anew with each row."""
    made: list[Any] = []

    class Interpreter:
        def __init__(self, **given: Any) -> None:
            if given["model_path"].endswith("bad.tflite"):
                raise ValueError("no model")
            made.append(given)
            self.tensors: dict[int, Any] = {}

        def allocate_tensors(self) -> None:
            self.is_ready = True

        def get_input_details(self) -> Any:
            shape = np.array([1])
            one = {"name": "a", "shape": shape, "dtype": np.int8, "index": 4}
            return [{**one, "quantization": (0.5, 1)}]

        def get_output_details(self) -> Any:
            first = {**self.get_input_details()[0], "index": 7}
            return [first, {**first, "index": 8}]

        def set_tensor(self, index: int, array: Any) -> None:
            self.tensors[index] = array

        def invoke(self) -> None:
            assert self.is_ready
            self.tensors[7] = self.tensors[4] + 1

        def get_tensor(self, index: int) -> Any:
            return self.tensors[index]

    module = SimpleNamespace(
        Interpreter=Interpreter, OpResolverType=SimpleNamespace(BUILTIN_REF="ref")
    )
    monkeypatch.setitem(REFERENCES, "_import", lambda name, extra: module)
    monkeypatch.setitem(REFERENCES, "read_model", lambda data, name: (data, name))
    monkeypatch.setitem(REFERENCES, "keeps_state", lambda model: is_stream)
    for name in ("m.tflite", "bad.tflite"):
        (tmp_path / name).write_bytes(b"")
    session = REFERENCES["_LiteRt"](tmp_path / "m.tflite")
    path = str(tmp_path / "m.tflite")
    assert made == [{"model_path": path, "experimental_op_resolver_type": "ref"}]
    assert (session.output.name, session.output.scales) == ("a", (0.5,))
    for value in (3, 5):
        assert session.run([np.array([value])]).tolist() == [value + 1]
    assert len(made) == (3 if is_stream else 1)
    with pytest.raises(QlowerError) as caught:
        REFERENCES["_LiteRt"](tmp_path / "bad.tflite")
    assert caught.value.message == (
        f"LiteRT can't run {tmp_path / 'bad.tflite'}: no model"
    )


# Threads


class Doubling:
    """Work that says how many rows a chunk has."""

    prepared = 0

    def prepare(self) -> None:
        self.prepared += 1

    def run(self, chunk: Chunk) -> Partial:
        return Partial(rows=chunk.stop - chunk.start)


CHUNKS = [Chunk(3 * n, 3 * n + 3 - n % 2) for n in range(9)]


@pytest.mark.parametrize("jobs", [1, 2, None])
def test_threads_do_all_chunks(jobs: int | None) -> None:
    work = Doubling()
    found = list(on_threads(work, CHUNKS, jobs))
    assert work.prepared == 1
    assert sorted(chunk.start for (chunk,), _ in found) == [c.start for c in CHUNKS]
    assert all(part.rows == c.stop - c.start for (c,), part in found)


def test_threads_are_as_many_as_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that this process may use; two chunks wait for each."""
    seen: list[tuple[int, int]] = []

    def on(work: Any, chunks: Any, executor: Any, window: int) -> Iterator[Any]:
        seen.append((executor._max_workers, window))
        yield from ()

    monkeypatch.setattr(schedule, "on_executor", on)
    monkeypatch.setattr(schedule.os, "sched_getaffinity", {0: {1, 5, 6}}.__getitem__)
    for jobs in (None, 2):
        assert list(on_threads(Doubling(), CHUNKS, jobs)) == []
    assert seen == [(3, 6), (2, 4)]


class Slow:
    """An executor whose work is done when somebody waits for it."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        self.most = 0

    def submit(self, function: Any, *given: Any) -> Any:
        future: Future[Any] = Future()
        self.waiting.append((future, function, given))
        self.most = max(self.most, len(self.waiting))
        return future


@pytest.mark.parametrize(("window", "most"), [(1, 1), (4, 4), (64, 9)])
def test_no_more_chunks_wait_than_the_window(
    window: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = Slow()

    def one(running: Any, return_when: str) -> Any:
        assert return_when == "FIRST_COMPLETED"
        future, function, given = executor.waiting.pop(0)
        future.set_result(function(*given))
        return {future}, set()

    monkeypatch.setattr("qlower.validation.schedule.wait", one)
    given: Any = executor
    found = [chunk for (chunk,), _ in on_executor(Doubling(), CHUNKS, given, window)]
    assert (found, executor.most) == (CHUNKS, most)


def test_chunks_that_wait_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Slow()

    def fail(running: Any, return_when: str) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("qlower.validation.schedule.wait", fail)
    given: Any = executor
    with pytest.raises(KeyboardInterrupt):
        next(on_executor(Doubling(), CHUNKS, given, 3))
    assert [future.cancelled() for future, *_ in executor.waiting] == [True] * 3


# What is refused before anything runs


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("small")
    (folder / "model.mlir").write_text(SMALL_MODEL)
    np.save(folder / "x.npy", np.zeros((3, 2, 2, 1), np.int8))
    np.save(folder / "r.npy", np.zeros((3, 2, 2, 1), np.float32))
    (folder / "a.pt2").write_bytes(b"")
    return qlower.load(folder / "model.mlir")


@pytest.fixture
def folder(small: Model, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert small.path is not None
    monkeypatch.chdir(small.path.parent)
    return small.path


NOBODY = "there is nothing called 'nobody' to hold outputs against"


@pytest.mark.parametrize(
    ("given", "told", "help"),
    [
        ({"contracts": ["exact"] * 2}, "a contract is given twice: exact, exact", None),
        (
            {"contracts": ["exact"], "against": "exact"},
            "exact is held against itself: nothing would be compared",
            "--contract A,B takes others",
        ),
        ({"against": "nobody"}, NOBODY, "a contract, litert, onnxruntime, or a .tf"),
        (
            {"against": "litert"},
            "litert runs .tflite files, the model is /",
            None,
        ),
        (
            {"against": "onnxruntime"},
            "onnxruntime runs .onnx files, the model is ",
            None,
        ),
        (
            {"against": "none.onnx"},
            "cannot read none.onnx: there is no such file",
            None,
        ),
        (
            {"with_layers": True},
            "layers are held against those of another contract",
            "--against takes the name of one; the command `qlower validate --layers`",
        ),
        ({"limit": 0}, "a limit of 0 rows: at least 1", None),
        ({"limit": -1}, "a limit of -1 rows: at least 1", None),
    ],
)
@pytest.mark.usefixtures("folder")
def test_refusals(
    given: dict[str, Any], told: str, help: str | None, small: Model
) -> None:
    with pytest.raises(QlowerError) as caught:
        prepare(small, "x.npy", **given)
    assert caught.value.message.startswith(told)
    assert (caught.value.help or "").startswith(help or "")
    assert bool(caught.value.help) == bool(help)


@pytest.mark.parametrize(("count", "fits"), [(7, False), (8, True), (9, False)])
@pytest.mark.usefixtures("folder")
def test_a_reference_gives_as_many_numbers(
    count: int, fits: bool, small: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    elements = int(np.prod(small.outputs[0].shape))
    shape = (1, elements + count - 8)

    def session(path: Path) -> Any:
        spec = TensorSpec("a", (1, 2, 2, 1), "float32")
        return SimpleNamespace(inputs=[spec], output=TensorSpec("o", shape, "float32"))

    monkeypatch.setitem(REFERENCES["_SESSIONS"], ".pt2", ("torch", session))
    if fits:
        job = prepare(small, "x.npy", against="a.pt2", limit=1)
        assert isinstance(job.against, LiveReference)
        assert job.against.name == "a.pt2 (torch)"
        assert job.limit == 1
        return
    with pytest.raises(QlowerError) as caught:
        prepare(small, "x.npy", against="a.pt2")
    assert caught.value.message == (
        f"a.pt2 (torch) gives {shape[1]} numbers, the model gives {elements}"
    )


@pytest.mark.usefixtures("folder")
def test_what_decides_the_figures(
    small: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each setting has its part in the key, and changes that one alone."""
    monkeypatch.setattr("qlower.validation.key.own_code", lambda: b"code")

    def key(data: str = "x.npy", **given: Any) -> Any:
        return prepare(small, data, contracts=["exact"], **given).key()

    def metric(outputs: Any, classes: Any) -> Any:
        return {}

    plain = key()
    assert plain["whether layers are compared"] == "False"
    assert plain["the limit of rows"] == "None"
    assert plain["whether the reference is counted"] == "True"
    assert plain == key()
    changes: dict[str, set[str]] = {}
    for name, given in {
        "limit": {"limit": 2},
        "against": {"against": "tvm"},
        "layers": {"against": "tvm", "with_layers": True},
        "mean": {"preprocessing": Preprocessing(mean=(1.0,))},
        "metric": {"metric": metric},
        "contract": {"layer_contracts": {"linear": "tvm"}},
    }.items():
        data = "r.npy" if name == "mean" else "x.npy"
        before, other = key(data), key(data, **given)
        changes[name] = {k for k in other if other[k] != before.get(k)}
    held = "what outputs are held against"
    assert changes == {
        "limit": {"the limit of rows"},
        "against": {held, "contract tvm"},
        "layers": {held, "contract tvm", "whether layers are compared"},
        "mean": {"preprocessing"},
        "metric": {"the metric's code"},
        "contract": {"which layers have which contract", "contract tvm"},
    }
