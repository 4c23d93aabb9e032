"""The way from two sides to a comparison, and from differences to its sentences, with
sides and differences that are given."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.explain.diff import line_up
from qlower.explain.diff_result import ChainPair, Diff, LayerDifference, trace_rows
from qlower.explain.difference import Difference
from qlower.explain.pairing import Pair
from qlower.explain.trace import Sum, Trace
from qlower.interp.values import Array
from qlower.model.signature import TensorSpec
from qlower.observe.place import Place
from qlower.observe.rows import Row

module: Any = import_module("qlower.explain.diff")
result: Any = import_module("qlower.explain.diff_result")
tracing: Any = import_module("qlower.explain.trace")
F = Fraction


def int8(values: Any) -> Array:
    return np.array(values, np.int8)


class Dump:
    """A side that has values and computes nothing."""

    notes = ("dumped",)

    def __init__(self, title: str, *runs: dict[str, Array]) -> None:
        self.title, self.runs = title, runs

    def values(self, number: int, inputs: Any) -> dict[str, Array]:
        return self.runs[number]


class Own(Dump):
    """A side that computes layers: each adds a number to what it is given."""

    notes = ("computed",)

    def __init__(self, title: str, adds: int, *runs: dict[str, Array]) -> None:
        super().__init__(title, *runs)
        self.adds, self.asked = adds, 0
        self.same: set[str] = set()
        self.ready = True

    def completed(self, known: dict[str, Array]) -> dict[str, Array]:
        return {**known, "x": int8([9])}

    def alone(self, given: dict[str, Array]) -> dict[str, Array]:
        self.asked += 1
        return {name: array + int8(self.adds) for name, array in given.items()}

    def has_same_rules(self, other: Any, name: str) -> bool:
        return name in self.same

    def is_ready(self, name: str, values: Any) -> bool:
        return self.ready

    def layer(self, name: str, values: Any) -> Any:
        return f"{self.title} {name} of {sorted(values)}"


class Named(Own):
    """A version of the model."""


SPECS = {
    "a": TensorSpec("a", (2,), "int8", (0.5,), (1,)),
    "b": TensorSpec("b", (2,), "int8"),
    "b:1": TensorSpec("b:1", (1, 3), "int8"),
}
LAYERS = [
    SimpleNamespace(name="qnn.relu", layer="a"),
    SimpleNamespace(name="other.split", layer="b"),
]


@pytest.fixture(autouse=True)
def stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of a layer with one result, and of one with two."""
    monkeypatch.setattr(module, "Computed", Own)
    monkeypatch.setattr(module, "Version", Named)
    monkeypatch.setattr(module, "result_specs", lambda model: SPECS)
    monkeypatch.setattr(module, "layers", lambda found: LAYERS)
    monkeypatch.setattr(module, "layer_name", lambda op: op.layer)


def comparison(first: Any, second: Any, runs: int = 1) -> Any:
    model: Any = SimpleNamespace(module="module")
    return vars(module)["_Comparison"](first, second, model, [{}] * runs)


A = {"a": int8([1, 2]), "b": int8([3, 4]), "b:1": int8([[5, 6, 7]])}
B = {"a": int8([1, 4]), "b": int8([3, 4])}


def counts(rows: Any, which: str) -> list[int | None]:
    found = [getattr(row, which) for row in rows]
    return [None if one is None else one.differing for one in found]


def test_rows_of_all_results() -> None:
    rows = comparison(Dump("p"), Dump("q")).rows
    assert [(row.number, row.name, row.kind, row.elements) for row in rows] == [
        *((0, "a", "relu", 2), (1, "b", "other.split", 2)),
        (1, "b:1", "other.split", 3),
    ]
    assert comparison(Dump("p"), Dump("q")).layers == {"a", "b"}


def test_which_side_runs_layers_alone() -> None:
    """The second, if it can; on the values of the other."""
    dump, own, other = Dump("p"), Own("q", 0), Own("r", 0)
    both = comparison(own, other)
    assert (both.alone, both.reference) == (other, own)
    first = comparison(own, dump)
    assert (first.alone, first.reference) == (own, dump)
    second = comparison(dump, own)
    assert (second.alone, second.reference) == (own, dump)
    neither = comparison(dump, dump)
    assert neither.alone is None
    assert neither.reference is dump


