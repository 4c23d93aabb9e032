"""Dumps of other tools: what is read, what is matched, and what is refused."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path, PureWindowsPath

import numpy as np
import pytest
from support import models_directory
from support.formats.tflite_cases import CASES
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.diagnostics import QlowerError
from qlower.files.arrays import entry_name, read_arrays, write_arrays
from qlower.files.dumps import read_dump
from qlower.files.tensor_proto import read_tensor_proto
from qlower.model.signature import Array

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.mlir"
RESIDUAL = EXAMPLES / "glow-divergence" / "residual.mlir"
IMAGE = EXAMPLES / "digits" / "images" / "3.npy"
CONTRACT = "glow-cpu"


@pytest.fixture(scope="module")
def layers() -> dict[str, Array]:
    found: dict[str, Array] = {}
    image = np.load(IMAGE).reshape(1, 8, 8, 1)
    qlower.interpret(RESIDUAL, image, contract=CONTRACT, at="qnn", layers=found)
    return found


def write_npz(path: Path, arrays: Mapping[str, Array]) -> None:
    with path.open("wb") as stream:
        write_arrays(stream, arrays)


def write_folder(path: Path, arrays: Mapping[str, Array]) -> None:
    for name, array in arrays.items():
        file = path / f"{name}.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, array)


def encoded(array: Array) -> dict[str, object]:
    """As Polygraphy's JSON has it."""
    data = io.BytesIO()
    np.save(data, array, allow_pickle=False)
    text = base64.b64encode(data.getvalue()).decode()
    inner = {"array": text, "polygraphy_class": "ndarray"}
    return {"values": inner, "polygraphy_class": "LazyArray"}


def write_json(path: Path, arrays: Mapping[str, Array]) -> None:
    iteration = {
        "outputs": {name: encoded(array) for name, array in arrays.items()},
        "runtime": 0.1,
        "polygraphy_class": "IterationResult",
    }
    results = {"lst": [["device", [iteration]]], "polygraphy_class": "RunResults"}
    path.write_text(json.dumps(results))


def tensor_proto(name: str, array: Array) -> bytes:
    """An int8 tensor as ONNX Runtime writes it."""

    def field(number: int, content: bytes) -> bytes:
        size = len(content)
        assert size < 1 << 14
        length = bytes([size & 127 | 128, size >> 7]) if size > 127 else bytes([size])
        return bytes([number << 3 | 2]) + length + content

    dims = b"".join(struct.pack("BB", 1 << 3, extent) for extent in array.shape)
    return (
        dims + bytes([2 << 3, 3]) + field(8, name.encode()) + field(9, array.tobytes())
    )


def write_protos(path: Path, arrays: Mapping[str, Array]) -> None:
    path.mkdir()
    for number, (name, array) in enumerate(arrays.items()):
        (path / f"{number}.tensorproto").write_bytes(tensor_proto(name, array))


NAMES = (
    *("conv", "model/conv1/BiasAdd;x", "x:0", "a b", "\u00e9"),
    *("../../evil", "/abs/x", "C:\\x", "c:x", "a/../b", "a/./..", "", ".", "a\x00b"),
    *(
        "a\nb",
        "a\x1b[31mb",
        "\u202ex",
        "a\\b",
        "a_b",
        "a\ud800",
        "x" * 2000,
        "x" * 3000,
    ),
)
"""Names of layers: the first five are left as they are."""


def test_names_in_archives_stay_in_their_folder(tmp_path: Path):
    path = tmp_path / "layers.npz"
    with path.open("wb") as stream:
        write_arrays(stream, {name: np.array(n) for n, name in enumerate(NAMES)})
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    found = read_arrays(path)
    assert [int(array) for array in found.values()] == list(range(len(NAMES)))
    assert [*found][:5] == [*NAMES[:5]]
    assert [*map(entry_name, found)][:-1] == [*found][:-1], "safe names stay"
    for name in names:
        assert name.isprintable()
        assert "\\" not in name
        assert ".." not in name.split("/")
        assert not PureWindowsPath(name).root
        assert not PureWindowsPath(name).drive or name == "x:0.npy"


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("dump.npz", write_npz),
        ("dump", write_folder),
        ("dump.json", write_json),
        ("protos", write_protos),
    ],
)
def test_every_form_is_read(
    name: str,
    write: Callable[[Path, Mapping[str, Array]], None],
    layers: dict[str, Array],
    tmp_path: Path,
) -> None:
    path = tmp_path / name
    write(path, layers)
    (found,) = read_dump(path)
    assert found.keys() == layers.keys()
    for layer, array in layers.items():
        np.testing.assert_array_equal(found[layer], array)


