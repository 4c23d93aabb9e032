"""Obstacles to compiling models, found without making machine code."""

from __future__ import annotations

from dataclasses import replace

from qlower.codegen.values.region import without_code
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import NestOp
from qlower.frontends.check import Checked


def check_machine_code(checked: Checked) -> Checked:
    """The same, with what has no machine code of a model that was read, which is
    let go of."""
    if checked.model is None:
        return checked
    try:
        kernels = Compilation(checked.model).kernels
    except QlowerError as error:
        found = [error]
    else:
        found = [
            error
            for nest in kernels.walk()
            if isinstance(nest, NestOp)
            for region in nest.regions
            if region.blocks
            for error in without_code(region)
        ]
    return replace(checked, without_code=tuple(found), model=None)
