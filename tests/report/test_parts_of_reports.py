"""What a report is made of, with sides and differences that are given."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.explain.difference import Difference
from qlower.interp.values import Array
from qlower.report.graph import Node
from qlower.report.levels import Levels
from qlower.report.report import Report

make: Any = import_module("qlower.report.make")
blocks: Any = import_module("qlower.report.layers")
levels: Any = import_module("qlower.report.levels")
Kept: Any = vars(make)["_Kept"]
Look: Any = vars(make)["_Look"]


def int8(values: Any) -> Array:
    return np.array(values, np.int8)


# Sides


class Own:
    """A side that computes layers, and records the values it is asked for."""

    title, executor, cpu, notes, contract, model = "own", "jit", "c", ("n",), "k", "m"

    def __init__(self, title: str = "own", ready: bool = True) -> None:
        self.title, self.ready, self.asked = title, ready, list[int]()

    def values(self, number: int, inputs: Any) -> dict[str, Any]:
        self.asked.append(number)
        return {"a": f"{self.title} a", "input": inputs}

    def completed(self, known: dict[str, Any]) -> dict[str, Any]:
        return {"completed": known}

    def is_ready(self, name: str, given: Any) -> bool:
        return self.ready

    def layer(self, name: str, values: Any) -> Any:
        return SimpleNamespace(result=f"{self.title} {name}", of=values)


class Dump:
    """A side that only has values."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def values(self, number: int, inputs: Any) -> dict[str, Any]:
        return {name: f"dumped {name}" for name in self.names}


def test_a_side_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def values(self: Any, number: int, inputs: Any) -> Any:
        asked.append(number)
        return {"y": number}

    monkeypatch.setattr(Kept.__bases__[0], "values", values)
    side = Kept("t", None, None)
    assert [side.values(n, {})["y"] for n in (0, 0, 1, 1, 0)] == [0, 0, 1, 1, 0]
    assert asked == [0, 1, 1]


def test_sides_of_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    other: list[Any] = [Own("other")]

    def side(*of: Any) -> Any:
        asked.append(of)
        return other[0]

    own: list[str | None] = [None]
    monkeypatch.setattr(make, "make_side", side)
    monkeypatch.setattr(make, "Computed", Own)
    monkeypatch.setattr(make, "_Kept", lambda *of: of)
    monkeypatch.setattr(make, "module_contract", lambda module: own[0])
    model = SimpleNamespace(module=0)
    compilation = SimpleNamespace(model=model)

    def found(contract: Any, against: Any) -> Any:
        return make._sides(compilation, contract, against, 7, "match")

    assert found("c", None) == (("c", model, "c"), None)
    assert found(None, None) == (("interp", model, None), None)
    own[0] = "tvm"
    assert found(None, None) == (("tvm", model, None), None)
    assert asked == []
    assert found("c", "b")[1] == ("other", "m", "k", "jit", "c", ("n",))
    assert asked == [("b", model, "c", 7, "match")]
    other[0] = "a dump"
    assert found("c", "b")[1] == "a dump"


OP: Any = type("Op", (), {})()


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of the layer `a`, by some sides."""
    monkeypatch.setattr(make, "Computed", Own)
    monkeypatch.setattr(make, "qnn", SimpleNamespace(QnnOp=type(OP)))
    monkeypatch.setattr(make, "lanes_of", lambda run: "lanes")
    monkeypatch.setattr(make, "cut_of", lambda run, lanes: ("cut", lanes))

    def of(own: Any, other: Any, op: Any = OP) -> Any:
        node: Any = SimpleNamespace(op=op, name="a")
        return Look(None, (own, other), {"x": 1})._layer(node)

    return of


def test_a_layer_of_one_side(look: Any) -> None:
    found = look(Own(), None)
    assert (found.name, found.op, found.value) == ("a", OP, "own a")
    assert found.run.of == {"a": "own a", "input": {"x": 1}}
    assert (found.lanes, found.cut) == ("lanes", ("cut", "lanes"))
    assert (found.other, found.carried, found.alone) == (None, None, None)
    plain = look(Own(), None, op="another")
    assert (plain.run, plain.lanes, plain.cut, plain.alone) == (None, None, None, None)
    assert plain.value == "own a"


def test_a_layer_of_two_sides(look: Any) -> None:
    """Both on the first one's values, which also gets those of a dump."""
    both = look(Own(), Own("other"))
    assert both.carried == ("own a", "other a")
    assert both.alone == ("own a", "other a")
    assert both.run.of == both.other.of == {"a": "own a", "input": {"x": 1}}
    dumped = look(Own(), Dump("a"))
    assert dumped.carried == ("own a", "dumped a")
    assert dumped.alone == ("own a", "dumped a")
    assert dumped.run.of == {"completed": {"a": "dumped a"}}
    assert dumped.other is None
    without = look(Own(), Dump("b"))
    assert (without.carried, without.alone) == (None, None)
    unready = look(Own(ready=False), Dump("a"))
    assert unready.run.of == {"a": "own a", "input": {"x": 1}}
    assert (unready.alone, unready.carried) == (None, ("own a", "dumped a"))
    moved = look(Own(), Dump("a"), op="another")
    assert (moved.carried, moved.alone) == (("own a", "dumped a"), None)


