"""Finding upstream's mlir-opt, an independent check of the IR that we print."""

from __future__ import annotations

import os

from qlower.files.llvm_tools import find_tool

OLDEST = 22
"""The first release of LLVM that reads all of our text."""


def find_mlir_opt() -> str | None:
    """$QLOWER_MLIR_OPT, else the one of the extra `mlir`, else one on the path.

    None where there is no mlir-opt, or none that is new enough.
    """
    return find_tool("mlir", "mlir-opt", OLDEST, os.environ.get("QLOWER_MLIR_OPT"))
