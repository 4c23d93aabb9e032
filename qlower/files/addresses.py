"""Addresses where the name of a file is expected."""

from __future__ import annotations

import re
import shlex

from qlower.diagnostics import QlowerError

_ADDRESS = re.compile(r"(?:[^=/]+=)?((?:https?|ftp|s3|gs|hf)://.+)")


def refuse_address(word: str) -> None:
    """Raise QlowerError for an address, which may follow a name and `=`."""
    found = _ADDRESS.fullmatch(word)
    if found is not None:
        raise QlowerError(
            f"{found[1]} is an address; only files are read",
            help=f"curl -LO {shlex.quote(found[1])} gets it"
            if found[1].startswith(("http", "ftp"))
            else None,
        )
