"""All pairs of contracts: as `equal` decides them one by one."""

from __future__ import annotations

import json
import runpy
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support import models_directory

import qlower
from qlower.cli.verify import cases_of
from qlower.contracts import contract_names
from qlower.diagnostics import QlowerError
from qlower.observe.layer_run import run_layer
from qlower.verification.equal import equal
from qlower.verification.group_table import Groups, LayerGroups
from qlower.verification.groups import groups
from qlower.verification.sum_rule import sum_rule

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.mlir"
SOME, LAYERS = ("tflite", "tflm", "tflite-single"), ("conv1", "logits")
MODELS = ("ic_resnet8_int8", "kws_dscnn_int8", "mobilenet_v2_1.0_224_int8")


def check_pair(found: Groups, a: str, b: str) -> None:
    """Two contracts are in a group exactly where they are decided to be equal."""
    one_by_one = equal(a, b, DIGITS, only=LAYERS, native=False)
    for row, other in zip(found.layers, one_by_one.layers, strict=True):
        assert row.layer == other.layer
        assert row.verdict(a, b) == other.verdict


@pytest.mark.long
def test_pairs_are_decided_as_one_by_one() -> None:
    found = groups(DIGITS, SOME, only=LAYERS)
    for a, b in combinations(SOME, 2):
        check_pair(found, a, b)
    assert ["tflite", "tflm"] in found.layers[0].groups
    assert "contracts; equal in every layer" in str(found)
    assert "tflite = tflm" in str(found)


def test_a_contract_without_a_rule_says_so() -> None:
    found = groups(DIGITS, ("tflite", "onnx-reference"), only=["pool"])
    (row,) = found.layers
    assert row.verdict("tflite", "onnx-reference") in (None, "equal")


def test_the_table_of_all_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = LayerGroups("conv", "conv2d", [["a", "b"], ["c"]], [("a", "c")], {"d": "no"})
    path = tmp_path / "small.json"
    path.write_text(json.dumps(Groups(["a", "b", "c", "d"], [row], {}).to_dict()))
    script = EXAMPLES / "benchmark" / "equal_contracts.py"
    runpy.run_path(str(script))["main"]([str(path)])
    lines = capsys.readouterr().out.splitlines()
    (first,) = (line for line in lines if "| a " in line)
    cells = [cell.strip() for cell in first.split("|")[1:-1]]
    assert cells == ["1", "a", "", "=", "0+1", "-"]


WRAPPING = """\
!x = !quant.uniform<u8:f32, 0.5:3>
!y = !quant.uniform<u8:f32, 0.3:10>
func.func @main(%x: tensor<1x3000x3000x1x!x>) -> tensor<1x1x!y> {
  %y = qnn.mean %x {axes = [1, 2]} : (tensor<1x3000x3000x1x!x>) -> tensor<1x1x!y>
  return %y : tensor<1x1x!y>
}
"""
"""A mean whose sum of 32 bits wraps, and elsewhere less its zero points."""

OF_MEANS = ("tflite", "tflm", "tflite-xnnpack", "tvm")


@pytest.mark.long
def test_a_mean_whose_sum_wraps_is_decided(tmp_path: Path) -> None:
    path = tmp_path / "mean.mlir"
    path.write_text(WRAPPING)
    (row,) = groups(path, OF_MEANS).layers
    assert row.groups == [["tflite", "tflm"], ["tflite-xnnpack"], ["tvm"]]
    assert row.undecided == []


@pytest.mark.parts(4)
@pytest.mark.parametrize("contract", OF_MEANS)
def test_pieces_of_a_sum_that_wraps(contract: str, tmp_path: Path) -> None:
    """They are what the rule gives for sums that numpy wraps."""
    path = tmp_path / "mean.mlir"
    path.write_text(WRAPPING)
    model = qlower.load(path)
    run = run_layer(model, contract, "y", {"x": np.zeros((1, 3000, 3000, 1), np.uint8)})
    most, points = 255 * 3000 * 3000, 3 * 3000 * 3000
    near = np.concatenate(
        [
            np.arange(middle - 999, middle + 999)
            for middle in (999, 1 << 31, (1 << 31) + points, most - 998)
        ]
    )
    sums = np.concatenate([near, np.random.default_rng(1).integers(0, most, 9999)])
    values = {**run.evaluations[-1].values, "accumulator": sums.astype(np.int32)}
    (expected,) = run.evaluations[-1].rule.evaluate(values)
    pieces = sum_rule(run).pieces
    found = pieces.value[np.searchsorted(pieces.x, sums, side="right") - 1]
    assert np.array_equal(found, expected.reshape(-1) & 255)


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_agreement_with_drawn_inputs(name: str) -> None:
    """What `diff` shows to differ is in no group together, for all pairs."""
    path = models_directory() / name / "model.tflite"
    if not path.exists():
        pytest.skip(f"{path} isn't there")
    found = groups(path)
    verdicts = {row.layer: row for row in found.layers}
    for a, b in combinations(contract_names(), 2):
        try:
            shown = qlower.diff(a, b, path, random=3)
        except QlowerError:
            continue  # a contract without a rule for some layer
        for row in shown.layers:
            if row.alone is not None and row.alone.differing:
                assert verdicts[row.name].verdict(a, b) == "differs", (a, b, row.name)


def test_each_contract_of_a_layer_is_a_case() -> None:
    """As JUnit has it: refused, decided against all others, or not."""
    found = Groups(
        ["a", "b", "c", "d"],
        [LayerGroups("conv", "conv2d", [["a", "b"], ["c"]], [("a", "c")], {"d": "no"})],
        {},
    )
    told = {case.name: case.failure or case.skipped for case in cases_of(found)}
    assert told == {
        "conv d": "no",
        "conv a": "undecided against c",
        "conv b": "undecided against c",
        "conv c": "undecided against a",
    }
    assert [case.name for case in cases_of(found) if case.skipped] == ["conv d"]
