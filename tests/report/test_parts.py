"""Parts of the page from numbers that can be followed by hand: pictures, histograms,
maps, measures."""

from __future__ import annotations

import base64
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.codegen.program.compiled import Kernel
from qlower.frontends.import_options import ImportOptions
from qlower.frontends.load import load_text
from qlower.report import levels
from qlower.report import maps as picture
from qlower.report.attributes import attributes_of, summary
from qlower.report.blocks import code, facts, histogram, strip
from qlower.report.columns import Columns, fold
from qlower.report.drawing import draw, neighbours
from qlower.report.graph import graph_of
from qlower.report.layout import lay_out
from qlower.report.levels import LevelText
from qlower.report.maps import Grid, difference_map, value_map
from qlower.report.measures import (
    Cut,
    LayerTime,
    Measure,
    layer_times,
    percent,
    saturation,
    time_measure,
)
from qlower.runtime.profiling import KernelTime, Profile


def test_where_a_small_graph_is_drawn() -> None:
    """0 is read by 1, 2 and 3, 1 by 2, 2 by 3 and 4, which is the lowest."""
    found = lay_out([(), (0,), (0, 1), (0, 2), (2, 3)])
    assert found.ranks == [[0], [1], [2], [3], [4]]
    # 0 passes rank 1 to 2, and then 2 on to 3, in one line
    assert list(found.routes) == [
        (0, 1),
        (0, 2),
        (1, 2),
        (0, 3),
        (2, 3),
        (2, 4),
        (3, 4),
    ]
    assert found.routes[0, 2][:2] == found.routes[0, 3][:2]
    assert {edge: len(route) for edge, route in found.routes.items()} == {
        **{(0, 1): 2, (0, 2): 3, (1, 2): 2, (0, 3): 4, (2, 3): 2, (2, 4): 3, (3, 4): 2},
    }
    assert abs(found.routes[0, 2][1][0] - found.places[1]) == 1
    assert min(place for route in found.routes.values() for place, _ in route) == 0
    # what has no source stands just above its first reader
    late = lay_out([(), (), (0,), (2, 1)])
    assert [sorted(row) for row in late.ranks] == [[0], [1, 2], [3]]
    assert lay_out([]).ranks == []


def test_neighbours_are_put_side_by_side_where_they_fit_best() -> None:
    apart = vars(__import__("qlower.report.layout", fromlist=["_apart"]))["_apart"]
    assert apart([0.0, 5.0]) == [0.0, 5.0]
    assert apart([1.0, 1.0]) == [0.5, 1.5]
    assert apart([3.0, 1.0, 2.0]) == [1.0, 2.0, 3.0]
    assert apart([0.0, 4.0, 4.0, 4.0]) == [0.0, 3.0, 4.0, 5.0]


def test_a_chain_is_folded_where_it_is_drawn_largest() -> None:
    """Ranks 96 high and 250 wide: of n columns the larger of their width and 1.6 times
    their height is least. 20 ranks: 3072, 1536, 1075 and 788 of 1 to 4, where 4 are
    1262 wide; so 3, 925 wide."""
    chain = lay_out([(n - 1,) if n else () for n in range(20)])
    columns = fold(chain, 250, 96, 0.35)
    rounded = replace(columns, width=round(columns.width, 9))
    assert rounded == Columns([0, 6, 13], [0, 0, 0], [0.0, 1.35, 2.7], 3.7, 7)
    assert [columns.column(rank) for rank in (0, 5, 6, 12, 13, 19)] == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]
    assert columns.at(0.0, 8) == (1.35, 2)
    assert fold(lay_out([()]), 250, 96, 0.35) == Columns([0], [0.0], [0.0], 1.0, 1)


def test_a_column_begins_where_least_edges_pass() -> None:
    """Within a quarter of a column of where all would be as high: of 16 ranks in two,
    from 6 to 10. Edges from 0 to 5 and from 5 to 15 leave rank 6 with one."""
    starts = vars(__import__("qlower.report.columns", fromlist=["_starts"]))["_starts"]
    chain: list[tuple[int, ...]] = [(n - 1,) if n else () for n in range(16)]
    assert starts(lay_out(chain), 2) == [0, 8]
    chain[5], chain[15] = (4, 0), (14, 5)
    assert starts(lay_out(chain), 2) == [0, 6]
    chain[5], chain[6] = (4,), (5, 0)
    assert starts(lay_out(chain), 2) == [0, 8]


def small_graph(text: str = SMALL_MODEL) -> Any:
    return graph_of(load_text(text.encode(), "small.mlir", ImportOptions()))


