"""Values for the rules of contracts: layers whose scales and zero points make ties and
reach ends, and operands for each.

All rules see the same layers, and take from them the values that they ask for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute

from qlower.contracts import Contract, Rule
from qlower.contracts.rules import OF_WORDS, RULES, is_of_words
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array

Values = dict[str, Array]

CODES = 256
"""Elements that each layer gives a rule."""


@dataclass(frozen=True)
class Layer:
    """An operation: its scales, zero points and signs, and each choice that is a bit.

    `flags` is the value of all bits but of those that say how an image is resized,
    which are `resizing`: whether corners are aligned, and centres half pixels. Small
    sums begin with `first_sum`.
    """

    name: str
    scales: tuple[float, float, float]
    zero_points: tuple[int, int, int]
    unsigned: bool = False
    flags: bool = False
    resizing: tuple[bool, bool] = (False, False)
    count: int = 4
    narrow: bool = False
    channels: int = 37
    alpha: float = 0.3
    beta: float = 1.0
    first_sum: int = -100

    def __or__(self, others: Mapping[str, Any]) -> Layer:
        """The layer with other values of these fields."""
        return replace(self, **others)

    @cached_property
    def seed(self) -> list[int]:
        """A seed for what the layer draws."""
        return list(self.name.encode())


LAYERS = (
    # The same quantization on both sides, and a weight of 1: nothing is to be done.
    Layer("equal", (0.5, 1.0, 0.5), (3, 3, 3)),
    Layer("same", (0.0625, 0.11, 0.0625), (-20, 0, -20), False, True, count=5)
    | {"narrow": True, "channels": 8, "alpha": 1.0},
    Layer("same, unsigned", (0.3, 0.2, 0.3), (128, 128, 128), True, count=6)
    | {"channels": 1, "alpha": 1.25, "beta": 0.5},
    Layer("same scales", (0.5, 0.5, 0.5), (3, -4, 10)) | {"channels": 64, "alpha": 0.0},
    # Ratios of a half and an eighth: every other integer is a tie.
    Layer("halves", (0.5, 1.0, 1.0), (-7, 5, 4), resizing=(True, False), count=2),
    Layer("eighths", (0.25, 0.5, 1.0), (-7, 0, -4), flags=True, count=8)
    | {"channels": 16, "alpha": -0.5},
    Layer("unsigned", (0.5, 0.25, 0.5), (130, 0, 121), True, resizing=(False, True))
    | {"channels": 24, "beta": 2.0},
    Layer("uneven", (0.0123, 0.0471, 0.0037), (-128, 17, -3), count=7)
    | {"narrow": True, "channels": 5},
    # Fractions of all ones, and of few zeros.
    Layer("odd", (0.99999994, 0.0624999963, 0.33333334), (0, 0, 1), count=9)
    | {"channels": 32, "alpha": 0.0099999998},
    Layer("rising", (1.5, 0.7, 0.01), (127, -128, 5), flags=True, count=3),
    Layer("falling", (0.003, 0.0471, 0.37), (11, 0, -128), count=49)
    | {"narrow": True, "channels": 19},
    Layer("bytes", (0.02, 0.031, 0.0117), (128, 0, 0), True, True, (True, False), 5),
    # Multipliers of 8 and of 20 bits that are ties themselves.
    Layer("between", (1.501953125, 1.0000004768371582, 1.0), (0, 0, 0), flags=True),
    # Steps of the output that no ratio of common shifts reaches.
    # An average of nothing, too.
    Layer("tiny ratio", (2.0**-25, 2.0**-20, 1.0), (0, 0, 0), count=0),
    Layer("large ratio", (2.0**20, 2.0**4, 2.0**-10), (0, 0, 0), flags=True)
    | {"beta": 64.0},
    # Devices that shift alone, those of one scale too; weights without zero points.
    Layer("shift", (0.5, 0.25, 16.0), (0, 0, 0), flags=True),
    Layer("shifts", (0.5, 0.0625, 2.0**-8), (0, 0, 0)) | {"channels": 6},
    Layer("symmetric", (0.02, 0.031, 0.0173), (7, 0, -77)) | {"channels": 16},
    Layer("cut", (0.013, 0.02, 0.0191), (-20, 0, 30)) | {"narrow": True, "channels": 9},
    # Ties that are small once a zero point is added: there a product that was rounded
    # before differs from one of a fused multiplication and addition.
    Layer("sixths", (0.5, 1.0, 0.5), (-100, 0, -100), count=6)
    | {"channels": 15, "first_sum": 530},
)


def _limits() -> list[Layer]:
    """Ratios of the input's scale to the output's at which systems begin or cease to
    refuse layers, and the float32 numbers next to them, in order."""
    exponents = (
        *(-126, -47, -33, -32, -31, -30, -24, -16, -14, -1, 0, 1, 2, 7, 8, 14),
        *(15, 16, 22, 23, 24, 29, 30, 31, 32, 62, 127),
    )
    found: list[Layer] = []
    for unsigned in (False, True):
        zeros = (128, 128, 128) if unsigned else (0, 0, 0)
        for at in sorted([*(2.0**exponent for exponent in exponents), 1e30]):
            below, above = (
                np.nextafter(np.float32(at), np.float32(x)) for x in (0, np.inf)
            )
            for name, ratio in (("-", below), ("", at), ("+", above)):
                if np.isfinite(ratio):
                    name = f"{'u' if unsigned else ''}{at:.9g}{name}"
                    scales = (float(ratio), 1.0, 1.0)
                    found.append(Layer(name, scales, zeros, unsigned, unsigned))
    # TFLite takes scales for the same that are no further apart.
    return [*found, Layer("apart by 1e-6", (1e-6, 1.0, 2e-6), (0, 0, 0))]


LIMITS = _limits()

_RESIZED = {
    "output_index": [0, 1, 2, 3, 4, 5, 6, 9, 12, 0],
    "input_size": [4, 5, 4, 8, 7, 6, 13, 5, 13, 5],
    "output_size": [8, 3, 7, 4, 7, 9, 7, 10, 13, 1],
}
"""Positions, the sizes of whose images are of every kind: whole multiples, quotients,
the same, and neither; and one pixel."""

_NUMBERS: Mapping[str, float] = {
    "row_size": 10,
    "cell_clip": 0.0,
    "element_count": CODES + 3,
    "output_size": 1,
    "accumulator_min": -(1 << 24),
    "accumulator_max": 1 << 24,
    "bias": 77,
    "real_bias": 0.3712,
    "stride_width": 2,
}
"""Constants of every layer; others are 1."""

_REALS = (
    *(0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, -3.4e38, 1e10),
    *(0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.49999997, -0.49999997, 63.5, -64.5),
)
"""Reals that quantization meets at its edges: ties for a scale of 1 or a half, numbers
that no integer holds, and no number."""

_OUTPUTS: Mapping[str, tuple[float, int]] = {
    "softmax_output": (2.0**-8, -128),
    "softmax_output_i16": (2.0**-15, 0),
    "log_softmax_output": (2.0**-4, 127),
    "l2_normalize": (2.0**-7, 0),
    "sigmoid": (2.0**-8, -128),
    "sigmoid_i16": (2.0**-15, 0),
    "tanh": (2.0**-7, 0),
    "tanh_i16": (2.0**-15, 0),
}
"""Output quantizations, of signed integers, that are the only legal ones of a rule in
some systems: all layers but three have them."""

_OWN_OUTPUTS = ("uneven", "rising", "shifts")

_WORD_SCALES = {"equal": 2.0**-12, "same": 2.0**-11, "halves": 3 * 2.0**-15}
"""Input scales of 16-bit functions: their tables' own step, and others nearby."""

