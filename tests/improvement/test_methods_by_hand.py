"""The methods of `qlower improve` on layers that are given, with what numpy makes of
them: no network is compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.frontends.load import named
from qlower.model.scales import result_types, weight_types
from qlower.model.signature import Array, TensorSpec
from qlower.model.weights import WeightSpec, weight_specs
from qlower.text.parsing import parse_module

torch: Any = pytest.importorskip("torch", reason="torch is not installed")


def room(name: str) -> Any:
    """A module of the room, with its inner functions."""
    return import_module(f"qlower.improvement.{name}")


def floats(values: Any) -> Array:
    return np.array(values, np.float64)


def bias_of(*stored: int) -> WeightSpec:
    array = np.array(stored, np.int32)
    many = len(stored)
    ends = -(1 << 31), (1 << 31) - 1
    scales = (0.5,) * many, (0,) * many
    return WeightSpec("l", "bias", array, *scales, 0, *ends, None, ("l",))


def weight_of(stored: Any, scale: float = 0.25) -> WeightSpec:
    array = np.array(stored, np.int8)
    return WeightSpec(
        "l", "weight", array, (scale,), (0,), None, -127, 127, None, ("l",)
    )


@dataclass
class Given:
    """Work on one layer: its device adds the bias to what it found without."""

    wanted: Array
    base: Array
    bias: WeightSpec | None
    weight: WeightSpec
    stored_so_far: tuple[dict[str, list[int]], ...] = ()

    contractions = property(
        lambda self: iter(
            [SimpleNamespace(name="l", op=None, weight=self.weight, bias=self.bias)]
        )
    )

    @property
    def reference(self) -> dict[str, Array]:
        return {"l": self.wanted}

    @property
    def found(self) -> dict[str, Array]:
        real = 0.0 if self.bias is None else self.bias.real
        return {"l": np.clip(np.rint(self.base + real), -128, 127)}

    @property
    def network(self) -> Any:
        spec = TensorSpec("l", self.base.shape, "int8", (1.0,), (0,))
        return SimpleNamespace(
            specs={"l": spec}, alone=lambda name, found: self.found[name]
        )

    def stored(self, values: dict[str, Array]) -> Given:
        (name,) = values
        assert name in ("l.bias", "l.weight")
        told = {name: values[name].tolist()}
        changed = replace(self, stored_so_far=(*self.stored_so_far, told))
        if name == "l.bias":
            assert self.bias is not None
            return replace(changed, bias=replace(self.bias, stored=values[name]))
        return changed


WEIGHT = weight_of([[1]])

BIASES = {
    # what is wanted, what is found without a bias, the bias before and after in halves
    "by the mean": ([[10, 4], [20, 7]], [[6, 4], [18, 9]], (0, 0), (6, -2)),
    "of one row": ([[10]], [[6]], (0,), (8,)),
    "of rows that are free": ([[10], [200], [9]], [[6], [127], [7]], (0,), (6,)),
    "at the lower end": (
        [[-100], [-100], [-129]],
        [[-104], [-104], [-128]],
        (0,),
        (8,),
    ),
    "just inside": ([[130], [-127]], [[126], [-127]], (0,), (4,)),
    "of none": ([[200], [300]], [[127], [127]], (4,), (4,)),
    "from another one": ([[10, 1]], [[6, 1]], (2, 0), (8, 0)),
    "right already": ([[6, 1]], [[6, 1]], (0, 0), (0, 0)),
    "as wrong afterwards": ([[1], [-1]], [[0], [0]], (0,), (0,)),
    "images": ([[[[9, 0]], [[5, 2]]]], [[[[6, 0]], [[4, 0]]]], (0, 0), (4, 2)),
}


@pytest.mark.parametrize("name", BIASES)
def test_biases_move_by_the_mean_error_of_rows_that_nothing_clips(name: str) -> None:
    wanted, base, before, after = BIASES[name]
    given = Given(floats(wanted), floats(base), bias_of(*before), WEIGHT)
    found = room("rounding").correct_biases(given)
    assert found.bias.stored.tolist() == [*after]
    assert (found is given) == (before == after)


def test_a_layer_without_a_bias_has_none_to_move() -> None:
    given = Given(floats([[1]]), floats([[5]]), None, WEIGHT)
    assert room("rounding").correct_biases(given) is given


@pytest.mark.parametrize(
    ("error", "is_kept"), [(0.9, True), (1.0, False), (1.1, False)]
)
def test_learned_roundings_are_kept_where_the_device_errs_less(
    error: float, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounding = room("rounding")
    given = Given(floats([[5, 5]]), floats([[6, 5]]), None, WEIGHT)
    monkeypatch.setattr(rounding, "_learned", lambda work, layer: np.array([[7]]))
    changed = given.stored({"l.weight": np.array([[7]])})
    alone = SimpleNamespace(alone=lambda name, found: floats([[5 + error, 5]]))
    monkeypatch.setattr(Given, "stored", lambda work, values: changed)
    monkeypatch.setattr(
        Given, "network", property(lambda work: alone if work is changed else None)
    )
    found = rounding.learn_rounding(given)
    assert found is (changed if is_kept else given)


def learner(
    monkeypatch: pytest.MonkeyPatch, steps: int = 1, **constants: float
) -> tuple[Any, list[Any], list[Any]]:
    """The function that learns a layer's roundings, with an optimizer that changes
    nothing; the gradients and the values that it sees."""
    rounding = room("rounding")
    slopes: list[Any] = []
    values: list[Any] = []

    def adam(variables: Sequence[Any], lr: float) -> Any:
        assert lr == 0.01

        def step() -> None:
            slopes.append(variables[0].grad.clone().numpy())
            values.append(variables[0].detach().clone().numpy())

        def zero() -> None:
            variables[0].grad = None

        return SimpleNamespace(zero_grad=zero, step=step)

    monkeypatch.setattr(rounding.torch.optim, "Adam", adam)
    monkeypatch.setattr(rounding, "STEPS", steps)
    for name, value in constants.items():
        monkeypatch.setattr(rounding, name, value)
    monkeypatch.setattr(
        rounding,
        "surrogate",
        lambda op, given: (given[0] @ given[1].T + (given[2] if given[2:] else 0),),
    )
    return vars(rounding)["_learned"], slopes, values


WEIGHTS = floats([[0.31, -0.51, 0.375], [0.7, 0.26, -0.33], [50.1, -50.1, 0.1]])
INPUTS = np.array([[1, 2, -3], [4, 0, 1], [-2, 5, 6], [0, 1, 1]], np.float32)
SOUGHT = np.array([[0.5, -2, 3], [1, 300, 4], [-7, 2, -300], [2, 1, 100]], np.float32)


def layer_work(
    *, zero: int | None = 3, step: float | None = 0.5, biased: bool = True
) -> Any:
    layer = SimpleNamespace(
        name="l",
        op=SimpleNamespace(input="%x", bias="%b" if biased else None),
        weight=weight_of(np.zeros((3, 3))),
    )
    spec = TensorSpec(
        *("l", (1, 3), "int8"),
        () if step is None else (step,),
        () if zero is None else (zero,),
    )
    network = SimpleNamespace(
        names={"%x": "x", "%y": "l"},
        specs={"l": spec},
        constant=lambda value, given: np.array([1.0, -1.0, 0.5], np.float32),
    )
    return layer, SimpleNamespace(
        found={"x": INPUTS},
        reference={"l": SOUGHT},
        network=network,
        parameters={"l.weight": WEIGHTS},
    )


def stretched(variable: Array) -> Array:
    return np.clip(1.2 / (1 + np.exp(-variable)) - 0.1, 0, 1)


def loss(
    variable: Array,
    rows: Sequence[int],
    *,
    zero: int = 3,
    step: float = 0.5,
    biased: bool = True,
    exponent: float | None = None,
) -> float:
    """The loss for the roundings, as the paper has it, in numpy."""
    low, high = (-128 - zero) * step, (127 - zero) * step
    up = stretched(variable)
    weight = np.clip(np.floor(WEIGHTS / 0.25) + up, -127, 127) * 0.25
    x = INPUTS[[*rows]]
    found = x @ weight.T + (floats([1.0, -1.0, 0.5]) if biased else 0)
    wanted = np.clip(SOUGHT[[*rows]], low, high)
    errors = (np.clip(found, low, high) - wanted) / step
    total = float(np.square(errors).sum(-1).mean())
    if exponent is not None:
        total += 0.01 * float((1 - np.abs(2 * up - 1) ** exponent).sum())
    return total


def slope(function: Callable[[Array], float], at: Array) -> Array:
    """The derivative by each element."""
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        ahead, behind = at.copy(), at.copy()
        ahead[place] += 1e-6
        behind[place] -= 1e-6
        found[place] = (function(ahead) - function(behind)) / 2e-6
    return found


def drawn(steps: int, batch: int) -> list[list[int]]:
    """The rows that each step sees."""
    draw = torch.Generator().manual_seed(0)
    return [torch.randint(4, (batch,), generator=draw).tolist() for _ in range(steps)]


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize(
    ("zero", "step", "batch"), [(3, 0.5, 32), (None, 1.0, 2), (-128, None, 4)]
)
def test_roundings_go_down_the_slope_of_what_the_result_errs(
    biased: bool,
    zero: int | None,
    step: float | None,
    batch: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned, slopes, values = learner(monkeypatch, BATCH=batch)
    layer, work = layer_work(zero=zero, step=step, biased=biased)
    stored = learned(work, layer)
    # what is stretched to is where the weight stands between two steps
    shares = WEIGHTS / 0.25 - np.floor(WEIGHTS / 0.25)
    inner = (shares + 0.1) / 1.2
    start = np.log(inner / (1 - inner))
    np.testing.assert_allclose(values[0], start, rtol=1e-4)
    (rows,) = drawn(1, min(batch, 4))
    given: dict[str, Any] = {"zero": zero or 0, "step": step or 1.0, "biased": biased}
    expected = slope(lambda at: loss(at, rows, **given), floats(start))
    np.testing.assert_allclose(slopes[0], expected, rtol=2e-3, atol=1e-4)
    assert stored.dtype == np.int8
    # up from one half on, and within what is stored
    assert stored.tolist() == [[1, -2, 2], [3, 1, -1], [127, -127, 0]]


def test_the_term_for_whole_roundings_comes_after_a_fifth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its exponent falls from 20 to 2 from then on."""
    learned, slopes, values = learner(monkeypatch, steps=5)
    layer, work = layer_work()
    learned(work, layer)
    for number, rows in enumerate(drawn(5, 4)):
        time = (number / 5 - 0.2) / 0.8
        exponent = 20 - 18 * time if number else None
        expected = slope(
            lambda at, rows=rows, e=exponent: loss(at, rows, exponent=e),
            floats(values[number]),
        )
        np.testing.assert_allclose(slopes[number], expected, rtol=2e-3, atol=1e-4)


