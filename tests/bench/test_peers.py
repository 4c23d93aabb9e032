"""What other runtimes are given and asked for when they are timed, with stand-ins for
them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.bench import peers
from qlower.bench.peers import PEERS, Prepared, Unavailable, peer_version, prepare_peer
from qlower.model.signature import Array


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **given: Any) -> None:
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(**given))


def prepared(name: str, model: str, inputs: Sequence[Array], threads: int) -> Prepared:
    module = import_module(f"qlower.bench.peers.{name}")
    return module.prepare(Path(model), inputs, threads)


CODES = np.arange(6, dtype=np.int8).reshape(1, 2, 3)
REALS = np.arange(6, dtype=np.float32).reshape(1, 2, 3)


def test_litert_has_its_inputs_before_it_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: list[Any] = []
    interpreter = SimpleNamespace(
        allocate_tensors=lambda: log.append("allocate"),
        get_input_details=lambda: [{"index": 4}, {"index": 2}],
        get_output_details=lambda: [{"index": 7}, {"index": 5}],
        set_tensor=lambda index, value: log.append((index, value.sum())),
        get_tensor=lambda index: log.append(index) or index,
        invoke=lambda: log.append("invoke"),
    )
    stand_in(
        *(monkeypatch, "ai_edge_litert.interpreter"),
        Interpreter=lambda **given: log.append(given) or interpreter,
    )
    found = prepared("litert", "m.tflite", [CODES, REALS + 1], 3)
    assert log == [
        *({"model_path": "m.tflite", "num_threads": 3}, "allocate"),
        *((4, 15), (2, 21.0)),
    ]
    log.clear()
    found.call()
    assert found.outputs is not None
    assert (found.outputs(), log) == ([7, 5], ["invoke", "invoke", 7, 5])


@pytest.mark.parametrize(
    ("shapes", "is_ours"),
    [
        ([(1, 2, 3), (1, 2, 3)], True),
        ([("n", 2, 3), (1, "h", 3)], True),
        ([(1, 2, 3)], False),
        ([(1, 2, 3), (1, 3, 2)], False),
        ([(1, 2, 3), (1, 2, 3), (1,)], False),
    ],
)
def test_onnx_runtime_is_bound_to_its_inputs(
    shapes: Sequence[Sequence[Any]], is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which are drawn where the file takes others."""
    bound: dict[str, Array] = {}
    log: list[Any] = []
    binding = SimpleNamespace(
        bind_cpu_input=bound.__setitem__,
        bind_output=lambda name: log.append(name),
        copy_outputs_to_cpu=lambda: ["outputs"],
    )
    types = ["tensor(int8)", "tensor(float)", "tensor(float)"]
    ports = [
        SimpleNamespace(name=f"x{n}", shape=list(shape), type=types[n])
        for n, shape in enumerate(shapes)
    ]
    session = SimpleNamespace(
        io_binding=lambda: binding,
        get_inputs=lambda: ports,
        get_outputs=lambda: [SimpleNamespace(name="y"), SimpleNamespace(name="z")],
        run_with_iobinding=lambda one: log.append(one is binding),
    )
    options = SimpleNamespace()
    stand_in(
        *(monkeypatch, "onnxruntime"),
        SessionOptions=lambda: options,
        InferenceSession=lambda path, given, providers: (
            log.append((path, given is options, providers)) or session
        ),
    )
    found = prepared("onnxruntime", "m.onnx", [CODES, REALS], 3)
    assert vars(options) == {"intra_op_num_threads": 3, "inter_op_num_threads": 1}
    assert log == [("m.onnx", True, ["CPUExecutionProvider"]), "y", "z"]
    assert [*bound] == [port.name for port in ports]
    if is_ours:
        assert bound["x0"] is CODES
        assert bound["x1"] is REALS
    else:
        for port in ports:
            shape = [size if isinstance(size, int) else 1 for size in port.shape]
            kind = {"tensor(float)": "float32", "tensor(int8)": "int8"}[port.type]
            expected = np.random.default_rng(0).normal(size=shape).astype(kind)
            np.testing.assert_array_equal(bound[port.name], expected, strict=True)
    found.call()
    assert log[3:] == [True]
    assert (found.outputs is not None) == is_ours
    if found.outputs is not None:
        assert found.outputs() == ["outputs"]
        assert log[3:] == [True, True]


