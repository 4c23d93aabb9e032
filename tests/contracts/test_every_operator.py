"""Every contract on every operator that it has rules for, in all executors alike.

The operators are those of `tests/run/qnn` and the small TFLite models, a part of them
for each contract, which their names decide, but for those that mean the same by the
contract's base; unless all are asked for. Where a contract refuses one, its own text
must be the reason.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import pytest
from support.formats.side_by_side import side_by_side
from support.formats.tflite_cases import CASES, WITHOUT_CONTRACT, random_inputs
from support.lanes import LEVELS_VARIABLE, is_asked_for
from support.layers.device_layers import convolution
from support.layers.run_files import RUN_TESTS
from support.systems.recordings import make_executors
from support.values.near_ties import REFUSING

import qlower
from qlower.compilation.passes import VERIFY_EACH
from qlower.contracts import contract_names, load_contract
from qlower.contracts.needs import rules_of
from qlower.contracts.outline import functions_of
from qlower.contracts.rules import RULES
from qlower.diagnostics import QlowerError
from qlower.model.signature import Array
from qlower.text.context import make_context
from qlower.text.parsing import parse_module
from qlower.transforms.lower_qnn import LowerQnnPass

PARTS = {"qnn": 2, "tflite": 24}
"""Each contract runs one operator in this number, unless all are asked for."""

VERIFIED = 11
"""For one contract in so many what each pass makes is verified, unless all are asked
for: their operators are the same. Otherwise it is what the last of a level makes."""


@cache
def operators() -> dict[str, tuple[qlower.Model, list[Array]]]:
    """A model of each operator, and inputs for it."""
    found: dict[str, tuple[qlower.Model, list[Array]]] = {}
    for test in RUN_TESTS:
        if test.path.parent.name == "qnn":
            model = qlower.Model(parse_module(test.text, str(test.path)))
            found[test.path.stem] = model, test.inputs(model)
    with TemporaryDirectory() as folder:
        for name, make in CASES.items():
            if name in WITHOUT_CONTRACT:
                continue
            path = Path(folder, f"{name}.tflite")
            path.write_bytes(make())
            model = qlower.load(path)
            types = [(spec.shape, spec.dtype) for spec in model.inputs]
            found[f"tflite_{name}"] = model, random_inputs(types)
    return found


def kind_of(name: str) -> str:
    return "tflite" if name.startswith("tflite_") else "qnn"


def refusal(contract: str, model: qlower.Model) -> str | None:
    """How the contract refuses the model, or None if it takes it.

    What it takes is lowered once more, with all others, and verified then.
    """
    try:
        LowerQnnPass(contract=contract).apply(make_context(), model.module.clone())
    except QlowerError as error:
        return str(error)
    return None


def accepts(contract: str, model: qlower.Model) -> bool:
    """Whether the contract takes the model; if not, it must say so itself, or be one of
    pairs, which are found among constant weights alone."""
    message = refusal(contract, model)
    if message is None:
        return True
    missing = re.search(r"has no rule (\w+)", message)
    if missing is not None:
        assert missing[1] not in load_contract(contract).rules
    else:
        of_pairs = "multiplies in saturating pairs and needs constant" in message
        assert of_pairs or "the contract says so here" in message
    return False


@cache
def own_rules(contract: str) -> frozenset[str]:
    """The rules about which functions of the contract's own file decide."""
    outlines = load_contract(contract).definition.outlines
    own = {piece.name for piece in outlines[0].pieces}
    return frozenset(r for r in RULES if not own.isdisjoint(functions_of(r, outlines)))


def is_inherited(name: str, model: qlower.Model) -> bool:
    """Whether the model means what it does by the contract's base."""
    contract = load_contract(name)
    asked = {rule for op in model.module.walk() for rule in rules_of(op, contract)}
    return contract.origin is not None and not any(
        own.startswith(rule)  # its `_product` and that for words, too
        for own in own_rules(name)
        for rule in asked
    )


@pytest.mark.parts(48)
@pytest.mark.parametrize("contract", contract_names())
def test_every_executor_gives_the_same_bits(
    contract: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = crc32(contract.encode())
    if turn % VERIFIED == 0:
        monkeypatch.setenv(VERIFY_EACH, "1")
    assert load_contract(contract).definition.whole.rules  # all are read at once
    every = is_asked_for(LEVELS_VARIABLE)
    chosen = {
        name: (model, inputs)
        for name, (model, inputs) in operators().items()
        if every or crc32(f"{contract} {name}".encode()) % PARTS[kind_of(name)] == 0
        if every or not is_inherited(contract, model)
        if accepts(contract, model)
    }
    if contract in REFUSING:
        model, image = convolution(contract)
        chosen["convolution"] = model, [image]
    if not chosen:
        assert not own_rules(contract)
        return
    model = side_by_side({name: model for name, (model, _) in chosen.items()})
    inputs = [array for _, arrays in chosen.values() for array in arrays]
    executors = make_executors(model, contract, turn)
    results = {name: run.run(inputs, {})[0] for name, run in executors.items()}
    owners = [name for name, (model, _) in chosen.items() for _ in model.outputs]
    for name, outputs in results.items():
        for owner, output, expected in zip(
            owners, outputs, results["qnn"], strict=True
        ):
            assert output.dtype == expected.dtype
            np.testing.assert_array_equal(output, expected, f"{owner} {name}")