_CELL = 2.0**-11
_CELLS = {
    **{"unsigned": 2.0**-15, "odd": 2.0**-14, "falling": 2.0**-13, "cut": 2.0**-9},
    **{"shift": 2.0**-17, "large ratio": 2.0**-8},
}
"""The scale of an LSTM's cell, which has to be a power of two: with 4 integer bits,
with 0, 1, 2 and 6, and with fewer and more than TFLite's tanh has."""

_ROOTS = (1 << 28, (1 << 28) - 1, 1 << 29, (1 << 29) - 1)

_STEPS = {name: index for index, name in enumerate(("input", "weight", "output"))}
_SAME = {
    **{"lhs": "input", "rhs": "weight", "state": "weight"},
    **{"input_weight": "weight", "state_weight": "input", "time_weight": "weight"},
    **{"addend": "output", "summand": "input"},
}


@cache
def accumulators(layer: Layer, rule: str) -> Array:
    """Sums: small ones one by one, which has all ties, then of each size and sign."""
    small = np.arange(layer.first_sum, layer.first_sum + 160, dtype=np.int64)
    random = np.random.default_rng(layer.seed)
    bits = 40 if is_of_words(rule) else 31
    sizes = np.exp2(random.uniform(4, bits, CODES - small.size - 4))
    large = np.rint(sizes * random.choice([-1, 1], sizes.size)).astype(np.int64)
    most = (1 << bits) - 1
    return np.concatenate([small, large, [most, -most - 1, most - 1, 1 << (bits - 1)]])


