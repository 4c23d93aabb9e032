"""Replays and rankings of contracts, with explanations and models that are given."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.contracts import load_contract
from qlower.contracts.family import Arithmetic
from qlower.diagnostics import QlowerError
from qlower.identification.identify import compare, identify
from qlower.identification.probe import (
    Probe,
    check_format,
    make_probe,
    separating,
    write_probe,
)
from qlower.identification.replay import Explained, Explanation, Replay
from qlower.interp.values import Array
from qlower.model import build
from qlower.sides.sides import Recorded
from qlower.text.parsing import parse_module
from qlower.verification.verdict import LayerVerdict

ranking: Any = import_module("qlower.identification.identify")
replaying: Any = import_module("qlower.identification.replay")
probing: Any = import_module("qlower.identification.probe")


def int8(values: Any) -> Array:
    return np.array(values, np.int8)


def explanation(name: str, *missed: int, outputs: int = 100) -> Explanation:
    found = Explanation(name, load_contract("exact"))
    for number, one in enumerate(missed):
        found.layers[str(number)] = Explained(outputs, outputs - one)
    return found


# Which contracts go on, and their order


@pytest.mark.parametrize(
    ("missed", "dropped"),
    [
        ([(0, 0), (1, 1)], set()),
        ([(0, 0), (17, 17), (16, 99), (99, 99)], {1, 3}),
        ([(99, 99), (0, 0), (17, 17)], {0, 2}),
        ([(0, 0), (0, 0)], set()),
        ([(40, 40), (10, 10)], {0}),
        ([(36, 37), (10, 10)], set()),
        ([(17, 0), (0, 17)], set()),
    ],
)
def test_contracts_that_are_left_out_after_the_first_runs(
    missed: Sequence[tuple[int, int]], dropped: set[int]
) -> None:
    """Those far behind the best one in every layer; it is never left out."""
    given = [explanation(str(n), *one) for n, one in enumerate(missed)]
    replay: Any = SimpleNamespace(explanations=given, dropped={7})
    vars(Replay)["_drop"](replay)
    assert replay.dropped == dropped


def order(own: list[str], *names: str) -> list[str]:
    ranked = [explanation(name, 0) for name in names]
    return [one.name for one in sorted(ranked, key=lambda one: ranking._rank(one, own))]


def test_the_order_of_contracts() -> None:
    names = ("exact", "tflite-single", "tvm", "onnxruntime", "tflite", "zzz")
    assert order([], *names) == [*names[1:], "exact"]
    assert order(["tflite"], *names)[:2] == ["tflite", "tflite-single"]
    assert order(["tflite"], *names)[-1] == "exact"
    assert order(["onnxruntime", "tflite"], *names)[:3] == [
        *("onnxruntime", "tflite", "tflite-single"),
    ]
    assert order(["tflite", "onnxruntime"], *names)[:3] == [
        *("tflite", "tflite-single", "onnxruntime"),
    ]
    assert order(["tvm-neon"], "exact", "zzz", "tvm")[0] == "tvm"
    few, many = explanation("tflite", 5), explanation("zzz", 4)
    assert ranking._rank(many, ["tflite"]) < ranking._rank(few, ["tflite"])
    assert ranking._rank(few, ["tvm"]) == (-0.95, 2, False)
    assert ranking._rank(explanation("exact", 0), []) == (-1.0, 0, True)


@pytest.mark.parametrize(
    ("title", "contract", "families"),
    [
        ("dump.npz", None, []),
        ("dump.npz", "tvm", ["tvm"]),
        ("torch", None, ["pytorch"]),
        ("torch:fbgemm", "tflite", ["pytorch", "tflite"]),
        ("litert", "tvm", ["tflite", "tvm"]),
        ("live:onnxruntime", "x", ["onnxruntime", "x"]),
        ("onnxruntime.npz", None, []),
        ("a torch", None, []),
    ],
)
def test_families_by_system_and_model(
    title: str,
    contract: str | None,
    families: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranking, "module_contract", lambda module: contract)
    found = ranking._families(
        SimpleNamespace(title=title), SimpleNamespace(module=None)
    )
    assert found == families


def test_two_contracts_on_all_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts: list[Any] = ["equal", "differs", "undecided", "differs", "equal"]
    rows = [
        LayerVerdict(name, "conv2d", verdict, "")
        for name, verdict in zip("abcde", verdicts, strict=True)
    ]

    def equal(a: str, b: str, model: Any, **options: Any) -> Any:
        assert (a, b, model) == ("best", "other", "model")
        assert options == {"only": ["a"], "native": False}
        return SimpleNamespace(layers=rows)

    monkeypatch.setattr(ranking, "equal", equal)
    model: Any = "model"
    found = compare("best", "other", model, ["a"])
    assert (found.name, found.differs, found.undecided) == (
        *("other", ["b", "d"], ["c"]),
    )


# One layer, and its values


TEXT = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!y = !quant.uniform<i8:f32, 0.75:3>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x4x!y> {
  %a = qnn.requantize %x : (tensor<1x4x!x>) -> tensor<1x4x!y> loc("a")
  %y = qnn.relu %a : (tensor<1x4x!y>) -> tensor<1x4x!y> loc("y")
  return %y : tensor<1x4x!y>
}"""


