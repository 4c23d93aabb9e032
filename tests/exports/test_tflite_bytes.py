"""Bytes and scales in TFLite's files: which tensors are found, what is exchanged."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_objects import with_constants_behind

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.exports import weights as exports
from qlower.exports.changes import Changes, Rescaled
from qlower.exports.tflite import patch_tflite
from qlower.frontends.load import named
from qlower.frontends.tflite.reader import read_model
from qlower.model.scales import with_scales
from qlower.model.weights import WeightSpec, weight_specs, with_weights
from qlower.text.parsing import parse_module

pytest.importorskip("tflite", reason="tflite is not installed")

VALUES = {"a": [1, 2, 3], "b": [1, 2, 3], "c": [4, 5, 6]}


def file_of(**more: Any) -> bytes:
    build = TFLiteBuilder()
    x = build.tensor("x", (1, 3), "int8", scale=[0.5], zero_point=[7])
    y = build.tensor("y", (1, 3), "int8", scale=[0.25], zero_point=[0])
    for name, values in VALUES.items():
        array = np.array(values, np.int8)
        build.tensor(name, (3,), "int8", scale=[0.5, 0.25, 1.0], data=array, **more)
    build.operator("RELU", [x], [y])
    return build.build([x], [y])


def spec(name: str, stored: Sequence[int]) -> WeightSpec:
    array = np.array(stored, np.int8)
    steps = (1.0,), (0,), None, -128, 127
    return WeightSpec(f"l{name}", "weight", array, *steps, name, ("l",))


def tensors(data: bytes) -> dict[str, list[int]]:
    file = read_model(data, "m")
    return {
        tensor.name: np.frombuffer(file.buffers[tensor.buffer], np.int8).tolist()
        for tensor in file.tensors
        if file.buffers[tensor.buffer]
    }


def stored(**values: list[int]) -> Changes:
    """New values of tensors, where they have those that they do."""
    return Changes(
        [
            (spec(name, VALUES[name]), np.array(new, np.int8))
            for name, new in values.items()
        ],
        [],
    )


@pytest.mark.parametrize("place", [bytes, with_constants_behind])
def test_bytes_are_exchanged_where_the_name_and_the_values_are(place: Any) -> None:
    data = place(file_of())
    assert patch_tflite(data, Changes([], [])) == data
    changed = patch_tflite(data, stored(a=[7, 8, 9], c=[-1, 0, 1]))
    assert tensors(changed) == {"a": [7, 8, 9], "b": [1, 2, 3], "c": [-1, 0, 1]}
    assert len(changed) == len(data)
    different = [n for n in range(len(data)) if data[n] != changed[n]]
    assert len(different) == 6


def test_what_the_file_does_not_hold_is_refused() -> None:
    for name, values in (("none", [1, 2, 3]), ("a", [1, 2, 4]), ("c", [1, 2, 3])):
        one = spec(name, values)
        with pytest.raises(QlowerError) as caught:
            patch_tflite(file_of(), Changes([(one, one.stored)], []))
        assert caught.value.message == (
            f"the file doesn't hold l{name}.weight as it is computed"
        )


class Shared:
    """A file whose tensors have these buffers, as the package reads it."""

    def __init__(self, **buffers: int) -> None:
        many = 1 + max(buffers.values())
        self.content = [
            np.array([1, 2, 3], np.int8).view(np.uint8) for _ in range(many)
        ]
        self.given = list(buffers.items())

    def GetRootAs(self, written: bytearray, place: int) -> Any:
        assert place == 0
        tables = [
            SimpleNamespace(Buffer=lambda n=n: n, Name=lambda name=name: name.encode())
            for name, n in self.given
        ]
        graph = SimpleNamespace(
            Tensors=tables.__getitem__, TensorsLength=lambda: len(tables)
        )
        buffers = [
            SimpleNamespace(DataLength=lambda: 3, DataAsNumpy=lambda one=one: one)
            for one in self.content
        ]
        return SimpleNamespace(
            Subgraphs=lambda n: graph,
            SubgraphsLength=lambda: 1,
            Buffers=buffers.__getitem__,
            BuffersLength=lambda: len(buffers),
        )


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        ({"a": [7, 8, 9], "b": [7, 8, 9]}, None),
        ({"c": [7, 8, 9]}, None),
        ({"a": [7, 8, 9]}, "a, b"),
        ({"b": [7, 8, 9], "a": [7, 8, 0]}, "a, b"),
    ],
)
def test_bytes_that_tensors_share_change_together(
    new: Mapping[str, list[int]], reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Shared(b=1, a=1, c=2)
    monkeypatch.setitem(sys.modules, "tflite", SimpleNamespace(Model=file))
    changes = Changes(
        [(spec(name, [1, 2, 3]), np.array(one, np.int8)) for name, one in new.items()],
        [],
    )
    if reason is not None:
        with pytest.raises(QlowerError) as caught:
            patch_tflite(b"", changes)
        assert caught.value.message == (
            f"tensors {reason} share their bytes in the file, but are to differ"
        )
        return
    patch_tflite(b"", changes)
    found = [one.view(np.int8).tolist() for one in file.content]
    assert found == [[1, 2, 3], *([7, 8, 9] if n in new else [1, 2, 3] for n in "ac")]


def rescaled(name: str, *scales: float) -> Rescaled:
    many = len(scales)
    return Rescaled(name, (1.0,) * many, scales, (0,) * many, (3,) * many)


def steps(data: bytes) -> dict[str, tuple[list[float], list[int]]]:
    return {
        tensor.name: ([*given.scales], [*given.zero_points])
        for tensor in read_model(data, "m").tensors
        if (given := tensor.quantization) is not None
    }


def test_scales_are_exchanged_with_their_zero_points() -> None:
    """Where the file has these; of a tensor with as many."""
    data = file_of()
    before = steps(data)
    assert before["x"] == ([0.5], [7])
    found = steps(patch_tflite(data, Changes([], [rescaled("x", 2.0)])))
    assert found == before | {"x": ([2.0], [3])}
    new = rescaled("b", 2.0, 4.0, 8.0)
    found = steps(patch_tflite(data, Changes([], [new])))
    assert found["b"][0] == [2.0, 4.0, 8.0]
    assert {n: f for n, f in found.items() if n != "b"} == {
        n: f for n, f in before.items() if n != "b"
    }
    for one in (rescaled("none", 1.0), rescaled("x", 1.0, 2.0), rescaled("b", 1.0)):
        with pytest.raises(QlowerError) as caught:
            patch_tflite(data, Changes([], [one]))
        assert caught.value.message == f"the file has no scales of {one.file_name}"


@pytest.mark.parametrize("suffix", ["tflite", "onnx"])
def test_a_package_that_is_needed(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, suffix, None)
    patch = vars(import_module(f"qlower.exports.{suffix}"))[f"patch_{suffix}"]
    with pytest.raises(QlowerError) as caught:
        patch(b"", Changes([], []))
    assert caught.value.message == (
        f"writing .{suffix} files needs the package {suffix}"
    )
    assert caught.value.help == (
        import_module("qlower.process.extras").install_line(suffix)
    )


MODEL = """
!x = !quant.uniform<i8:f32, 0.5:-3>
!y = !quant.uniform<i8:f32, 0.25:1>
!w = !quant.uniform<i8<-127:127>:f32:0, {0.5,0.25}>
func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2x!y> {
  %w = qnn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
    loc("w_in_file")
  %b = arith.constant dense<[5, 6]> : tensor<2xi32> loc("b_in_file")
  %0 = qnn.linear %x, %w, %b
    : (tensor<1x2x!x>, tensor<2x2x!w>, tensor<2xi32>) -> tensor<1x2x!y> loc("net/dense")
  %1 = qnn.relu %0 : (tensor<1x2x!y>) -> tensor<1x2x!y> loc("end")
  return %1 : tensor<1x2x!y>
}"""


def model(text: str = MODEL) -> Any:
    return named(parse_module(text), None)


def changes(new: Any) -> Changes:
    return vars(exports)["_changes"](model(), new, Path("m.tflite"))


def test_differences_from_the_model_of_a_file() -> None:
    old = model()
    (weight, bias) = weight_specs(old.module)
    assert (weight.file_name, bias.file_name) == ("w_in_file", "b_in_file")
    assert changes(model()) == Changes([], [])
    array = np.array([[1, 2], [3, -4]], np.int8)
    found = changes(with_weights(old, {weight.name: array}))
    ((one, given),) = found.stored
    assert (one.name, given.tolist(), found.scales) == (weight.name, array.tolist(), [])
    # scales of a result by the name that the file has, of weights by theirs
    names = list(old.full_names)
    types = {
        names[0]: QuantizedType.per_tensor(8, True, 0.125, 9),
        "x": QuantizedType.per_tensor(8, True, 2.0, 4),
    }
    found = changes(with_scales(old, types))
    assert [one for one in found.scales if "in_file" not in one.file_name] == [
        Rescaled("x", (0.5,), (2.0,), (-3,), (4,)),
        Rescaled("net/dense", (0.25,), (0.125,), (1,), (9,)),
    ]
    wide = QuantizedType.per_axis(8, True, 0, [1.0, 2.0], storage_min=-127)
    found = changes(with_scales(old, {}, {weight.name: wide}))
    by_name = {one.file_name: one for one in found.scales}
    assert by_name["w_in_file"] == (
        Rescaled("w_in_file", (0.5, 0.25), (1.0, 2.0), (0, 0), (0, 0))
    )


def test_weights_without_a_name_in_the_file_have_no_scales_there() -> None:
    text = MODEL.replace('loc("w_in_file")', "")
    old = model(text)
    wide = QuantizedType.per_axis(8, True, 0, [1.0, 2.0], storage_min=-127)
    (weight, _) = weight_specs(old.module)
    new = with_scales(old, {}, {weight.name: wide})
    found = vars(exports)["_changes"](old, new, Path("m.tflite"))
    assert None not in [one.file_name for one in found.scales]
    assert weight.name in [one.name for one, _ in found.stored]


OTHERS = {
    "a layer": ("qnn.relu %0", "qnn.relu6 %0"),
    "a range": ("!quant.uniform<i8:f32, 0.25:1>", "!quant.uniform<u8:f32, 0.25:1>"),
    "a storage": ("i8<-127:127>", "i8"),
    "an axis": ("f32:0, {0.5,0.25}", "f32, 0.5"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_model_that_differs_in_more_than_numbers(name: str) -> None:
    text = MODEL.replace(*OTHERS[name])
    assert text != MODEL
    with pytest.raises(QlowerError) as caught:
        changes(model(text))
    assert caught.value.message == (
        "the model differs from m.tflite in more than weights and biases"
    )
    assert caught.value.help == (
        "only their stored values, scales and zero points are written: layers and"
        " shapes are the file's"
    )


def test_what_was_written_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And refused if it isn't the model; then nothing is written."""
    source, path = tmp_path / "m.onnx", tmp_path / "new.onnx"
    source.write_bytes(b"old")
    old = model()
    (weight, _) = weight_specs(old.module)
    array = np.array([[1, 2], [3, -4]], np.int8)
    new = with_weights(old, {weight.name: array})
    type = QuantizedType.per_tensor(8, True, 2.0, 4)
    scaled = with_scales(old, {next(iter(old.full_names)): type})
    readings: list[Any] = []

    def load(given: Path) -> Any:
        assert given.read_bytes() == (b"old" if given == source else b"patched")
        assert given.name == "m.onnx"
        return old if given == source else readings[-1]

    def patch(data: bytes, given: Changes) -> bytes:
        assert data == b"old"
        return b"patched"

    monkeypatch.setattr(exports, "load", load)
    monkeypatch.setattr(exports, "patch_onnx", patch)
    for wanted, read, reason in (
        (
            new,
            old,
            f"doesn't hold {weight.name} in a form that can be written",
        ),
        (scaled, old, "doesn't hold its scales where they are known"),
    ):
        readings.append(read)
        with pytest.raises(QlowerError) as caught:
            exports.to_onnx(wanted, source, path)
        assert caught.value.message == f"{source} {reason}"
        assert not path.exists()
    for wanted in (new, scaled, old):
        readings.append(wanted)
        exports.to_onnx(wanted, source, str(path))
        assert path.read_bytes() == b"patched"
        path.unlink()
    for write, suffix in ((exports.to_onnx, "onnx"), (exports.to_tflite, "tflite")):
        with pytest.raises(QlowerError) as caught:
            write(old, tmp_path / "m.h5", path)
        assert caught.value.message == f"{tmp_path}/m.h5 is no .{suffix} file"
