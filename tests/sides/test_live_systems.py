"""Systems that run a model's file: what they are given and asked for, with stand-ins
for them; and which of them a word or a file means."""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from support.formats.tflite_builder import TFLiteBuilder
from support.layers.small_model import SMALL_MODEL
from xdsl.dialects.builtin import StringAttr

from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import QDQ
from qlower.frontends.load import named
from qlower.frontends.tflite.reader import read_model
from qlower.model import Model
from qlower.model.signature import Array, TensorSpec
from qlower.sides import live, make_side, real_layers
from qlower.sides.live import LIVE, Live, file_of, has_real_numbers, live_side
from qlower.sides.make_side import UnknownSide, short_titles
from qlower.sides.sides import Computed, Executor, result_specs
from qlower.sides.systems import litert, onnxruntime, pt2
from qlower.text.parsing import parse_module


def model(path: Path | None = None) -> Model:
    made = named(parse_module(SMALL_MODEL), None)
    return replace(made, path=path)


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **given: Any) -> None:
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(**given))


class Ort:
    """ONNX Runtime: sessions and their options."""

    def __init__(self) -> None:
        self.sessions: list[tuple[Any, dict[str, Any], Any]] = []

    def options(self) -> Any:
        entries: dict[str, str] = {}
        return SimpleNamespace(
            entries=entries,
            add_session_config_entry=entries.__setitem__,
            optimized_model_filepath="",
        )

    def session(self, what: Any, options: Any, providers: Any) -> Any:
        given = {k: v for k, v in vars(options).items() if not callable(v)}
        self.sessions.append((what, given, providers))
        return SimpleNamespace(
            get_inputs=lambda: [SimpleNamespace(name=n) for n in ("b", "a")],
            get_outputs=lambda: [SimpleNamespace(name=n) for n in ("y", "t")],
            run=lambda names, feed: [(name, dict(feed)) for name in names],
        )


QDQS = {None: ("extended", {}), "x86": ("extended", {}), "as-written": ("none", {})}
QDQS["integer"] = ("extended", {"session.qdqisint8allowed": "1"})


