"""The contracts of OpenVINO, ncnn and MNN against these, where they are installed.

Half of the outputs are ties or near ties, at which mutants of each contract, one step
changed, are told apart from it: each of them has to differ somewhere from what the
system gives.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.lanes import LARGE_VARIABLE, is_asked_for
from support.layers import random_modules
from support.layers.random_modules import Draw, RandomLayer
from support.machines.native import machine_levels
from support.systems.changed_rules import SYSTEMS, System
from support.systems.mnn_worker import run_mnn_on_avx2
from support.systems.phone_systems import one_of, run_openvino, run_openvino_avx2
from support.values.near_ties import (
    CODES,
    Change,
    count_near_ties,
    marked,
    mutants,
    near_tie_layer,
)
from xdsl.dialects.builtin import StringAttr

import qlower
from qlower.compilation.compilation import Compilation
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import QDQ
from qlower.interp.values import Array

pytestmark = pytest.mark.long

LAYERS = 10
OUTPUTS = 3000
RANDOM = 300_000 if is_asked_for(LARGE_VARIABLE) else 9_000


@pytest.mark.parametrize(
    ("name", "rule"), [(n, rule) for n, s in SYSTEMS.items() for rule in s.changes]
)
def test_near_ties(name: str, rule: str, tmp_path: Path) -> None:
    check_near_ties(SYSTEMS[name], name, rule, tmp_path)


ADDED = {
    "openvino": partial(run_openvino, added=True),
    "openvino-avx2": partial(run_openvino_avx2, added=True),
}


@pytest.mark.parametrize("name", ADDED)
def test_linear_layers_before_additions(name: str, tmp_path: Path) -> None:
    """Unlike convolutions they don't add: they give codes, as before anything else."""
    added = replace(SYSTEMS[name], run=ADDED[name])
    check_near_ties(added, name, "linear", tmp_path)


def require(system: System) -> None:
    """Skip where the system isn't installed, or computes in another way."""
    pytest.importorskip(system.package)
    levels = machine_levels()
    if system.level not in levels or system.below in levels:
        below = "" if system.below is None else f", below {system.below}"
        pytest.skip(f"the contract is that of {system.level}{below}")


def check_near_ties(system: System, name: str, rule: str, tmp_path: Path) -> None:
    require(system)
    own = system.contract or name
    contract = load_contract(own)
    others = mutants(system.changed or own, system.changes[rule], tmp_path)
    random = np.random.default_rng([len(rule), len(name)])
    apart: Counter[Change] = Counter()
    near = 0
    loaded = [load_contract(path) for path in others.values()]
    for number in range(LAYERS):
        turn = number % len(loaded)
        layer = near_tie_layer(
            random,
            rule,
            [contract, *loaded[turn:], *loaded[:turn]],
            system.channels,
            signed=system.signs[number % len(system.signs)],
            zero_points=system.zero_points,
            relu=number % 5 == 3,
            one_scale=system.package == "openvino" and number % 3 == 2,
            in_sequence=system.in_sequence,
            in_qdq=system.in_qdq,
        )
        expected = system.run(layer)
        near += count_near_ties(one_of(layer))
        np.testing.assert_array_equal(
            given(layer, own), expected, str(layer.module)[:2000]
        )
        for change, mutant in others.items():
            apart[change] += int((given(layer, mutant) != expected).sum())
    assert not [change for change in others if not apart[change]]
    compared = LAYERS * system.channels * CODES
    print(f"{name} {rule}: {near} near ties of {compared} outputs")
    assert near >= compared / 2


class Symmetric(Draw):
    """Codes without zero points, and without -128."""

    def zero_point(self) -> int:
        return 0

    def codes(self, shape: tuple[int, ...]) -> Array:
        return super().codes(shape).clip(-127)


def drawn(system: System, kind: str, seed: int) -> RandomLayer:
    make = Draw if system.zero_points else Symmetric
    signed = system.signs[seed % len(system.signs)]
    # a window is as it may be in every system
    activations = system.activations.get(kind, ("relu",))
    draw = make(
        seed, OUTPUTS, signed=signed, activations=activations, even_groups=False
    )
    layer = getattr(random_modules, kind)(draw)
    if system.in_qdq:
        layer.module.attributes[QDQ] = StringAttr("integer")
    return marked(layer) if system.in_sequence else layer


@pytest.mark.parametrize(
    ("name", "kind"), [(n, kind) for n, s in SYSTEMS.items() for kind in s.kinds]
)
def test_random_layers(name: str, kind: str) -> None:
    system = SYSTEMS[name]
    require(system)
    compared = 0
    for seed in range(1000):
        layer = drawn(system, kind, seed)
        if not system.takes(one_of(layer)):
            continue
        try:
            found = given(layer, system.contract or name)
        except QlowerError as error:
            if "within 1e-6 of a whole number" in error.message:
                continue
            raise
        expected = system.run(layer)
        np.testing.assert_array_equal(
            found, expected, f"seed {seed}, {str(layer.module)[-1500:]}"
        )
        compared += expected.size
        if compared >= RANDOM:
            return
    raise AssertionError("too few layers are taken")


@pytest.mark.parametrize("kind", SYSTEMS["mnn"].kinds)
def test_mnn_without_vnni(kind: str, tmp_path: Path) -> None:
    """The same bits: no pair of products saturates there."""
    system = SYSTEMS["mnn"]
    require(system)
    seeds = range(32 if is_asked_for(LARGE_VARIABLE) else 2)
    layers = [drawn(system, kind, seed) for seed in seeds]
    if kind in system.changes:
        mutant = next(iter(mutants("mnn", system.changes[kind], tmp_path).values()))
        contracts = [load_contract("mnn"), load_contract(mutant)]
        draw = np.random.default_rng(len(kind))
        layers += [
            near_tie_layer(
                draw,
                kind,
                contracts,
                48,
                signed=True,
                zero_points=True,
                relu=seed % 2 > 0,
            )
            for seed in seeds
        ]
    layers = [layer for layer in layers if system.takes(one_of(layer))]
    results = run_mnn_on_avx2(layers, tmp_path)
    for layer, expected in zip(layers, results, strict=True):
        np.testing.assert_array_equal(given(layer, "mnn"), expected)


def given(layer: RandomLayer, contract: str) -> Array:
    compilation = Compilation(qlower.Model(layer.module), contract)
    ((result,), _) = compilation.interpreter("qnn").run(layer.inputs, {})
    return result
