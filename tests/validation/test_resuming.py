"""What was counted is added to for the same work alone, of which all parts count."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_cases import CASES
from support.layers.custom_contracts import ADDING
from support.layers.small_model import SMALL_MODEL

from qlower.cli import main
from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array
from qlower.validation.key import metric_key, reference_key
from qlower.validation.result import Validation
from qlower.validation.state import Progress
from qlower.validation.validate import validate

Metric = Callable[[tuple[Array, ...], Any], Mapping[str, float]]


def metric_in(folder: Path, text: str) -> Metric:
    """The function of a file, as the command line has it."""
    from qlower.cli.validate import load_metric

    (folder / "metric.py").write_text(text)
    return load_metric(f"{folder / 'metric.py'}:metric")


METRIC = """
def helper(x):
    return x.sum()

def metric(outputs, classes):
    return {"sum": float(helper(outputs[0]))}
"""


def write_chain(added: int) -> None:
    """Contracts by which the base of a base adds a number to outputs."""
    base = 'module attributes {{contract.base = "{}"}} {{}}\n'
    Path("a.mlir").write_text(base.format("bases/b.mlir"))
    Path("bases").mkdir(exist_ok=True)
    Path("bases/b.mlir").write_text(base.format("c.mlir"))
    Path("bases/c.mlir").write_text(ADDING.format(base="onnxruntime", added=added))


def count(
    contract: str = "tflite", layer: str = "onnxruntime", text: str = METRIC
) -> Validation:
    return validate(
        "model.mlir",
        "x.npy",
        contracts=contract,
        against="onnxruntime.mlir",
        layer_contracts={"linear": layer},
        metric=metric_in(Path(), text),
        jobs=1,
        resume="state.json",
    )


def change_row() -> None:
    rows = np.load("x.npy")
    rows[5] ^= 1
    np.save("x.npy", rows)


CHANGES: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], object]]] = {
    "a base": ("contract a.mlir", lambda _: write_chain(9)),
    "a layer's contract": (
        "contract layer.mlir",
        lambda _: shutil.copy("bases/c.mlir", "layer.mlir"),
    ),
    "the model": (
        "model",
        lambda _: Path("model.mlir").write_text(SMALL_MODEL.replace("100", "101")),
    ),
    "a row": ("the data", lambda _: change_row()),
    "the compiler": (
        "qlower",
        lambda patch: patch.setattr("qlower.validation.key.own_code", lambda: b"new"),
    ),
}


def test_other_work_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    begun = tmp_path / "begun"
    begun.mkdir()
    monkeypatch.chdir(begun)
    Path("model.mlir").write_text(SMALL_MODEL)
    base = 'module attributes {contract.base = "onnxruntime"} {}\n'
    for name in ("onnxruntime.mlir", "layer.mlir"):
        Path(name).write_text(base)
    write_chain(1)
    random = np.random.default_rng(0)
    np.save("x.npy", random.integers(-128, 128, (20, 2, 2, 1), np.int8))
    first = count("a.mlir", "layer.mlir")
    assert count("a.mlir", "layer.mlir") == first
    for name, (part, change) in CHANGES.items():
        shutil.copytree(begun, tmp_path / name)
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path / name)
            change(patch)
            message = rf"was written by a different run \(key differs\): {part}\n"
            with pytest.raises(QlowerError, match=message):
                count("a.mlir", "layer.mlir")


def test_the_code_of_a_metric(tmp_path: Path):
    def key(text: str) -> object:
        return metric_key(metric_in(tmp_path, text))

    first = key(METRIC)
    assert key(METRIC) == first
    assert key(METRIC.replace("x.sum", "x.max")) != first
    assert key(METRIC.replace("outputs[0]", "outputs[1]")) != first


def test_what_a_metric_holds_on_to():
    def scaled(factor: object) -> Metric:
        def metric(outputs: tuple[Array, ...], classes: object) -> dict[str, float]:
            assert metric is not None
            return {"sum": float(outputs[0].sum() * factor)}

        return metric

    class Scaled:
        def __init__(self, factor: object) -> None:
            self.factor = factor

        def __call__(self, outputs: object, classes: object) -> dict[str, float]:
            return {}

    def power(exponent: object, outputs: object, classes: object) -> dict[str, float]:
        return {}

    for make in (scaled, lambda x: partial(power, x), lambda x: scaled((x, power))):
        one, same, other = (metric_key(make(np.full(3, x))) for x in (1, 1, 2))
        assert one == same != other
    assert metric_key(Scaled(1)) == metric_key(Scaled(1))
    assert metric_key(np.mean) == metric_key(np.mean)


def test_a_set_is_one_in_any_order():
    """Texts are in another order in each process."""

    def metric(outputs: object, classes: object) -> dict[str, float]:
        return {"is_known": float(classes in {0, 8})}

    first = metric_key(metric)
    constants = metric.__code__.co_consts
    turned = tuple(
        frozenset((8, 0)) if isinstance(constant, frozenset) else constant
        for constant in constants
    )
    assert repr(turned) != repr(constants)
    metric.__code__ = metric.__code__.replace(co_consts=turned)
    assert metric_key(metric) == first


def test_the_content_of_a_reference(tmp_path: Path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    model = onnx.ModelProto.FromString(CASES["conv"]().build())
    tensor = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    weights = tmp_path / "w.bin"
    weights.write_bytes(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    path = tmp_path / "float.onnx"
    path.write_bytes(model.SerializeToString())
    first = reference_key(path)
    assert reference_key(path) == first
    weights.write_bytes(weights.read_bytes()[::-1])
    second = reference_key(path)
    path.write_bytes(path.read_bytes() + b"\x32\x01x")
    assert len({str(key) for key in (first, second, reference_key(path))}) == 3


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "null", '{"key": []}', '{"key": [[[]]]}', "\x00"]
)
def test_a_file_that_is_no_state(text: str, tmp_path: Path):
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(QlowerError, match=r"state.json is no state of"):
        Progress({}, tmp_path / "state.json").load()


def test_an_edited_state_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks that count as done, or not, and counts that are others."""
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(SMALL_MODEL)
    np.save("x.npy", np.zeros((40, 1, 2, 2, 1), np.int8))
    run = partial(validate, "model.mlir", "x.npy", contracts="tflite", jobs=1)
    first = run(resume="state.json")
    text = Path("state.json").read_text()
    assert run(resume="state.json").counts == first.counts
    for old, new in (('"done": [0', '"done": [-5'), ('"failed": 0', '"failed": 1')):
        assert old in text
        Path("state.json").write_text(text.replace(old, new, 1))
        with pytest.raises(QlowerError, match=r"state.json is no state of"):
            run(resume="state.json")