def test_layers_by_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [SimpleNamespace(number=n, op=op) for n, op in ((0, None), (1, 2), (4, 3))]
    found = Look(None, (None, None), {})
    vars(found)["nodes"] = nodes
    monkeypatch.setattr(Look, "_layer", lambda self, node: f"layer {node.op}")
    monkeypatch.setattr(make, "layer_blocks", lambda layer, seen: iter([layer, seen]))
    titles: list[str] = []

    def progress(numbers: Any, title: str) -> Any:
        titles.append(title)
        return numbers

    assert found.layers("seen", progress) == {
        **{1: ("layer 2", ["layer 2", "seen"]), 4: ("layer 3", ["layer 3", "seen"])},
    }
    assert titles == ["report"]


def test_what_two_sides_are_compared_by(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(make, "diff", lambda *of, **named: calls.append((of, named)))
    monkeypatch.setattr(make, "equal", lambda *of, **named: calls.append((of, named)))
    compilation = SimpleNamespace(model="model")
    assert Look(compilation, (Own(), None), {}).diff(["x"], None) is None
    assert calls == []
    own, other = Own(), Dump()
    both = Look(compilation, (own, other), {})
    both.diff(["x", "y"], "progress")
    both.equality("tvm", True, "progress")
    assert calls == [
        ((own, other, "model", "x", "y"), {"progress": "progress"}),
        (("own", "tvm", "model"), {"native": True, "progress": "progress"}),
    ]
    with pytest.raises(QlowerError, match="two contracts are verified: name the other"):
        both.equality(other, True, None)


# The head of the page


def difference(differing: int) -> Difference:
    return Difference(elements=100, differing=differing)


def row(name: str, carried: int | None, alone: int | None = None) -> Any:
    return SimpleNamespace(
        name=name,
        carried=None if carried is None else difference(carried),
        alone=None if alone is None else difference(alone),
    )


def node(number: int, role: Any, name: str, *sources: int) -> Node:
    op: Any = name if role == "layer" else None
    return Node(number, role, name, name, "kind", "type", sources, op)


NODES = [
    *(node(0, "input", "x"), node(1, "layer", "a", 0), node(2, "layer", "b", 1)),
    *(node(3, "layer", "c", 1), node(4, "output", "y", 2), node(5, "output", "z", 1)),
]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([row("a", 0), row("b", 0)], "0 of 2 layers differ"),
        ([row("a", 1), row("b", 0)], "1 of 2 layers differs"),
        ([row("a", 1), row("b", 7), row("c", None)], "2 of 2 layers differ"),
        ([row("a", 1)], "1 of 1 layer differs"),
        ([row("a", 9, 3), row("b", 9, 0)], "1 of 2 layers differs by itself"),
        ([row("a", 9, 3), row("b", 9, None)], "1 of 1 layer differs by itself"),
    ],
)
def test_how_much_differs(rows: list[Any], text: str) -> None:
    """Layers, by themselves where that is known, and elements of the outputs."""
    found = SimpleNamespace(layers=rows)
    ends = [one for one in rows if one.name in ("a", "b") and one.carried]
    outputs = sum(one.carried.differing for one in ends)
    size = f"{100 * len(ends)} elements"
    assert make._counts(NODES, found) == f"{text}; outputs: {outputs} of {size} differ"
    inner = SimpleNamespace(layers=[one for one in rows if one.name == "c"])
    assert make._counts(NODES, inner) == "0 of 0 layers differ"


