"""How an ONNX file is read by the contracts that a command names."""

from __future__ import annotations

import argparse
from pathlib import Path


def named_reading(path: str, options: argparse.Namespace) -> str | None:
    """The reading of an ONNX file for which the contracts that are named stand; None if
    that is the default one."""
    words: list[str] = [*(getattr(options, "equal", None) or ())]
    for name in ("contract", "a", "b"):
        given = getattr(options, name, None)
        words += given.split(",") if isinstance(given, str) else given or ()
    if not words or Path(path).suffix != ".onnx":
        return None
    from qlower.contracts import is_contract
    from qlower.frontends.import_options import INTEGER
    from qlower.frontends.readings import reading_of

    named = [word for word in (one.split(":")[0] for one in words) if is_contract(word)]
    reading = reading_of(named)
    return None if reading == INTEGER else reading