def test_the_picture_of_a_small_network() -> None:
    nodes = small_graph()
    assert [(n.role, n.name, n.kind, n.sources) for n in nodes] == [
        *(("input", "image", "input", ()), ("layer", "conv", "conv2d", (0,))),
        *(("layer", "flat", "reshape", (1,)), ("layer", "scores", "linear", (2,))),
        ("output", "scores", "output", (3,)),
    ]
    layout = lay_out([node.sources for node in nodes])
    measure = Measure(
        "m", "M", "", {"conv": 0.5, "scores": 0.0}, {"conv": "half", "scores": "none"}
    )
    lines = draw(nodes, layout, measure).splitlines()
    assert lines[0].startswith('<svg id="graph" viewBox="0 0 280 502" role="listbox"')
    paths = [line for line in lines if line.startswith("<path")]
    assert paths == [
        f'<path d="M140.0 {y}C140.0 {y + 19}.0 140.0 {y + 19}.0 140.0 {y + 38}"/>'
        for y in (88, 184, 280, 376)
    ]
    boxes = [line for line in lines if line.startswith('<g id="node-')]
    assert [box.partition('transform="')[2] for box in boxes] == [
        f'translate(30.0 {y})">' for y in (30, 126, 222, 318, 414)
    ]
    assert [box.partition('data-colour="')[2].partition('"')[0] for box in boxes] == [
        *("", "5", "", "0", ""),
    ]
    assert 'tabindex="0"' in boxes[0]
    assert all('tabindex="-1"' in box for box in boxes[1:])
    assert 'aria-label="conv, conv2d, half"' in boxes[1]
    assert 'aria-label="image"' in boxes[0]
    bars = [line for line in lines if 'class="bar"' in line]
    assert [bar.partition('width="')[2].partition('"')[0] for bar in bars] == [
        *("0", "220", "0", "0", "0"),
    ]
    kinds = [
        line.partition('y="33">')[2].partition("<")[0]
        for line in lines
        if 'class="kind"' in line
    ]
    assert kinds == [
        *("input, 1x2x2x1 i8", "conv2d 1x1", "reshape", "linear", "output, 1x3 u8"),
    ]
    values = [
        line.partition('y="46">')[2].partition("<")[0]
        for line in lines
        if 'class="value"' in line
    ]
    assert values == [
        *("(0.0078125, -128)", "half", "", "none", "(0.0625, 128)"),
    ]
    assert neighbours(nodes, layout) == {
        **{0: (-1, -1, 1, -1), 1: (0, -1, 2, -1), 2: (1, -1, 3, -1)},
        **{3: (2, -1, 4, -1), 4: (3, -1, -1, -1)},
    }


def test_arrow_keys_go_along_a_rank() -> None:
    nodes: Any = [
        type("N", (), {"number": n, "sources": s})()
        for n, s in enumerate([(), (0,), (0,), (1, 2)])
    ]
    layout = lay_out([node.sources for node in nodes])
    assert neighbours(nodes, layout) == {
        **{0: (-1, -1, 1, -1), 1: (0, 2, 3, -1), 2: (0, -1, 3, 1)},
        3: (1, -1, -1, -1),
    }


def test_what_an_operation_says() -> None:
    text = SMALL_MODEL.replace(
        "stride = [1, 1], pad = [0, 0, 0, 0]", "stride = [1, 2], pad = [0, 0, 0, 1]"
    ).replace("dilation = [1, 1]", 'dilation = [3, 1], activation = "relu6"')
    nodes = small_graph(text)
    assert attributes_of(nodes[1].op) == {
        **{"kernel": "1x1", "stride": "1x2", "pad": "0 0 0 1", "dilation": "3x1"},
        **{"groups": "1", "transposed": "no", "activation": "relu6"},
    }
    assert summary(nodes[1].op) == "1x1, stride 1x2, dilation 3x1, relu6"
    assert summary(nodes[2].op) == ""
    assert summary(small_graph()[1].op) == "1x1"


def test_histograms() -> None:
    """Whole numbers one a bar, or as many as make 64 bars; heights of 100."""
    found: Any = histogram("h", np.array([3, 5, 5, 4, 5], np.int8))
    assert found["bars"] == [["3", "1", 34], ["4", "1", 34], ["5", "3", 100]]
    assert found["about"] == "5 elements from 3 to 5, mean 4.4"
    wide: Any = histogram("h", np.array([-128, 127, 127, 0], np.int8))
    assert len(wide["bars"]) == 64
    assert wide["bars"][0] == ["-128 to -125", "1", 50]
    assert wide["bars"][32] == ["0 to 3", "1", 50]
    assert wide["bars"][63] == ["124 to 127", "2", 100]
    assert wide["bars"][1][1:] == ["0", 0]
    real: Any = histogram("h", np.array([0.0, 64.0, np.nan, np.inf, 0.5], np.float32))
    assert len(real["bars"]) == 65
    assert real["bars"][0] == ["0 to 1", "2", 100]
    assert real["bars"][-1][1:] == ["1", 50]
    same: Any = histogram("h", np.full(3, 2.5, np.float32))
    assert same["bars"] == [["2.5 to 2.5", "3", 100]]
    assert histogram("h", np.array([np.nan], np.float32)) is None


