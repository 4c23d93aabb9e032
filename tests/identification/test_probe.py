"""Probes: what they tell apart, and their files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.contracts import contract_names, load_contract
from qlower.identification.cases import FACTORS, LARGEST_PRODUCT_SUM, Cases, weights_for
from qlower.identification.probe import (
    Format,
    Probe,
    make_probe,
    probe,
    separating,
    write_probe,
)
from qlower.identification.replay import Replay
from qlower.verification.equal import equal

MOST = 1000
"""The vectors that may name a contract."""


def test_columns_that_separate_rows() -> None:
    values = np.array([[0, 0, 5, 1, 1], [0, 1, 5, 1, 1], [0, 1, 5, 2, 1]])
    assert separating(values) == [1, 3]
    assert separating(values, 2) == [1, 3]
    assert separating(values[[0, 0]]) == []


def test_weights_have_the_sums() -> None:
    most = LARGEST_PRODUCT_SUM
    sums = np.array([0, 1, -1, 12_345, -98_765, most, -most])
    assert (weights_for(sums) @ FACTORS == sums).all()


def small_probe(signed: bool) -> Probe:
    """A layer of each kind, with few elements."""
    draw, cases = np.random.default_rng(0), Cases(signed=signed)
    layers = {
        case.name: case.layer(case.points[draw.choice(len(case.points), 5)])
        for case in cases.all()
    }
    return make_probe({**layers, **dict(cases.products())})


@pytest.mark.parametrize("format", ["tflite", "onnx", "mlir"])
def test_files_are_the_same_model(format: Format, tmp_path: Path) -> None:
    made = small_probe(format != "onnx")
    path = write_probe(made, format, tmp_path / "probe")
    model = qlower.load(path)
    with np.load(tmp_path / "probe" / "inputs.npz") as inputs:
        given = [inputs[spec.name] for spec in model.inputs]
    expected = qlower.interpret(
        made.model, *made.inputs.values(), contract="exact", at="qnn"
    )
    results = qlower.interpret(model, *given, contract="exact", at="qnn")
    for one, other in zip(expected, results, strict=True):
        is_image = format == "onnx" and one.ndim == 4
        assert np.array_equal(one, np.moveaxis(other, 1, -1) if is_image else other)


@pytest.mark.parametrize(
    "arguments",
    [["--probe", "tflite"], ["x", "--probe", "mlir", "-o", "y"], ["x"], []],
)
def test_wrong_command_lines(arguments: list[str]) -> None:
    assert main(["identify", *arguments]) == ExitCode.USAGE


@cache
def made_probe(format: Format) -> Probe:
    """The probe that users get."""
    return probe(format)


@pytest.mark.long
@pytest.mark.parametrize("name", contract_names())
def test_every_contract_is_named(name: str) -> None:
    """Alone, or with those that are equal to it in the probe's layers."""
    made = made_probe("mlir")
    assert made.outputs <= MOST
    replay = Replay(made.model, {name: load_contract(name)})
    (values,) = replay.run(0, made.inputs)
    outputs = {
        replay.names[value]: array
        for value, array in values.items()
        if not isinstance(array, str)
    }
    found = qlower.identify(
        outputs, made.model, *made.inputs.values(), family=False, verify=False
    )
    assert name in found.names
    for other in found.names:
        verdict = equal(name, other, made.model, only=outputs, native=False)
        assert verdict.holds, (name, other, str(verdict))


LITERT = {
    "litert": "tflite-xnnpack",
    "litert-opt": "tflite-ruy",
    "litert-ref": "tflite",
}


@pytest.mark.long
@pytest.mark.parametrize("system", LITERT)
def test_litert_is_named(system: str, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert")
    made = made_probe("tflite")
    path = write_probe(made, "tflite", tmp_path / "probe")
    found = qlower.identify(system, path, *made.inputs.values(), verify=False)
    assert LITERT[system] in found.names
    assert found.best.outputs == made.outputs


@pytest.mark.long
def test_onnxruntime_is_named(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = write_probe(made_probe("onnx"), "onnx", tmp_path / "probe")
    with np.load(tmp_path / "probe" / "inputs.npz") as inputs:
        given = dict(inputs)
    found = qlower.identify("live:onnxruntime", path, **given)
    assert "onnxruntime" in found.names


@pytest.mark.long
@pytest.mark.parametrize("engine", ["fbgemm", "onednn", "qnnpack", "x86"])
def test_engines_of_pytorch_are_named(engine: str) -> None:
    pytest.importorskip("torch")
    made = made_probe("onnx")
    found = qlower.identify(f"torch-{engine}", made.model, *made.inputs.values())
    assert f"pytorch-{engine}" in found.names
    assert {one.verdict for one in found.alike} <= {"equal"}