@pytest.mark.parametrize(
    ("found", "equality", "lines"),
    [
        (None, None, ["3 layers by own"]),
        ("equal", None, ["p and q: no element differs", "the verdict"]),
        ("differs", None, ["p and q: counted", "the verdict"]),
        ("equal", "all", ["p and q: no element differs", "the verdict", "For all in"]),
        (None, "all", ["3 layers by own", "For all inputs: 3 are equal"]),
    ],
)
def test_the_head_of_the_page(
    found: Any, equality: Any, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "_counts", lambda nodes, found: "counted")
    look = SimpleNamespace(nodes=NODES, sides=(Own(), None))
    diff = found and SimpleNamespace(
        a="p", b="q", is_equal=found == "equal", verdict=["the verdict"]
    )
    notes = SimpleNamespace(table=SimpleNamespace(notes=["3 are equal", "more"]))
    told = list(make._verdict(look, diff, equality and notes))
    assert len(told) == len(lines)
    assert all(one.startswith(line) for one, line in zip(told, lines, strict=True))


def test_settings_of_the_page() -> None:
    found = SimpleNamespace(b="q", notes=["n", "m"])
    one, many = (SimpleNamespace(runs=[0] * n) for n in (1, 2))
    assert list(make._told(one, None)) == []
    assert list(make._told(one, found)) == [
        ("compared with", "q"),
        ("", "n"),
        ("", "m"),
    ]
    assert list(make._told(many, None)) == [
        ("inputs", "2 inputs: all are compared, the first is shown"),
    ]


