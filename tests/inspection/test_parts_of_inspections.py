"""Linting, statistics and tables of layers, with compilations and proofs that are
given."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.contracts.accumulator_range import AccumulatorRange
from qlower.contracts.products import EXACT, IN_PAIRS
from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.inspection.findings import ACCUMULATOR, PAIRS, Finding
from qlower.inspection.layer_table import (
    LEGEND,
    LayerStatistics,
    layer_statistics,
    layer_table,
)
from qlower.model.layers import layers
from qlower.text.parsing import parse_module

linting: Any = import_module("qlower.inspection.linting")
findings: Any = import_module("qlower.inspection.lint")
statistics: Any = import_module("qlower.inspection.statistics")
refusing: Any = import_module("qlower.inspection.refusals")
table: Any = import_module("qlower.inspection.layer_table")

TEXT = """\
!x = !quant.uniform<u8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.5>
!y = !quant.uniform<u8:f32, 0.5:3>
func.func @main(%x: tensor<1x3x!x>) -> tensor<1x2x!y> {
  %w = qnn.constant dense<[[100, 50, -3], [-9, 0, 0]]> : tensor<2x3xi8>
    -> tensor<2x3x!w>
  %b = arith.constant dense<[40, -7]> : tensor<2xi32>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x3x!x>, tensor<2x3x!w>, tensor<2xi32>) -> tensor<1x2x!y>
    loc("y"("deep/y"))
  %z = qnn.relu %y : (tensor<1x2x!y>) -> tensor<1x2x!y> loc("z")
  return %z : tensor<1x2x!y>
}"""


def finding(layer: str, what: str) -> Finding:
    return Finding(layer, "linear", what, 2, 1, 0, -1, 1, 8)


PLAIN = [finding("a", ACCUMULATOR), finding("b", PAIRS)]
EVERY = [finding("a", ACCUMULATOR), finding("a", PAIRS), finding("b", PAIRS)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What linting asks for; findings, contracts and refusals are set by tests."""
    module = parse_module(TEXT)
    asked = SimpleNamespace(
        own="tvm", saturates=False, drops=["dropped"], calls=[], module=module
    )
    model = SimpleNamespace(module=module, inputs=["specs"], outputs=[0])

    class Compiled:
        def __init__(self, model_given: Any, contract: Any, **of: Any) -> None:
            asked.calls.append(("compiled", model_given, contract, of))
            self.model, self.contract = model, contract

    def found(loaded: Any, contract: Any, **of: Any) -> list[Finding]:
        assert loaded is model
        asked.calls.append(("findings", contract, of))
        return EVERY if of.get("pairs") else PLAIN

    def dropped(compilation: Any) -> list[str]:
        if isinstance(asked.drops, QlowerError):
            raise asked.drops
        return asked.drops

    monkeypatch.setattr(linting, "Compilation", Compiled)
    monkeypatch.setattr(linting, "module_contract", lambda of: asked.own)
    monkeypatch.setattr(linting, "findings_of", found)
    monkeypatch.setattr(linting, "saturates_elsewhere", lambda *of: asked.saturates)
    monkeypatch.setattr(linting, "not_looked_at", lambda *of: ["lstm"])
    monkeypatch.setattr(linting, "_dropped", dropped)
    monkeypatch.setattr(
        linting, "replace", lambda one, **of: SimpleNamespace(**{**vars(one), **of})
    )
    monkeypatch.setattr(
        linting, "_values", lambda running, given: [running.contract, given]
    )
    return asked


@pytest.mark.parametrize(
    ("contract", "own", "saturates", "pairs", "elsewhere"),
    [
        ("tvm", "tvm", False, False, True),
        ("tvm", None, False, False, True),
        (None, "tvm", False, False, True),
        (None, None, False, False, False),
        ("tvm", "tvm", True, False, False),
        ("tvm", "tvm", False, True, False),
    ],
)
def test_pairs_that_saturate_elsewhere_are_told_apart(
    contract: str | None,
    own: str | None,
    saturates: bool,
    pairs: bool,
    elsewhere: bool,
    asked: Any,
) -> None:
    """Where the contract's system has no machine that multiplies in pairs."""
    asked.own, asked.saturates = own, saturates
    found = linting.lint("m", contract, pairs=pairs)
    if elsewhere:
        assert (found.findings, found.elsewhere) == ([EVERY[0], EVERY[2]], [EVERY[1]])
    else:
        assert (found.findings, found.elsewhere) == (EVERY, [])
    assert found.dropped == (["dropped"] if contract or own else [])
    assert (found.unbounded, found.is_empty) == (["lstm"], False)
    first = asked.calls[0]
    assert first == (
        *("compiled", "m", contract, {"with_layers": True, "layer_contracts": {}}),
    )