def test_strips_and_texts() -> None:
    found: Any = strip("s", [1.0, 100.0, 10.0])
    assert found["marks"] == [
        *([0, "channel 0: 1"], [1000, "channel 1: 100"], [500, "channel 2: 10"]),
    ]
    assert found["about"] == "3 from 1 to 100"
    alone: Any = strip("s", [0.25])
    assert alone["marks"] == [[0, "channel 0: 0.25"]]
    assert facts("f", [("a", "b"), ("c", "")])["rows"] == [["a", "b"]]
    assert code("c", "a\nb", "x") == {
        **{"kind": "code", "title": "c", "text": "a\nb", "about": "x"},
    }


def cells(found: Any) -> list[str]:
    codes = np.frombuffer(base64.b64decode(found["cells"]), np.uint8)
    return [found["labels"][one] for one in codes]


def test_maps_of_differences() -> None:
    """A cell has the difference farthest from 0; before the channels there is a plane
    of all."""
    a = np.arange(16, dtype=np.int16).reshape(1, 2, 4, 2)
    b = a.copy()
    b[0, :, :, 0] += np.array([[1, -3, 0, 0], [2, 0, 0, 0]], np.int16)
    b[0, :, :, 1] += np.array([[0, 200, 0, 5], [0, 0, 0, -6]], np.int16)
    found = difference_map("x", a, b, Grid((2, 2, 4), (1, 2, 2), False))
    assert (found["rows"], found["columns"], found["first"]) == (1, 2, 1)
    assert found["planes"] == ["all channels", "channel 0", "channel 1"]
    more = "+127 or more"
    assert cells(found) == [more, "-6", "-3", "equal", more, "-6"]
    assert found["ends"] == ["-127 or less", more]
    assert found["about"] == (
        "A cell is 1x2x2 elements (channels, rows, columns): each cell has the largest "
        "difference of its elements."
    )
    real = difference_map("x", a / 2.0, b / 2.0, Grid((2, 2, 4), (2, 1, 1), False))
    assert real["planes"] == ["channel 0 to 1"]
    assert real["ends"] == ["-100", "+100"]
    small = difference_map(
        "x", a[..., :1], b[..., :1], Grid((1, 2, 4), (1, 1, 1), False)
    )
    assert cells(small)[:2] == ["+1", "-3"]
    assert small["about"] == ""


def test_maps_of_values() -> None:
    """A cell has the first of its elements."""
    found: Any = value_map(
        "v",
        np.arange(10, dtype=np.int32).reshape(2, 5),
        Grid((1, 2, 5), (1, 1, 2), False),
    )
    assert cells(found) == ["0", "2", "4", "5", "7", "9"]
    assert found["ends"] == ["0", "9"]
    assert found["about"].startswith("A cell is 1x1x2 elements")
    assert found["wrapped"] is False
    uneven = value_map("v", np.ones((1, 2, 4, 3)), Grid((3, 2, 4), (2, 1, 1), False))
    assert uneven["planes"] == ["channel 0 to 1", "channel 2"]
    wide = value_map("v", np.array([0.0, 51.0, 510.0]), Grid.of((3,), 100))
    assert cells(wide) == ["0", "52", "510"]


@pytest.mark.parametrize(
    ("shape", "most", "expected"),
    [
        ((100,), 1000, Grid((1, 4, 32), (1, 1, 1), True)),
        ((32,), 1000, Grid((1, 1, 32), (1, 1, 1), False)),
        ((2, 8, 4, 3), 1000, Grid((6, 8, 4), (1, 1, 1), False)),
        ((2, 8, 4, 3), 50, Grid((6, 8, 4), (2, 2, 1), False)),
        ((4, 8, 8), 100, Grid((4, 8, 8), (1, 2, 2), False)),
        ((4, 6, 8), 100, Grid((4, 6, 8), (1, 1, 2), False)),
        ((), 5, Grid((1, 1, 1), (1, 1, 1), False)),
    ],
)
def test_grids(shape: tuple[int, ...], most: int, expected: Grid) -> None:
    """Planes are joined while there are more than 4; else the longer of the sides."""
    assert Grid.of(shape, most) == expected


