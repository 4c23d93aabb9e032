"""How verdicts on layers come about, with sides and decisions that are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.contracts.products import IN_PAIRS, IN_TURN
from qlower.diagnostics import QlowerError
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.interp.values import Array
from qlower.verification.decide import Decision, Interval
from qlower.verification.equal import LayerEquality, draw_inputs, layer_inputs
from qlower.verification.native.found import Found, Wrong
from qlower.verification.native.verdict import Level, Mismatch, Native, NativeVerdict
from qlower.verification.native.whole import Whole
from qlower.verification.sum_rule import Unfit
from qlower.verification.verdict import Counterexample, LayerVerdict, pack, unpack

equality: Any = import_module("qlower.verification.equal")
asking: Any = import_module("qlower.verification.questions")
native: Any = import_module("qlower.verification.native.verify")
wholes: Any = import_module("qlower.verification.native.whole")


def int8(values: Any) -> Array:
    return np.array(values, np.int8)


@pytest.fixture(scope="module")
def small() -> qlower.Model:
    return load_text(SMALL_MODEL.encode(), "small.mlir", ImportOptions())


class Side:
    """A side whose layers give what they are asked to, or are refused."""

    def __init__(self, title: str, result: Any, **of_run: Any) -> None:
        self.contract = self.title = title
        self.model = title
        self.result, self.of_run = result, of_run
        self.given: list[Any] = []

    def layer(self, name: str, values: Any) -> Any:
        self.given.append((name, values))
        result = self.result(values) if callable(self.result) else self.result
        if isinstance(result, str):
            raise QlowerError(result)
        run = {"evaluations": [1], "product": "exact", "op": name, **self.of_run}
        return SimpleNamespace(result=result, **run)


def work(model: qlower.Model, a: Any, b: Any, **of_b: Any) -> LayerEquality:
    sides: Any = Side("a", a, **of_b), Side("b", b, **of_b)
    return LayerEquality(sides, model)


VERDICT = LayerVerdict("conv", "conv2d", "equal", "")
EXAMPLE = Counterexample((0, 1), 7, (3, 4), {"image": int8([1])}, ["interp"])


# Counterexamples


@pytest.mark.parametrize(
    ("b", "index", "expected"),
    [
        ([[1, 2], [3, 4]], None, None),
        ([[1, 2], [3, 5]], None, ((1, 1), (4, 5))),
        ([[0, 2], [3, 5]], None, ((0, 0), (1, 0))),
        ([[0, 2], [3, 5]], (1, 1), ((1, 1), (4, 5))),  # the one that is meant
        ([[0, 2], [3, 5]], (0, 1), ((1, 1), (4, 5))),  # else one of its channel
        ([[0, 2], [9, 4]], (1, 1), ((0, 0), (1, 0))),  # else the first
    ],
)
def test_the_element_that_differs(
    b: Any, index: Any, expected: Any, small: qlower.Model
) -> None:
    sides = work(small, int8([[1, 2], [3, 4]]), int8(b))
    values = {"image": int8([7])}
    found = vars(LayerEquality)["_try"](sides, "conv", values, 5, index)
    if expected is None:
        assert found is None
    else:
        assert (found.index, found.results) == expected
        assert (found.number, found.inputs) == (5, values)
        assert list(found.confirmed) == ["interp"]


def drawn_by(
    model: qlower.Model, differs_at: int | None, elements: int, monkeypatch: Any
) -> tuple[LayerVerdict, list[Any]]:
    """The verdict on drawn inputs, which differ at one of them, and all that were."""
    asked: list[Any] = []

    def tried(self: Any, name: str, values: Any, number: Any, index: Any) -> Any:
        assert (name, number, index) == ("conv", None, None)
        asked.append(values)
        return EXAMPLE if len(asked) - 1 == differs_at else None

    monkeypatch.setattr(LayerEquality, "_try", tried)
    monkeypatch.setattr(equality, "_ends", lambda *_: iter(["high", "low"]))
    monkeypatch.setattr(
        equality, "draw_inputs", lambda model, layer, n, nearer: (layer, n, nearer)
    )
    values = {"x": np.zeros(elements, np.int8), "y": np.zeros(1, np.int8)}
    found = vars(LayerEquality)["_drawn"](work(model, 0, 0), VERDICT, values, "why")
    return found, asked


@pytest.mark.parametrize(
    ("elements", "count"),
    [(0, 128), (127, 128), (128, 127), (1023, 16), (2047, 8), (1 << 20, 8)],
)
def test_how_many_inputs_are_drawn(
    elements: int, count: int, small: qlower.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as have 2^14 elements, 8 to 128, each of eight nearer to the others."""
    found, asked = drawn_by(small, None, elements, monkeypatch)
    assert (found.verdict, found.how, found.counterexample) == (
        *("undecided", "why", None),
    )
    assert asked[:2] == ["high", "low"]
    assert asked[2:] == [("conv", n, n % 8) for n in range(count)]


