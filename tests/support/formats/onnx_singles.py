"""Single operators between QuantizeLinear and DequantizeLinear, in their variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from qlower.interp.values import Array
from support.formats.onnx_builder import MICROSOFT, OnnxBuilder

Constant: TypeAlias = Array | np.generic | None

F = np.float32
IMAGE = (2, 4, 6, 6)


@dataclass(frozen=True)
class Single:
    """An operator of quantized inputs, behind them its constants.

    A constant of int8 is dequantized, others are given as they are, and None is left
    out. Real results are quantized.
    """

    operator: str
    variant: str = ""
    shapes: Sequence[Sequence[int]] = (IMAGE,)
    constants: Sequence[Constant] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    opset: int = 17
    domain: str = ""
    types: Sequence[str] = ("f4",)
    """Types of the results."""
    spread: float = 0.05
    """The scale of what is quantized."""

    def build(self, type: str) -> OnnxBuilder:
        """The model of codes of this type, from x0, x1, ... to y0, y1, ..."""
        build = OnnxBuilder(self.opset)
        zero = 120 if type == "u1" else -3
        operands = [
            build.pair(build.input(f"x{at}", shape), self.spread, zero, type)
            for at, shape in enumerate(self.shapes)
        ]
        operands += [_constant(build, value) for value in self.constants]
        names = [f"r{at}" for at in range(len(self.types))]
        build.node(self.operator, operands, names, self.domain, **dict(self.attributes))
        for at, (name, element) in enumerate(zip(names, self.types, strict=True)):
            if element == "f4":
                build.quantize(name, 0.04, zero, type, f"y{at}")
                build.output(f"y{at}", type)
            else:
                build.output(name, element)
        return build

    def feed(self, seed: int) -> dict[str, Array]:
        """Inputs that reach every code."""
        random = np.random.default_rng(seed)
        width = 80 * self.spread
        return {
            f"x{at}": random.normal(0, width, shape).astype(F)
            for at, shape in enumerate(self.shapes)
        }


def _constant(build: OnnxBuilder, value: Constant) -> str:
    if value is None:
        return ""
    name = build.constant(np.asarray(value))
    return build.dequantize(name, 0.02, 0, "i1") if value.dtype == np.int8 else name


_RANDOM = np.random.default_rng(1)


def _weights(*shape: int) -> Array:
    return _RANDOM.integers(-127, 128, shape).astype(np.int8)


def _reals(*shape: int) -> Array:
    return _RANDOM.normal(size=shape).astype(F)


def _places(*values: int) -> Array:
    return np.array(values, np.int64)


def _functions() -> list[Single]:
    plain = (
        *("Abs", "Acosh", "Asinh", "Atan", "Ceil", "Celu", "Cos", "Elu", "Erf", "Exp"),
        *("Floor", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Log", "Mish"),
        *("Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign"),
        *("Sin", "Softplus", "Softsign", "Sqrt", "Tanh", "ThresholdedRelu"),
        *("Acos", "Asin", "Atanh", "Cosh", "Sinh", "Tan"),
    )
    inverse = {"Acos", "Asin", "Atanh"}
    made = [
        Single(name, spread=0.0075 if name in inverse else 0.05, opset=18)
        for name in plain
    ]
    return [
        *made,
        *(Single(name, "odd size", [(3, 7)]) for name in ("Elu", "Softplus", "Log")),
        Single("Gelu", opset=20),
        Single("Gelu", "tanh", attributes={"approximate": "tanh"}, opset=20),
        Single("Swish", attributes={"alpha": 1.0}, opset=24),
        Single("Clip", constants=[F(-1), F(2.5)]),
        Single("PRelu", constants=[_reals(4, 1, 1)]),
        Single("Pow", "square", constants=[F(2)]),
        Single("Pow", "cube", constants=[F(3)]),
        Single("Pow", "root", constants=[F(0.5)]),
        Single("CumSum", constants=[np.int64(2)]),
        Single("CumSum", "reverse", [(3, 7)], [np.int64(1)], {"reverse": 1}),
        Single("Hardmax", attributes={"axis": 1}),
        Single("Softmax", attributes={"axis": 1}),
        Single("Softmax", "last"),
        Single("LogSoftmax"),
        Single("LogSoftmax", "channels", attributes={"axis": 1}),
    ]


def _pairs() -> list[Single]:
    kinds = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum")
    compared = ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
    return [
        *(Single(kind, "", [IMAGE, IMAGE]) for kind in kinds),
        *(Single(kind, "row", [IMAGE, (4, 1, 6)]) for kind in kinds),
        *(Single(kind, "constant", constants=[_reals(4, 1, 1)]) for kind in kinds),
        *(Single(kind, "", [IMAGE, IMAGE], types=["?"]) for kind in compared),
        Single("Mod", "", [IMAGE, IMAGE], attributes={"fmod": 1}),
        Single("Pow", "of two", [IMAGE, (4, 1, 6)]),
        Single("MatMul", "", [(2, 3, 5), (2, 5, 4)]),
        Single("MatMul", "rows", [(6, 20)], [_weights(20, 8)]),
        Single("MatMul", "any rank", [(2, 3, 5, 20)], [_weights(20, 8)]),
        Single("Gemm", "", [(6, 20)], [_weights(20, 8)]),
        Single("Gemm", "turned", [(6, 20)], [_weights(8, 20)], {"transB": 1}),
        Single("Gemm", "factor", [(6, 20)], [_weights(20, 8)], {"alpha": 0.5}),
        Single("Einsum", "", [(2, 3, 5), (2, 5, 4)], [], {"equation": "bij,bjk->bik"}),
        Single(
            "Einsum", "turned", [(2, 3, 5), (2, 4, 5)], [], {"equation": "bij,bkj->bik"}
        ),
        Single("Concat", "", [IMAGE, IMAGE], [], {"axis": 1}),
        Single("Where", "", [], [_RANDOM.random(IMAGE) < 0.5, _reals(*IMAGE), F(0.5)]),
    ]


def _windows() -> list[Single]:
    window = {"kernel_shape": [3, 3]}
    padded = {**window, "strides": [2, 2], "pads": [1, 1, 1, 1]}
    grid = np.clip(_reals(2, 5, 5, 2), -1.2, 1.2)
    vector = (_reals(4), _reals(4))
    return [
        Single("Conv", "", constants=[_weights(8, 4, 3, 3)]),
        Single("Conv", "depthwise", (IMAGE,), [_weights(4, 1, 3, 3)], {"group": 4}),
        Single("Conv", "row", [(2, 4, 12)], [_weights(8, 4, 3)]),
        Single("Conv", "volume", [(1, 3, 5, 6, 4)], [_weights(4, 3, 3, 3, 3)]),
        Single("ConvTranspose", "", (IMAGE,), [_weights(4, 5, 3, 3)]),
        Single("ConvTranspose", "strides", (IMAGE,), [_weights(4, 5, 3, 3)], padded),
        Single(
            "ConvTranspose", "grouped", (IMAGE,), [_weights(4, 3, 3, 3)], {"group": 2}
        ),
        Single("MaxPool", attributes=window),
        Single("MaxPool", "padded", attributes=padded),
        Single("MaxPool", "volume", [(1, 3, 5, 6, 4)], (), {"kernel_shape": [2, 2, 2]}),
        Single("AveragePool", attributes=window),
        Single("AveragePool", "padded", attributes=padded),
        Single(
            "AveragePool",
            "whole",
            attributes={**padded, "count_include_pad": 1},
        ),
        Single(
            "AveragePool", "volume", [(1, 3, 5, 6, 4)], (), {"kernel_shape": [2, 2, 2]}
        ),
        Single("LpPool", attributes=window),
        Single("LpPool", "1", attributes={**window, "p": 1}),
        Single("GlobalAveragePool"),
        Single("GlobalMaxPool"),
        Single("GlobalLpPool"),
        Single("BatchNormalization", constants=[*vector, _reals(4), abs(_reals(4))]),
        Single("InstanceNormalization", constants=vector),
        Single(
            "GroupNormalization",
            constants=vector,
            attributes={"num_groups": 2},
            opset=21,
        ),
        Single("LayerNormalization", constants=[_reals(6), _reals(6)]),
        Single("LayerNormalization", "no bias", constants=[_reals(6)]),
        Single("RMSNormalization", constants=[_reals(6)], opset=23),
        Single("LpNormalization", attributes={"axis": 1}),
        Single("LpNormalization", "1", attributes={"axis": -1, "p": 1}),
        Single("MeanVarianceNormalization"),
        Single("LRN", attributes={"size": 3}),
        Single("LRN", "wide", attributes={"size": 5, "alpha": 0.5, "beta": 0.5}),
        Single("GridSample", constants=[grid], opset=20),
        Single("GridSample", "nearest", (IMAGE,), [grid], {"mode": "nearest"}, 20),
        Single("GridSample", "cubic", (IMAGE,), [grid], {"mode": "cubic"}, 20),
        *_resized(),
    ]


def _resized() -> list[Single]:
    twice = [None, np.array([1, 1, 2, 2], F)]
    less = [None, None, _places(2, 4, 4, 4)]
    return [
        Single("Resize", "nearest", constants=twice),
        Single("Resize", "nearest to 4", constants=less),
        Single("Resize", "linear", (IMAGE,), twice, {"mode": "linear"}),
        Single("Resize", "linear to 4", (IMAGE,), less, {"mode": "linear"}),
        Single("Resize", "cubic", (IMAGE,), twice, {"mode": "cubic"}),
        Single("Resize", "cubic to 4", (IMAGE,), less, {"mode": "cubic"}),
        Single(
            "Resize", "smooth", (IMAGE,), less, {"mode": "linear", "antialias": 1}, 18
        ),
    ]


def _movements() -> list[Single]:
    pads = _places(0, 0, 1, 2, 0, 0, 2, 1)
    axes = _places(1)
    return [
        Single("Reshape", constants=[_places(2, -1)]),
        Single("Transpose", attributes={"perm": [0, 2, 3, 1]}),
        Single("Flatten"),
        Single("Squeeze", "", [(2, 1, 6)], [axes]),
        Single("Unsqueeze", constants=[axes]),
        Single("Expand", "", [(2, 1, 6)], [_places(2, 4, 6)]),
        Single("Tile", constants=[_places(1, 2, 1, 3)]),
        Single("Split", attributes={"axis": 1}, types=["f4", "f4"]),
        Single("Slice", constants=[_places(1), _places(5), _places(2)]),
        Single("Slice", "back", (IMAGE,), [*map(_places, (-1, -100, 3, -1))]),
        Single("Gather", constants=[_places(2, 0)], attributes={"axis": 1}),
        Single("GatherElements", constants=[_places(1, 0).reshape(2, 1, 1, 1)]),
        Single("GatherND", constants=[_places(1, 2, 0, 1).reshape(2, 2)]),
        Single(
            "ScatterND",
            constants=[_places(1, 0).reshape(2, 1), _reals(2, *IMAGE[1:])],
        ),
        Single(
            "ScatterElements",
            constants=[_places(1, 0).reshape(2, 1, 1, 1), _reals(2, 1, 1, 1)],
        ),
        Single("DepthToSpace", attributes={"blocksize": 2}),
        Single("DepthToSpace", "CRD", attributes={"blocksize": 2, "mode": "CRD"}),
        Single("SpaceToDepth", attributes={"blocksize": 2}),
        Single("Trilu", constants=[np.int64(1)]),
        Single("Trilu", "lower", attributes={"upper": 0}),
        Single("ReverseSequence", constants=[_places(2, 1, 2, 2)]),
        Single("Pad", constants=[pads]),
        Single("Pad", "0.7", constants=[pads, F(0.7)]),
        *(
            Single("Pad", mode, constants=[pads], attributes={"mode": mode}, opset=19)
            for mode in ("edge", "reflect", "wrap")
        ),
        Single("ArgMax", attributes={"axis": 1}, types=["i8"]),
        Single(
            "ArgMax", "dropped", attributes={"axis": 1, "keepdims": 0}, types=["i8"]
        ),
        Single("ArgMin", attributes={"axis": 1}, types=["i8"]),
        Single("TopK", constants=[_places(3)], types=["f4", "i8"]),
        Single(
            "TopK", "least", (IMAGE,), [_places(3)], {"largest": 0}, types=["f4", "i8"]
        ),
        Single("NonZero", "", [(4, 5)], types=["i8"]),
    ]


def _reductions() -> list[Single]:
    kinds = (
        "Mean",
        "Max",
        "Min",
        "Prod",
        "L1",
        "L2",
        "LogSum",
        "LogSumExp",
        "SumSquare",
    )
    sums = [
        Single("ReduceSum", variant, constants=[axes])
        for variant, axes in (
            ("last", _places(-1)),
            ("channels", _places(1)),
            ("image", _places(2, 3)),
        )
    ]
    return [
        *(
            Single(f"Reduce{kind}", variant, attributes={"axes": axes})
            for kind in kinds
            for variant, axes in (("last", [-1]), ("channels", [1]), ("image", [2, 3]))
        ),
        *sums,
    ]


def _microsoft() -> list[Single]:
    return [
        Single("QuickGelu", domain=MICROSOFT),
        Single("FastGelu", "", [(2, 3, 6)], [_reals(6)], domain=MICROSOFT),
        Single("BiasGelu", "", [(2, 3, 6)], [_reals(6)], domain=MICROSOFT),
        Single("Gelu", "Microsoft's", domain=MICROSOFT),
        Single(
            "SkipLayerNormalization",
            "",
            [(2, 3, 6)] * 2,
            [_reals(6), _reals(6)],
            domain=MICROSOFT,
        ),
        Single("FusedMatMul", "", [(6, 20), (20, 8)], domain=MICROSOFT),
    ]


SINGLES = [
    *_functions(),
    *_pairs(),
    *_windows(),
    *_movements(),
    *_reductions(),
    *_microsoft(),
]
"""Every operator of coverage's table in its variants."""
