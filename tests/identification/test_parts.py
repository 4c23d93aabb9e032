"""Parts of an identification: the points of probes, misses, batches, the search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.contracts import load_contract
from qlower.contracts.family import Arithmetic
from qlower.dialects.qnn import Conv2DOp, SoftmaxOp
from qlower.identification import replay as replaying
from qlower.identification import search as searching
from qlower.identification.batches import batched, is_positional, largest
from qlower.identification.cases import (
    FACTORS,
    LARGEST_PRODUCT_SUM,
    LARGEST_WEIGHT,
    Cases,
    opposite_bias,
    weights_for,
    zero_bias,
)
from qlower.identification.device import ranges
from qlower.identification.evidence import Evidence, Observed
from qlower.identification.probe import make_probe, separating
from qlower.identification.replay import Explained, Explanation, Miss, Replay
from qlower.interp.values import Array
from qlower.model.layers import layers
from qlower.model.printing import exact_module
from qlower.text.parsing import parse_module


def int8(values: Any) -> Array:
    return np.array(values, np.int8)


def digest(*arrays: Any) -> str:
    found = sha256()
    for array in arrays:
        found.update(array if isinstance(array, bytes) else np.asarray(array).tobytes())
    return found.hexdigest()[:10]


def probed(signed: bool) -> dict[str, str]:
    """Digests of the points of each case, and of layers of some."""
    cases = Cases(signed=signed)
    found: dict[str, str] = {}
    for case in cases.all():
        layer = case.layer(case.points[:: max(1, len(case.points) // 40)])
        probe = make_probe({case.name: layer})
        text = exact_module(probe.model.module).encode()
        made = digest(case.points, text, *layer.inputs)
        found[case.name] = f"{len(case.points)} {case.for_family} {made}"
    for name, layer in cases.products():
        text = exact_module(make_probe({name: layer}).model.module).encode()
        found[name] = digest(text, *layer.inputs)
    return found


PROBED: dict[bool, dict[str, str]] = {
    True: {
        "conv_ties": "2857 True 2f9b8acdc1",
        "conv_near": "3888 True 332ae2de92",
        "conv_sums": "2071 True 17c60172c7",
        "conv_bias": "2957 True 09f1e4d0a6",
        "linear_ties": "1008 True 3e0f359e40",
        "linear_near": "1008 True 6f8638dca7",
        "add_ties": "4096 True d669d5e810",
        "add_near": "4096 True 02e160dd9e",
        "mul_ties": "4096 True 956cb925fd",
        "mul_near": "4096 True ad9cc3b3e3",
        "avg_pool": "4096 True ba86491178",
        "conv_plain_ties": "2849 False df7c88f064",
        "conv_plain_near": "3888 False 74e1011cb8",
        "conv_products": "6b8ac9e7f2",
        "fine_products": "7ddc71b95b",
        "depthwise_products": "e7874ccaab",
        "wide_products": "8156f8d837",
        "turns": "c7da17b1b8",
    },
    False: {
        "conv_ties": "2857 True dcf3385416",
        "conv_near": "3888 True 4341538438",
        "conv_sums": "2071 True b3fe73a350",
        "conv_bias": "2957 True 9247cf8715",
        "linear_ties": "1008 True de907820fe",
        "linear_near": "1008 True 8acbbec738",
        "add_ties": "4096 True 20d51a233a",
        "add_near": "4096 True 82c6b234f4",
        "mul_ties": "4096 True 7b1d063fa4",
        "mul_near": "4096 True 9b48d33d5d",
        "avg_pool": "4096 True 57332afe80",
        "conv_products": "a4a51fbeeb",
        "fine_products": "c69ce3ea5e",
        "depthwise_products": "af2e0dbb57",
        "wide_products": "0f4267088e",
        "turns": "433c75ff74",
    },
}


@pytest.mark.parts(2)
@pytest.mark.parametrize("signed", [True, False])
def test_points_are_those_that_systems_were_asked(signed: bool) -> None:
    """What is recorded of systems is of these."""
    assert probed(signed) == PROBED[signed]


def test_sums_of_products_by_their_weights() -> None:
    sums = np.array([0, 1, -1, 15, 17, 255, -4079, LARGEST_PRODUCT_SUM])
    weights = weights_for(sums)
    assert (weights @ FACTORS).tolist() == sums.tolist()
    assert np.abs(weights).max() == LARGEST_WEIGHT
    assert zero_bias(sums).tolist() == [0] * 8
    biases = opposite_bias(sums)
    rest = sums - biases
    assert (np.abs(rest) < LARGEST_PRODUCT_SUM).all()
    assert biases[0] == 997
    assert biases[1] == 1 + 997
    assert biases[6] == -4079 + -4079 * 3 // 7 + 997


@pytest.mark.parametrize("times", [1, 2])
def test_columns_that_tell_rows_apart(times: int) -> None:
    values = np.array(
        [[0, 0, 1, 5, 0], [0, 1, 1, 6, 1], [0, 1, 2, 7, 0], [0, 1, 2, 7, 0]]
    )
    found = separating(values, times)
    assert found == ([3] if times == 1 else [1, 3, 4])
    rows = {tuple(row) for row in values[:, found].tolist()}
    assert len(rows) == 3
    assert separating(np.zeros((3, 4), int)) == []
    assert separating(np.array([[1, 2]])) == []


def test_what_is_missed_first() -> None:
    """The element, the run that it is of, and both values."""
    one = Explained()
    one.add(3, 1, int8([[1, 2], [3, 4]]), int8([[1, 2], [3, 4]]))
    assert (one.outputs, one.explained, one.missed, one.miss) == (4, 4, 0, None)
    one.add(5, 1, int8([[1, 2], [3, 4]]), int8([[1, 9], [8, 4]]))
    assert (one.outputs, one.explained, one.missed) == (8, 6, 2)
    assert one.miss == Miss(5, (0, 1), 2, 9)
    one.add(6, 1, int8([[1, 2]]), int8([[0, 0]]))
    assert one.miss == Miss(5, (0, 1), 2, 9)
    together = Explained()
    together.add(5, 3, int8([[1], [2], [3]]), int8([[1], [2], [4]]))
    assert together.miss == Miss(7, (0, 0), 3, 4)
    two = Explained()
    two.add(5, 2, int8([[1], [2]]), int8([[0], [2]]))
    assert two.miss == Miss(5, (0, 0), 1, 0)
    refused = Explained()
    refused.add(0, 1, int8([1, 2]), "no rule")
    assert (refused.refusal, refused.outputs, refused.missed) == ("no rule", 2, 2)


def explanation(*missed: int, outputs: int = 100) -> Explanation:
    found = Explanation("x", load_contract("exact"))
    for number, one in enumerate(missed):
        found.layers[str(number)] = Explained(outputs, outputs - one)
    return found


def test_contracts_that_are_behind() -> None:
    """In each layer more than twice as many misses, and sixteen."""
    best = explanation(0, 10)
    assert explanation(17, 37).is_behind(best)
    assert not explanation(16, 37).is_behind(best)
    assert not explanation(17, 36).is_behind(best)
    assert not Explanation("x", load_contract("exact")).is_behind(best)
    assert (best.outputs, best.explained, best.share) == (200, 190, 0.95)
    assert not best.is_complete
    assert explanation(0).is_complete
    nothing = Explanation("x", load_contract("exact"))
    assert (nothing.share, nothing.is_complete) == (0, True)
    one, other = explanation(), explanation()
    for number, made in enumerate((one, other)):
        made.add("a", 0, 1, int8([1]), int8([1]))
        made.add("b", number, 1, int8([1]), "no rule")
    assert one.digest == other.digest
    other.add("c", 0, 1, int8([1]), int8([2]))
    one.add("c", 0, 1, int8([1]), int8([1]))
    assert one.digest != other.digest


MODEL = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!y = !quant.uniform<i8:f32, 0.75:3>
func.func @main(%x: tensor<1x2x3x!x>) -> tensor<1x6x!y> {
  %a = qnn.requantize %x : (tensor<1x2x3x!x>) -> tensor<1x2x3x!y> loc("a")
  %t = qnn.transpose %a {perm = [0, 2, 1]}
    : (tensor<1x2x3x!y>) -> tensor<1x3x2x!y> loc("t")
  %r = qnn.reshape %t : (tensor<1x3x2x!y>) -> tensor<1x6x!y> loc("r")
  %y = qnn.relu %r : (tensor<1x6x!y>) -> tensor<1x6x!y> loc("y")
  return %y : tensor<1x6x!y>
}"""


