"""The work of a kernel: products, bytes, and an estimate of its time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Operation, Region, SSAValue

from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.recognise import Products
from qlower.codegen.program.compiled import Kernel
from qlower.codegen.skeletons.choose import Skeleton
from qlower.codegen.skeletons.contraction.of_activations import PairPlan
from qlower.codegen.skeletons.contraction.tiling import VectorPlan
from qlower.codegen.skeletons.contraction.widened import WidenedPlan
from qlower.codegen.skeletons.depthwise.emit import WindowPlan
from qlower.codegen.skeletons.depthwise.routine import RoutinePlan
from qlower.codegen.skeletons.loops import LoopPlan
from qlower.codegen.skeletons.tile_registers.plan import (
    TiledContraction,
    product_cycles,
)
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import CopyOp, ScanOp, byte_size
from qlower.dialects.operations import operations_in
from qlower.dialects.types import tensor_type
from qlower.model.layers import layer_names, layer_title

_CYCLES_PER_NANOSECOND = 3.0
_BYTES_PER_NANOSECOND = 60.0
"""Round figures of a processor of 3 GHz and of its second-level cache. They decide
whether threads pay; `examples/benchmark/estimates.py` compares what they give with what
is measured."""

_CYCLES_PER_OPERATION = 0.5
"""Estimated cycles of an operation of a region, for each vector of 32-bit lanes; it is
compared likewise."""


def nest_kernel(name: str, nest: LoopNest, products: Products | None) -> Kernel:
    """The kernel's facts about a nest, which may be a sum of products with weights."""
    op = nest.op
    operations = _operations(op.init) + _operations(op.epilogue)
    if products is None:
        operations += _operations(op.body) * prod(nest.reduction)
    return Kernel(
        name,
        layer_title(op) or op.name,
        layer_names(op),
        op.family.data,
        0 if products is None else prod(nest.bounds),
        moved_bytes((*op.inputs, *op.tables, *op.res)),
        prod(nest.parallel),
        operations,
        1 if products is None else nest.bounds[products.lane],
        1 if products is None else _step(products),
        products is not None and products.activation.scalar == "i16",
    )


def _step(products: Products) -> int:
    """The distance in pixels between the windows of neighbouring results."""
    nest, activation = products.nest, products.activation
    pixel = tensor_type(nest.op.inputs[activation.index]).get_shape()[-1]
    strides = (
        stride
        for loop, stride in enumerate(activation.operand.strides[: len(nest.parallel)])
        if loop != products.lane and stride > 0 and nest.bounds[loop] > 1
    )
    return max(min(strides, default=pixel) // pixel, 1)


def copy_kernel(name: str, op: CopyOp) -> Kernel:
    """The kernel's facts about a copy."""
    title = layer_title(op) or op.name
    results = prod(tensor_type(op.result).get_shape())
    size = _copied_bytes(op)
    return Kernel(
        name, title, layer_names(op), "copy", 0, size, results, 0, 1, 1, False
    )


def scan_kernel(name: str, op: ScanOp, step: Sequence[Kernel]) -> Kernel:
    """The kernel of a scan, from the kernels of one step."""
    size = moved_bytes((*op.operands, *op.res)) + sum(one.bytes for one in step)
    results = sum(prod(tensor_type(result).get_shape()) for result in op.res)
    return Kernel(
        name,
        layer_title(op) or op.name,
        layer_names(op),
        "scan",
        op.count * sum(one.products for one in step),
        size,
        results,
        sum(one.operations for one in step),
        1,
        1,
        False,
    )


def _copied_bytes(op: CopyOp) -> int:
    """A copy reads its box only, or writes its border only."""
    written = byte_size(tensor_type(op.result))
    if op.box_is_written:
        return written - byte_size(tensor_type(op.source))
    elements = prod(tensor_type(op.result).get_shape())
    return written + prod(op.sizes.get_values()) * written // elements


def moved_bytes(values: Iterable[SSAValue]) -> int:
    """Bytes of the tensors, each counted once; padding that isn't stored has none."""
    stored = (
        op.source
        if isinstance(op := value.owner, CopyOp) and not op.is_stored
        else value
        for value in values
    )
    return sum(byte_size(tensor_type(value)) for value in dict.fromkeys(stored))


def estimated_copy_nanoseconds(kernel: Kernel) -> float:
    """The time of a copy, most of it in the second-level cache."""
    return kernel.bytes / _BYTES_PER_NANOSECOND


def estimated_nanoseconds(
    nest: LoopNest, skeleton: Skeleton, bytes: int, target: Target
) -> float:
    """The time of a nest that moves the given number of bytes, to within a factor of
    about two."""
    lanes = target.vector_bits // 32
    vectors = prod(nest.parallel) / lanes
    operations = _operations(nest.op.init) + _operations(nest.op.epilogue)
    cycles = _CYCLES_PER_OPERATION * vectors * operations
    match skeleton:
        case (
            VectorPlan(contraction=contraction)
            | WidenedPlan(contraction=contraction)
            | PairPlan(contraction=contraction)
        ):
            size = contraction.activation.operand.element_bytes
            cycles += prod(nest.bounds) * size / (4 * lanes)
        case TiledContraction(contraction=contraction, plan=plan):
            cycles += product_cycles(contraction, plan)
        case WindowPlan() | RoutinePlan():  # its bytes have to be interleaved
            cycles += 0.5 * prod(nest.bounds) / lanes
        case LoopPlan():
            steps = vectors * prod(nest.reduction) * _operations(nest.op.body)
            cycles += _CYCLES_PER_OPERATION * steps
    return max(cycles / _CYCLES_PER_NANOSECOND, bytes / _BYTES_PER_NANOSECOND)


def _operations(region: Region) -> int:
    return sum(_computes(op) for op in operations_in(region))


def _computes(op: Operation) -> bool:
    return bool(op.results) and not isinstance(op, ConstantOp)
