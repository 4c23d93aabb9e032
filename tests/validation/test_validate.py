"""Sets of examples from every kind of source, on threads, processes and resumed."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from support import models_directory
from support.formats.onnx_builder import OnnxBuilder
from support.formats.onnx_cases import weights_as_floats

import qlower
from qlower.cli import main
from qlower.diagnostics import LOGGER, QlowerError
from qlower.files.arrays import Array
from qlower.process.extras import install_line
from qlower.validation import pictures
from qlower.validation.preprocessing import Preprocessing
from qlower.validation.result import Validation
from qlower.validation.validate import prepare, run

Capture = pytest.CaptureFixture[str]

CONTRACTS = ("tflite", "pow2-shift")


@pytest.fixture(scope="module")
def expected(model: Path, stored: Path) -> Validation:
    """What one thread finds."""
    return qlower.validate(model, stored, contracts=CONTRACTS, against="tflite", jobs=1)


def test_the_whole_held_out_set(
    model: Path, images: Array, labels: Array, expected: Validation
):
    for contract in CONTRACTS:
        scores = qlower.jit(model, contract)(images).reshape(len(images), -1)
        counts = expected.counts[contract]
        assert counts.examples == counts.labelled == 360
        assert counts.top1 == np.count_nonzero(scores.argmax(axis=1) == labels)
    base = qlower.jit(model, "tflite")(images).astype(int)
    other = qlower.jit(model, "pow2-shift")(images).astype(int)
    output = expected.counts["pow2-shift"].output
    assert output.differing == np.count_nonzero(base != other)
    assert output.largest_steps == np.abs(base - other).max()
    assert expected.counts["tflite"].compared == 0


def test_threads_and_streams_give_the_same(
    model: Path, stored: Path, images: Array, labels: Array, expected: Validation
):
    stream = ((image, label) for image, label in zip(images, labels, strict=True))
    for data, jobs in ((stored, 2), (stream, 3)):
        found = qlower.validate(
            model, data, contracts=CONTRACTS, against="tflite", jobs=jobs
        )
        assert found == expected


def test_processes_give_the_same(model: Path, stored: Path, expected: Validation):
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        found = qlower.validate(
            model, stored, contracts=CONTRACTS, against="tflite", executor=executor
        )
    assert found == expected


def test_functions_pickle(model: Path, images: Array):
    function = qlower.jit(model)
    data = pickle.dumps(function)
    assert len(data) < 200_000
    assert (pickle.loads(data)(images[:3]) == function(images[:3])).all()


def test_interrupted_work_goes_on(
    model: Path, stored: Path, tmp_path: Path, expected: Validation
):
    state = tmp_path / "state.json"
    job = prepare(model, stored, contracts=CONTRACTS, against="tflite")

    def stop(rows: int) -> None:
        if rows > 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(job, jobs=2, resume=state, on_progress=stop)
    seen: list[int] = []
    assert run(job, jobs=2, resume=state, on_progress=seen.append) == expected
    assert seen[0] > 100
    assert run(job, resume=state) == expected  # nothing is left to do
    other = prepare(model, stored, contracts=CONTRACTS[:1])
    with pytest.raises(
        QlowerError, match=r"a different run \(key differs\): .*contract pow2-shift"
    ):
        run(other, resume=state)
    full = {**job.key(), "data": "another"}
    state.write_text(json.dumps({"key": full, "total": {}, "done": []}))
    with pytest.raises(QlowerError, match="is no state"):
        run(job, resume=state)
    state.write_text("{}")
    with pytest.raises(QlowerError, match="is no state"):
        run(job, resume=state)


def test_layers_and_metrics(model: Path, stored: Path):
    def metric(
        outputs: tuple[Array, ...], classes: frozenset[int] | None
    ) -> dict[str, float]:
        right = min(classes or ())
        return {"loss": -float(np.log(outputs[0].reshape(-1)[right] + 1e-9))}

    found = qlower.validate(
        model,
        stored,
        contracts="pow2-shift",
        against="tflite",
        with_layers=True,
        metric=metric,
        limit=40,
    )
    layers = {row.layer: row.signal for row in found.layer_table().rows}
    assert "conv1" in layers
    assert layers["conv1"].elements == 40 * layer_size(model, "conv1")
    assert 0 < float(found.counts["tflite"].custom["loss"] / 40) < 1
    assert found.examples == 40


def layer_size(model: Path, name: str) -> int:
    """How many elements a layer's result has."""
    layers: dict[str, Array] = {}
    qlower.interpret(model, np.zeros((1, 8, 8, 1), np.int8), layers=layers)
    return layers[name].size


