"""Programs of the arith level in files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from qlower.text.parsing import parse_module


def read_program(path: Path) -> ModuleOp:
    """The module in a file; `$BYTES(n)` in it stands for n fixed bytes."""

    def some_bytes(match: re.Match[str]) -> str:
        count = int(match[1])
        return np.random.default_rng(count).bytes(count).hex().upper()

    return parse_module(re.sub(r"\$BYTES\((\d+)\)", some_bytes, path.read_text()))