TYPES = """
!x = !quant.uniform<i8:f32, 5.0e-01:-3>
!r = !quant.uniform<i8:f32, 1.0e+00:-128>
!w = !quant.uniform<i8<-127:127>:f32, 2.5e-01>
!v = !quant.uniform<i8<-127:127>:f32:0, {2.5e-01,5.0e-01}>
"""


def linear(name: str, x: str, types: str, values: str, *, relu: bool = True) -> str:
    """A linear layer from two values to two."""
    x_type, w_type, y_type = types.split()
    activation = ' {activation = "relu"}' if relu else ""
    return f"""
  %w{name} = qnn.constant dense<{values}> : tensor<2x2xi8> -> tensor<2x2x!{w_type}>
  %b{name} = arith.constant dense<[4, -8]> : tensor<2xi32>
  %{name} = qnn.linear %{x}, %w{name}, %b{name}{activation}
    : (tensor<1x2x!{x_type}>, tensor<2x2x!{w_type}>, tensor<2xi32>)
      -> tensor<1x2x!{y_type}> loc("{name}")"""


THREE = (
    TYPES
    + "func.func @main(%x: tensor<1x2x!x>) -> tensor<1x2x!x> {"
    + linear("a", "x", "x v r", "[[40, 10], [7, -4]]")
    + linear("b", "a", "r w r", "[[100, 3], [-5, 9]]")
    + linear("c", "b", "r w x", "[[2, -90], [1, 50]]", relu=False)
    + "\n  return %c : tensor<1x2x!x>\n}"
)
X = np.array([[20, -3], [-60, 40], [7, 100]], np.int8)


