"""Modules that FX quantized for one of PyTorch's engines, as qnn modules.

Their operators are integer kernels already: nothing is fused, and the contract is the
engine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError

from ..graph.importer import Framework, Reading, build_module
from ..graph.nodes import Graph
from ..graph.passes import remove_identities
from ..import_options import ImportOptions
from ..pt2.translating import Translator
from .calls import TABLE, real_mean
from .eager import trace_eager
from .modules import read_module
from .operators import IMPORTERS
from .traced import GraphModule, TorchTensor

__all__ = ["GraphModule", "TorchTensor", "import_fx", "trace_eager"]

ENGINES = ("fbgemm", "onednn", "qnnpack", "x86")


def import_fx(
    module: GraphModule,
    examples: Sequence[TorchTensor],
    options: ImportOptions,
) -> ModuleOp:
    """A converted module as a module at the qnn level, with its examples' shapes.

    The contract is that of `torch.backends.quantized.engine`, which packed the weights.
    Raises `QlowerError` for an engine that has no contract, and for what is not
    supported, by name.
    """
    engine = str(import_module("torch").backends.quantized.engine)
    if engine not in ENGINES:
        raise QlowerError(
            f"the engine {engine!r} has no contract; expected one of"
            f" {', '.join(ENGINES)}",
            help="torch.backends.quantized.engine is what the model was converted for",
        )

    program, remarks = read_module(module, examples, engine)

    def read(graph: Graph, options: ImportOptions) -> Reading:
        remove_identities(graph)
        return Reading(f"pytorch-{engine}", lambda: [_remark(engine), *remarks])

    framework = Framework(
        IMPORTERS,
        read,
        "the module isn't quantized: torch.ao's convert and convert_fx do that",
        "compute it before, and keep it in the module with register_buffer",
    )
    table = TABLE if engine == "qnnpack" else {**TABLE, "quantized.mean": real_mean}
    model = Translator(program, table).model()
    return build_module(model, options, framework)


def _remark(engine: str) -> str:
    """The remark on the contract, and on the processors on which the engine computes
    it."""
    told = f"the contract is pytorch-{engine}, the engine that is set"
    if engine in ("fbgemm", "onednn"):
        return f"{told}, on CPUs with VNNI; without, pytorch-{engine}-avx2 is"
    return told
