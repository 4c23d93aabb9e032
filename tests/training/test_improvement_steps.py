"""The steps of `qlower improve` on numbers that can be followed by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.formats.tflite_network import Network
from support.formats.tflite_objects import with_constants_behind

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.frontends.load import named
from qlower.model.scales import result_types, weight_types
from qlower.model.signature import TensorSpec
from qlower.model.weights import weight_specs
from qlower.text.parsing import parse_module

pytest.importorskip("torch", reason="torch is not installed")


def room(name: str) -> Any:
    """A module of the room, with its inner functions."""
    return import_module(f"qlower.improvement.{name}")


TYPES = """
!x = !quant.uniform<i8:f32, 5.0e-01:-3>
!v = !quant.uniform<i8<-127:127>:f32:0, {2.5e-01,5.0e-01,1.0e+00}>
!d = !quant.uniform<i8<-127:127>:f32, 5.0e-01>
!w = !quant.uniform<i8<-127:127>:f32, 2.5e-01>
!y = !quant.uniform<i8:f32, 1.0e+00:-128>
!z = !quant.uniform<i8:f32, 2.0e+00:10>
!p = !quant.uniform<i8:f32, 3.906250e-03:-128>
"""
NETWORK = (
    TYPES
    + """
func.func @main(%x: tensor<1x2x2x2x!x>) -> tensor<1x2x!p> {
  %v = qnn.constant dense<[[[[40, -20]]], [[[10, 30]]], [[[-127, 5]]]]>
    : tensor<3x1x1x2xi8> -> tensor<3x1x1x2x!v>
  %b = arith.constant dense<[16, -80, 300]> : tensor<3xi32>
  %0 = qnn.conv2d %x, %v, %b {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1],
    activation = "relu"}
    : (tensor<1x2x2x2x!x>, tensor<3x1x1x2x!v>, tensor<3xi32>) -> tensor<1x2x2x3x!y>
    loc("conv2d")
  %d = qnn.constant dense<[[[[2, -1, 4]]]]> : tensor<1x1x1x3xi8> -> tensor<1x1x1x3x!d>
  %c = arith.constant dense<[5, 6, -7]> : tensor<3xi32>
  %1 = qnn.depthwise_conv2d %0, %d, %c
    {stride = [1, 1], pad = [0, 0, 0, 0], dilation = [1, 1]}
    : (tensor<1x2x2x3x!y>, tensor<1x1x1x3x!d>, tensor<3xi32>) -> tensor<1x2x2x3x!y>
    loc("depthwise_conv2d")
  %2 = qnn.max_pool2d %1 {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0]}
    : (tensor<1x2x2x3x!y>) -> tensor<1x1x1x3x!y> loc("max_pool2d")
  %3 = qnn.reshape %2 : (tensor<1x1x1x3x!y>) -> tensor<1x3x!y> loc("reshape")
  %w = qnn.constant dense<[[9, -8, 7], [-6, 5, 4]]> : tensor<2x3xi8> -> tensor<2x3x!w>
  %e = arith.constant dense<[100, -50]> : tensor<2xi32>
  %4 = qnn.linear %3, %w, %e
    : (tensor<1x3x!y>, tensor<2x3x!w>, tensor<2xi32>) -> tensor<1x2x!z> loc("linear")
  %5 = qnn.softmax %4 : (tensor<1x2x!z>) -> tensor<1x2x!p> loc("softmax")
  return %5 : tensor<1x2x!p>
}"""
)
LONE = (
    TYPES
    + """