def work(text: str = THREE) -> Any:
    model = named(parse_module(text), None)
    real = {spec.name: spec.real for spec in weight_specs(model.module)}
    return room("work").Work(model, real, (X,), "exact", {})


def test_a_chain_of_three_layers_is_equalized_twice() -> None:
    """Which moves the first channels again, since the second pair changed them."""
    given = work()
    weights = {name: given.parameters[f"{name}.weight"].copy() for name in "abc"}
    biases = {name: given.parameters[f"{name}.bias"].copy() for name in "abc"}
    for _ in range(2):
        for first, second in ("ab", "bc"):
            ranges = (
                np.abs(weights[first]).max(1),
                np.abs(weights[second]).max(0),
            )
            s = np.clip(np.sqrt(ranges[0] / ranges[1]), 1 / 16, 16)
            weights[first] = weights[first] / s[:, None]
            biases[first] = biases[first] / s
            weights[second] = weights[second] * s
    after = room("equalizing").equalize(given)
    types = weight_types(after.model.module)
    for name in "abc":
        np.testing.assert_allclose(after.parameters[f"{name}.weight"], weights[name])
        np.testing.assert_allclose(after.parameters[f"{name}.bias"], biases[name])
        largest = np.abs(weights[name]).max(1 if name == "a" else None)
        np.testing.assert_allclose(
            types[f"{name}.weight"].scales, np.reshape(largest, -1) / 127
        )
    results = result_types(after.model.module)
    # what the next layer reads spans 0 and all that occurs; the output keeps its range
    a = np.maximum((X + 3.0) * 0.5 @ weights["a"].T + biases["a"], 0)
    b = np.maximum(a @ weights["b"].T + biases["b"], 0)
    for name, values in (("a", a), ("b", b)):
        np.testing.assert_allclose(results[name].scale, values.max() / 255, rtol=1e-6)
        assert results[name].zero_point == -128
    assert (results["c"].scale, results["c"].zero_point) == (0.5, -3)