def test_refusals_are_left_to_compiling(asked: Any) -> None:
    asked.drops = QlowerError("no rule")
    assert linting.lint("m", "tvm").dropped == []


def test_widths_and_contracts_of_layers_are_passed_on(asked: Any) -> None:
    for bits in (2, 63, None):
        asked.calls.clear()
        linting.lint("m", accumulator_bits=bits, layer_contracts={"a": "b"})
        (_, _, _, of), (_, _, first), (_, _, second) = asked.calls
        assert of["layer_contracts"] == {"a": "b"}
        assert first == {"bits": bits, "pairs": True, "values": ()}
        assert second == {"bits": bits}
    for bits in (1, 64):
        with pytest.raises(QlowerError) as refused:
            linting.lint("m", accumulator_bits=bits)
        assert refused.value.message == (
            f"--accumulator-bits must be in [2, 63], not {bits}"
        )


@pytest.mark.parametrize(
    ("contract", "own", "running"),
    [("tvm", "tflite", None), ("tvm", None, "tvm"), (None, "tflite", None)],
)
def test_data_is_what_the_model_itself_computes(
    contract: str | None, own: str | None, running: str | None, asked: Any
) -> None:
    asked.own = own
    given: list[Any] = ["arrays", lambda specs: ("made for", specs)]
    for inputs in given:
        asked.calls.clear()
        linting.lint("m", contract, inputs=inputs)
        values = asked.calls[1][2]["values"]
        wanted = ("made for", ["specs"]) if callable(inputs) else "arrays"
        assert values == [running, wanted]


def test_values_of_each_input(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [{"x": 1}, {"x": 2}]
    function = SimpleNamespace(run=lambda outputs, run: ("out", {"y": 10 * run["x"]}))
    compilation = SimpleNamespace(
        function=lambda: function, model=SimpleNamespace(inputs="specs")
    )
    monkeypatch.setattr(
        linting, "input_set", lambda specs, inputs: SimpleNamespace(runs=runs)
    )
    found = linting._values(compilation, {"x": 0})
    assert found == [{"x": 1, "y": 10}, {"x": 2, "y": 20}]


# Sums and pairs


def operation(text: str = TEXT) -> Any:
    return next(layers(parse_module(text)))


@pytest.mark.parametrize(
    ("weight", "input", "expected"),
    [
        ("i8", "u8", True),
        ("i8", "i8", True),
        ("u8", "u8", False),
        ("i8", "i16", False),
        ("i16", "u8", False),
        ("i4", "u8", True),
    ],
)
def test_types_that_machines_multiply_in_pairs(
    weight: str, input: str, expected: bool
) -> None:
    def of(text: str) -> Any:
        stored = QuantizedType.per_tensor(int(text[1:]), text[0] == "i", 0.5)
        return SimpleNamespace(type=SimpleNamespace(element_type=stored))

    op = SimpleNamespace(weight=of(weight), input=of(input))
    own = dict(vars(findings))
    own["quantized_element"] = lambda type: type.element_type
    has_pairs = type(findings._has_pairs)(findings._has_pairs.__code__, own)
    assert has_pairs(op) is expected


def test_what_a_sum_starts_from(monkeypatch: pytest.MonkeyPatch) -> None:
    op = operation()
    assert findings._start(op, None).tolist() == [40, -7]
    monkeypatch.setattr(findings, "constant_start", lambda contract, op: contract)
    assert findings._start(op, "by the contract") == "by the contract"
    bare = TEXT.replace(", %b\n", "\n").replace(", tensor<2xi32>) ->", ") ->")
    assert findings._start(operation(bare), None).tolist() == 0
    wide = TEXT.replace("tensor<2xi32>", "tensor<2xi64>")
    assert findings._start(operation(wide), None).tolist() == [40, -7]
    real = TEXT.replace("[40, -7]", "[4.0, -7.0]").replace(
        "tensor<2xi32>", "tensor<2xf32>"
    )
    assert findings._start(operation(real), None) is None


def test_counts_of_data() -> None:
    assert findings._counts([]) is None
    one, other = np.array([True, False, True]), np.array([[False], [True]])
    assert findings._counts([one]) == (2, 3)
    assert findings._counts([one, other]) == (3, 5)


def test_operands_on_data() -> None:
    module = parse_module(TEXT)
    op = next(layers(module))
    asked: list[str] = []
    index = SimpleNamespace(
        sources=lambda name: (asked.append(name), ["x", "other"])[1]
    )
    model = SimpleNamespace(index=index)
    values = [{"x": "first"}, {"x": "second"}]
    found = list(findings._operands(model, op, values))
    assert [stored for stored, _ in found] == ["first", "second"]
    assert found[0][1].tolist() == [[100, 50, -3], [-9, 0, 0]]
    assert asked == ["y"]
    assert list(findings._operands(model, op, [])) == []
    unnamed = operation(TEXT.replace('    loc("y"("deep/y"))\n', ""))
    assert list(findings._operands(model, unnamed, values)) == []


def test_contracts_of_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "module_contract", lambda module: module)
    monkeypatch.setattr(
        findings, "contract_of", lambda op, default, load: (op.contract, default)
    )

    def of(own: str | None, default: str | None, given: str | None) -> Any:
        model, op = SimpleNamespace(module=default), SimpleNamespace(contract=own)
        return findings._contract(model, op, given)

    assert of(None, None, None) is None
    assert of("tvm", None, None) == ("tvm", None)
    assert of(None, "tflite", None) == (None, "tflite")
    assert of(None, "tflite", "exact") == (None, "exact")
    assert of("tvm", "tflite", "exact") == ("tvm", "exact")


