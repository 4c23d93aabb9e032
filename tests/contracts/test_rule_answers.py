"""Every rule of every contract gives the answers that are written in `answers/`.

A file holds a rule: what each contract gives for each layer of
`support.values.rule_values`, ten results and a checksum of all. `pytest
tests/contracts/test_rule_answers.py --bless` records what the rules give now; explain a
line that changes before you record it. The recording itself is vouched for by formulas
(`test_*_formulas.py`), recorded answers of systems and, where they are installed, the
systems. `limits.txt` says which ratios of scales each rule refuses, and has a checksum
of what it gives near them. A library's functions are evaluated one by one, also at the
numbers of their texts, which `numbers.txt` holds; so is each function of a contract
(`functions/`), at values that its rules never give it, too.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, product
from pathlib import Path

import numpy as np
import pytest
from support.values.function_values import (
    FEW_LANES,
    LANES,
    arguments_of,
    evaluate_defined,
    meeting_arguments_of,
    numbers_of,
    without_assertions,
)
from support.values.rule_values import LAYERS, LIMITS, answers
from xdsl.dialects.builtin import f32, i64
from xdsl.dialects.func import FuncOp

import qlower.contracts
from qlower.contracts import Contract, contract_names, load_contract
from qlower.contracts.definition import Definition
from qlower.contracts.outline import functions_of
from qlower.contracts.reading import Rule
from qlower.contracts.rules import RULES
from qlower.interp.values import Array

ANSWERS = Path(__file__).with_name("answers")

LIBRARIES = (
    *("_eigen", "_glibc", "_glibc_exponentials", "_glibc_waves", "_litert", "_mlas"),
    *("_qonnx", "_real_operands", "_reals", "_sleef", "_steps", "stablehlo"),
)
"""Files whose functions are pinned one by one, helpers too."""

F = np.float32

LIMIT_FILE = "limits.txt"

LIMIT_PARTS = 12
"""Parts of the rules that are evaluated at limits together."""

NUMBER_FILE = "numbers.txt"

FUNCTIONS = "functions"
"""The folder of what functions of contracts give one by one, helpers too."""

PAST = "past its refusals"

WHERE = re.compile(rf"\w+ (?:at its numbers|where they meet|{PAST})")
"""How the line of a function begins that is evaluated one by one."""

ASSERTION = re.compile(r'cf\.assert ([^"]*), "([^"]*)"')
"""The condition and the text of an assertion."""

MACHINE_DEPENDENT = re.compile(r"math\.(?:exp|log|sin|cos|tanh|powf)")
"""What numpy computes with the processor's own last bits."""

SPARSE = 40
"""One in this many of the results that depend on these is written."""

INF = np.inf

REAL = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?")

CONTRACTS = tuple(
    name
    for name in contract_names()
    if name not in LIBRARIES and load_contract(name).definition.outlines[0].pieces
)

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
    for layer in (layer.name for layer in LAYERS):
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for (of, name), answer in rows.items():
            if of == layer:
                groups[answer].append(name)
        lines.append(layer)
        lines += [f"  {' '.join(names)}: {answer}" for answer, names in groups.items()]
    ANSWERS.mkdir(exist_ok=True)
    (ANSWERS / f"{rule}.txt").write_text("\n".join(lines) + "\n")


def family(contract: str) -> str:
    """The contract that it is based on in the end, whose text most rules share."""
    found = load_contract(contract)
    while found.base is not None and not found.base.name.startswith("_"):
        found = found.base
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


def depends_on_machine(texts: Iterable[tuple[str, str]]) -> bool:
    """Whether functions of these names and texts ask for the processor's own."""
    return any(MACHINE_DEPENDENT.search(text) for _, text in texts)


def settled(
    answer: tuple[Array, ...] | str, texts: Iterable[tuple[str, str]]
) -> tuple[Array, ...] | str:
    """An answer whose reals have 6 digits, if they come from the processor's own
    functions."""
    if isinstance(answer, str) or not depends_on_machine(texts):
        return answer
    return tuple(
        np.array([float(f"{number:.6g}") for number in result.flat], result.dtype)
        if result.dtype.kind == "f"
        else result
        for result in answer
    )


def answers_of_family(root: str, rules: Sequence[str]) -> dict[str, Rows]:
    """What the contracts of a family give, for each of these rules."""
    known: dict[object, dict[str, str]] = {}
    found: defaultdict[str, Rows] = defaultdict(dict)
    for name in FAMILIES[root]:
        contract = load_contract(name)
        contract.definition.read(rules)
        for rule in [rule for rule in rules if rule in contract.rules]:
            key = rule, meaning(name, rule)
            if key not in known:
                given = answers(contract, rule)
                known[key] = {
                    layer: written(settled(answer, key[1]))
                    for layer, answer in given.items()
                }
            rows = {(layer, name): answer for layer, answer in known[key].items()}
            found[rule].update(rows)
    return found


