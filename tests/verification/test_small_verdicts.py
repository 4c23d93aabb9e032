"""Steps of a verification by hand: operands that are asked about, counterexamples that
are replayed, and verdicts from those of parts."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SIGNED_MODEL

import qlower
from qlower.cli.tables.junit import Case
from qlower.cli.verify import cases_of
from qlower.codegen.targets.resolve import resolve_target
from qlower.dialects import qnn
from qlower.interp import InterpretationError
from qlower.text.parsing import parse_module
from qlower.verification.functions import Variable
from qlower.verification.group_table import Groups, LayerGroups
from qlower.verification.smt.solve import Answer, Row, disagreements, verdict_of

TYPES = """
!x = !quant.uniform<i8:f32, 5.000000e-02:3>
!u = !quant.uniform<u8:f32, 5.000000e-02:128>
"""
X, U = "tensor<1x4x!x>", "tensor<1x4x!u>"


def operation(line: str, result: str) -> Any:
    head = f"func.func @main(%a: {X}, %b: {U}) -> {result} {{"
    text = f"{TYPES}{head}\n  %y = {line}\n  return %y : {result}\n}}"
    return next(op for op in parse_module(text).walk() if isinstance(op, qnn.QnnOp))


COMPARE = 'qnn.compare %a, %b {predicate = "lt"}'
CONCAT = f"qnn.concat %a, %b, %a {{axis = 1}} : ({X}, {U}, {X}) -> "
STORED, REAL = np.zeros(1, np.int32), np.zeros(1, np.float32)


@pytest.mark.parametrize(
    ("line", "result", "given", "found"),
    [
        (f"qnn.relu %a : ({X}) -> ", X, [STORED], [0]),
        (f"qnn.relu %a : ({X}) -> ", X, [REAL], None),
        (f"qnn.relu %a : ({X}) -> ", X, [None], None),
        (f"qnn.relu %a : ({X}) -> ", X, [STORED] * 2, None),
        (CONCAT, "tensor<1x12x!x>", [STORED], [1]),
        (CONCAT, "tensor<1x12x!u>", [STORED] * 2, [0, 2]),
        (CONCAT, "tensor<1x12x!u>", [STORED], None),
        (f"{COMPARE} : ({X}, {U}) -> ", "tensor<1x4xi1>", [STORED] * 2, [0, 1]),
        (f"{COMPARE} : ({X}, {U}) -> ", "tensor<1x4xi1>", [STORED], None),
        (f"qnn.l2_normalize %a : ({X}) -> ", X, [STORED], None),
    ],
)
def test_operands_that_rules_are_asked_about(
    line: str, result: str, given: Any, found: Any
) -> None:
    """Those that a rule of one stored integer gets, if each evaluation has one."""
    sources = vars(import_module("qlower.verification.questions"))["_sources"]
    op = operation(line + result, result)
    runs = [SimpleNamespace(values={"input": one}) for one in given]
    got = sources(SimpleNamespace(op=op, evaluations=runs))
    wanted = None if found is None else [op.operands[n] for n in found]
    assert (None if got is None else list(got)) == wanted


def rule(change: Any) -> Any:
    """A function of a lane's number, or one without a result."""

    def run(lane: Any, x: Any) -> Any:
        found = change(int(x[0]))
        if found is None:
            raise InterpretationError("no result")
        return np.array([found])

    return run


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        (lambda x: x, lambda x: x, None),
        (lambda x: x, lambda x: x + 1, "7 | 8"),
        (lambda x: None, lambda x: x, "no result | 7"),
        (lambda x: x, lambda x: None, "7 | no result"),
        (lambda x: None, lambda x: None, "no result | no result"),
        (lambda x: float("nan"), lambda x: float("nan"), None),
    ],
)
def test_values_of_solvers_are_replayed(a: Any, b: Any, told: str | None) -> None:
    """With what was added before taken off again; 0 for a value that isn't given."""
    equality = vars(import_module("qlower.verification.smt.equality"))["_Equality"]
    own = SimpleNamespace(
        question=SimpleNamespace(functions=(rule(a), rule(b))),
        _variables=(Variable(-3, 5, 4), Variable(10, 1, 5)),
        _names=lambda: ["a", "b"],
    )
    # (-1 + 3) * 5 + (12 - 10) - 5
    assert equality._replay(own, 2, 5, {"a": -1, "b": 12}) == told


