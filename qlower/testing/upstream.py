"""Finding upstream's mlir-opt, an independent check of the IR that we print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from functools import cache
from pathlib import Path

OLDEST = 22
"""The first release of LLVM that reads all of our text."""


@cache
def find_mlir_opt() -> str | None:
    """$QLOWER_MLIR_OPT, else the one of the extra `mlir`, else one on the path.

    None where there is no mlir-opt, or none that is new enough.
    """
    installed = Path(sysconfig.get_path("purelib"), "mlir", "bin", "mlir-opt")
    candidates = (
        os.environ.get("QLOWER_MLIR_OPT"),
        str(installed) if installed.is_file() else None,
        shutil.which("mlir-opt"),
    )
    return next((path for path in candidates if path and _is_new_enough(path)), None)


def _is_new_enough(path: str) -> bool:
    try:
        version = subprocess.run([path, "--version"], capture_output=True, text=True)
    except OSError:
        return False
    match = re.search(r"LLVM version (\d+)", version.stdout)
    return match is not None and int(match[1]) >= OLDEST
