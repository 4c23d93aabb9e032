"""Damaged files are refused with a clear error, or mean one thing to all executors.

No other exception, no long time and no large allocation, whatever the file says.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from support.damage.damage import (
    Damage,
    check_message,
    count_outcomes,
    damaged,
    limited_memory,
)
from support.damage.onnx_mutants import mutant
from support.formats.onnx_cases import CASES
from support.formats.onnx_models import random_feed
from support.formats.random_qdq import RandomGraph

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import QDQ_READINGS, ImportOptions
from qlower.frontends.onnx import import_onnx
from qlower.model.entry import name_tensors
from qlower.model.layers import name_layers

FILES = 12
"""For each case and kind of damage."""

LONG_FILES = 2000
RUNS = 60
LARGEST_RUN = 1 << 14
"""Elements of the inputs and outputs of a mutant that is run."""

QDQ_SEEDS = (4, 11, 17, 20)


def seed_file(name: str) -> bytes:
    if name.startswith("random_"):
        return RandomGraph(int(name.removeprefix("random_"))).builder.build()
    return CASES[name]().build()


SEEDS = (*CASES, *(f"random_{seed}" for seed in QDQ_SEEDS))


def outcome(data: bytes, choice: random.Random) -> str:
    """What becomes of a file: "imported", or "refused" with a located message."""
    options = ImportOptions(qdq=choice.choice(QDQ_READINGS))
    try:
        module = import_onnx(data, name="model.onnx", options=options)
    except QlowerError as error:
        # What is said of an option's value, or of a name, has no place.
        if str(error).startswith("error: "):
            return "refused"
        return check_message(error, "model.onnx")
    module.verify()
    return "imported"


def check(seed: str, damage: Damage, count: int) -> Counter[str]:
    return count_outcomes(seed, seed_file(seed), damage, count, outcome)


@pytest.mark.parts(2)
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
    for number in range(count):
        data = mutant(seed_file(choice.choice(SEEDS)), choice)
        try:
            options = ImportOptions(qdq=choice.choice(QDQ_READINGS))
            module = import_onnx(data, name="model.onnx", options=options)
            name_layers(module)
            name_tensors(module)
            model = qlower.Model(module)
            specs = (*model.inputs, *model.outputs)
            if sum(math.prod(spec.shape) for spec in specs) > LARGEST_RUN:
                continue
            arrays = list(random_feed(model, number).values())
            native = qlower.jit(model).run(arrays, {})[0]
        except QlowerError:
            continue
        found = qlower.interpret(model, *arrays, at="qnn")
        for output, reference in zip(
            found if isinstance(found, tuple) else (found,), native, strict=True
        ):
            assert output.tobytes() == reference.tobytes(), number
        alike += 1
    return alike


@pytest.mark.long
def test_mutants_run_alike() -> None:
    assert run_alike(RUNS) > RUNS / 10


@pytest.mark.long
def test_many_mutants_run_alike() -> None:
    assert run_alike(LONG_FILES) > LONG_FILES / 10
