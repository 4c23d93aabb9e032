"""Small layers, drawn where proofs about all inputs may go wrong, and all their inputs.

A row of a layer's input is a tuple of stored integers, and the rows are all tuples
there are; for sums of many integers they reach every sum. Ranges of stored integers
are narrow, so that these are few. Scales make exact ties, nearly ties, vanish or
saturate; weights are all zero, all at one end, or make pairs of products saturate;
biases are real, or next to where an accumulator wraps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from qlower.interp.values import Array

ROWS = 1500
"""About the most tuples that a layer with a narrow range has."""

CHANNELS = 4


@dataclass(frozen=True)
class Stored:
    """A type of stored integers in low ... high."""

    signed: bool
    bits: int
    low: int
    high: int
    scale: float
    point: int

    @property
    def name(self) -> str:
        """The type as MLIR has it."""
        return self.with_scales(f"{number(self.scale)}:{self.point}")

    def with_scales(self, scales: str, axis: str = "") -> str:
        """The type with other scales and zero points."""
        letter = "i" if self.signed else "u"
        ends = f"<{self.low}:{self.high}>"
        return f"!quant.uniform<{letter}{self.bits}{ends}:f32{axis}, {scales}>"

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Of numpy's arrays of them."""
        return np.dtype(f"{'i' if self.signed else 'u'}{self.bits // 8}")

    @property
    def values(self) -> range:
        return range(self.low, self.high + 1)

    def tuples(self, length: int) -> Array:
        """All tuples of stored integers, [tuple, place]."""
        return np.array(list(product(self.values, repeat=length)), self.dtype)


Windows: TypeAlias = Callable[[Array], Array]
"""Of a contraction's input less its zero point, 0 for padding, what meets the weights:
[row, position, channel, weight], or 1 in place of channels that are all the same."""


@dataclass(frozen=True)
class Products:
    """What a contraction adds up.

    `weights` [channel, weight] are as stored, less `points` [channel, 1] what counts.
    `bias` is in steps of the products; None for one of real numbers.
    """

    input: Stored
    windows: Windows
    weights: Array
    points: Array
    bias: Array | None = None

    def addends(self, given: Array) -> Array:
        """The products of an input, [row, position, channel, weight]."""
        centred = given.astype(np.int64) - self.input.point
        return self.windows(centred) * (self.weights - self.points)

    def pairs(self, given: Array) -> Array:
        """Sums of neighbouring products of codes, which are unsigned, and weights as
        stored: [row, position, channel, pair]."""
        shift = 128 if self.input.signed else 0
        centred = given.astype(np.int64) - self.input.point
        codes = self.windows(centred) + self.input.point + shift
        terms = codes * self.weights
        odd = terms.shape[-1] % 2
        terms = np.pad(terms, ((0, 0), (0, 0), (0, 0), (0, odd)))
        return terms[..., ::2] + terms[..., 1::2]


@dataclass(frozen=True)
class EveryInput:
    """A module of one layer, and all inputs that tell what it computes.

    A layer with `ends`, those of its sums, has too many: these are some of them.
    """

    kind: str
    text: str
    inputs: Sequence[Array]
    products: Products | None = None
    ends: tuple[int, int] | None = None


def number(value: float) -> str:
    """A float32 as MLIR reads it."""
    text = repr(float(np.float32(value)))
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


