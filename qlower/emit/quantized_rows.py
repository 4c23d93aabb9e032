"""Quantization of rows of real numbers by their ranges, while a model runs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_results
from qlower.emit.reductions import ranges_of_rows
from qlower.model.nests import Emitter, Nest


def steps_of_rows(emit: Emitter, library: str, values: SSAValue) -> Sequence[SSAValue]:
    """The scale, the factor and the zero point of each row, tensors of one dimension,
    by `hybrid_range` of a text that comes with qlower."""
    ends = ranges_of_rows(emit, values)
    nest = Nest(emit, shape_of(ends[0]))
    each = (nest.input(end, (0,)) for end in ends)
    return nest.build([*call_results(nest, library, "hybrid_range", *each)])
