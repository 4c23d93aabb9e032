"""Where the nodes of a graph are drawn, and how a tensor becomes a picture."""

from __future__ import annotations

import base64
import math
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from qlower.model.signature import Array
from qlower.report.columns import fold
from qlower.report.layout import Layout, lay_out
from qlower.report.maps import Grid, difference_map, palettes, value_map

SHAPES = [
    (),
    (5,),
    (100,),
    (3, 7),
    (2, 3, 4),
    (1, 6, 5, 8),
    (2, 3, 4, 5),
    (1, 2, 3, 4, 5),
]


def crossings(layout: Layout) -> int:
    """Pairs of edges between two ranks that cross."""
    found = 0
    lines = [line for route in layout.routes.values() for line in pairwise(route)]
    for number, ((a, rank), (b, _)) in enumerate(lines):
        for (c, other), (d, _) in lines[:number]:
            found += rank == other and (a - c) * (b - d) < 0
    return found


def test_a_chain_is_a_column_and_a_diamond_has_two_sides() -> None:
    chain = lay_out([(), (0,), (1,), (2,)])
    assert chain.ranks == [[0], [1], [2], [3]]
    assert set(chain.places.values()) == {0.0}
    diamond = lay_out([(), (0,), (0,), (1, 2)])
    assert diamond.ranks == [[0], [1, 2], [3]]
    assert diamond.places[2] - diamond.places[1] == 1
    assert diamond.places[0] == diamond.places[3] == 0.5


def test_edges_that_pass_ranks_go_beside_their_nodes() -> None:
    skip = lay_out([(), (0,), (1,), (2, 0)])
    route = skip.routes[0, 3]
    assert [rank for _, rank in route] == [0, 1, 2, 3]
    for place, rank in route[1:-1]:
        (node,) = skip.ranks[rank]
        assert abs(place - skip.places[node]) >= 1
    late = lay_out([(), (), (0,), (2,), (3, 1)])
    assert late.ranks[2] == [3, 1] or late.ranks[2] == [1, 3]


@pytest.mark.parametrize("seed", range(4))
def test_any_graph_has_a_place_for_each_node(seed: int) -> None:
    random = Random(seed)
    sources = [
        tuple(sorted(set(random.choices(range(max(0, n - 6), n), k=2)))) if n else ()
        for n in range(60)
    ]
    layout = lay_out(sources)
    assert layout == lay_out(sources)
    assert sorted(node for row in layout.ranks for node in row) == list(range(60))
    for row in layout.ranks:
        for left, right in pairwise(row):
            assert layout.places[right] - layout.places[left] > 0.999
    for (source, node), route in layout.routes.items():
        assert source in sources[node]
        assert all(b[1] == a[1] + 1 for a, b in pairwise(route))
        assert route[0][0] == layout.places[source]
        assert route[-1][0] == layout.places[node]


def residual_network(blocks: int) -> list[tuple[int, ...]]:
    """Layers in a chain, three a block, with an edge around each block."""
    sources: list[tuple[int, ...]] = [()]
    for _ in range(blocks):
        start = len(sources) - 1
        sources += [(start,), (start + 1,), (start, start + 2)]
    return sources


@pytest.mark.parametrize("blocks", [0, 1, 2, 5, 23, 60])
def test_long_graphs_are_folded_between_blocks(blocks: int) -> None:
    layout = lay_out(residual_network(blocks))
    columns = fold(layout, 250, 96, 0.35)
    shape = 250 * columns.width / (96 * columns.height)
    assert blocks < 5 or 1 < shape < 2.5
    ranks = range(len(layout.ranks))
    assert [columns.column(rank) for rank in ranks] == sorted(
        map(columns.column, ranks)
    )
    for start in columns.starts[1:]:
        passing = {
            source
            for (source, _), r in layout.routes.items()
            if r[0][1] < start <= r[-1][1]
        }
        assert len(passing) == 1
    drawn = {
        columns.at(layout.places[node], rank)
        for rank, row in enumerate(layout.ranks)
        for node in row
    }
    assert len(drawn) == len(layout.places)
    assert all(
        0 <= x <= columns.width - 1 and 0 <= y < columns.height for x, y in drawn
    )


def test_parallel_branches_do_not_cross() -> None:
    sources = [(), (0,), (0,), (0,), (3,), (2,), (1,), (4,), (5,), (6,), (7, 8, 9)]
    assert crossings(lay_out(sources)) == 0


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("most", [1 << 20, 20])
def test_each_element_is_where_its_cell_is(shape: tuple[int, ...], most: int) -> None:
    grid = Grid.of(shape, most)
    assert math.prod(grid.cells) <= max(most, 20)
    numbers = np.arange(math.prod(shape)).reshape(shape)
    places = grid.arrange(numbers, -1)
    for index in np.ndindex(shape):
        cell = grid.cell(index, shape)
        block = places[
            tuple(
                slice(at * step, (at + 1) * step)
                for at, step in zip(cell, grid.steps, strict=True)
            )
        ]
        assert numbers[index] in block


def cells(map: dict[str, object]) -> Array:
    return np.frombuffer(base64.b64decode(str(map["cells"])), np.uint8)


@pytest.mark.parametrize("most", [1 << 20, 20])
def test_no_difference_is_lost(most: int) -> None:
    a = np.zeros((1, 16, 16, 8), np.int8)
    b = a.copy()
    b[0, 3, 4, 5], b[0, 9, 1, 0] = 2, -100
    found = difference_map("x", a, b, Grid.of(a.shape, most))
    labels = found["labels"]
    assert isinstance(labels, list)
    seen = {labels[code] for code in cells(found)}
    assert seen == {"equal", "+2", "-100"}
    assert found["first"] == 1


def test_values_are_told_exactly() -> None:
    array = np.arange(-128, 128).astype(np.int8).reshape(1, 4, 4, 16)
    grid = Grid.of(array.shape, 1 << 20)
    found = value_map("x", array, grid)
    labels = found["labels"]
    assert isinstance(labels, list)
    told = [int(labels[code]) for code in cells(found)]
    assert told == grid.arrange(array, 0).reshape(-1).tolist()
    few = value_map("x", np.array([3, 5, 5, 4], np.int32), Grid.of((4,), 20))
    labels = few["labels"]
    assert isinstance(labels, list)
    assert [labels[code] for code in cells(few)] == ["3", "5", "5", "4"]


def test_palettes_are_ordered_by_brightness() -> None:
    for name, text in palettes().items():
        colours = np.frombuffer(base64.b64decode(text), np.uint8).reshape(256, 3)
        grey = colours.astype(float) @ [0.299, 0.587, 0.114]
        if name == "signed":
            assert grey.argmax() == 128
            grey = grey[128:][::-1]
        assert (np.diff(grey) >= -1).all()