@dataclass
class _Draw:
    """A layer under construction, with its source of randomness."""

    random: np.random.Generator
    products: Products | None = None
    ends: tuple[int, int] | None = None

    def pick(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.random.integers(low, high, endpoint=True))

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def bits(self) -> int:
        """Of stored integers."""
        return 16 if self.chance(0.25) else 8

    def ratio(self) -> float:
        """Of the scales of products and result."""
        match self.pick(0, 4):
            case 0:
                return 2.0 ** -self.pick(0, 13)
            case 1:
                return (2 * self.pick(0, 39) + 1) / 2.0 ** self.pick(3, 15)
            case 2:
                return float(np.exp(self.random.uniform(-20, -9)))
            case 3:
                return float(np.exp(self.random.uniform(-1, 6)))
            case _:
                return float(np.exp(self.random.uniform(-8, 0)))

    def scale(self) -> float:
        if self.chance(0.5):
            return 2.0 ** -self.pick(0, 9)
        return float(np.float32(np.exp(self.random.uniform(-6, 0))))

    def stored(
        self, length: int, *, bits: int = 8, scale: float | None = None
    ) -> Stored:
        """The type of an input with tuples of so many integers."""
        signed = bits == 16 or self.chance(0.6)
        least = -(1 << (bits - 1)) if signed else 0
        most = least + (1 << bits) - 1
        size = int(ROWS ** (1 / length))
        if (bits == 8 and length <= 2 and self.chance(0.1)) or size > most - least:
            low, high = least, most
        else:
            size = max(self.pick(2, size), 2)
            starts = (least, most - size + 1, self.pick(least, most - size + 1))
            low = starts[self.pick(0, 2)]
            high = low + size - 1
        if bits == 16:  # whose zero point is 0
            low = min(max(low, 1 - size), 0)
            high = low + size - 1
        point = (low, high, self.pick(low, high))[self.pick(0, 2)]
        scale = self.scale() if scale is None else scale
        return Stored(signed, bits, low, high, scale, 0 if bits == 16 else point)

    def result(self, like: Stored, scale: float, *, same_sign: bool = False) -> Stored:
        """The type of a result, with its whole range."""
        bits = like.bits
        signed = like.signed if bits == 16 or same_sign else self.chance(0.6)
        low = -(1 << (bits - 1)) if signed else 0
        high = low + (1 << bits) - 1
        middle, any = (low + high + 1) // 2, self.pick(low, high)
        point = 0 if bits == 16 else (low, high, middle, any)[self.pick(0, 3)]
        return Stored(signed, bits, low, high, scale, point)

    def activation(self) -> str:
        return ("", "", "relu", "relu6")[self.pick(0, 3)]


def draw_layer(seed: int, kind: str | None = None) -> EveryInput:
    """The layer of a seed; the same each time."""
    draw = _Draw(np.random.default_rng(seed))
    names = list(_KINDS)
    kind = kind or names[draw.pick(0, len(names) - 1)]
    text, inputs = _KINDS[kind](draw)
    return EveryInput(kind, text, inputs, draw.products, draw.ends)


def _module(
    types: Mapping[str, str],
    arguments: Mapping[str, str],
    result: str,
    lines: Sequence[str],
) -> str:
    names = "".join(f"!{name} = {type}\n" for name, type in types.items())
    given = ", ".join(f"%{name}: tensor<{type}>" for name, type in arguments.items())
    body = "".join(f"  {line}\n" for line in lines)
    return (
        f"{names}func.func @main({given}) -> tensor<{result}> {{\n{body}"
        f"  return %y : tensor<{result}>\n}}\n"
    )


def _attributes(**given: object) -> str:
    written = [
        f"{name} = {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in given.items()
        if value is not None
    ]
    return f" {{{', '.join(written)}}}" if written else ""


def _quoted(activation: str) -> str | None:
    return f'"{activation}"' if activation else None


def _weights(draw: _Draw, shape: Sequence[int], axis: int) -> Array:
    """Weights before they have a type: of small, large or all reach; some share a
    factor."""
    reach = (2, 20, 127)[draw.pick(0, 2)]
    weights = draw.random.integers(-reach, reach, shape, endpoint=True)
    rows = np.moveaxis(weights, axis, 0)  # a view
    if draw.chance(0.3):
        rows[0], rows[1] = 127, -127
    if draw.chance(0.2):
        rows[-1] = 0
    factor = draw.pick(2, 40) if draw.chance(0.2) else 1
    return weights // factor * factor


def _bias(draw: _Draw, scales: Sequence[float], wide: bool) -> tuple[str, str] | None:
    """The elements of a bias and their type; None for no bias."""
    way = draw.pick(0, 6)
    if way == 0:
        return None
    if way == 1:
        steps = draw.random.uniform(-(2.0 ** draw.pick(0, 22)), 2.0**20, CHANNELS)
        real = [number(step * scale) for step, scale in zip(steps, scales, strict=True)]
        return ", ".join(real), "f32"
    reach = (0, 300, 30000, 1 << 24, 1 << 30)[draw.pick(0, 4)]
    steps = draw.random.integers(-reach, reach, CHANNELS, endpoint=True)
    if way == 2:
        ends = (1 << 31) - 1, -(1 << 31)
        steps = np.array([ends[0], ends[1], ends[0] - 200, ends[1] + 200])
        if wide and draw.chance(0.3):
            steps = steps << 20
    return ", ".join(map(str, steps.tolist())), "i64" if wide else "i32"


