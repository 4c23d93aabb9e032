"""The page: one file with its style, its script and all data, which loads nothing.

Style and script are files in this folder; the page's policy allows these two by their
hashes and nothing else. A layer's data stay compressed until it is opened.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template

from qlower.diagnostics import printable
from qlower.report.blocks import Block
from qlower.report.drawing import WIDTH, draw, label, neighbours
from qlower.report.graph import Node
from qlower.report.layout import Layout, lay_out
from qlower.report.maps import palettes
from qlower.report.measures import Measure, percent


def page(
    title: str,
    verdict: Sequence[str],
    about: Sequence[tuple[str, str]],
    nodes: Sequence[Node],
    measures: Sequence[Measure],
    layers: Mapping[int, Sequence[Block]],
) -> str:
    """The page's text. The graph is coloured by the first measure at first; `layers`
    has what a layer shows when it is opened, by the number of its node."""
    layout = lay_out([node.sources for node in nodes])
    style, script = _file("page.css"), _file("page.js")
    data = {
        "nodes": _nodes(nodes, layout),
        "measures": [_measure(measure, nodes) for measure in measures],
        "palettes": palettes(),
    }
    return Template(_file("page.html")).substitute(
        policy=policy(style, script),
        title=escape(printable(title)),
        about="\n".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(printable(text))}</dd></div>"
            for name, text in about
        ),
        verdict="\n".join(f"<p>{escape(printable(line))}</p>" for line in verdict),
        measures="\n".join(map(_choice, measures, range(len(measures)))),
        graph=draw(nodes, layout, measures[0]),
        data=json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        layers="\n".join(
            f'<script type="text/plain" id="layer-{number}">{_packed(blocks)}</script>'
            for number, blocks in layers.items()
        ),
        style=style,
        script=script,
    )


def policy(style: str, script: str) -> str:
    """The page's policy: it may show itself and run its own script."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _file(name: str) -> str:
    return files("qlower.report").joinpath(name).read_text(encoding="utf-8")


def _packed(blocks: Sequence[Block]) -> str:
    data = zlib.compress(json.dumps(blocks, separators=(",", ":")).encode(), 9)
    return base64.b64encode(data).decode()


def _choice(measure: Measure, place: int) -> str:
    checked = "" if place else " checked"
    box = f'<input type="radio" name="measure" value="{measure.key}"{checked}>'
    return f"<label>{box} {escape(measure.title)}</label>"


def _nodes(nodes: Sequence[Node], layout: Layout) -> dict[int, dict[str, object]]:
    """The script's data on each node: its spoken text, the words that a search finds,
    and the targets of arrow keys."""
    beside = neighbours(nodes, layout)
    return {
        node.number: {
            "said": label(node, ""),
            "name": printable(node.name),
            "kind": node.kind,
            "text": printable(f"{node.name} {node.full_name} {node.kind}").lower(),
            "layer": node.op is not None,
            "next": beside[node.number],
        }
        for node in nodes
    }


def _measure(measure: Measure, nodes: Sequence[Node]) -> dict[str, object]:
    """Colour, text and length of the bar of each node; `order` has the numbers of all
    nodes, those first that have the most."""
    known = {
        node.number: node.name
        for node in nodes
        if node.role == "layer" and node.name in measure.shares
    }
    order = sorted(
        (node.number for node in nodes),
        key=lambda number: -measure.shares[known[number]] if number in known else 1,
    )
    shown = {
        number: [
            measure.colour(name),
            measure.texts[name],
            measure.bar(name, WIDTH),
            percent(measure.shares[name]),
        ]
        for number, name in known.items()
    }
    return {
        "key": measure.key,
        "title": measure.title,
        "about": measure.about,
        "legend": measure.legend,
        "nodes": shown,
        "order": order,
    }
