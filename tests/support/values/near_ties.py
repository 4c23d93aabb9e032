"""Layers whose outputs are mostly ties, or nearly, chosen so that formulas part.

Each output channel has one weight, so that its sums are known: a bias is solved for
which the sum of one code lies at a tie of the output. Channels at which a contract and
one of its mutants, the same text with one step changed, give different codes come
first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from qlower.contracts import Contract
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import QDQ
from qlower.interp.values import Array
from qlower.model.build import constant, make_module, quantized, quantized_per_axis
from support.layers.random_modules import RandomLayer
from support.systems.phone_systems import One, one_of
from support.values.rule_values import Layer, LayerValues

WITHOUT_ZERO_POINTS = ("ncnn", "ncnn-arm64", "ncnn-avx2")
"""Contracts that refuse what has one."""

REFUSING = (
    *WITHOUT_ZERO_POINTS,
    *("requant-shift", "deeploy", "pulp-nn", "tpu-mlir", "gemmini"),
    *("esp-dl-esp32", "esp-dl-s3", "esp-dl-p4", "hls4ml"),
    *("vitis-dpu", "max78000", "nnom"),
    *("openvino", "openvino-avx2"),
)
"""Contracts that refuse layers of usual models: their zero points, their scales, or
layers that their systems compute in ways that aren't known."""

Change = tuple[str, str]
"""A piece of a contract's text, and what a mutant has there instead."""

SIDE = 16
CODES = SIDE * SIDE
TRIED = 40
"""Channels that are tried for each that is taken."""

QUANTIZATIONS = 200
"""Tried until one distinguishes: an inverted inverse differs in three of a hundred."""

NEAR = 2.0**-14
"""Steps from a tie within which an output counts as near it: few float32 numbers."""


def mutants(
    contract: str, changes: Sequence[Change], folder: Path
) -> dict[Change, str]:
    """Files of the contract with each of the changes alone."""
    text = (files("qlower.contracts") / f"{contract}.mlir").read_text()
    found: dict[Change, str] = {}
    for number, change in enumerate(changes):
        assert text.count(change[0]) >= 1, f"{contract} has no {change[0]!r}"
        mutant = folder / f"{contract}-{number}.mlir"
        mutant.write_text(text.replace(*change))
        found[change] = str(mutant)
    return found


@dataclass(frozen=True)
class Quantization:
    """Scales and zero points of what goes in and what comes out; and of what is added
    to a convolution, and of the convolution itself."""

    x_scale: float
    x_zero: int
    y_scale: float
    y_zero: int
    signed: bool
    lowest: int
    addend: tuple[float, int] = (1.0, 0)
    summand: tuple[float, int] = (1.0, 0)

    @property
    def codes(self) -> Array:
        """All codes; the lowest of the type may be one that doesn't occur."""
        low = -128 if self.signed else 0
        return np.arange(low, low + CODES).clip(self.lowest)


@dataclass(frozen=True)
class Channels:
    """A weight, its scale, a bias and what is added, a code, for each channel."""

    weights: Array
    scales: Array
    biases: Array
    addends: Array

    def at(self, places: Array) -> Channels:
        return Channels(
            *(self.weights[places], self.scales[places]),
            *(self.biases[places], self.addends[places]),
        )


def draw_quantization(
    random: np.random.Generator, *, signed: bool, zero_points: bool
) -> Quantization:
    """A third of scales are powers of two."""
    x_scale, y_scale = (float(np.float32(random.uniform(0.01, 0.2))) for _ in "xy")
    if random.integers(3) == 0:
        x_scale, y_scale = (2.0 ** -float(random.integers(3, 6)) for _ in "xy")
    x_zero, y_zero = (int(random.integers(-90, 91)) for _ in "xy")
    if not zero_points:
        x_zero = y_zero = 0
    shift = 0 if signed else 128
    lowest = shift - 128 + (not zero_points)
    zeros = x_zero + shift, y_zero + shift
    if random.integers(3) == 0 and zero_points:
        zeros = zeros[0], lowest  # as behind a ReLU
    made = Quantization(x_scale, zeros[0], y_scale, zeros[1], signed, lowest)
    others = random.uniform(0.3, 3, 2) * y_scale
    some = [lowest, shift, *(random.integers(-90, 91, 3) + shift)]
    a_zero, m_zero = (int(zero) for zero in random.choice(some, 2))
    a_scale, m_scale = (float(np.float32(scale)) for scale in others)
    return replace(made, addend=(a_scale, a_zero), summand=(m_scale * 2, m_zero))