def model(text: str = MODEL) -> qlower.Model:
    return qlower.Model(parse_module(text, "model.mlir"))


@pytest.mark.parametrize(
    ("old", "new", "is_taken"),
    [
        ("", "", True),
        ("tensor<1x", "tensor<2x", False),
        ("tensor<1x6x!y>", "tensor<6x!y>", False),
    ],
)
def test_models_for_several_inputs(old: str, new: str, is_taken: bool) -> None:
    module = model(MODEL.replace(old, new) if old else MODEL).module
    found = batched(module, 5)
    assert (found is not None) == is_taken
    if found is not None:
        types: list[Any] = [op.results[0].type for op in layers(found)]
        shapes = [type.get_shape() for type in types]
        assert shapes == [(5, 2, 3), (5, 3, 2), (5, 6), (5, 6)]
        assert largest(found) == 30
    assert largest(model().module) == 6


def test_rules_that_ask_for_places() -> None:
    (op, *_) = layers(model().module)
    plain: Any = SimpleNamespace(
        rules={"requantize": SimpleNamespace(values=["input"])}
    )
    assert not is_positional(op, plain)
    for value in ("element", "element_count"):
        plain.rules["requantize"].values = ["input", value]
        assert is_positional(op, plain)
    # One rule of several is enough.
    softmax = parse_module(
        """func.func @main(%x: tensor<1x!quant.uniform<i8:f32, 0.5>>) {
          %y = qnn.softmax %x : (tensor<1x!quant.uniform<i8:f32, 0.5>>)
            -> tensor<1x!quant.uniform<i8:f32, 0.00390625:-128>>
          return
        }"""
    )
    (several,) = layers(softmax)
    assert isinstance(several, SoftmaxOp)
    assert len(several.rules) > 1
    assert not is_positional(softmax, plain)
    for name in several.rules:
        rules = {one: SimpleNamespace(values=["input"]) for one in several.rules}
        mixed: Any = SimpleNamespace(rules=rules)
        assert not is_positional(several, mixed)
        rules[name].values.append("element")
        assert is_positional(several, mixed)
    without: Any = SimpleNamespace(rules={})
    assert not is_positional(op, without)