@pytest.mark.parametrize("place", [0, 1, 9])
def test_the_first_drawn_input_that_differs(
    place: int, small: qlower.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, asked = drawn_by(small, place, 0, monkeypatch)
    assert len(asked) == place + 1
    assert (found.verdict, found.how) == ("differs", "why")
    assert found.counterexample is EXAMPLE


def test_inputs_of_ends_of_their_types(small: qlower.Model) -> None:
    ends = list(equality._ends(small, "conv"))
    assert [{name: set(a.reshape(-1)) for name, a in one.items()} for one in ends] == [
        *({"image": {127}}, {"image": {-128}}),
    ]
    assert ends[0]["image"].shape == (1, 2, 2, 1)
    text = SMALL_MODEL.replace(
        "!in = !quant.uniform<i8:", "!in = !quant.uniform<i8<-3:5>:"
    )
    narrow = load_text(
        text.replace("-128>\n!w", "-3>\n!w").encode(), "n", ImportOptions()
    )
    assert [int(one["image"].max()) for one in equality._ends(narrow, "conv")] == [
        5,
        -3,
    ]
    for nearer, bound in ((0, 9), (2, 9)):
        drawn = draw_inputs(narrow, "conv", 1, nearer)["image"]
        assert -3 <= drawn.min() <= drawn.max() <= 5, bound
    seen = [draw_inputs(narrow, "conv", seed)["image"] for seed in range(40)]
    assert set(np.concatenate(seen).reshape(-1)) == set(range(-3, 6))


@pytest.mark.parametrize(("nearer", "most"), [(0, 128), (1, 64), (3, 16), (7, 1)])
def test_inputs_that_are_near_each_other(
    nearer: int, most: int, small: qlower.Model
) -> None:
    drawn = [draw_inputs(small, "conv", seed, nearer)["image"] for seed in range(60)]
    values = np.concatenate(drawn).astype(int)
    assert -most <= values.min() <= -(most // 2)
    assert (most - 1) // 2 <= values.max() < most
    assert [*layer_inputs(small, "scores")] == ["flat"]


def test_inputs_of_other_types_are_not_ends() -> None:
    text = """\
func.func @main(%x: tensor<1x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x2xf32> {
  %y = qnn.dequantize %x : (tensor<1x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x2xf32>
    loc("y")
  %z = qnn.quantize %y : (tensor<1x2xf32>) -> tensor<1x2x!quant.uniform<i8:f32, 0.5>>
    loc("z")
  return %y : tensor<1x2xf32>
}"""
    model = load_text(text.encode(), "m.mlir", ImportOptions())
    assert list(equality._ends(model, "z")) == []
    assert len(list(equality._ends(model, "y"))) == 2
    assert draw_inputs(model, "z", 0, 7)["y"].dtype == np.float32


# Verdicts on one layer


def test_verdicts_on_a_layer(
    small: qlower.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rules, a reason, or questions that are decided."""
    same, asked = [True], list[Any](["rows"])
    monkeypatch.setattr(equality, "have_same_rules", lambda runs: same[0])
    monkeypatch.setattr(equality, "questions", lambda runs: asked[0])
    one = work(small, int8([1]), int8([1]))
    found = one.layer("conv")
    assert (found.layer, found.kind, found.verdict, found.how) == (
        *("conv", "conv2d", "equal", "the same rule and constants"),
    )
    (name, values), *_ = vars(one.sides[0])["given"]
    assert name == "conv"
    assert values["image"].tolist() == np.zeros((1, 2, 2, 1)).tolist()
    moved = work(small, int8([1]), int8([1]), evaluations=[])
    assert moved.layer("flat").how == "moved or compared alike"
    refused = work(small, int8([1]), "no rule").layer("conv")
    assert (refused.verdict, refused.how) == ("undecided", "no rule")
    same[0] = False
    found = one.layer("conv")
    assert (found.verdict, found.how) == ("undecided", "rows")
    # inputs that saturate are tried before any is drawn
    tried = iter([{"image": int8([5])}, {"image": int8([6])}])
    monkeypatch.setattr(LayerEquality, "_saturating", lambda self, runs: tried)
    apart = work(small, int8([1]), lambda values: int8([values["image"].flat[0] == 6]))
    found = apart.layer("conv")
    assert found.verdict == "differs"
    assert found.counterexample is not None
    assert found.counterexample.inputs["image"].tolist() == [5]
    asked[0] = [1, 2]
    monkeypatch.setattr(
        LayerEquality, "_decided", lambda self, *of: (of[0].layer, of[1])
    )
    assert one.layer("conv") == ("conv", [1, 2])


def test_inputs_that_saturate(
    small: qlower.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each side by its own product: the turning ones, or the worst pair."""
    monkeypatch.setattr(
        equality, "turning_inputs", lambda model, contract, op: [f"turning {model}"]
    )

    def fit(model: str, contract: str, op: object, product: str) -> Any:
        worst = SimpleNamespace(inputs=f"pair {model} {product}")
        return SimpleNamespace(worst=None if contract == "b" else worst)

    monkeypatch.setattr(equality, "pair_fit", fit)
    own: Any = vars(LayerEquality)["_saturating"]
    sides = work(small, 0, 0)

    def found(*products: str) -> list[str]:
        runs = tuple(SimpleNamespace(product=p, op="op") for p in products)
        return list(own(sides, runs))

    pairs = next(iter(IN_PAIRS))
    assert found("exact", "exact") == []
    assert found(IN_TURN, "exact") == ["turning a"]
    assert found(IN_TURN, IN_TURN) == ["turning a", "turning b"]
    assert found(pairs, pairs) == [f"pair a {pairs}"]  # b's don't saturate
    assert found("exact", pairs) == []


class Asked:
    """A question whose numbers have inputs, or have not."""

    def __init__(self, reached: Any = None) -> None:
        self.functions = self.domain = None
        self.lanes = SimpleNamespace(places=[0, 1, 2], index=lambda lane: (0, lane))
        self.asked: list[Any] = []
        self.reached = reached

    def reach(self, *of: Any) -> Any:
        self.asked.append(of)
        return self.reached and self.reached(*of)


def decided(
    model: qlower.Model,
    monkeypatch: pytest.MonkeyPatch,
    decisions: list[Decision],
    asked: list[Any] | None = None,
    possible: Any = None,
    example: Any = None,
) -> LayerVerdict:
    rows = iter(decisions)
    monkeypatch.setattr(equality, "decide", lambda functions, domain: next(rows))
    monkeypatch.setattr(equality, "possible_differences", lambda one, run: possible)
    monkeypatch.setattr(
        LayerEquality, "_example", lambda self, one, at, *_: example and example(at)
    )
    monkeypatch.setattr(
        LayerEquality,
        "_drawn",
        lambda self, verdict, values, why: replace(
            verdict, verdict="undecided", how=why
        ),
    )
    questions = [Asked() for _ in decisions] if asked is None else asked
    own: Any = vars(LayerEquality)["_decided"]
    return own(work(model, 0, 0), VERDICT, questions, ("run", "run"), {})


def test_decisions_become_a_verdict(
    small: qlower.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(*decisions: Decision, **of: Any) -> LayerVerdict:
        return decided(small, monkeypatch, list(decisions), **of)

    same = found(Decision(5, "proof"), Decision(6, "steps"), Decision(7, "proof"))
    assert (same.verdict, same.how, same.numbers) == ("equal", "proof, steps", 18)
    assert (same.lanes, same.apart, same.counterexample) == (3, 0, None)
    why = found(Decision(5, "a"), Decision(6, "", why="too many"))
    assert (why.verdict, why.how, why.numbers) == ("undecided", "too many", 11)
    at = (Interval(2, 1000, 1009), Interval(1, 4, 5))
    differ = Decision(9, "steps", at, frozenset([1, 2]))
    open_ = found(differ)
    assert (open_.verdict, open_.apart) == ("undecided", 2)
    assert open_.how == "differs at 1,000 in [0, 2], no input found"
    unmet = found(differ, possible=[])
    assert (unmet.verdict, unmet.apart) == ("equal", 0)
    assert unmet.how == "steps; where they differ there is no sum of the weights"
    both = found(differ, Decision(1, "", why="too many"), possible=[])
    assert both.verdict == "undecided"
    assert both.how == "differs at 1,000 in [0, 2], no input found"
    widest = found(differ, example=lambda at: EXAMPLE if at else None)
    assert (widest.verdict, widest.counterexample) == ("differs", EXAMPLE)
    given: list[Any] = []

    def later(at: Any) -> Any:
        given.append(at)
        return EXAMPLE if at == "possible" else None

    late = found(Decision(1, ""), differ, possible="possible", example=later)
    assert late.verdict == "differs"
    assert given == [[((0, 2), 1000, 1009), ((0, 1), 4, 5)], "possible"]


def test_intervals_in_which_an_input_is_looked_for(
    small: qlower.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first 64, until one is reached and differs."""
    monkeypatch.setattr(equality, "layer_name", lambda op: "conv")
    monkeypatch.setattr(LayerEquality, "_named", lambda self, run, found: found)
    monkeypatch.setattr(
        LayerEquality,
        "_try",
        lambda self, name, given, number, index: (
            (name, given, number, index) if number == 7 else None
        ),
    )
    own: Any = vars(LayerEquality)["_example"]
    run, sides = SimpleNamespace(op=None), work(small, 0, 0)

    def found(question: Any, count: int) -> Any:
        intervals = [((n,), n, n + 1) for n in range(count)]
        return own(sides, question, intervals, run, {"x": 0})

    nothing = Asked()
    assert found(nothing, 70) is None
    assert nothing.asked == [((n,), n, n + 1) for n in range(64)]
    some = Asked(
        lambda index, first, last: ({"y": first}, first) if first > 5 else None
    )
    assert found(some, 70) == ("conv", {"x": 0, "y": 7}, 7, (7,))
    assert len(some.asked) == 8
    without: Any = SimpleNamespace(reach=None)
    assert found(without, 3) is None


def test_layers_that_are_alike_share_a_verdict(
    small: qlower.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = {
        "conv": replace(VERDICT, how="proof"),
        "flat": replace(VERDICT, layer="flat", how="refuses layer 'flat'"),
    }
    asked: list[str] = []

    def layer(self: Any, name: str) -> LayerVerdict:
        asked.append(name)
        return replace(verdicts.get(name, VERDICT), layer=name)

    monkeypatch.setattr(LayerEquality, "layer", layer)
    monkeypatch.setattr(equality, "content_of", lambda model, name: b"all alike")
    monkeypatch.setattr(
        equality, "layer_inputs", lambda model, name: [f"{name} 0", f"{name} 1"]
    )
    sides = work(small, 0, 0)
    assert sides.shared("conv").how == "proof"
    assert sides.shared("scores").layer == "scores"
    assert asked == ["conv"]
    sides.known.clear()
    assert sides.shared("flat").layer == "flat"
    sides.shared("conv")  # what is refused of a layer names that alone
    assert asked == ["conv", "flat", "conv"]
    given = {"conv 0": int8([1]), "conv 1": int8([2])}
    verdicts["conv"] = replace(
        VERDICT, verdict="differs", counterexample=replace(EXAMPLE, inputs=given)
    )
    sides.known.clear()
    own, other = sides.shared("conv"), sides.shared("scores")
    assert own.counterexample is not None
    assert own.counterexample.inputs == given
    assert (other.layer, other.verdict) == ("scores", "differs")
    assert other.counterexample is not None
    assert other.counterexample.inputs == {
        **{"scores 0": given["conv 0"], "scores 1": given["conv 1"]},
    }
    del asked[:]
    seen: Any = lambda *_: None  # noqa: E731
    again = replace(sides, seen=seen)
    again.shared("conv")
    again.shared("conv")
    assert asked == ["conv", "conv"]


def test_counterexamples_that_code_confirms(monkeypatch: pytest.MonkeyPatch) -> None:
    class Coded:
        def __init__(self, result: int) -> None:
            self.result = result

        def each_alone(self, inputs: Any) -> Any:
            assert inputs == {"b": EXAMPLE.inputs, "c": EXAMPLE.inputs}
            return {"b": int8([[0, 3 + self.result]]), "c": int8([[0, 9]])}

    monkeypatch.setattr(
        equality, "replace", lambda one, **of: stand_ins[id(one)](one, of)
    )
    sides = Coded(0), Coded(1)

    def side(one: Any, of: Any) -> Any:
        assert of == {"executor": "jit"}
        return one

    stand_ins: Any = dict.fromkeys(map(id, sides), side)
    rows = [
        VERDICT,
        replace(VERDICT, layer="b", verdict="differs", counterexample=EXAMPLE),
        replace(VERDICT, layer="c", verdict="differs", counterexample=EXAMPLE),
    ]
    stand_ins |= {
        id(one): lambda one, of: replace(one, **of) for one in (*rows, EXAMPLE)
    }
    found = list(equality._confirm(sides, rows))
    assert found[0] is VERDICT
    assert found[1].verdict == "differs"
    assert list(found[1].counterexample.confirmed) == ["interp", "jit"]
    assert (found[2].verdict, found[2].counterexample) == ("undecided", None)
    assert found[2].how == ("[0,1] at 7: 3 | 4, but machine code gives 9 | 9")


# Questions


@pytest.mark.parametrize(
    ("products", "excess", "expected"),
    [
        (("exact", "exact"), (0, 0), 0),
        (("pairs", "pairs"), (12, 12), 12),
        (("pairs", "exact"), (12, 0), "pairs of products may saturate by one contract"),
        (("exact", "pairs"), (0, 12), "pairs of products may saturate by one contract"),
        (("pairs", "exact"), (0, 0), 0),
    ],
)
def test_how_far_pairs_may_leave_exact_sums(
    products: tuple[str, str],
    excess: tuple[int, int],
    expected: int | str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rest = iter(excess)
    monkeypatch.setattr(asking, "_excess", lambda op, product: next(rest))
    runs = tuple(SimpleNamespace(product=product) for product in products)
    found = asking._slack(runs, None)
    if isinstance(expected, str):
        assert found == f"{expected} alone"
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ([-32768, 5], [32767, 7], 0),
        ([-32769, 5], [32767, 7], 1 * 24),
        ([-32768, 5], [32768, 7], 1 * 24),
        ([-32770, -40000], [40000, 7], 7233 * 24),
        ([-32778, 5], [32770, 7], 10 * 24),
    ],
)
def test_what_saturated_pairs_lose(
    low: list[int], high: list[int], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = next(iter(IN_PAIRS))
    bounds = np.array(low), np.array(high)
    monkeypatch.setattr(asking, "pair_bounds", lambda op, product: bounds)
    op = SimpleNamespace(
        weight=SimpleNamespace(type=SimpleNamespace(get_shape=lambda: (2, 3, 4)))
    )
    assert asking._excess(op, pairs) == expected
    assert asking._excess(op, "exact") == 0


def test_what_registers_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    keeps = {"wide": True, "narrow": False}
    monkeypatch.setattr(
        asking, "keeps_sums", lambda contract, op, start: keeps[contract]
    )
    monkeypatch.setattr(
        asking,
        "held_sums",
        lambda contract, op, start: None if start is None else (contract, start),
    )

    def held(*contracts: str, of: bool, start: Any = 3) -> Any:
        runs = tuple(SimpleNamespace(contract=c, start=start) for c in contracts)
        return asking._held(runs, None, of)

    cut = "a register that is narrower than the sums may cut them"
    assert held("wide", "wide", of=True) is None
    assert held("wide", "wide", of=False) is None
    assert held("narrow", "wide", of=False) == cut
    assert held("wide", "narrow", of=False) == cut
    assert held("narrow", "wide", of=True) == ("narrow", 3)
    assert held("narrow", "wide", of=True, start=None) == cut


# Machine code


def test_functions_that_compute_a_layer_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each name once, the function first and then the others that share a layer."""
    nests = [SimpleNamespace(names=names) for names in FUNCTIONS]
    block = SimpleNamespace(ops=[*nests, SimpleNamespace(names=None)])
    main = SimpleNamespace(body=SimpleNamespace(block=block))
    monkeypatch.setattr(native, "main_function", lambda module: main)
    monkeypatch.setattr(native, "_computes", lambda op: op.names is not None)
    monkeypatch.setattr(native, "layer_names", lambda op: op.names)
    place = {id(nest): number for number, nest in enumerate(nests)}
    found = [[place[id(one)] for one in group] for group in native._functions(None)]
    assert found == [[0, 2, 3], [1], [3, 0, 2]]


FUNCTIONS = [("a",), ("b",), ("a",), ("a", "c")]


class Nest:
    """A loop nest of some layers."""

    def __init__(self, *names: str, reduces: bool = False, ops: int = 1) -> None:
        self.names, self.reduction_bounds = names, [3] if reduces else []
        self.epilogue = SimpleNamespace(block=SimpleNamespace(ops=[0] * ops))
        self.res = [f"result of {names}"]


class Scan:
    """What is no nest."""

    def __init__(self, *names: str) -> None:
        self.names = names


@pytest.fixture
def nests(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """What is found of some functions: by which way they are decided."""
    monkeypatch.setattr(native, "NestOp", Nest)
    monkeypatch.setattr(native, "ScanOp", Scan)
    monkeypatch.setattr(native, "SUMMING", str)
    monkeypatch.setattr(native, "layer_names", lambda nest: nest.names)
    wrong = Mismatch(None, (1,), 2, 3)

    def way(name: str) -> None:
        def decide(given: Any, *of: Any) -> Any:
            if name == "products":
                return RESULTS["products"](given)
            return Found(f"{name} {of[-1].last}", 1, flip=5)

        monkeypatch.setattr(
            native, "look_at_rows" if name == "rows" else f"decide_{name}", decide
        )

    for name in ("rows", "bytes", "products", "sums"):
        way(name)
    RESULTS["wrong"] = Found("wrong products", 1, difference=wrong)
    return lambda *functions, **of: of_functions(*functions, **of)


RESULTS: dict[str, Any] = {}


def of_functions(*functions: Any, products: Any = None) -> tuple[str, list[Any]]:
    settled: list[Any] = []
    stored = SimpleNamespace(last="", settle=lambda *of: settled.append(of))
    references = SimpleNamespace(operations={"a": "sums", "b": 1})
    RESULTS["products"] = products or (lambda given: None)
    found = native._decide(functions, references, "target", "bind", stored)
    return found.how.strip(), settled


def test_ways_to_decide_functions(nests: Callable[..., Any]) -> None:
    """By bytes, by products and then sums, or by rows; the last nest's result is what
    is stored, with the bits that were found."""
    plain, summing = Nest("a"), Nest("a", reduces=True)
    assert nests(plain) == ("bytes", [("result of ('a',)", 5)])
    assert nests(summing) == ("sums", [("result of ('a',)", 5)])
    last = Nest("a", reduces=True)
    last.res = ["the last"]
    assert nests(summing, last) == ("rows", [("the last", 5)])
    assert nests(summing, plain, last) == ("rows", [("the last", 5)])

    def unfit(given: Any) -> Any:
        raise Unfit("too many")

    assert nests(summing, products=unfit)[0] == "sums , not of which products: too many"
    assert nests(summing, products=lambda given: RESULTS["wrong"]) == (
        *("wrong products", []),
    )
    for others, why in (
        ([Nest("a"), Nest("a", "b")], "several functions compute the layer"),
        ([Nest("a"), Scan("a")], "several functions compute the layer"),
        ([Nest("b", reduces=True)], "its results are no functions of a sum"),
    ):
        with pytest.raises(Unfit, match=why):
            nests(*others)


def test_operations_that_compute(nests: Callable[..., Any]) -> None:
    assert [
        native._computes(one) for one in (Nest(), Nest(ops=2), Nest(reduces=True))
    ] == [
        *(False, True, True),
    ]
    assert native._computes(Scan()) is True
    assert native._computes("other") is False


@pytest.mark.parametrize(
    ("dtype", "a", "b", "count"),
    [
        ("int8", [1, 2, 3], [1, 2, 3], 0),
        ("int8", [1, 2, 3], [1, 9, 4], 2),
        ("int32", [1, 256], [256, 1], 2),
        ("float32", [0.0, np.nan], [-0.0, np.nan], 1),
        ("int8", [], [], 0),
    ],
)
def test_elements_of_other_bits(dtype: str, a: Any, b: Any, count: int) -> None:
    one, other = np.array(a, dtype), np.array(b, dtype)
    assert wholes._differing(one, other) == count


def native_verdict(**of: Any) -> NativeVerdict:
    given: dict[str, Any] = {
        **{"level": "v3", "layer": "a", "kind": "conv2d", "verdict": "equal"},
        **{"how": "all", "numbers": 3, "channels": 2, **of},
    }
    return NativeVerdict(**given)


LEVEL = Level("x86_64-linux-gnu", "x86-64-v3", "", "")


def verdicts(rows: list[NativeVerdict], **of: Any) -> Native:
    given: Any = {"hashes": {}, "layer_contracts": {}, "seconds": 0.5, **of}
    levels = {"v3": LEVEL, "v4": replace(LEVEL, cpu="x86-64-v4")}
    return Native("tflite", rows, levels, **given)


def test_code_that_is_what_the_contract_says() -> None:
    equal, apart = native_verdict(), native_verdict(verdict="differs")
    assert verdicts([equal, equal]).holds
    assert not verdicts([equal, apart]).holds
    assert not verdicts([native_verdict(verdict="undecided")]).holds
    assert verdicts([equal], whole={"v3": Whole(3, 30, 0)}).holds
    assert not verdicts([equal], whole={"v3": Whole(3, 30, 1)}).holds
    assert LEVEL.resolved.cpu == "x86-64-v3"
    assert replace(LEVEL, tuned_for="x86-64-v4").resolved.tuned_for == "x86-64-v4"
    with pytest.raises(QlowerError):
        assert replace(LEVEL, tuned_for="nothing").resolved


def test_machine_code_as_a_table() -> None:
    """A line for each layer, with the levels of which the same is said."""
    wrong = Mismatch(3, (1000, -5), 18, 255)
    rows = [
        native_verdict(),
        native_verdict(layer="b", level="v3", numbers=0, channels=0, how="too many"),
        native_verdict(level="v4"),
        native_verdict(layer="b", level="v4", verdict="differs", difference=wrong),
    ]
    found = verdicts(
        rows,
        whole={"v3": Whole(3, 3000, 0), "v4": Whole(3, 3000, 1000)},
        moved=["c", "d"],
    )
    assert [
        [
            row[key]
            for key in ("layer", "verdict", "levels", "channels", "numbers", "how")
        ]
        for row in found.table.records()
    ] == [
        ["a", "equal", "all", 2, 3, "all"],
        ["b", "equal", ["v3"], None, None, "too many"],
        ["b", "differs", ["v4"], 2, 3, "channel 3 at 1,000, -5: 0x12 | 0xff"],
    ]
    notes = list(found.table.notes)
    assert notes[0].startswith("4 functions of machine code for v3, v4: ")
    assert notes[1] == "9 sums and pairs in 0.5 s, 18 a second."
    assert notes[2:4] == [
        "v3: the whole code, on 3 drawn inputs: 0 of 3,000 outputs differ.",
        "v4: the whole code, on 3 drawn inputs: 1,000 of 3,000 outputs differ; `qlower "
        "bisect` finds the function.",
    ]
    assert notes[4].endswith("only the drawn inputs show.")
    assert notes[5].endswith("compute nothing in machine code: c, d.")
    assert notes[6].startswith("For each function that differs: ")
    assert len(notes) == 7
    plain = verdicts([native_verdict()], seconds=0.0)
    assert len(plain.table.notes) == 3
    assert plain.table.notes[1] == "3 sums and pairs in 0.0 s, 3,000,000,000 a second."
    assert plain.table.notes[2].endswith(
        "the drawn inputs show, and none were run: that takes all layers."
    )
    assert plain.table.title == "machine code and tflite for all inputs"
    data: Any = found.to_dict()
    assert data["layers"][3]["difference"] == {
        **{"channel": 3, "numbers": [1000, -5], "contract": 18, "native": 255},
        "of": "result",
    }
    assert data["layers"][0]["difference"] is None
    assert str(Mismatch(None, (1234,), 5000, 6, "index")) == "index 1,234: 5,000 | 6"
    assert found.inputs() == {}


def test_wrong_results_add_up() -> None:
    none = Wrong().and_of(int8([1, 2]), int8([1, 2]), lambda place: (0, (place,)))
    assert none == Wrong(0, None)
    one = none.and_of(int8([1, 2, 3]), int8([1, 0, 0]), lambda n: (n, (10 * n,)))
    assert one == Wrong(2, Mismatch(1, (10,), 2, 0))
    two = one.and_of(int8([7]), int8([8]), lambda n: (None, ()))
    assert two == Wrong(3, Mismatch(1, (10,), 2, 0))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({}, None),
        ({"zlib": 3}, (TypeError, "an array's bytes are text")),
        ({"zlib": "x"}, (ValueError, "base64")),
        ({"zlib": "eHh4"}, (ValueError, "an array's bytes can't be unpacked: Error")),
        ({"zlib": pack(int8([1]))["zlib"]}, (ValueError, "an array hasn't 6 bytes")),
        ({"dtype": "int16"}, (ValueError, r"an array isn't int8 of \[2, 3\]")),
        ({"shape": [3, 2]}, (ValueError, r"an array isn't int8 of \[2, 3\]")),
    ],
)
def test_arrays_in_records(change: dict[str, Any], error: Any) -> None:
    array = int8([[1, -2, 3], [4, 5, 6]])
    packed = {**pack(array), **change}
    if error is None:
        found = unpack(packed, (2, 3), np.dtype(np.int8))
        assert found.tolist() == array.tolist()
        for shape, dtype in (((3, 2), "int8"), ((2, 3), "int16"), ((2, 2), "int8")):
            with pytest.raises(ValueError, match=r"."):
                unpack(packed, shape, np.dtype(dtype))
    else:
        with pytest.raises(error[0], match=error[1]):
            unpack(packed, (2, 3), np.dtype(np.int8))


def test_counterexamples_in_words_and_as_data() -> None:
    assert str(EXAMPLE) == "[0,1] at 7: 3 | 4"
    assert str(replace(EXAMPLE, number=None, results=(0.5, -1))) == "[0,1]: 0.5 | -1"
    assert str(replace(EXAMPLE, number=1234567)) == "[0,1] at 1,234,567: 3 | 4"
    data = EXAMPLE.to_dict()
    assert data["inputs"] == {"image": pack(int8([1]))}
    assert {key: data[key] for key in ("index", "number", "a", "b", "confirmed")} == {
        **{"index": [0, 1], "number": 7, "a": 3, "b": 4, "confirmed": ["interp"]},
    }
