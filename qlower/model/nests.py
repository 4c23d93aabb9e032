"""Building blocks of functions on plain tensors: constants, buffers and loop nests.

The lowering of quantized operations uses them, and front ends where a model computes in
float32: `linalg` operations may appear between `qnn` ones.

    nest = Nest(Emitter(block.add_op, location), (4, 8))
    x = nest.input(image, (0, 1))
    y = nest.input(row, broadcast_indices((8,), (4, 8)))
    (total,) = nest.build([nest.add(arith.AddfOp(x, y)).result])

Operations that every nest has are made by xDSL's `create`, which takes their parts as
they are: the constructors first ask what each is, for three times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyDenseElement,
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    TensorType,
    i32,
)
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.utils.hints import isa

from qlower.dialects.fixed import SaturateOp
from qlower.dialects.integers import segment_sizes
from qlower.dialects.operations import operations_in
from qlower.dialects.types import tensor_type
from qlower.interp.values import Array, dtype_of

OpT = TypeVar("OpT", bound=Operation)

Index: TypeAlias = int | AffineExpr
"""A loop by its number, or an expression over loops."""

Combine: TypeAlias = Callable[[Sequence[BlockArgument]], Sequence[SSAValue]]
"""Appends the step from accumulators to the next ones to a nest's body."""


def scalar_constant(value: np.generic | float, type: Attribute) -> arith.ConstantOp:
    """One number of an integer, index or float type."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(type, IndexType):
        return constant(IntegerAttr(int(number), type))
    if isinstance(type, IntegerType):
        return constant(_integer(int(number), type.bitwidth))
    assert isinstance(type, AnyFloat)
    return constant(FloatAttr(float(number), type))


@lru_cache(maxsize=1 << 12)
def _integer(number: int, width: int) -> IntegerAttr[IntegerType]:
    """The text form of a signless integer is the signed one; an i1 is 0 or -1."""
    half = 1 << (width - 1)
    return IntegerAttr((number + half) % (2 * half) - half, IntegerType(width))


def constant(
    value: IntegerAttr | FloatAttr | DenseIntOrFPElementsAttr,
) -> arith.ConstantOp:
    """A constant of its attribute's type."""
    return arith.ConstantOp.create(
        result_types=[value.get_type()], properties={"value": value}
    )


def dense(values: Array, element: Attribute) -> DenseIntOrFPElementsAttr:
    """A constant's elements, stored as `element`, in the array's shape."""
    data = np.asarray(values, dtype_of(element), order="C")
    type = cast("TensorType[AnyDenseElement]", TensorType(element, data.shape))
    return DenseIntOrFPElementsAttr(type, BytesAttr(data.tobytes()))


class Emitter:
    """Hands operations to `append`, all at the location of one source operation."""

    def __init__(
        self, append: Callable[[Operation], None], location: LocationAttr
    ) -> None:
        self.append = append
        self.location = location

    def add(self, op: OpT) -> OpT:
        """Append `op` and give it and everything inside it the source's location."""
        op.location = self.location
        for region in op.regions:
            for inner in operations_in(region):
                inner.location = self.location
        self.append(op)
        return op

    def constant(self, values: Array, element_type: Attribute) -> SSAValue:
        """A dense constant of `element_type`, in row-major order."""
        return self.add(constant(dense(values, element_type))).result

    def empty(self, shape: Sequence[int], element_type: Attribute) -> SSAValue:
        """A tensor whose elements are unspecified."""
        type = TensorType(element_type, shape)
        return self.add(tensor.EmptyOp.create(result_types=[type])).results[0]

    def filled(
        self, shape: Sequence[int], element_type: Attribute, value: float
    ) -> SSAValue:
        """A tensor of one value."""
        init = self.empty(shape, element_type)
        scalar = self.add(scalar_constant(value, element_type)).result
        fill = FillOp((scalar,), (init,), (init.type,))
        return self.add(fill).res[0]

    def inserted(
        self, value: SSAValue, into: SSAValue, offsets: Sequence[int]
    ) -> SSAValue:
        """A tensor with another one at some place of it."""
        insert = tensor.InsertSliceOp.from_static_parameters(
            value, into, offsets, tensor_type(value).get_shape()
        )
        return self.add(insert).result