def test_the_verdict_of_all_verdicts() -> None:
    for count in range(4):
        for found in product(("sat", "unsat", "open"), repeat=count):
            wanted = "undecided" if "open" in found else "holds"
            assert verdict_of(found) == ("fails" if "sat" in found else wanted)


@pytest.mark.parametrize("expected", ["sat", "unsat", "undecided"])
def test_verdicts_that_disagree(expected: str) -> None:
    for one, other in product(("sat", "unsat", "open"), repeat=2):
        answers = {"z3": Answer(one, 1.0), "cvc5": Answer(other, 1.0)}
        found = disagreements([Row("f", expected, [], [], answers)])
        are_both = {"sat", "unsat"} <= {one, other, expected}
        told = f"f: z3: {one}, cvc5: {other}, qlower: {expected}"
        assert found == ([told] if are_both else [])


def test_layers_as_cases_for_services() -> None:
    groups = LayerGroups(
        *("conv", "conv2d", [["a", "b"], ["c"], ["d"]]),
        *([("a", "c")], {"e": "there is no rule"}),
    )
    assert cases_of(Groups([*"abcde"], [groups], {})) == [
        Case("conv e", skipped="there is no rule"),
        Case("conv a", "undecided against c"),
        Case("conv b", "undecided against c"),
        Case("conv c", "undecided against a"),
        Case("conv d"),
    ]


def test_verdicts_as_cases_for_services() -> None:
    record = {
        "layers": [
            {"layer": "a", "verdict": "equal", "how": "all"},
            {"layer": "b", "what": "pairs", "verdict": "fits"},
            {"layer": "c", "level": "v3", "verdict": "differs", "how": "3 channels"},
            {"layer": "d", "verdict": "undecided"},
        ],
        "undecided": [{"layer": "e", "verdict": "real", "how": "adds real numbers"}],
        "moved": ["f"],
        "whole": {"v3": {"differing": 2}, "v4": {"differing": 0}},
    }
    found: Any = SimpleNamespace(to_dict=lambda: record)
    assert cases_of(found) == [
        *(Case("a"), Case("b pairs"), Case("c v3", "differs 3 channels")),
        *(Case("d", "undecided"), Case("e", skipped="adds real numbers")),
        Case("f", skipped="computes nothing"),
        *(Case("the whole code v3", "differs"), Case("the whole code v4")),
    ]


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    ("only", "with_whole", "looked", "left", "moved", "whole"),
    [
        (None, False, {"conv", "scores"}, set(), ["flat"], True),
        (["conv"], False, {"conv"}, set(), [], False),
        (["flat"], False, set(), set(), ["flat"], False),
        (["conv"], True, {"conv"}, {"scores"}, ["flat"], True),
        (["none"], False, set(), set(), [], False),
    ],
)
def test_layers_whose_code_is_looked_at(
    only: Any,
    with_whole: bool,
    looked: set[str],
    left: set[str],
    moved: list[str],
    whole: bool,
    small: qlower.Model,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And those that are listed only, or move elements; the whole code is run where it
    is asked for, or where all are."""
    module = import_module("qlower.verification.native.verify")
    decided = SimpleNamespace(
        **{"is_decided": True, "difference": None, "how": "all sums"},
        **{"numbers": 3, "channels": 2},
    )
    monkeypatch.setattr(module, "_decide", lambda *given: decided)
    runs = SimpleNamespace(on=lambda compilation, bind: "run")
    monkeypatch.setattr(module, "WholeModel", lambda shared: runs)
    levels = {"v3": resolve_target("x86_64-linux-gnu", "x86-64-v3")}
    found = vars(module)["native"](
        small, levels, contract="tflm", only=only, with_whole=with_whole
    )
    rows = {row.layer: (row.verdict, row.how) for row in found.layers}
    assert {
        name for name, row in rows.items() if row == ("equal", "all sums")
    } == looked
    assert {name for name, (_, how) in rows.items() if how == "not looked at"} == left
    assert set(rows) == looked | left
    assert list(found.moved) == moved
    assert found.whole == ({"v3": "run"} if whole else {})


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> qlower.Model:
    path = tmp_path_factory.mktemp("small") / "signed.mlir"
    path.write_text(SIGNED_MODEL)
    return qlower.load(path)