def differences(
    root: str, rules: Sequence[str]
) -> dict[str, tuple[str | None, str | None]]:
    """What a family gives for these rules and what is written, where these differ, or
    one isn't there."""
    differing: dict[str, tuple[str | None, str | None]] = {}
    found = answers_of_family(root, rules)
    for rule in rules:
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
    return differing


def limits(contract: Contract, rule: str) -> str:
    """Which layers of extreme ratios are refused, from one to another, and a checksum
    of what the others give."""
    found = answers(contract, rule, LIMITS, few=16)
    groups = groupby(found.items(), lambda item: isinstance(item[1], str))
    names = [[name for name, _ in group] for refused, group in groups if refused]
    texts = meaning(contract.name, rule)
    legal = b"".join(
        np.where(np.isnan(result), np.nan, result).astype(result.dtype).tobytes()
        for answer in (settled(given, texts) for given in found.values())
        if not isinstance(answer, str)
        for result in answer
    )
    refused = " ".join(f"{group[0]}..{group[-1]}" for group in names)
    return f"{zlib.crc32(legal):08x} refused {refused or 'none'}"


def limits_of_family(root: str, rules: Sequence[str]) -> list[str]:
    """A line for each contract of a family and each of these rules."""
    known: dict[object, str] = {}
    lines: list[str] = []
    for name in FAMILIES[root]:
        contract = load_contract(name)
        contract.definition.read(rules)
        for rule in [rule for rule in rules if rule in contract.rules]:
            key = rule, meaning(name, rule)
            if key not in known:
                known[key] = limits(contract, rule)
            lines.append(f"{name} {rule}: {known[key]}")
    return lines


def changed_limits(root: str, rules: Sequence[str]) -> list[str]:
    """Lines of a family and these rules that aren't written as they are now."""
    expected = (ANSWERS / LIMIT_FILE).read_text().splitlines()
    return [line for line in limits_of_family(root, rules) if line not in expected]


def answers_of_library(name: str) -> list[str]:
    """What each function of float32 numbers gives: near 0, of any size, special; and
    each of 64-bit integers: of 32 bits, near 0, at the ends."""
    definition = load_contract(name).definition
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 32, 1000, dtype=np.uint64).astype(np.uint32)
    near = random.normal(0, 4, 3000).astype(np.float32)
    # 0.921875 is where erf changes from one formula to another.
    ends = [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 88.8, -104, 0.921875, -0.921875]
    # Halves of ln(2): an exponential's whole part rounds these ties to even.
    ends += [-38.469669342041016, 5.891750812530518]
    special = np.array(ends, F)
    x = np.concatenate([special, near, bits.view(F), _numbers_of(definition)])
    integers = bits.view(np.int32).astype(np.int64)
    integers = np.concatenate(
        [[0, 1, -1, 2**31 - 1, -(2**31)], integers, integers >> 26, [3, 2, -7, 5, 0, 9]]
    )
    lines: list[str] = []
    for piece in definition.outlines[0].pieces:
        rule = definition.function(piece.name)
        types = rule.function.function_type
        kinds = {*types.inputs, *types.outputs}
        values = x if kinds == {f32} else integers if kinds == {i64} else None
        if values is not None:
            columns = [np.roll(values, number) for number in range(len(types.inputs))]
            defined, found, _ = evaluate_defined(rule, columns)
            if defined.all() and found:
                lines.append(f"{piece.name}: {written(found)}")
    return lines + answers_at_numbers(name)


def answers_at_numbers(name: str) -> list[str]:
    """What each function of a file gives at the recorded numbers of its text, in how
    many lanes it is defined or refused, and what it would give in those."""
    definition = load_contract(name).definition
    pieces = definition.outlines[0].pieces
    if name in LIBRARIES:
        rules = [definition.function(piece.name) for piece in pieces]
    else:
        functions = {
            op.sym_name.data: op
            for op in definition.whole.module.body.ops
            if isinstance(op, FuncOp)
        }
        rules = [Rule(p.name, functions[p.name], (), ()) for p in pieces]
    return [line for rule in rules for line in answer_at_numbers(name, rule)]


