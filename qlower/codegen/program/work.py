"""How much a kernel does: products, bytes, and an estimate of its time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.dialects.arith import ConstantOp
from xdsl.ir import Operation, Region, SSAValue

from qlower.codegen.nests.nest import Nest
from qlower.codegen.nests.recognise import Contraction, DepthwiseProducts, recognise
from qlower.codegen.skeletons.tile_registers.plan import plan_tiles, product_cycles
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import CopyOp, NestOp, byte_size, tensor_type
from qlower.model.layers import layer_title

_CYCLES_PER_NANOSECOND = 3.0
_BYTES_PER_NANOSECOND = 60.0


@dataclass(frozen=True)
class Kernel:
    """One nest or copy of the compiled code.

    `layer` names the source layer, or several: `conv + add`; `family` the skeleton;
    `products` the multiply-accumulates of a sum of products (else 0), `bytes` the size
    of all tensors that it reads and writes, weights included.
    """

    layer: str
    family: str
    products: int
    bytes: int


def nest_kernel(op: NestOp, nest: Nest) -> Kernel:
    """What is known of a nest."""
    products = recognise(nest)
    family = op.family.data
    if products is not None:
        family = "contraction" if isinstance(products, Contraction) else "depthwise"
    return Kernel(
        layer_title(op) or op.name,
        family,
        prod(nest.bounds) if products is not None else 0,
        moved_bytes((*op.inputs, *op.tables, *op.res)),
    )


def copy_kernel(op: CopyOp) -> Kernel:
    """What is known of a copy, which reads its box only, or writes its border."""
    written = byte_size(tensor_type(op.result))
    if op.box_is_written:
        border = written - byte_size(tensor_type(op.source))
        return Kernel(layer_title(op) or op.name, "copy", 0, border)
    box = (
        prod(op.sizes.get_values())
        * written
        // prod(tensor_type(op.result).get_shape())
    )
    return Kernel(layer_title(op) or op.name, "copy", 0, written + box)


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


def estimated_nanoseconds(nest: Nest, bytes: int, target: Target) -> float:
    """The time of a nest that moves so many bytes, to within a factor of two or so.

    An operation of a region is taken to cost half a cycle for each vector of 32-bit
    lanes.
    """
    lanes = target.vector_bits // 32
    op = nest.op
    vectors = prod(nest.parallel) / lanes
    cycles = 0.5 * vectors * (_operations(op.init) + _operations(op.epilogue))
    products = recognise(nest)
    if isinstance(products, Contraction):
        plan = plan_tiles(target, products)
        if plan is not None:
            cycles += product_cycles(products, plan)
        else:
            cycles += prod(nest.bounds) / (4 * lanes)
    elif isinstance(products, DepthwiseProducts):  # its bytes have to be interleaved
        cycles += 0.5 * prod(nest.bounds) / lanes
    elif nest.reduction:
        cycles += 0.5 * vectors * prod(nest.reduction) * _operations(op.body)
    return max(cycles / _CYCLES_PER_NANOSECOND, bytes / _BYTES_PER_NANOSECOND)


def _operations(region: Region) -> int:
    return sum(_computes(op) for op in region.walk())


def _computes(op: Operation) -> bool:
    return bool(op.results) and not isinstance(op, ConstantOp)
