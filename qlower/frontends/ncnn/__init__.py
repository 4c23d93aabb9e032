"""ncnn's `.param` files, with the weights of the `.bin` file of the same name.

A module computes what ncnn's int8 layers compute on x86-64 with AVX-512: the contract
`ncnn`. Layers whose results are real numbers give such, and those behind them quantize
again, as ncnn does. A dimension of images comes before ncnn's own.
"""

from __future__ import annotations

from pathlib import Path

from qlower.diagnostics import QlowerError
from qlower.kept.journal import read_file, read_given

from ..format import Source
from ..graph.importer import Framework, Reading, graph_format
from ..graph.nodes import Graph
from ..graph.schema import Model
from ..import_options import ImportOptions
from . import plain, quantized
from .reader import DOMAIN, read_model

__all__ = ["FORMAT"]

REMARK = (
    "ncnn 1.0 gives the same bits on x86-64 with AVX-512, `use_packing_layout` off"
    " and one thread; before AVX-512 depthwise convolutions of 3x3 round once more"
)

LAYERS = {**quantized.LAYERS, **plain.LAYERS}


def _read(graph: Graph, options: ImportOptions) -> Reading:
    return Reading(quantized.CONTRACT, lambda: [REMARK])


NCNN = Framework(
    {(DOMAIN, kind): entry for kind, entry in LAYERS.items()},
    _read,
    "the model isn't quantized: ncnn2table and ncnn2int8 do that",
    "run ncnnoptimize on the model first, which folds what can be folded",
)


def _model(source: Source, name: str, options: ImportOptions) -> Model:
    """The model of a `.param` file, beside which the `.bin` file is."""
    assert not isinstance(source, bytes), "there is a second file"
    path = Path(source)
    beside = path.with_suffix(".bin")
    try:
        weights = read_file(beside)
    except OSError as error:
        raise QlowerError(
            f"cannot read {beside}: {error.strerror}",
            help=f"{path.name} has layers, {beside.name} their weights",
        ) from error
    return read_model(read_given(path), weights, name, str(beside))


FORMAT = graph_format(_model, NCNN)