def folder_of_shards(folder: Path, images: Array, labels: Array) -> None:
    np.save(folder / "a.npy", images[:200])
    np.save(folder / "b.npy", images[200:])
    np.save(folder / "labels.npy", labels)


def one_file(folder: Path, images: Array, labels: Array) -> None:
    """Of another name than the model's input."""
    np.save(folder / "pictures.npy", images)
    np.save(folder / "labels.npy", labels)


def compressed(folder: Path, images: Array, labels: Array) -> None:
    np.savez_compressed(folder / "digits.npz", image=images, labels=labels)


def parquet(folder: Path, images: Array, labels: Array) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    tables = pytest.importorskip("pyarrow.parquet")
    rows = {"image": [x.reshape(8, 8, 1).tolist() for x in images], "label": labels}
    tables.write_table(arrow.table(rows), folder / "digits.parquet", row_group_size=99)


def reals(folder: Path, images: Array, labels: Array) -> None:
    np.savez(folder / "x.npz", image=(images.astype(np.float32) + 128) / 255, y=labels)


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    "write", [folder_of_shards, one_file, compressed, parquet, reals]
)
def test_sources_give_the_same(
    model: Path,
    images: Array,
    labels: Array,
    tmp_path: Path,
    expected: Validation,
    write: Callable[[Path, Array, Array], None],
):
    write(tmp_path, images, labels)
    found = qlower.validate(model, tmp_path, contracts=CONTRACTS, against="tflite")
    assert found == expected


def test_labels_beside_a_table(
    model: Path, images: Array, labels: Array, tmp_path: Path, expected: Validation
):
    """Those of a file are met row by row; its own column isn't looked at."""
    folder, file = tmp_path / "digits", tmp_path / "labels.npy"
    folder.mkdir()
    parquet(folder, images, np.zeros_like(labels))
    np.save(file, labels)
    found = qlower.validate(
        model, folder, contracts=CONTRACTS, against="tflite", labels=file
    )
    assert found == expected


def test_dask_arrays(model: Path, images: Array, labels: Array, expected: Validation):
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    data = {
        "image": dask.from_array(images, chunks=(50, 1, 8, 8, 1)),
        "label": dask.from_array(labels, chunks=50),
    }
    found = qlower.validate(model, data, contracts=CONTRACTS, against="tflite")
    assert found == expected


def test_pictures_in_folders(model: Path, images: Array, labels: Array, tmp_path: Path):
    """Pictures are read, and those that can't be are counted and named."""
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for index in range(60):
        folder = tmp_path / str(labels[index])
        folder.mkdir(exist_ok=True)
        pixels = (images[index].reshape(8, 8).astype(int) + 128).astype(np.uint8)
        pillow.fromarray(pixels).save(folder / f"{index:02}.png")
    (tmp_path / "3" / "broken.png").write_bytes(b"\x89PNG nothing")
    wide = pillow.new("I;16", (8, 8))
    wide.save(tmp_path / "3" / "wide.png")
    pillow.new("L", (9, 8)).save(tmp_path / "3" / "large.png")
    for preprocessing in (
        Preprocessing(channels="grey", mean=(0.0,), deviation=(255.0,)),
        Preprocessing(channels="grey", is_stored=True),
    ):
        found = qlower.validate(model, tmp_path, preprocessing=preprocessing)
        scores = qlower.jit(model)(images[:60]).reshape(60, -1)
        hits = np.count_nonzero(scores.argmax(axis=1) == labels[:60])
        assert found.counts["tflite"].top1 == hits
        reasons = [reason for _, reason in found.failures]
        assert found.failed == len(reasons) == 3
        assert "broken.png: no picture" in reasons[0]
        assert "large.png: it has shape [8, 9, 1]" in reasons[1]
        assert "wide.png: a picture of mode I;16" in reasons[2]
        assert "3 of 63 rows could not be used" in str(found)