IMAGE = """
func.func @main(%x: tensor<1x2x2x2x!x>) -> tensor<{out}> {{
  %w = qnn.constant dense<1> : tensor<2x1x1x2xi8> -> tensor<2x1x1x2x!w>
  %b = arith.constant dense<1> : tensor<2xi32>
  %0 = qnn.conv2d %x, %w, %b {{stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}}
    : (tensor<1x2x2x2x!x>, tensor<2x1x1x2x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!r>
    loc("first")
  {pool}
  {second}
  return %2 : tensor<{out}>
}}"""
POOL = """%1 = qnn.max_pool2d %0 {kernel = [1, 1], stride = [1, 1], pad = [0, 0, 0, 0]}
    : (tensor<1x2x2x2x!r>) -> tensor<1x2x2x2x!r> loc("pool")"""
POOLS = POOL.replace("%1", "%p") + "\n  " + POOL.replace("%0", "%p")
RELU = """%1 = qnn.relu %0 : (tensor<1x2x2x2x!r>) -> tensor<1x2x2x2x!r> loc("relu")"""
WINDOW = "stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]"


def convolution(inputs: int, channels: int, x: str, more: str = "") -> str:
    shape = f"{channels}x1x1x{inputs}"
    return f"""%v = qnn.constant dense<1> : tensor<{shape}xi8> -> tensor<{shape}x!w>
  %c = arith.constant dense<1> : tensor<{channels}xi32>
  %2 = qnn.conv2d {x}, %v, %c {{{WINDOW}{more}}}
    : (tensor<1x2x2x2x!r>, tensor<{shape}x!w>, tensor<{channels}xi32>)
      -> tensor<1x2x2x{channels}x!r> loc("second")"""


