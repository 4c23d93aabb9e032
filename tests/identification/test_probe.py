"""Probes: what they tell apart, and their files."""

from __future__ import annotations

import itertools
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.contracts import contract_names, load_contract
from qlower.identification.cases import (
    FACTORS,
    LARGEST_PRODUCT_SUM,
    TURN_BITS,
    TURN_COUNTS,
    Cases,
    opposite_bias,
    weights_for,
)
from qlower.identification.onnx_file import channels_first
from qlower.identification.probe import (
    Format,
    Probe,
    chosen,
    make_probe,
    probe,
    separating,
    write_probe,
)
from qlower.identification.replay import Replay
from qlower.model.weights import weight_specs
from qlower.verification.equal import equal

MOST = 2000
"""The vectors that may name a contract, or a member of the family."""


def test_columns_that_separate_rows() -> None:
    values = np.array([[0, 0, 5, 1, 1], [0, 1, 5, 1, 1], [0, 1, 5, 2, 1]])
    assert separating(values) == [1, 3]
    assert separating(values, 2) == [1, 3]
    assert separating(values[[0, 0]]) == []


def test_weights_have_the_sums() -> None:
    most = LARGEST_PRODUCT_SUM
    sums = np.array([0, 1, -1, 12_345, -98_765, most, -most])
    assert (weights_for(sums) @ FACTORS == sums).all()


def test_only_images_have_their_channels_first() -> None:
    image = np.arange(24).reshape(1, 2, 3, 4)
    turned = channels_first(image)
    assert turned.shape == (1, 4, 2, 3)
    assert turned[0, 3, 1, 2] == image[0, 1, 2, 3]
    rows = image.reshape(4, 6)
    assert channels_first(rows) is rows


def small_probe(signed: bool) -> Probe:
    """A layer of each kind, with few elements."""
    draw, cases = np.random.default_rng(0), Cases(signed=signed)
    layers = {
        case.name: case.layer(case.points[draw.choice(len(case.points), 5)])
        for case in cases.all()
    }
    return make_probe({**layers, **dict(cases.products())})


@pytest.mark.parts(3)
@pytest.mark.parametrize("format", ["tflite", "onnx", "mlir"])
def test_files_are_the_same_model(format: Format, tmp_path: Path) -> None:
    made = small_probe(format != "onnx")
    path = write_probe(made, format, tmp_path)
    model = qlower.load(path)
    with np.load(tmp_path / "inputs.npz") as inputs:
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


def test_the_command_writes_a_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = small_probe(signed=True)
    monkeypatch.setattr("qlower.identification.probe.probe", lambda *_: made)
    folder = tmp_path / "probe"
    command = ["identify", "--probe", "mlir", "-o", str(folder)]
    assert main(command) == 0
    assert f"of {made.outputs} numbers altogether" in capsys.readouterr().out
    model = qlower.load(folder / "probe.mlir")
    with np.load(folder / "inputs.npz") as inputs:
        assert set(inputs) == {spec.name for spec in model.inputs}
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["numbers"] == made.outputs


FEW = ["exact", "tflite", "tflite-single", "tosa", "onnxruntime"]


@pytest.mark.parametrize(
    "name", ["add_ties", pytest.param("linear_ties", marks=pytest.mark.long)]
)
def test_chosen_points_tell_apart_what_all_points_do(name: str) -> None:
    contracts = {name: load_contract(name) for name in FEW}
    (case,) = (one for one in Cases(signed=True).all() if one.name == name)
    groups: list[set[frozenset[str]]] = []
    for layer in (case.layer(case.points), chosen(case, contracts)):
        made = make_probe({name: layer})
        replay = Replay(made.model, contracts)
        (output,) = made.model.outputs
        nothing = np.zeros(output.shape, output.numpy_dtype)
        found = replay.run(0, {**made.inputs, output.name: nothing})
        alike: dict[bytes, set[str]] = {}
        for contract, values in zip(contracts, found, strict=True):
            (array,) = values.values()
            assert not isinstance(array, str)
            alike.setdefault(array.tobytes(), set()).add(contract)
        groups.append({frozenset(names) for names in alike.values()})
    assert groups[0] == groups[1]
    assert len(groups[0]) > 1


@cache
def made_probe(format: Format) -> Probe:
    """The probe that users get."""
    return probe(format)


@pytest.mark.long
def test_every_contract_is_named() -> None:
    """Alone, or with those that are equal to it in the probe's layers, and refuse the
    same ones."""
    made = made_probe("mlir")
    assert made.outputs <= MOST
    contracts = {name: load_contract(name) for name in contract_names()}
    replay = Replay(made.model, contracts)
    groups: dict[tuple[bytes, ...], list[str]] = {}
    computed: dict[str, list[str]] = {}
    for name, values in zip(contracts, replay.run(0, made.inputs), strict=True):
        computed[name] = [
            replay.names[value]
            for value, array in values.items()
            if not isinstance(array, str)
        ]
        key = tuple(
            b"" if isinstance(array, str) else array.tobytes()
            for array in values.values()
        )
        groups.setdefault(key, []).append(name)
    for first, *others in groups.values():
        for other in others:
            verdict = equal(
                first, other, made.model, only=computed[first], native=False
            )
            assert verdict.holds, (first, other, str(verdict))
    assert len(groups) > 0.8 * len(contracts)


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
    path = write_probe(made, "tflite", tmp_path)
    found = qlower.identify(system, path, *made.inputs.values(), verify=False)
    assert LITERT[system] in found.names
    assert found.best.outputs == made.outputs


@pytest.mark.long
def test_onnxruntime_is_named(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = write_probe(made_probe("onnx"), "onnx", tmp_path)
    with np.load(tmp_path / "inputs.npz") as inputs:
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


@pytest.mark.parametrize("signed", [True, False])
def test_sums_turn_behind_the_end_of_a_register(signed: bool) -> None:
    """Half a product of the largest code, the last of 1 to 16, up or down, and nothing
    where its weight is 1; all come back to 0."""
    layer = dict(Cases(signed=signed).products())["turns"]
    made = make_probe({"turns": layer})
    (spec,) = made.model.inputs
    (codes,) = made.inputs.values()
    (weights, _) = weight_specs(made.model.module)
    steps = codes.reshape(-1).astype(np.int64) - (spec.zero_point or 0)
    assert set(steps.tolist()) == {255}
    rows = weights.stored.astype(np.int64).reshape(-1, len(steps))
    sums = np.cumsum(rows * steps, axis=1)
    settings = list(itertools.product(TURN_BITS, TURN_COUNTS))
    assert len(rows) == len(settings)
    for number, (bits, count) in enumerate(settings):
        line = sums[number] * (-1) ** number
        top = int(line.argmax())
        weight = abs(int(rows[number, top]))
        end = 1 << bits - 1
        assert line[top] == 255 * (end // 255 + weight // 2)
        assert (np.abs(rows[number, top - count + 1 : top + 1]) == weight).all()
        assert line[top - 1] <= end
        assert line[-1] == 0


def test_biases_that_products_go_against() -> None:
    """By three sevenths of the sum and 997, but less than weights can make."""
    most = LARGEST_PRODUCT_SUM - 1
    sums = np.array([0, 7, -7000, 1 << 29, -(1 << 29)])
    bias = opposite_bias(sums)
    assert (bias - sums).tolist() == [997, 1000, -2003, most, -most]
    products = sums - bias
    assert (weights_for(products) @ FACTORS == products).all()
