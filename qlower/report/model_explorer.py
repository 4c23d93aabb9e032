"""Files for Model Explorer (google-ai-edge/model-explorer): a graph, and node data.

The graph is a `GraphCollection` of its `input_graph.ts`, node data are by graphs as in
its `node_data_builder.py`, and colours are the stops of a gradient.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from qlower.diagnostics import printable
from qlower.report.graph import Node
from qlower.report.measures import Measure

GRADIENT = ("#ffffff", "#fdc070", "#c8501e")
"""From none to the most that any layer has."""


def explorer_files(
    title: str, nodes: Sequence[Node], measures: Sequence[Measure]
) -> dict[str, str]:
    """The text of each file, by its name: `graph.json`, and one for each measure."""
    name = printable(title)
    graph = {"id": name, "nodes": [_node(node, nodes) for node in nodes]}
    files: dict[str, object] = {"graph.json": {"label": name, "graphs": [graph]}}
    stops = [
        {"stop": place / (len(GRADIENT) - 1), "bgColor": colour}
        for place, colour in enumerate(GRADIENT)
    ]
    for measure in measures:
        results = {
            _key(node): {"value": measure.shares[node.name]}
            for node in nodes
            if node.role == "layer" and node.name in measure.shares
        }
        data = {name: {"results": results, "gradient": stops}}
        files[f"{measure.key}.json"] = data
    return {name: f"{json.dumps(file, indent=1)}\n" for name, file in files.items()}


def _key(node: Node) -> str:
    """The node's id: numbers distinguish layers from inputs of the same name."""
    return f"{node.number} {printable(node.name)}"


def _node(node: Node, nodes: Sequence[Node]) -> dict[str, object]:
    attributes = {"name": node.name, "in the file": node.full_name, "role": node.role}
    return {
        "id": _key(node),
        "label": node.kind,
        "namespace": printable(node.name.rpartition("/")[0]),
        "attrs": [{"key": k, "value": printable(v)} for k, v in attributes.items()],
        "incomingEdges": [
            {
                "sourceNodeId": _key(nodes[source]),
                "sourceNodeOutputId": "0",
                "targetNodeInputId": str(place),
            }
            for place, source in enumerate(node.sources)
        ],
        "outputsMetadata": [
            {
                "id": "0",
                "attrs": [
                    {"key": "tensor_name", "value": printable(node.name)},
                    {"key": "type", "value": node.type},
                ],
            }
        ],
    }
