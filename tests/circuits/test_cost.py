"""What contracts cost: Yosys's figures beside differences of outputs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.circuits.circuits import drawn, interpreted, simulated

import qlower
from qlower.circuits import cost
from qlower.circuits.cost import Cost
from qlower.circuits.requantizer import requantizer
from qlower.cli import main
from qlower.contract_pages.contract_differences import (
    Comparison,
    Disagreement,
    Kind,
    Subject,
)
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.frontends.load import as_model

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@pytest.mark.long
def test_a_narrower_multiplier_needs_less() -> None:
    model = as_model(DIGITS / "digits.mlir")
    names = [qlower.arithmetic(multiplier=bits) for bits in (32, 16, 8, 2)]
    circuits = [requantizer(model, load_contract(name)) for name in names]
    widths = [one.multipliers[0][0] for one in circuits]
    bits = [one.bits[1] for one in circuits]
    assert widths[0] == 31
    assert bits == sorted(bits, reverse=True)
    with pytest.raises(QlowerError, match="has a step in floats"):
        requantizer(model, load_contract("exact"))


def test_outputs_that_differ_are_those_of_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers without a requantizer, such as a softmax, aren't counted."""
    pairs = {("tflm", "exact"): Disagreement(200, 2, 1)}
    kinds = {key: Kind(1, {}, pairs) for key in ("conv2d", "linear", "softmax")}
    found = Comparison(["tflm", "exact"], kinds=kinds)
    monkeypatch.setattr(cost, "compare", lambda *_: found)
    any_circuit: Any = object()
    monkeypatch.setattr(
        *(cost, "_cost"),
        lambda _, name, total: Cost(
            name, any_circuit if name == "tflm" else None, None, total, "floats"
        ),
    )
    subject = Subject("digits", as_model(DIGITS / "digits.mlir"), {})
    for names in (["tflm"], ["tflm", "exact"]):
        row, *others = cost.costs(subject, names).rows
        assert row.difference == Disagreement(400, 4, 1)
        assert [one.contract for one in others] == names[1:]
    with pytest.raises(QlowerError) as caught:
        cost.costs(subject, ["exact"])
    assert caught.value.message == "no contract has a requantizer of integers"
    assert caught.value.notes == ("exact: floats",)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog isn't installed")
def test_a_requantizer_has_the_results_of_the_interpreter(tmp_path: Path) -> None:
    model = as_model(DIGITS / "digits.mlir")
    circuit = requantizer(model, load_contract(qlower.arithmetic(multiplier=12)))
    values = drawn(circuit, 500, 1)
    results = simulated(circuit, values, tmp_path)
    np.testing.assert_array_equal(results, interpreted(circuit, values))


@pytest.mark.long
@pytest.mark.parametrize(
    "has_yosys", [False, pytest.param(True, marks=pytest.mark.long)]
)
def test_the_command(
    has_yosys: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_yosys:
        monkeypatch.setenv("PATH", "")
    elif shutil.which("yosys") is None:
        pytest.skip("yosys isn't installed")
    model = f"{DIGITS / 'digits.mlir'}={DIGITS / 'test_images.npy'}"
    line = ["cost", "tflm", "pow2-shift", "exact", "--model", model, "--examples", "4"]
    assert main(line) == 0
    printed = capsys.readouterr().out
    assert "31 x " in printed
    assert "exact: rule conv2d of contract exact has a step in floats" in printed
    assert ("yosys is not installed (apt install yosys)" in printed) != has_yosys
    assert ("1.00" in printed) == has_yosys