@pytest.mark.parametrize("suffix", [".tflite", ".onnx"])
def test_openvino_takes_shapes_of_a_file_like_ours(
    suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[Any] = []

    def port(*shape: object) -> Any:
        kind = SimpleNamespace(to_dtype=lambda: np.dtype(np.float32))
        return SimpleNamespace(partial_shape=shape, get_element_type=lambda: kind)

    result = np.array([5])
    model = SimpleNamespace(
        inputs=[port("?", 2, 3), port(4)],
        reshape=lambda shapes: log.append(shapes),
    )
    tensors: dict[int, Array] = {}
    request = SimpleNamespace(
        infer=lambda: log.append("infer"),
        set_input_tensor=lambda index, tensor: tensors.__setitem__(index, tensor[0]),
        output_tensors=[SimpleNamespace(data=result)],
    )
    compiled = SimpleNamespace(create_infer_request=lambda: request)
    core = SimpleNamespace(
        read_model=lambda path: log.append(path) or model,
        compile_model=lambda *given: (
            log.append((given[0] is model, *given[1:])) or compiled
        ),
    )
    stand_in(monkeypatch, "openvino", Core=lambda: core, Tensor=lambda value: (value,))
    found = prepared("openvino", f"m{suffix}", [CODES, REALS], 3)
    options = {"INFERENCE_NUM_THREADS": 3, "PERFORMANCE_HINT": "LATENCY"}
    shapes = [{0: (1, 2, 3), 1: (1, 2, 3)}] if suffix == ".tflite" else []
    assert log == [f"m{suffix}", *shapes, (True, "CPU", options)]
    if suffix == ".tflite":
        assert tensors[0] is CODES
        assert tensors[1] is REALS
    else:
        random = np.random.default_rng(0)
        for index, shape in enumerate(((1, 2, 3), (4,))):
            expected = random.normal(size=shape).astype(np.float32)
            np.testing.assert_array_equal(tensors[index], expected, strict=True)
    log.clear()
    found.call()
    assert log == ["infer"]
    assert (found.outputs is not None) == (suffix == ".tflite")
    if found.outputs is not None:
        (given,) = found.outputs()
        result[0] = 6  # which is the runtime's own
        assert (given.tolist(), log) == ([5], ["infer"] * 2)


def test_pytorch_runs_the_examples_that_it_was_saved_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: list[Any] = []

    class Inference:
        def __enter__(self) -> None:
            log.append("in")

        def __exit__(self, *_: object) -> None:
            log.append("out")

    def run(*given: Any, **named: Any) -> str:
        log.append((given, named))
        return "result"

    program = SimpleNamespace(
        example_inputs=((1, 2), {"a": 3}), module=lambda: log.append("module") or run
    )
    stand_in(
        *(monkeypatch, "torch"),
        set_num_threads=lambda number: log.append(number),
        inference_mode=Inference,
    )
    stand_in(
        *(monkeypatch, "torch.export"),
        load=lambda path: log.append(path) or program,
    )
    found = prepared("torch", "m.pt2", [CODES], 3)
    assert log == [3, "m.pt2", "module"]
    assert found.outputs is None
    assert [found.call(), found.call()] == ["result"] * 2
    assert log[3:] == ["in", ((1, 2), {"a": 3}), "out"] * 2


class MnnTensor:
    """A tensor of MNN: on the host, or of a session."""

    def __init__(self, *given: Any) -> None:
        self.shape, self.kind, self.values, self.layout = given

    def getShape(self) -> Any:
        return self.shape

    def getData(self) -> Any:
        return self.values.reshape(-1).tolist()

    def copyFrom(self, other: MnnTensor) -> None:
        assert (other.kind, other.layout) == ("float", "caffe")
        self.values = np.array(other.values)

    def copyToHostTensor(self, other: MnnTensor) -> None:
        assert (other.kind, other.layout) == ("float", "caffe")
        other.values = self.values + 1


@pytest.mark.parametrize(
    ("shapes", "inputs", "is_ours"),
    [
        ([(1, 2, 3)], [REALS], True),
        ([(1, 3, 2)], [REALS], False),
        ([(1, 2, 3)], [CODES], False),
        ([(1, 2, 3), (4,)], [REALS], False),
    ],
)
def test_mnn_gets_real_numbers_of_its_shapes(
    shapes: Sequence[tuple[int, ...]],
    inputs: Sequence[Array],
    is_ours: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: list[Any] = []
    entries = {f"x{n}": MnnTensor(s, "", None, "") for n, s in enumerate(shapes)}
    results = {"y": MnnTensor((2, 1), "", np.array([[1], [2]], np.float32), "")}
    net = SimpleNamespace(
        createSession=lambda options: log.append(options) or "session",
        runSession=lambda session: log.append(session),
        getSessionInputAll=lambda session: entries if session == "session" else None,
        getSessionOutputAll=lambda session: results if session == "session" else None,
    )
    stand_in(
        *(monkeypatch, "_mnncengine"),
        Interpreter=lambda path: log.append(path) or net,
        Tensor=MnnTensor,
        Halide_Type_Float="float",
        Tensor_DimensionType_Caffe="caffe",
    )
    found = prepared("mnn", "m.mnn", inputs, 3)
    assert log == ["m.mnn", {"numThread": 3}]
    random = np.random.default_rng(0)
    for entry, shape, number in zip(entries.values(), shapes, range(9), strict=False):
        drawn = random.normal(size=shape).astype(np.float32)
        expected = inputs[number] if is_ours else drawn
        np.testing.assert_array_equal(entry.values, expected, strict=True)
    log.clear()
    found.call()
    assert log == ["session"]
    assert (found.outputs is not None) == is_ours
    if found.outputs is not None:
        (given,) = found.outputs()
        wanted = np.array([[2], [3]], np.float32)
        np.testing.assert_array_equal(given, wanted, strict=True)
        assert log == ["session"] * 2


def test_a_file_that_mnn_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(path: str) -> None:
        raise Exception("no such net")

    stand_in(monkeypatch, "_mnncengine", Interpreter=read)
    with pytest.raises(ValueError, match=r"^no such net$"):
        prepared("mnn", "m.mnn", [REALS], 1)


class Ncnn:
    """ncnn: what its net was given."""

    def __init__(self, names: Sequence[str], param: int = 0, model: int = 0) -> None:
        self.log: list[Any] = []
        self.opt = SimpleNamespace(num_threads=0)
        self.names, self.answers = names, (param, model)

    def load_param(self, path: str) -> int:
        self.log.append((path, self.opt.num_threads))
        return self.answers[0]

    def load_model(self, path: str) -> int:
        self.log.append(path)
        return self.answers[1]

    def input_names(self) -> Sequence[str]:
        return self.names

    def output_names(self) -> Sequence[str]:
        return ["y", "z"]

    def create_extractor(self) -> Any:
        self.log.append("run")
        return SimpleNamespace(
            input=lambda name, matrix: self.log.append((name, matrix[0])),
            extract=lambda name: (0, np.array([len(name), 7])),
        )


def net(monkeypatch: pytest.MonkeyPatch, *words: Any) -> Ncnn:
    made = Ncnn(*words)
    stand_in(monkeypatch, "ncnn", Net=lambda: made, Mat=lambda value: (value,))
    return made


IMAGE = np.arange(24, dtype=np.int8).reshape(1, 2, 3, 4)


def test_ncnn_has_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """For codes real numbers are drawn, channels first."""
    made = net(monkeypatch, ["a", "b"])
    found = prepared("ncnn", "m.param", [REALS, IMAGE], 3)
    assert made.log == [("m.param", 3), "m.bin"]
    assert found.outputs is None
    found.call()
    assert made.log[2] == "run"
    (first, real), (second, drawn) = made.log[3:]
    assert (first, second) == ("a", "b")
    np.testing.assert_array_equal(real, REALS[0], strict=True)
    expected = np.random.default_rng(0).normal(size=(4, 2, 3)).astype(np.float32)
    np.testing.assert_array_equal(drawn, expected, strict=True)
    made = net(monkeypatch, ["a"])
    found = prepared("ncnn", "m.param", [REALS], 1)
    assert found.outputs is not None
    assert [one.tolist() for one in found.outputs()] == [[[1, 7]]] * 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((["a"], 1, 0), "ncnn doesn't read this file and its .bin file"),
        ((["a"], 0, 1), "ncnn doesn't read this file and its .bin file"),
        ((["a", "b"],), "it has 2 inputs, the model 1"),
        (([],), "it has 0 inputs, the model 1"),
    ],
)
def test_what_ncnn_cannot_run(
    words: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net(monkeypatch, *words)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        prepared("ncnn", "m.param", [REALS], 1)
    assert str(caught.value) == reason


def refusal(name: str, model: Path, file: Path | None = None) -> str:
    with pytest.raises(Unavailable) as caught:
        prepare_peer(name, model, file, [], 1)
    return str(caught.value)


def test_a_peer_has_its_own_file_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Next to the model, by its suffix, or one that is given."""
    model = tmp_path / "m.mlir"
    seen: list[Any] = []

    def prepare(*given: Any) -> Prepared:
        seen.append(given)
        return Prepared(lambda: None)

    stand_in(monkeypatch, "qlower.bench.peers.openvino", prepare=prepare)
    here = tmp_path / "m"
    assert refusal("openvino", model) == (
        f"no model file for this peer ({here}.tflite or {here}.onnx)"
    )
    assert refusal("ncnn", model) == f"no model file for this peer ({here}.param)"
    given = tmp_path / "other.bin"
    assert refusal("openvino", model, given) == (
        f"no model file for this peer ({given})"
    )
    (tmp_path / "m.tflite").mkdir()
    (tmp_path / "m.onnx").write_text("")
    given.write_text("")
    prepare_peer("openvino", model, None, [CODES], 2)
    prepare_peer("openvino", model, given, [], 1)
    assert seen == [(tmp_path / "m.onnx", [CODES], 2), (given, [], 1)]


@pytest.mark.parametrize("error", [ValueError, RuntimeError])
def test_the_last_line_says_why_a_peer_cannot(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "m.onnx"
    file.write_text("")

    def prepare(*given: Any) -> None:
        raise error("first\nlast\n")

    stand_in(monkeypatch, "qlower.bench.peers.onnxruntime", prepare=prepare)
    assert refusal("onnxruntime", file) == f"can't run {file}: last"


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_is_not_installed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(peers, "version", lambda package: asked.append(package) or "7")
    assert (peer_version(name), asked) == ("7", [PEERS[name].package])

    def missing(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr(peers, "import_module", missing)
    with pytest.raises(Unavailable) as caught:
        peers.import_peer(name, "module")
    assert str(caught.value) == f"not installed (pip install {PEERS[name].package})"
