"""What test vectors are made of: windows, the inputs of each, and what is said."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from verification.test_questions import operation

from qlower.dialects.types import shape_of
from qlower.explain.reach import inputs_for
from qlower.explain.targets import FEW_SUMS, Coverage, candidates
from qlower.explain.vectors import LayerVectors, Vectors

INNER = vars(import_module("qlower.explain.vectors"))
Integers = NDArray[np.int64]


def convolution(
    x: tuple[int, ...],
    w: tuple[int, ...],
    window: str,
    kind: str = "conv2d",
    groups: int = 1,
) -> Any:
    _, rows, columns, _ = x
    numbers = [int(n) for n in window.replace(",", " ").split()]
    (sy, sx), (t, b, left, r), (dy, dx) = numbers[:2], numbers[2:6], numbers[6:]
    height = (rows + t + b - dy * (w[1] - 1) - 1) // sy + 1
    width = (columns + left + r - dx * (w[2] - 1) - 1) // sx + 1
    y = x[0], height, width, w[3] if kind.startswith("d") else w[0]
    types = [f"tensor<{'x'.join(map(str, shape))}x!x>" for shape in (x, w, y)]
    attributes = (
        f"{{stride = [{sy}, {sx}], pad = [{t}, {b}, {left}, {r}], "
        f"dilation = [{dy}, {dx}]{f', groups = {groups}' if groups > 1 else ''}}}"
    )
    line = f"qnn.{kind} %a, %w {attributes} : ({types[0]}, {types[1]}) -> {types[2]}"
    return operation(f"%a: {types[0]}, %w: {types[1]}", line, types[2])


CONVOLUTIONS = {
    "plain": convolution((2, 7, 8, 3), (4, 3, 2, 3), "1 1, 0 0 0 0, 1 1"),
    "steps": convolution((1, 9, 9, 2), (2, 2, 3, 2), "2 3, 1 0 2 1, 2 1"),
    "far apart": convolution((1, 11, 6, 1), (1, 2, 2, 1), "3 1, 0 0 1 1, 3 2"),
    "of groups": convolution((1, 6, 5, 6), (4, 3, 2, 3), "1 2, 1 1 0 0, 1 1", groups=2),
    "too small": convolution((1, 2, 2, 1), (1, 3, 3, 1), "1 1, 1 1 1 1, 1 1"),
    "depthwise": convolution(
        *((1, 7, 6, 3), (1, 3, 2, 6), "2 1, 1 1 0 1, 1 2"), "depthwise_conv2d"
    ),
}


def sum_at(op: Any, name: str, image: Integers, weight: Integers, at: Any) -> int:
    """The sum of products of one element whose window lies in the image."""
    n, y, x, channel = at
    _, rows, columns, depth = weight.shape
    ys = range(y, y + (rows - 1) * op.dilation[0] + 1, op.dilation[0])
    xs = range(x, x + (columns - 1) * op.dilation[1] + 1, op.dilation[1])
    window = image[n][np.ix_(ys, xs)]
    if name == "depthwise":
        return int((window[..., channel // 2] * weight[0, :, :, channel]).sum())
    first = 3 * (channel // 2) if name == "of groups" else 0
    return int((window[..., first : first + depth] * weight[channel]).sum())


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_windows_do_not_overlap_and_have_their_sums(name: str) -> None:
    """Every window is one of the result's, in the image; as many as there is room for
    from the first on; and inputs that are written into all give each its sum."""
    op = CONVOLUTIONS[name]
    shape, kernel = shape_of(op.input), shape_of(op.weight)[1:3]
    found = list(INNER["_windows"](op))
    random = np.random.default_rng(0)
    weight = random.integers(-9, 9, shape_of(op.weight))
    extents = [op.dilation[k] * (kernel[k] - 1) + 1 for k in range(2)]
    wanted: list[list[int]] = []
    for axis in range(2):
        count = shape_of(op.result)[1 + axis]
        starts = [p * op.stride[axis] - op.pad[2 * axis] for p in range(count)]
        chosen: list[int] = []
        for start in starts:
            is_inside = start >= 0 and start + extents[axis] <= shape[1 + axis]
            if is_inside and (not chosen or start - chosen[-1] >= extents[axis]):
                chosen.append(start)
        wanted.append(chosen)
    assert found == [
        (n, y, x) for n in range(shape[0]) for y in wanted[0] for x in wanted[1]
    ]
    assert bool(found) == (name != "too small")
    for channel in range(shape_of(op.result)[3]):
        image = np.zeros(shape, np.int64)
        taps = INNER["_taps_of"](op, weight, channel)
        given = random.integers(-9, 9, (len(found), len(taps)))
        for window, own in zip(found, given, strict=True):
            INNER["_write"](op, image, window, channel, own)
        for window, own in zip(found, given, strict=True):
            total = sum_at(op, name, image, weight, (*window, channel))
            assert total == int(own @ taps)


def test_rows_of_a_linear_layer() -> None:
    x, w, y = "tensor<2x3x4x!x>", "tensor<5x4x!x>", "tensor<2x3x5x!x>"
    op = operation(f"%a: {x}, %w: {w}", f"qnn.linear %a, %w : ({x}, {w}) -> {y}", y)
    assert list(INNER["_windows"](op)) == [(n, m) for n in range(2) for m in range(3)]
    weight = np.arange(20).reshape(5, 4)
    assert INNER["_taps_of"](op, weight, 3).tolist() == [12, 13, 14, 15]
    image = np.zeros((2, 3, 4), np.int64)
    INNER["_write"](op, image, (1, 2), 3, np.array([1, 2, 3, 4]))
    assert image[1, 2].tolist() == [1, 2, 3, 4]
    assert image.sum() == 10


@pytest.mark.parametrize("bounds", [(-3, 4), (0, 7), (-9, -2), (5, 5)])
@pytest.mark.parametrize("weights", [[2, 3], [1, 0, -4], [6, 4], [5], [0, 0], []])
def test_inputs_for_all_sums(bounds: tuple[int, int], weights: list[int]) -> None:
    """Inputs lie in the range, have the sum where that is said, and none is missed of
    one or two weights that aren't 0."""
    low, high = bounds
    array = np.array(weights, np.int64)
    grid = np.meshgrid(*[np.arange(low, high + 1)] * len(weights), indexing="ij")
    reachable = set(
        np.ravel(sum((w * g for w, g in zip(weights, grid, strict=True)), 0))
    )
    sums = np.arange(min(reachable) - 3, max(reachable) + 4, dtype=np.int64)
    inputs, met = inputs_for(array, sums, low, high)
    assert inputs.shape == (len(sums), len(weights))
    assert not weights or (low <= inputs.min() and inputs.max() <= high)
    assert (inputs @ array == sums).tolist() == met.tolist()
    if np.gcd.reduce(array) <= 1 or len(weights) == 1:
        assert met.tolist() == [total in reachable for total in sums.tolist()]