def test_pictures_of_which_none_fits(model: Path, images: Array, tmp_path: Path):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pillow.new("RGB", (8, 8)).save(tmp_path / "one.png")
    command = ["validate", str(model), "--data", str(tmp_path), "--stored-pixels"]
    assert main(command) == 1
    assert main([*command, "--channels", "grey"]) == 0


METRICS = """
def distance(outputs, classes):
    (expected,) = classes
    return {"distance": abs(int(outputs[0].argmax()) - expected)}
number = 3
"""


def test_a_metric_of_ones_own(model: Path, stored: Path, capsys: Capture):
    """By the command, which tells more of each class."""
    path = stored.with_name("metrics.py")
    path.write_text(METRICS)
    command = ["validate", str(model), "--data", str(stored), "--limit", "40"]
    options = ["--metrics", f"{path}:distance", "--classes", "--format", "csv"]
    assert main([*command, *options]) == 0
    out = capsys.readouterr().out
    with np.load(stored) as data:
        scores = qlower.jit(qlower.load(model))(data["image"][:40]).reshape(40, -1)
        distance = np.abs(scores.argmax(axis=1) - data["label"][:40]).mean()
    assert f"{distance:.3g}" in out


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def metric(outputs, classes)", "SyntaxError: expected ':'"),
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch'"),
        ("metric = 3", "has no function 'metric'"),
        ("def metric(outputs, classes): return nosuch", "NameError: name 'nosuch'"),
        ("def metric(outputs, classes): pass", "AttributeError: 'NoneType'"),
        ("def metric(outputs, classes): return {'a': 'b'}", "ValueError: "),
        ("metric = lambda o, c: {'a': float('nan')}", "ValueError: "),
        ("metric = lambda: {}", "TypeError: "),
    ],
)
def test_a_metric_that_fails(
    body: str, message: str, model: Path, stored: Path, tmp_path: Path, capsys: Capture
):
    """What a user's function does wrong is no fault of ours."""
    file = tmp_path / "own.py"
    file.write_text(body)
    given = ["--data", str(stored), "--limit", "2", "--metrics", f"{file}:metric"]
    assert main(["validate", str(model), *given]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("shape", [(99999999999, 99999999), (1 << 32, 1 << 32)])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_sizes_whose_product_wraps(
    shape: tuple[int, ...], suffix: str, model: Path, tmp_path: Path, capsys: Capture
):
    path = tmp_path / f"x{suffix}"
    data = io.BytesIO()
    head = {"descr": "|i1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(data, head)
    if suffix == ".npy":
        path.write_bytes(data.getvalue())
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("image.npy", data.getvalue())
    assert main(["validate", str(model), "--data", str(path)]) == 1
    assert "bytes of data" in capsys.readouterr().err


def test_a_folder_of_labels_alone(model: Path, tmp_path: Path, capsys: Capture):
    for name in ("label.npy", "labels.npy"):
        np.save(tmp_path / name, np.zeros(3, np.int64))
    assert main(["validate", str(model), "--data", str(tmp_path)]) == 1
    assert "holds labels: the set of examples is empty" in capsys.readouterr().err


def test_a_damaged_table(model: Path, images: Array, tmp_path: Path, capsys: Capture):
    """Its pages are read long after its schema."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    rows = images[:20].reshape(20, -1).tolist()
    parquet.write_table(arrow.table({"image": rows}), path, use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = bytes(len(data) // 2 - 4)
    path.write_bytes(data)
    given = ["validate", str(model), "--data", str(path)]
    assert main(given) == 1
    assert f"cannot read {path}" in capsys.readouterr().err
    parquet.write_table(arrow.table({"image": rows[:0]}), path)
    assert main(given) == 1
    assert "the set of examples is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--metrics", "nothing"], "is not FILE.py:NAME"),
        (["--metrics", "no_file.py:distance"], "there is no such file"),
        (["--metrics", "metrics.py:other"], "has no function 'other'"),
        (["--class-names", "no_file.txt"], "cannot read no_file.txt"),
        (["--plot", "figures.pdf"], "ends with neither .svg nor .png"),
        (["--jobs", "0"], "--jobs 0: at least 1"),
        (["--scheduler", "nowhere:nothing"], "no scheduler at nowhere:nothing"),
    ],
)
def test_options_that_are_wrong(
    options: list[str],
    reason: str,
    model: Path,
    stored: Path,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    Path("metrics.py").write_text(METRICS)
    assert main(["validate", str(model), "--data", str(stored), *options]) == 1
    assert reason in capsys.readouterr().err


def test_cropped_pictures_of_named_classes(
    model: Path, images: Array, labels: Array, tmp_path: Path, capsys: Capture
):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    order = np.array([0, 1, 2, 5, 4, 3, 6, 7, 8, 9])
    names = [f"class {number}" for number in order]
    for index in range(20):
        folder = tmp_path / f"class {labels[index]}"
        folder.mkdir(exist_ok=True)
        pixels = (images[index].reshape(8, 8).astype(int) + 128).astype(np.uint8)
        large = pillow.fromarray(np.pad(pixels, ((2, 2), (4, 4))))
        large.convert("RGB").save(folder / f"{index:02}.png")
    (tmp_path / "names.txt").write_text("\n".join(names))
    command = ["validate", str(model), "--data", str(tmp_path), "--stored-pixels"]
    sizes = ["--channels", "grey", "--resize", "12", "--crop", "8"]
    words = [*command, *sizes, "--class-names", str(tmp_path / "names.txt")]
    assert main([*words, "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["contracts"]
    scores = qlower.jit(qlower.load(model))(images[:20]).reshape(20, -1)
    assert found["top1"] == np.mean(scores.argmax(axis=1) == order[labels[:20]]) > 0


def test_a_label_out_of_range_is_counted(model: Path, images: Array):
    rows = [(images[0], 3), (images[1], 10), (images[2], None), (np.zeros(3), 1)]
    found = qlower.validate(model, rows)
    assert found.examples == 4
    assert found.counts["tflite"].labelled == 1
    reasons = [reason for _, reason in found.failures]
    assert reasons[0] == "label 10 is not in [0, 10)"
    assert "shape [3]" in reasons[1]


def test_litert_is_a_reference(images: Array, tmp_path: Path):
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    folder = models_directory() / "kws_dscnn_int8"
    if not folder.is_dir():
        pytest.skip("the shared models are not there")
    path = folder / "model.tflite"
    found = qlower.validate(
        path,
        folder / "inputs.npz",
        labels=str(folder / "inputs.json"),
        against="litert",
    )
    assert found.counts["tflite"].output.differing == 0
    assert found.counts["tflite"].agreeing == 15
    assert found.counts["tflite"].top1 == 13


def test_onnx_runtime_is_a_reference(tmp_path: Path):
    """Of a model that takes real pictures whose channels come first."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    build = weights_as_floats(0)
    build.dequantize("y", 0.1, 128, output="real")
    build.outputs.clear()
    build.output("real")
    path = build.save(tmp_path / "model.onnx")
    random = np.random.default_rng(1)
    x = random.normal(size=(12, 1, 3, 5, 4)).astype(np.float32)
    found = qlower.validate(path, {"x": x}, against="onnxruntime")
    assert found.examples == 12
    assert found.counts["onnxruntime"].output.differing == 0


@pytest.fixture
def products(tmp_path: Path) -> Callable[..., Path]:
    """ONNX files of a product of stored bytes, which are equal up to how they store its
    input and its result."""
    for name in ("onnxruntime", "onnx"):
        pytest.importorskip(name, reason=f"{name} is not installed")

    def save(
        name: str,
        in_scale: float = 0.02,
        zero: int = 120,
        out_scale: float = 0.2,
        operator: str = "",
    ) -> Path:
        build = OnnxBuilder()
        build.input("x", (1, 5), "u1")
        weights = np.random.default_rng(4).integers(-127, 127, (5, 4)).astype("i1")
        operands = [
            "x",
            *build.parameters(in_scale, zero, "u1"),
            build.constant(weights),
            *build.parameters(0.02, 0, "i1"),
            *build.parameters(out_scale, 128, "u1"),
        ]
        build.node("QLinearMatMul", operands, "s" if operator else "y")
        if operator:
            build.node(operator, ["s"], "y")
        build.output("y", "u1")
        return build.save(tmp_path / name)

    return save


ROWS = np.random.default_rng(5).integers(60, 180, (30, 1, 5)).astype("u1")


def test_onnx_runtime_gives_stored_integers(products: Callable[..., Path]):
    """It tells their type alone."""
    found = qlower.validate(products("a.onnx"), {"x": ROWS}, against="onnxruntime")
    assert found.counts["onnxruntime"].output.differing == 0
    assert found.counts["onnxruntime"].output.power > 0


def test_another_file_stores_other_integers(products: Callable[..., Path]):
    """The same real numbers go in and come out, to a step of either."""
    own, other = products("a.onnx"), products("b.onnx", 0.01, 128, 0.4)
    output = qlower.validate(own, {"x": ROWS}, against=str(other)).counts
    (counts,) = output.values()
    assert counts.output.differing > 0
    assert counts.output.largest_steps <= 1.5
    output = qlower.validate(other, {"x": ROWS}, against=str(own)).counts
    (counts,) = output.values()
    assert counts.output.largest_steps <= 0.75


def test_integers_that_nothing_explains(products: Callable[..., Path]):
    own, other = products("a.onnx"), products("b.onnx", operator="Shrink")
    with pytest.raises(QlowerError, match="takes or gives stored integers"):
        qlower.validate(own, {"x": ROWS}, against=str(other))


def test_a_full_disk_costs_no_result(
    model: Path,
    stored: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    def full(path: Path) -> None:
        raise QlowerError(f"cannot write {path}: no space left on device")

    monkeypatch.setattr("qlower.validation.state.replacing", full)
    monkeypatch.setattr(LOGGER, "propagate", True)
    found = qlower.validate(model, stored, resume=tmp_path / "s.json", limit=40)
    assert found.examples == 40
    assert "what was counted isn't kept" in caplog.text


MANIFEST = models_directory() / "manifest.json"
NAMES = [
    pytest.param(name, marks=() if name == "kws_dscnn_int8" else pytest.mark.long)
    for name in (
        "kws_dscnn_int8",
        "ic_resnet8_int8",
        "vww_mobilenetv1_025_96_int8",
        "person_detect_int8",
        "mobilenet_v1_0.25_128_uint8",
        "mobilenet_v1_1.0_224_uint8",
        "mobilenet_v2_1.0_224_int8",
        "micro_kws_m_int8",
        "vww_mcunet_80_int8",
        "mnist_qnn_int8",
        "micro_speech_int8",
    )
]


@pytest.mark.parts(2)
@pytest.mark.skipif(not MANIFEST.exists(), reason="the shared models are not there")
@pytest.mark.parametrize("name", NAMES)
def test_accuracy_on_real_samples(name: str):
    """What LiteRT met of each model's samples, by its reference kernels and XNNPACK."""
    models = json.loads(MANIFEST.read_text())["models"]
    (met,) = (entry["sample_top1"] for entry in models if entry["id"] == name)
    found = qlower.validate(
        MANIFEST.parent / name / "model.tflite",
        MANIFEST.parent / name / "inputs.npz",
        labels=MANIFEST.parent / name / "inputs.json",
        contracts=("tflite", "tflite-xnnpack"),
    )
    for contract, system in (("tflite", "ref"), ("tflite-xnnpack", "xnn")):
        counts = found.counts[contract]
        assert f"{counts.top1}/{counts.labelled}" == met[system]


class TestCommand:
    """`qlower validate`."""

    def test_tables(self, model: Path, stored: Path, capsys: Capture):
        command = ["validate", str(model), "--data", str(stored), "--contract"]
        command += ["tflite,pow2-shift", "--against", "tflite", "--classes", "--layers"]
        assert main([*command, "--limit", "64"]) == 0
        out, error = capsys.readouterr()
        assert "360 examples in" in error
        assert "8x8x1 int8" in error or "1x8x8x1 int8" in error
        assert "pow2-shift" in out
        assert "95 %" in out
        assert "conv1" in out

    def test_picture(self, model: Path, stored: Path, tmp_path: Path):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        plot = tmp_path / "accuracy.svg"
        command = ["validate", str(model), "--data", str(stored), "--limit", "9"]
        assert main([*command, "--plot", str(plot)]) == 0
        assert "top-1 accuracy" in plot.read_text()
        assert import_module("matplotlib").rcParams["legend.fontsize"] == "small"

    def test_json(self, model: Path, stored: Path, capsys: Capture):
        assert main(["validate", str(model), "--data", str(stored), "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert data["contracts"][0]["labelled"] == 360
        assert data["sums"]["tflite"]["examples"] == 360

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--data", "none.npy"], "cannot read none.npy"),
            (["--data", "empty"], "the set of examples is empty"),
            (["--data", "few.npy"], "the set of examples is empty"),
            (["--data", "x.npy", "--labels", "short.npy"], "2 labels for 3 examples"),
            (
                ["--data", "x.npy", "--labels", "wrong.txt"],
                "10 (example 1) is no label",
            ),
            (["--data", "x.npy", "--labels", "odd.txt"], "'cat' is no label"),
            (["--data", "x.npy", "--against", "nobody"], "nothing called 'nobody'"),
            (["--data", "x.npy", "--layers"], "another contract"),
            (["--data", "x.npy", "--contract", "tflite,tflite"], "given twice"),
            (["--data", "shape.npy"], "it has shape [3, 8]"),
            (["--data", "pickle.npy"], "pickled"),
            (["--data", "x.npy", "--metrics", "m.py"], "is not FILE.py:NAME"),
            (["--data", "x.npy", "--deviation", "0"], "has a 0"),
            (["--data", "x.npy", "--limit", "0"], "at least 1"),
            (["--data", "x.npy", "--jobs", "0"], "at least 1"),
            (["--data", "x.npy", "--against", "litert"], "litert runs .tflite files"),
        ],
    )
    def test_refusals(
        self,
        model: Path,
        capsys: Capture,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        message: str,
    ):
        monkeypatch.chdir(tmp_path)
        Path("empty").mkdir()
        np.save("few.npy", np.zeros((0, 8, 8, 1), np.int8))
        np.save("x.npy", np.zeros((3, 8, 8, 1), np.int8))
        np.save("shape.npy", np.zeros((2, 3, 8), np.int8))
        np.save("pickle.npy", np.array([None]), allow_pickle=True)
        np.save("short.npy", np.zeros(2, np.int64))
        Path("wrong.txt").write_text("1\n10\n2\n")
        Path("odd.txt").write_text("1\ncat\n2\n")
        assert main(["validate", str(model), *arguments]) == 1
        out, error = capsys.readouterr()
        assert out == ""
        assert message in error
        assert "Traceback" not in error


def test_a_reference_has_its_own_accuracy(products: Callable[..., Path]):
    """Also where it is no contract; the loss is what lies between."""
    own, other = products("a.onnx"), products("b.onnx", 0.01, 128, 0.4)
    rows = [(row, 2) for row in ROWS]
    found = qlower.validate(own, rows, against=str(other))
    first, reference = found.contracts
    (port,), (taken,) = (qlower.load(path).inputs for path in (own, other))
    same = [(taken.quantize(port.dequantize(row)), 2) for row in ROWS]
    wanted = qlower.validate(other, same, contracts=["onnxruntime"])
    (alone,) = wanted.counts.values()
    assert reference.contract == found.against
    assert reference.counts.top1 == alone.top1
    assert reference.counts.labelled == first.counts.labelled == len(ROWS)
    assert first.loss == reference.counts.top1 / 30 - first.counts.top1 / 30
    assert found.table.records()[0]["loss"] == first.loss
    assert "reference" in found.to_dict()


def test_real_outputs_are_compared_in_real_units(tmp_path: Path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    build = OnnxBuilder()
    build.input("x", (1, 5), "f4")
    parameters = build.parameters(0.5, 3, "i1")
    build.node("QuantizeLinear", ["x", *parameters], "q")
    build.node("DequantizeLinear", ["q", *parameters], "y")
    build.output("y", "f4")
    path = build.save(tmp_path / "real.onnx")
    exact = OnnxBuilder()
    exact.input("x", (1, 5), "f4")
    exact.node("Identity", ["x"], "y")
    exact.output("y", "f4")
    other = exact.save(tmp_path / "exact.onnx")
    rows = np.full((4, 1, 5), 0.625, np.float32)
    found = qlower.validate(path, {"x": rows}, against=str(other))
    assert found.is_real
    (record, _) = found.table.records()
    assert record["mean_real"] == record["largest_real"] == 0.125
    assert "in real numbers" in str(found)
    assert record["differing"] == 4 * 5


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    ("bounds", "missed"),
    [
        (["--min-top1", "100%"], ["pow2-shift: top-1 is"]),
        (["--min-top1", "0%"], []),
        (["--min-agreement", "100%"], ["argmax agrees in"]),
        (["--max-loss", "0"], ["below the reference's by"]),
        (["--max-loss", "100%", "--min-agreement", "0.1"], []),
    ],
)
def test_bounds(
    model: Path,
    tmp_path: Path,
    images: Array,
    labels: Array,
    capsys: Capture,
    bounds: list[str],
    missed: list[str],
):
    """tflite's answers are the classes: what pow2-shift answers otherwise, it loses."""
    scores = qlower.jit(qlower.load(model), "tflite")(images).reshape(len(images), -1)
    other = qlower.jit(qlower.load(model), "pow2-shift")(images)
    answers = scores.argmax(axis=1)
    assert (other.reshape(len(images), -1).argmax(axis=1) != answers).any()
    np.savez(tmp_path / "set.npz", image=images, labels=answers)
    command = ["validate", str(model), "--data", str(tmp_path / "set.npz")]
    given = ["--contract", "pow2-shift", "--against", "tflite", *bounds]
    code = main([*command, *given])
    told = capsys.readouterr().err
    assert code == bool(missed)
    for sentence in missed:
        assert sentence in told


@pytest.mark.parametrize("bound", ["--min-top1=90", "--max-loss=x", "--min-top1=-1%"])
def test_bounds_are_shares(bound: str, model: Path, capsys: Capture):
    assert main(["validate", str(model), "--data", "x.npy", bound]) == 2
    assert "is not a share" in capsys.readouterr().err


def test_bounds_without_a_reference(model: Path, stored: Path, capsys: Capture):
    command = ["validate", str(model), "--data", str(stored)]
    assert main([*command, "--max-loss", "0.1"]) == 1
    assert "need --against" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["PIL.Image", "pyarrow.parquet"])
def test_a_reader_that_is_not_installed(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(pictures, "import_module", missing)
    name = module.partition(".")[0]
    with pytest.raises(QlowerError, match=f"{name} is not installed") as refused:
        pictures._import(module)  # pyright: ignore[reportPrivateUsage]
    assert refused.value.help == install_line("data")


TWO_OUTPUTS = """
!x = !quant.uniform<i8:f32, 0.5:0>
!y = !quant.uniform<i8:f32, 1.0:0>
func.func @main(%x: tensor<1x4x!x>) -> (tensor<1x4x!y>, tensor<1x4x!x>) {
  %y = qnn.requantize %x : (tensor<1x4x!x>) -> tensor<1x4x!y>
  %z = qnn.relu %x : (tensor<1x4x!x>) -> tensor<1x4x!x>
  return %y, %z : tensor<1x4x!y>, tensor<1x4x!x>
}"""


def test_the_first_of_two_outputs_is_counted_in_its_own_scale(tmp_path: Path) -> None:
    """TVM rounds half up: a quarter of the numbers are ties below 0, 1.0 apart."""
    path = tmp_path / "two.mlir"
    path.write_text(TWO_OUTPUTS)
    x = np.arange(-128, 128).astype(np.int8).reshape(64, 1, 4)
    found = qlower.validate(path, x, contracts="tvm", against="exact")
    text = json.dumps(found.to_dict())
    row = next(r for r in json.loads(text)["contracts"] if r["contract"] == "tvm")
    assert (row["mean_steps"], row["mean_real"], row["largest_real"]) == (0.25, 0.25, 1)