def test_a_fault_in_a_dump_is_found_in_its_layer(
    layers: dict[str, Array], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = dict(layers)
    changed["block2/conv1"] = layers["block2/conv1"].copy()
    changed["block2/conv1"][0, 1, 2, 3] += 1
    path = tmp_path / "device.npz"
    write_npz(path, changed)
    options = [str(RESIDUAL), "--input", str(IMAGE)]
    assert main(["diff", CONTRACT, str(path), *options]) == ExitCode.FOUND
    printed = capsys.readouterr().out
    assert "17 by name" in printed
    assert "the first layer that differs by itself is block2/conv1" in printed
    assert "block2/conv1[0,1,2,3]:" in printed
    write_npz(path, layers)
    assert main(["diff", str(path), CONTRACT, *options]) == 0


def test_names_are_matched_by_likeness_and_images_turned(
    layers: dict[str, Array], tmp_path: Path
) -> None:
    strange = {
        name.replace("/", ".").upper() + "_output_0": np.moveaxis(array, -1, 1)
        if array.ndim == 4
        else array
        for name, array in layers.items()
    }
    image = np.load(IMAGE).reshape(1, 8, 8, 1)
    found = qlower.diff(CONTRACT, strange, RESIDUAL, image)
    assert found.is_equal
    assert "17 by likeness" in found.notes[0]
    assert all(row.alone is not None for row in found.layers)


def test_an_image_is_flattened_as_the_model_does() -> None:
    """Whether the dump's images have their channels first, or last when it does so."""
    image = np.load(IMAGE).reshape(1, 8, 8, 1)
    layers: dict[str, Array] = {}
    qlower.interpret(DIGITS, image, contract="tflite", at="qnn", layers=layers)
    turned = {
        name: np.moveaxis(array, -1, 1) if array.ndim == 4 else array
        for name, array in layers.items()
    }
    flat = {"flatten": turned["pool"].reshape(1, -1)}
    assert not np.array_equal(flat["flatten"], layers["flatten"])
    for dump in (layers, turned, {**turned, **flat}):
        found = qlower.diff("tflite", dump, DIGITS, image)
        assert found.is_equal
        assert all(row.alone is not None for row in found.layers)


@pytest.mark.parts(3)
def test_a_set_of_inputs_may_be_one_dump(layers: dict[str, Array]) -> None:
    images = np.load(EXAMPLES / "digits" / "test_images.npy")[:2].reshape(2, 8, 8, 1)
    run: dict[str, Array] = {}
    qlower.interpret(RESIDUAL, images, contract=CONTRACT, at="qnn", layers=run)
    found = qlower.diff(run, CONTRACT, RESIDUAL, images)
    assert found.is_equal
    assert found.runs == 2


def test_real_numbers_stand_for_stored_ones(layers: dict[str, Array]) -> None:
    model = qlower.load(RESIDUAL)
    spec = model.outputs[0]
    real = {"logits": spec.dequantize(layers["logits"]).astype(np.float32)}
    image = np.load(IMAGE).reshape(1, 8, 8, 1)
    found = qlower.diff(CONTRACT, real, model, image)
    assert found.is_equal
    assert "quantized" in found.notes[0]
    assert "without 16 layers" in found.notes[0]


def pickled(path: Path) -> None:
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)


