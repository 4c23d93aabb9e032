"""Texts in TPU-MLIR's `tpu` dialect, and what they compute by numpy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from qlower.interp.values import Array

HEAD = (
    'module.asymmetric = false, module.chip = "bm1684x", module.mode = "INT8",'
    ' module.state = "TPU_LOWERED", module.weight_file = "model_w.npz"'
)
STEPS = {
    "Add": "relu_limit = -1.0 : f64",
    "Cast": "round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true",
    "Concat": "do_relu = false, relu_limit = -1.0 : f64",
    "Conv2D": "kernel_zp = 0 : i64, quant_mode = #tpu<rq_mode MultiplierShift>,"
    " round_mode = #tpu<round_mode HalfUp>, relu_limit = -1.0 : f64,"
    " weight_is_coeff = 1 : i64, coeff_merged = false, do_winograd = false,"
    " use_3ic_optimize = 0 : i64",
    "MatMul": 'quant_mode = #tpu<rq_mode MultiplierShift>, dq_type = "NONE",'
    " round_mode = #tpu<round_mode HalfAwayFromZero>, fuse_rq = false,"
    " relu_limit = -1.0 : f64, input_zp = 0 : i64, right_zp = 0 : i64,"
    " q_group_size = 0 : i64",
    "MulShift": "",
    "Pool2D": "is_adaptive = false, pad_value = 0 : i64, relu_limit = -1.0 : f64,"
    " do_relu = false, first_round_mode = #tpu<round_mode HalfAwayFromZero>,"
    " round_mode = #tpu<round_mode HalfAwayFromZero>",
    "Relu": "relu_limit = -1.0 : f64",
    "Reshape": "",
}


def half_up(x: Array, multiplier: object, places: object) -> Array:
    """floor(x M 2^-n + 1/2), of Python's integers."""
    m, n = (np.asarray(one).astype(object) for one in (multiplier, places))
    return (2 * x.astype(object) * m + 2**n) // 2 ** (n + 1)


