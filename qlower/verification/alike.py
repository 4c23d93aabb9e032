"""Layers that are alike, about which one decision is enough."""

from __future__ import annotations

from qlower.kept.fingerprint import fingerprint
from qlower.model import Model
from qlower.model.entry import main_function


def content_of(model: Model, layer: str) -> bytes:
    """A hash of a layer alone, without its name and the names of what it reads: layers
    with one hash compute the same."""
    module, _, _ = model.index.detach([layer])
    function = main_function(module)
    function.arg_attrs = function.res_attrs = None
    for op in module.walk():
        blocks = (block for region in op.regions for block in region.blocks)
        for value in (*op.results, *(arg for block in blocks for arg in block.args)):
            value.name_hint = None
    return fingerprint(module, locations=False)