def answer_at_numbers(name: str, function: Rule) -> Iterator[str]:
    """The lines of a function of a file."""
    numbers = read_numbers().get((name, function.name), [])
    lanes = LANES if name in LIBRARIES else FEW_LANES
    columns = arguments_of(function, numbers, lanes)
    line, refuses = answer_in_lanes(name, function, "at its numbers", columns)
    yield line
    if len(columns) > 1:
        meeting = meeting_arguments_of(function, numbers)
        yield answer_in_lanes(name, function, "where they meet", meeting)[0]
        columns = [np.concatenate(both) for both in zip(columns, meeting, strict=True)]
    if refuses:
        free = without_assertions(function)
        yield answer_in_lanes(name, free, PAST, columns)[0]


def answer_in_lanes(
    name: str, function: Rule, where: str, columns: Sequence[Array]
) -> tuple[str, bool]:
    """The line of a function for values of its arguments, and whether some are
    refused."""
    defined, found, refused = evaluate_defined(function, columns)
    marks = "" if defined.all() else f" in {defined.sum()}"
    marks += "".join(f", {count} refused: {text!r}" for text, count in refused.items())
    is_real = any(isinstance(x.flat[0], np.floating) for x in found if x.size)
    if is_real and depends_on_machine(meaning(name, function.name)):
        some = np.concatenate([np.ravel(result)[::SPARSE] for result in found])
        checked = " ".join(f"{number:.4g}" for number in some.tolist())
    else:
        parts = [part for result in found for part in _exact_parts(result)]
        checked = written(
            tuple(parts) if parts and defined.all() else (*parts, defined)
        )
    return f"{function.name} {where}{marks}: {checked}", bool(refused)


def _exact_parts(result: Array) -> tuple[Array, ...]:
    """A result, as two if its integers are more than float64 holds."""
    if result.dtype != np.int64:
        return (result,)
    return result >> 32, result & 0xFFFFFFFF


@cache
def read_numbers() -> dict[tuple[str, str], list[float | int]]:
    """The recorded numbers of each library's functions."""
    found: dict[tuple[str, str], list[float | int]] = {}
    for line in (ANSWERS / NUMBER_FILE).read_text().splitlines():
        place, _, numbers = line.partition(":")
        library, function = place.split()
        found[library, function] = [
            int(text) if text.lstrip("-").isdigit() else float(text)
            for text in numbers.split()
        ]
    return found


def numbers_of_libraries() -> list[str]:
    """Their numbers are recorded, so that a change of one shows in what is given at it
    and not in where that is asked."""
    lines: list[str] = []
    for name in (*LIBRARIES, *CONTRACTS):
        definition = load_contract(name).definition
        for piece in definition.outlines[0].pieces:
            numbers = " ".join(map(repr, numbers_of(definition, piece.name)))
            lines.append(f"{name} {piece.name}: {numbers}")
    return lines


def _numbers_of(definition: Definition) -> Array:
    """The reals of a contract's text, at which functions change from one formula to
    another, and their neighbours."""
    found = {float(text) for text in REAL.findall(definition.outlines[0].text)}
    at = np.array(sorted(found), np.float64).astype(F)
    return np.concatenate([at, *(np.nextafter(at, F(end)) for end in (-INF, INF))])


def test_write(request: pytest.FixtureRequest):
    """Only with --bless: all files."""
    if not request.config.getoption("--bless"):
        return
    rows: defaultdict[str, Rows] = defaultdict(dict)
    for root in FAMILIES:
        for rule, found in answers_of_family(root, list(RULES)).items():
            rows[rule].update(found)
    for rule, found in rows.items():
        write_rows(rule, dict(sorted(found.items())))
    lines = [line for root in FAMILIES for line in limits_of_family(root, list(RULES))]
    (ANSWERS / LIMIT_FILE).write_text("\n".join(lines) + "\n")
    numbers = "\n".join(numbers_of_libraries())
    (ANSWERS / NUMBER_FILE).write_text(numbers + "\n")
    for name in LIBRARIES:
        text = "\n".join(answers_of_library(name))
        (ANSWERS / f"{name}.txt").write_text(text + "\n")
    (ANSWERS / FUNCTIONS).mkdir(exist_ok=True)
    for name in CONTRACTS:
        text = "\n".join(answers_at_numbers(name))
        (ANSWERS / FUNCTIONS / f"{name}.txt").write_text(text + "\n")


@pytest.mark.parts(2)
@pytest.mark.parametrize("half", [0, 1], ids=["even", "odd"])
@pytest.mark.parametrize("root", FAMILIES)
def test_answers(root: str, half: int):
    """A pair of contract and rule without a row is named, too; so is a row of none."""
    assert not differences(root, list(RULES)[half::2])