@dataclass
class TpuFile:
    """A text under construction, and the codes of its tensors for the input `x`."""

    x: Array
    lines: list[str] = field(default_factory=list[str])
    types: dict[str, str] = field(default_factory=dict[str, str])
    weights: dict[str, Array] = field(default_factory=dict[str, Array])
    codes: dict[str, Array] = field(default_factory=dict[str, Array])
    scales: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        self.types["none"] = "none"
        self.types["x"] = f"tensor<{'x'.join(map(str, self.x.shape))}xf32>"
        self.lines.append('%none = "top.None"() : () -> none loc(unknown)')
        self._line("top.Input", ["arg"], "x", "", self.types["x"])

    def _line(
        self, kind: str, inputs: Sequence[str], name: str, text: str, type: str
    ) -> None:
        given = ", ".join(self.types.get(one, self.types["x"]) for one in inputs)
        operands = ", ".join(f"%{one}" for one in inputs)
        self.lines.append(
            f'%{name} = "{kind}"({operands}) {{{text}}} : ({given}) -> {type}'
            f' loc("{name}")'
        )
        self.types[name] = type

    def weight(self, name: str, array: Array, shape: Sequence[int]) -> str:
        self.weights[name] = array.reshape(-1)
        kind = {"int8": "si8", "int32": "i32"}[array.dtype.name]
        sizes = "x".join(map(str, shape))
        self._line("top.Weight", [], name, "", f"tensor<{sizes}x{kind}>")
        return name

    def add(
        self,
        kind: str,
        inputs: Sequence[str],
        name: str,
        codes: Array,
        scale: float,
        **attributes: object,
    ) -> str:
        """An operation with these codes, saturated: of u8 behind a rectifier."""
        is_active = attributes.get("do_relu") or kind == "Relu"
        word, low, high = ("u8", 0, 255) if is_active else ("i8", -128, 127)
        if kind in ("Reshape", "Concat", "Pool2D"):
            word = "u8" if "u8" in self.types[inputs[0]] else "i8"
            low, high = (0, 255) if word == "u8" else (-128, 127)
        self.codes[name] = np.clip(codes, low, high).astype(np.int64)
        self.scales[name] = scale
        sizes = "x".join(map(str, codes.shape))
        type = f"tensor<{sizes}x!quant.uniform<{word}:f32, {scale!r}>>"
        self._line(f"tpu.{kind}", inputs, name, _text(kind, attributes), type)
        return name

    def cast(self, name: str, scale: float) -> str:
        steps = self.x * np.float32(1 / scale)
        codes = np.trunc(steps.astype(np.float64) + np.copysign(0.5, steps))
        return self.add("Cast", ["x"], name, codes, scale)

    def conv(
        self,
        given: str,
        name: str,
        weights: Array,
        bias: Array | None,
        numbers: tuple[Sequence[int], Sequence[int]],
        *,
        pad: int = 0,
        stride: int = 1,
        relu: bool = False,
    ) -> str:
        x, (count, depth, *kernel) = self.codes[given], weights.shape
        groups = x.shape[1] // depth
        padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        taps = _windows(padded, kernel, stride)
        sums = np.concatenate(
            [
                np.einsum("nchwij,ocij->nohw", *part)
                for part in zip(
                    np.split(taps, groups, 1),
                    np.split(weights.astype(np.int64), groups),
                    strict=True,
                )
            ],
            1,
        )
        inputs = [given, self.weight(f"{name}_w", weights, weights.shape), "none"]
        if bias is not None:
            sums = sums + bias[:, None, None]
            inputs[2] = self.weight(f"{name}_b", bias, (1, count, 1, 1))
        m, n = (np.array(one).reshape(-1, 1, 1) for one in numbers)
        with_bias = {"with_bias": bias is not None, "group": groups}
        given_text = {"multiplier": numbers[0], "rshift": numbers[1], "do_relu": relu}
        window = {"kernel_shape": kernel, "pads": [pad] * 4, "strides": [stride] * 2}
        codes = half_up(sums, m, n)
        return self.add(
            *("Conv2D", inputs, name, codes, 0.25), **given_text, **window, **with_bias
        )

    def matmul(
        self,
        given: str,
        name: str,
        weights: Array,
        bias: Array,
        number: tuple[int, int],
    ) -> str:
        sums = self.codes[given] @ weights.astype(np.int64) + bias
        inputs = [given, self.weight(f"{name}_w", weights, weights.shape)]
        inputs += [self.weight(f"{name}_b", bias, (1, len(bias))), "none", "none"]
        text = {"multipliers": [number[0]], "rshifts": [number[1]], "do_relu": False}
        return self.add("MatMul", inputs, name, half_up(sums, *number), 0.25, **text)

    def total(
        self,
        given: Sequence[str],
        name: str,
        multipliers: Sequence[int],
        shifts: Sequence[int],
    ) -> str:
        """An addition with a rectifier."""
        values = (self.codes[one] for one in given)
        parts = map(half_up, values, multipliers, shifts)
        text = {"multipliers": multipliers, "rshifts": shifts, "do_relu": True}
        return self.add("Add", given, name, sum(parts, np.array(0)), 0.25, **text)

    def pool(
        self,
        given: str,
        name: str,
        size: int,
        number: tuple[int, int] | None,
        pad: int = 0,
    ) -> str:
        """The largest of windows side by side, or with a multiplier and a shift the
        mean."""
        low = 0 if number else -999
        sides = ((0, 0), (0, 0), (pad, pad), (pad, pad))
        padded = np.pad(self.codes[given], sides, constant_values=low)
        taps = _windows(padded, [size, size], size)
        codes = taps.max((4, 5))
        if number is not None:
            codes = half_up(taps.sum((4, 5)), *number)
        text: dict[str, object] = {"pool_mode": "#tpu<pool_mode Max>"}
        if number is not None:
            text = {"pool_mode": "#tpu<pool_mode Avg>", "multiplier": number[0]}
            text["rshift"] = number[1]
        return self.add(
            *("Pool2D", [given], name, codes, 0.25),
            kernel_shape=[size] * 2,
            pads=[pad] * 4,
            strides=[size] * 2,
            count_include_pad=pad > 0,
            **text,
        )

    def reals(self, given: str, name: str) -> Array:
        """The last cast, whose numbers are the result."""
        codes = self.codes[given]
        sizes = "x".join(map(str, codes.shape))
        self._line("tpu.Cast", [given], name, STEPS["Cast"], f"tensor<{sizes}xf32>")
        return codes.astype(np.float32) * np.float32(self.scales[given])

    def save(self, folder: Path, result: str) -> Path:
        np.savez(folder / "model_w.npz", **self.weights)
        path = folder / "model.mlir"
        path.write_text(self.text(result))
        return path

    def text(self, result: str) -> str:
        type = self.types[result]
        body = "\n".join(f"    {line}" for line in self.lines)
        return (
            f"module @m attributes {{{HEAD}}} {{\n"
            f"  func.func @main(%arg: {self.types['x']} loc(unknown)) -> {type} {{\n"
            f"{body}\n    return %{result} : {type} loc(unknown)\n"
            "  } loc(unknown)\n} loc(unknown)\n"
        )


