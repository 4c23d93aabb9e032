"""Certificates in which any one entry says something else: the checker rejects each,
and accepts what is equal on all sums of weights that share a factor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.damage.forgeries import forged, forgeries
from support.formats.tflite_builder import TFLiteBuilder
from support.formats.tflite_cases import CASES
from support.lanes import a_part

from qlower.frontends.load import load
from qlower.model.layers import layer_name, layers
from qlower.observe.layer_run import run_layer
from qlower.verification.certificates import check_certificate
from qlower.verification.certificates.make import write_certificate

Capture = pytest.CaptureFixture[str]

PAIR = ("tflite", "tflm")
WEIGHTS = [[100, -100], [50, -100], [-7, 49], [100, 0], [0, 0], [99, 1]]


def linear(
    weights: Sequence[Sequence[int]], biases: Sequence[int], scale: float, rows: int = 1
) -> bytes:
    """A fully connected layer of two inputs, and a logistic function of its results."""
    builder, count = TFLiteBuilder(), len(weights)
    x = builder.tensor("x", (rows, 2), "int8", scale=0.5, zero_point=3)
    w = builder.tensor(
        "w", (count, 2), "int8", scale=0.02, zero_point=0, data=np.array(weights)
    )
    b = builder.tensor(
        "b", (count,), "int32", scale=0.01, zero_point=0, data=np.array(biases)
    )
    y = builder.tensor("y", (rows, count), "int8", scale=scale, zero_point=-1)
    z = builder.tensor("z", (rows, count), "int8", scale=1 / 256, zero_point=-128)
    builder.operator("FULLY_CONNECTED", [x, w, b], [y], {})
    builder.operator("LOGISTIC", [y], [z], {})
    return builder.build([x], [z])


def certified(path: Path) -> list[bool]:
    """The checker's verdict on each channel of the first operator."""
    record = json.loads((path.parent / "certificate.json").read_text())
    rules = [json.loads((path.parent / f"{side}.json").read_text()) for side in "ab"]
    one, *_ = check_certificate.read_model(path.read_bytes())
    return check_certificate.check_operator(one, rules, record["operators"]["0"])


@pytest.mark.parts(6)
@pytest.mark.parametrize("scale", [1.0, 7.3, 16.0])
@pytest.mark.parametrize("bias", [0, 150])
@pytest.mark.parametrize("pair", [PAIR, ("tflite", "glow-cpu")])
def test_weights_that_share_a_factor(
    pair: tuple[str, str], bias: int, scale: float, tmp_path: Path
) -> None:
    """Contracts are compared on every input: each multiple of a factor is a sum."""
    path = tmp_path / "model.tflite"
    path.write_bytes(linear(WEIGHTS, [bias] * len(WEIGHTS), scale))
    write_certificate(*pair, path, tmp_path)
    found = certified(path)
    every = tmp_path / "every.tflite"
    every.write_bytes(linear(WEIGHTS, [bias] * len(WEIGHTS), scale, rows=1 << 16))
    model = load(every)
    name = layer_name(next(iter(layers(model.module)))) or ""
    inputs = {"x": np.array([*product(range(-128, 128), repeat=2)], np.int8)}
    a, b = (run_layer(model, contract, name, inputs).result for contract in pair)
    assert found == (a == b).all(axis=0).tolist()


def small(folder: Path) -> Path:
    """A certificate of two channels that are equal, and two that differ."""
    path = folder / "model.tflite"
    path.write_bytes(linear([WEIGHTS[n] for n in (0, 4, 1, 5)], [150] * 4, 40.0))
    write_certificate(*PAIR, path, folder)
    assert certified(path) == [True, True, False, False]
    return path


def is_rejected(path: Path, text: str, capsys: Capture) -> bool:
    (path.parent / "certificate.json").write_text(text)
    code = check_certificate.main([str(path), str(path.parent)])
    return "\nrejected: " in capsys.readouterr().out and code == 1


LONG = ["conv2d_clipped", "depthwise_conv2d_multiplier", "mean", "requantize_sign"]