def model(text: str = TEXT) -> qlower.Model:
    return qlower.Model(parse_module(text, "model.mlir"))


X = int8([[-128, -5, 7, 127]])
A = int8([[-80, 2, 10, 90]])
"""(x + 3) / 1.5 + 3, to the nearest."""


def replay(*names: str) -> Replay:
    return Replay(model(), {name: load_contract(name) for name in names})


def test_a_run_by_two_contracts() -> None:
    """Each layer gets what is recorded before it, or what the same contract gave."""
    found = replay("exact", "tflite")
    own = found.run(0, {"x": X, "y": int8([[3, 3, 10, 90]])})
    assert [[np.array(array).tolist() for array in one.values()] for one in own] == [
        [A.tolist(), [[3, 3, 10, 90]]],
    ] * 2
    assert list(found.computed) == ["a", "y"]
    assert [one.layers["y"].explained for one in found.explanations] == [4, 4]
    assert [list(one.layers) for one in found.explanations] == [["y"], ["y"]]
    found.run(1, {"x": X, "a": int8([[0, 0, 50, 0]])})
    first = found.explanations[0].layers["a"]
    assert (first.outputs, first.explained) == (4, 0)
    assert first.miss is not None
    assert (first.miss.run, first.miss.index, first.miss.given) == (1, (0, 0), -80)
    given = found.run(2, {"x": X, "a": int8([[0, 4, 50, 0]])})
    (_, y), _ = (list(one.values()) for one in given)
    assert isinstance(y, np.ndarray)
    assert y.tolist() == [[3, 4, 50, 3]]
    found.dropped = {1}
    (_, nothing) = found.run(3, {"x": X, "a": A})
    assert nothing == {}
    assert [one.layers["a"].outputs for one in found.explanations] == [12, 8]


def test_a_contract_without_a_rule_has_no_values() -> None:
    """Nor has any layer behind it, unless its operands are recorded."""
    refusing = load_contract("exact")
    rules = {n: rule for n, rule in refusing.rules.items() if n != "requantize"}
    contract: Any = __import__("dataclasses").replace(refusing, rules=rules)
    found = Replay(model(), {"bare": contract})
    (own,) = found.run(0, {"x": X})
    first, second = own.values()
    assert isinstance(first, str)
    assert "has no rule requantize" in first
    assert second == first
    (own,) = found.run(1, {"x": X, "a": A, "y": A})
    _, second = own.values()
    assert isinstance(second, np.ndarray)
    assert second.tolist() == [[3, 3, 10, 90]]
    layers = found.explanations[0].layers
    assert layers["a"].refusal == first
    assert (layers["a"].outputs, layers["a"].explained) == (4, 0)
    assert (layers["y"].outputs, layers["y"].explained) == (4, 2)


