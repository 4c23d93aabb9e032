"""Sets of examples from every kind of source, on threads, processes and resumed."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from support import models_directory

import qlower
from qlower.cli import main
from qlower.diagnostics import LOGGER, QlowerError
from qlower.files.arrays import Array
from qlower.validation.result import Validation
from qlower.validation.validate import prepare, run

Capture = pytest.CaptureFixture[str]


@pytest.mark.parts(4)
def test_the_whole_held_out_set(
    model: Path, images: Array, labels: Array, expected: Validation
):
    for contract in expected.counts:
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
            model, data, contracts=tuple(expected.counts), against="tflite", jobs=jobs
        )
        assert found == expected


def test_processes_give_the_same(model: Path, stored: Path, expected: Validation):
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        found = qlower.validate(
            model,
            stored,
            contracts=tuple(expected.counts),
            against="tflite",
            executor=executor,
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
    job = prepare(model, stored, contracts=tuple(expected.counts), against="tflite")

    done: list[int] = []

    def stop(rows: int) -> None:
        done.append(rows)
        if rows > 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(job, jobs=2, resume=state, on_progress=stop)
    seen: list[int] = []
    assert run(job, jobs=2, resume=state, on_progress=seen.append) == expected
    assert seen[0] == done[-1] > 100
    assert run(job, resume=state) == expected  # nothing is left to do
    other = prepare(model, stored, contracts=("tflite",))
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


@pytest.mark.parts(4)
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


def test_a_label_out_of_range_is_counted(model: Path, images: Array):
    rows = [(images[0], 3), (images[1], 10), (images[2], None), (np.zeros(3), 1)]
    found = qlower.validate(model, rows)
    assert found.examples == 4
    assert found.counts["tflite"].labelled == 1
    reasons = [reason for _, reason in found.failures]
    assert reasons[0] == "label 10 is not in [0, 10)"
    assert "shape [3]" in reasons[1]


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


@pytest.mark.parts(5)
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
    assert ("one point is 1%" in told) == ("--max-loss 100%" in " ".join(bounds))
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


def test_the_table_fits_a_terminal(
    model: Path, tmp_path: Path, images: Array, labels: Array, capsys: Capture
):
    """With all columns: those that say least are left out, and named."""
    np.savez(tmp_path / "set.npz", image=images, labels=labels)
    command = ["validate", str(model), "--data", str(tmp_path / "set.npz")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        assert main([*command, "--contract", "pow2-shift", "--against", "tflite"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    (hidden,) = (line for line in lines if line.startswith("Hidden"))
    assert "loss" not in hidden
    assert "cosine" in hidden
