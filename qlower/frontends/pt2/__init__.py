"""Programs that PyTorch exported (`.pt2`) as qnn modules.

They are read without PyTorch. The groups of dequantize, operator, quantize that PT2E
leaves become operators on integers where the system that the quantizer was made for
runs those: the lowering for x86, or XNNPACK. The rest stays float32, as in the program.
"""

from __future__ import annotations

from qlower.kept.journal import read_given

from ..format import Source
from ..graph.importer import Framework, Reading, graph_format
from ..graph.nodes import Graph
from ..graph.schema import Model
from ..import_options import ImportOptions
from .calls import TABLE
from .fusing import find_executor, fuse
from .operators import IMPORTERS
from .reader import read_program
from .remarks import remarks
from .torchao import read_torchao
from .translating import Translator

__all__ = ["FORMAT", "import_pt2"]


def _read_graph(graph: Graph, options: ImportOptions) -> Reading:
    executor = find_executor(graph)
    unfused = fuse(graph, executor)
    return Reading(executor.contract, lambda: remarks(graph, executor, unfused))


PYTORCH = Framework(
    IMPORTERS,
    _read_graph,
    "the model isn't quantized: do that first, by torchao.quantization.pt2e",
    "compute it before the export, and keep it in the module with register_buffer",
)


def _read(source: Source, name: str, options: ImportOptions) -> Model:
    program = read_torchao(read_program(read_given(source), name))
    return Translator(program, TABLE).model()


FORMAT = graph_format(_read, PYTORCH)
import_pt2 = FORMAT.module
