"""TPU-MLIR's text of int8 models, after its lowering for a chip, with the weights in
the `.npz` file beside it.

A module computes what TPU-MLIR's own interpreter does: multipliers and shifts are taken
from the text, and nothing is derived from scales but the borders to real numbers.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError

from ..graph.importer import Framework, Reading, build_module, find_problems
from ..graph.nodes import Graph
from ..import_options import ImportOptions
from .layers import CONTRACT, LAYERS
from .reader import DOMAIN, read_model

__all__ = ["check_tpu", "import_tpu"]

REMARK = "sums are of 32 bits, as on the chip; TPU-MLIR's interpreter holds float32"


def _read(graph: Graph, options: ImportOptions) -> Reading:
    return Reading(CONTRACT, {}, lambda: [REMARK])


TPU = Framework(
    {(DOMAIN, kind): entry for kind, entry in LAYERS.items()},
    _read,
    unquantized="the model isn't quantized: model_deploy --quantize INT8 does that",
    computed="TPU-MLIR folds what can be computed before the model runs",
)


def import_tpu(
    path: Path, *, name: str, options: ImportOptions | None = None
) -> ModuleOp:
    """Read a model in TPU-MLIR's `tpu` dialect into a module at the qnn level.

    `path` is the text, beside which the `.npz` file is that its module names; `name` is
    the file name of locations and messages; `options` cuts the model. Raises
    `QlowerError` when a file can't be read, is malformed, or has something that is not
    supported; the message names line, operation, value and the legal range.
    """
    return build_module(read_model(path, name), options or ImportOptions(), TPU)


def check_tpu(path: Path, options: ImportOptions) -> list[QlowerError]:
    """Everything that keeps `import_tpu` from reading a file."""
    return find_problems(read_model(path, str(path)), options, TPU)