@pytest.mark.parametrize(
    "kind",
    ["two by two", *(pytest.param(kind, marks=pytest.mark.long) for kind in LONG)],
)
def test_no_forgery_is_accepted(kind: str, tmp_path: Path, capsys: Capture) -> None:
    """One in a few of the entries, and with `--long` each, one at a time."""
    path = tmp_path / "model.tflite"
    if kind == "two by two":
        small(tmp_path)
    else:
        path.write_bytes(CASES[kind]())
        write_certificate(*PAIR, path, tmp_path)
    text = (tmp_path / "certificate.json").read_text()
    assert not is_rejected(path, text, capsys)
    leaves = [
        leaf
        for leaf in forgeries(json.loads(text))
        if kind == "two by two" or leaf[0][2:3] in ((), (0,), (1,))
        if leaf[0][4:5] in ((), (0,))  # of the steps one is as the others
        # contracts may differ at any other number, too
        if leaf[0][-1] != "differs" or type(leaf[1]) is not int
    ]
    leaves = a_part(leaves, 3, 1)
    for leaf in leaves:
        other = json.dumps(forged(json.loads(text), leaf))
        assert is_rejected(path, other, capsys), leaf
    assert len(leaves) > 30


def test_no_certificate(tmp_path: Path, capsys: Capture) -> None:
    """Is an answer, and no error inside the checker."""
    path = small(tmp_path)
    for text in ("", "{", "[" * 100_000, "1" * 5_000):
        assert is_rejected(path, text, capsys)
    for text in ("5", "null", "[]", '"x"', "NaN", '["format", "sha256", "operators"]'):
        (tmp_path / "certificate.json").write_text(text)
        assert check_certificate.main([str(path), str(tmp_path)]) == 1
        assert "\nrejected: not in the format qlower cert" in capsys.readouterr().out


def test_no_operators_are_an_object(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(CASES["quantize"]())
    write_certificate(*PAIR, path, tmp_path)
    text = (tmp_path / "certificate.json").read_text()
    assert not is_rejected(path, text, capsys)
    assert '"operators": {}' in text
    other = text.replace('"operators": {}', '"operators": []')
    assert is_rejected(path, other, capsys)


def test_every_sum_is_looked_at() -> None:
    """From the least to the greatest, with a border before 0 and behind it."""
    code, options, inputs, output = check_certificate.read_model(
        linear(WEIGHTS, [150] * len(WEIGHTS), 40.0)
    )[0]
    assert code == 9
    channels: Any = vars(check_certificate)["channels"]
    given = channels("linear", options, inputs, output)
    for weights, (_, low, high, cuts, factor) in zip(WEIGHTS, given, strict=True):
        step = max(int(np.gcd.reduce(weights)), 1)
        assert factor == step
        assert (150 - low) % step == (high - 150) % step == 0
        ends = {
            next(cut + n for n in range(step) if (cut + n - 150) % step == 0)
            for cut in (0, 1)
        }
        assert cuts == sorted(ends)


class Recorder:
    """A rule that is 5 everywhere."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def value(self, first: int, last: int) -> int:
        self.seen.append((first, last))
        return 5


def test_intervals_end_at_sums() -> None:
    rules = Recorder(), Recorder()
    entry = {"low": -200, "high": 300, "first": 5, "steps": []}
    assert check_certificate.check_channel(rules, entry, -200, 300, (0, 100), 100)
    assert [rule.seen for rule in rules] == [[(-200, -100), (0, 0), (100, 300)]] * 2


def test_entries_that_claim_no_more(tmp_path: Path) -> None:
    """Steps behind the last sum, or between sums, and lists that aren't any."""
    path = small(tmp_path)
    record = json.loads((tmp_path / "certificate.json").read_text())
    rules = [json.loads((tmp_path / f"{side}.json").read_text()) for side in "ab"]
    one, *_ = check_certificate.read_model(path.read_bytes())
    entries: list[dict[str, Any]] = record["operators"]["0"]
    first, constant, differs, _ = entries
    steps = first["steps"]
    assert constant["steps"] == []
    assert all(step % 100 == 0 for step in steps)
    end = first["high"] + 100 - first["low"] - sum(steps)
    for number, other in (
        (0, {**first, "steps": [*steps, end]}),
        (0, {**first, "steps": [steps[0] + 1, steps[1] - 1, *steps[2:]]}),
        (0, {**first, "steps": [steps[0] - 1, steps[1] + 1, *steps[2:]]}),
        (0, {"differs": first["low"] + 1}),
        (0, differs),
        (1, {**constant, "steps": {}}),
        (1, {**constant, "steps": ""}),
        (1, ["low", "high", "first", "steps"]),
        (2, {"differs": differs["differs"] + 1}),
        (2, {"differs": 150}),
        (2, {"differs": 1 << 70}),
        (2, {"differs": 150 - 50 * 500}),
        (2, ["differs"]),
    ):
        changed = [*entries[:number], other, *entries[number + 1 :]]
        with pytest.raises((ValueError, TypeError)):
            check_certificate.check_operator(one, rules, changed)