def test_colours_of_bytes() -> None:
    found = {
        name: np.frombuffer(base64.b64decode(text), np.uint8).reshape(256, 3).tolist()
        for name, text in picture.palettes().items()
    }
    assert found["values"][0] == [0, 32, 76]
    assert found["values"][128] == [124, 123, 120]
    assert found["values"][255] == [255, 233, 69]
    assert found["values"][64] == [62, 78, 98]
    signed = found["signed"]
    assert [signed[n] for n in (1, 127, 128, 129, 255)] == [
        *([8, 48, 107], [66, 146, 198], [255, 255, 255], [230, 120, 30], [110, 38, 0]),
    ]


def test_shares_have_colours_of_equal_ratios() -> None:
    """From 0.01 to 0.32 the ratio is 2."""
    shares = {"a": 0.01, "b": 0.32, "c": 0.0, "d": 0.02, "e": 0.021}
    measure = Measure("k", "t", "", shares, {})
    assert measure.edges == [0.0, 0.02, 0.04, 0.08, 0.16]
    assert [measure.colour(name) for name in "abcdef"] == [1, 5, 0, 1, 2, None]
    assert [measure.bar(name, 100) for name in "abcf"] == [20, 100, 0, 0]
    assert measure.legend == [
        "none",
        "to 2 %",
        "to 4 %",
        "to 8 %",
        "to 16 %",
        "over 16 %",
    ]
    assert Measure("k", "t", "", {"a": 0.0}, {}).edges == [0.0, 0.16, 0.25, 0.4, 0.63]
    assert Measure("k", "t", "", {"a": 0.5}, {}).colour("a") == 5


def kernel(layers: tuple[str, ...], nanoseconds: float, family: str) -> KernelTime:
    plain = Kernel("f", "+".join(layers), layers, family, 0, 0, 0, 0, 0, 0, False)
    return KernelTime(**vars(plain), nanoseconds=nanoseconds)


def test_shares_of_time_and_of_elements() -> None:
    profile = Profile(
        [
            *(kernel(("a",), 1500.0, "map"), kernel(("a", "b"), 4500.0, "loops")),
            kernel(("b", "a"), 2000.0, "copy"),
        ]
    )
    assert layer_times(profile) == {
        "a": LayerTime(8000.0, ["map", "loops", "copy"], ["b"]),
        "b": LayerTime(6500.0, ["loops", "copy"], ["a"]),
    }
    found = time_measure(profile)
    assert found.shares == {"a": 1.0, "b": 6500 / 8000}
    assert found.texts == {"a": "8.00 us, fused", "b": "6.50 us, fused"}
    assert "Share of the 8.0 us that" in found.about
    assert time_measure(Profile([kernel(("c",), 0.0, "map")])).texts == {"c": "0.00 us"}
    cut = Cut(200, 30, 12, 20)
    assert cut.saturated == 22
    cuts = saturation({"a": cut, "b": Cut(0, 0, 0)})
    assert cuts.shares == {"a": 0.11, "b": 0.0}
    assert cuts.texts == {"a": "11 % saturated", "b": "0 % saturated"}


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.123, "12 %"),
        (0.0123, "1.2 %"),
        (0.9999996, "99.99996 %"),
        (1e-7, "0.000010 %"),
    ],
)
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_long_text_ends_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "MOST_CHARACTERS", 8)
    cut = vars(levels)["_cut"]
    assert cut("qnn", "ab\ncd\nef") == LevelText("qnn", "ab\ncd\nef", "")
    found = cut("arith", "ab\ncd\nefg\nh\ni")
    assert (found.level, found.text) == ("arith", "ab\ncd")
    more = "3 lines more: qlower inspect MODEL --at arith --layer LAYER"
    assert found.about == more
    assert cut("arith", "ab\ncd\nefgh").about.startswith("1 line more")


def test_words_of_proofs_are_explained() -> None:
    """Those that a layer's epilogue has."""
    proof = vars(import_module("qlower.report.layers"))["_proof"]
    meanings = vars(import_module("qlower.report.layers"))["LEGEND"]

    class Epilogue:
        proved, channels = 3, 1

        def __str__(self) -> str:
            return f"{next(iter(meanings))}, 3"

    (first, *_) = meanings
    row = type("Row", (), {"epilogue": Epilogue()})()
    assert list(proof(row)) == [
        ("epilogue", f"{first}, 3"),
        ("proved for every accumulator", "3 of 1 channel"),
        *((word, text) for word, text in meanings.items() if word in first),
    ]