def depthwise(channels: int) -> str:
    shape = f"1x1x1x{channels}"
    return f"""%v = qnn.constant dense<1> : tensor<{shape}xi8> -> tensor<{shape}x!w>
  %c = arith.constant dense<1> : tensor<{channels}xi32>
  %2 = qnn.depthwise_conv2d %0, %v, %c {{{WINDOW}}}
    : (tensor<1x2x2x2x!r>, tensor<{shape}x!w>, tensor<{channels}xi32>)
      -> tensor<1x2x2x{channels}x!r> loc("second")"""


DEPTHWISE_FIRST = (
    TYPES
    + f"""
func.func @main(%x: tensor<1x2x2x2x!x>) -> tensor<1x2x2x3x!r> {{
  %w = qnn.constant dense<[[[[8, 2]]]]> : tensor<1x1x1x2xi8> -> tensor<1x1x1x2x!w>
  %b = arith.constant dense<[4, -8]> : tensor<2xi32>
  %0 = qnn.depthwise_conv2d %x, %w, %b {{{WINDOW}}}
    : (tensor<1x2x2x2x!x>, tensor<1x1x1x2x!w>, tensor<2xi32>) -> tensor<1x2x2x2x!r>
    loc("first")
  {convolution(2, 3, "%0")}
  return %2 : tensor<1x2x2x3x!r>
}}"""
)


def test_channels_of_a_depthwise_layer_are_its_last_dimension() -> None:
    image = np.ones((1, 2, 2, 2), np.int8)
    given = replace(work(DEPTHWISE_FIRST), inputs=(image,))
    after = room("equalizing").equalize(given)
    # ranges 2 and 1/2 against 1/4 and 1/4
    s = np.sqrt([8, 2])
    before, found = given.parameters, after.parameters
    for name, factors in (
        *(("first.weight", 1 / s), ("first.bias", 1 / s)),
        *(("second.weight", s), ("second.bias", 1)),
    ):
        np.testing.assert_allclose(found[name], before[name] * factors)


SECONDS = {
    "a convolution": ("", convolution(2, 3, "%0"), 3, True),
    "behind a pool": (POOL, convolution(2, 3, "%1"), 3, True),
    "behind two pools": (POOLS, convolution(2, 3, "%1"), 3, True),
    "behind another layer": (RELU, convolution(2, 3, "%1"), 3, False),
    "one of groups": ("", convolution(1, 2, "%0", ", groups = 2"), 2, False),
    "a depthwise one": ("", depthwise(2), 2, True),
    "one that multiplies channels": ("", depthwise(4), 4, False),
}


@pytest.mark.parametrize("name", SECONDS)
def test_layers_whose_channels_are_the_others(name: str) -> None:
    """Those that read what one makes, channel by channel."""
    pool, second, channels, is_chain = SECONDS[name]
    text = IMAGE.format(pool=pool, second=second, out=f"1x2x2x{channels}x!r")
    chains = vars(room("equalizing"))["_chains"]
    given = work(TYPES + text)
    pairs = [(one.name, other.name) for one, other in chains(given)]
    assert pairs == ([("first", "second")] if is_chain else [])


def test_what_two_read_or_is_bounded_has_no_chain() -> None:
    """Nor has a layer whose bias is no constant of its own, which can't be divided."""
    chains = vars(room("equalizing"))["_chains"]
    given = work()
    layers = list(given.contractions)

    def pairs(*given: Any) -> list[str]:
        found = chains(SimpleNamespace(contractions=given))
        return [one.name + other.name for one, other in found]

    assert pairs(*layers) == ["ab", "bc"]
    a, b, c = layers
    assert pairs(replace(a, bias=None), b, c) == ["bc"]
    assert pairs(a, c) == []
    both = THREE.replace("qnn.linear %b,", "qnn.linear %a,")
    assert [one.name for one, _ in chains(work(both))] == []
    bounded = THREE.replace('"relu"', '"relu6"', 1)
    assert [one.name for one, _ in chains(work(bounded))] == ["b"]


