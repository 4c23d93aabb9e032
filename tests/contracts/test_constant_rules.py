"""Rules that look at none of their values: every executor gives the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.formats.side_by_side import side_by_side
from support.layers.custom_contracts import write_contract
from support.layers.run_files import RUN_TESTS
from support.systems.recordings import executors_for
from xdsl.dialects.builtin import AnyFloat, IntegerType, i1
from xdsl.ir import Attribute

import qlower
from qlower.codegen.targets.resolve import host_target
from qlower.contracts import load_contract
from qlower.contracts.needs import rules_of
from qlower.dialects import qnn
from qlower.text.parsing import parse_module

BASE = "tflite"

NOT_OF_BASE = ("adaptive_avg_pool2d",)

LAYERS = {
    test.path.stem: test
    for test in RUN_TESTS
    if test.path.parent.name == "qnn" and test.path.stem not in NOT_OF_BASE
}

SHAPED = ("avg_pool2d", "lstm")
"""Layers whose rules see parts of a tensor at a time; the others are long tests."""


def constant_rule(name: str) -> str:
    """The base's rule, but each of its results is a constant."""
    rule = load_contract(BASE).rule(name)
    types = rule.function.function_type
    arguments = ", ".join(
        f"%{value}: {type}"
        for value, type in zip(rule.values, types.inputs, strict=True)
    )
    results = list(types.outputs)
    lines = [
        f"%c{n} = arith.constant {literal(type)} : {type}"
        for n, type in enumerate(results)
    ]
    values = ", ".join(f"%c{n}" for n in range(len(results)))
    listed = ", ".join(map(str, results))
    lines.append(f"func.return {values} : {listed}")
    body = "\n".join(lines)
    return f"func.func @{name}({arguments}) -> ({listed}) {{\n{body}\n}}\n"


def literal(type: Attribute) -> str:
    if isinstance(type, AnyFloat):
        return "1.0"
    assert isinstance(type, IntegerType)
    return "true" if type == i1 else "1"


def rules_of_layer(model: qlower.Model) -> list[str]:
    contract = load_contract(BASE)
    asked = (rules_of(op, contract) for op in model.module.walk())
    return sorted({rule for rules in asked for rule in rules if rule in contract.rules})


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(layer, marks=() if layer in SHAPED else pytest.mark.long)
        for layer in sorted(LAYERS)
    ],
)
def test_constant_rules(layer: str, tmp_path: Path):
    """Each rule of a layer alone, then all of them, side by side."""
    test = LAYERS[layer]
    model = qlower.Model(parse_module(test.text, str(test.path)))
    rules, inputs = rules_of_layer(model), test.inputs(model)
    layers: dict[str, qlower.Model] = {}
    for number, names in enumerate([*([rule] for rule in rules), rules]):
        texts = map(constant_rule, names)
        path = write_contract(tmp_path, *texts, name=f"c{number}", base=BASE)
        copy = model.module.clone()
        for op in copy.walk():
            if isinstance(op, qnn.QnnOp):
                op.contract = path
        layers[" ".join(names)] = qlower.Model(copy)
    owners = [names for names in layers for _ in model.outputs]
    executors = executors_for({"host": host_target()}, side_by_side(layers), BASE)
    given = [*inputs] * len(layers)
    results = {name: run.run(given, {})[0] for name, run in executors.items()}
    for name, outputs in results.items():
        for names, output, expected in zip(
            owners, outputs, results["qnn"], strict=True
        ):
            np.testing.assert_array_equal(output, expected, f"{names} {name}")
