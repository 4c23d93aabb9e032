"""The graph as SVG: a box for each node, of which the page's style says the colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise

from qlower.report.table_formats import printable, shorten
from qlower.viewer.graph import Node
from qlower.viewer.layout import Layout
from qlower.viewer.measures import Measure

WIDTH, HEIGHT = 220, 58
"""Of a box."""

ACROSS, DOWN = 250, 96
"""From one box to the next."""

MARGIN = 30

LONGEST_NAME = 29
"""Letters of a name that a box has room for; the whole name is in its label."""


def draw(nodes: Sequence[Node], layout: Layout, measure: Measure) -> str:
    """The picture, coloured by a measure; `page.js` turns it to another one."""
    width = ACROSS * max(layout.places.values(), default=0.0) + WIDTH + 2 * MARGIN
    height = DOWN * (len(layout.ranks) - 1) + HEIGHT + 2 * MARGIN
    size = f'viewBox="0 0 {width:.0f} {height}"'
    rank = {node: number for number, row in enumerate(layout.ranks) for node in row}
    parts = [
        f'<svg id="graph" {size} role="listbox" aria-label="layers of the network">',
        '<g class="edges" aria-hidden="true">',
        *(f'<path d="{_path(route)}"/>' for route in layout.routes.values()),
        "</g>",
    ]
    for node in nodes:
        x = MARGIN + ACROSS * layout.places[node.number]
        parts += _box(node, x, MARGIN + DOWN * rank[node.number], measure)
    return "\n".join([*parts, "</svg>"])


def label(node: Node, text: str) -> str:
    """What a screen reader says of a node."""
    said = [printable(node.name), node.kind if node.role == "layer" else "", text]
    return ", ".join(filter(None, said))


def _box(node: Node, x: float, y: float, measure: Measure) -> Iterator[str]:
    is_known = node.role == "layer" and node.name in measure.shares
    colour = measure.colour(node.name) if is_known else ""
    text = measure.texts[node.name] if is_known else ""
    bar = measure.bar(node.name, WIDTH) if is_known else 0
    said = escape(label(node, text))
    yield (
        f'<g id="node-{node.number}" class="node {node.role}" role="option" '
        f'tabindex="{0 if node.number == 0 else -1}" aria-selected="false" '
        f'aria-label="{said}" data-colour="{colour}" '
        f'transform="translate({x:.1f} {y})">'
    )
    yield f"<title>{said}</title>"
    yield f'<rect class="box" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
    yield f'<rect class="bar" y="{HEIGHT - 5}" width="{bar}" height="5"/>'
    name = escape(shorten(printable(node.name), LONGEST_NAME))
    yield f'<text class="name" x="10" y="19">{name}</text>'
    about = node.kind if node.role == "layer" else f"{node.role}, {node.type}"
    yield f'<text class="kind" x="10" y="34">{escape(shorten(about, 36))}</text>'
    yield f'<text class="value" x="10" y="48">{escape(text)}</text></g>'


def _path(route: Sequence[tuple[float, int]]) -> str:
    """A curve from below one box to above another, by the points between."""
    middle = MARGIN + WIDTH / 2
    points = [(middle + ACROSS * x, MARGIN + DOWN * rank) for x, rank in route]
    (x, y), *_ = points
    text = f"M{x:.1f} {y + HEIGHT}"
    for number, ((x, y), (next_x, next_y)) in enumerate(pairwise(points)):
        # Between ranks a curve, beside the boxes of a rank a line.
        if number:
            text += f"L{x:.1f} {y + HEIGHT}"
        half = (y + HEIGHT + next_y) / 2
        text += f"C{x:.1f} {half:.1f} {next_x:.1f} {half:.1f} {next_x:.1f} {next_y}"
    return text


def neighbours(nodes: Sequence[Node], layout: Layout) -> Mapping[int, Sequence[int]]:
    """Where the arrow keys go from each node: up, right, down and left; -1 where there
    is nothing."""
    readers: dict[int, list[int]] = {node.number: [] for node in nodes}
    for node in nodes:
        for source in node.sources:
            readers[source].append(node.number)
    beside: dict[int, tuple[int, int]] = {}
    for row in layout.ranks:
        padded = [-1, *row, -1]
        beside |= {
            node: (padded[place], padded[place + 2]) for place, node in enumerate(row)
        }

    def first(found: Sequence[int]) -> int:
        return found[0] if found else -1

    return {
        node.number: (
            first(node.sources),
            beside[node.number][1],
            first(readers[node.number]),
            beside[node.number][0],
        )
        for node in nodes
    }