@pytest.mark.parametrize("is_positional", [False, True])
def test_rows_that_are_taken_together(
    is_positional: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other where a rule asks for places, with the same values."""
    calls: list[tuple[int, ...]] = []
    monkeypatch.setattr(replaying, "is_positional", lambda op, of: is_positional)
    found = replay("exact")
    (interpreter,) = vars(Replay)["_interpreters"].func(found)
    vars(found)["_interpreters"] = [interpreter]
    run_op = interpreter.run_op
    monkeypatch.setattr(
        interpreter,
        "run_op",
        lambda op, operands: (calls.append(operands[0].shape), run_op(op, operands))[1],
    )
    known = [{"x": X + int8(n), "a": A} for n in range(3)]
    found.run_all(known, lambda numbers, title: numbers)
    layer = found.explanations[0].layers["a"]
    assert layer.outputs == 12
    expected = [(1, 4)] * 6 if is_positional else [(3, 4)] * 2
    assert calls == expected
    alone = replay("exact")
    for number, one in enumerate(known):
        alone.run(number, one)
    assert alone.explanations[0].layers["a"] == layer
    assert alone.explanations[0].digest != ""


@pytest.mark.parametrize(
    ("largest", "count", "ends"),
    [
        (1 << 30, 3, [0, 1, 2, 3]),
        (1 << 20, 3, [0, 1, 2, 3]),
        (1 << 19, 5, [0, 2, 4, 5]),
        (1, 40, [0, 16, 40]),
        (1, 16, [0, 16]),
        (1, 5, [0, 5]),
        ((1 << 20) // 20, 50, [0, 16, 36, 50]),
    ],
)
def test_how_many_runs_are_taken_together(
    largest: int, count: int, ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    dropped: list[int] = []
    monkeypatch.setattr(replaying, "largest", lambda module: largest)
    monkeypatch.setattr(
        Replay,
        "_run",
        lambda self, first, known, plan: seen.append((first, len(known["x"]))),
    )
    monkeypatch.setattr(Replay, "_drop", lambda self: dropped.append(len(seen)))
    monkeypatch.setattr(Replay, "_plan", lambda self, rows: SimpleNamespace(rows=rows))
    titles: list[str] = []
    known = [{"x": int8([n])} for n in range(count)]
    replay("exact").run_all(
        known, lambda numbers, title: (titles.append(title), numbers)[1]
    )
    assert [first for first, _ in seen] == ends[:-1]
    assert [first + size for first, size in seen] == ends[1:]
    assert dropped == [1]
    assert titles == ["identify"]


def test_runs_that_do_not_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(replaying, "largest", lambda module: 1)
    monkeypatch.setattr(Replay, "_plan", lambda self, rows: None)
    monkeypatch.setattr(Replay, "run", lambda self, number, known: seen.append(number))
    monkeypatch.setattr(Replay, "_drop", lambda self: seen.append(-1))
    replay("exact").run_all([{}] * 18, lambda numbers, title: numbers)
    assert seen == [*range(16), -1, 16, 17]


# The whole


def test_what_a_dump_is_explained_by() -> None:
    side = Recorded("mine", [{"a": A, "y": int8([[3, 3, 10, 90]])}])
    tried = ["pytorch-qnnpack", "exact", "tflite"]
    found = identify(side, model(), X, contracts=tried, verify=False, family=False)
    assert found.names == ["pytorch-qnnpack", "tflite", "exact"]
    assert (found.runs, found.alike, found.device, found.causes) == (1, [], None, None)
    assert found.best.outputs == 8
    wrong = Recorded("mine", [{"a": A, "y": int8([[3, 3, 10, 91]])}])
    found = identify(wrong, model(), X, contracts=tried, verify=False, family=False)
    assert not found.is_found
    assert found.best.explained == 7
    assert found.causes is not None
    assert found.causes.sides == ("mine", found.best.name)
    assert (found.causes.computed, found.causes.total) == ((False, True), 1)
    assert [one.results for one in found.causes.looked_at] == [(91, 90)]


@pytest.mark.parametrize(
    ("verify", "count", "compared"),
    [(True, 3, 2), (False, 3, 0), (True, 7, 6), (True, 8, 0), (True, 1, 0)],
)
def test_how_many_equals_are_compared(
    verify: bool, count: int, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six at most: beyond that the outputs are too weak to decide."""
    asked: list[str] = []
    monkeypatch.setattr(
        ranking, "compare", lambda best, other, *of: asked.append(other)
    )
    monkeypatch.setattr(ranking, "load_contract", lambda name: load_contract("exact"))
    side = Recorded("mine", [{"a": A}])
    names = [f"c{n}" for n in range(count)]
    identify(side, model(), X, contracts=names, verify=verify, family=False)
    assert asked == names[1 : compared + 1]


@pytest.mark.parametrize(
    ("remarks", "family", "recorded", "searched", "doubt"),
    [
        ((), None, 90, False, None),
        ((), None, 91, True, None),
        ((), True, 90, True, None),
        ((), False, 91, False, None),
        (("biases",), None, 91, False, "biases"),
        (("zeros",), None, 91, True, "zeros"),
        (("zeros", "biases"), True, 91, True, "biases"),
        (("else",), None, 91, True, None),
    ],
)
def test_when_the_family_is_searched(
    remarks: tuple[str, ...],
    family: bool | None,
    recorded: int,
    searched: bool,
    doubt: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ranking, "TRUNCATED_BIASES", "biases")
    monkeypatch.setattr(ranking, "ZERO_BIASES", "zeros")
    monkeypatch.setattr(qlower.Model, "remarks", remarks)
    monkeypatch.setattr(ranking, "_device", lambda *of: "device")
    monkeypatch.setattr(ranking, "_causes", lambda *of: "causes")

    class Observing(Replay):
        def __init__(self, *of: Any) -> None:
            super().__init__(*of)
            vars(self)["observed"] = ["one"]

    monkeypatch.setattr(ranking, "Replay", Observing)
    side = Recorded("mine", [{"a": int8([[-80, 2, 10, recorded]])}])
    found = identify(side, model(), X, contracts=["exact"], verify=False, family=family)
    assert (found.device == "device") == searched
    assert found.doubt == doubt
    assert found.causes == (None if recorded == 90 else "causes")


def test_nothing_to_explain() -> None:
    side = Recorded("mine", [{"other": X}])
    with pytest.raises(QlowerError) as refused:
        identify(side, model(), X, contracts=["exact"])
    assert refused.value.message == "mine has no result that a contract computes"


def test_the_device_has_the_rest_of_the_best_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The contract that best explains layers other than those that were searched."""
    asked: list[Any] = []
    monkeypatch.setattr(ranking, "layer_name", lambda op: op)
    monkeypatch.setattr(
        ranking, "search", lambda observed, contract, progress: ("found", contract)
    )
    monkeypatch.setattr(
        ranking, "device_text", lambda found, base, title: (found, base, title)
    )
    monkeypatch.setattr(ranking, "parse_contract", lambda *of: of)

    class Again:
        explanations = ("again",)

        def __init__(self, given: Any, contracts: Any) -> None:
            asked.append((given, contracts))

        def run_all(self, known: Any, progress: Any) -> None:
            asked.append(known)

    monkeypatch.setattr(ranking, "Replay", Again)
    ranked = [explanation("p", 0, 9, 9), explanation("q", 99, 1, 0)]
    observed = [SimpleNamespace(op="0")]
    replayed = SimpleNamespace(observed=observed, model="model")
    found = ranking._device(replayed, ranked, ["runs"], "title", None)
    text = (("found", ranked[1].contract), "q", "title")
    assert (found.found, found.text, found.explanation) == (text[0], text, "again")
    assert asked == [
        ("model", {"device": (text, "device", "device.mlir")}),
        ["runs"],
    ]


@pytest.mark.parametrize("full_after", [2, 99])
@pytest.mark.parametrize("first", [0, 3, 30])
def test_causes_of_misses(
    first: int, full_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On sixteen runs at most, from the first with a miss, until enough is known."""
    pairs: list[Any] = []

    class Kept:
        def __init__(self, sides: Any, computed: Any, total: int) -> None:
            assert (sides, computed, total) == (("dump", "best"), (False, True), 4)

        def add(self, runs: Any, pair: Any) -> None:
            pairs.append((runs, pair))

        @property
        def is_full(self) -> bool:
            return len(pairs) >= full_after

    class Side:
        def __init__(self, *of: Any) -> None:
            assert of == ("best", "model", "best")

        def layer(self, name: str, values: Any) -> Any:
            return SimpleNamespace(result=f"{name} of {values}")

    monkeypatch.setattr(ranking, "Causes", Kept)
    monkeypatch.setattr(ranking, "Computed", Side)
    monkeypatch.setattr(ranking, "_completed", lambda side, values, name: values["1"])
    best = explanation("best", 0, 4, 5)
    known = [{"1": n} for n in range(40)]
    assert ranking._causes(best, "model", known, "dump") is None
    best.layers["1"].miss = replaying.Miss(first, (0,), 1, 2)
    found = ranking._causes(best, "model", known, "dump")
    assert isinstance(found, Kept)
    count = min(full_after, 16, 40 - first)
    assert [pair for _, pair in pairs] == [
        (first + n, f"1 of {first + n}") for n in range(count)
    ]
    several = [{"1": 0, "2:1": 0}]
    assert ranking._causes(best, "model", several, "dump") is None


def test_values_before_a_layer() -> None:
    made: list[tuple[str, list[str]]] = []

    def layer(name: str, values: Any) -> Any:
        made.append((name, sorted(values)))
        return SimpleNamespace(result=f"result of {name}")

    side = SimpleNamespace(model=model(), layer=layer)
    given = {"x": X}
    found = ranking._completed(side, given, "y")
    assert found == {"x": X, "a": "result of a"}
    assert made == [("a", ["x"])]
    assert given == {"x": X}
    assert ranking._completed(side, {"x": 1, "a": 2}, "y") == {"x": 1, "a": 2}
    assert ranking._completed(side, {"x": 1}, "a") == {"x": 1}


# Probes


def layer(values: Any, result: Any) -> Any:
    types = [build.quantized([1, len(values)], 0.5)]
    return SimpleNamespace(types=types, inputs=[int8([values])], result=result)


def test_layers_side_by_side() -> None:
    from qlower.dialects import qnn

    same = build.quantized([1, 3], 0.5)
    made = make_probe(
        {
            "p": layer([1, 2, 3], lambda x: qnn.ReluOp(x, same).result),
            "q": layer(
                [4, 5, 6], lambda x: qnn.ReshapeOp(x, build.quantized([3], 0.5)).result
            ),
        }
    )
    assert made.outputs == 6
    assert [spec.name for spec in made.model.outputs] == ["p", "q"]
    assert [array.tolist() for array in made.inputs.values()] == [
        *([[1, 2, 3]], [[4, 5, 6]]),
    ]
    results = qlower.interpret(
        made.model, *made.inputs.values(), contract="exact", at="qnn"
    )
    assert [np.asarray(one).tolist() for one in results] == [[[1, 2, 3]], [4, 5, 6]]


@pytest.mark.parametrize("format", ["tflite", "onnx", "mlir"])
def test_files_of_a_probe(
    format: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tflite_file", "onnx_file"):
        monkeypatch.setattr(probing, name, lambda given, name=name: name.encode())
    image = np.arange(6, dtype=np.int8).reshape(1, 1, 2, 3)
    made = Probe(model(), {"x": image})
    path = write_probe(made, format, tmp_path)
    assert path == tmp_path / f"probe.{format}"
    text = path.read_bytes()
    if format == "mlir":
        assert text.startswith(b"builtin.module")
    else:
        assert text == f"{format}_file".encode()
    with np.load(tmp_path / "inputs.npz") as inputs:
        assert inputs["x"].shape == ((1, 3, 1, 2) if format == "onnx" else (1, 1, 2, 3))


def test_formats_that_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def importing(name: str) -> None:
        asked.append(name)
        if name in ("flatbuffers", "onnx"):
            raise ImportError("gone")

    monkeypatch.setattr(probing, "import_module", importing)
    check_format("mlir")
    assert asked == []
    packages: list[tuple[Any, str]] = [("tflite", "flatbuffers"), ("onnx", "onnx")]
    for format, package in packages:
        with pytest.raises(QlowerError) as refused:
            check_format(format)
        assert refused.value.message == (
            f"writing .{format} files needs the package {package!r}: gone"
        )
        assert format in (refused.value.help or "")
    assert asked == ["tflite", "flatbuffers", "onnx"]


def test_members_that_points_are_chosen_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones of a search, and the neighbours of nine."""
    monkeypatch.setattr(probing, "first_members", lambda: iter(["first"]))
    found = list(probing._members())
    assert found[0] == "first"
    around = [
        Arithmetic(scaling=scaling, rounding=rounding).normal()
        for rounding in ("half_up", "half_even", "floor", "toward_zero")
        for scaling in (probing.FIXED, "multiply f32")
    ]
    around.append(Arithmetic(first="half_up"))
    assert found[1:] == [other for one in around for _, other in one.neighbours()]


class Points(list[int]):
    """Points that are chosen by their places."""

    def __getitem__(self, places: Any) -> Any:
        return [list.__getitem__(self, place) for place in places]


@pytest.mark.parametrize("for_family", [False, True])
def test_points_that_are_chosen(
    for_family: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that part contracts twice; of convolutions a share of what parts members,
    too."""
    count = 600
    rows = [np.zeros(count, np.int8), np.zeros(count, np.int8)]
    rows[1][[5, 7, 9]] = 1
    member = np.zeros(count, np.int8)
    member[100:] = 1
    output = SimpleNamespace(name="y", shape=(count,), numpy_dtype=np.dtype(np.int8))
    made = SimpleNamespace(model=SimpleNamespace(outputs=[output]), inputs={"x": 1})
    given: list[Any] = []

    class Replayed:
        observed = ("seen",)

        def __init__(self, model: Any, contracts: Any) -> None:
            assert contracts == {"c": 1}

        def run(self, number: int, known: Any) -> Any:
            given.append((number, known["x"], known["y"].sum(), known["y"].shape))
            return [{"a": rows[0]}, {"a": rows[1], "b": "no rule"}]

    def evidence(observed: Any, contract: Any, places: Any) -> Any:
        assert observed == ("seen",)
        assert places.tolist() == list(range(count))
        return SimpleNamespace(results=lambda one: member if one == "m" else None)

    monkeypatch.setattr(probing, "make_probe", lambda layers: made)
    monkeypatch.setattr(probing, "Replay", Replayed)
    monkeypatch.setattr(probing, "Evidence", evidence)
    monkeypatch.setattr(probing, "_members", lambda: iter(["m", "none"]))
    case = SimpleNamespace(
        name="case",
        for_family=for_family,
        points=Points(range(count)),
        layer=lambda points: points,
    )
    found = probing.chosen(case, {"c": 1})
    assert given == [(0, 1, 0, (count,))]
    if for_family:
        # 503 points part rows: each fourth of them, and one for each kind
        parting = [5, 7, 9, *range(100, 600)]
        assert found == sorted({5, 100, *parting[::4]})
    else:
        assert found == [5]


@pytest.mark.parametrize(
    ("values", "times", "expected"),
    [
        ([[0, 0]], 1, []),
        ([[0, 0], [0, 0]], 1, []),
        ([[0, 1], [0, 0]], 1, [1]),
        ([[5, 1], [0, 0]], 1, [1]),  # the least of equals
        ([[5, 1, 5], [0, 0, 0]], 2, [0, 1]),
        ([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], 1, [0, 1]),
        ([[0, 3], [0, 2], [1, 1], [1, 0]], 1, [1]),
        ([[-128], [127]], 1, [0]),
    ],
)
def test_columns_that_part_rows(
    values: list[list[int]], times: int, expected: list[int]
) -> None:
    assert separating(int8(values), times) == expected
