"""What isn't supported is refused by name, with the place, the reason and a way out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_builder import MICROSOFT, OnnxBuilder
from support.formats.onnx_cases import CASES, convolution
from support.formats.onnx_models import compare, optimized_graph

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.onnx import FORMAT, ONNX_RUNTIME
from qlower.frontends.onnx.remarks import TRUNCATED_BIASES, ZERO_BIASES
from qlower.model.signature import Array

onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")


def parsed(name: str = "conv") -> Any:
    return onnx.ModelProto.FromString(CASES[name]().build())


def save(model: Any, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def message(path: Path, **options: Any) -> str:
    with pytest.raises(QlowerError) as caught:
        qlower.load(path, **options)
    return str(caught.value)


def group(
    operator: str, type: str = "u1", result: str = "u1", **attributes: Any
) -> OnnxBuilder:
    """Conversions around a convolution, and around one more operator."""
    build = OnnxBuilder()
    build.input("x", (1, 2, 4, 4))
    weights = build.dequantize(
        build.constant(np.ones((2, 2, 1, 1), np.int8)), 0.1, 0, "i1"
    )
    value = build.node("Conv", [build.pair("x", 0.1, 3, type), weights])
    value = build.pair(value, 0.2, 5, type)
    value = build.node(operator, [value], **attributes)
    scale, zero = build.parameters(0.3, 1, result)
    build.node("QuantizeLinear", [value, scale, zero], "y")
    build.output("y", result)
    return build


HALF = np.full((8, 4), 0.5, np.float32)
LARGE: dict[
    str, tuple[tuple[int, ...], list[Array], dict[str, Any], tuple[int, ...]]
] = {
    "Tile": ((1, 3, 4, 5), [np.array([1, 1, 2, 2])], {}, (120, 240)),
    "Expand": ((1, 3, 4, 5), [np.array([2, 3, 4, 5])], {}, (120,)),
    "Pad": ((1, 3, 4, 5), [np.array([0, 0, 1, 1, 0, 0, 1, 1])], {}, (3 * 6 * 7,)),
    "GatherND": ((1, 3, 4, 5), [np.array([[0, 1]])], {}, (20,)),
    "ConvTranspose": ((1, 3, 4, 5), [np.ones((3, 2, 2, 2), "f4")], {}, (60, 336)),
    "MatMul": ((3, 8), [HALF], {}, (12,)),
    "Gemm": ((3, 8), [HALF], {}, (12,)),
    "LSTM": ((3, 2, 4), [HALF[None], HALF[None, :, :2]], {"hidden_size": 2}, (48,)),
    "GRU": (
        *((3, 2, 4), [HALF[None, :6], HALF[None, :6, :2]]),
        *({"hidden_size": 2}, (36,)),
    ),
}
"""Operators on an input of that shape, and how many numbers each of their steps
holds."""


@pytest.mark.parametrize("operator", LARGE)
def test_numbers_that_are_held_are_limited(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, constants, attributes, counts = LARGE[operator]
    build = OnnxBuilder()
    build.input("x", shape, "f4")
    given = [build.constant(one) for one in constants]
    build.node(operator, ["x", *given], "y", **attributes)
    build.output("y", "f4")
    path = build.save(tmp_path / "model.onnx")
    limit = "qlower.frontends.graph.operands.MAX_ELEMENTS"
    for count in counts:
        monkeypatch.setattr(limit, count - 1)
        told = f"number of elements {count} is out of range [1, {count - 1}]"
        assert told in message(path)
    monkeypatch.setattr(limit, counts[-1])
    assert qlower.load(path)


def test_an_operator_that_no_reading_has(tmp_path: Path) -> None:
    path = group("Det").save(tmp_path / "model.onnx")
    assert message(path).splitlines() == [
        f"{path}:6:0: error: node 6 Det 'n6': this operator is not supported;"
        f" {len(ONNX_RUNTIME.importers)} others are (of 'v6')",
        "help: --outputs v4 cuts the model before it",
    ]
    model = qlower.load(path, outputs=["v4"])
    assert [spec.dtype for spec in model.outputs] == ["uint8"]


def test_a_model_that_is_not_quantized(tmp_path: Path) -> None:
    build = OnnxBuilder()
    build.input("x", (2, 3))
    build.node("Det", ["x"], "y")
    build.output("y")
    found = message(build.save(tmp_path / "model.onnx"))
    assert "help: the model isn't quantized: do that first" in found


def test_all_problems_are_found(tmp_path: Path) -> None:
    build = group("Det")
    value = build.node("NonZero", ["v6"])
    build.node("Flatten", [value], "z")
    build.output("z", "i8")
    problems = FORMAT.problems(build.save(tmp_path / "model.onnx"), ImportOptions())
    kinds = [problem.message.split()[2] for problem in problems]
    assert kinds == ["Det", "NonZero"]
    assert not FORMAT.problems(
        CASES["conv"]().save(tmp_path / "x.onnx"), ImportOptions()
    )


def test_types_that_are_not_8_bits(tmp_path: Path) -> None:
    found = message(group("Relu", result="i2").save(tmp_path / "model.onnx"))
    assert "quantized values of type INT16 are not supported" in found
    assert "expected INT8 or UINT8 (of 'y')\nhelp: quantize with 8 bits" in found


def _scale(build: OnnxBuilder, value: float) -> OnnxBuilder:
    build.constants[0].raw_data = np.float32(value).tobytes()
    return build


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: _scale(convolution(), -1.0),
            "node 0 QLinearConv 'n0': scale -1.0 of 'c0' is out of range: finite and"
            " above 0",
        ),
        (
            lambda: convolution(group=2),
            "3 input channels and 4 filters of 3 channels do not divide into 2 groups",
        ),
        (
            lambda: convolution(auto_pad="SOME"),
            "auto_pad 'SOME' is not supported",
        ),
        (
            lambda: convolution(strides=[0, 1]),
            "strides 0 is out of range [1, 65536]",
        ),
        (
            lambda: convolution((1, 2, 3, 3, 3, 3), (2, 2, 1, 1, 1, 1)),
            "weights of rank 6 are not supported; expected 4 (or 3, for a row)",
        ),
    ],
)
def test_values(make: Callable[[], OnnxBuilder], expected: str, tmp_path: Path) -> None:
    assert expected in message(make().save(tmp_path / "model.onnx"))


def test_unknown_operators_and_domains(tmp_path: Path) -> None:
    build = OnnxBuilder()
    build.input("x", (2, 3), "u1")
    build.node("Magic", ["x"], "y", "acme.corp")
    build.output("y", "u1")
    found = message(build.save(tmp_path / "model.onnx"))
    assert "node 0 acme.corp.Magic 'n0': this operator is not supported" in found


def test_a_cycle(tmp_path: Path) -> None:
    build = OnnxBuilder()
    build.input("x", (2, 3), "u1")
    build.node("Concat", ["x", "b"], "a", axis=0)
    build.node("Flatten", ["a"], "b")
    build.node("Flatten", ["b"], "y")
    build.output("y", "u1")
    found = message(build.save(tmp_path / "model.onnx"))
    assert "is used before it is computed" in found


def test_a_value_that_is_computed_twice(tmp_path: Path) -> None:
    model = parsed()
    model.graph.node.append(model.graph.node[0])
    found = message(save(model, tmp_path))
    assert "'y' has a value before node 1 QLinearConv computes it" in found


@pytest.mark.parametrize("version", [9, 99])
def test_opsets(version: int, tmp_path: Path) -> None:
    model = parsed()
    model.opset_import[0].version = version
    found = message(save(model, tmp_path))
    assert f"opset {version} is not supported; expected 10 to 26" in found


def externalize(model: Any, location: str, **entries: str) -> bytes:
    """Take the weights out of the file; gives their bytes."""
    tensor = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    data = tensor.raw_data
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return data


def needs_onnxruntime() -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def test_external_data(tmp_path: Path) -> None:
    needs_onnxruntime()
    model = parsed()
    data = externalize(model, "weights.bin", offset="16", length="108")
    (tmp_path / "weights.bin").write_bytes(bytes(16) + data)
    assert compare(save(model, tmp_path), tmp_path).is_equal
    (tmp_path / "weights.bin").write_bytes(data)
    found = message(tmp_path / "model.onnx")
    assert "'weights.bin': bytes 16 to 124 are out of range [0, 108]" in found
    (tmp_path / "weights.bin").unlink()
    assert "external data (No such file" in message(tmp_path / "model.onnx")


@pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "a/../../w.bin"])
def test_external_data_stays_in_the_folder(location: str, tmp_path: Path) -> None:
    model = parsed()
    (tmp_path / "w.bin").write_bytes(externalize(model, location))
    inner = tmp_path / "inner"
    inner.mkdir()
    found = message(save(model, inner))
    assert f"external data {location!r} lies outside of the model's folder" in found


def test_external_data_follows_no_link_out(tmp_path: Path) -> None:
    model = parsed()
    (tmp_path / "w.bin").write_bytes(externalize(model, "w.bin"))
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "w.bin").symlink_to(tmp_path / "w.bin")
    assert "lies outside of the model's folder" in message(save(model, inner))


def test_shapes(tmp_path: Path) -> None:
    path = CASES["shapes"]().save(tmp_path / "model.onnx")
    assert qlower.load(path).inputs[0].shape == (1, 3, 4, 5)
    model = qlower.load(path, shapes={"x": (7, 3, 4, 5)})
    assert model.outputs[0].shape == (7, 60)
    found = message(path, shapes={"x": (7, 4, 4, 5)})
    assert "input 'x': shape [7, 4, 4, 5] doesn't fit the file's [?, 3, 4, 5]" in found


def test_outputs(tmp_path: Path) -> None:
    path = CASES["layouts"]().save(tmp_path / "model.onnx")
    model = qlower.load(path, outputs=["v1"])
    assert [spec.shape for spec in model.outputs] == [(1, 4, 4, 3)]
    assert "the model computes no tensor 'v9'" in message(path, outputs=["v9"])


def test_files_that_the_runtime_saved(tmp_path: Path) -> None:
    """As they stand: their operators are those of com.microsoft."""
    needs_onnxruntime()
    for name in ("average_pool", "gemm", "clip_between"):
        path = CASES[name]().save(tmp_path / "model.onnx")
        saved = save(optimized_graph(path, tmp_path), tmp_path)
        assert compare(saved, tmp_path).is_equal


def test_remarks(tmp_path: Path) -> None:
    path = group("Sqrt").save(tmp_path / "model.onnx")
    session, real = qlower.load(path).remarks
    assert "in its default session" in session
    assert real == "Sqrt 'n6' runs on float32: there is no such operator on integers"
    path = group("Sqrt", "i1", "i1").save(tmp_path / "model.onnx")
    assert "session.qdqisint8allowed=1" in qlower.load(path).remarks[0]
    session, _ = qlower.load(path, qdq="x86").remarks
    assert session == (
        "ONNX Runtime gives the same bits, with any number of threads, in its default"
        " session on x86-64"
    )
    session, *others = qlower.load(path, qdq="as-written").remarks
    assert not others
    assert "with one thread (options.intra_op_num_threads = 1)" in session
    assert "ORT_DISABLE_ALL" in session


@pytest.mark.parametrize(
    ("producer", "bias", "remark"),
    [
        ("pytorch", [3, 0], TRUNCATED_BIASES),
        ("pytorch", [0, 0], ZERO_BIASES),
        ("onnx.quantize", [3], None),
        ("onnx.quantize", [0], None),
    ],
)
def test_biases_that_the_exporter_truncated(
    producer: str, bias: Sequence[int], remark: str | None, tmp_path: Path
) -> None:
    build = OnnxBuilder()
    build.input("x", (1, 2, 4, 4))
    filters = np.ones((len(bias), 2, 1, 1), np.int8)
    weights = build.dequantize(build.constant(filters), 0.1, 0, "i1")
    steps = build.constant(np.array(bias, np.int32))
    scale = build.constant(np.array(0.01, np.float32))
    offset = build.node("DequantizeLinear", [steps, scale])
    operands = [build.pair("x", 0.1, 3, "u1"), weights, offset]
    build.output(build.pair(build.node("Conv", operands), 0.2, 5, "u1"))
    parsed = onnx.ModelProto.FromString(build.build())
    parsed.producer_name = producer
    found = qlower.load(save(parsed, tmp_path)).remarks
    about_biases = {TRUNCATED_BIASES, ZERO_BIASES} & set(found)
    assert about_biases == ({remark} if remark else set())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("bias", "remark"),
    [(0.3, TRUNCATED_BIASES), (1e-5, ZERO_BIASES), (None, ZERO_BIASES)],
)
def test_biases_of_a_module_that_pytorch_exports(
    bias: float | None, remark: str, tmp_path: Path
) -> None:
    eager = pytest.importorskip("support.systems.eager_networks")
    torch = eager.torch
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        pytest.skip("this PyTorch has no engine fbgemm")
    layer = eager.nn.Linear(4, 3, bias=bias is not None)
    if bias is not None:
        eager.nn.init.constant_(layer.bias, bias)
    module = eager.Stubs({"layer": layer}, lambda net, x: net.layer(x))
    network = eager.Network(module, (8, 4))
    quantized, path = network.quantized("fbgemm"), tmp_path / "model.onnx"
    try:
        torch.onnx.export(
            quantized, (network.example(),), str(path), opset_version=13, dynamo=False
        )
    except (ImportError, RuntimeError, torch.onnx.errors.OnnxExporterError) as error:
        pytest.skip(f"this PyTorch doesn't export quantized modules: {error}")
    assert remark in qlower.load(path).remarks


def test_a_model_without_pairs_that_is_read_as_written(tmp_path: Path) -> None:
    build = OnnxBuilder()
    build.input("x", (1, 16, 5, 5), "f4")
    build.output(build.node("AveragePool", ["x"], kernel_shape=[2, 2]))
    results = ["codes", "scale", "zero_point"]
    build.output(build.node("DynamicQuantizeLinear", ["x"], results))
    path = build.save(tmp_path / "model.onnx")
    assert "in its default session" in qlower.load(path).remarks[0]
    assert "ORT_DISABLE_ALL" in qlower.load(path, qdq="as-written").remarks[0]


def test_a_fused_operator_is_called_what_the_file_calls_it(tmp_path: Path) -> None:
    build = OnnxBuilder()
    value = build.pair(build.input("x", (1, 2, 4, 4, 4, 4)), 0.1, 3)
    value = build.node("AveragePool", [value], kernel_shape=[2] * 4)
    build.output(build.pair(value, 0.1, 3))
    found = message(build.save(tmp_path / "model.onnx"))
    assert "node 2 AveragePool 'n2': an input of rank 6 is not supported" in found


def test_a_scale_that_is_an_input(tmp_path: Path) -> None:
    build = OnnxBuilder()
    operands = [build.input("a", (2, 3), "u1"), build.input("b", (), "f4"), ""]
    operands += build.parameters(0.2, 5, "u1")
    build.output(build.node("QLinearSigmoid", operands, domain=MICROSOFT), "u1")
    found = message(build.save(tmp_path / "model.onnx"))
    assert "scale 'b' is an input of the model; expected a constant" in found
    assert "offline" not in found


def test_sizes_that_other_pixels_decide(tmp_path: Path) -> None:
    build = OnnxBuilder(18)
    x = build.pair(build.input("x", (1, 2, 8, 8)), 0.1, 3)
    sizes = build.constant(np.array([1, 2, 4, 4]))
    options: dict[str, Any] = {"mode": "linear", "antialias": 1}
    build.output(build.node("Resize", [x, "", "", sizes], **options))
    found = message(build.save(tmp_path / "model.onnx"))
    assert "antialias 1 is not supported; expected 0" in found


def test_other_scales_than_before(tmp_path: Path) -> None:
    """Integers may be given another meaning on the way."""
    needs_onnxruntime()
    build = OnnxBuilder()
    build.input("x", (1, 2, 3, 4), "u1")
    inputs = ["x", *build.parameters(0.1, 3, "u1"), *build.parameters(0.2, 5, "u1")]
    value = build.node("QLinearSigmoid", inputs, domain=MICROSOFT)
    build.dequantize(value, 0.7, 9, "u1", "y")
    build.output("y")
    assert compare(build.save(tmp_path / "model.onnx"), tmp_path).is_equal
