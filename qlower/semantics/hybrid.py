"""Meaning of layers on real numbers whose weights are stored integers."""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import PythonValues

from qlower.contracts.hybrid import hybrid_values, kind_values, ranges_of
from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.interp.engine import implement, register_implementations

from .rules import RuleFunctions


@register_implementations
class HybridFunctions(RuleFunctions):
    """Codes of real numbers, exact sums, and the rules that finish them."""

    @implement(qnn.HybridConv2DOp, qnn.HybridDepthwiseConv2DOp, qnn.HybridLinearOp)
    def run_hybrid(self, op: qnn.HybridOp, args: PythonValues) -> PythonValues:
        x, weight, *bias = args
        ranges = x.reshape(ranges_of(self.contract(op), op))
        along = tuple(range(1, ranges.ndim))
        lowest, highest = (
            np.asarray(end.reduce(ranges, axis=along, initial=0, dtype=np.float32))
            for end in (np.minimum, np.maximum)
        )
        given = {"lowest": lowest, "highest": highest, **kind_values(op)}
        made = self.contract(op).rule(op.range_rule).evaluate(given)
        rank = [-1] + [1] * (x.ndim - 1)
        scale, factor, point = (
            np.broadcast_to(value, lowest.shape).reshape(rank) for value in made
        )
        codes = self.evaluate(
            op,
            "hybrid_code",
            {
                "input": x,
                "input_scale": scale,
                "input_factor": factor,
                "input_zero_point": point,
                **kind_values(op),
            },
            x.shape,
        )
        (result,) = op.results
        values = {
            "accumulator": op.sums.evaluate(codes - point, weight).astype(np.int32),
            "input_scale": np.broadcast_to(scale, shape_of(result)),
            **hybrid_values(op),
        }
        if bias:
            (values["real_bias"],) = bias
        return self.finish(op, op.kind, values, result)
