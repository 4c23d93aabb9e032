"""The graph as SVG: a box for each node, whose color is in the page's style."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise

from qlower.diagnostics import printable
from qlower.report.attributes import summary
from qlower.report.columns import Columns, fold
from qlower.report.graph import Node
from qlower.report.layout import Layout
from qlower.report.measures import Measure
from qlower.tables.formats import shorten

WIDTH, HEIGHT = 220, 58
"""The size of a box."""

ACROSS, DOWN = 250, 96
"""Distances from one box to the next."""

GAP = 0.35
"""Between columns, in widths of a box: edges from one to the next pass there."""

MARGIN = 30

LONGEST_NAME, LONGEST_LINE = 24, 32
"""Letters that a box has room for; the whole text is in its label."""


def draw(nodes: Sequence[Node], layout: Layout, measure: Measure) -> str:
    """The picture, coloured by a measure; `page.js` turns it to another one."""
    columns = fold(layout, ACROSS, DOWN, GAP)
    width = ACROSS * (columns.width - 1) + WIDTH + 2 * MARGIN
    height = DOWN * (columns.height - 1) + HEIGHT + 2 * MARGIN
    size = f'viewBox="0 0 {width:.0f} {height}"'
    rank = {node: number for number, row in enumerate(layout.ranks) for node in row}
    parts = [
        f'<svg id="graph" {size} role="listbox" aria-label="layers of the network">',
        f'<clipPath id="inside"><rect width="{WIDTH - 4}" height="{HEIGHT}"/>'
        "</clipPath>",
        '<g class="edges" aria-hidden="true">',
        *(f'<path d="{_path(route, columns)}"/>' for route in layout.routes.values()),
        "</g>",
    ]
    for node in nodes:
        x, y = columns.at(layout.places[node.number], rank[node.number])
        parts += _box(node, MARGIN + ACROSS * x, MARGIN + DOWN * y, measure)
    return "\n".join([*parts, "</svg>"])


def label(node: Node, text: str) -> str:
    """The text that a screen reader speaks for a node."""
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
    yield f'<rect class="bar" y="{HEIGHT - 7}" width="{bar}" height="4"/>'
    second, third = _lines(node)
    name = escape(shorten(printable(node.name), LONGEST_NAME))
    yield f'<g clip-path="url(#inside)"><text class="name" x="10" y="19">{name}</text>'
    yield f'<text class="kind" x="10" y="33">{escape(second)}</text>'
    shown = escape(text or third)
    yield f'<text class="value" x="10" y="46">{shown}</text></g></g>'


def _lines(node: Node) -> tuple[str, str]:
    """The lines below a node's name: kind and attributes of a layer, shape and scale of
    other nodes."""
    if node.op is None:
        shape, _, scale = node.type.partition(" (")
        return f"{node.role}, {shape}", f"({scale}" if scale else ""
    about = summary(node.op)
    return shorten(f"{node.kind} {about}".strip(), LONGEST_LINE), ""


def _path(route: Sequence[tuple[float, int]], columns: Columns) -> str:
    """A curve from below one box to above another, by the points between."""
    middle = MARGIN + WIDTH / 2
    points: list[tuple[float, float, int]] = []
    for place, rank in route:
        across, down = columns.at(place, rank)
        points.append((middle + ACROSS * across, MARGIN + DOWN * down, rank))
    (x, y, _), *_ = points
    text = f"M{x:.1f} {y + HEIGHT}"
    for number, ((x, y, rank), (next_x, next_y, below)) in enumerate(pairwise(points)):
        # Between ranks a curve, beside the boxes of a rank a line.
        if number:
            text += f"L{x:.1f} {y + HEIGHT}"
        column = columns.column(below)
        if column > columns.column(rank):
            # Up between the columns, and from above into the next.
            edge = MARGIN + ACROSS * (columns.shift[column] - GAP / 2) - ACROSS / 16
            text += f"V{y + HEIGHT + 14}H{edge:.1f}V{MARGIN - 14}H{next_x:.1f}V{next_y}"
            continue
        half = (y + HEIGHT + next_y) / 2
        text += f"C{x:.1f} {half:.1f} {next_x:.1f} {half:.1f} {next_x:.1f} {next_y}"
    return text


def neighbours(nodes: Sequence[Node], layout: Layout) -> Mapping[int, Sequence[int]]:
    """The nodes that the arrow keys lead to: up, right, down and left of each; -1 where
    there is none."""
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
