"""Every rule of every contract gives the answers that are written in `answers/`.

A file holds a rule: what each contract gives for each layer of `support.rule_values`,
ten results and a checksum of all. `pytest tests/contracts/test_rule_answers.py --bless`
records what the rules give now; explain a line that changes before you record it. The
recording itself is vouched for by formulas (`test_tvm_formulas.py`), recorded answers
of systems and, where they are installed, the systems.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.rule_values import LAYERS, answers
from xdsl.dialects.builtin import f32

from qlower.contracts import contract_names, load_contract
from qlower.contracts.outline import functions_of
from qlower.contracts.rules import RULES
from qlower.interp import evaluate_function
from qlower.interp.values import Array

ANSWERS = Path(__file__).with_name("answers")

LIBRARIES = ("_eigen", "_mlas", "_sleef", "stablehlo")

F = np.float32

WRITTEN = 10
"""Results of a layer that are written out, at even distances."""

Rows = dict[tuple[str, str], str]
"""What is written for a layer and a contract."""


def written(answer: tuple[Array, ...] | str) -> str:
    """The text of a layer's results, or of their refusal."""
    if isinstance(answer, str):
        return f"refused: {answer}"
    results = [np.where(np.isnan(a), np.nan, a).astype(a.dtype) for a in answer]
    checksum = 0
    for result in results:
        checksum = zlib.crc32(np.ascontiguousarray(result).tobytes(), checksum)
    flat = np.concatenate([np.ravel(result) for result in results])
    some = flat[np.unique(np.linspace(0, flat.size - 1, WRITTEN).astype(int))]
    return f"{checksum:08x} {' '.join(f'{number:.9g}' for number in some.tolist())}"


def read_rows(rule: str) -> Rows:
    """The rows of a rule's file: a layer's name, then contracts and their answer."""
    rows: Rows = {}
    layer = ""
    for line in (ANSWERS / f"{rule}.txt").read_text().splitlines():
        if not line.startswith(" "):
            layer = line
            continue
        names, _, answer = line.strip().partition(": ")
        rows |= {(layer, name): answer for name in names.split()}
    return rows


def write_rows(rule: str, rows: Rows) -> None:
    lines: list[str] = []
    for layer in LAYERS:
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for (of, name), answer in rows.items():
            if of == layer.name:
                groups[answer].append(name)
        lines.append(layer.name)
        lines += [f"  {' '.join(names)}: {answer}" for answer, names in groups.items()]
    ANSWERS.mkdir(exist_ok=True)
    (ANSWERS / f"{rule}.txt").write_text("\n".join(lines) + "\n")


def family(contract: str) -> str:
    """The contract that it is based on in the end, whose text most rules share."""
    found = load_contract(contract)
    while found.origin is not None:
        found = found.origin
    return found.name


FAMILIES: defaultdict[str, list[str]] = defaultdict(list)
for _name in contract_names():
    FAMILIES[family(_name)].append(_name)


def meaning(contract: str, rule: str) -> frozenset[tuple[str, str]]:
    """All text that may decide what a rule gives; rules of one are evaluated once."""
    outlines = load_contract(contract).definition.outlines
    names = functions_of(rule, outlines)
    return frozenset(
        (piece.name, outline.text[piece.start : piece.end])
        for outline in outlines
        for piece in outline.pieces
        if piece.name in names
    )


@cache
def answers_of_family(root: str) -> dict[str, Rows]:
    """What the contracts of a family give, for each rule."""
    known: dict[object, dict[str, str]] = {}
    found: defaultdict[str, Rows] = defaultdict(dict)
    for name in FAMILIES[root]:
        contract = load_contract(name)
        for rule in contract.rules:
            key = rule, meaning(name, rule)
            if key not in known:
                given = answers(contract, rule)
                known[key] = {layer: written(answer) for layer, answer in given.items()}
            rows = {(layer, name): answer for layer, answer in known[key].items()}
            found[rule].update(rows)
    return found


def answers_of_library(name: str) -> list[str]:
    """What each function of float32 numbers gives: near 0, of any size, special."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 32, 1000, dtype=np.uint64).astype(np.uint32)
    near = random.normal(0, 4, 3000).astype(np.float32)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 88.8, -104], F)
    x = np.concatenate([special, near, bits.view(F)])
    lines: list[str] = []
    definition = load_contract(name).definition
    for piece in definition.outlines[0].pieces:
        rule = definition.function(piece.name)
        types = rule.function.function_type
        if {*types.inputs, *types.outputs} == {f32}:
            columns = [np.roll(x, number) for number in range(len(types.inputs))]
            found = evaluate_function(rule.function, columns)
            lines.append(f"{piece.name}: {written(found)}")
    return lines


def test_write(request: pytest.FixtureRequest):
    """Only with --bless: all files."""
    if not request.config.getoption("--bless"):
        return
    rows: defaultdict[str, Rows] = defaultdict(dict)
    for root in FAMILIES:
        for rule, found in answers_of_family(root).items():
            rows[rule].update(found)
    for rule, found in rows.items():
        write_rows(rule, dict(sorted(found.items())))
    for name in LIBRARIES:
        text = "\n".join(answers_of_library(name))
        (ANSWERS / f"{name}.txt").write_text(text + "\n")


@pytest.mark.parametrize("root", FAMILIES)
def test_answers(root: str):
    """A pair of contract and rule without a row is named, too; so is a row of none."""
    differing: dict[str, tuple[str | None, str | None]] = {}
    found = answers_of_family(root)
    for rule in RULES:
        expected = {
            key: row for key, row in read_rows(rule).items() if key[1] in FAMILIES[root]
        }
        given = found.get(rule, {})
        differing |= {
            f"{contract}, {rule}, layer {layer}": (
                given.get((layer, contract)),
                expected.get((layer, contract)),
            )
            for layer, contract in {*expected, *given}
            if given.get((layer, contract)) != expected.get((layer, contract))
        }
    assert not differing


def test_every_rule_has_its_file():
    assert {path.stem for path in ANSWERS.iterdir()} == {*RULES, *LIBRARIES}


@pytest.mark.parametrize("name", LIBRARIES)
def test_functions_of_libraries(name: str):
    """Of C++ libraries and of StableHLO; glibc's are compared with glibc."""
    expected = (ANSWERS / f"{name}.txt").read_text().splitlines()
    assert answers_of_library(name) == expected