def test_a_gain_is_undone_by_the_scale_of_the_weights() -> None:
    """Or by twice or half of it; where the device errs less."""
    rescaling = room("rescaling")
    type = QuantizedType.per_axis(8, True, 0, [1.0, 2.0, 4.0])
    spec = TensorSpec("l", (1, 3), "int8", (1.0,), (0,))
    wanted = floats([[10, 20, 30], [20, 40, 60]])
    tried: list[list[float]] = []

    def run(results: dict[float, Array | None], found: Array) -> Any:
        """The scales that are kept, where these are the results for factors."""

        def rescaled(others: Any, weights: dict[str, QuantizedType]) -> Any:
            assert others == {}
            ((name, candidate),) = weights.items()
            assert name == "l.weight"
            tried.append([*candidate.scales])
            factor = float(np.round(candidate.scales[0] / type.scales[0] / 1.1, 3))
            result = results.get(factor)
            if result is None and factor in results:
                raise QlowerError("no such ratio")
            network = SimpleNamespace(alone=lambda name, given: result)
            return SimpleNamespace(network=network, kept=candidate.scales)

        network = SimpleNamespace(
            expected=lambda op, given, parameters: {"l": wanted}, specs={"l": spec}
        )
        given: Any = SimpleNamespace(
            network=network,
            found={"l": found},
            parameters={},
            model=SimpleNamespace(module=None),
            rescaled=rescaled,
        )
        layer = SimpleNamespace(
            name="l", op=None, weight=SimpleNamespace(name="l.weight")
        )
        tried.clear()
        return given, vars(rescaling)["_with_gain"](given, layer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rescaling, "weight_types", lambda module: {"l.weight": type})
        found = floats([[11, 20, 24], [22, 40, 48]])
        off = floats([[1, 1, 1]])
        results: dict[float, Array | None] = {
            1.0: wanted + off * [0, 1, 9],
            2.0: wanted + off * [5, 9, 1],
            0.5: wanted + off * [9, 0.5, 1],
        }
        _, after = run(results, found)
        assert tried[:3] == [
            pytest.approx([1.1 * f, 2.0 * f, 3.2 * f]) for f in (1.0, 2.0, 0.5)
        ]
        # the second was right already, the third is best with two factors: the first
        assert after.kept == pytest.approx((1.1, 2.0, 6.4))
        _, after = run({**results, 2.0: None}, found)
        assert after.kept == pytest.approx((1.1, 2.0, 1.6))
        near = wanted * [1.0049, 1.0, 0.9951]
        given, after = run(results, near)
        assert after is given
        given, after = run({}, wanted * [1.0, 1.0, 1.0])
        assert after is given
        assert tried == []


