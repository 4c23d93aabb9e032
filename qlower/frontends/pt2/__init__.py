"""Programs that PyTorch exported (`.pt2`) as qnn modules.

They are read without PyTorch. The groups of dequantize, operator, quantize that PT2E
leaves become operators on integers where the system that the quantizer was made for
runs those: the lowering for x86, or XNNPACK. The rest stays float32, as in the program.
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.kept.journal import read_given

from ..graph.importer import Framework, Reading, build_module, find_problems
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

__all__ = ["check_pt2", "import_pt2"]


def _read_graph(graph: Graph, options: ImportOptions) -> Reading:
    executor = find_executor(graph)
    unfused = fuse(graph, executor)
    return Reading(
        executor.contract, unfused, lambda: remarks(graph, executor, unfused)
    )


PYTORCH = Framework(
    IMPORTERS,
    _read_graph,
    "the model isn't quantized: do that first, by torchao.quantization.pt2e",
    "compute it before the export, and keep it in the module with register_buffer",
)


def import_pt2(
    path_or_bytes: str | Path | bytes,
    *,
    name: str,
    options: ImportOptions | None = None,
) -> ModuleOp:
    """Read a quantized file of `torch.export.save` into a module at the qnn level.

    `name` is the file name of locations and messages; `options` fixes shapes and cuts
    the model. Raises `QlowerError` when the file can't be read, is damaged, or has
    something that is not supported; the message names node, argument, value and the
    legal range.
    """
    return build_module(_read(path_or_bytes, name), options or ImportOptions(), PYTORCH)


def check_pt2(path: Path, options: ImportOptions) -> list[QlowerError]:
    """Everything that keeps `import_pt2` from reading a file."""
    return find_problems(_read(path, str(path)), options, PYTORCH)


def _read(path_or_bytes: str | Path | bytes, name: str) -> Model:
    program = read_torchao(read_program(read_given(path_or_bytes), name))
    return Translator(program, TABLE).model()