def test_measures_of_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "divergences", lambda found: [f"{found} 1", f"{found} 2"])
    monkeypatch.setattr(make, "time_measure", lambda profile: f"times of {profile}")
    monkeypatch.setattr(make, "saturation", lambda cuts: cuts)
    layers = [SimpleNamespace(name=n, cut=cut) for n, cut in (("a", 3), ("b", None))]
    assert list(make._measures(None, None, layers)) == [{"a": 3}]
    assert list(make._measures("diff", "profile", layers)) == [
        *("diff 1", "diff 2", "times of profile", {"a": 3}),
    ]


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("given", [False, True])
def test_a_report_is_put_together(
    native: bool, verify: bool, given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: dict[str, Any] = {}

    class Looked:
        nodes = ("nodes",)

        def __init__(self, compilation: Any, sides: Any, inputs: Any) -> None:
            calls["inputs"] = inputs

        def diff(self, arrays: Any, progress: Any) -> str:
            calls["diff"] = arrays
            return "diff"

        def equality(self, *of: Any) -> str:
            calls["equality"] = of[:2]
            return "equality"

        def native(self) -> tuple[str, str]:
            return "profile", "code"

        def seen(self, *of: Any) -> Any:
            calls["seen"] = of
            return of

        def layers(self, seen: Any, progress: Any) -> Any:
            return {3: ("layer", ["block"])}

    def compiled(model: Any, contract: Any, flavour: Any, **of: Any) -> Any:
        calls["compiled"] = model, contract, flavour.is_profiled, of["layer_contracts"]
        path = Path("folder/m.mlir") if given else None
        of_model = SimpleNamespace(inputs="specs", path=path)
        return SimpleNamespace(model=of_model, target=SimpleNamespace(cpu="cpu"))

    monkeypatch.setattr(make, "Compilation", compiled)
    monkeypatch.setattr(make, "_Look", Looked)
    monkeypatch.setattr(
        make, "_sides", lambda *of: (calls.update(sides=of[1:]), (Own(), 1))[1]
    )
    monkeypatch.setattr(
        make, "inputs_for_layers", lambda model, seed: (f"drawn {seed}",)
    )
    monkeypatch.setattr(
        make, "assign_inputs", lambda specs, inputs, named: list(inputs)
    )
    runs = SimpleNamespace(runs=["first", "second"])
    monkeypatch.setattr(make, "ordered_input_set", lambda specs, arrays: runs)
    monkeypatch.setattr(make, "_told", lambda examples, found: [("told", found)])
    monkeypatch.setattr(make, "_measures", lambda *of: iter(["measure", of]))
    monkeypatch.setattr(make, "_verdict", lambda look, *of: iter(["verdict", *of]))
    inputs = ("x",) if given else ()
    found = make.make_report(
        "m", *inputs, contract="c", against="b", random=5, native=native, verify=verify
    )
    assert calls["compiled"] == ("m", "c", native, {})
    assert calls["sides"] == ("c", "b", 2, None)
    assert calls["inputs"] == "first"
    assert calls["diff"] == (["x"] if given else ["drawn 5"])
    assert calls.get("equality") == (("b", native) if verify else None)
    equality = "equality" if verify else None
    profile, code = ("profile", "code") if native else (None, None)
    assert calls["seen"] == ("diff", profile, code, equality)
    assert found.about == [
        ("contract", "own"),
        *([] if given else [("input", "drawn by seed 5")]),
        ("told", "diff"),
        *([("times", "on cpu, one thread")] if native else []),
        ("made by", f"qlower {make.__version__}"),
    ]
    assert found.title == ("m.mlir" if given else "model")
    assert found.nodes == ("nodes",)
    assert found.measures == ["measure", ("diff", profile, ["layer"])]
    assert found.layers == {3: ["block"]}
    assert list(found.verdict) == ["verdict", "diff", equality]
    assert found.difference == "diff"


def test_a_report_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = import_module("qlower.report.report")
    monkeypatch.setattr(module, "page", lambda *of: f"page <{len(of)}>")
    monkeypatch.setattr(module, "explorer_files", lambda *of: {"a.json": "1", "b": "2"})
    other: Any = SimpleNamespace(to_dict=lambda: "the difference")
    one = Report("t", [("n", "x")], [], [], {1: [], 2: []}, ["v"], other)
    assert one.to_dict() == {
        **{"title": "t", "verdict": ["v"], "about": {"n": "x"}},
        "difference": "the difference",
    }
    bare = Report("t", [], [], [], {1: []})
    assert bare.to_dict()["difference"] is None
    assert [repr(one), repr(bare)] == [
        *("<Report of t, 2 layers>", "<Report of t, 1 layer>"),
    ]
    assert one.table.records() == [{"name": "n", "text": "x"}]
    assert list(one.table.notes) == ["v"]
    html = vars(Report)["_repr_html_"](one)
    assert html == (
        '<iframe srcdoc="page &lt;6&gt;" style="width: 100%; height: 40em; border: 0">'
        "</iframe>"
    )
    one.save(tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text() == "page <6>"
    folder = tmp_path / "f"
    assert one.save_model_explorer(folder) == [folder / "a.json", folder / "b"]
    assert (folder / "b").read_text() == "2"


# Layers at their levels


def test_texts_of_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "readable_operations", lambda ops: "\n".join(ops))
    kernels = [
        SimpleNamespace(name="k0", layers=("a",)),
        SimpleNamespace(name="k1", layers=("b", "a")),
        SimpleNamespace(name="k2", layers=("b",)),
    ]
    functions = {"k0": "f0", "k1": "f1", "k2": "f2"}
    code: Any = SimpleNamespace(functions=functions, kernels=kernels)
    operations: Any = {"qnn": {"a": ["q"]}, "arith": {"a": ["x", "y"], "c": ["z"]}}
    found = Levels(operations, code)

    def texts(layer: str, of: Levels = found) -> list[tuple[str, str, str]]:
        return [(one.level, one.text, one.about) for one in of.texts(layer)]

    assert texts("a") == [
        *(("qnn", "q", ""), ("arith", "x\ny", ""), ("llvm", "f0\nf1", "")),
    ]
    assert texts("b") == [("llvm", "f1\nf2", "")]
    assert texts("c") == [("arith", "z", "")]
    assert texts("d") == []
    assert texts("a", Levels(operations, None)) == [
        ("qnn", "q", ""),
        ("arith", "x\ny", ""),
    ]


def test_operations_by_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"p": ("a",), "q": ("a", "b"), "r": (), "s": ("b",)}
    block = SimpleNamespace(ops=[*names])
    main = SimpleNamespace(body=SimpleNamespace(block=block))
    monkeypatch.setattr(levels, "main_function", lambda module: main)
    monkeypatch.setattr(levels, "layer_names", lambda op: names[op])
    assert levels._by_layer(None) == {"a": ["p", "q"], "b": ["q", "s"]}