@cache
def codes(layer: Layer, rule: str, salt: int = 0) -> Array:
    """Stored integers: of 8 bits each one, in another order for another salt."""
    if is_of_words(rule):
        random = np.random.default_rng([salt, *layer.seed])
        ends = [-32768, 32767, -1, 0, 1, -32767, 16384, -16384]
        rest = random.integers(-32768, 32768, CODES - len(ends))
        return np.concatenate([ends, rest])
    every = np.arange(CODES) - (0 if layer.unsigned else 128)
    if salt:
        every = np.random.default_rng([salt, *layer.seed]).permutation(every)
    return every


@cache
def rows(layer: Layer) -> Array:
    """Rows of 37 real numbers of many sizes, of which large ones cancel."""
    draw = np.random.default_rng(layer.seed)
    values = draw.standard_normal((40, 37)) * np.exp2(draw.integers(-12, 12, (40, 37)))
    values[:, 1::4] = -values[:, ::4][:, :9]
    return values.astype(np.float32)


def reals(layer: Layer) -> Array:
    """Real numbers: ties of the output's codes, their neighbours, and special ones."""
    steps = np.arange(-70, 6, dtype=np.float32) + np.float32(0.5)
    ties = (steps * np.float32(layer.scales[2])).astype(np.float32)
    above = np.nextafter(ties, np.float32(1e9))
    below = np.nextafter(ties, np.float32(0))
    found = np.concatenate([np.array(_REALS, np.float32), ties, above, below])
    random = np.random.default_rng(layer.seed)
    others = random.uniform(-200, 200, CODES - found.size) * layer.scales[2]
    return np.concatenate([found, others.astype(np.float32)])


