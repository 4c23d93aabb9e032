"""`qlower bench`: what is measured, what is said to be absent, and all the peers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.layers.random_layers import LAYERS

import qlower
from qlower.bench.comparison import Comparison, Machine, PeerDifference, Report
from qlower.bench.measure import Spread, Timings, interleave
from qlower.bench.peak import emit_tiles
from qlower.bench.peers import PEERS, Unavailable, prepare_peer
from qlower.bench.report import as_markdown, as_text, comparison_table
from qlower.bench.roof import measured_roof
from qlower.cli import main
from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I32, POINTER, constant
from qlower.codegen.program.compiled import Kernel
from qlower.codegen.program.machine_code import assembly_text
from qlower.codegen.targets.resolve import host_target, resolve_target
from qlower.model.random_inputs import random_input
from qlower.runtime.reasons import reason
from qlower.runtime.roof import Roof

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def layer() -> Path:
    path = Path("layer.tflite")
    path.write_bytes(LAYERS["conv2d"](0, "int8"))
    return path


def test_alone_with_layers(model: str, capsys: Capture):
    command = ["bench", model, "--rounds", "2", "--threads", "1,2", "--layers"]
    assert main([*command, "--json", "out.json", "--against", "litert"]) == 0
    out = capsys.readouterr().out
    absent = "Without litert for parent: no model file for this peer (model.tflite)"
    absent = absent.replace("parent", Path.cwd().name)
    assert absent in out
    assert "are the measured peak of one in dot products" in out
    assert "Limits together: " in out
    data = json.loads(Path("out.json").read_text())
    assert [c["threads"] for c in data["comparisons"]] == [1, 2]
    assert all(c["times"]["qlower"]["median"] > 0 for c in data["comparisons"])
    ((layers),) = data["layers"].values()
    assert [time["products"] for time in layers] == [8, 24]
    assert [(time["results"], time["channels"]) for time in layers] == [(8, 2), (3, 3)]
    assert data["machine"]["roof"]["peak"] > 0


def test_beside_litert(layer: Path, capsys: Capture):
    pytest.importorskip("ai_edge_litert")
    command = ["bench", str(layer), "--rounds", "3", "--against", "litert,torch"]
    assert main([*command, "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if line.startswith("| model"))
    titles = ["model", "threads", "qlower us", "litert us", "x", "differ"]
    titles.append("by tflite-xnnpack")
    assert [title.strip() for title in head.split("|")[1:-1]] == titles
    (row,) = (line for line in lines if line.startswith("| layer |       1 | "))
    assert row.endswith(" of 560 |          0 of 560 |")
    assert "- Without torch for layer: no model file for this peer (layer.pt2)" in lines


@pytest.mark.parametrize(
    "target", ["thumbv7em-none-eabi", "riscv32im-unknown-none-elf"]
)
def test_instructions_under_emulation(layer: Path, target: str, capsys: Capture):
    """Those of each kernel, with the routines that it calls, and the memory."""
    command = ["bench", str(layer), "--emulate", "--target", target, "--json"]
    assert main([*command, "out.json"]) == 0
    printed = capsys.readouterr().out
    (found,) = json.loads(Path("out.json").read_text())["models"]
    convolution = next(k for k in found["kernels"] if k["family"] == "contraction")
    assert convolution["instructions"] > convolution["products"] > 0
    assert f"{convolution['instructions']:,}" in printed
    assert found["memory"]["code"] > 0
    assert "stack" in printed


@pytest.mark.parametrize("name", sorted(PEERS))
def test_a_peer_that_is_not_installed(
    name: str, layer: Path, monkeypatch: pytest.MonkeyPatch
):
    for module in (
        *("ai_edge_litert.interpreter", "onnxruntime", "openvino", "torch"),
        *("ncnn", "_mnncengine"),
    ):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(Unavailable, match=r"not installed \(pip install "):
        prepare_peer(name, layer, layer, [], 1)


X = np.array([[-1, 0, 2]], np.float32)


def test_onnxruntime():
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    ports = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 3])
        for name in "xy"
    ]
    graph = onnx.helper.make_graph([node], "graph", ports[:1], ports[1:])
    opsets = [onnx.helper.make_opsetid("", 18)]
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), "m.onnx"
    )
    prepare_peer("onnxruntime", Path("m.tflite"), None, [], 1).call()
    prepared = prepare_peer("onnxruntime", Path("m.onnx"), None, [X], 1)
    assert prepared.outputs is not None
    (output,) = prepared.outputs()
    np.testing.assert_array_equal(output, np.maximum(X, 0))


@pytest.mark.long
def test_torch():
    torch = pytest.importorskip("torch")
    program = torch.export.export(torch.nn.ReLU(), (torch.zeros(3),))
    torch.export.save(program, "m.pt2")
    prepare_peer("torch", Path("m.tflite"), None, [], 1).call()


def test_openvino(layer: Path):
    pytest.importorskip("openvino")
    random = np.random.default_rng(0)
    inputs = [random_input(spec, random) for spec in qlower.load(layer).inputs]
    prepared = prepare_peer("openvino", layer, None, inputs, 1)
    assert prepared.outputs is not None
    assert [array.shape for array in prepared.outputs()] == [(1, 8, 7, 10)]


def test_what_a_peer_computes_otherwise():
    spread = Spread(1.0, 1.0, 1.0)
    comparison = Comparison(
        "a",
        1,
        {name: spread for name in ("qlower", "litert", "torch")},
        {name: spread for name in ("litert", "torch")},
        {},
        {"litert": PeerDifference(1000, 3, "tflite-xnnpack", 0)},
    )
    report = Report(Machine("cpu", 2, 0.5, None, {"qlower": "1"}), [comparison])
    assert "  3 of 1,000         0 of 1,000  " in as_text(report)
    (row,) = comparison_table(report).records()
    assert row["litert_differing"] == 3
    assert row["litert_outputs"] == 1000
    assert row["litert_differing_by_contract"] == 0
    assert row["torch_differing"] is None


def test_a_file_that_a_peer_cannot_read():
    pytest.importorskip("ai_edge_litert")
    Path("bad.tflite").write_bytes(b"nothing")
    with pytest.raises(Unavailable, match=r"can't run bad\.tflite"):
        prepare_peer("litert", Path("bad.tflite"), None, [], 1)


def test_contestants_take_turns():
    order: list[str] = []

    def call(name: str) -> None:
        if not order or order[-1] != name:
            order.append(name)

    timings = interleave({n: lambda n=n: call(n) for n in "abc"}, 3)
    assert "".join(order) == "abc" + "abc" + "bca" + "cab"
    assert all(timings.time(name).median > 0 for name in "abc")


def test_ratios_are_those_of_rounds():
    timings = Timings(
        {"a": np.array([1.0, 2.0, 10.0]), "b": np.array([2.0, 6.0, 10.0])}
    )
    assert timings.ratio("b", "a") == Spread(2.0, 1.5, 2.5)
    assert timings.time("a") == Spread(2.0, 1.5, 6.0)


def test_means_of_several_models():
    comparisons = [
        Comparison(name, 1, times, {"litert": Spread(ratio, ratio, ratio)}, {})
        for name, ratio in (("a", 1.0), ("b", 4.0))
        for times in [{n: Spread(1.0, 1.0, 1.0) for n in ("qlower", "litert")}]
    ]
    report = Report(Machine("cpu", 2, 0.5, None, {"qlower": "1"}), comparisons)
    mean = "litert, 1 thread: 2.00 x, the geometric mean over 2 models (1.00 to 4.00)"
    assert mean in as_text(report)
    assert f"- {mean}" in as_markdown(report)


def test_what_the_machine_can_do():
    roof = measured_roof(host_target())
    assert 0.1 < roof.word_peak < roof.peak * 1.5 < 100_000
    assert all(0.1 < speed < 10_000 for speed in roof.bandwidths.values())


def test_the_peak_of_tile_registers_is_code():
    target = resolve_target("x86_64-linux-gnu", "sapphirerapids")
    assert target.tiles is not None
    module = Module(target.triple, target.function_attributes)
    f = Function(module, "f", [POINTER] * 3, [""] * 3, result=I32, internal=False)
    emit_tiles(f, target.tiles)
    f.finish(constant(I32, 0))
    text = assembly_text(str(module), target)
    assert text.count("tdpbusd") == 4
    assert "tilerelease" in text


@pytest.mark.parametrize(
    ("products", "size", "limit"),
    [
        (4000, 10, (400.0, "products")),
        (10, 400, (40.0, "bytes")),
        (1, 9000, (9000.0, "bytes")),
    ],
)
def test_the_limit_of_a_kernel(products: int, size: int, limit: tuple[float, str]):
    roof = Roof(10.0, {100: 20.0, 1000: 10.0, 2000: 1.0}, lanes=8, word_peak=5.0)
    kernel = Kernel("f", "l", ("l",), "loops", products, size, 1, 0, 1, 1, False)
    assert roof.limit(kernel) == limit
    words = replace(kernel, products=products // 2, takes_words=True)
    assert roof.limit(words) == limit


REASONS: dict[str, Callable[[Kernel], Kernel]] = {
    "a copy": lambda kernel: replace(kernel, family="copy"),
    "short": lambda kernel: replace(kernel, products=64 * 16, results=16, bytes=10),
    "depthwise: ": lambda kernel: replace(kernel, family="depthwise"),
    "depthwise, stride 2": lambda k: replace(k, family="depthwise", step=2),
    "used once": lambda kernel: replace(kernel, channels=kernel.results),
    "for 3 rows": lambda kernel: replace(kernel, channels=kernel.results // 3),
    "tail: 12 channels in vectors of 8": lambda k: replace(k, channels=12),
    "9 operations after a sum of 64": lambda kernel: replace(kernel, operations=9),
    "stride 2: reads": lambda kernel: replace(kernel, step=2),
    "bytes: ": lambda kernel: replace(kernel, bytes=1 << 20),
    "no rule": lambda kernel: kernel,
    "5 operations on each number": lambda k: replace(k, family="map", operations=5),
}


@pytest.mark.parametrize("words", REASONS)
def test_why_a_kernel_is_far_from_its_limit(words: str):
    """By rules over what the kernel is: one of 64 products a sum that has no reason."""
    roof = Roof(10.0, {1000: 100.0, 2000: 10.0}, lanes=8, word_peak=10.0)
    products, results = 64 * 48 * 10, 48 * 10
    plain = Kernel(
        "f",
        "l",
        ("l",),
        "contraction",
        products,
        900,
        results,
        7,
        channels=16,
        step=1,
        takes_words=False,
    )
    assert words in reason(REASONS[words](plain), roof)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--against", "tvm"], "there is no peer 'tvm', known are litert"),
        (["--against", "litert=none.tflite"], "there is no file none.tflite"),
        (["--threads", "1,x"], "--threads 1,x is no list of positive numbers"),
        (["--threads", "0"], "no list of positive numbers"),
        (["--rounds", "0"], "--rounds must be positive, not 0"),
        (["--target", "riscv64-linux-gnu"], "--emulate counts its instructions"),
        (["--emulate"], "--emulate needs a --target of another processor"),
        (["--emulate", "--layers"], "--emulate cannot be combined with"),
        (["--cmsis-nn", "."], "--cmsis-nn is for --emulate"),
        (["--emulate", "--target", "wasm32-unknown-unknown"], "there is no emulator"),
    ],
)
def test_wrong_options(model: str, capsys: Capture, options: list[str], message: str):
    assert main(["bench", model, *options]) == 1
    assert message in capsys.readouterr().err


def test_a_call_takes_what_the_clock_says(monkeypatch: pytest.MonkeyPatch):
    """By a clock that the calls move on."""
    clock = [0.0]

    def call(seconds: float) -> Callable[[], None]:
        def moved() -> None:
            clock[0] += seconds

        return moved

    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    timings = interleave({"a": call(2**-12), "b": call(2**-10)}, rounds=3)
    assert timings.time("a").median == 1e6 * 2**-12
    assert timings.ratio("b", "a").median == 4