func.func @main(%x: tensor<1x3x!y>) -> tensor<1x2x!z> {
  %w = qnn.constant dense<[[9, -8, 7], [-6, 5, 4]]> : tensor<2x3xi8> -> tensor<2x3x!w>
  %e = arith.constant dense<[100, -50]> : tensor<2xi32>
  %0 = qnn.linear %x, %w, %e
    : (tensor<1x3x!y>, tensor<2x3x!w>, tensor<2xi32>) -> tensor<1x2x!z> loc("linear")
  return %0 : tensor<1x2x!z>
}"""
)
NAMES = ["conv2d", "depthwise_conv2d", "max_pool2d", "reshape", "linear", "softmax"]
X = np.array(
    [
        [[[20, -20], [7, 0]], [[-3, 40], [5, 5]]],
        [[[-3, -3], [90, 1]], [[2, -30], [-60, 4]]],
    ],
    np.int8,
)


def work(contract: str = "exact", text: str = NETWORK) -> Any:
    """The network before any method, with its stored weights as the real ones."""
    model = named(parse_module(text), None)
    real = {spec.name: spec.real for spec in weight_specs(model.module)}
    return room("work").Work(model, real, (X,), contract, {})


def by_hand() -> dict[str, Any]:
    """The real values of the network's layers, in numpy."""
    x = (X + 3.0) * 0.5
    first = np.array([[40, -20], [10, 30], [-127, 5]]) * np.array([[0.25], [0.5], [1]])
    bias = np.array([16, -80, 300]) * np.array([0.25, 0.5, 1]) * 0.5
    a = np.maximum(x @ first.T + bias, 0)
    b = np.maximum(a * np.array([2, -1, 4]) * 0.5 + np.array([5, 6, -7]) * 0.5, 0)
    pooled = b.reshape(2, 4, 3).max(1)
    last = np.array([[9, -8, 7], [-6, 5, 4]]) * 0.25
    return {
        "conv2d": a,
        "depthwise_conv2d": b,
        "max_pool2d": pooled.reshape(2, 1, 1, 3),
        "reshape": pooled,
        "linear": pooled @ last.T + np.array([100, -50]) * 0.25,
    }