@pytest.mark.parametrize("qdq", QDQS)
def test_onnx_runtime_shows_its_optimized_graph(
    qdq: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph is optimized as the model was read; then all tensors but those without
    a name are outputs, each once, and nothing is optimized any more."""
    ort = Ort()
    level = SimpleNamespace(ORT_ENABLE_EXTENDED="extended", ORT_DISABLE_ALL="none")
    stand_in(
        *(monkeypatch, "onnxruntime"),
        GraphOptimizationLevel=level,
        SessionOptions=ort.options,
        InferenceSession=ort.session,
    )
    nodes = [SimpleNamespace(output=["t", ""]), SimpleNamespace(output=["y", "u"])]
    graph = SimpleNamespace(node=nodes, output=[SimpleNamespace(name="y")])
    loaded: list[str] = []

    def load(path: str) -> Any:
        loaded.append(path)
        return SimpleNamespace(
            graph=graph,
            SerializeToString=lambda: [one.name for one in graph.output],
        )

    stand_in(
        *(monkeypatch, "onnx"),
        load=load,
        ValueInfoProto=lambda name: SimpleNamespace(name=name),
    )
    file = tmp_path / "m.onnx"
    file.write_text("")
    given = model(tmp_path / "m.mlir")
    if qdq is not None:
        given.module.attributes[QDQ] = StringAttr(qdq)
    run = onnxruntime.prepare(given, "")
    (first, second), (wanted, entries) = ort.sessions, QDQS[qdq]
    assert first[0] == str(file)
    assert first[1].pop("optimized_model_filepath") == loaded[0]
    assert Path(loaded[0]).name == "optimized.onnx"
    assert first[1] == {"entries": entries, "graph_optimization_level": wanted}
    assert second[0] == ["y", "t", "u"]
    assert second[1] == {
        **{"entries": {}, "optimized_model_filepath": ""},
        **{"intra_op_num_threads": 1, "graph_optimization_level": "none"},
    }
    assert first[2] == second[2] == ["CPUExecutionProvider"]
    found: Any = run([1, 2])  # pyright: ignore[reportArgumentType]
    assert found == {name: (name, {"b": 1, "a": 2}) for name in ("y", "t")}


class Interpreter:
    """LiteRT, whose tensors are the numbers that were set."""

    made: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, **given: Any) -> None:
        self.made.append(given)
        self.tensors: dict[int, Array] = {}
        self.calls = ["made"]

    def allocate_tensors(self) -> None:
        self.calls.append("allocated")

    def get_input_details(self) -> list[dict[str, Any]]:
        assert self.calls == ["made", "allocated"]
        return [{"index": 1}, {"index": 0}]

    def set_tensor(self, index: int, array: Array) -> None:
        self.tensors[index] = array

    def invoke(self) -> None:
        self.calls.append("invoked")

    def get_tensor(self, index: int) -> Array:
        assert self.calls[-1] == "invoked"
        return np.array([index, *self.tensors[0], *self.tensors[1]])


@pytest.mark.parametrize("is_stream", [False, True])
def test_litert_shows_what_operators_compute(
    is_stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But no handles; one that keeps something starts anew for each input."""
    (tmp_path / "m.tflite").write_bytes(b"data")
    types = ["INT8", "INT8", "INT8", "RESOURCE", "INT8"]
    file = SimpleNamespace(
        operators=[SimpleNamespace(outputs=[4, 3]), SimpleNamespace(outputs=[2])],
        tensors=[SimpleNamespace(type=t, name=f"t{n}") for n, t in enumerate(types)],
    )
    monkeypatch.setattr(litert, "read_model", lambda data, path: file)
    monkeypatch.setattr(litert, "keeps_state", lambda given: is_stream)
    monkeypatch.setattr(litert, "with_outputs", lambda data, outputs: (data, outputs))
    stand_in(
        *(monkeypatch, "ai_edge_litert.interpreter"),
        Interpreter=Interpreter,
        OpResolverType=SimpleNamespace(BUILTIN_REF="ref"),
    )
    monkeypatch.setattr(Interpreter, "made", [])
    run = litert.prepare(model(tmp_path / "m.tflite"), "BUILTIN_REF")
    one = {
        "model_content": (b"data", [2, 4]),
        **{"experimental_op_resolver_type": "ref", "num_threads": 1},
    }
    for number in (5, 6):
        found = run([np.array([number]), np.array([7])])
        assert {name: array.tolist() for name, array in found.items()} == {
            "t2": [2, 7, number],
            "t4": [4, 7, number],
        }
    assert Interpreter.made == [one] * (3 if is_stream else 1)


@pytest.mark.parametrize("extra", range(4))
def test_other_tensors_become_outputs_of_a_file(extra: int) -> None:
    """Their numbers are appended where a table may point, whatever the file's size."""
    build = TFLiteBuilder()
    x, y, z = (build.tensor(name, (1, 2), "float32") for name in "xyz")
    build.operator("RELU", [x], [y])
    build.operator("RELU", [y], [z])
    data = build.build([x], [z]) + bytes(extra)
    assert list(read_model(data, "m").outputs) == [z]
    for outputs in ([y], [y, z], [z, y, x]):
        changed = litert.with_outputs(data, outputs)
        file = read_model(changed, "m")
        assert list(file.outputs) == outputs
        assert list(file.inputs) == [x]
        assert len(changed) % 4 == 0
        assert changed[: 4 * (len(outputs) + 1) - len(changed)].startswith(data[:4])
        tail = struct.pack(f"<I{len(outputs)}i", len(outputs), *outputs)
        assert changed.endswith(tail)
        assert len(changed) - len(tail) - len(data) in range(4)


def test_pytorch_shows_the_result_of_every_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it is a tensor, and without gradients."""
    log: list[object] = []

    class Gradients:
        def __enter__(self) -> None:
            log.append("off")

        def __exit__(self, *_: object) -> None:
            log.append("on")

    class Tensor(SimpleNamespace):
        def numpy(self) -> Array:
            return np.array(self.value)

    class Nodes:
        def __init__(self, program: Any) -> None:
            log.append(program)

        def run_node(self, node: Any) -> Any:
            return node.result

        def run(self, *given: Any) -> None:
            log.append(given)
            for name, op, result in (
                ("a", "placeholder", Tensor(value=1)),
                ("b", "call_function", Tensor(value=given[0])),
                ("c", "call_function", (Tensor(value=3),)),
                ("d", "call_function", Tensor(value=given[1])),
                ("e", "output", Tensor(value=5)),
            ):
                node = SimpleNamespace(name=name, op=op, result=result)
                assert self.run_node(node) is result

    path = tmp_path / "m.pt2"
    path.write_text("")
    program = SimpleNamespace(module=lambda: "program")
    stand_in(
        *(monkeypatch, "torch"),
        export=SimpleNamespace(load=lambda given: (log.append(given), program)[1]),
        is_tensor=lambda one: isinstance(one, Tensor),
        no_grad=Gradients,
        from_numpy=lambda array: array + 1,
    )
    stand_in(monkeypatch, "torch.fx", Interpreter=Nodes)
    run = pt2.prepare(model(path), "")
    for number in (5, 6):
        found: Any = run([number, 7])  # pyright: ignore[reportArgumentType]
        assert found == {"b": number + 1, "d": 8}
    assert log == [
        *(str(path), "program"),
        *("off", (6, 8), "on", "off", (7, 8), "on"),
    ]


def refusal(call: Any) -> QlowerError:
    with pytest.raises(QlowerError) as caught:
        call()
    return caught.value


def test_the_file_that_a_system_runs(tmp_path: Path) -> None:
    assert refusal(lambda: file_of(model(), ".onnx")).message == (
        "a .onnx file is needed, and the model has no file"
    )
    path = tmp_path / "m.mlir"
    message = f"{tmp_path}/m.tflite is needed, which isn't there"
    assert refusal(lambda: file_of(model(path), ".tflite")).message == message
    for suffix in (".onnx", ".tflite"):
        path.with_suffix(suffix).write_text("")
        assert file_of(model(path), suffix) == path.with_suffix(suffix)
    signed = replace(model(path), signature_name="other")
    assert file_of(signed, ".onnx") == tmp_path / "m.onnx"
    assert "is read by its signature 'other'" in (
        refusal(lambda: file_of(signed, ".tflite")).message
    )


@pytest.mark.parametrize("name", LIVE)
def test_a_system_gets_its_kernels_or_says_what_is_wrong(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, kernels, extra = LIVE[name]
    errors: list[Exception] = []

    def prepare(given: Model, word: str) -> Any:
        if errors:
            raise errors[0]
        return given, word

    stand_in(monkeypatch, f"qlower.sides.systems.{module}", prepare=prepare)
    given = model()
    side = live_side("title", name, given)
    assert (side.title, side.model, side.run) == ("title", given, (given, kernels))
    assert (side.notes, side.is_real, side.rounds) == ([], False, True)
    errors[:] = [ImportError("No module named 'x'")]
    found = refusal(lambda: live_side("title", name, given))
    assert found.message == f"{name} can't be used here: No module named 'x'"
    assert found.help is not None
    assert found.help == import_module("qlower.process.extras").install_line(extra)
    errors[:] = [ValueError("one\ntwo")]
    found = refusal(lambda: live_side("title", name, given))
    assert found.message == f"{name} refuses the file: one"
    errors[:] = [QlowerError("own words")]
    assert refusal(lambda: live_side("title", name, given)) is errors[0]


FILES: dict[str, tuple[bytes, bool]] = {
    "m.onnx": (b"MatMul Add", True),
    "q.onnx": (b"..QuantizeLinear..", False),
    "l.onnx": (b"..QLinearConv..", False),
    "i.onnx": (b"..MatMulInteger..", False),
    "m.pt2": (b"aten.add QuantizeLinear", True),
    "d.pt2": (b"quantized_decomposed.add", False),
    "p.pt2": (b"quantize_per_tensor", False),
    "m.mlir": (b"", False),
    "m.npz": (b"MatMul", False),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_real_numbers(name: str, tmp_path: Path) -> None:
    data, is_real = FILES[name]
    assert not has_real_numbers(tmp_path / name)
    (tmp_path / name).write_bytes(data)
    assert has_real_numbers(tmp_path / name) is is_real
    assert real_layers.is_real_reference(str(tmp_path / name)) is is_real
    (tmp_path / "folder.onnx").mkdir()
    assert not has_real_numbers(tmp_path / "folder.onnx")
    assert not real_layers.is_real_reference(None)


@pytest.mark.parametrize(
    ("types", "is_real"),
    [
        (["FLOAT32", "INT32"], True),
        *((["FLOAT32", one], False) for one in ("INT8", "UINT8", "INT16")),
    ],
)
def test_a_file_of_tflite_has_types(
    types: list[str], is_real: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(b"content")

    def read(data: bytes, name: str) -> Any:
        assert (data, name) == (b"content", str(path))
        return SimpleNamespace(tensors=[SimpleNamespace(type=one) for one in types])

    monkeypatch.setattr(live, "read_model", read)
    assert has_real_numbers(path) is is_real


def layer_names() -> list[str]:
    return list(result_specs(model()))


def test_notes_of_a_system_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where tensors are paired, which is done for the first input."""
    given, seen = model(), list[Any]()
    names = [spec.name for spec in given.inputs]
    x = {name: np.array(number) for number, name in enumerate(names)}

    def match(*words: Any, **named: Any) -> Any:
        seen.append((*words[:2], *words[3:], named))
        return SimpleNamespace(notes=("a", f"b{len(seen)}"), runs=[{"layer": 5}])

    def pair(arrays: Any, one: Model, wanted: Any, own: Any) -> Any:
        seen.append((arrays, one is given, wanted))
        return {"t": "layer"}

    monkeypatch.setattr(live, "match_dump", match)
    monkeypatch.setattr(live, "paired", pair)
    run: Any = lambda arrays: {"t": len(arrays)}  # noqa: E731
    plain = Live("title", given, run)
    assert plain.values(0, x) == {**x, "layer": 5}
    arrays = {"t": len(names)}
    assert seen == [
        ("title", [arrays], 1, {"is_real": False, "rounds": True, "pairs": None})
    ]
    assert plain.notes == ["a", "b1"]
    seen.clear()
    real = Live("t", given, run, ["n"], is_real=True, rounds=False, match={"l": "t"})
    for _ in range(2):
        assert real.values(0, x) == {**x, "layer": 5}
    paired: dict[str, Any] = {"is_real": True, "rounds": False}
    paired["pairs"] = {"t": "layer"}
    assert seen == [
        (arrays, True, {"l": "t"}),
        *[("t", [arrays], 1, paired)] * 2,
    ]
    assert real.notes == ["n", "a", "b2", "b3"]


@pytest.mark.parametrize(
    ("rounds", "how"),
    [
        (True, "are rounded to the nearest stored ones"),
        (False, "are compared as such"),
    ],
)
def test_a_float_model_gets_inputs_as_it_takes_them(
    rounds: bool, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = replace(model(tmp_path / "q.mlir"), signature_name="other")
    path = tmp_path / "f.onnx"
    asked: list[Any] = []

    class Reference:
        def __init__(self, file: Path, inputs: Sequence[TensorSpec]) -> None:
            assert (file, inputs) == (path, given.inputs)

        def converted(self, arrays: Sequence[int]) -> list[int]:
            return [array + 1 for array in arrays]

    def system(title: str, name: str, one: Model) -> Any:
        asked.append((title, name, one.path, one.signature_name))
        return SimpleNamespace(run=lambda arrays: {"t": sum(arrays)})

    monkeypatch.setattr(live, "LiveReference", Reference)
    monkeypatch.setattr(live, "live_side", system)
    match = None if rounds else {"l": "t"}
    side = live.real_side(path, given, match, rounds=rounds)
    assert asked == [(str(path), "onnxruntime", path, None)]
    assert (side.title, side.model, side.is_real) == (str(path), given, True)
    assert (side.rounds, side.match, side.pairs) == (rounds, match or {}, None)
    assert side.notes == [f"f.onnx: real numbers {how}"]
    found: Any = side.run([1, 2])  # pyright: ignore[reportArgumentType]
    assert found == {"t": 5}


def made(
    text: Any, given: Model, contract: str | None = "exact", runs: int = 1, **more: Any
) -> Any:
    return make_side.make_side(text, given, contract, runs, **more)


def test_what_a_word_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A contract, an executor, a processor, a system, or a file."""
    given = model(tmp_path / "m.mlir")
    monkeypatch.setattr(make_side, "live_side", lambda *words: ("live", *words))
    monkeypatch.setattr(make_side, "real_side", lambda *words: ("real", *words))
    monkeypatch.setattr(make_side, "version_of", lambda *words: ("version", *words))
    monkeypatch.setattr(make_side, "as_model", lambda text: f"model {text}")
    monkeypatch.setattr(make_side, "has_real_numbers", lambda path: "real" in path.name)
    executors: list[tuple[int, Executor]] = [(2, "interp"), (3, "jit")]
    for runs, executor in executors:
        assert made("tflite", given, runs=runs) == Computed(
            "tflite", given, "tflite", executor, None
        )
        assert made(given.path, given, runs=runs) == Computed(
            str(given.path), given, "exact", executor
        )
        assert made("interp", given, runs=runs).executor == "interp"
    assert made(given.path, given, title="t").title == "t"
    assert made("tvm:jit", given) == Computed("tvm:jit", given, "tvm", "jit", None)
    assert made("jit", given, None) == Computed("jit", given, None, "jit", None)
    for text, name in (
        ("litert-ref", "litert-ref"),
        ("live:onnxruntime", "onnxruntime"),
        ("live:torch", "torch"),
    ):
        assert made(text, given) == ("live", text, name, given)
    # there is a contract of this name
    assert made("onnxruntime", given).contract == "onnxruntime"
    real = tmp_path / "real.onnx"
    match = {"a": "b"}
    assert made(real, given, match=match) == ("real", real, given, match)
    other = tmp_path / "other.tflite"
    other.write_text("")
    for title in (None, "t"):
        assert made(other, given, title=title) == (
            *("version", title or str(other), given, f"model {other}"),
            *("exact", "interp"),
        )
    side = Computed("own", given, "exact")
    assert made(side, given) is side


def test_dumps_as_sides(tmp_path: Path) -> None:
    given = model()
    (name, *_) = layer_names()
    spec = result_specs(given)[name]
    array = np.zeros(spec.shape, spec.dtype)
    assert made({name: array}, given).title == "dump"
    np.savez(tmp_path / "d.npz", **{name: array})
    for title in (None, "t"):
        side = made(tmp_path / "d.npz", given, title=title)
        assert side.title == (title or str(tmp_path / "d.npz"))
        assert side.notes[0].startswith(f"{tmp_path}/d.npz: 1 by name")


def test_words_that_mean_nothing() -> None:
    given = model()
    for text, close in (
        ("tflit", "did you mean 'tflite'?"),
        ("litert-rf", "did you mean 'litert-ref'?"),
        ("zzzzzz", None),
        ("tflite:zzzzzz", None),
        ("zzzzzz:jit", None),
    ):
        found = refusal(lambda text=text: made(text, given))
        assert isinstance(found, UnknownSide)
        assert found.message == (
            f"{text!r} is neither a contract, an executor, a system nor a file"
        )
        assert found.help is not None
        if close is not None:
            assert found.help == close
        elif "did you mean" not in found.help:
            assert found.help == (
                "contracts: qlower contracts; executors: interp, jit or a CPU such as "
                f"x86-64-v3; systems: {', '.join(LIVE)}"
            )


@pytest.mark.parametrize(
    ("sides", "titles"),
    [
        (("/a/x.npz", "/a/y.npz"), ["x.npz", "y.npz"]),
        (("/a/x.npz", "/b/x.npz"), ["a/x.npz", "b/x.npz"]),
        (("/a/c/x.npz", "/b/c/x.npz"), ["a/c/x.npz", "b/c/x.npz"]),
        (("/a/x", "/a/x"), [None, None]),
        (("/a/x", {}), ["x", None]),
        (({}, "/a/x"), [None, "x"]),
        (("/x", "/y", "/z/y"), ["/x", "/y", "z/y"]),
    ],
)
def test_titles_are_the_shortest_ends_that_differ(
    sides: Sequence[Any], titles: list[str | None]
) -> None:
    assert short_titles(*sides) == titles


def test_layers_of_a_validation_against_a_float_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows that are refused are left out; the notes are said once."""
    path = Path("f.onnx")
    row = real_layers.Row

    def made_row(number: int) -> Any:
        found = object.__new__(row)
        object.__setattr__(found, "inputs", (number,))
        return found

    source = SimpleNamespace(
        chunks=lambda size, limit: (
            [range(2), range(2, 3)] if (size, limit) == (real_layers.CHUNK, 9) else []
        ),
        rows=lambda chunk: ["refused", *map(made_row, chunk)],
    )
    seen: list[Any] = []

    class Exposed:
        """A compilation, which `replace` gives its layers."""

        def __init__(self, name: str) -> None:
            self.name, self.model, self.variant = name, f"model {name}", f"v {name}"

        def function(self) -> Any:
            return SimpleNamespace(
                inputs=[SimpleNamespace(name="x")],
                run=lambda inputs, named: (
                    seen.append(inputs),
                    {"b": inputs[0], "a": 2, "own": 3},
                ),
            )

    def real(given: Path, one: str, match: Any, rounds: bool) -> Any:
        assert (given, match, rounds) == (path, {"b": "t"}, False)
        return SimpleNamespace(
            notes=["same", one],
            values=lambda number, inputs: {"a": number, "b": inputs["x"], "x": 0},
        )

    def count(counts: Any, variant: str, own: Any, other: Any) -> None:
        counts.layers[len(counts.layers)] = (variant, own, other)

    monkeypatch.setattr(real_layers, "real_side", real)
    monkeypatch.setattr(real_layers, "count_layers", count)
    asked: list[bool] = []
    monkeypatch.setattr(
        real_layers,
        "replace",
        lambda one, with_layers: (asked.append(with_layers), one)[1],
    )
    compilations = {name: Exposed(name) for name in "mn"}
    job: Any = SimpleNamespace(compilations=compilations, source=source, limit=9)
    found: Any = SimpleNamespace(
        counts={name: SimpleNamespace(layers={}) for name in "mn"}
    )
    notes = real_layers.count_real_layers(job, path, found, {"b": "t"})
    assert notes == ["same", "model m", "model n"]
    assert asked == [True, True]
    assert seen == [(n,) for n in (0, 1, 2)] * 2
    for name in "mn":
        assert list(found.counts[name].layers.values()) == [
            (f"v {name}", {"b": n, "a": 2}, {"a": n, "b": n, "x": 0}) for n in range(3)
        ]
    monkeypatch.setattr(real_layers, "count_layers", lambda *_: None)
    found.counts["m"].layers.clear()
    error = refusal(lambda: real_layers.count_real_layers(job, path, found, {"b": "t"}))
    assert error.message == "f.onnx has no layer like the model's"
    assert error.help == "--match LAYER=TENSOR"