def _drawn(
    random: np.random.Generator, rule: str, count: int, q: Quantization, one_scale: bool
) -> tuple[Channels, Array]:
    """Channels, of one scale or of several, and for each the sum that is at a tie.

    Nine of ten have a ratio of 1 or 1/2, or nearly: all or half of their sums are
    ties, or nearly.
    """
    code = random.choice(q.codes, count) - q.x_zero
    weights = random.integers(1, 128, count) * random.choice([-1, 1], count)
    scales = random.uniform(0.001, 0.02, count) * q.y_scale / q.x_scale
    simple = random.random(count) < 0.9
    weights = np.where(simple, random.choice([-2, -1, 1, 2], count), weights)
    ratio = random.choice([1.0, 0.5, 1.0], count) * q.y_scale / q.x_scale
    scales = np.where(simple, ratio / np.abs(weights), scales).astype(np.float32)
    for _ in range(2):
        up = np.where(random.random(count) < 0.3, np.float32(1e9), scales)
        scales = np.nextafter(scales, up.astype(np.float32))
    if one_scale:
        scales[:] = random.choice(scales)
    sums = code * weights
    # at most channels the middle code gives about the middle one: few saturate
    middle = sums - (np.median(q.codes) - q.x_zero) * weights
    steps = middle * (q.x_scale / q.y_scale * scales.astype(np.float64))
    steps += np.median(q.codes) - q.y_zero + random.integers(-8, 9, count)
    anywhere = random.random(count) < 0.1
    steps = np.where(anywhere, random.integers(-60, 60, count), np.rint(steps))
    real = (steps + 0.5) * q.y_scale
    addends = random.choice(q.codes, count)
    if rule.endswith("_add"):
        real -= (addends - q.addend[1]) * q.addend[0]
    biases = real - sums * (np.float64(q.x_scale) * scales)
    channels = Channels(weights, scales, biases.astype(np.float32), addends)
    return channels, sums


def _operand_values(
    prefix: str, scale_and_zero: tuple[float, int], signed: bool
) -> Mapping[str, Array]:
    scale, zero = scale_and_zero
    return {
        f"{prefix}_scale": np.array(scale, np.float32),
        f"{prefix}_zero_point": np.array(zero, np.int32),
        f"{prefix}_unsigned": np.array(not signed),
    }


def codes_of(
    contract: Contract,
    rule: str,
    q: Quantization,
    channels: Channels,
    sums: Array,
    relu: bool,
    in_sequence: bool = False,
    in_qdq: bool = False,
) -> Array:
    """What a contract's rule gives for sums of such channels, [channel, ...]."""
    column = (slice(None), *(np.newaxis,) * (sums.ndim - 1))
    zeros = (q.x_zero, 0, q.y_zero)
    layer = Layer("near ties", (q.x_scale, 1.0, q.y_scale), zeros, not q.signed)
    values = LayerValues(layer, contract, rule).of(contract.rule(rule))
    known: Mapping[str, Array] = {
        "accumulator": sums.astype(np.int32),
        "weight_scale": channels.scales[column],
        "real_bias": channels.biases[column],
        "weight_sum": channels.weights[column].astype(np.int32),
        "addend": channels.addends[column].astype(np.int32),
        **_operand_values("addend", q.addend, q.signed),
        **_operand_values("summand", q.summand, q.signed),
        "activation_min": np.array(0.0 if relu else -np.inf, np.float32),
        "activation_max": np.array(np.inf, np.float32),
        "channel": np.array(0, np.int32),
        "element": np.array(0, np.int32),
        "channel_count": np.array(1 << 6, np.int32),
        "element_count": np.array(1 << 14, np.int32),
        "input_channels": np.array(1 << 6, np.int32),
        "groups": np.array(1, np.int32),
        "transposed": np.array(False),
        "weights_symmetric": np.array(True),
        "one_weight_scale": np.array(len(np.unique(channels.scales)) == 1),
        "one_bias": np.array(False),
        "first_weight_scale": channels.scales[0],
        "in_sequence": np.array(in_sequence),
        "in_qdq": np.array(in_qdq),
        "input_rank": np.array(2 if rule == "linear" else 4, np.int32),
        **{f"kernel_{side}": np.array(3, np.int32) for side in ("height", "width")},
        **{f"stride_{side}": np.array(1, np.int32) for side in ("height", "width")},
        **{f"dilation_{side}": np.array(1, np.int32) for side in ("height", "width")},
    }
    if "weight_total" in values:
        given = {n: np.asarray(v) for n, v in values.items() if n.startswith("input_")}
        weights = channels.weights[column].astype(np.int32)
        rule_values = {**given, "weight": weights, "in_qdq": np.array(in_qdq)}
        addends = contract.rule("weight_addend").evaluate_each(
            rule_values, weights.shape
        )
        values["weight_total"] = addends[0]
    values |= {name: value for name, value in known.items() if name in values}
    (found,) = contract.rule(rule).evaluate(values)
    return found


