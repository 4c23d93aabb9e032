"""Single operators with each of their attributes and shapes changed, between
QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from qlower.interp.values import Array

from .onnx_builder import MICROSOFT
from .onnx_singles import IMAGE, Constant, F, Single

_RANDOM = np.random.default_rng(2)

ROW, VOLUME = (2, 4, 12), (1, 3, 5, 6, 4)


def _reals(*shape: int) -> Array:
    return _RANDOM.normal(size=shape).astype(F)


def _places(*values: int) -> Array:
    return np.array(values, np.int64)


def _of(
    operator: str,
    shapes: Sequence[Sequence[int]],
    *rows: Mapping[str, Any],
    constants: Sequence[Constant] = (),
    opset: int = 17,
    **more: Any,
) -> list[Single]:
    """The operator with the attributes of each row."""
    return [
        Single(operator, _named(shapes, row), shapes, constants, row, opset, **more)
        for row in rows
    ]


def _named(shapes: Sequence[Sequence[int]], row: Mapping[str, Any]) -> str:
    sizes = ["x".join(map(str, shape)) for shape in shapes]
    return " ".join([*sizes, *(f"{name}={value}" for name, value in row.items())])


def _windows() -> list[Single]:
    size = {"kernel_shape": [3, 2]}
    row = {"kernel_shape": [3], "strides": [2]}
    rows = [
        {**size, "auto_pad": "SAME_UPPER", "strides": [2, 1]},
        {**size, "auto_pad": "SAME_LOWER", "strides": [1, 2]},
        {**size, "strides": [2, 1], "ceil_mode": 1},
        {**size, "pads": [1, 0, 2, 1]},
    ]
    dilated = {**size, "dilations": [2, 3]}
    whole = {"kernel_shape": [6, 6]}
    weights = {name: _reals(6, *shape) for name, shape in _WEIGHTS.items()}
    return [
        *_of("MaxPool", [IMAGE], *rows),
        *_of("MaxPool", [ROW], row),
        *_of("AveragePool", [IMAGE], *rows, whole),
        *_of("AveragePool", [ROW], row),
        *_of("AveragePool", [IMAGE], *rows, whole, dilated, opset=19),
        *_of("AveragePool", [(1, 32, 6, 6)], size, whole),
        *_of("LpPool", [IMAGE], *rows[:2], {**size, "p": 1}),
        *_of("GlobalLpPool", [IMAGE], {"p": 1}),
        *_of("GlobalAveragePool", [ROW], {}),
        *_of("GlobalMaxPool", [VOLUME], {}),
        *_of("Conv", [IMAGE], *rows[:2], dilated, constants=[weights["image"]]),
        *_of("Conv", [IMAGE], {"group": 2}, constants=[weights["half"], _reals(6)]),
        *_of("Conv", [IMAGE], {}, constants=[weights["pixel"]]),
        *_of(
            "Conv", [ROW], {"strides": [2], "pads": [1, 2]}, constants=[_reals(5, 4, 3)]
        ),
    ]


_WEIGHTS = {"image": (4, 3, 2), "half": (2, 3, 3), "pixel": (4, 1, 1)}


def _transposed() -> list[Single]:
    name = "ConvTranspose"
    dilated = {"dilations": [2, 3], "strides": [2, 1], "output_padding": [1, 0]}
    return [
        *_of(name, [(2, 150, 1, 1)], {}, constants=[_reals(150, 5, 2, 2)]),
        *_of(
            name,
            [(1, 130, 3, 3)],
            {"strides": [2, 2]},
            constants=[_reals(130, 3, 2, 2)],
        ),
        *_of(name, [(1, 130, 3, 3)], {}, constants=[_reals(130, 1, 1, 1)]),
        *_of(name, [(1, 3, 5, 4)], dilated, constants=[_reals(3, 2, 2, 3), _reals(2)]),
        *_of(
            name, [ROW], {"strides": [3], "pads": [2, 1]}, constants=[_reals(4, 3, 5)]
        ),
        *_of(
            name,
            [(1, 2, 3, 4, 2)],
            {"strides": [2, 1, 2]},
            constants=[_reals(2, 3, 2, 2, 3)],
        ),
    ]


def _sampled() -> list[Single]:
    grid = np.clip(_RANDOM.normal(size=(2, 5, 4, 2)), -1.3, 1.3).astype(F)
    grids = [
        {"padding_mode": padding, "align_corners": corners, "mode": mode}
        for padding, corners, mode in product(
            ("zeros", "border", "reflection"), (0, 1), ("linear", "nearest")
        )
    ]
    modes = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    scales = np.array([1, 1, 1.5, 0.6], F)
    resized = [
        {"coordinate_transformation_mode": mode, "mode": kind}
        for mode, kind in product(modes, ("linear", "cubic"))
    ]
    nearest = [
        {"coordinate_transformation_mode": mode, "nearest_mode": rounding}
        for mode, rounding in product(
            modes, ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
        )
    ]
    cubic = {"mode": "cubic", "cubic_coeff_a": -0.5}
    return [
        *_of("GridSample", [IMAGE], *grids, constants=[grid], opset=20),
        *_of(
            *("Resize", [IMAGE], *resized, *nearest, cubic),
            constants=[None, scales],
        ),
    ]


def _moved() -> list[Single]:
    one = np.int64(1)
    columns = [_places(1), _places(6), _places(3), _places(2)]
    return [
        *_of(
            "CumSum",
            [IMAGE],
            {"exclusive": 1},
            {"exclusive": 1, "reverse": 1},
            constants=[one],
        ),
        *_of("Flatten", [IMAGE], {"axis": 0}, {"axis": 2}, {"axis": -1}),
        *_of("Squeeze", [(2, 1, 6, 1)], {}),
        *_of("Transpose", [IMAGE], {}, {"perm": [3, 1, 0, 2]}),
        *_of(
            "Split", [IMAGE], {"axis": 1}, constants=[_places(1, 3)], types=["f4", "f4"]
        ),
        *_of("Slice", [IMAGE], {}, constants=columns),
        *_of("Gather", [IMAGE], {"axis": 2}, constants=[_places(-1, 0)]),
        *_of(
            "Gather",
            [IMAGE],
            {"axis": -1},
            constants=[_places(1, 0, 5, 2).reshape(2, 2)],
        ),
        *_of("Gather", [IMAGE], {"axis": 1}, constants=[one]),
        *_of(
            "GatherElements",
            [(3, 4)],
            {"axis": 1},
            constants=[_places(3, 0, 1, -1, 2, 2).reshape(3, 2)],
        ),
        *_of(
            "ScatterElements",
            [(3, 4)],
            {"axis": 1},
            constants=[_places(3, 0, 1, -1, 2, 2).reshape(3, 2), _reals(3, 2)],
        ),
        *_of("Trilu", [IMAGE], {}, {"upper": 0}, constants=[np.int64(-2)]),
        *_of(
            "ReverseSequence",
            [(4, 3, 2)],
            {"time_axis": 1, "batch_axis": 0},
            constants=[_places(1, 2, 3, 2)],
        ),
        *_of(
            "Pad",
            [IMAGE],
            {},
            constants=[_places(1, 2, 0, 1), None, _places(1, -1)],
            opset=18,
        ),
        *_of("Concat", [IMAGE, IMAGE], {"axis": 0}, {"axis": -1}),
        *_of("Expand", [(4, 1, 6)], {}, constants=[_places(2, 1, 3, 1)]),
        *_of(
            "TopK",
            [IMAGE],
            {"axis": 1},
            {"axis": 2, "largest": 0},
            constants=[_places(2)],
            types=["f4", "i8"],
        ),
        *_of("ArgMax", [IMAGE], {"axis": 0}, {"axis": -1, "keepdims": 0}, types=["i8"]),
        *_of("ArgMin", [IMAGE], {"axis": 2}, {"axis": 3, "keepdims": 0}, types=["i8"]),
        *_of("Hardmax", [IMAGE], {}, {"axis": 2}),
    ]


def _rows() -> list[Single]:
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
    dropped = {"axes": [1], "keepdims": 0}
    some = ({"axes": [0]}, {"axes": [2, 3], "keepdims": 0}, {"keepdims": 0})
    vector = (_reals(4), _reals(4), _reals(4), abs(_RANDOM.normal(size=4)).astype(F))
    return [
        *(one for kind in kinds for one in _of(f"Reduce{kind}", [IMAGE], dropped)),
        *_of("ReduceMean", [IMAGE], *some),
        *_of("ReduceMax", [IMAGE], *some),
        *_of("ReduceSum", [IMAGE], {"keepdims": 0}, constants=[_places(2, -1)]),
        *_of("Softmax", [IMAGE], {"axis": 2}, {"axis": 0}, {"axis": 1}, opset=11),
        *_of("LogSoftmax", [IMAGE], {"axis": 1}),
        *_of(
            "LayerNormalization",
            [(2, 3, 4, 6)],
            {"axis": 2, "epsilon": 0.01},
            constants=[_reals(4, 6), _reals(4, 6)],
        ),
        *_of("BatchNormalization", [(3, 4)], {"epsilon": 0.1}, constants=vector),
        *_of("BatchNormalization", [ROW], {}, constants=vector),
        *_of("InstanceNormalization", [ROW], {"epsilon": 0.1}, constants=vector[:2]),
        *_of("LpNormalization", [IMAGE], {"axis": 0, "p": 2}, {"axis": 2, "p": 1}),
        *_of("MeanVarianceNormalization", [IMAGE], {"axes": [1]}, {"axes": [2, 3]}),
        *_of("LRN", [IMAGE], {"size": 5, "bias": 2.0}, {"size": 3, "beta": 1.0}),
    ]


def _products() -> list[Single]:
    equations = {
        "ij,jk->ik": [(2, 3), (3, 4)],
        "ij,kj->ki": [(2, 3), (4, 3)],
        "bi,bj->bij": [(2, 3), (2, 4)],
        "bhid,bhjd->bhij": [(1, 3, 5, 8), (1, 3, 7, 8)],
        "abc,cba->ab": [(3, 4, 5), (5, 4, 3)],
    }
    gemm = [{"transB": 1, "beta": 0.5}, {"alpha": 2.0}]
    fused = [{"transA": 1}, {"transB": 1}, {"alpha": 0.25}]
    return [
        *(
            one
            for equation, shapes in equations.items()
            for one in _of("Einsum", shapes, {"equation": equation})
        ),
        *_of("Gemm", [(5, 5)], *gemm, constants=[_reals(5, 5), _reals(5)]),
        *_of("Gemm", [(5, 5), (5, 5), (5, 1)], {}, {"alpha": 0.5}),
        *_of("FusedMatMul", [(2, 5, 5), (2, 5, 5)], *fused, domain=MICROSOFT),
    ]


def _functions() -> list[Single]:
    given: Mapping[str, Mapping[str, float]] = {
        "Celu": {"alpha": 0.5},
        "Elu": {"alpha": 0.5},
        "Selu": {"alpha": 1.5, "gamma": 2.0},
        "HardSigmoid": {"alpha": 0.3, "beta": 0.25},
        "LeakyRelu": {"alpha": -0.25},
        "ThresholdedRelu": {"alpha": 0.25},
        "Shrink": {"lambd": 0.25, "bias": 0.125},
        "QuickGelu": {"alpha": 0.5},
    }
    return [
        one
        for kind, row in given.items()
        for one in _of(
            *(kind, [IMAGE], row), domain=MICROSOFT if kind == "QuickGelu" else ""
        )
    ]


def _steps() -> list[Single]:
    """Recurrent layers of 3 steps, 2 rows, 5 inputs and 4 units."""
    found: list[Single] = []
    for kind, gates in (("LSTM", 4), ("GRU", 3)):
        for direction in ("forward", "reverse", "bidirectional"):
            count = 2 if direction == "bidirectional" else 1
            weights = [_reals(count, gates * 4, 5), _reals(count, gates * 4, 4)]
            row = {"direction": direction, "hidden_size": 4}
            rows = [row, {**row, "linear_before_reset": 1}] if kind == "GRU" else [row]
            bias = _reals(count, 2 * gates * 4)
            found += _of(kind, [(3, 2, 5)], *rows, constants=[*weights, bias])
    return found


VARIANTS = [
    *_windows(),
    *_transposed(),
    *_sampled(),
    *_moved(),
    *_rows(),
    *_products(),
    *_functions(),
    *_steps(),
]