@pytest.mark.parametrize(
    ("text", "shown", "about"),
    [
        ("12345\n789", "12345\n789", None),
        ("12345\n7890", "12345\n7890", None),
        ("12345\n78901", "12345", "1 line"),
        ("12\n45\n78\n01\n34", "12\n45\n78", "2 lines"),
    ],
)
def test_a_text_is_cut_between_lines(
    text: str, shown: str, about: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "MOST_CHARACTERS", 10)
    found = levels._cut("arith", text)
    assert (found.level, found.text) == ("arith", shown)
    more = f"{about} more: qlower inspect MODEL --at arith --layer LAYER"
    assert found.about == ("" if about is None else more)


# Elements of a layer


class Table:
    """A table of pairs, or of a chain."""

    def __init__(self, name: str) -> None:
        self.name = name


def trace(name: str, result: int, exact: Any = None, total: Any = None) -> Any:
    return SimpleNamespace(
        result=int8(result), exact=exact, sum=total, path=f"path {name}", chains=[name]
    )


@pytest.mark.parametrize(
    ("alone", "diff", "other", "pairs", "value", "lines", "parts"),
    [
        (None, False, False, ["p"], "3, exact 7", ["sum", ""], ["chain a"]),
        (None, True, False, ["p"], "3, exact 7", ["sum", ""], ["chain a"]),
        (
            (5, 6),
            True,
            False,
            ["p"],
            "5 | 6, exact 7",
            ["sum", "A: path a"],
            ["chain a"],
        ),
        (
            (5, 6),
            True,
            True,
            ["p"],
            "5 | 6, exact 7",
            ["sum", "A: path a", "B: path b"],
            ["pairs"],
        ),
        (
            *((5, 5), True, True, [], "5, exact 7"),
            ["sum", "A: path a", "B: path b", "both take the same steps"],
            ["chain a"],
        ),
        ((5, 6), False, False, ["p"], "3, exact 7", ["sum", ""], ["chain a"]),
    ],
)
def test_one_element(
    alone: Any,
    diff: bool,
    other: bool,
    pairs: list[str],
    value: str,
    lines: list[str],
    parts: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By its own side; by both where they are compared."""
    lined: list[bool] = []
    traces = {"run": trace("a", 3, 7, "sum"), "other": trace("b", 4)}
    monkeypatch.setattr(blocks, "trace_of", lambda run, layer, index: traces[run.name])
    monkeypatch.setattr(blocks, "show_exact", str)
    monkeypatch.setattr(
        blocks, "line_up", lambda a, b, is_equal: (lined.append(is_equal), pairs)[1]
    )
    monkeypatch.setattr(blocks, "pair_table", lambda given, a, b: "pairs")
    monkeypatch.setattr(blocks, "chain_table", lambda chain: f"chain {chain}")
    monkeypatch.setattr(
        blocks, "blocks", SimpleNamespace(table=lambda one, title="": one)
    )
    run = SimpleNamespace(name="run", result=int8([[0, 0]]))
    layer = SimpleNamespace(
        name="l",
        run=run,
        other=SimpleNamespace(name="other") if other else None,
        alone=None if alone is None else tuple(int8([[0, one]]) for one in alone),
    )
    seen = SimpleNamespace(diff=SimpleNamespace(a="A", b="B") if diff else None)
    grid = SimpleNamespace(cell=lambda index, shape: (9, index[1], shape[1]))
    element = SimpleNamespace(index=(0, 1), why=("least", "channel 1"))
    found = blocks._element(layer, element, grid, seen)
    assert found == {
        **{"at": "[0,1]", "why": "least, channel 1", "value": value, "cell": [9, 1, 2]},
        **{"lines": [one for one in lines if one], "blocks": parts},
    }
    assert lined == ([alone[0] == alone[1]] if diff and other and alone else [])