@pytest.mark.parts(60)
@pytest.mark.parametrize("part", range(LIMIT_PARTS))
@pytest.mark.parametrize("root", FAMILIES)
def test_limits(root: str, part: int):
    """Which ratios are refused, and what is given at the last that aren't."""
    assert not changed_limits(root, list(RULES)[part::LIMIT_PARTS])


NEVER = {
    *product(("tflite-ruy", "tflite-xnnpack", "xnnpack"), ["log_softmax_output"]),
    ("xnnpack-rndnu", "log_softmax_output"),
    *product(("tosa", "tosa-double"), ["resize_bilinear"]),
    *product(["vitis-dpu"], ("mean", "adaptive_avg_pool2d")),
    *product(["onnxruntime-avx2"], ("conv2d_with", "hybrid_linear", "matmul_with")),
    ("pytorch-nchw", "mean"),
    *product(["openvino-avx2"], ("conv2d_product", "conv2d_add_product")),
    *product(("pytorch-onednn", "pytorch-onednn-avx2"), ["hybrid_linear"]),
}
"""Contracts and rules that refuse every layer here."""


def test_every_rule_has_an_answer():
    """A recorded refusal says nothing of what a rule computes."""
    every = {(name, rule) for rule in RULES for _, name in read_rows(rule)}
    assert every - accepted_rules() == NEVER
    limited = (ANSWERS / LIMIT_FILE).read_text().splitlines()
    assert {tuple(line.partition(":")[0].split()) for line in limited} == every


def test_every_rule_has_its_file():
    others = {*(Path(name).stem for name in (LIMIT_FILE, NUMBER_FILE)), FUNCTIONS}
    assert {path.stem for path in ANSWERS.iterdir()} == {*RULES, *LIBRARIES, *others}


def recorded_functions(name: str) -> list[str]:
    """The recorded lines of a file's functions, one each."""
    folder = ANSWERS if name in LIBRARIES else ANSWERS / FUNCTIONS
    if name not in (*LIBRARIES, *CONTRACTS):
        return []
    lines = (folder / f"{name}.txt").read_text().splitlines()
    return [line for line in lines if WHERE.match(line)]


def test_every_function_is_pinned():
    """Those of each file in the folder of contracts."""
    folder = Path(qlower.contracts.__file__).parent
    for path in folder.glob("*.mlir"):
        pieces = load_contract(path.stem).definition.outlines[0].pieces
        functions = {line.split()[0] for line in recorded_functions(path.stem)}
        assert functions == {piece.name for piece in pieces}


def test_every_assertion_refuses():
    """Each has its text in the line of its function, which accepts other values; of a
    rule recorded layers may be those."""
    missing: list[tuple[str, str, str]] = []
    for name in (*LIBRARIES, *CONTRACTS):
        lines = [line for line in recorded_functions(name) if PAST not in line]
        outline = load_contract(name).definition.outlines[0]
        for piece in outline.pieces:
            text = outline.text[piece.start : piece.end]
            own = [line for line in lines if line.startswith(f"{piece.name} ")]
            for condition, message in ASSERTION.findall(text):
                if not any(f" refused: {message!r}" in line for line in own):
                    missing.append((name, piece.name, message))
                if (
                    all(" in 0," in line for line in own)
                    and condition != "false"
                    and (name, piece.name) not in accepted_rules()
                ):
                    missing.append((name, piece.name, "accepts nothing"))
    assert missing == []


@cache
def accepted_rules() -> set[tuple[str, str]]:
    """Contracts and rules that give something for a recorded layer."""
    return {
        (contract, rule)
        for rule in RULES
        for (_, contract), answer in read_rows(rule).items()
        if not answer.startswith("refused: ")
    }


@pytest.mark.parts(12)
@pytest.mark.parametrize("name", CONTRACTS)
def test_functions_of_contracts(name: str):
    """One by one, at values that rules give them, or never do."""
    assert answers_at_numbers(name) == recorded_functions(name)


def test_numbers_are_those_of_the_text():
    expected = (ANSWERS / NUMBER_FILE).read_text().splitlines()
    assert numbers_of_libraries() == expected


@pytest.mark.parts(3)
@pytest.mark.parametrize("name", LIBRARIES)
def test_functions_of_libraries(name: str):
    """Also those that are compared with the C library where it is there."""
    expected = (ANSWERS / f"{name}.txt").read_text().splitlines()
    assert answers_of_library(name) == expected
