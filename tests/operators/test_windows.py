"""Windows, sums of products and images of other sizes, against their definitions."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from qlower.operators.resizing import ROUNDINGS, Side
from qlower.operators.structured import Structured
from qlower.operators.sums import (
    CONV_2D,
    CONV_3D,
    DEPTHWISE_CONV_2D,
    FLAT_DEPTHWISE_CONV_2D,
    GROUPED_CONV_2D,
    Slide,
    Sums,
    matrix_product,
    matrix_rows,
    slides,
)
from qlower.operators.transposed import (
    Axis,
    filters_of,
    image_movements,
    phase_weights,
)
from qlower.operators.windows import (
    Window,
    WindowAxis,
    same_padding,
    taps_inside,
    window_extent,
)


def starts(axis: WindowAxis) -> list[int]:
    """The first tap of each position of a window inside the padded axis."""
    last = axis.size + axis.after - (axis.taps - 1) * axis.dilation
    return list(range(-axis.before, last, axis.stride))


WINDOWS = [
    WindowAxis(size, taps, stride, before, after, dilation)
    for size, taps, stride, before, after, dilation in product(
        (1, 2, 5, 6), (1, 2, 3), (1, 2, 3), (0, 1, 2), (0, 1), (1, 2)
    )
]


def test_positions_of_windows() -> None:
    for axis in WINDOWS:
        places = {axis.dilation * tap for tap in range(axis.taps)}
        assert axis.extent == window_extent(axis.taps, axis.dilation)
        assert axis.extent == max(places) + 1
        if axis.room >= 0:
            assert axis.results == len(starts(axis)), axis
        else:
            assert not starts(axis), axis


def test_padding_for_as_many_results_as_strides() -> None:
    for axis in WINDOWS:
        before, after = same_padding(axis.size, axis.extent, axis.stride)
        same = axis.in_same()
        assert (same.before, same.after) == (before, after)
        assert 0 <= after - before <= 1
        assert same.results == math.ceil(axis.size / axis.stride)
        # With one element less it would be one result less, unless there is none.
        if before + after:
            assert (same.room - 1) // axis.stride + 1 < same.results


def test_windows_with_a_last_result_that_is_cut() -> None:
    """The last position starts within the axis or the padding before it, and those
    before it leave out an element."""
    for axis in WINDOWS:
        if axis.room < 0:
            continue
        longer = axis.lengthened()
        wanted = list(range(-axis.before, axis.size, axis.stride))
        end = axis.size + axis.after - axis.extent
        wanted = [x for x in wanted if x < end + axis.stride]
        assert starts(longer)[: len(wanted)] == wanted, axis
        assert longer.results == max(len(wanted), axis.results), axis
        assert longer.before == axis.before


def test_the_parts_of_a_window() -> None:
    window = Window((WindowAxis(9, 2, 3, 1, 0, 2), WindowAxis(7, 3, 1, 0, 2, 1)))
    assert window.kernel == (2, 3)
    assert window.stride == (3, 1)
    assert window.dilation == (2, 1)
    assert window.pad == (1, 0, 0, 2)
    assert window.sizes == (3, 7)
    assert Window.of((5, 6), (2, 3)).sizes == (4, 4)


@pytest.mark.parametrize("dilation", [(1, 1), (2, 1), (1, 3)])
@pytest.mark.parametrize("pad", [(0, 0, 0, 0), (1, 0, 2, 1), (0, 2, 0, 1)])
def test_taps_in_the_image(pad: tuple[int, ...], dilation: tuple[int, int]) -> None:
    image, kernel, stride = (5, 8), (2, 3), (2, 1)
    window = Window(
        tuple(
            WindowAxis(
                image[n], kernel[n], stride[n], pad[2 * n], pad[2 * n + 1], dilation[n]
            )
            for n in (0, 1)
        )
    )
    found = taps_inside(image, window.sizes, kernel, stride, pad, dilation)
    assert (found.dtype, found.shape) == (np.int32, (*window.sizes, 1))
    for y, x in np.ndindex(*window.sizes):
        met = 0
        for i, j in np.ndindex(*kernel):
            row = y * stride[0] - pad[0] + i * dilation[0]
            column = x * stride[1] - pad[2] + j * dilation[1]
            met += 0 <= row < image[0] and 0 <= column < image[1]
        assert found[y, x, 0] == met
    if dilation == (1, 1):
        again = taps_inside(image, window.sizes, kernel, stride, pad)
        assert np.array_equal(again, found)


SLIDES = [Slide(2, 1, 0, 1), Slide(1, 0, 2, 2)]
SUMS: list[tuple[Sums, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    (Sums(CONV_2D, SLIDES), (2, 5, 4, 2), (3, 3, 2, 2), (2, 2, 4, 3)),
    (Sums(GROUPED_CONV_2D, SLIDES, 2), (1, 4, 5, 6), (4, 2, 2, 3), (1, 2, 5, 4)),
    (Sums(DEPTHWISE_CONV_2D, SLIDES), (1, 5, 6, 3), (3, 2, 3, 2), (1, 2, 6, 6)),
    (Sums(FLAT_DEPTHWISE_CONV_2D, SLIDES), (1, 5, 6, 3), (1, 3, 2, 6), (1, 2, 6, 6)),
    (
        Sums(CONV_3D, [Slide(1, 1, 1, 1), *SLIDES]),
        (1, 2, 5, 4, 2),
        (2, 2, 3, 2, 2),
        (1, 3, 2, 4, 2),
    ),
    (Sums(matrix_rows(3)), (2, 3, 5), (4, 5), (2, 3, 4)),
    (Sums(matrix_rows(1)), (5,), (4, 5), (4,)),
    (Sums(matrix_product(2)), (3, 5), (5, 4), (3, 4)),
    (Sums(matrix_product(4)), (2, 2, 3, 5), (2, 2, 5, 4), (2, 2, 3, 4)),
]


@pytest.mark.parametrize(("sums", "first", "second", "shape"), SUMS)
def test_sums_by_their_words(
    sums: Sums, first: tuple[int, ...], second: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    """Each sum by the index of each of its products, which the words state."""
    assert sums.result_shape(first, second) == shape
    sums.check_result(first, second, shape)
    random = np.random.default_rng(1)
    x, w = (random.integers(-9, 10, size) for size in (first, second))
    structure = sums.structure
    bounds = sums.bounds(first, second)
    ends = [list(pair) for pair in zip(*sums.padding(), strict=True)]
    padded = np.pad(x, ends)
    assert sums.without_padding().result_shape(padded.shape, second) == shape
    places = [structure.places(axes, bounds, sums.steps) for axes in structure.axes]
    result = np.zeros(shape, np.int64)
    loops = [bounds[loop] for loop in structure.loops]
    for at in np.ndindex(*loops):
        of_x, of_w, of_result = (
            tuple(place.eval(at, []) for place in one) for one in places
        )
        result[of_result] += padded[of_x] * w[of_w]
    assert np.array_equal(sums.evaluate(x, w), result)
    assert sums.count(first, second) == math.prod(loops)
    results = math.prod(loops[: -structure.reductions])
    assert results == math.prod(shape)


SUMS_REFUSED: list[tuple[Sums, tuple[int, ...], tuple[int, ...], str]] = [
    (
        Sums(CONV_2D, SLIDES),
        (5, 6, 3),
        (4, 3, 2, 3),
        "input has rank 3, expected 4",
    ),
    (
        Sums(CONV_2D, SLIDES),
        (1, 5, 6, 3),
        (4, 3, 3),
        "weight has rank 3, expected 4",
    ),
    (
        Sums(CONV_2D, SLIDES),
        (1, 5, 6, 3),
        (4, 3, 2, 2),
        "weight has 2 channels along axis 3, input has 3",
    ),
    (
        Sums(CONV_2D, SLIDES, names=("image", "filter")),
        (1, 5, 6, 3),
        (4, 3, 2, 2),
        "filter has 2 channels along axis 3, image has 3",
    ),
    (
        Sums(GROUPED_CONV_2D, SLIDES, 2),
        (1, 5, 6, 5),
        (4, 3, 2, 3),
        "input has 5 channels along axis 3, which 2 groups don't divide",
    ),
    (
        Sums(GROUPED_CONV_2D, SLIDES, 0),
        (1, 5, 6, 4),
        (4, 3, 2, 3),
        "input has 4 channels along axis 3, which 0 groups don't divide",
    ),
    (
        Sums(GROUPED_CONV_2D, SLIDES, 2),
        (1, 5, 6, 6),
        (5, 3, 2, 3),
        "weight has 5 outputs along axis 0, which 2 groups don't divide",
    ),
    (
        Sums(GROUPED_CONV_2D, SLIDES, 2),
        (1, 5, 6, 6),
        (4, 3, 2, 2),
        "weight has 2 channels along axis 3, input has 3 in each of 2 groups",
    ),
    (
        Sums(GROUPED_CONV_2D, SLIDES, 1),
        (1, 5, 6, 6),
        (4, 3, 2, 2),
        "weight has 2 channels along axis 3, input has 6",
    ),
    (
        Sums(FLAT_DEPTHWISE_CONV_2D, SLIDES),
        (1, 5, 6, 3),
        (2, 3, 2, 6),
        "weight has size 2 along axis 0, expected 1",
    ),
    (
        Sums(FLAT_DEPTHWISE_CONV_2D, SLIDES),
        (1, 5, 6, 3),
        (1, 3, 2, 7),
        "weight has 7 channels along axis 3, which 3 doesn't divide",
    ),
    (
        Sums(FLAT_DEPTHWISE_CONV_2D, SLIDES),
        (1, 5, 6, 0),
        (1, 3, 2, 6),
        "weight has 6 channels along axis 3, which 0 doesn't divide",
    ),
    (
        Sums(matrix_product(3)),
        (2, 3, 5),
        (3, 5, 4),
        "weight has size 3 along axis 0, input has 2",
    ),
    (
        Sums(matrix_rows(2)),
        (3, 5),
        (4, 6),
        "weight has 6 elements to sum along axis 1, input has 5",
    ),
    (
        Sums(CONV_2D, [Slide(1, 0, 1, 2), Slide()]),
        (1, 3, 6, 3),
        (4, 3, 2, 3),
        "output height does not exist: the window of input 3, kernel 3, stride 1, pad "
        "0+1, dilation 2 is larger than the padded input",
    ),
    (
        Sums(CONV_2D, [Slide(), Slide()]),
        (1, 3, 1, 3),
        (4, 3, 2, 3),
        "output width does not exist: the window of input 1, kernel 2, stride 1, pad "
        "0+0, dilation 1 is larger than the padded input",
    ),
    (
        Sums(CONV_2D, [Slide(), Slide(2, 1, 0)], exact=True),
        (1, 3, 4, 3),
        (4, 3, 2, 3),
        "width of input 4, kernel 2, stride 2, pad 1+0, dilation 1: the window moves "
        "by 3 in all, which isn't a whole number of strides",
    ),
]


@pytest.mark.parametrize(("sums", "first", "second", "text"), SUMS_REFUSED)
def test_operands_that_do_not_fit(
    sums: Sums, first: tuple[int, ...], second: tuple[int, ...], text: str
) -> None:
    with pytest.raises(VerifyException) as caught:
        sums.result_shape(first, second)
    assert str(caught.value) == text


def test_windows_that_just_fit() -> None:
    whole = Sums(CONV_2D, [Slide(1, 0, 2, 2), Slide(2, 1, 1)], exact=True)
    assert whole.result_shape((1, 3, 4, 3), (4, 3, 2, 3)) == (1, 1, 3, 4)
    loose = Sums(CONV_2D, [Slide(), Slide(2, 1, 0)])
    assert loose.result_shape((1, 3, 4, 3), (4, 3, 2, 3)) == (1, 1, 2, 4)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            (1, 3, 6, 4),
            "output height 3 does not follow from input 5, kernel 3, stride 2, pad "
            "1+0, dilation 1: expected 2",
        ),
        (
            (1, 2, 5, 4),
            "output width 5 does not follow from input 6, kernel 2, stride 1, pad "
            "0+2, dilation 2: expected 6",
        ),
        (
            (1, 2, 6, 3),
            "shape [1, 2, 6, 3] of result does not match the expected [1, 2, 6, 4]",
        ),
        (
            (1, 3, 6),
            "shape [1, 3, 6] of result does not match the expected [1, 2, 6, 4]",
        ),
    ],
)
def test_results_of_other_shapes(given: tuple[int, ...], text: str) -> None:
    sums = Sums(CONV_2D, SLIDES)
    with pytest.raises(VerifyException) as caught:
        sums.check_result((1, 5, 6, 3), (4, 3, 2, 3), given)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("lists", "text"),
    [
        (([1], [0] * 4, [1, 1]), "stride [1] has length 1, expected 2"),
        (([1, 1], [0] * 3, [1, 1]), "pad [0, 0, 0] has length 3, expected 4"),
        (([1, 1], [0] * 4, [1] * 3), "dilation [1, 1, 1] has length 3, expected 2"),
        (([1, 0], [0] * 4, [1, 1]), "stride 0 is less than 1"),
        (([1, 1], [0, 0, -1, 0], [1, 1]), "pad -1 is less than 0"),
        (([1, 1], [0] * 4, [0, 1]), "dilation 0 is less than 1"),
    ],
)
def test_steps_of_windows_that_are_refused(lists: Any, text: str) -> None:
    with pytest.raises(VerifyException) as caught:
        slides(*lists)
    assert str(caught.value) == text


def test_steps_of_windows() -> None:
    assert slides([1, 2], [3, 4, 5, 6], [7, 8]) == [
        Slide(1, 3, 4, 7),
        Slide(2, 5, 6, 8),
    ]
    assert slides([1], [0, 0], [1], axes=1) == [Slide()]


def test_views_of_what_lies_around() -> None:
    sums = Sums(CONV_2D, [Slide(2, 1, 0, 1), Slide(1, 0, 2, 2)])
    x = np.arange(1, 13).reshape(1, 3, 4, 1)
    seen = dict(sums.views(x, (2, 3), around=-5))
    assert len(seen) == 6
    for (i, j), view in seen.items():
        assert view.shape == (1, 2, 2, 1)
        for y, z in np.ndindex(2, 2):
            row, column = 2 * y - 1 + i, z + 2 * j
            inside = 0 <= row < 3 and column < 4
            assert view[0, y, z, 0] == (x[0, row, column, 0] if inside else -5)
    assert {int(view.min()) for _, view in sums.views(x, (2, 3))} <= {0, *range(1, 13)}


def test_loops_of_one_iteration_are_left_out() -> None:
    conv = GROUPED_CONV_2D
    assert conv.reductions == 3
    assert conv.sliding == "HW"
    assert conv.taps == "ij"
    assert conv.without("g") == Structured("nhwfijc", ("nHWc", "fijc", "nhwf"))
    assert conv.without("n") == Structured("hwgfijc", ("1HW(gc)", "(gf)ijc", "1hw(gf)"))
    assert conv.without("f").words == ("nHW(gc)", "gijc", "nhwg")
    flat = FLAT_DEPTHWISE_CONV_2D
    assert flat.axes == (
        ("n", "H", "W", "c"),
        ("1", "i", "j", "cm"),
        ("n", "h", "w", "cm"),
    )
    assert flat.letters == ("nHWc", "ijcm", "nhwcm")
    assert Structured.of("ab|c a. _ (ab)c").axes == (("a",), (), ("ab", "c"))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("size", "taps", "stride", "pad", "wanted"),
    [
        (3, 3, 2, 0, 7),
        (3, 3, 2, 1, 5),
        (4, 2, 2, 0, 8),
        (3, 5, 2, 2, 6),
        (3, 4, 3, 0, 10),
        (3, 2, 3, 0, 9),
        (5, 3, 1, 1, 5),
        (2, 6, 2, 5, 4),
        (4, 3, 2, 4, 2),
        (1, 3, 2, 0, 6),
    ],
)
def test_transposed_convolutions(
    size: int, taps: int, stride: int, pad: int, wanted: int, groups: int
) -> None:
    """By rows, with columns of other numbers, against what each input adds to."""
    rows = Axis(size, taps, stride, pad, wanted)
    columns = Axis(2, 3, 2, 1, 4)
    random = np.random.default_rng(2)
    depth, filters = 2, 3
    x = random.integers(-9, 10, (1, size, 2, depth * groups))
    w = random.integers(-9, 10, (groups * filters, taps, 3, depth))
    wanted_shape = (wanted, 4)
    result = np.zeros((1, *wanted_shape, groups * filters), np.int64)
    for y, z, i, j, f, c in np.ndindex(size, 2, taps, 3, groups * filters, depth):
        row, column = stride * y + i - pad, 2 * z + j - 1
        if 0 <= row < wanted and 0 <= column < 4:
            of_group = x[0, y, z, f // filters * depth + c]
            result[0, row, column, f] += of_group * w[f, i, j, c]
    parts: list[np.ndarray] = []
    for group in range(groups):
        mine = w[group * filters :][:filters]
        kernel = filters_of(phase_weights(mine, 0, rows, columns))
        sums = Sums(CONV_2D, [rows.slide, columns.slide])
        image = x[..., group * depth :][..., :depth]
        parts.append(sums.evaluate(image, kernel))
    found = np.concatenate(parts, -1)
    assert found.shape[1] == rows.positions
    assert rows.size == rows.positions * stride
    shape = found.shape
    given = (groups,) if groups > 1 else ()
    for movement in image_movements(shape, rows, columns, given):
        assert movement.result_shape(found.shape) == movement.evaluate(found).shape
        found = movement.evaluate(found)
    assert np.array_equal(found, result)
    # No larger than the image needs it.
    assert rows.before < rows.taps
    assert rows.slide == Slide(before=rows.before, after=rows.after)


def test_weights_that_a_phase_lacks() -> None:
    rows, columns = Axis(3, 3, 2, 0, 7), Axis(2, 1, 1, 0, 2)
    found = phase_weights(np.arange(3).reshape(1, 3, 1, 1), 9, rows, columns)
    assert found.reshape(2, 2).tolist() == [[2, 0], [9, 1]]
    assert filters_of(found).shape == (2, 2, 1, 1)


SIDE = Side(5, 7, 1.4)
PLACES: dict[str, list[float]] = {
    "half_pixel": [(i + 0.5) / 1.4 - 0.5 for i in range(7)],
    "pytorch_half_pixel": [(i + 0.5) / 1.4 - 0.5 for i in range(7)],
    "asymmetric": [i / 1.4 for i in range(7)],
    "align_corners": [i * 4 / 6 for i in range(7)],
    "by_corner_steps": [i * 4 / 6 for i in range(7)],
    "by_steps": [i / 1.4 for i in range(7)],
    "of_middles": [(i + 0.5) / 1.4 for i in range(7)],
    "between_middles": [(i + 0.5) / 1.4 - 0.5 for i in range(7)],
    "between_middles_once": [(i + 0.5) / 1.4 - 0.5 for i in range(7)],
}


@pytest.mark.parametrize("rule", PLACES)
def test_places_of_resized_axes(rule: str) -> None:
    places = SIDE.places(rule)
    assert places.dtype == np.float32
    assert places == pytest.approx(PLACES[rule], abs=1e-6)
    low, high = SIDE.neighbours(places)
    assert low.tolist() == [min(max(math.floor(x), 0), 4) for x in places]
    assert high.tolist() == [min(x + 1, 4) for x in low]


def test_steps_of_resized_axes() -> None:
    assert Side(5, 7).step == np.float32(5 / 7)
    assert Side(5, 7, 2.5).step == np.float32(1 / 2.5)
    assert Side(5, 7).corner_step == np.float32(4) / np.float32(6)
    assert Side(5, 1).corner_step == 4
    assert Side(5, 1, 0.2).places("align_corners").tolist() == [0]
    assert Side(5, 1, 0.2).places("pytorch_half_pixel").tolist() == [0]
    assert Side(5, 1, 0.2).places("half_pixel").tolist() == [2]
    assert Side(2, 2, 1).places("pytorch_half_pixel").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("round_prefer_floor", [0, 0, 0, 1, 1, 3, 4, 4]),
        ("round_prefer_ceil", [0, 0, 1, 1, 2, 3, 4, 4]),
        ("floor", [0, 0, 0, 0, 1, 2, 4, 4]),
        ("ceil", [0, 1, 1, 1, 2, 3, 4, 4]),
        ("round_prefer_ceil_exactly", [0, 0, 1, 1, 2, 3, 4, 4]),
    ],
)
def test_nearest_elements(rounding: str, expected: list[int]) -> None:
    places = np.array([-1.5, 0.25, 0.5, 0.75, 1.5, 2.75, 4.5, 9], np.float32)
    assert Side(5, 8).nearest(places, rounding) == expected
    assert len(ROUNDINGS) == 5


def test_a_sum_that_rounds_to_a_half() -> None:
    """In float32, 0.5 and the number below it make 1."""
    below = np.array([np.nextafter(np.float32(0.5), np.float32(0))], np.float32)
    assert Side(5, 1).nearest(below, "round_prefer_ceil") == [1]
    assert Side(5, 1).nearest(below, "round_prefer_ceil_exactly") == [0]
