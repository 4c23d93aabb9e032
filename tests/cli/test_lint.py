"""`qlower lint`: what can leave its width, and where it does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from qlower.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
DIGITS = str(EXAMPLES / "digits" / "digits.mlir")

Capture = pytest.CaptureFixture[str]


def findings(capsys: Capture, *arguments: str) -> list[dict[str, object]]:
    code = main(["lint", *arguments, "--json"])
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    assert code == bool(found)
    return found


def test_nothing_to_find(model: str, capsys: Capture):
    assert findings(capsys, model) == []


def test_accumulators_of_a_narrow_device(model: str, capsys: Capture):
    """Channel 0 of conv: 100 + 64 * [0, 255] = [100, 16420]."""
    assert findings(capsys, model, "--accumulator-bits", "16") == []
    (conv,) = findings(capsys, model, "--accumulator-bits", "15")
    assert (conv["layer"], conv["what"], conv["bits"]) == ("conv", "accumulator", 15)
    assert (conv["minimum"], conv["maximum"]) == (100, 16420)
    assert (conv["channels_at_risk"], conv["channels"]) == (1, 2)
    for codes, out in ((127, 4), (126, 0)):
        np.save("x.npy", np.full((1, 2, 2, 1), codes, np.int8))
        command = [model, "--accumulator-bits", "15", "--input", "x.npy"]
        (conv,) = findings(capsys, *command)
        assert (conv["out_of_range"], conv["sums"]) == (out, 8)


def test_pairs_of_every_layer(capsys: Capture):
    """As many channels as the example fbgemm-overflow counts by itself."""
    contract = ["--contract", "pytorch-fbgemm-avx2"]
    for options in (contract, ["--pairs"]):
        found = findings(capsys, DIGITS, *options)
        assert [(row["layer"], row["channels_at_risk"]) for row in found] == [
            ("conv1", 8),
            ("depthwise", 4),
            ("pointwise", 3),
            ("logits", 7),
        ]
        assert all(row["what"] == "pairs" and row["bits"] == 16 for row in found)


def test_wrong_widths(model: str, capsys: Capture):
    assert main(["lint", model, "--accumulator-bits", "1"]) == 1
    assert "must be in [2, 63], not 1" in capsys.readouterr().err