HOSTILE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "pickle": ("x.npy", pickled, "pickled Python objects"),
    "cut": ("x.npz", lambda p: p.write_bytes(b"PK\3\4 no archive"), "cannot read"),
    "text": ("x.json", lambda p: p.write_text("[1, 2"), "cannot read"),
    "empty": ("x.npz", lambda p: write_npz(p, {}), "has no arrays"),
    "deep": ("x.json", lambda p: p.write_text("[" * 99999), "cannot read"),
    "no outputs": ("x.json", lambda p: p.write_text("{}"), "it has no outputs"),
    "not base64": (
        "x.json",
        lambda p: p.write_text('{"outputs": {"stem": {"array": "*"}}}'),
        "isn't base64",
    ),
    "proto": ("x.pb", lambda p: p.write_bytes(b"\x0a\xff\xff\x03"), "cannot read"),
    "external": ("x.pb", lambda p: p.write_bytes(b"\x6a\x00"), "another file"),
    "empty folder": ("x", lambda p: p.mkdir(), "has no dumps"),
    "other file": ("x.bin", lambda p: p.write_bytes(b""), "unknown kind of dump"),
    "other names": (
        "x.npz",
        lambda p: write_npz(p, {"a": np.zeros(3, np.int8)}),
        "no layer has this name",
    ),
    "other shape": (
        "x.npz",
        lambda p: write_npz(p, {"logits": np.zeros((1, 11), np.int8)}),
        "its shape is [1, 11], the layer's [1, 10]",
    ),
    "other type": (
        "x.npz",
        lambda p: write_npz(p, {"logits": np.zeros((1, 10), np.uint8)}),
        "its type is uint8, the layer's int8",
    ),
    "not a number": (
        "x.npz",
        lambda p: write_npz(p, {"logits": np.full((1, 10), np.nan)}),
        "its real numbers aren't those of stored ones",
    ),
}


def test_a_lone_array_may_be_the_only_output(
    layers: dict[str, Array], tmp_path: Path
) -> None:
    np.save(tmp_path / "device.npy", layers["logits"])
    dump = str(tmp_path / "device.npy")
    found = qlower.diff(CONTRACT, dump, RESIDUAL, np.load(IMAGE))
    assert "device is logits" in found.notes[0]
    assert found.is_equal


@pytest.mark.parts(4)
@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_used_is_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, write, message = HOSTILE[name]
    path = tmp_path / file
    write(path)
    options = [str(RESIDUAL), "--input", str(IMAGE)]
    assert main(["diff", CONTRACT, str(path), *options]) == ExitCode.WRONG_INPUT
    error = capsys.readouterr().err
    assert str(path) in error
    assert message in error
    assert "bug of qlower" not in error