def test_candidates() -> None:
    """All accumulators where these are few, else even ones and those at edges."""
    low, high = np.array([-2, 5]), np.array([1, 6])
    found, is_all = candidates(low, high, np.zeros((0, 2)))
    assert is_all
    assert found.T.tolist() == [[-2, -1, 0, 1], [5, 6, 6, 6]]
    wide = np.array([0]), np.array([FEW_SUMS - 1])
    assert candidates(*wide, np.zeros((0, 1)))[1]
    wide = np.array([0]), np.array([FEW_SUMS])
    edges = np.array([[100.5], [-7.0], [1e12]])
    found, is_all = candidates(*wide, edges)
    assert not is_all
    column = set(found[:, 0].tolist())
    assert {0, FEW_SUMS, 99, 100, 101, 102} <= column
    assert {1, 2, FEW_SUMS - 1} <= column
    assert (found.min(), found.max()) == (0, FEW_SUMS)


COVERED = Coverage(
    3, True, {"tie +": 3, "tie -": 2, "low": 1}, {"tie +": 3, "tie -": 1}
)
PART = Coverage(3, False, {"tie +": 2}, {})


def row(number: int, name: str, count: int, coverage: Any, codes: bool) -> LayerVectors:
    arrays = {"output": np.zeros((count, 2))}
    data: Any = SimpleNamespace()
    return LayerVectors(number, name, "conv2d", arrays, data, coverage, codes)


def test_the_table() -> None:
    """A line for each layer, sums of those that are counted, and in narrow terminals
    what is missing in lines of its own."""
    rows = [
        row(0, "conv", 4, COVERED, codes=False),
        row(1, "other", 5, PART, codes=False),
        row(2, "add", 6, None, codes=True),
        row(3, "mean", 7, None, codes=False),
    ]
    assert COVERED.missing == ["tie - in 1 channel", "low in 1 channel"]
    assert (COVERED.total, PART.total) == ((4, 6), (0, 2))
    found = Vectors("tflite", rows)
    lines = [line.rstrip() for line in str(found).splitlines()]
    assert lines[:8] == [
        "#  layer  op      runs  shown  possible  looked at  not shown",
        88 * "-",
        "0  conv   conv2d     4      4         6  all sums   tie - in 1 channel, low "
        "in 1 channel",
        "1  other  conv2d     5      0         2  some sums  tie + in 2 channels",
        "2  add    conv2d     6      -         -  all codes  -",
        "3  mean   conv2d     7      -         -  drawn      -",
        88 * "-",
        "   all              22      4         8",
    ]
    assert found.to_dict()["layers"][1] == {
        **{"number": 1, "layer": "other", "op": "conv2d", "runs": 5, "shown": 0},
        **{"possible": 2, "from": "some sums", "missing": ["tie + in 2 channels"]},
    }
    assert "Hidden" in found.table.render("plain", 56)