GROUPS = (
    TYPES
    + """
!s = !quant.uniform<i8:f32, 3.906250e-03:-128>
!t = !quant.uniform<i8:f32, 7.812500e-03>
func.func @main(%x: tensor<1x4x!x>) -> (tensor<1x4x!x>, tensor<1x4x!r>) {
  %0 = qnn.requantize %x : (tensor<1x4x!x>) -> tensor<1x4x!r> loc("a")
  %1 = qnn.reshape %0 : (tensor<1x4x!r>) -> tensor<1x2x2x1x!r> loc("b")
  %2 = qnn.relu %1 : (tensor<1x2x2x1x!r>) -> tensor<1x2x2x1x!x> loc("c")
  %3 = qnn.reshape %2 : (tensor<1x2x2x1x!x>) -> tensor<1x4x!x> loc("d")
  %4 = qnn.sigmoid %3 : (tensor<1x4x!x>) -> tensor<1x4x!s> loc("e")
  %5 = qnn.tanh %4 : (tensor<1x4x!s>) -> tensor<1x4x!t> loc("f")
  %6 = qnn.softmax %5 : (tensor<1x4x!t>) -> tensor<1x4x!s> loc("g")
  %7 = qnn.requantize %6 : (tensor<1x4x!s>) -> tensor<1x4x!x> loc("h")
  %8 = qnn.requantize %3 : (tensor<1x4x!x>) -> tensor<1x4x!r> loc("i")
  %9 = qnn.requantize %1 : (tensor<1x2x2x1x!r>) -> tensor<1x2x2x1x!x> loc("j")
  %p = qnn.avg_pool2d %9 {kernel = [2, 2], stride = [1, 1], pad = [0, 0, 0, 0]}
    : (tensor<1x2x2x1x!x>) -> tensor<1x1x1x1x!x> loc("n")
  %10 = qnn.reshape %p : (tensor<1x1x1x1x!x>) -> tensor<1x1x!x> loc("k")
  %11 = qnn.add %10, %3 : (tensor<1x1x!x>, tensor<1x4x!x>) -> tensor<1x4x!x> loc("l")
  %12 = qnn.requantize %11 : (tensor<1x4x!x>) -> tensor<1x4x!x> loc("m")
  return %12, %8 : tensor<1x4x!x>, tensor<1x4x!r>
}"""
)


def test_results_whose_ranges_may_be_chosen() -> None:
    """Those of layers that round, but for functions whose range is known; together
    where they share one, and none that an input or an output shares."""
    rescaling = vars(room("rescaling"))
    given = work(GROUPS)
    assert rescaling["_rounding_results"](given) == {*"achijlmn"}
    places = enumerate("abcdefghijklmn")
    numbers = {name: np.full((1, 2), place) for place, name in places}
    vars(given)["reference"] = numbers
    found = [
        (name, type.scale, values.tolist())
        for name, type, values in rescaling["_groups"](given)
    ]
    assert found == [
        *(("a", 1.0, [0, 0]), ("c", 0.5, [2, 2]), ("h", 0.5, [7, 7])),
        *(("j", 0.5, [9, 9, 13, 13]), ("l", 0.5, [11, 11])),
    ]


def test_what_an_observer_sees_of_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every n-th one, in order, so that no more than a million are left."""
    rescaling = room("rescaling")
    monkeypatch.setattr(rescaling, "OBSERVED", 4)
    type = QuantizedType.per_tensor(8, True, 1.0, 0, storage_min=-127)
    seen: list[Any] = []

    class Observer:
        def __init__(self, **given: Any) -> None:
            seen.append(given)

        def __call__(self, values: Any) -> None:
            seen.append(values.tolist())

        def calculate_qparams(self) -> tuple[Any, Any]:
            return torch.tensor([0.5]), torch.tensor([7])

    monkeypatch.setattr(
        import_module("torch.ao.quantization"), "MinMaxObserver", Observer
    )
    observed = vars(rescaling)["_observed"]
    for count, expected in ((3, [0, 1, 2]), (4, [0, 2]), (9, [0, 3, 6])):
        found = observed("MinMaxObserver", type, np.arange(count, dtype=np.float32))
        assert (found.scale, found.zero_point) == (0.5, 7)
        assert seen == [
            {"dtype": torch.qint8, "quant_min": -127, "quant_max": 127},
            expected,
        ]
        seen.clear()
    unsigned = QuantizedType.per_tensor(8, False, 1.0, 0)
    observed("MinMaxObserver", unsigned, np.zeros(1, np.float32))
    assert seen[0] == {"dtype": torch.quint8, "quant_min": 0, "quant_max": 255}


def test_shares_of_noise_and_decibels() -> None:
    noise, decibels = room("work").noise_share, room("work").decibels
    assert noise(floats([1, 2]), floats([2, 4])) == 5 / 20
    assert noise(floats([0, 1]), floats([0, 0])) == math.inf
    assert noise(floats([0, 0]), floats([0, 0])) == 0.0
    assert [decibels(share) for share in (1.0, 0.1, 1000.0)] == [0, 10, -30]
    assert decibels(0.0) == math.inf