@pytest.mark.parametrize(
    ("products", "expected"),
    [
        ({}, False),
        ({"c": next(iter(IN_PAIRS))}, False),
        ({"c-plain": EXACT}, False),
        ({"c-pairs": next(iter(IN_PAIRS))}, True),
        ({"c-plain": EXACT, "c-pairs": next(iter(IN_PAIRS))}, True),
        ({"cd-pairs": next(iter(IN_PAIRS))}, False),
    ],
)
def test_systems_that_multiply_in_pairs_on_another_machine(
    products: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "contract_names", lambda: [*products])
    monkeypatch.setattr(findings, "load_contract", lambda name: name)
    monkeypatch.setattr(
        findings,
        "RuledContraction",
        lambda contract, op: SimpleNamespace(product=products[contract]),
    )
    model: Any = SimpleNamespace(module=parse_module(TEXT))
    assert findings.saturates_elsewhere(model, "c") is expected


def test_layers_that_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse_module(TEXT)
    index = SimpleNamespace(own_arithmetic=None)
    model: Any = SimpleNamespace(module=module, index=index)
    monkeypatch.setattr(findings, "_contract", lambda *of: of[2])
    monkeypatch.setattr(findings, "_start", lambda op, contract: contract)
    assert findings.not_looked_at(model) == ["the bias of y"]
    assert findings.not_looked_at(model, "c") == []
    monkeypatch.setattr(
        findings, "rules_inside", lambda op: ["r"] if op.name == "qnn.relu" else []
    )
    monkeypatch.setattr(findings, "UNBOUNDED", (type(list(layers(module))[1]),))
    assert findings.not_looked_at(model, "c") == ["relu", "layers in the loop z"]
    index.own_arithmetic = "TOSA"
    assert findings.not_looked_at(model, "c") == ["layers of TOSA"]


# Statistics


def proof(layer: str, proved: int = 2, channels: int = 3, text: str = "fma") -> Any:
    kind = type("P", (), {"__str__": lambda self: text})
    found: Any = kind()
    vars(found).update(layer=layer, proved=proved, channels=channels)
    return found


def test_statistics_of_two_layers() -> None:
    idle: list[Any] = [SimpleNamespace(layer="y", products=9, needed=7)]
    module = parse_module(TEXT)
    linear, relu = layer_statistics(module, [proof("y")], None, idle)
    assert (linear.number, linear.name, linear.full_name, linear.kind) == (
        *(0, "y", "deep/y", "linear"),
    )
    assert linear.inputs == ("1x3 u8 (0.25, 0)",)
    assert linear.results == ("1x2 u8 (0.5, 3)",)
    assert linear.accumulator is not None
    assert (linear.accumulator.minimum, linear.accumulator.maximum) == (
        *(-7 - 9 * 255, 40 + 150 * 255),
    )
    assert str(linear.epilogue) == "fma"
    assert (linear.work, linear.needed) == (6, 4)
    assert (linear.constant_bytes, linear.result_bytes) == (6 + 8, 2)
    assert (relu.number, relu.name, relu.kind, relu.epilogue) == (1, "z", "relu", None)
    assert (relu.inputs, relu.accumulator, relu.work) == (("1x2 u8 (0.5, 3)",), None, 0)
    all_idle: list[Any] = [SimpleNamespace(layer="y", products=9, needed=0)]
    assert layer_statistics(module, (), None, all_idle)[0].needed == 0
    unnamed = parse_module(TEXT.replace(' loc("z")', ""))
    assert [(row.name, row.full_name) for row in layer_statistics(unnamed)] == [
        *(("y", "deep/y"), ("", "")),
    ]


