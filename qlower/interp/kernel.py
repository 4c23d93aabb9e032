"""Meaning of the `kernel` ops: loop nests in three parts, and data movement.

Buffers are ignored: a value never changes, wherever plan-memory has put it.
"""

from __future__ import annotations

import numpy as np
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl
from xdsl.ir import Region

from qlower.dialects.kernel import CopyOp, IndexOp, NestOp, ScanOp, YieldOp
from qlower.dialects.types import element_type

from .engine import implement, register_implementations, yielding
from .nest import Lanes, Loops, counting, evaluate_nest
from .tensor import box_of, insert
from .values import PartialTensor, as_value, dtype_of, rearrange, static_shape


@register_implementations
class KernelFunctions(InterpreterFunctions):
    """Implementations of the `kernel` ops."""

    @impl(NestOp)
    def run_nest(
        self, interpreter: Interpreter, op: NestOp, args: PythonValues
    ) -> PythonValues:
        """`init`, `body` at each reduction point, `epilogue`, at each parallel point.

        The tables are not needed here: the regions see them as values from above.
        """

        def run(region: Region, lanes: Lanes, accumulators: Lanes) -> Lanes:
            if not region.blocks:
                return accumulators
            return interpreter.run_ssacfg_region(region, lanes + accumulators)

        bounds = op.bounds
        parallel = len(op.parallel_bounds)
        results = [
            np.empty(static_shape(result.type), dtype_of(result.type))
            for result in op.res
        ]
        evaluate_nest(
            interpreter,
            Loops(bounds, tuple(dim >= parallel for dim in range(len(bounds)))),
            list(zip(args[: len(op.inputs)], op.input_maps, strict=True)),
            list(zip(results, op.result_maps, strict=True)),
            init=lambda lanes: run(op.init, lanes, ()),
            body=lambda lanes, accumulators: run(op.body, lanes, accumulators),
            epilogue=lambda lanes, accumulators: run(op.epilogue, lanes, accumulators),
        )
        return tuple(results)

    run_yield = yielding(YieldOp)

    run_index = counting(IndexOp)

    @impl(ScanOp)
    def run_scan(
        self, interpreter: Interpreter, op: ScanOp, args: PythonValues
    ) -> PythonValues:
        """The function, step after step, or while the first value is true."""
        count = len(op.carried)
        carried, over = args[:count], args[count:]
        if op.is_open:
            while carried[0].item():
                carried = interpreter.run_ssacfg_region(op.function.body, carried)
            return carried
        parts: list[PythonValues] = []
        for step in range(op.count)[:: -1 if op.is_reversed is not None else 1]:
            taken = (*carried, *(sequence[step] for sequence in over))
            given = interpreter.run_ssacfg_region(op.function.body, taken)
            carried = given[:count]
            parts.append(given[count:])
        if op.is_reversed is not None:
            parts.reverse()
        return (*carried, *map(np.stack, zip(*parts, strict=True)))

    @implement(CopyOp)
    def run_copy(self, op: CopyOp, args: PythonValues) -> PythonValues:
        """The destination, the fill value or nothing, with a box of the source."""
        shape = static_shape(op.result.type)
        if op.destination is not None:
            destination = args[1]
        elif op.fill is not None:
            fill = as_value(op.fill.value.data, element_type(op.result.type))
            destination = np.broadcast_to(fill, shape)
        else:
            destination = PartialTensor.empty(op.result.type)
        sizes = op.sizes.get_values()
        source_box = box_of(
            static_shape(op.source.type),
            op.source_offsets.get_values(),
            sizes,
            op.source_strides.get_values(),
        )
        box = box_of(shape, op.offsets.get_values(), sizes, op.strides.get_values())
        source = rearrange(args[0], lambda elements: elements[source_box])
        return (insert(source, destination, box),)