@cache
def layouts() -> Mapping[str, Array]:
    """Windows and channels of convolutions, each by its name, for rules that choose a
    product: those that fast kernels take, and all that one number sets apart."""
    columns: defaultdict[str, list[int]] = defaultdict(list)
    choices = product((3, 5, 1, 7), (16, 8), (1, 2), (True, False))
    usual: list[dict[str, int]] = []
    for size, channels, factor, depthwise in choices:
        sides = ("top", "bottom", "left", "right")
        usual.append(
            {
                **{f"kernel_{side}": size for side in ("height", "width")},
                **{f"stride_{side}": factor for side in ("height", "width")},
                **{f"dilation_{side}": 1 for side in ("height", "width")},
                **{f"pad_{side}": size // 2 for side in sides},
                "input_channels": channels,
                "channel_count": channels * factor,
                "groups": channels if depthwise else 1,
            }
        )
    changes = [(name, step) for step in (1, -1, 2, 4) for name in usual[0]]
    for number in range(CODES):
        layout = dict(usual[number % len(usual)])
        name, step = changes[number % len(changes)]
        if number >= len(usual):
            layout[name] = max(layout[name] + step, int(not name.startswith("pad")))
        for key, value in layout.items():
            columns[key].append(value)
    return {name: np.array(column) for name, column in columns.items()}


class LayerValues:
    """What a layer gives to the rules of a contract, by the names of values.

    Values whose type a contract chooses come from its own rules.
    """

    def __init__(self, layer: Layer, contract: Contract, rule: str) -> None:
        self.layer = layer
        self.contract = contract
        self.rule = rule
        self.words = is_of_words(rule)

    def of(self, rule: Rule) -> Values:
        """The values that the rule asks for."""
        types = rule.function.function_type.inputs.data
        # Products of the largest scales are infinite.
        with np.errstate(over="ignore"):
            return {
                name: np.asarray(self.value(name, type)).astype(_dtype(type))
                for name, type in zip(rule.values, types, strict=True)
            }

    def of_rows(self) -> Values:
        """All that a rule on rows may ask for, or choose an order by."""
        return {
            name: np.asarray(self.value(name, type)).astype(_dtype(type))
            for name, type in RULES[self.rule].values.items()
        }

    def value(self, name: str, type: Attribute) -> Array:
        if name in ("term", "sum"):
            return self._of_contract(name)
        if name.endswith("_weight") and name in ("x_weight", "y_weight"):
            return self._weights(salt=name == "y_weight")
        if "position" in self.rule and name in _RESIZED:
            return np.array(_RESIZED[name])
        if self._is_runtime(name):
            return self._runtime(name, type)
        return np.asarray(self._constant(name, type))

    def _is_runtime(self, name: str) -> bool:
        return name in RULES[self.rule].runtime

    def _runtime(self, name: str, type: Attribute) -> Array:
        layer = self.layer
        if RULES[self.rule].of_rows:
            return rows(layer)
        if isinstance(type, AnyFloat):
            return reals(layer)
        if name == "element":
            # The last ones are less than a vector.
            return np.arange(3, CODES + 3)
        if name == "difference":
            return np.arange(1 - CODES, 1)
        if name in ("accumulator", "input_sum", "state_sum"):
            sums = accumulators(layer, "" if name.endswith("_sum") else self.rule)
            return self._limited(sums if name != "state_sum" else sums[::-1])
        if name == "product":
            first, second = (codes(layer, self.rule, salt) for salt in (1, 2))
            return (first - layer.zero_points[0]) * (second - layer.zero_points[0])
        if name.endswith("_gate"):
            gates = codes(layer, OF_WORDS, len(name))
            return gates if name == "update_gate" else np.abs(gates).clip(0, 32767)
        salts = ("input", "rhs", "top_right", "bottom_left", "bottom_right", "lhs")
        return codes(layer, self.rule, salts.index(name) if name in salts else 0)

    def _limited(self, sums: Array) -> Array:
        """The sums that a rule meets: of codes, no more than count of these."""
        if self.rule == "l2_normalize":
            # Where a root's argument is halved, too.
            return np.concatenate([np.abs(sums[:-4]).clip(0, 1 << 20), _ROOTS])
        if "sum" in RULES[self.rule].runtime or "count" in RULES[self.rule].constants:
            bound = self.layer.count * (32767 if self.words else 255)
            return np.clip(sums, 0 if self.layer.unsigned else -bound, bound)
        return sums

    def _constant(self, name: str, type: Attribute) -> float | Array:
        layer = self.layer
        prefix, _, kind = name.rpartition("_")
        prefix = prefix.removesuffix("_zero") if kind == "point" else prefix
        operand = _SAME.get(prefix, prefix)
        if self.rule.endswith("_product") and name in layouts():
            return layouts()[name]
        if name == "weight_unsigned":
            # Weights are signed in most models, of unsigned activations too.
            return layer.name == "unsigned" and not self.words
        if name == "input_scale" and self.words and layer.name in _WORD_SCALES:
            return _WORD_SCALES[layer.name]
        if name == "cell_scale":
            return _CELLS.get(layer.name, _CELL)
        if operand in _STEPS and kind in ("scale", "point", "unsigned"):
            return self._quantization(_STEPS[operand], kind)
        low, high = self._range()
        match name:
            case "align_corners":
                return layer.resizing[0]
            case "half_pixel_centers":
                return layer.resizing[1]
            case "storage_min":
                return low
            case "storage_max":
                return high
            case "output_min":
                return low + 9 if layer.narrow else low
            case "output_max":
                return high - 30 if layer.narrow else high
            case "activation_min":
                return 0.0 if layer.narrow else -np.inf
            case "activation_max":
                return np.inf
            case "count":
                return layer.count
            case "channel":
                return np.arange(CODES) % layer.channels
            case "channel_count" | "input_channels":
                return layer.channels
            case "bias_bits":
                return 32 if layer.narrow else 64
            case "groups":
                return layer.channels if layer.flags else 1
            case "window_size":
                return 1 if layer.narrow or layer.channels == 1 else 9
            case "kernel_height" | "kernel_width":
                return 1 if layer.narrow else 3
            case "dilation_height" | "dilation_width":
                return 1 + layer.flags
            case "alpha":
                return layer.alpha
            case "beta":
                return layer.beta
            case "real":
                most = 1e30 if layer.name == "rising" else 2.5 * layer.scales[2]
                return np.array([0.0, 6.0, 1.0, -1.0, 0.25, most, -most])
            case "half_scales":
                return layer.name == "falling"
            case "transposed":
                return layer.name == "rising"
            case "input_rank":
                return 2 + layer.flags
            case "in_sequence":
                return layer.name == "falling"
            case "one_bias":
                return layer.name == "bytes"
            case "weights_symmetric":
                return layer.zero_points[1] == 0
            case "over_image" | "even_windows" | "keep_dims":
                return not layer.narrow
            case "is_update":
                return layer.flags
            case "real_bias" if "accumulator" in RULES[self.rule].runtime:
                steps = np.random.default_rng(layer.seed).normal(0, 40, CODES)
                return steps * layer.scales[0] * layer.scales[1]
            case "real_bias" if not RULES[self.rule].runtime:
                # A bias is a constant; here many are quantized at once.
                return accumulators(layer, "") * np.float32(0.0371)
            case "bias" if not RULES[self.rule].runtime:
                return accumulators(layer, "")
            case _ if isinstance(type, IntegerType) and type.width.data == 1:
                return layer.flags
            case _:
                return _NUMBERS.get(name, 1)

    def _quantization(self, index: int, kind: str) -> float:
        layer = self.layer
        if kind == "unsigned":
            return layer.unsigned and not self.words
        if index == 2 and self.rule in _OUTPUTS and layer.name not in _OWN_OUTPUTS:
            scale, zero_point = _OUTPUTS[self.rule]
            offset = 128 if layer.unsigned and not self.words else 0
            return scale if kind == "scale" else zero_point + offset
        if kind == "scale":
            return layer.scales[index]
        return 0 if self.words else layer.zero_points[index]

    def _range(self) -> tuple[int, int]:
        if self.words:
            return -32768, 32767
        return (0, 255) if self.layer.unsigned else (-128, 127)

    def _of_contract(self, name: str) -> Array:
        """Terms, and sums of addends, as the contract's own rules give them."""
        rules, suffix = self.contract.rules, OF_WORDS if self.words else ""
        if "softmax" in self.rule:
            terms = self._ask(f"softmax_term{suffix}")
            if name == "term":
                return terms
            addend = rules[f"softmax_addend{suffix}"]
            (addends,) = addend.evaluate({"term": terms})
            return np.maximum(addends, addends.max())
        addend = f"{self.rule.removesuffix(OF_WORDS)}_addend"
        if addend not in rules:
            return self._limited(accumulators(self.layer, self.rule))
        return self._ask(addend) * self.layer.count

    def _weights(self, *, salt: bool) -> Array:
        """Weights of neighbours, in the contract's own form."""
        suffix = OF_WORDS if self.words else ""
        positions = self._ask_all(f"resize_bilinear_position{suffix}")
        return np.resize(positions[2][:: -1 if salt else 1], CODES)

    def _ask(self, rule: str) -> Array:
        (result,) = self._ask_all(rule)
        return result

    def _ask_all(self, rule: str) -> tuple[Array, ...]:
        return _asked(self.layer, self.contract, rule)


@cache
def _asked(layer: Layer, contract: Contract, rule: str) -> tuple[Array, ...]:
    found = contract.rule(rule)
    return found.evaluate(LayerValues(layer, contract, rule).of(found))


def answers(
    contract: Contract, rule: str, layers: Sequence[Layer] = LAYERS, few: int = CODES
) -> dict[str, tuple[Array, ...] | str]:
    """What the rule gives for each layer by its name, or why it refuses it; of so few
    elements of a layer.

    Layers are evaluated as one, whose constants differ along its first dimension, as
    far as none is refused.
    """
    found = contract.rule(rule)
    if found.is_of_rows:
        return {layer.name: _of_rows(contract, found, layer) for layer in layers}
    try:
        each = [LayerValues(layer, contract, rule).of(found) for layer in layers]
    except QlowerError as error:
        # Another rule, which gives this one its operands, refuses.
        if len(layers) == 1:
            return {layers[0].name: error.message}
        half = (len(layers) + 1) // 2
        first = answers(contract, rule, layers[:half], few)
        return first | answers(contract, rule, layers[half:], few)
    values = {name: _stack(each, name)[:, :: CODES // few] for name in found.values}
    return dict(_answers(found, values, [layer.name for layer in layers]))


def _of_rows(contract: Contract, rule: Rule, layer: Layer) -> tuple[Array, ...] | str:
    try:
        return rule.evaluate(LayerValues(layer, contract, rule.name).of_rows())
    except QlowerError as error:
        return error.message


def _answers(
    rule: Rule, values: Values, names: Sequence[str]
) -> Iterator[tuple[str, tuple[Array, ...] | str]]:
    try:
        results = rule.evaluate(values)
    except QlowerError as error:
        if len(names) == 1:
            yield names[0], error.message
            return
        half = (len(names) + 1) // 2
        for part in (slice(None, half), slice(half, None)):
            of_part = {name: value[part] for name, value in values.items()}
            yield from _answers(rule, of_part, names[part])
        return
    many = [np.broadcast_to(one, (len(names), *one.shape[1:])) for one in results]
    for index, name in enumerate(names):
        yield name, tuple(result[index] for result in many)


def _stack(each: Sequence[Values], name: str) -> Array:
    """A value of all layers, along the first dimension; elements are the second."""
    stacked = np.stack([values[name] for values in each])
    return stacked if stacked.ndim == 2 else stacked[:, np.newaxis]


def _dtype(type: Attribute) -> np.dtype[np.generic]:
    if isinstance(type, AnyFloat):
        return np.dtype(np.float32 if type.bitwidth == 32 else np.float64)
    assert isinstance(type, IntegerType)
    width = type.width.data
    return np.dtype(np.bool_ if width == 1 else f"i{width // 8}")