def statistic(**of: Any) -> LayerStatistics:
    given: dict[str, Any] = {
        **{"number": 0, "name": "a", "full_name": "deep/a", "kind": "linear"},
        **{"inputs": ("1x3 u8 (0.25, 0)",), "results": ("1x2 u8 (0.5, 3)",)},
        **{"accumulator": AccumulatorRange(-100, 1000), "epilogue": proof("a")},
        **{"work": 2000, "needed": 2000, "constant_bytes": 14, "result_bytes": 2, **of},
    }
    return LayerStatistics(**given)


def test_layers_as_a_table() -> None:
    rows = [
        statistic(),
        statistic(number=1, name="b", inputs=("1x2 u8 (0.5, 3)", "1x3 u8 (0.25, 0)")),
        statistic(number=2, name="c", accumulator=None, epilogue=None, work=1),
    ]
    found = layer_table(rows)
    first, second, third = found.records()
    assert first == {
        **{"number": 0, "layer": "a", "full_name": "deep/a", "op": "linear"},
        **{"inputs": ("1x3 u8 (0.25, 0)",), "results": ("1x2 u8 (0.5, 3)",)},
        **{"accumulator_min": -100, "accumulator_max": 1000, "accumulator_bits": 11},
        **{"epilogue": "fma", "channels": 3, "channels_proved": 2, "macs": 2000},
        **{"macs_needed": 2000, "constant_bytes": 14, "result_bytes": 2},
    }
    assert second["inputs"] == ("1x2 u8 (0.5, 3)", "1x3 u8 (0.25, 0)")
    assert [third[key] for key in ("accumulator_bits", "epilogue", "channels")] == [
        *(None, None, None),
    ]
    titles = {c.title: c for c in found.columns if c.title is not None}
    assert titles["input"].text(rows[1]) == "1x2 u8, 1x3 u8 (0.25, 0)"
    assert titles["proved"].text(rows[0]) == "2/3"
    assert titles["accumulator"].text(rows[0]) == "[-100, 1000]"
    assert "needed" in titles  # one layer needs other products
    assert "needed" not in {c.title for c in layer_table(rows[:2]).columns}
    assert (found.total, found.notes) == ("3 layers", [])
    assert layer_table(rows[:1]).total == "1 layer"
    assert found.legend == LEGEND
    full = layer_table(rows, full_names=True)
    assert [(c.title, c.key) for c in full.columns[:4]] == [
        *(("#", "number"), (None, "layer"), ("layer", "full_name"), ("op", "op")),
    ]
    assert full.records()[0].keys() == first.keys()
    assert [c.rank for c in found.columns if c.title] == [
        *(0, 0, 0, 5, 1, 6, 0, 2, 4, 0, 8, 3, 7),
    ]
    last = found.render().splitlines()
    totals = next(line for line in last if line.lstrip().startswith("3 layers"))
    assert totals.split()[2:] == ["4,001", "6,000", "42", "6"]


@pytest.mark.parametrize(
    ("refused", "notes"),
    [
        ({}, []),
        ({"a": "no rule"}, ["No epilogue of 1 layer (a): no rule."]),
        (
            dict.fromkeys("abc", "no rule"),
            ["No epilogue of 3 layers (a, b, c): no rule."],
        ),
        (
            dict.fromkeys("abcd", "no rule"),
            ["No epilogue of 4 layers (a, b, c, ...): no rule."],
        ),
        (
            {"a": "x", "b": "y", "c": "x"},
            ["No epilogue of 2 layers (a, c): x.", "No epilogue of 1 layer (b): y."],
        ),
    ],
)
def test_why_layers_have_no_epilogue(refused: dict[str, str], notes: list[str]) -> None:
    assert layer_table([], refused).notes == notes