@pytest.mark.parts(6)
@pytest.mark.parametrize("together", [6, 12, 1 << 20])
@pytest.mark.parametrize("count", [1, 2, 17, 40])
def test_runs_are_taken_together(
    together: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen first, then as many as there is room for; the counts don't depend on
    it, and what was only moved is known from what it became."""
    monkeypatch.setattr(replaying, "TOGETHER", together)
    random = np.random.default_rng(1)
    x = random.integers(-100, 100, (count, 1, 2, 3)).astype(np.int8)
    given = model()
    compiled = qlower.jit(given, contract="exact")
    known = [{"x": one, "y": np.asarray(compiled(one))} for one in x]
    known[-1]["y"][0, 5] ^= 1
    contracts = {name: load_contract(name) for name in ("exact", "tflite")}
    replay = Replay(given, contracts)
    seen: list[Sequence[int]] = []

    def progress(numbers: Iterable[int], what: str) -> Iterable[int]:
        assert what == "identify"
        seen.append(list(numbers))
        return seen[-1]

    replay.run_all(known, progress)
    exact = replay.explanations[0].layers["y"]
    assert (exact.outputs, exact.missed) == (6 * count, 1)
    assert exact.miss is not None
    assert (exact.miss.run, exact.miss.index) == (count - 1, (0, 5))
    first = min(16, together // 6, count)
    assert len(seen[0]) == 1 + -(-(count - first) // max(1, together // 6))
    assert list(replay.computed) == ["a", "t", "r", "y"]
    assert replay.observed == []


def test_values_that_were_moved_are_known() -> None:
    replay = Replay(model(), {"exact": load_contract("exact")})
    r = np.arange(6, dtype=np.int8).reshape(1, 6)
    sources = vars(replaying)["_with_sources"]
    found = sources({"r": r}, vars(Replay)["_plan"](replay, 1))
    assert found["t"].tolist() == r.reshape(1, 3, 2).tolist()
    assert found["a"].tolist() == r.reshape(1, 3, 2).transpose(0, 2, 1).tolist()
    t = r.reshape(1, 3, 2) + np.int8(1)
    kept = sources({"r": r, "t": t}, vars(Replay)["_plan"](replay, 1))
    assert kept["t"] is t
    assert kept["a"].tolist() == t.transpose(0, 2, 1).tolist()
    assert set(sources({"y": r}, vars(Replay)["_plan"](replay, 1))) == {"y"}


CONV = """\
!x = !quant.uniform<i8:f32, 0.5:-3>
!w = !quant.uniform<i8:f32:0, {0.25, 0.5}>
!y = !quant.uniform<i8:f32, 0.75:3>
func.func @main(%x: tensor<1x2x3x2x!x>) -> tensor<1x2x3x2x!y> {
  %w = qnn.constant dense<[[[[1, -2]]], [[[3, 4]]]]>
    : tensor<2x1x1x2xi8> -> tensor<2x1x1x2x!w>
  %b = arith.constant dense<[10, -20]> : tensor<2xi32>
  %y = qnn.conv2d %x, %w, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (tensor<1x2x3x2x!x>, tensor<2x1x1x2x!w>, tensor<2xi32>) -> tensor<1x2x3x2x!y>
  return %y : tensor<1x2x3x2x!y>
}"""


def observed(seed: int) -> Observed:
    given = model(CONV)
    x = np.random.default_rng(seed).integers(-50, 50, (1, 2, 3, 2)).astype(np.int8)
    (op,) = layers(given.module)
    assert isinstance(op, Conv2DOp)
    w = int8([[[[1, -2]]], [[[3, 4]]]])
    recorded = np.asarray(qlower.jit(given, contract="exact")(x))
    return Observed(op, [x, w, np.array([10, -20], np.int32)], recorded)


def test_elements_of_several_contractions() -> None:
    """Each has its own, in order; some of some are those that are meant."""
    runs = [observed(seed) for seed in range(3)]
    contract = load_contract("exact")
    recorded = np.concatenate([one.recorded.reshape(-1) for one in runs])
    whole = Evidence(runs, contract, np.arange(36))
    assert whole.recorded.tolist() == recorded.tolist()
    some = Evidence(runs, contract, np.array([0, 11, 12, 30, 35]))
    assert some.recorded.tolist() == recorded[[0, 11, 12, 30, 35]].tolist()
    assert some.at(np.array([1, 4])).places.tolist() == [11, 35]
    x = runs[1].operands[0].astype(int) + 3
    sums = x @ np.array([[1, 3], [-2, 4]])
    assert runs[1].products("exact").tolist() == sums.tolist()
    assert runs[1].start(True).reshape(-1)[:2].tolist() == [10, -20]
    assert runs[1].start(False).reshape(-1)[:2].tolist() == [0, 0]
    index = np.unravel_index(np.array([0, 5]), (1, 2, 3, 2))
    products = [one.tolist() for one in runs[1].products_at(index)]
    assert [sum(pair) for pair in zip(*products, strict=True)] == [
        *(sums[0, 0, 0, 0], sums[0, 0, 2, 1]),
    ]
    best = max(whole.explained(one) for one in searching.first_members())
    assert best >= 34


def test_parts_of_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qlower.identification.evidence._TOGETHER", 10)
    parts = Evidence.parts([observed(1), observed(2)], load_contract("exact"))
    assert [part.places.tolist() for part in parts] == [
        *([*range(10)], [*range(10, 20)], [*range(20, 24)]),
    ]


def test_a_search_finds_what_made_a_dump() -> None:
    """And says what else explains as much."""
    found = searching.search(
        [observed(seed) for seed in range(6)], load_contract("exact")
    )
    assert (found.explained, found.elements) == (72, 72)
    assert found.tried > 50
    assert set(found.others) == set(found.arithmetic.choices())


class Scored:
    """Evidence by which members are as good as they are near to one."""

    def __init__(self, aim: Arithmetic, count: int) -> None:
        self.recorded = np.zeros(count)
        self.aim, self.tried = aim.choices(), list[Arithmetic]()

    def explained(self, one: Arithmetic) -> int:
        self.tried.append(one)
        chosen = one.choices()
        alike = sum(chosen[name] == self.aim[name] for name in self.aim)
        return len(self.recorded) - (len(self.aim) - alike)


def test_rounds_of_a_search() -> None:
    """From the best to its neighbours, each member once, until none is better; two
    steps at a time only where the best explains enough, but not all."""
    aim = Arithmetic(rounding="floor", first="half_up")
    for count in (10, 50):
        evidence: Any = Scored(aim, count)
        work = vars(searching)["_Search"](evidence, [Arithmetic()])
        rounds = list(work.rounds())
        assert rounds == list(range(len(rounds)))
        assert len(evidence.tried) == len(set(evidence.tried))
        assert work.best.choices() == evidence.aim
        assert work.scores[work.best] == count
    short: Any = Scored(aim, 50)
    short.recorded = np.zeros(80)
    short.explained = lambda one: 63
    work = vars(searching)["_Search"](short, [Arithmetic()])
    rounds = list(work.rounds())
    near = 1 + len({other for _, other in Arithmetic().neighbours()})
    assert len(work.scores) >= near
    few = len(work.scores)
    short.explained = lambda one: 64
    work = vars(searching)["_Search"](short, [Arithmetic()])
    list(work.rounds())
    assert len(work.scores) > few


def test_values_in_few_words() -> None:
    assert ranges(["25 bits, wrap", "24 bits, wrap"]) == ["24 to 25 bits, wrap"]
    assert ranges(["25 bits, wrap", "23 bits, wrap"]) == [
        *("25 bits, wrap", "23 bits, wrap"),
    ]
    assert ranges(["26 bits, wrap", "25 bits, wrap", "24 bits, wrap", "floor"]) == [
        *("24 to 26 bits, wrap", "floor"),
    ]
    assert ranges(["25 bits, wrap", "24 bits, saturate"]) == [
        *("25 bits, wrap", "24 bits, saturate"),
    ]
    assert ranges(["floor"]) == ["floor"]
    assert ranges([]) == []


@pytest.mark.parametrize(
    ("name", "own", "place"),
    [
        ("tflite", ["tflite", "pytorch"], 0),
        ("tflite-xnnpack", ["tflite", "pytorch"], 1),
        ("pytorch", ["tflite", "pytorch"], 2),
        ("pytorch-fbgemm", ["tflite", "pytorch"], 3),
        ("tvm", ["tflite", "pytorch"], 4),
        ("exact", [], 0),
    ],
)
def test_the_order_of_contracts_that_explain_as_much(
    name: str, own: list[str], place: int
) -> None:
    rank = vars(import_module("qlower.identification.identify"))["_rank"]
    one: Any = SimpleNamespace(share=0.5, name=name)
    assert rank(one, own) == (-0.5, place, name == "exact")


def test_families_of_outputs() -> None:
    families = vars(import_module("qlower.identification.identify"))["_families"]
    titles = {
        "torch fbgemm": ["pytorch"],
        "litert 2.0": ["tflite"],
        "live:onnxruntime": ["onnxruntime"],
        "dump.npz": [],
    }
    for title, expected in titles.items():
        assert families(SimpleNamespace(title=title), model()) == expected
        start = MODEL.index("func")
        wrapped = 'module attributes {qnn.contract = "tvm"} {\n' + MODEL[start:] + "\n}"
        other = model(MODEL[:start] + wrapped)
        assert families(SimpleNamespace(title=title), other) == [*expected, "tvm"]


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (35, 36, ("35", "36")),
        (0.5, 0.25, ("0.5", "0.25")),
        (0.04553380236, 0.04553380609, ("0.0455338024", "0.0455338061")),
        (12345678, 12345679, ("12345678", "12345679")),
        (0.1, 0.1 + 2**-54, ("0.1", "0.10000000000000006")),
        (0.0, -0.0, ("0", "-0")),
    ],
)
def test_a_miss_has_digits_that_differ(
    one: float, other: float, said: tuple[str, str]
) -> None:
    apart = vars(import_module("qlower.identification.result"))["_apart"]
    assert apart(one, other) == said