def test_differences_are_added_up() -> None:
    found = comparison(Dump("p", A, A), Dump("q", B, A), 2)
    found.add(0)
    assert counts(found.rows, "carried") == [1, 0, None]
    assert counts(found.rows, "alone") == [None, None, None]
    found.add(1)
    assert counts(found.rows, "carried") == [1, 0, 0]
    assert [row.carried.elements for row in found.rows] == [4, 4, 3]
    one = found.rows[0].carried
    assert (one.first, one.largest) == ((0, (1,)), 2.0)
    assert (one.signal, one.own, one.noise) == (0 + 1 + 0 + 1, 9 + 1, 4.0)


@pytest.mark.parametrize("swapped", [False, True])
def test_layers_alone_are_given_the_others_values(swapped: bool) -> None:
    own, dump = Own("q", 3, A), Dump("p", B)
    found = comparison(own, dump) if swapped else comparison(dump, own)
    found.add(0)
    assert counts(found.rows, "carried") == [1, 0, None]
    assert counts(found.rows, "alone") == [2, 2, None]  # the dump has no `b:1`
    assert own.asked == 1
    one = found.rows[0].alone
    squares = (0 + 9, 9 + 36)  # of 1 and 4 less 1, and of these and 3 more
    assert (one.signal, one.own) == (squares[::-1] if swapped else squares)
    given, local = found._values(0)
    assert own.asked == 1  # kept
    assert given["a"] is B["a"]
    assert local["a"].tolist() == [4, 7]
    again = comparison(Dump("p", B, A), Own("q", 1, A, B), 2)
    again.add(0)
    again.add(1)
    assert list(again.kept) == [0]
    assert again._values(1)[1]["b"].tolist() == [4, 5]


def test_steps_are_compared_where_rules_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(
        module, "other_step", lambda a, b: (asked.append((a, b)), "s")[1]
    )
    first, second = Own("p", 0, A), Own("q", 0, B)
    found = comparison(first, second)
    found.compare_steps()
    values = "of ['a', 'b', 'b:1', 'x']"
    assert asked == [(f"p {name} {values}", f"q {name} {values}") for name in "ab"]
    assert [row.steps for row in found.rows] == ["s", "s", None]
    asked.clear()
    first.same = {"a", "b:1"}
    comparison(first, second).compare_steps()
    assert len(asked) == 1
    asked.clear()
    second.ready = False
    comparison(first, second).compare_steps()
    comparison(first, Dump("d", A)).compare_steps()
    comparison(Dump("d", A), second).compare_steps()
    assert asked == []


@pytest.mark.parametrize(
    ("wanted", "differing", "expected"),
    [
        (None, {}, None),
        (None, {"b": (3, (1,))}, (Place("b", (1,)), 3)),
        (None, {"a": (2, (0,)), "b": (3, (1,))}, (Place("a", (0,)), 2)),
        (Place("a", (1,)), {"a": (2, (0,))}, (Place("a", (1,)), 0)),
        (Place("b", None), {"a": (2, (0,)), "b": (3, (1,))}, (Place("b", (1,)), 3)),
        (Place("b:1", None), {"a": (2, (0,))}, (Place("b:1", (0, 0)), 0)),
        (Place("a", None), {}, (Place("a", (0,)), 0)),
    ],
)
def test_the_element_that_is_followed(
    wanted: Any, differing: Any, expected: Any
) -> None:
    found = comparison(Dump("p"), Own("q", 0))
    for row in found.rows:
        row.alone = Difference(first=differing.get(row.name))
    assert found._place(wanted) == expected
    for row in found.rows:
        row.alone = None
    if wanted is None:
        assert found._place(None) is None


