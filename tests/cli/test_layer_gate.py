"""Verdicts on layers whose signal to noise has a bound."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from qlower.cli.layer_gate import check_layers
from qlower.explain.diff_result import Diff


def difference(differing: int, decibels: float | None) -> Any:
    return SimpleNamespace(differing=differing, elements=2000, decibels=decibels)


def layer(name: str, carried: Any, alone: Any = None) -> Any:
    return SimpleNamespace(name=name, carried=carried, alone=alone)


LAYERS = [
    layer("same", difference(0, None), difference(0, None)),
    layer("above", difference(1000, 10.0), difference(3, 60.0)),
    layer("below", difference(1999, 9.96), difference(0, None)),
    layer("unknown", difference(7, None)),
    layer("unmatched", None, difference(5, 50.0)),
]
TOLD = {
    "same": "",
    "above": (
        "3 of 2,000 elements differ, alone; 1,000 of 2,000 elements differ, carried"
    ),
    "below": "1,999 of 2,000 elements differ, carried",
    "unknown": "7 of 2,000 elements differ, carried",
    "unmatched": "5 of 2,000 elements differ, alone",
}


def found(*names: str) -> Any:
    chosen = [one for one in LAYERS if one.name in names]
    fake: Any = SimpleNamespace(layers=chosen)
    fake.below = lambda decibels: Diff.below(fake, decibels)
    return fake


@pytest.mark.parametrize(
    ("bound", "names", "verdict", "failing"),
    [
        (None, [*TOLD], None, ["above", "below", "unknown", "unmatched"]),
        (10, [*TOLD], False, ["below", "unknown"]),
        (10, ["same", "above", "unmatched"], True, []),
        (10.001, ["above"], False, ["above"]),
        (-5, ["same", "above", "below"], True, []),
        (10, [], True, []),
    ],
)
def test_layers_below_a_bound_are_named(
    bound: float | None,
    names: list[str],
    verdict: bool | None,
    failing: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On standard error, and in JUnit's file with what differs; without a bound every
    layer that differs fails there."""
    gate = tmp_path / "gate.xml"
    options = argparse.Namespace(fail_below=bound, junit=gate, command="diff")
    assert check_layers(options, found(*names)) is verdict
    decibels = {"above": "10.0", "below": "10.0", "unknown": "unknown"}
    lines = [
        f"error: {name} has {decibels[name]} dB, at least {bound:g} are asked for"
        for name in failing
        if bound is not None
    ]
    assert capsys.readouterr().err.splitlines() == lines
    text = gate.read_text()
    assert f'tests="{len(names)}" failures="{len(failing)}"' in text
    for name in names:
        failure = f'<failure message="{TOLD[name]}" />'
        case = text.partition(f'name="{name}"')[2].partition("<testcase")[0]
        assert (failure in case) == (name in failing)


def test_no_file_that_was_not_asked_for() -> None:
    options = argparse.Namespace(fail_below=None, junit=None, command="diff")
    assert check_layers(options, found("below")) is None