class Nest:
    """A `linalg.generic` under construction.

    The loops are `bounds`; the last `reductions` of them reduce. Inputs are added with
    the loops that index them; operations are added to the body; `build` makes the op.
    """

    def __init__(
        self, emitter: Emitter, bounds: Sequence[int], reductions: int = 0
    ) -> None:
        self.emitter = emitter
        self.bounds = tuple(bounds)
        self.parallel = len(self.bounds) - reductions
        self._block = Block()
        self._operands: list[SSAValue] = []
        self._maps: list[AffineMap] = []

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The trip counts of the parallel loops."""
        return self.bounds[: self.parallel]

    def add(self, op: OpT) -> OpT:
        """Append `op` to the body."""
        self._block.add_op(op)
        return op

    def input(self, value: SSAValue, indices: Sequence[Index]) -> BlockArgument:
        """Read a tensor: element `indices` at each iteration. Returns the scalar."""
        self._operands.append(value)
        self._maps.append(self._map(indices))
        count = len(self._operands) - 1
        return self._block.insert_arg(tensor_type(value).element_type, count)

    def window(self, loops: Sequence[int]) -> None:
        """Give loops their trip counts where no tensor does: an operand never read."""
        shape = [self.bounds[loop] for loop in loops]
        i8 = IntegerType(8)
        self.input(self.emitter.empty(shape, i8), loops)

    def constant(
        self, values: Array, type: Attribute, loops: Sequence[int] | None = None
    ) -> SSAValue:
        """A compile-time scalar, or array along `loops` (default: the last parallel
        ones).

        What is the same everywhere becomes a constant of the body, the rest an input.
        """
        array = np.asarray(values, dtype_of(type))
        if array.ndim == 0:
            return self.add(scalar_constant(array.item(), type)).result
        if loops is None:
            loops = range(self.parallel - array.ndim, self.parallel)
        first = array.reshape(-1)[:1]
        if array.size > 0 and array.tobytes() == first.tobytes() * array.size:
            return self.add(scalar_constant(first[0], type)).result
        varying = [axis for axis, size in enumerate(array.shape) if size > 1]
        squeezed = array.reshape([array.shape[axis] for axis in varying])
        constant = self.emitter.constant(squeezed, type)
        return self.input(constant, [loops[axis] for axis in varying])

    def build(
        self,
        results: Sequence[SSAValue],
        inits: Sequence[SSAValue] | None = None,
        output_maps: Sequence[Sequence[Index]] | None = None,
    ) -> tuple[SSAValue, ...]:
        """Finish a nest that yields `results`, without reading its outputs.

        Outputs are new tensors over the parallel loops unless `inits` and `output_maps`
        say otherwise.
        """
        if inits is None:
            inits = [
                self.emitter.empty(self.output_shape, value.type) for value in results
            ]
        for init, value in zip(inits, results, strict=True):
            self._output(init, value.type)
        if output_maps is None:
            output_maps = [range(self.parallel)] * len(results)
        return self._finish(results, inits, output_maps)

    def build_one(self, result: SSAValue) -> SSAValue:
        """`build` for one result."""
        (built,) = self.build([result])
        return built

    def reduce(
        self,
        inits: Sequence[SSAValue],
        combine: Combine,
    ) -> tuple[SSAValue, ...]:
        """Finish a reducing nest: `combine` maps the accumulators to the next ones."""
        accumulators = [
            self._output(init, tensor_type(init).element_type) for init in inits
        ]
        results = combine(accumulators)
        return self._finish(results, inits, [range(self.parallel)] * len(inits))

    def reduce_one(self, init: SSAValue, combine: Combine) -> SSAValue:
        """`reduce` for one accumulator."""
        (reduced,) = self.reduce([init], combine)
        return reduced

    def adding(self, value: SSAValue) -> Combine:
        """The step that adds an integer or a float to one accumulator."""
        add = arith.AddiOp if isa(value.type, IntegerType) else arith.AddfOp

        def combine(accumulators: Sequence[BlockArgument]) -> Sequence[SSAValue]:
            operands = [*accumulators, value]
            return self.add(
                add.create(operands=operands, result_types=[value.type])
            ).results

        return combine

    def _output(self, init: SSAValue, element_type: Attribute) -> BlockArgument:
        return self._block.insert_arg(element_type, len(self._block.args))

    def _map(self, indices: Sequence[Index]) -> AffineMap:
        expressions = tuple(
            AffineDimExpr(index) if isinstance(index, int) else index
            for index in indices
        )
        return AffineMap(len(self.bounds), 0, expressions)

    def _finish(
        self,
        results: Sequence[SSAValue],
        inits: Sequence[SSAValue],
        output_maps: Sequence[Sequence[Index]],
    ) -> tuple[SSAValue, ...]:
        self._block.add_op(YieldOp.create(operands=results))
        maps = [*self._maps, *(self._map(indices) for indices in output_maps)]
        reductions = len(self.bounds) - self.parallel
        generic = GenericOp.create(
            operands=[*self._operands, *inits],
            result_types=[init.type for init in inits],
            properties={
                "indexing_maps": ArrayAttr(AffineMapAttr(map) for map in maps),
                "iterator_types": _iterator_types(self.parallel, reductions),
                "operandSegmentSizes": segment_sizes(len(self._operands), len(inits)),
            },
            regions=[Region(self._block)],
        )
        return tuple(self.emitter.add(generic).results)


@lru_cache(maxsize=1 << 8)
def _iterator_types(parallel: int, reductions: int) -> ArrayAttr[IteratorTypeAttr]:
    """The given numbers of parallel loops and of loops that reduce, in this order."""
    iterators = [IteratorTypeAttr.parallel()] * parallel
    iterators += [IteratorTypeAttr.reduction()] * reductions
    return ArrayAttr(iterators)


def broadcast_indices(shape: Sequence[int], result: Sequence[int]) -> list[Index]:
    """The loops of a nest over `result` that index a tensor of `shape`, which
    broadcasts to it as in numpy."""
    offset = len(result) - len(shape)
    return [
        AffineConstantExpr(0) if size == 1 else offset + axis
        for axis, size in enumerate(shape)
    ]


def to_index(nest: Nest, value: SSAValue) -> SSAValue:
    """An i32 as an index."""
    return nest.add(arith.IndexCastOp(value, IndexType())).result


def extract(nest: Nest, table: SSAValue, indices: Sequence[SSAValue | int]) -> SSAValue:
    """One element of a tensor at computed indices, and at those of loops by number."""
    element = tensor_type(table).element_type
    values = [
        nest.add(IndexOp(index)).result if isinstance(index, int) else index
        for index in indices
    ]
    return nest.add(tensor.ExtractOp(table, values, element)).result


def widen(
    nest: Nest, value: SSAValue, type: IntegerType, *, unsigned: bool = False
) -> SSAValue:
    """An integer as one of a wider type, by the sign that it has."""
    if value.type == type:
        return value
    extend = arith.ExtUIOp if unsigned else arith.ExtSIOp
    return nest.add(extend.create(operands=[value], result_types=[type])).result


def narrow(
    nest: Nest, value: SSAValue, type: Attribute, *, unsigned: bool = False
) -> SSAValue:
    """An integer saturated to a narrower type."""
    if value.type == type:
        return value
    return nest.add(SaturateOp(value, type, unsigned=unsigned)).result


def row_major_index(nest: Nest, loops: Sequence[int] | None = None) -> SSAValue:
    """The position, as i32, in a tensor over loops of `nest`: the parallel ones."""
    position: SSAValue | None = None
    for loop in range(nest.parallel) if loops is None else loops:
        size = nest.bounds[loop]
        if size == 1:
            continue
        index = nest.add(IndexOp(loop)).result
        if position is not None:
            bound = nest.add(scalar_constant(size, IndexType())).result
            outer = nest.add(arith.MuliOp(position, bound)).result
            index = nest.add(arith.AddiOp(outer, index)).result
        position = index
    if position is None:
        return nest.add(scalar_constant(0, i32)).result
    return nest.add(arith.IndexCastOp(position, i32)).result