def test_both_chains_of_an_element(monkeypatch: pytest.MonkeyPatch) -> None:
    lined: list[Any] = []

    def lines(*traces: Any, is_equal: bool) -> list[str]:
        lined.append((traces, is_equal))
        return ["pair"]

    monkeypatch.setattr(module, "line_up", lines)
    monkeypatch.setattr(module, "trace_of", lambda run, layer, index: (run, index))
    monkeypatch.setattr(module, "unusual_axes", lambda found, layer: f"axes of {layer}")
    own = Own("q", 3, A)
    found = comparison(Dump("p", A), own)
    chain = found._chain(Place("a", (1,)))
    trace = ("q a of ['a', 'b', 'b:1', 'x']", (1,))
    assert lined == [((None, trace), False)]
    assert (chain.place, chain.run, chain.axes) == (Place("a", (1,)), 0, "axes of a")
    assert [int(value) for value in chain.values] == [2, 5]
    assert (chain.traces, chain.pairs) == ((None, trace), ("pair",))
    several = found._chain(Place("b:1", (0, 2)))
    assert several.traces == (None, None)
    assert several.axes == "axes of b"
    assert [int(value) for value in several.values] == [7, 10]
    own.adds = 0
    found = comparison(own, Dump("p", A))
    equal = found._chain(Place("a", (1,)))
    assert lined[-1] == ((trace, None), True)
    assert [int(value) for value in equal.values] == [2, 2]
    assert comparison(Dump("p", B), own)._chain(Place("b:1", (0, 2))) is None
    own.ready = False
    assert comparison(Dump("p", A), own)._chain(Place("a", (1,))) is None
    assert comparison(Dump("p", A), Dump("q", A))._chain(Place("a", (1,))) is None
    assert comparison(Dump("p", A), own)._chain(None) is None


class Kept:
    """Causes that are full after some inputs."""

    full_after = 99

    def __init__(self, names: Any, computed: Any, total: int) -> None:
        self.given = names, computed, total
        self.pairs: list[Any] = []

    def add(self, runs: Any, pair: Any) -> None:
        self.pairs.append((runs, [one.tolist() for one in pair]))

    @property
    def is_full(self) -> bool:
        return len(self.pairs) >= self.full_after


