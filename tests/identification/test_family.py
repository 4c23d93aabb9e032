"""Arithmetics put together of steps: as contracts, and found again."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.cli import main
from qlower.contracts import load_contract, parse_contract
from qlower.contracts.family import Arithmetic, arithmetic_text
from qlower.contracts.family.choices import CHOICES, FIXED, INSIDE
from qlower.identification.cases import Cases, Reals
from qlower.identification.device import ranges
from qlower.identification.evidence import Evidence
from qlower.identification.probe import Probe, make_probe, probe
from qlower.identification.replay import Replay
from qlower.interp.values import Array
from qlower.model.printing import exact_module

CONTRACTS = Path(qlower.__file__).parent / "contracts"


def small_probe() -> Probe:
    """Convolutions at ties and near them, and products that leave 16 bits."""
    cases = Cases(signed=True)
    draw = np.random.default_rng(0)

    def some(points: Reals) -> Reals:
        return points[np.sort(draw.choice(len(points), 60, replace=False))]

    every = {case.name: case for case in cases.all()}
    names = ("conv_ties", "conv_near", "conv_sums")
    layers = {name: every[name].layer(some(every[name].points)) for name in names}
    return make_probe({**layers, **dict(cases.products())})


def drawn(count: int, seed: int) -> list[Arithmetic]:
    """Members of the family."""
    draw = random.Random(seed)
    return [
        Arithmetic(**{n: draw.choice(list(v)) for n, v in CHOICES.items()}).normal()
        for _ in range(count)
    ]


def outputs_of(made: Probe, contract: str) -> dict[str, Array]:
    """What a contract's text makes of a probe."""
    replay = Replay(made.model, {"x": parse_contract(contract, "x", "x.mlir")})
    (values,) = replay.run(0, made.inputs)
    found = {replay.names[value]: array for value, array in values.items()}
    assert not [array for array in found.values() if isinstance(array, str)]
    return {name: np.asarray(array) for name, array in found.items()}


@pytest.fixture(scope="module")
def small() -> Probe:
    return small_probe()


def test_contracts_give_what_their_steps_give(small: Probe) -> None:
    base = load_contract("tflite")
    for one in drawn(4, 1):
        outputs = outputs_of(small, arithmetic_text(one, "tflite", summary="a device"))
        replay = Replay(small.model, {"tflite": base})
        replay.run(0, {**small.inputs, **outputs})
        places = np.arange(small.outputs)
        assert Evidence(replay.observed, base, places).explained(one) == len(places)


def test_ranges_of_widths_are_one() -> None:
    given = ["26 bits", "25 bits, wrap", "24 bits, wrap", "22 bits, wrap", "exact"]
    found = ["26 bits", "24 to 25 bits, wrap", "22 bits, wrap", "exact"]
    assert ranges(given) == found


def test_parts_have_all_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qlower.identification.evidence._TOGETHER", 4)
    observed: Any = [SimpleNamespace(recorded=np.zeros(n)) for n in (3, 6)]
    contract: Any = None
    made = SimpleNamespace(places=list[Any]())

    class Part(Evidence):
        def __init__(self, observed: Any, contract: Any, places: Any) -> None:
            made.places.append(places.tolist())

    assert len(list(Part.parts(observed, contract))) == 3
    assert made.places == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]


def test_a_search_ends_where_everything_is_explained() -> None:
    """Of members that are as good the plainest one's neighbours are tried alone; here
    those of the first, then of a plainer one among them."""
    evidence: Any = SimpleNamespace(recorded=[0, 0], explained=lambda _: 2)
    begin = vars(import_module("qlower.identification.search"))["_Search"]
    search = begin(evidence, [Arithmetic()])
    assert list(search.rounds()) == [0, 1]
    tried = {
        other for one in (Arithmetic(), search.best) for _, other in one.neighbours()
    }
    assert set(search.scores) == {Arithmetic(), *tried}


@pytest.mark.long
def test_functions_are_called_like_none_of_a_contract() -> None:
    members = [other for _, other in Arithmetic().neighbours()]
    members += drawn(50, 2)
    own = {step.name for one in members for step in one.steps}
    own |= {"device_arithmetic", "device_contraction", "device_depthwise"}
    own.add("device_matmul")
    for path in CONTRACTS.glob("*.mlir"):
        text = path.read_text()
        theirs = set(re.findall(r"func\.func [a-z ]*@([\w.]+)\(", text))
        assert theirs or "contract.base" in text
        assert own.isdisjoint(theirs), path


def test_choices_that_make_no_difference_are_the_first() -> None:
    for one in drawn(50, 3):
        assert one == one.normal()
        assert all(other == other.normal() for _, other in one.neighbours())
        if one.scaling != FIXED:
            assert one.multiplier == CHOICES["multiplier"][0]


def test_a_device_is_found_and_written(
    small: Probe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a user has it: a dump, a model and its inputs in files."""
    secret = Arithmetic(
        accumulator="24 bits, saturate",
        multiplier="16 bits, floor",
        rounding="half_even",
        zero_point=INSIDE,
    )
    outputs = outputs_of(small, arithmetic_text(secret, "tflite", summary="secret"))
    dump, inputs, own = (tmp_path / name for name in ("d.npz", "i.npz", "own.mlir"))
    np.savez(dump, **outputs)
    np.savez(inputs, **small.inputs)
    model = tmp_path / "probe.mlir"
    model.write_text(exact_module(small.model.module))
    given = [str(dump), str(model), "--input", str(inputs)]
    tried = ["--contract", "tflite,onnxruntime"]
    assert main(["identify", *given, *tried, "-o", str(own), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["found"] is None
    assert found["device"]["explained"] == small.outputs
    steps = {row["step"]: row["found"] for row in found["device"]["steps"]}
    assert steps["accumulator"] == "24 bits, saturate"
    assert steps["multiplier"] == "16 bits, floor"
    assert steps["rounding"] == "half_even"
    assert steps["zero point"] == "inside"
    assert main(["diff", str(own), *given]) == 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_members_are_found(seed: int, tmp_path: Path) -> None:
    made = made_probe()
    (secret,) = drawn(1, seed)
    outputs = outputs_of(made, arithmetic_text(secret, "tflite", summary="secret"))
    found = qlower.identify(outputs, made.model, *made.inputs.values())
    assert not found.best.is_complete, "no shipped contract has it"
    assert found.device is not None
    assert found.device.explanation.is_complete, secret
    own = tmp_path / "own.mlir"
    own.write_text(found.text)
    again = qlower.diff(outputs, str(own), made.model, *made.inputs.values())
    assert again.is_equal


@cache
def made_probe() -> Probe:
    """The probe that users get."""
    return probe("mlir")