def test_rows_that_are_not_finite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """They are no examples, whichever they are, and are counted by themselves."""
    monkeypatch.chdir(tmp_path)
    Path("model.mlir").write_text(SMALL_MODEL)
    rows = np.random.default_rng(0).standard_normal((40, 2, 2, 1))
    clean = np.delete(rows, [0, 7, 39], axis=0)
    rows[0, 1, 0], rows[7, 0, 1], rows[39] = np.nan, np.inf, -np.inf
    for dtype in (np.float32, np.float64):
        np.save("x.npy", rows.astype(dtype))
        found = validate("model.mlir", "x.npy", contracts="tflite", against="exact")
        assert (found.examples, found.failed, found.not_finite) == (40, 3, 3)
        assert found.failures[0] == (0, "element 2 is nan")
        assert found.counts["tflite"].examples == 37
        alone = validate("model.mlir", clean.astype(dtype), against="exact")
        assert found.counts == alone.counts
    rows[8, 0, 0] = 1e300  # which float32 doesn't hold
    stream = validate("model.mlir", iter(rows), contracts="tflite")
    assert (stream.failed, stream.not_finite) == (4, 4)
    assert stream.failures[2] == (8, "element 0 is 1e+300")
    assert main(["validate", "model.mlir", "--data", "x.npy"]) == 0
    assert (
        "3 of 40 rows could not be used, 3 of them for inf" in capsys.readouterr().out
    )
    assert main(["validate", "model.mlir", "--data", "x.npy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_finite"] == 3