def test_statistics_of_a_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contract that doesn't exist is an error; what it refuses, a note."""
    loaded: list[str] = []
    proofs: list[Any] = [(["proof"], ["dropped"])]

    def proved(arith: str, target: str) -> Any:
        assert (arith, target) == ("arith", "target")
        if isinstance(proofs[0], QlowerError):
            raise proofs[0]
        return proofs[0]

    own = replace_contract(TEXT)
    module = parse_module(own)
    compilation: Any = SimpleNamespace(
        contract=None,
        qnn=module,
        model=SimpleNamespace(module="model"),
        arith="arith",
        target="target",
    )
    rows = [statistic(name=name) for name in "abc"]
    given: list[Any] = []

    def listed(*of: Any) -> list[LayerStatistics]:
        given.append(of)
        return rows

    monkeypatch.setattr(statistics, "load_contract", loaded.append)
    monkeypatch.setattr(statistics, "proofs_and_dropped", proved)
    monkeypatch.setattr(statistics, "known_proofs", lambda *of: (of, {"a": "why"}))
    monkeypatch.setattr(statistics, "layer_statistics", listed)
    found = statistics.stats_of(compilation)
    assert given == [("model", ["proof"], None, ["dropped"])]
    assert (found.layers, found.refused, found.full_names) == (rows, {}, False)
    assert loaded == ["tvm"]
    compilation.contract = "exact"
    chosen = statistics.stats_of(compilation, ["c", "a"], full_names=True)
    assert loaded[1:] == ["exact", "tvm"]
    assert [row.name for row in chosen.layers] == ["a", "c"]
    assert chosen.full_names
    assert chosen.table.columns[2].key == "full_name"
    proofs[0] = QlowerError("refused")
    found = statistics.stats_of(compilation)
    assert found.refused == {"a": "why"}
    assert given[-1] == ("model", ("model", "exact", "target"), "exact", ())
    assert statistics.stats_of(compilation, []).layers == []


def replace_contract(text: str) -> str:
    """The model with a contract of its own in one layer."""
    return text.replace(
        "qnn.linear %x, %w, %b\n", 'qnn.linear %x, %w, %b {contract = "tvm"}\n'
    )


def test_layers_that_a_contract_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each alone; the others are proved together."""
    module = parse_module(TEXT)
    bad = {"z"}

    def lowered(part: Any, contract: str) -> str:
        names = [one for one in "yz" if one in part]
        if bad & {*names}:
            raise QlowerError(f"{contract} refuses {names}")
        return f"arith of {names}"

    class Index:
        def __init__(self, given: Any) -> None:
            assert given is module

        def detach(self, names: list[str]) -> tuple[list[str]]:
            return (names,)

    monkeypatch.setattr(refusing, "LayerIndex", Index)
    monkeypatch.setattr(refusing, "detach_layers", lambda of, names: (names,))
    monkeypatch.setattr(refusing, "lower_to_arith", lowered)
    monkeypatch.setattr(
        refusing, "epilogue_proofs", lambda arith, target: [arith, target]
    )
    assert refusing.layer_refusals(module, ["y", "z"], "c") == {"z": "c refuses ['z']"}
    assert refusing.known_proofs(module, "c", "t") == (
        *(["arith of ['y']", "t"], {"z": "c refuses ['z']"}),
    )
    bad.add("y")
    proofs, refused = refusing.known_proofs(module, "c", "t")
    assert (proofs, list(refused)) == ([], ["y", "z"])
    bad.clear()
    assert refusing.known_proofs(module, "c", "t") == (["arith of ['y', 'z']", "t"], {})


def test_a_finding_is_about_the_worst_channel() -> None:
    out = np.array([-5, -900, 3]), np.array([5, 7, 400]), np.array([0, 772, 273])
    op = operation()
    width = vars(findings)["_Width"](8, "c")
    assert findings._finding(op, PAIRS, out, width, (1, 9)) == Finding(
        *("y", "linear", PAIRS, 3, 2, 1, -900, 7, 8, (1, 9), "c"),
    )
    unnamed = operation(TEXT.replace('    loc("y"("deep/y"))\n', ""))
    assert findings._finding(unnamed, PAIRS, out, width, None).layer == "qnn.linear"
    plain = replace(findings._finding(op, ACCUMULATOR, out, width, None), owner=None)
    assert (plain.on_data, plain.what) == (None, ACCUMULATOR)
