"""Meaning of the `linalg` ops on tensors."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineDimExpr, AffineMap

from qlower.dialects.types import is_tensor_type

from .engine import implement, register_implementations, yielding
from .nest import Lanes, Loops, counting, evaluate_nest, infer_bounds
from .values import Array, PartialTensor, Tensor, dtype_of, static_shape


@register_implementations
class LinalgFunctions(InterpreterFunctions):
    """Implementations of the `linalg` ops."""

    @impl(GenericOp)
    def run_generic(
        self, interpreter: Interpreter, op: GenericOp, args: PythonValues
    ) -> PythonValues:
        """The loop nest whose accumulators start as the elements of the outs."""
        maps = [indexing.data for indexing in op.indexing_maps]
        is_reduction = (it.data == IteratorType.REDUCTION for it in op.iterator_types)
        bounds = infer_bounds(maps, [_shape(operand.type) for operand in op.operands])
        ins = len(op.inputs)
        results = [
            _result_array(out, indexing)
            for out, indexing in zip(args[ins:], maps[ins:], strict=True)
        ]

        def body(lanes: Lanes, accumulators: Lanes) -> Lanes:
            return interpreter.run_ssacfg_region(op.body, lanes[:ins] + accumulators)

        evaluate_nest(
            interpreter,
            Loops(bounds, tuple(is_reduction)),
            list(zip(args, maps, strict=True)),
            list(zip(results, maps[ins:], strict=True)),
            init=lambda lanes: lanes[ins:],
            body=body,
            epilogue=lambda lanes, accumulators: accumulators,
        )
        return tuple(results)

    run_yield = yielding(YieldOp)

    run_index = counting(IndexOp)

    @implement(FillOp)
    def run_fill(self, op: FillOp, args: PythonValues) -> PythonValues:
        """One number at every place, without storing it more than once."""
        result_type = op.outputs[0].type
        number = np.asarray(args[0], dtype_of(result_type))
        return (np.broadcast_to(number, static_shape(result_type)),)


def _shape(type: Attribute) -> tuple[int, ...]:
    """The shape of an operand; a number has no axes."""
    return static_shape(type) if is_tensor_type(type) else ()


def _result_array(out: Tensor, indexing: AffineMap) -> Array:
    """A fresh array for a result, with what the nest doesn't write taken from `out`."""
    # Distinct counters, which count to the extents of the axes, write every element.
    dims = {e.position for e in indexing.results if isinstance(e, AffineDimExpr)}
    covers = len(dims) == len(indexing.results)
    if isinstance(out, PartialTensor):
        return np.empty_like(out.data) if covers else out.refuse()
    return np.empty_like(out, subok=False, order="C") if covers else out.copy()