@pytest.mark.parts(2)
@pytest.mark.parametrize("biased", [True, False])
def test_roundings_are_learned_with_the_bias(
    biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layer has its bias, if any, while its roundings are learned. Nothing is, here:
    they are the nearest, at which that starts."""
    rounding, operands = room("rounding"), list[int]()
    apply = rounding.surrogate

    def surrogate(op: Any, given: Any) -> Any:
        operands.append(len(given))
        return apply(op, given)

    monkeypatch.setattr(rounding, "surrogate", surrogate)
    monkeypatch.setattr(rounding, "STEPS", 3)
    still = SimpleNamespace(zero_grad=lambda: None, step=lambda: None)
    monkeypatch.setattr(rounding.torch.optim, "Adam", lambda *_, **__: still)
    text = LONE
    if not biased:
        text = LONE.replace("%w, %e", "%w").replace(", tensor<2xi32>)", ")")
    given = replace(
        work(text=text), inputs=(np.arange(6, dtype=np.int8).reshape(2, 3),)
    )
    (layer,) = given.contractions
    learned = vars(rounding)["_learned"](given, layer)
    assert operands == [2 + biased] * 3
    assert learned.tolist() == [[9, -8, 7], [-6, 5, 4]]


def test_what_is_learned_from_is_a_difference_in_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the result: in steps twice as large it is half, and its square a quarter."""
    rounding, slopes = room("rounding"), list[Any]()

    def adam(variables: Any, **_: object) -> Any:
        def step() -> None:
            slopes.append(variables[0].grad.clone())

        return SimpleNamespace(zero_grad=lambda: None, step=step)

    monkeypatch.setattr(rounding.torch.optim, "Adam", adam)
    monkeypatch.setattr(rounding, "STEPS", 1)
    for step in ("2.0", "4.0"):
        given = work(text=LONE.replace("f32, 2.0e+00:10", f"f32, {step}e+00:10"))
        between = {name: value + 0.07 for name, value in given.parameters.items()}
        inputs = (np.arange(-128, -122, dtype=np.int8).reshape(2, 3),)
        given = replace(given, inputs=inputs, parameters=between)
        vars(rounding)["_learned"](given, next(given.contractions))
    fine, coarse = slopes
    assert (fine.abs() > 0).all()
    np.testing.assert_allclose(fine, 4 * coarse, rtol=1e-5)


def test_a_network_in_real_numbers_and_on_the_device() -> None:
    """The device rounds each layer's result, here by `exact`: ties to even."""
    given = work()
    assert list(given.reference)[1:] == NAMES
    expected = by_hand()
    for name, values in expected.items():
        np.testing.assert_allclose(given.reference[name], values, rtol=1e-6)
    network = given.network
    assert (network.judged, network.output) == ("linear", "softmax")
    assert network.specs["linear"].scale == 2.0
    a = np.minimum(np.rint(expected["conv2d"]), 255)
    np.testing.assert_array_equal(given.found["conv2d"], a)
    # a layer alone rounds its own operands, and all that come before are real
    mixed = network.mixed((X,), {"depthwise_conv2d"}, given.parameters)
    np.testing.assert_allclose(mixed["conv2d"], expected["conv2d"], rtol=1e-6)
    b = np.rint(np.maximum(a * np.array([2, -1, 4]) / 2 + np.array([5, 6, -7]) / 2, 0))
    np.testing.assert_array_equal(mixed["depthwise_conv2d"], np.minimum(b, 255))
    np.testing.assert_array_equal(
        network.alone("depthwise_conv2d", given.reference), mixed["depthwise_conv2d"]
    )
    assert network.alone("reshape", given.found).shape == (2, 3)
    noise = np.square(given.found["linear"] - expected["linear"]).sum()
    share = noise / np.square(expected["linear"]).sum()
    assert given.error() == pytest.approx(share, rel=1e-4)
    first = (
        np.square(a - expected["conv2d"]).sum() / np.square(expected["conv2d"]).sum()
    )
    assert given.error("conv2d") == pytest.approx(first, rel=1e-4)
    # other parameters: a bias of 2.5 more in each channel
    moved = {"linear.bias": np.array([25 + 2.5, -12.5 + 2.5])}
    real = network.real((X,), moved)
    np.testing.assert_allclose(real["linear"], expected["linear"] + 2.5, rtol=1e-6)


def test_a_share_saturates_at_ends_that_do_not_stand_for_zero() -> None:
    given = work()
    values = np.array([0.0, -3.0, 1.0, 255.0, 254.0, 999.0, 127.4, 2.0])
    assert given.network.saturated("conv2d", values) == 2 / 8
    # -128 stands for -276, 127 for 234
    assert (
        given.network.saturated("linear", np.array([-276.0, 234.0, 20.0, 0.0])) == 0.5
    )


def test_shares_of_noise() -> None:
    noise_share, decibels = room("work").noise_share, room("work").decibels
    assert noise_share(np.array([1.0, 2.0]), np.array([1.0, 4.0])) == 4 / 17
    assert noise_share(np.zeros(2), np.zeros(2)) == 0
    assert noise_share(np.ones(2), np.zeros(2)) == math.inf
    assert decibels(0.01) == 20
    assert decibels(0.0) == math.inf


def test_types_that_just_hold_values() -> None:
    """Weights by the largest magnitude; results by their least and largest, and 0."""
    fitted, spanning = (
        room("equalizing").__dict__[n] for n in ("fitted_type", "spanning_type")
    )
    along = QuantizedType.per_axis(8, True, 1, [1.0] * 3, storage_min=-127)
    real = np.array([[1.0, -2.54, 0.0], [-1.27, 0.5, 0.0]])
    np.testing.assert_allclose(fitted(along, real).scales, [0.01, 0.02, 1e-12 / 127])
    whole = QuantizedType.per_tensor(8, True, 1.0, 0)
    np.testing.assert_allclose(fitted(whole, real).scales, [0.02])
    found = spanning(whole, np.array([-1.0, 3.0]))
    assert (found.scale, found.zero_point) == (pytest.approx(4 / 255), -64)
    found = spanning(whole, np.array([1.0, 5.1]))
    assert (found.scale, found.zero_point) == (pytest.approx(0.02), -128)
    found = spanning(whole, np.array([-5.1, -1.0]))
    assert (found.scale, found.zero_point) == (pytest.approx(0.02), 127)
    assert spanning(whole, np.zeros(3)).scale == pytest.approx(1e-9 / 255)


def test_channels_are_scaled_by_the_root_of_their_ranges() -> None:
    """sqrt(r1 / r2), between 1/16 and 16, also where a range is 0."""
    scales = room("equalizing").channel_scales
    one = np.array([[4.0, -8.0], [1.0, 0.5], [0.0, 0.0], [1e6, 0.0], [0.0, 0.0]])
    other = np.array([[[-2.0, 0.25, 3.0, 1.0, 0.0]], [[1.0, 0.1, 1.0, 0.5, 0.0]]])
    expected = [2.0, 2.0, 1 / 16, 16.0, 1.0]
    np.testing.assert_allclose(scales(one, 0, other, 2), expected)


def test_two_layers_are_equalized() -> None:
    """conv2d with depthwise_conv2d, but not that with linear: a reshape reads it. After
    one turn a channel's ranges are the same, so that a second changes nothing; weights
    and the result between get types that just hold them."""
    given = work()
    chains = vars(room("equalizing"))["_chains"]
    pairs = [(a.name, b.name) for a, b in chains(given)]
    assert pairs == [("conv2d", "depthwise_conv2d")]
    after = room("equalizing").equalize(given)
    before, changed = given.parameters, after.parameters
    # ranges 10, 15, 127 and 1, 1/2, 2
    s = np.sqrt([10 / 1, 15 / 0.5, 127 / 2])
    for name, factors in (
        ("conv2d.weight", 1 / s[:, None, None, None]),
        *(("conv2d.bias", 1 / s), ("depthwise_conv2d.weight", s)),
        *(("depthwise_conv2d.bias", 1), ("linear.weight", 1), ("linear.bias", 1)),
    ):
        np.testing.assert_allclose(changed[name], before[name] * factors, rtol=1e-12)
    weights = weight_types(after.model.module)
    np.testing.assert_allclose(
        weights["conv2d.weight"].scales, np.array([10, 15, 127]) / s / 127
    )
    largest = np.abs(changed["depthwise_conv2d.weight"]).max()
    np.testing.assert_allclose(
        weights["depthwise_conv2d.weight"].scales, [largest / 127]
    )
    assert weights["linear.weight"].scales == (0.25,)
    results = result_types(after.model.module)
    np.testing.assert_allclose(
        results["conv2d"].scale, (by_hand()["conv2d"] / s).max() / 255, rtol=1e-6
    )
    assert results["conv2d"].zero_point == -128
    assert results["linear"].scale == 2.0
    np.testing.assert_allclose(
        after.reference["linear"], given.reference["linear"], rtol=1e-5
    )
    # a layer whose activation clips above, or whose result two read, has no chain
    assert not list(chains(work(text=NETWORK.replace('"relu"', '"relu6"'))))
    assert room("equalizing").equalize(lone := work(text=LONE)) is lone


def test_gains_are_fitted_to_what_is_not_clipped() -> None:
    """sum(found wanted) / sum(wanted^2) of each channel, or of all; 1 without data, and
    where it is below 1/4 or above 4."""
    gains = vars(room("rescaling"))["_gains"]
    spec = TensorSpec("y", (1, 5), "int8", (1.0,), (0,))
    wanted = np.array([[10.0, 10, 200, 1, 4], [20.0, -10, 5, 2, 3]])
    found = np.array([[11.0, 9, 127, 9, -128], [22.0, -9, 10, 18, -128]])
    given = SimpleNamespace(
        found={"y": found}, network=SimpleNamespace(specs={"y": spec})
    )
    # 2: only (10, 5) is free; 3: 9 times is too much; 4: nothing is free
    np.testing.assert_allclose(
        gains(given, "y", wanted, is_common=False), [1.1, 0.9, 2.0, 1.0, 1.0]
    )
    products = (110 + 440) + (90 + 90) + 50 + (9 + 36)
    squares = (100 + 400) + (100 + 100) + 25 + (1 + 4)
    np.testing.assert_allclose(
        gains(given, "y", wanted, is_common=True), [products / squares]
    )


def test_results_that_share_a_range_are_seen_together() -> None:
    """Inputs and outputs keep theirs."""
    given = work()
    found = list(vars(room("rescaling"))["_groups"](given))
    assert [name for name, _, _ in found] == ["conv2d", "depthwise_conv2d", "linear"]
    for name, type, values in found:
        assert type == result_types(given.model.module)[name]
        np.testing.assert_array_equal(values, given.reference[name].reshape(-1))


def test_weights_that_have_scales_of_channels_get_no_more() -> None:
    text = LONE.replace(
        "!w = !quant.uniform<i8<-127:127>:f32, 2.5e-01>",
        "!w = !quant.uniform<i8<-127:127>:f32:0, {2.5e-01,5.0e-01}>",
    )
    examples = room("figures").Examples((np.zeros((4, 3), np.int8),), [()] * 4)
    for model, more in ((LONE, ["weights per channel"]), (text, [])):
        found = room("sensitivity").choices(work(text=model), examples, [])
        names = [one.name for one in found]
        assert names == ["as it is", *more, "16-bit activations"]


def test_of_scales_that_are_as_good_the_old_one_stays() -> None:
    """A channel of zeros is right in any steps; the other is a quarter too small."""
    by_channel = "!w = !quant.uniform<i8<-127:127>:f32:0, {2.5e-01,2.5e-01}>"
    text = LONE.replace("!w = !quant.uniform<i8<-127:127>:f32, 2.5e-01>", by_channel)
    text = text.replace("[9, -8, 7]", "[0, 0, 0]").replace("[100, -50]", "[0, 0]")
    inputs = (np.arange(-60, 60, dtype=np.int8).reshape(40, 3),)
    given = replace(work(text=text), inputs=inputs)
    (layer,) = given.contractions
    real = {name: value * 1.25 for name, value in given.parameters.items()}
    changed = vars(room("rescaling"))["_with_gain"](
        replace(given, parameters=real), layer
    )
    first, second = weight_types(changed.model.module)[layer.weight.name].scales
    assert first == 0.25
    assert second != 0.25


def test_errors_of_channels() -> None:
    errors = vars(room("rescaling"))["_errors"]
    a, b = np.array([[1.0, 2], [3, 4]]), np.array([[0.0, 2], [1, 7]])
    assert errors(a, b, is_common=False).tolist() == [5.0, 9.0]
    assert errors(a, b, is_common=True).tolist() == [14.0]


@pytest.mark.parametrize(("suffix", "extra"), [("onnx", "onnx"), ("pt2", "torch")])
def test_files_whose_package_is_missing(
    suffix: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = room("float_weights")

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(weights, "import_module", missing)
    path = tmp_path / f"float.{suffix}"
    with pytest.raises(QlowerError) as caught:
        weights.float_arrays(path)
    assert f"{path} can't be read" in str(caught.value)
    assert extra in str(caught.value.help)


def test_weights_are_sought_in_a_file(tmp_path: Path) -> None:
    """Initializers and constants of real numbers, in any order of dimensions; one whose
    noise is above a tenth is a different one."""
    onnx: Any = pytest.importorskip("onnx", reason="onnx is not installed")
    weights = room("float_weights")
    numpy_helper, helper = onnx.numpy_helper, onnx.helper

    def tensor(values: Any, name: str = "t") -> Any:
        return numpy_helper.from_array(np.ascontiguousarray(values), name)

    path = tmp_path / "float.onnx"
    real = np.arange(6, dtype=np.float32).reshape(2, 3)
    nodes = [
        helper.make_node("Constant", [], ["c"], value=tensor(real.T)),
        helper.make_node("Constant", [], ["d"], value_float=1.0),
        helper.make_node("Relu", ["a"], ["b"]),
    ]
    doubles = tensor(real.astype(np.float64))
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [], [], [doubles])), path)
    (found,) = weights.float_arrays(path)
    np.testing.assert_array_equal(found, real.T)
    given = work()
    (spec, *_) = (s for s in weight_specs(given.model.module) if s.role == "weight")
    nearest = vars(weights)["_nearest"]
    near, far = spec.real * 1.05, spec.real * 1.2
    value, distance = nearest(spec, [far, near.reshape(3, 2, 1), far, real])
    np.testing.assert_allclose(value, near)
    assert distance == pytest.approx(0.05)
    assert nearest(spec, [real[:, :2]]) == (None, np.inf)
    tensors = [s.real * 1.11 for s in weight_specs(given.model.module)]
    tensors = [tensor(one.astype(np.float32), f"t{n}") for n, one in enumerate(tensors)]
    onnx.save(helper.make_model(helper.make_graph([], "g", [], [], tensors)), path)
    with pytest.raises(QlowerError, match=r"no weights that conv2d\.weight"):
        weights.float_parameters(given.model, path)
    with pytest.raises(QlowerError, match=r"cannot read .*: No such file"):
        weights.float_arrays(tmp_path / "none.onnx")
    with pytest.raises(QlowerError, match=r"is no \.tflite, \.onnx or \.pt2 file"):
        weights.float_arrays(tmp_path / "none.h5")