@pytest.mark.skipif(
    find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed"
)
@pytest.mark.parametrize(
    ("kernels", "contract"), [("litert-ref", "tflite"), ("litert", "tflite-xnnpack")]
)
def test_litert_shows_all_of_its_tensors(
    kernels: str, contract: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(CASES["conv2d_same_strided"]())
    found = qlower.diff(kernels, contract, path, random=0)
    assert found.is_equal
    assert all(row.carried is not None for row in found.layers)


@pytest.mark.parts(4)
@pytest.mark.skipif(
    find_spec("onnx") is None or find_spec("onnxruntime") is None,
    reason="onnx or onnxruntime is not installed",
)
def test_onnxruntime_shows_its_tensors() -> None:
    path = models_directory() / "ic_resnet8_qlinear_onnx" / "model.onnx"
    if not path.exists():
        pytest.skip(f"{path} isn't there")
    found = qlower.diff("live:onnxruntime", "onnxruntime", path, random=0)
    assert found.is_equal
    assert "channels moved last" in found.notes[0]
    assert sum(row.alone is not None for row in found.layers) >= 18


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_pytorch_runs_layers_by_its_engines() -> None:
    asked = EXAMPLES / "fbgemm-overflow" / "asked.mlir"
    found = qlower.diff("torch-qnnpack", "pytorch-qnnpack", asked, random=0)
    assert found.is_equal
    with pytest.raises(QlowerError, match="PyTorch refuses qnn"):
        qlower.diff("torch", CONTRACT, RESIDUAL, np.load(IMAGE).reshape(1, 8, 8, 1))


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize(
    "dtype", ["f4", "f8", "u1", "i1", "i2", "u2", "i4", "i8", "bool"]
)
def test_tensors_as_onnx_writes_them(dtype: str, raw: bool) -> None:
    """In the bytes of their elements, or in a field of their type."""
    helper = pytest.importorskip("onnx.helper", reason="onnx is not installed")
    draw = np.random.default_rng(0)
    array = draw.integers(-3, 4, (2, 1, 3)).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    elements = array.tobytes() if raw else array.reshape(-1).tolist()
    made = helper.make_tensor("layer", kind, array.shape, elements, raw=raw)
    name, found = read_tensor_proto(made.SerializeToString())
    assert name == "layer"
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x6a\x00", "its elements are in another file"),
        (b"\x10\x63", "elements of ONNX type 99 can't be read"),
        (b"\x10\x03\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "is negative"),
        (
            b"\x10\x03\x08\x02\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            r"the shape \[2, -1\] is negative",
        ),
        (b"\x10\x03\x08\x02\x4a\x01\x05", "has 2 elements, it has 1"),
        (b"\x4a\x09\x00", "a field of 9 bytes goes past the end"),
        (b"\x10\x80", "a number goes past the end"),
        (b"\x0b", "it is no TensorProto: wire type 3"),
    ],
)
def test_damaged_tensors(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_tensor_proto(data)


@pytest.mark.parts(3)
def test_layers_of_unsafe_names_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    named = SMALL_MODEL.replace("x2x!mid>\n", 'x2x!mid> loc("../../evil\\1B")\n', 1)
    Path("model.mlir").write_text(named)
    np.save("x.npy", np.zeros((1, 2, 2, 1), np.int8))
    run = ["run", "model.mlir", "--input", "x.npy", "--save-layers", "layers.npz"]
    assert main([*run, "--full-names"]) == 0
    assert next(iter(read_arrays(Path("layers.npz")))).startswith("__/__/evil")
    diff = ["diff", "tflite", "layers.npz", "model.mlir", "--input", "x.npy"]
    assert main(diff) == 0
    assert "no layer has" not in capsys.readouterr().err


def test_what_is_left_out_and_what_is_missing_is_noted(
    layers: dict[str, Array],
) -> None:
    image = np.load(IMAGE).reshape(1, 8, 8, 1)
    dump = {"logits": layers["logits"], "nothing": np.zeros(3, np.int8)}
    found = qlower.diff(CONTRACT, dump, RESIDUAL, image)
    (note,) = found.notes
    assert "1 by name" in note
    assert "left out 1 (nothing: no layer has this name)" in note
    assert f"without {len(layers) - 1} layers" in note


def test_an_array_without_a_name_is_told_which_layers_it_may_be(tmp_path: Path) -> None:
    """Somebody saves what a hook of one module got."""
    np.save(tmp_path / "got.npy", np.zeros((1, 8, 8, 8), np.int8))
    with pytest.raises(QlowerError, match="none of its arrays") as raised:
        qlower.diff(tmp_path / "got.npy", CONTRACT, DIGITS, np.load(IMAGE))
    (_, note) = raised.value.notes
    assert note.startswith("got may be conv1, depthwise: numpy.savez(file, conv1=")


def test_a_folder_of_dumps(tmp_path: Path) -> None:
    """Files below it by their paths, without suffixes; names that a file has stay. Each
    has one run."""
    (tmp_path / "sub").mkdir()
    np.save(tmp_path / "a.npy", np.arange(2))
    np.save(tmp_path / "sub" / "a.npy", np.arange(3))
    np.savez(tmp_path / "sub" / "b.npz", b=np.arange(4), c=np.arange(5))
    (tmp_path / "notes.txt").write_text("not looked at")
    (found,) = read_dump(tmp_path)
    sizes = {name: array.size for name, array in found.items()}
    assert sizes == {"a": 2, "sub/a": 3, "sub/b": 4, "c": 5}
    file = io.BytesIO()
    np.save(file, np.arange(6))
    value = {"values": {"array": base64.b64encode(file.getvalue()).decode()}}
    for count, message in (
        (1, None),
        (2, "m.json has 2 runs, one of a folder has one"),
    ):
        runs = [{"outputs": {"y": value}}] * count
        (tmp_path / "m.json").write_text(json.dumps(runs))
        if message is None:
            assert read_dump(tmp_path)[0]["y"].size == 6
        else:
            with pytest.raises(QlowerError, match=message):
                read_dump(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(QlowerError, match="empty has no dumps") as caught:
        read_dump(tmp_path / "empty")
    assert caught.value.help == "they are .npz, .npy, .json, .tensorproto, .pb files"