def test_causes_of_the_first_layer_that_differs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On sixteen inputs at most, from the one where it differs first."""
    monkeypatch.setattr(module, "Causes", Kept)
    own = Own("q", 3, *[A] * 40)
    found = comparison(Dump("p", *[A] * 40), own, 40)
    assert found._causes() is None
    for row in found.rows:
        row.alone = Difference()
    assert found._causes() is None
    found.rows[0].alone = Difference(differing=5, first=(10, (1,)))
    found.rows[1].alone = Difference(differing=7, first=(2, (1,)))
    causes = found._causes()
    assert causes.given == (("p", "q"), (False, True), 5)
    assert len(causes.pairs) == 16
    (runs, pair), *_ = causes.pairs
    assert runs == ["q a of ['a', 'b', 'b:1', 'x']"]
    assert pair == [[1, 2], [4, 5]]
    found.rows[0].alone.first = (37, (1,))
    assert len(found._causes().pairs) == 3
    monkeypatch.setattr(Kept, "full_after", 2)
    assert len(found._causes().pairs) == 2
    other = comparison(own, Dump("p", *[A] * 40), 40)
    other.rows[2].alone = Difference(differing=5, first=(0, (0, 1)))
    causes = other._causes()
    assert causes.given == (("q", "p"), (True, False), 5)
    assert causes.pairs == []  # of a result that is one of several
    version = comparison(Dump("p", A), Named("q", 3, A))
    version.rows[0].alone = Difference(differing=5, first=(0, (1,)))
    assert version._causes() is None


def test_all_that_was_found() -> None:
    found = comparison(Dump("p", A), Dump("q", B)).finish(None)
    assert (found.a, found.b, found.runs, found.reference) == ("p", "q", 1, None)
    assert (found.chain, found.causes, found.is_real) == (None, None, False)
    assert found.notes == ("dumped", "dumped")
    found = comparison(Dump("p", A), Own("q", 0, A)).finish(None)
    assert found.reference == "p"
    assert found.notes == ("dumped", "computed")


def row(name: str, value: int | None = 1, **of: Any) -> Row:
    given: dict[str, Any] = {
        **{"text": name, "words": f"does {name}", "exact": None, "how": ""},
        **{"error": None, "so_far": F(0), "place": "f:1", "is_runtime": True},
        **{"is_plain": False, **of},
    }
    stored = None if value is None else np.array(value, np.int32)
    return Row(name=name, value=stored, **given)


def test_steps_are_lined_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "trace_rows", lambda trace: trace.rows)
    one, other, more = row("x"), row("x", 2, so_far=F(1)), row("y", 3)
    a = SimpleNamespace(rows=[one, more], exact=F(0))
    b: Any = SimpleNamespace(rows=[other, more], exact=F(0))
    left: Any = a
    assert line_up(left, None, is_equal=False) == [Pair(one, None), Pair(more, None)]
    assert line_up(None, b, is_equal=False) == [Pair(None, other), Pair(None, more)]
    assert line_up(None, None, is_equal=True) == []
    assert line_up(left, left, is_equal=False) == []
    assert [p.is_parting for p in line_up(left, b, is_equal=False)] == [True, False]
    assert [p.is_parting for p in line_up(left, b, is_equal=True)] == [False, False]


# The result


def difference(**of: Any) -> Difference:
    given: dict[str, Any] = {
        **{"elements": 4000, "differing": 3, "largest": 2.5, "signal": 100.0},
        **{"noise": 1.0, "own": 100.0, "product": 50.0, "first": (0, (1,)), **of},
    }
    return Difference(**given)


NOTHING = difference(differing=0, largest=0.0, noise=0.0)


def diff(*rows: LayerDifference, **of: Any) -> Diff:
    given: Any = {"reference": "p", "chain": None, **of}
    return Diff("p", "q", 2, rows, **given)


def layer(name: str, carried: Any = None, alone: Any = None, steps: Any = None) -> Any:
    return LayerDifference(7, name, "conv2d", 4000, carried, alone, steps)


def test_layers_that_differ() -> None:
    loud, quiet = difference(noise=10.0), difference(noise=0.01)
    unknown = difference(signal=0.0)
    rows = [
        *(layer("a", NOTHING, NOTHING), layer("b", loud, NOTHING)),
        *(layer("c", quiet, loud), layer("d", unknown, quiet), layer("e")),
    ]
    found = diff(*rows)
    assert not found.is_equal
    assert found.guilty is rows[2]
    assert found.first_carried is rows[1]
    assert found.most_hurt is rows[2]
    assert [one.name for one in found.below(10.5)] == ["b", "d"]
    assert [one.name for one in found.below(10)] == ["d"]
    assert [one.name for one in found.below(99)] == ["b", "c", "d"]
    assert diff(rows[0], rows[4]).is_equal
    assert diff(rows[0]).guilty is None
    assert diff(rows[0]).first_carried is None
    assert diff(*rows[:3]).most_hurt is None  # one alone is known
    assert not diff(layer("x", None, loud)).is_equal


def test_a_difference_as_a_table() -> None:
    wild = difference(largest=float("inf"), noise=float("inf"))
    rows = [
        layer("a", NOTHING, difference()),
        layer("b", difference(elements=0), None, "steps"),
        layer("c", wild),
    ]
    found = diff(*rows).table
    assert found.title == "p and q, 2 inputs"
    assert list(found.notes) == [
        "carried: elements that differ with each side on its own values; alone: with "
        "both on those of p.",
        "max: the largest difference; dB: signal to noise.",
    ]
    first, second, third = found.records()
    assert first == {
        **{"number": 7, "layer": "a", "op": "conv2d", "elements": 4000},
        **{"carried_differing": 0, "carried_share": 0.0, "carried_largest": 0.0},
        **{"carried_decibels": None, "carried_cosine": 0.5},
        **{"alone_differing": 3, "alone_share": 3 / 4000, "alone_largest": 2.5},
        **{"alone_decibels": 20.0, "alone_cosine": 0.5, "steps": None},
    }
    assert (second["carried_share"], second["steps"]) == (3.0, "steps")
    assert [second[f"alone_{key}"] for key in ("differing", "share", "largest")] == [
        *(None, None, None),
    ]
    assert (third["carried_largest"], third["carried_decibels"]) == (None, None)

    def shown(found: Any) -> list[str]:
        return [column.text(rows[0]) for column in found.columns if column.title]

    assert shown(found) == [
        *("7", "a", "conv2d", "4,000", "0", "", "", "", "3", "0.07%", "2.5", "20.0"),
    ]
    real = diff(*rows, is_real=True).table
    assert shown(real)[8:] == ["", "3", "0.07%", "2.5", "20.0", "0.500000"]
    assert [c.text(rows[1]) for c in found.columns if c.title][9:] == ["-", "", ""]
    heads = [
        table.render("plain", width).splitlines()[0].split()
        for table, width in ((found, 78), (found, 60), (found, 52))
    ]
    assert "elements" in heads[0]
    bare = diff(*rows, reference=None).table
    assert "with both on the same, for which one side must be computed" in bare.notes[0]


def chain(**of: Any) -> ChainPair:
    part = Pair(row("x"), row("y", place="", how="floor"), True)
    given: dict[str, Any] = {
        **{"place": Place("a", (0, 1)), "run": 1, "values": (int8(3), int8(4))},
        **{"traces": (None, None), "pairs": (Pair(row("w"), row("w")), part), **of},
    }
    return ChainPair(**given)


def test_the_head_and_the_words_of_a_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    trace: Any = SimpleNamespace(exact=F(7, 2), chains=["c"], path="3.5 -> 4")
    bare: Any = SimpleNamespace(exact=None, chains=[], path="nothing")
    monkeypatch.setattr(result, "sentence", lambda known: f"sentence of {known}")

    def head(found: Diff) -> list[str]:
        assert found.chain is not None
        return list(result._chain_head(found, found.chain))

    unknown = "is not computed here, so its steps are not known"
    one = diff(chain=chain())
    assert head(one) == [
        "a[0,1] of input 1: 3 | 4",
        f"  p  {unknown}",
        f"  q  {unknown}",
    ]
    assert list(result._in_words(one)) == [
        "they part at: does x (f:1) | does y (floor)"
    ]
    both = diff(chain=chain(traces=(trace, bare), axes="nc"))
    assert head(both) == [
        "a[0,1] [n,c] of input 1: 3 | 4 | exact 3.5",
        "  p  3.5 -> 4",
    ]
    assert list(result._in_words(both))[1] == "sentence of [('p', 'c')]"
    alike = diff(chain=chain(traces=(trace, trace), pairs=()))
    assert head(alike)[-1] == "  both take the same steps"
    assert list(result._in_words(alike)) == []
    assert head(diff(chain=chain(pairs=())))[-1] == f"  q  {unknown}"
    equal = diff(chain=chain(values=(int8(3), int8(3))))
    assert list(result._in_words(equal)) == []
    single = Diff("p", "longer", 1, [], None, chain())
    assert head(single)[:2] == ["a[0,1]: 3 | 4", f"  p       {unknown}"]
    causes: Any = type("C", (), {"__str__": lambda self: "all are ties"})()
    guilty = diff(layer("g", None, difference()), causes=causes)
    assert list(result._in_words(guilty)) == ["g: all are ties"]
    assert list(result._in_words(diff(causes=causes))) == []
    silent: Any = type("C", (), {"__str__": lambda self: ""})()
    assert (
        list(result._in_words(diff(layer("g", None, difference()), causes=silent)))
        == []
    )


def test_text_data_and_html_have_the_same_parts() -> None:
    found = diff(layer("g", difference(), difference()), notes=("note",), chain=chain())
    lines = found.render().splitlines()
    assert lines[:3] == ["p and q, 2 inputs", "note", ""]
    places = [
        next(n for n, line in enumerate(lines) if line.startswith(text))
        for text in ("the first layer that differs by itself", "a[0,1] of", "they part")
    ]
    assert [lines[place - 1] for place in places] == ["", "", ""]
    assert [line for line in lines if "result so far" in line]
    plain = diff(layer("g", difference(), difference())).render().splitlines()
    assert plain[-1].startswith("the first layer that differs by itself is g")
    assert not any("result so far" in line for line in plain)
    narrow = found.render(40).splitlines()
    assert max(map(len, narrow)) <= 40
    data: Any = found.to_dict()
    assert {key: data[key] for key in ("a", "b", "inputs", "equal", "notes")} == {
        **{"a": "p", "b": "q", "inputs": 2, "equal": False, "notes": ["note"]},
    }
    assert (data["first_alone"], data["most_hurt"]) == ("g", None)
    assert data["in_words"] == ["they part at: does x (f:1) | does y (floor)"]
    assert {**data["chain"], "steps": len(data["chain"]["steps"])} == {
        **{"at": "a[0,1]", "input": 1, "values": [3, 4], "exact": None, "steps": 2},
        "parting": "does x (f:1) | does y (floor)",
    }
    quiet: Any = diff().to_dict()
    assert (quiet["chain"], quiet["first_alone"], quiet["equal"]) == (None, None, True)
    html = vars(Diff)["_repr_html_"](found)
    assert html.count("<table") == 2
    assert html.count("<p>") == 2 + 1 + 3 + 1  # notes, verdict, chain, words
    assert vars(Diff)["_repr_html_"](diff()).count("<table") == 1


# Traces


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "accumulator 9: the sum of 2 products"),
        ({"count": 1}, "accumulator 9: the sum of 1 product"),
        ({"bias": int8(-3)}, "accumulator 9: the sum of 2 products and the bias, -3"),
        ({"bias": int8(-3), "adds": True}, "accumulator 9: the sum of 2 products"),
        ({"exact": 300}, "accumulator 9: the sum of 2 products; exactly it is 300"),
        ({"product": "u8_pairs"}, "accumulator 9: the sum of 2 products (u8 pairs)"),
        (
            {"bias": int8(1), "exact": 300, "product": "u8_pairs"},
            "accumulator 9: the sum of 2 products and the bias, 1; exactly it is 300 "
            "(u8 pairs)",
        ),
    ],
)
def test_accumulators_in_words(given: dict[str, Any], expected: str) -> None:
    own: dict[str, Any] = {
        "count": 2,
        "bias": None,
        "adds": False,
        "exact": 9,
        "product": "exact",
    }
    own |= given
    found = Sum(own["count"], own["bias"], own["adds"], own["exact"], 9, own["product"])
    assert str(found) == expected
    assert found.to_dict() == {
        **{"products": own["count"], "exact": own["exact"], "accumulator": 9},
        **{"bias": own["bias"] if own["bias"] is None else own["bias"].item()},
        "product": own["product"],
    }


def trace(**of: Any) -> Trace:
    given: dict[str, Any] = {
        **{"layer": "l", "kind": "conv2d", "contract": "tflite", "index": (0, 2)},
        **{"result": int8(5), "chains": (), "products": (), "sum": None},
        **{"without_rule": "It has none.", **of},
    }
    return Trace(**given)


def test_a_trace_without_rules() -> None:
    assert str(trace()) == "conv2d l[0,2] by tflite: 5\nIt has none."
    assert trace().exact is None
    total = Sum(2, None, False, 9, 9, "exact")
    supposed: Any = type(
        "S", (), {"to_dict": lambda self: {"s": 1}, "__str__": lambda self: "x y " * 9}
    )()
    found = trace(axes="nc", sum=total, supposed=(supposed,))
    lines = str(found).splitlines()
    assert lines[:4] == [
        *("conv2d l[0,2] by tflite: 5", "the index is [n,c]", "It has none."),
        "accumulator 9: the sum of 2 products",
    ]
    assert len(lines) == 5
    data: Any = found.to_dict()
    assert {key: data[key] for key in ("layer", "op", "contract", "index", "axes")} == {
        **{"layer": "l", "op": "conv2d", "contract": "tflite", "index": [0, 2]},
        "axes": "nc",
    }
    assert (data["result"], data["exact"], data["supposed"]) == (5, None, [{"s": 1}])
    assert (data["rules"], data["products"], data["sum"]["exact"]) == ([], [], 9)
    assert trace().to_dict()["axes"] is None
    assert trace().to_dict()["sum"] is None
    assert max(map(len, found.render(20).splitlines()[4:])) <= 20


def test_exact_results_are_those_of_the_rule_that_stores_them() -> None:
    last: Any = SimpleNamespace(result=int8(5), exact=F(9, 2))
    other: Any = SimpleNamespace(result=int8(4), exact=F(1, 3))
    assert trace(chains=(other, last)).exact == F(9, 2)
    assert trace(chains=(last, other)).exact is None


def test_rows_of_traces_leave_out_plain_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"p": [row("x"), row("y", is_plain=True)], "q": [row("z")]}
    monkeypatch.setattr(result, "rows_of", lambda one: rows[one])
    found: Any = SimpleNamespace(chains=["p", "q"])
    assert [one.name for one in trace_rows(found)] == ["x", "z"]
