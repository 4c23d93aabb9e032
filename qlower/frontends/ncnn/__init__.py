"""ncnn's `.param` files, with the weights of the `.bin` file of the same name.

A module computes what ncnn's int8 layers compute on x86: the contract `ncnn`. Layers
whose results are real numbers give such, and those behind them quantize again, as ncnn
does. A dimension of images comes before ncnn's own.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.kept.journal import read_file, read_given

from ..graph.importer import Framework, Reading, build_module, find_problems
from ..graph.nodes import Graph
from ..graph.schema import Model
from ..import_options import ImportOptions
from . import plain, quantized
from .reader import DOMAIN, read_model

__all__ = ["check_ncnn", "import_ncnn"]

REMARK = (
    "ncnn 1.0 gives the same bits on x86-64 with FMA, with options.use_packing_layout"
    " off and one thread"
)

LAYERS = {**quantized.LAYERS, **plain.LAYERS}


def _read(graph: Graph, options: ImportOptions) -> Reading:
    return Reading(quantized.CONTRACT, {}, lambda: [REMARK])


NCNN = Framework(
    {(DOMAIN, kind): entry for kind, entry in LAYERS.items()},
    _read,
    "the model isn't quantized: ncnn2table and ncnn2int8 do that",
    "run ncnnoptimize on the model first, which folds what can be folded",
)


def import_ncnn(
    path: Path, *, name: str, options: ImportOptions | None = None
) -> ModuleOp:
    """Read a quantized model of ncnn into a module at the qnn level.

    `path` is the `.param` file, beside which the `.bin` file is; `name` is the file
    name of locations and messages; `options` fixes shapes and cuts the model. Raises
    `QlowerError` when a file can't be read, is damaged, or has something that is not
    supported; the message names line, layer, value and the legal range.
    """
    return build_module(_model(path, name), options or ImportOptions(), NCNN)


def check_ncnn(path: Path, options: ImportOptions) -> list[QlowerError]:
    """Everything that keeps `import_ncnn` from reading a file."""
    return find_problems(_model(path, str(path)), options, NCNN)


def _model(path: Path, name: str) -> Model:
    beside = path.with_suffix(".bin")
    try:
        weights = read_file(beside)
    except OSError as error:
        raise QlowerError(
            f"cannot read {beside}: {error.strerror}",
            help=f"{path.name} has layers, {beside.name} their weights",
        ) from error
    return read_model(read_given(path), weights, name, str(beside))
