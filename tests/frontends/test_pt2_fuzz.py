"""Damaged `.pt2` files are refused with a clear error, or mean one thing to all
executors.

No other exception, no long time and no large allocation, whatever the file says.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from support.damage.damage import Damage, count_outcomes, damaged, limited_memory
from support.damage.pt2_mutants import mutant
from support.formats.pt2_cases import REAL, example, network

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.load import named
from qlower.frontends.pt2 import import_pt2

SEEDS = {"u1": network("u1").build(), "i1": network("i1").build()} | {
    name: REAL[name]().build() for name in ("avg_pool2d", "split", "slice", "unflatten")
}
FILES = 25
LONG_FILES = 4000


def outcome(data: bytes, _choice: random.Random) -> str:
    try:
        import_pt2(data, name="model.pt2")
    except QlowerError as error:
        return "refused" if "model.pt2" in str(error) else str(error)
    return "imported"


def check(seed: str, damage: Damage, count: int) -> Counter[str]:
    return count_outcomes(seed, SEEDS[seed], damage, count, outcome)


@pytest.mark.parametrize("damage", [damaged, mutant])
def test_damaged_files(damage: Damage) -> None:
    found: Counter[str] = Counter()
    with limited_memory():
        for seed in SEEDS:
            found += check(seed, damage, FILES)
    assert min(found["imported"], found["refused"]) > 0


@pytest.mark.long
@pytest.mark.parametrize("damage", [damaged, mutant])
@pytest.mark.parametrize("seed", SEEDS)
def test_many_damaged_files(seed: str, damage: Damage) -> None:
    with limited_memory():
        check(seed, damage, LONG_FILES)


def run_alike(count: int) -> int:
    """How many mutants run, alike in native code and interpreter."""
    choice = random.Random(count)
    alike = 0
    x = example(network())
    for number in range(count):
        data = mutant(SEEDS["u1"], choice)
        try:
            model = named(import_pt2(data, name="model.pt2"), None)
            if len(model.inputs) != 1 or model.inputs[0].shape != x.shape:
                continue
            native = qlower.jit(model)(x)
        except QlowerError:
            continue
        assert repr(native) == repr(qlower.interpret(model, x, at="qnn")), number
        alike += 1
    return alike


@pytest.mark.long
def test_mutants_run_alike() -> None:
    assert run_alike(LONG_FILES // 10) > LONG_FILES / 100
