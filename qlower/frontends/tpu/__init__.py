"""TPU-MLIR's text of int8 models, after its lowering for a chip, with the weights in
the `.npz` file beside it.

A module computes what TPU-MLIR's own interpreter does: multipliers and shifts are taken
from the text, and nothing is derived from scales but the borders to real numbers.
"""

from __future__ import annotations

from pathlib import Path

from ..format import Source
from ..graph.importer import Framework, Reading, graph_format
from ..graph.nodes import Graph
from ..graph.schema import Model
from ..import_options import ImportOptions
from .layers import CONTRACT, LAYERS
from .reader import DOMAIN, read_model

__all__ = ["FORMAT"]

REMARK = "sums are of 32 bits, as on the chip; TPU-MLIR's interpreter holds float32"


def _read(graph: Graph, options: ImportOptions) -> Reading:
    return Reading(CONTRACT, lambda: [REMARK])


TPU = Framework(
    {(DOMAIN, kind): entry for kind, entry in LAYERS.items()},
    _read,
    unquantized="the model isn't quantized: model_deploy --quantize INT8 does that",
    computed="TPU-MLIR folds what can be computed before the model runs",
)


def _model(source: Source, name: str, options: ImportOptions) -> Model:
    """The model of a text, beside which the `.npz` file is that its module names."""
    assert not isinstance(source, bytes), "there is a second file"
    return read_model(Path(source), name)


FORMAT = graph_format(_model, TPU)