def near_tie_layer(
    random: np.random.Generator,
    rule: str,
    contracts: Sequence[Contract],
    count: int,
    *,
    signed: bool,
    zero_points: bool,
    relu: bool = False,
    one_scale: bool = False,
    in_sequence: bool = False,
    in_qdq: bool = False,
) -> RandomLayer:
    """A layer of `count` channels and all codes; `contracts` are one and mutants.

    `rule` is conv2d, depthwise_conv2d (a window of 3x3 whose centre alone has a weight)
    or linear. The first mutant is distinguished if one of some quantizations can do it.
    """
    tries = QUANTIZATIONS
    while True:
        q = draw_quantization(random, signed=signed, zero_points=zero_points)
        is_middle = q.y_zero == (0 if signed else 128)
        if zero_points and is_middle and not in_qdq:
            continue  # which OpenVINO's contract refuses
        channels, sums = _drawn(random, rule, count * TRIED, q, one_scale)
        given = rule, q, channels, sums, relu, in_sequence, in_qdq
        found = [codes_of(c, *given) for c in contracts]
        tries -= 1
        if (found[0] != found[1]).any() or not tries:
            break
    order = [
        np.flatnonzero(other != found[0])[: count // len(found)] for other in found[1:]
    ]
    chosen = np.concatenate([*order, np.arange(count)])[:count]
    layer = _layer(random, rule, q, channels.at(chosen), relu)
    if in_qdq:
        layer.module.attributes[QDQ] = StringAttr("integer")
    return marked(layer) if in_sequence else layer


def marked(layer: RandomLayer) -> RandomLayer:
    """A linear layer, marked as one of several in a kernel."""
    op = one_of(layer).op
    assert isinstance(op, qnn.LinearOp)
    op.in_sequence = True
    return layer


def count_near_ties(one: One) -> int:
    """Outputs of a layer as above whose exact results are ties, or nearly, and don't
    saturate."""
    weights = one.weights.reshape(-1, one.weights.shape[-1])
    is_window = one.weights.ndim == 4 and one.weights.shape[0] == 1
    weights = weights.sum(0 if is_window else 1)
    sums = (one.codes.astype(np.int64) - one.x.zero_point) * weights
    real = sums * (one.x.scales[0] * one.weight_scales.astype(np.float64)) + one.bias
    if isinstance(one.op, qnn.FusedAddOp):
        addend, summand = one.addend, one.op.summand
        assert addend is not None
        ends = (summand.storage_min, summand.storage_max)
        low, high = ((end - summand.zero_point) * summand.scales[0] for end in ends)
        codes = one.inputs[1].astype(np.int64) - addend.zero_point
        real = real.clip(low, high) + codes * addend.scales[0]
    steps = real / one.y.scales[0]
    low = one.y.zero_point if one.bounds else one.y.storage_min
    stays = (steps + one.y.zero_point > low - 0.75) & (
        steps + one.y.zero_point < one.y.storage_max + 0.75
    )
    return int((stays & (abs(steps - np.floor(steps) - 0.5) <= NEAR)).sum())


def _layer(
    random: np.random.Generator,
    rule: str,
    q: Quantization,
    channels: Channels,
    relu: bool,
) -> RandomLayer:
    count = len(channels.weights)
    codes = random.permutation(q.codes).astype(np.int8 if q.signed else np.uint8)
    scales, activation = channels.scales.tolist(), "relu" if relu else None
    weights = channels.weights.astype(np.int8)
    match rule:
        case "linear":
            stored, shape, result = codes[:, None], (count, 1), (CODES, count)
            weights = weights.reshape(shape)
        case "conv2d" | "conv2d_add":
            stored, shape = codes.reshape(1, SIDE, SIDE, 1), (count, 1, 1, 1)
            result, weights = (1, SIDE, SIDE, count), weights.reshape(shape)
        case _:
            stored = np.repeat(codes.reshape(1, SIDE, SIDE, 1), count, 3)
            shape, result = (1, 3, 3, count), (1, SIDE, SIDE, count)
            window = np.zeros(shape, np.int8)
            window[0, 1, 1] = weights
            weights = window
    x = quantized(stored.shape, q.x_scale, q.x_zero, signed=q.signed)
    y = quantized(result, q.y_scale, q.y_zero, signed=q.signed)
    axis = 3 if rule.startswith("depthwise") else 0
    pad = (1, 1, 1, 1) if axis == 3 else (0, 0, 0, 0)

    def body(value: SSAValue, *addends: SSAValue) -> list[SSAValue]:
        w = constant(weights, quantized_per_axis(shape, axis, scales))
        b = constant(channels.biases)
        match rule:
            case "linear":
                return [qnn.LinearOp(value, w, b, y, activation=activation).result]
            case "conv2d_add" | "depthwise_conv2d_add":
                op = qnn.Conv2DAddOp if axis == 0 else qnn.DepthwiseConv2DAddOp
                between = quantized((1,), *q.summand, signed=q.signed).element_type
                more = {"summand": between}
            case _:
                op = qnn.Conv2DOp if axis == 0 else qnn.DepthwiseConv2DOp
                more = {}
        given = [value, w, b, *addends, y]
        return [op(*given, pad=pad, activation=activation, **more).results[0]]

    if not rule.endswith("_add"):
        return RandomLayer(make_module([x], body), [stored])
    other = quantized(result, *q.addend, signed=q.signed)
    addends = np.broadcast_to(channels.addends, result).astype(stored.dtype)
    return RandomLayer(make_module([x, other], body), [stored, addends])