@pytest.mark.parametrize("place", [bytes, with_constants_behind])
def test_weights_are_sought_in_a_file_of_tflite(
    place: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """Constants of real numbers, in the tables or behind them; integers aren't any."""
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    net = Network()
    wanted = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = net.binary("ADD", net.input(1, 3), 0.5)
    total = net.op("FULLY_CONNECTED", [x, net.constant(wanted)], (1, 2))
    path = tmp_path / "float.tflite"
    path.write_bytes(place(net.build(net.reshaped(total, 2, 1))))
    found = room("float_weights").float_arrays(path)
    assert {array.size for array in found} == {1, 6}
    np.testing.assert_array_equal(max(found, key=np.size), wanted)


@pytest.mark.long
def test_precisions_and_their_bytes() -> None:
    """6 + 3 + 6 bytes of weights; in float a layer's take 3 bytes more each."""
    sensitivity, figures = room("sensitivity"), room("figures")
    given = work("tflite")
    kinds = sensitivity.rounding_layers(given.network)
    assert list(kinds) == ["conv2d", "depthwise_conv2d", "linear"]
    examples = figures.Examples((X,), [(), ()])
    effects = sensitivity.layer_effects(given, examples)
    assert [one.name for one in effects] == list(kinds)
    alone = {one.name: one.alone for one in effects}
    mixed = given.network.mixed((X,), {"linear"}, given.parameters)
    share = room("work").noise_share(mixed["linear"], given.reference["linear"])
    assert alone["linear"] == pytest.approx(-10 * math.log10(share))
    own = room("work").noise_share(given.found["conv2d"], given.reference["conv2d"])
    assert effects[0].own == pytest.approx(-10 * math.log10(own))
    assert effects[0].saturated == given.network.saturated(
        "conv2d", given.found["conv2d"]
    )
    found = list(sensitivity.choices(given, examples, effects))
    order = sorted(kinds, key=lambda name: alone[name])
    sizes = {"conv2d": 6, "depthwise_conv2d": 3, "linear": 6}
    assert [(one.name, one.weight_bytes) for one in found] == [
        *(("as it is", 15), ("weights per channel", 15), ("16-bit activations", 15)),
        *(
            (
                f"in float: {', '.join(order[:n])}",
                15 + 3 * sum(sizes[o] for o in order[:n]),
            )
            for n in (1, 2, 3)
        ),
    ]
    assert found[-1].figures.decibels == math.inf
    wide_scale = vars(sensitivity)["_wide_scale"]
    type = QuantizedType.per_tensor(8, True, 0.5, 10)
    assert wide_scale(type) == np.float32(0.5 * 138 / 32767)
    type = QuantizedType.per_tensor(8, True, 0.5, -128)
    assert wide_scale(type) == np.float32(0.5 * 255 / 32767)


def test_weights_per_channel_and_wide_activations() -> None:
    """A scale that just holds each channel, where a tensor has one; 16 bits around 0
    that hold what 8 bits hold, the inputs with the same real values."""
    sensitivity, given = room("sensitivity"), work()
    examples = room("figures").Examples((X,), [(), ()])
    changed, same = vars(sensitivity)["_per_channel"](given, examples)
    assert same is examples
    types = weight_types(changed.model.module)
    found = {name: (type.axis, type.scales) for name, type in types.items()}
    assert found["conv2d.weight"] == (0, (0.25, 0.5, 1.0))
    assert found["depthwise_conv2d.weight"][0] == 3
    np.testing.assert_allclose(
        found["depthwise_conv2d.weight"][1], np.array([1, 0.5, 2]) / 127
    )
    assert found["linear.weight"][0] == 0
    np.testing.assert_allclose(found["linear.weight"][1], np.array([9, 6]) * 0.25 / 127)
    assert types["linear.weight"].storage_min == -127
    wide, wider = vars(sensitivity)["_wide"](given, examples)
    results = result_types(wide.model.module)
    assert {(type.storage_width, type.zero_point) for type in results.values()} == {
        (16, 0),
    }
    assert results["linear"].scale == np.float32(2.0 * 138 / 32767)
    assert results["conv2d"].scale == np.float32(255 / 32767)
    step = float(np.float32(0.5 * 130 / 32767))
    expected = np.rint((X + 3.0) * 0.5 / step)
    assert np.abs(wider.inputs[0] - expected).max() <= 1
    assert wide.inputs[0] is wider.inputs[0]


def test_biases_move_by_the_mean_error() -> None:
    """Over rows that aren't clipped: a bias that is 12 too large, to steps of 1/4."""
    x = np.array([[-118, -108, -98], [-100, -111, -128], [127, -128, 127]], np.int8)
    given = replace(work(text=LONE), inputs=(x,))
    wrong = given.stored({"linear.bias": np.array([148, -2], np.int32)})
    weight = np.array([[9, -8, 7], [-6, 5, 4]]) * 0.25
    real = (x + 128.0) @ weight.T
    wanted = real + np.array([25, -12.5])
    device = np.rint((real + np.array([37, -0.5])) / 2)
    free = (device + 10 < 127) & (device + 10 > -128)
    assert free.sum(0).tolist() == [2, 3]
    error = ((wanted - 2 * device) * free).sum(0) / [2, 3]
    expected = np.rint((np.array([37, -0.5]) + error) / 0.25)
    after = room("rounding").correct_biases(wrong)
    found = {spec.name: spec.stored for spec in weight_specs(after.model.module)}
    assert found["linear.bias"].tolist() == expected.tolist()
    assert found["linear.weight"].tolist() == [[9, -8, 7], [-6, 5, 4]]
    # what is right already is left as it is
    assert room("rounding").correct_biases(after).error() <= after.error()