def _contraction(
    draw: _Draw,
    operation: str,
    shapes: tuple[str, Sequence[int], str],
    axis: int,
    rows: Callable[[Array], Array],
    windows: Windows,
    length: int,
    *,
    bits: int = 8,
    attributes: Mapping[str, object] | None = None,
) -> tuple[str, Sequence[Array]]:
    """A layer with weights; `shapes` are of its input, its weights and its result,
    each input and result for so many rows (N)."""
    stored = draw.stored(length, bits=bits)
    output = draw.result(stored, draw.scale())
    if draw.chance(0.2):
        output = draw.result(stored, 6.0 / (draw.pick(1, 127) + 0.5))
    is_per_axis = draw.chance(0.5)
    count = CHANNELS if is_per_axis else 1
    scales = [max(draw.ratio() * output.scale / stored.scale, 1e-30)] * count
    if is_per_axis:
        scales = [
            max(draw.ratio() * output.scale / stored.scale, 1e-30) for _ in scales
        ]
    unsigned = bits == 8 and draw.chance(0.25)
    points = [0] * count
    if unsigned or (bits == 8 and draw.chance(0.1)):
        points = [draw.pick(0, 255) - (0 if unsigned else 128) for _ in points]
    low, high = (0, 255) if unsigned else (-128, 127)
    kind = Stored(not unsigned, 8, low, high, 0, 0)
    written = [f"{number(s)}:{p}" for s, p in zip(scales, points, strict=True)]
    types = {
        "x": stored.name,
        "w": kind.with_scales(f"{{{','.join(written)}}}", f":{axis}")
        if is_per_axis
        else kind.with_scales(written[0]),
        "y": output.name,
    }
    at = [1] * len(shapes[1])
    at[axis] = count
    weights = _weights(draw, shapes[1], axis) + np.array(points).reshape(at)
    stored_weights = np.clip(weights, low, high).astype(
        np.uint8 if unsigned else np.int8
    )
    flat = np.moveaxis(stored_weights, axis, 0).reshape(CHANNELS, -1)
    of_channels = np.broadcast_to(np.array(points), CHANNELS)[:, np.newaxis]
    digits = stored_weights.tobytes().hex().upper()
    shape = "x".join(map(str, shapes[1]))
    tuples = rows(stored.tuples(length))
    given, made = (
        name.replace("N", str(len(tuples))) for name in (shapes[0], shapes[2])
    )
    real = [float(np.float32(stored.scale * s)) for s in scales] * (CHANNELS // count)
    bias = _bias(draw, real, bits == 16)
    steps = (
        None if bias is not None and bias[1] == "f32" else np.zeros(CHANNELS, np.int64)
    )
    if bias is not None and steps is not None:
        steps = np.array([int(one) for one in bias[0].split(", ")])
    draw.products = Products(stored, windows, flat.astype(np.int64), of_channels, steps)
    lines = [
        f'%w = qnn.constant dense<"0x{digits}"> : tensor<{shape}xi8> '
        f"-> tensor<{shape}x!w>"
    ]
    operands, operand_types = "%x, %w", f"tensor<{given}x!x>, tensor<{shape}x!w>"
    if bias is not None:
        type = f"tensor<{CHANNELS}x{bias[1]}>"
        lines.append(f"%b = arith.constant dense<[{bias[0]}]> : {type}")
        operands, operand_types = f"{operands}, %b", f"{operand_types}, {type}"
    more = _attributes(**(attributes or {}), activation=_quoted(draw.activation()))
    lines.append(
        f"%y = qnn.{operation} {operands}{more} : ({operand_types}) "
        f"-> tensor<{made}x!y>"
    )
    return _module(types, {"x": f"{given}x!x"}, f"{made}x!y", lines), [tuples]


def _as_they_are(rows: Array) -> Array:
    return rows


def _whole_row(rows: Array) -> Array:
    return rows[:, np.newaxis, np.newaxis]


def _two_of(image: Array, pad: int) -> Array:
    """Windows of two neighbours in a row of pixels."""
    row = np.pad(image[:, 0, :, 0], ((0, 0), (pad, pad)))
    return np.stack([row[:, :-1], row[:, 1:]], axis=-1)[:, :, np.newaxis]


_PLAIN = {"stride": [1, 1], "dilation": [1, 1]}


def _linear(draw: _Draw) -> tuple[str, Sequence[Array]]:
    length = draw.pick(1, 3)
    shapes = f"Nx{length}", (CHANNELS, length), f"Nx{CHANNELS}"
    rows = _as_they_are
    return _contraction(draw, "linear", shapes, 0, rows, _whole_row, length)


def _words(draw: _Draw) -> tuple[str, Sequence[Array]]:
    length = draw.pick(1, 2)
    shapes = f"Nx{length}", (CHANNELS, length), f"Nx{CHANNELS}"
    rows = _as_they_are
    return _contraction(draw, "linear", shapes, 0, rows, _whole_row, length, bits=16)


def _convolution(draw: _Draw) -> tuple[str, Sequence[Array]]:
    """With padding or without; maybe one that a transposed one became."""
    length, pad = draw.pick(2, 3), draw.pick(0, 1)
    wide = length + 2 * pad - 1
    shapes = f"Nx1x{length}x1", (CHANNELS, 1, 2, 1), f"Nx1x{wide}x{CHANNELS}"
    return _contraction(
        draw,
        "conv2d",
        shapes,
        0,
        lambda rows: rows.reshape(len(rows), 1, length, 1),
        lambda image: _two_of(image, pad),
        length,
        bits=draw.bits(),
        attributes={
            **_PLAIN,
            "pad": [0, 0, pad, pad],
            "transposed": True if draw.chance(0.3) else None,
        },
    )


def _grouped(draw: _Draw) -> tuple[str, Sequence[Array]]:
    shapes = "Nx1x1x4", (CHANNELS, 1, 1, 2), f"Nx1x1x{CHANNELS}"
    return _contraction(
        draw,
        "conv2d",
        shapes,
        0,
        lambda rows: np.hstack([rows, rows[:, ::-1]]).reshape(len(rows), 1, 1, 4),
        lambda image: np.repeat(image.reshape(len(image), 1, 2, 2), 2, axis=2),
        2,
        bits=draw.bits(),
        attributes={**_PLAIN, "pad": [0, 0, 0, 0], "groups": 2},
    )


def _depthwise(draw: _Draw) -> tuple[str, Sequence[Array]]:
    length, pad = draw.pick(2, 3), draw.pick(0, 1)
    wide = length + 2 * pad - 1
    shapes = f"Nx1x{length}x1", (1, 1, 2, CHANNELS), f"Nx1x{wide}x{CHANNELS}"
    return _contraction(
        draw,
        "depthwise_conv2d",
        shapes,
        3,
        lambda rows: rows.reshape(len(rows), 1, length, 1),
        lambda image: _two_of(image, pad),
        length,
        bits=draw.bits(),
        attributes={**_PLAIN, "pad": [0, 0, pad, pad]},
    )


def _of_one(
    operation: str, stored: Stored, given: Array, made: str, output: Stored, more: str
) -> tuple[str, Sequence[Array]]:
    """A layer of one tensor without weights."""
    shape = "x".join(map(str, given.shape))
    line = f"%y = qnn.{operation} %x{more} : (tensor<{shape}x!x>) -> tensor<{made}x!y>"
    types = {"x": stored.name, "y": output.name}
    text = _module(types, {"x": f"{shape}x!x"}, f"{made}x!y", [line])
    return text, [given]


def _same(stored: Stored) -> Stored:
    """The type of a result that has its input's scale, zero point and sign."""
    return stored


def _padded_pool(draw: _Draw) -> tuple[str, Sequence[Array]]:
    length = draw.pick(2, 3)
    stored = draw.stored(length, bits=draw.bits())
    given = stored.tuples(length)
    given = given.reshape(len(given), 1, length, 1)
    more = _attributes(
        kernel=[1, 2],
        stride=[1, 1],
        pad=[0, 0, 1, 1],
        count_include_pad=True if draw.chance(0.5) else None,
        activation=_quoted(draw.activation()),
    )
    made = f"{len(given)}x1x{length + 1}x1"
    return _of_one("avg_pool2d", stored, given, made, _same(stored), more)


def _sums(stored: Stored, count: int) -> Array:
    """Rows of so many stored integers that have each sum, [sum, count]."""
    return _with_sums(stored, count, range(count * stored.low, count * stored.high + 1))


def _with_sums(stored: Stored, count: int, sums: Sequence[int]) -> Array:
    """Rows of so many stored integers that have given sums, or the nearest there are,
    [sum, count]."""
    ends = count * stored.low, count * stored.high
    each, more = np.divmod(np.clip(np.array(sums), *ends), count)
    rows = each[:, np.newaxis] + (np.arange(count) < more[:, np.newaxis])
    return rows.astype(stored.dtype)


_WORD = Stored(True, 16, -(1 << 15), (1 << 15) - 1, 1 / (1 << 15), 0)
"""The type of results of 16 bits that lie in -1 ... 1."""

_MOST = 64
"""Elements of the largest window of which every sum is looked at."""


def _pool(draw: _Draw) -> tuple[str, Sequence[Array]]:
    count = draw.pick(1, _MOST)
    stored = draw.stored(2, bits=draw.bits())
    given = _sums(stored, count).reshape(-1, 1, count, 1)
    more = _attributes(
        kernel=[1, count],
        stride=[1, 1],
        pad=[0, 0, 0, 0],
        activation=_quoted(draw.activation()),
    )
    made = f"{len(given)}x1x1x1"
    return _of_one("avg_pool2d", stored, given, made, _same(stored), more)


def _reduction(draw: _Draw) -> tuple[str, Sequence[Array]]:
    count = draw.pick(1, _MOST)
    stored = draw.stored(2, bits=draw.bits())
    return _reduced(draw, stored, _sums(stored, count))


def _long_reduction(draw: _Draw) -> tuple[str, Sequence[Array]]:
    """So many integers that sums of 32 bits wrap: those next to where they do, the
    ends, and some in between."""
    count = (1 << 16) + draw.pick(0, 1 << 12)
    low, high = ((-(1 << 15), (1 << 15) - 1), (-(1 << 15), 99), (-99, (1 << 15) - 1))[
        draw.pick(0, 2)
    ]
    stored = Stored(True, 16, low, high, draw.scale(), 0)
    draw.ends = count * low, count * high
    wraps = (-(1 << 31) - 1, -(1 << 31), (1 << 31) - 1, 1 << 31)
    drawn = draw.random.integers(*draw.ends, 2, endpoint=True)
    return _reduced(
        draw, stored, _with_sums(stored, count, [*draw.ends, *wraps, *drawn])
    )


def _reduced(draw: _Draw, stored: Stored, rows: Array) -> tuple[str, Sequence[Array]]:
    """The mean of each row, or its sum."""
    given = rows.reshape(len(rows), 1, -1, 1)
    operation = "mean" if draw.chance(0.7) else "sum"
    scale = stored.scale if draw.chance(0.4) else stored.scale / draw.ratio()
    output = draw.result(stored, scale, same_sign=draw.chance(0.7))
    made = f"{len(given)}x1"
    return _of_one(operation, stored, given, made, output, " {axes = [1, 2]}")


def _adaptive(draw: _Draw) -> tuple[str, Sequence[Array]]:
    stored = draw.stored(3, bits=draw.bits())
    given = stored.tuples(3)
    given = given.reshape(len(given), 1, 3, 1)
    made = f"{len(given)}x1x2x1"
    return _of_one("adaptive_avg_pool2d", stored, given, made, _same(stored), "")


def _softmax(draw: _Draw) -> tuple[str, Sequence[Array]]:
    length = draw.pick(1, 3)
    stored = draw.stored(length, bits=draw.bits())
    given = stored.tuples(length)
    low = -128 if stored.signed else 0
    output = Stored(stored.signed, 8, low, low + 255, 1 / 256, low)
    if stored.bits == 16:
        output = _WORD
    return _of_one("softmax", stored, given, f"{len(given)}x{length}", output, "")


def _normalization(draw: _Draw) -> tuple[str, Sequence[Array]]:
    length = draw.pick(1, 3)
    stored = draw.stored(length)
    given = stored.tuples(length)
    low = -128 if stored.signed else 0
    output = Stored(stored.signed, 8, low, low + 255, 1 / 128, low + 128)
    return _of_one("l2_normalize", stored, given, f"{len(given)}x{length}", output, "")


def _unary(draw: _Draw) -> tuple[str, Sequence[Array]]:
    names = (
        "requantize",
        "relu",
        "relu6",
        "hard_swish",
        "leaky_relu",
        "sigmoid",
        "tanh",
    )
    operation = names[draw.pick(0, len(names) - 1)]
    stored = draw.stored(1, bits=draw.bits())
    given = stored.tuples(1)[:, 0]
    output = draw.result(stored, stored.scale / draw.ratio(), same_sign=True)
    if operation in ("sigmoid", "tanh"):
        zero = 0 if operation == "tanh" else -128
        scale = 1 / 128 if operation == "tanh" else 1 / 256
        low = -128 if stored.signed else 0
        point = zero if stored.signed else zero + 128
        output = Stored(stored.signed, 8, low, low + 255, scale, point)
        if stored.bits == 16:
            output = _WORD
    more = _attributes(alpha="0.1 : f32") if operation == "leaky_relu" else ""
    return _of_one(operation, stored, given, str(len(given)), output, more)


def _of_two(draw: _Draw) -> tuple[str, Sequence[Array]]:
    """Two tensors, with every pair that they can have at a place."""
    operation = ("add", "sub", "mul", "concat", "compare")[draw.pick(0, 4)]
    bits = draw.bits()
    one = draw.stored(2, bits=bits)
    other = draw.stored(2, bits=bits)
    while other.signed != one.signed:
        other = draw.stored(2, bits=bits)
    pairs = np.array(list(product(one.values, other.values)), one.dtype)
    count = len(pairs)
    scale = max(one.scale, other.scale) * (1, 2, 4, 1.7)[draw.pick(0, 3)]
    if operation == "mul":
        scale = one.scale * other.scale / max(draw.ratio(), 1e-4)
    output = draw.result(one, scale, same_sign=True)
    types = {"x": one.name, "z": other.name, "y": output.name}
    made, more = f"{count}x!y", ""
    given, inputs = f"{count}", [pairs[:, 0], pairs[:, 1]]
    match operation:
        case "concat":
            given, made, more = f"{count}x1", f"{count}x2x!y", " {axis = 1}"
            inputs = [pairs[:, :1], pairs[:, 1:]]
        case "compare":
            predicates = ("lt", "le", "eq", "ne", "ge", "gt")
            more = _attributes(predicate=_quoted(predicates[draw.pick(0, 5)]))
            made = f"{count}xi1"
            del types["y"]
        case _:
            more = _attributes(activation=_quoted(draw.activation()))
    line = (
        f"%y = qnn.{operation} %x, %z{more} : (tensor<{given}x!x>, tensor<{given}x!z>) "
        f"-> tensor<{made}>"
    )
    arguments = {"x": f"{given}x!x", "z": f"{given}x!z"}
    return _module(types, arguments, made, [line]), [one.copy() for one in inputs]


def _matmul(draw: _Draw) -> tuple[str, Sequence[Array]]:
    bits = draw.bits()
    one = draw.stored(4, bits=bits)
    other = draw.stored(4, bits=bits)
    while other.signed != one.signed:
        other = draw.stored(4, bits=bits)
    rows = np.array(list(product(one.values, one.values, other.values, other.values)))
    count = len(rows)
    output = draw.result(one, one.scale * other.scale / draw.ratio(), same_sign=True)
    more = _attributes(activation=_quoted(draw.activation()))
    line = (
        f"%y = qnn.matmul %x, %z{more} : (tensor<{count}x1x2x!x>, "
        f"tensor<{count}x2x1x!z>) -> tensor<{count}x1x1x!y>"
    )
    types = {"x": one.name, "z": other.name, "y": output.name}
    arguments = {"x": f"{count}x1x2x!x", "z": f"{count}x2x1x!z"}
    inputs = [
        rows[:, :2].reshape(count, 1, 2).astype(one.dtype),
        rows[:, 2:].reshape(count, 2, 1).astype(one.dtype),
    ]
    return _module(types, arguments, f"{count}x1x1x!y", [line]), inputs


_KINDS: Mapping[str, Callable[[_Draw], tuple[str, Sequence[Array]]]] = {
    "linear": _linear,
    "words": _words,
    "convolution": _convolution,
    "grouped": _grouped,
    "depthwise": _depthwise,
    "matmul": _matmul,
    "pool": _pool,
    "padded pool": _padded_pool,
    "reduction": _reduction,
    "long reduction": _long_reduction,
    "adaptive": _adaptive,
    "softmax": _softmax,
    "normalization": _normalization,
    "unary": _unary,
    "of two": _of_two,
}
KINDS = tuple(_KINDS)