def _windows(image: Array, kernel: Sequence[int], step: int) -> Array:
    """The windows over the last two dimensions, in two more."""
    view: Any = np.lib.stride_tricks.sliding_window_view
    return view(image, kernel, (2, 3))[:, :, ::step, ::step]


def _text(kind: str, attributes: Mapping[str, object]) -> str:
    parts = [STEPS[kind]] if STEPS[kind] else []
    for name, value in attributes.items():
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        shown = f"{value} : i64" if type(value) is int else shown
        if kind in ("MulShift", "Pool2D") and name in ("multiplier", "rshift"):
            shown = f"{value} : si32"
        if name == "axis":
            shown = f"{value} : si32"
        parts.append(f"{name} = {shown}")
    return ", ".join(parts)


def network(seed: int) -> tuple[TpuFile, Array]:
    """Every operation that is read, many of whose sums lie halfway between codes; and
    the real numbers that it gives, from `y`."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(-60, 60, (1, 3, 8, 8)) + draw.integers(0, 2, (1, 3, 8, 8)) / 2
    file = TpuFile((codes * 0.025).astype(np.float32))

    def numbers(count: int, size: int) -> tuple[list[int], list[int]]:
        """A step is at most what a sum of `size` products needs; an odd multiplier and
        a small shift give ties."""
        m = draw.choice([1, 3, 5, 1234567, 1610854143], count)
        n = np.ceil(np.log2(m * 4.0 * size)).astype(int)
        return m.tolist(), n.tolist()

    def drawn(*shape: int) -> Array:
        return draw.integers(-9, 10, shape).astype(np.int8)

    def bias(count: int) -> Array:
        return draw.integers(-200, 200, count).astype(np.int32)

    file.cast("q", 0.025)
    file.conv("q", "c1", drawn(8, 3, 3, 3), bias(8), numbers(8, 9), pad=1, relu=True)
    file.conv("c1", "dw", drawn(8, 1, 3, 3), bias(8), numbers(8, 9), pad=1, stride=2)
    file.conv("c1", "c2", drawn(8, 4, 1, 1), None, numbers(1, 9), stride=2)
    file.total(["dw", "c2"], "sum", [77, 5], [6, 3])
    file.pool("c2", "largest", 2, None, pad=1)
    file.pool("sum", "mean", 2, (57, 8))
    file.pool("c2", "padded", 3, (29, 8), pad=1)
    file.add("Relu", ["c2"], "active", np.maximum(file.codes["c2"], 0), 0.25)
    scaled = half_up(file.codes["c2"], 3, 2)
    file.add("MulShift", ["c2"], "scaled", scaled, 0.25, multiplier=3, rshift=2)
    joined = np.concatenate([file.codes["dw"], file.codes["c2"]], 1)
    file.add("Concat", ["dw", "c2"], "both", joined, 0.25, axis=1)
    file.add("Reshape", ["q"], "rows", file.codes["q"].reshape(24, 8), 0.025)
    file.matmul("rows", "product", drawn(8, 16), bias(16), (1, 3))
    flat = file.codes["mean"].reshape(1, -1)
    file.add("Reshape", ["mean"], "flat", flat, 0.25)
    depth = flat.shape[1]
    file.matmul("flat", "out", drawn(depth, 10), bias(10), (3, 7))
    return file, file.reals("out", "y")
