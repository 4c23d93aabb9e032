"""Trained weights in the file that they came from, run by the systems themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.formats.tflite_objects import with_constants_behind
from support.systems.litert import run_litert

import qlower
from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.exports.changes import Changes, Rescaled
from qlower.exports.onnx import patch_onnx
from qlower.exports.tflite import patch_tflite
from qlower.frontends.load import named
from qlower.identification.onnx_file import onnx_file
from qlower.identification.tflite_file import tflite_file
from qlower.interp.values import Array
from qlower.model.scales import result_types, weight_types, with_scales
from qlower.model.weights import WeightSpec, weight_specs, with_weights
from qlower.text.parsing import parse_module

TEXT = """
!x = !quant.uniform<i8:f32, 5.000000e-02:3>
!v = !quant.uniform<i8<-127:127>:f32:0, {1.000000e-02,2.000000e-02,1.500000e-02}>
!d = !quant.uniform<i8<-127:127>:f32:3, {1.000000e-02,3.000000e-02,1.500000e-02}>
!y = !quant.uniform<i8:f32, 6.000000e-02:-7>
func.func @main(%x: tensor<1x5x5x2x!x>) -> tensor<1x3x3x3x!y> {
  %v = qnn.constant dense<3> : tensor<3x1x1x2xi8> -> tensor<3x1x1x2x!v>
  %b = arith.constant dense<[1, -20, 300]> : tensor<3xi32>
  %0 = qnn.conv2d %x, %v, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (tensor<1x5x5x2x!x>, tensor<3x1x1x2x!v>, tensor<3xi32>) -> tensor<1x5x5x3x!y>
  %d = qnn.constant dense<5> : tensor<1x3x3x3xi8> -> tensor<1x3x3x3x!d>
  %c = arith.constant dense<[5, 60, -70]> : tensor<3xi32>
  %1 = qnn.depthwise_conv2d %0, %d, %c
    {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (tensor<1x5x5x3x!y>, tensor<1x3x3x3x!d>, tensor<3xi32>) -> tensor<1x3x3x3x!y>
  return %1 : tensor<1x3x3x3x!y>
}"""


def small_model() -> qlower.Model:
    """A model whose weights are all different."""
    return changed(named(parse_module(TEXT), None), seed=1)


def changed(model: qlower.Model, seed: int = 2) -> qlower.Model:
    """The model with drawn weights and biases."""
    random = np.random.default_rng(seed)
    stored = {
        spec.name: random.integers(-100, 100, spec.stored.shape).astype(
            spec.stored.dtype
        )
        for spec in weight_specs(model.module)
    }
    return with_weights(model, stored)


def litert(file: bytes, x: Array) -> Array:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    return run_litert(file, [x])[0]


def onnx_runtime(file: bytes, x: Array) -> Array:
    reason = "onnxruntime is not installed"
    runtime: Any = pytest.importorskip("onnxruntime", reason=reason)
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    session = runtime.InferenceSession(file, options)
    return session.run(None, {session.get_inputs()[0].name: x})[0]


Write = Callable[[qlower.Model, Path, Path], None]
CASES = {
    ".tflite": (tflite_file, qlower.to_tflite, "tflite", litert),
    ".onnx": (onnx_file, qlower.to_onnx, "onnxruntime", onnx_runtime),
}


def source(folder: Path, suffix: str) -> Path:
    pytest.importorskip(suffix[1:], reason=f"{suffix[1:]} is not installed")
    path = folder / f"source{suffix}"
    path.write_bytes(CASES[suffix][0](small_model()))
    return path


@pytest.mark.parts(6)
@pytest.mark.parametrize("suffix", CASES)
def test_the_system_runs_what_was_foretold(suffix: str, tmp_path: Path) -> None:
    _, write, contract, run = CASES[suffix]
    original, path = source(tmp_path, suffix), tmp_path / f"new{suffix}"
    model = changed(qlower.load(original))
    write(model, original, path)
    assert len(path.read_bytes()) == len(original.read_bytes())
    read = qlower.load(path)
    random = np.random.default_rng(0)
    for _ in range(4):
        x = random.integers(-128, 128, read.inputs[0].shape, np.int8)
        foretold = qlower.interpret(model, x, contract=contract)
        assert np.array_equal(foretold, qlower.interpret(read, x, contract=contract))
        assert np.array_equal(foretold, run(path.read_bytes(), x))
    write(qlower.load(original), original, path)
    assert path.read_bytes() == original.read_bytes()


@pytest.mark.parametrize("suffix", CASES)
def test_only_weights_may_differ(suffix: str, tmp_path: Path) -> None:
    write = CASES[suffix][1]
    original, path = source(tmp_path, suffix), tmp_path / f"new{suffix}"
    with pytest.raises(QlowerError, match="in more than weights and biases"):
        write(small_model(), original, path)
    other = source(tmp_path, next(one for one in CASES if one != suffix))
    with pytest.raises(QlowerError, match=f"is no {suffix} file"):
        write(small_model(), other, path)
    assert not path.exists()


def stored(model: qlower.Model) -> Array:
    """The first weights."""
    return weight_specs(model.module)[0].stored


def test_other_weights_are_of_the_same_type() -> None:
    model = small_model()
    name, array = weight_specs(model.module)[0].name, stored(model)
    assert stored(with_weights(model, {name: array * 0})).sum() == 0
    for wrong in (array[:1], array.astype(np.int64)):
        with pytest.raises(QlowerError, match=r"is \[.*the model has \["):
            with_weights(model, {name: wrong})
    with pytest.raises(QlowerError, match="the model has no 'nosuch'"):
        with_weights(model, {"nosuch": array})


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    nothing: Any = None
    with pytest.raises(QlowerError, match="needs the package onnx"):
        patch_onnx(b"", nothing)


def test_bytes_that_are_shared(tmp_path: Path) -> None:
    """Buffers of several tensors, which may not part."""
    schema: Any = pytest.importorskip("tflite", reason="tflite is not installed")
    original = source(tmp_path, ".tflite")
    model = qlower.load(original)
    names = {spec.name: spec for spec in weight_specs(model.module)}
    biases = [spec for name, spec in names.items() if name.endswith(".bias")]
    same = {spec.name: biases[0].stored for spec in biases}
    qlower.to_tflite(with_weights(model, same), original, original)
    data = bytearray(original.read_bytes())
    graph = schema.Model.GetRootAs(data, 0).Subgraphs(0)
    tensors = [graph.Tensors(n) for n in range(graph.TensorsLength())]
    first, second = (
        next(t for t in tensors if t.Name().decode() == spec.file_name)
        for spec in biases
    )
    field = second._tab.Offset(8) + second._tab.Pos  # its third field, the buffer
    data[field : field + 4] = first.Buffer().to_bytes(4, "little")
    original.write_bytes(data)
    model = qlower.load(original)
    with pytest.raises(QlowerError, match="share their bytes in the file"):
        qlower.to_tflite(changed(model), original, tmp_path / "new.tflite")


def test_constants_behind_the_tables(tmp_path: Path) -> None:
    """Large files have them there."""
    original, path = source(tmp_path, ".tflite"), tmp_path / "new.tflite"
    inside = original.read_bytes()
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    original.write_bytes(with_constants_behind(inside))
    read = qlower.load(original)
    x = np.random.default_rng(0).integers(-128, 128, read.inputs[0].shape, np.int8)
    expected = litert(inside, x)
    assert np.array_equal(qlower.interpret(read, x), expected)
    model = changed(read)
    qlower.to_tflite(model, original, path)
    foretold = qlower.interpret(model, x)
    assert not np.array_equal(foretold, expected)
    assert np.array_equal(foretold, qlower.interpret(qlower.load(path), x))
    assert np.array_equal(foretold, litert(path.read_bytes(), x))


def test_numbers_stay_in_the_fields_that_hold_them() -> None:
    """An initializer's numbers are bytes, or a list; a scale has a zero point or none;
    and a remark stays."""
    onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
    helper, bytes_of = onnx.helper, onnx.numpy_helper.from_array
    lists = [
        helper.make_tensor("w", onnx.TensorProto.INT8, [2, 1], [3, -4]),
        helper.make_tensor("s", onnx.TensorProto.FLOAT, [], [0.5]),
    ]
    lists[0].doc_string = "weights"
    others = [bytes_of(np.array([5], np.int8), "v"), bytes_of(np.float32(2), "t")]
    zero = bytes_of(np.int8(7), "z")
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["a"]),
        helper.make_node("DequantizeLinear", ["v", "t", "z"], ["b"]),
    ]
    graph = helper.make_graph(nodes, "g", [], [], [*lists, *others, zero])
    data = helper.make_model(graph).SerializeToString()

    def weights(name: str, stored: Array) -> WeightSpec:
        of = "layer", "weight", stored, (1.0,), (0,), None, -128, 127
        return WeightSpec(*of, name, ("layer",))

    w, v = (
        weights("w", np.array([[3], [4]], np.int8)),
        weights("v", np.array([5], np.int8)),
    )
    with pytest.raises(QlowerError, match=r"doesn't hold layer\.weight as it is"):
        patch_onnx(data, Changes([(w, w.stored)], []))
    w = weights("w", np.array([[3], [-4]], np.int8))
    scales = [
        Rescaled("a", (0.5,), (0.25,), (0,), (0,)),
        Rescaled("b", (2.0,), (4.0,), (7,), (9,)),
    ]
    stored = [(w, w.stored * 2), (v, v.stored * 3)]
    found = onnx.load_model_from_string(patch_onnx(data, Changes(stored, scales)))
    tensors = {one.name: one for one in found.graph.initializer}
    assert list(tensors["w"].int32_data) == [6, -8]
    assert list(tensors["s"].float_data) == [0.25]
    assert tensors["w"].doc_string == "weights"
    read = {n: onnx.numpy_helper.to_array(tensors[n]).item() for n in "vtz"}
    assert read == {"v": 15, "t": 4.0, "z": 9}
    assert all(tensors[name].HasField("raw_data") for name in "vtz")
    none = Rescaled("a", (0.75,), (0.25,), (0,), (0,))
    with pytest.raises(QlowerError, match="the file has no scale of a"):
        patch_onnx(data, Changes([], [none]))


def test_what_the_file_does_not_hold_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that were folded as they were read, or scales that stay as they were."""
    original = source(tmp_path, ".tflite")
    spec, *_ = weight_specs(changed(qlower.load(original)).module)
    with pytest.raises(QlowerError, match=f"doesn't hold {spec.name} as it is"):
        patch_tflite(original.read_bytes(), Changes([(spec, spec.stored)], []))
    answers = iter([True, False])  # before writing, and after
    monkeypatch.setattr("qlower.exports.weights._is_same", lambda *_: next(answers))
    path = tmp_path / "new.tflite"
    with pytest.raises(QlowerError, match="doesn't hold its scales where they are"):
        qlower.to_tflite(qlower.load(original), original, path)
    assert not path.exists()


@pytest.mark.parametrize("suffix", CASES)
def test_a_trained_module_is_written(suffix: str, tmp_path: Path) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    original, path = source(tmp_path, suffix), tmp_path / f"new{suffix}"
    _, _, contract, run = CASES[suffix]
    module = import_module("qlower.torch").Module(original, contract)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter *= -0.7
    getattr(module, f"to_{suffix[1:]}")(path)
    random = np.random.default_rng(0)
    x = random.integers(-128, 128, module.to_model().inputs[0].shape, np.int8)
    expected = module.stored(torch.from_numpy(x)).numpy()
    assert np.array_equal(run(path.read_bytes(), x), expected)


def rescaled(model: qlower.Model) -> qlower.Model:
    """The model with another quantization between its layers, and of a weight."""
    inner = next(iter(weight_types(model.module))).removesuffix(".weight")
    results = result_types(model.module)
    weights = weight_types(model.module)
    name = f"{inner}.weight"
    doubled = QuantizedType.per_axis(
        *(8, True, weights[name].axis or 0),
        [float(np.float32(1.3 * scale)) for scale in weights[name].scales],
        storage_min=weights[name].storage_min,
    )
    scale = float(np.float32(1.25 * results[inner].scale))
    other = QuantizedType.per_tensor(8, True, scale, results[inner].zero_point + 2)
    return with_scales(model, {inner: other}, {name: doubled})


@pytest.mark.parts(2)
@pytest.mark.parametrize("suffix", CASES)
def test_scales_are_written(suffix: str, tmp_path: Path) -> None:
    _, write, contract, run = CASES[suffix]
    original, path = source(tmp_path, suffix), tmp_path / f"new{suffix}"
    before = qlower.load(original)
    model = rescaled(before)
    write(model, original, path)
    read = qlower.load(path)
    assert result_types(read.module) == result_types(model.module)
    assert weight_types(read.module) == weight_types(model.module)
    assert len(path.read_bytes()) == len(original.read_bytes())  # scalars stay scalars
    random = np.random.default_rng(0)
    for _ in range(4):
        x = random.integers(-128, 128, read.inputs[0].shape, np.int8)
        foretold = qlower.interpret(model, x, contract=contract)
        assert np.array_equal(foretold, run(path.read_bytes(), x))
        assert not np.array_equal(foretold, run(original.read_bytes(), x))


def test_biases_of_16_bit_inputs_have_64() -> None:
    model = small_model()
    wide = {
        name: QuantizedType.per_tensor(16, True, type.scale / 256)
        for name, type in result_types(model.module).items()
    }
    changed = with_scales(model, wide)
    biases = [s for s in weight_specs(changed.module) if s.role == "bias"]
    for spec, old in zip(biases, weight_specs(model.module)[1::2], strict=True):
        assert spec.stored.dtype == np.int64
        np.testing.assert_allclose(spec.real, old.real, rtol=1e-6)
    x = np.full(model.inputs[0].shape, 10, np.int8)
    real = model.outputs[0].dequantize(qlower.interpret(model, x, contract="tflite"))
    x16 = (x.astype(np.int16) - 3) * 256
    found = qlower.interpret(changed, x16, contract="tflite")
    np.testing.assert_allclose(
        changed.outputs[0].dequantize(found).clip(real.min(), real.max()),
        real,
        atol=2 * (model.outputs[0].scale or 0),
    )
    with pytest.raises(QlowerError, match="the model has no 'none' to quantize"):
        with_scales(model, {"none": next(iter(wide.values()))})


def test_weights_of_fewer_bits() -> None:
    """What is stored is checked in the range of the new type alone."""
    model = small_model()
    name, type = next(iter(weight_types(model.module).items()))
    (old,) = (s for s in weight_specs(model.module) if s.name == name)
    scale = float(np.abs(old.real).max() / 7)
    narrow = QuantizedType.per_axis(
        8, True, 0, [scale] * len(type.scales), storage_min=-7, storage_max=7
    )
    changed = with_scales(model, {}, {name: narrow})
    (new,) = (s for s in weight_specs(changed.module) if s.name == name)
    assert np.abs(old.stored).max() > 7 >= np.abs(new.stored).max()
    np.testing.assert_allclose(new.real, old.real, atol=scale / 2 * 1.0001)


def tensor(name: str, scales: list[float], points: list[int]) -> Any:
    """Of a file: a name, and arrays of scales and zero points or none."""
    arrays = np.array(scales, np.float32), np.array(points, np.int64)
    quantization = SimpleNamespace(
        ScaleLength=lambda: len(arrays[0]),
        ScaleAsNumpy=lambda: arrays[0],
        ZeroPointLength=lambda: len(arrays[1]),
        ZeroPointAsNumpy=lambda: arrays[1],
    )
    given = quantization if scales else None
    return SimpleNamespace(
        Name=name.encode, Quantization=lambda: given, values=lambda: arrays
    )


def test_scales_of_a_name_are_exchanged_wherever_they_are() -> None:
    """In every graph; tensors of other names, without scales, or with another number of
    them stay, and one without zero points gets none."""
    graphs = [
        [tensor("a", [1, 2], [3, 4]), tensor("b", [1, 2], [3, 4]), tensor("a", [], [])],
        [tensor("a", [1], [2]), tensor("a", [7, 8], []), tensor("a", [5, 6], [0, 0])],
    ]
    of_graph = [
        SimpleNamespace(TensorsLength=one.__len__, Tensors=one.__getitem__)
        for one in graphs
    ]
    file: Any = SimpleNamespace(
        SubgraphsLength=of_graph.__len__, Subgraphs=of_graph.__getitem__
    )
    rescale = vars(import_module("qlower.exports.tflite"))["_rescale"]
    rescale(
        file, SimpleNamespace(file_name="a", scales=[0.5, 0.25], zero_points=[9, 8])
    )
    found = [[[*map(list, one.values())] for one in graph] for graph in graphs]
    changed = [[0.5, 0.25], [9, 8]]
    assert found == [
        [changed, [[1, 2], [3, 4]], [[], []]],
        [[[1], [2]], [[0.5, 0.25], []], changed],
    ]
    for name, scales in (("c", [1.0]), ("a", [1.0, 2.0, 3.0])):
        one = SimpleNamespace(file_name=name, scales=scales, zero_points=scales)
        with pytest.raises(QlowerError, match=f"the file has no scales of {name}$"):
            rescale(file, one)
