"""Passes by the names that command lines give them."""

from __future__ import annotations

from xdsl.passes import ModulePass, PassPipeline
from xdsl.universe import Universe
from xdsl.utils.exceptions import ArgSpecParseError

from qlower.diagnostics import QlowerError
from qlower.text.pass_options import quote_options
from qlower.transforms import get_all_passes


def parse_passes(text: str) -> list[ModulePass]:
    """The passes that `qlower-opt -p` would run: xDSL's, ours, and those of installed
    packages (entry points `xdsl.universe`)."""
    if not text:
        return []
    known = {**Universe.get_multiverse().all_passes, **get_all_passes()}
    try:
        return list(PassPipeline.parse_spec(known, quote_options(text)).passes)
    except (ArgSpecParseError, ValueError) as error:
        raise QlowerError(f"pass pipeline: {error}") from error
