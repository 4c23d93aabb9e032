"""Each tensor op of the arith level as one op of the kernel level."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    IntegerAttr,
    TensorType,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import CopyOp, NestOp
from qlower.dialects.kernel.maps import verify_maps
from qlower.dialects.operations import operations_in
from qlower.dialects.types import AnyTensor, is_tensor_type, shape_of, tensor_type
from qlower.emit.reassociation import Reassociation, reassociation
from qlower.transforms.form_kernels.regions import (
    build_region,
    scalar,
    scalar_constant,
    substitute,
    take,
    uniform_value,
)

_CONVERTED = (
    *(tensor.PadOp, tensor.ExtractSliceOp, tensor.InsertSliceOp),
    *(linalg.GenericOp, linalg.FillOp),
)


def convert_operations(block: Block) -> None:
    """Replaces every op of the arith level that has code by a nest or a copy."""
    for op in block.ops:
        _check_elements(op)
    # Copies first: a copy may take over the value of a linalg.fill as its own.
    for op in tuple(block.ops):
        match op:
            case tensor.PadOp():
                _replace(op, convert_pad(op))
            case tensor.ExtractSliceOp():
                convert_extract(op)
            case tensor.InsertSliceOp():
                convert_insert(op)
            case _:
                pass
    # Then nests, and what is filled for others than those that start from its value.
    for op in tuple(block.ops):
        if isinstance(op, linalg.GenericOp):
            _replace(op, convert_generic(op))
    for op in tuple(block.ops):
        if isinstance(op, linalg.FillOp) and op.results[0].first_use:
            _replace(op, convert_fill(op))
        elif isinstance(op, linalg.FillOp):
            Rewriter.erase_op(op)


def _check_elements(op: Operation) -> None:
    """Refuse tensors without elements, for which machine code has no loops."""
    types = [value.type for value in (*op.operands, *op.results)]
    for type in filter(is_tensor_type, types if isinstance(op, _CONVERTED) else ()):
        if 0 in type.get_shape():
            raise QlowerError(
                f"{op.name} of {type}, which has no elements, can't be compiled",
                op.location,
            )


def _replace(op: Operation, new: Operation) -> None:
    new.location = op.location
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(op, new)


def convert_fill(op: linalg.FillOp) -> NestOp:
    """A nest without inputs that stores a constant."""
    value = scalar_constant(op.inputs[0])
    result = tensor_type(op.res[0])
    if value is None or value.type != result.element_type:
        raise QlowerError(
            f"linalg.fill of {result} needs a constant of its element type",
            op.location,
        )

    shape = result.get_shape()
    return NestOp(
        (),
        (),
        "map",
        shape,
        (),
        (AffineMap.identity(len(shape)),),
        Region(),
        Region(),
        build_region((), lambda into: [scalar(value, into)]),
        (result,),
    )


def convert_generic(op: linalg.GenericOp) -> NestOp:
    """A nest with the loops of the generic, the parallel ones first.

    Tensors that give only a shape (windows, initial tensors that are not read) are left
    out. The initial tensors of a reduction become inputs that `init` yields, or the
    number that all elements of one are.
    """
    bounds = op.get_static_loop_ranges()
    if DYNAMIC_INDEX in bounds:
        raise QlowerError("linalg.generic with a dynamic shape", op.location)
    kinds = [iterator.data for iterator in op.iterator_types]
    parallel = [d for d, kind in enumerate(kinds) if kind is IteratorType.PARALLEL]
    reduction = [d for d, kind in enumerate(kinds) if kind is not IteratorType.PARALLEL]
    position = {d: i for i, d in enumerate((*parallel, *reduction))}
    loops = [AffineExpr.dimension(position[d]) for d in range(len(kinds))]
    maps = [substitute(attr.data, loops, len(loops)) for attr in op.indexing_maps]

    body = op.body.block
    arguments = dict(zip(body.args, zip(op.operands, maps, strict=True), strict=True))
    accumulators = body.args[len(op.inputs) :]
    # With reduction loops the initial tensors are read even if the body does not.
    initial = frozenset(accumulators if reduction else ())
    starts = {
        argument: value
        for argument in initial
        if (value := uniform_value(arguments[argument][0])) is not None
        and value.type == argument.type
    }
    read = [
        argument
        for argument, (operand, _) in arguments.items()
        if isinstance(operand.type, TensorType)
        and argument not in starts
        and (argument.first_use or argument in initial)
    ]
    scalars = {
        argument: operand
        for argument, (operand, _) in arguments.items()
        if not isinstance(operand.type, TensorType)
    }
    both = [*read, *accumulators]
    bounds = [bounds[d] for d in (*parallel, *reduction)]
    operands = [arguments[argument][0] for argument in read]
    nest_maps = [arguments[argument][1] for argument in read] + maps[len(op.inputs) :]
    shapes = [shape_of(value) for value in (*operands, *op.res)]
    try:
        verify_maps(shapes, nest_maps, bounds, len(parallel), len(op.res))
    except VerifyException as error:
        reason = f"linalg.generic has no loop nest: {error}"
        raise QlowerError(reason, op.location) from error

    def constants(into: Block) -> dict[SSAValue, SSAValue]:
        return {a: _clone_constant(v, op, into) for a, v in scalars.items()}

    def start(into: Block) -> Sequence[SSAValue]:
        return [
            scalar(starts[argument], into)
            if argument in starts
            else into.args[read.index(argument)]
            for argument in accumulators
        ]

    def step(into: Block) -> Sequence[SSAValue]:
        values = constants(into) | dict(zip(read, into.args, strict=False))
        if reduction:
            values |= dict(zip(accumulators, into.args[len(read) :], strict=True))
        return take(body, values, into, loops)

    return NestOp(
        operands,
        captured_tensors(op),
        "loop",
        bounds[: len(parallel)],
        bounds[len(parallel) :],
        nest_maps,
        build_region(read, start) if reduction else Region(),
        build_region(both, step) if reduction else Region(),
        build_region(both, lambda into: into.args[len(read) :])
        if reduction
        else build_region(read, step),
        op.res.types,
    )


def _clone_constant(value: SSAValue, op: Operation, into: Block) -> SSAValue:
    attribute = scalar_constant(value)
    if attribute is None:
        raise QlowerError(
            f"'{op.name}' has a scalar operand of type {value.type}, not constant",
            op.location,
        )
    return scalar(attribute, into)


def captured_tensors(op: Operation) -> list[SSAValue]:
    """The tensors from above that the regions of `op` use, each once, in order."""
    return list(
        dict.fromkeys(
            operand
            for region in op.regions
            for inner in operations_in(region)
            for operand in inner.operands
            if isinstance(operand.type, TensorType)
        )
    )


def convert_pad(op: tensor.PadOp) -> CopyOp:
    """A copy into the interior of a tensor that is filled with the pad value."""
    terminator = op.region.block.last_op
    assert isinstance(terminator, tensor.YieldOp)
    value = scalar_constant(terminator.arguments[0])
    low, high = op.static_low.get_values(), op.static_high.get_values()
    if value is None:
        raise QlowerError("tensor.pad needs a constant pad value", op.location)
    if any(amount < 0 for amount in (*low, *high)):
        raise QlowerError(
            f"tensor.pad low {list(low)} high {list(high)} must be static and >= 0",
            op.location,
        )
    return _copy(op.source, value, low, (1,) * len(low), op.result.type)


def _copy(
    source: SSAValue,
    destination: SSAValue | IntegerAttr | FloatAttr | None,
    offsets: Sequence[int],
    strides: Sequence[int],
    result_type: AnyTensor,
) -> CopyOp:
    """A copy of the whole source into a box of the result."""
    shape = tensor_type(source).get_shape()
    return CopyOp(
        source,
        destination,
        (0,) * len(shape),
        shape,
        (1,) * len(shape),
        offsets,
        strides,
        result_type,
    )


def convert_extract(op: tensor.ExtractSliceOp) -> None:
    """A copy of a box into a whole tensor, without the unit axes that op drops."""
    offsets, sizes, strides = (
        values.get_values()
        for values in (op.static_offsets, op.static_sizes, op.static_strides)
    )
    _require_static(op, offsets, sizes, strides)
    result_type = tensor_type(op.result)
    full_type = TensorType(result_type.element_type, sizes)
    rank = len(sizes)
    copy = CopyOp(
        op.source, None, offsets, sizes, strides, (0,) * rank, (1,) * rank, full_type
    )
    if full_type == result_type:
        _replace(op, copy)
        return
    copy.location = op.location
    Rewriter.insert_op(copy, InsertPoint.before(op))
    collapse = tensor.CollapseShapeOp.build(
        operands=[copy.result],
        result_types=[result_type],
        properties={
            "reassociation": unit_axes_joined(op, sizes, result_type.get_shape())
        },
    )
    _replace(op, collapse)


def convert_insert(op: tensor.InsertSliceOp) -> None:
    """A copy of the whole source into a box of the destination."""
    offsets, sizes, strides = (
        values.get_values()
        for values in (op.static_offsets, op.static_sizes, op.static_strides)
    )
    _require_static(op, offsets, sizes, strides)
    source = op.source
    source_type = tensor_type(source)
    if source_type.get_shape() != sizes:
        expand = tensor.ExpandShapeOp(
            source,
            (),
            unit_axes_joined(op, sizes, source_type.get_shape()),
            sizes,
            TensorType(source_type.element_type, sizes),
        )
        expand.location = op.location
        Rewriter.insert_op(expand, InsertPoint.before(op))
        source = expand.result
    destination = None if _is_empty(op.dest) else uniform_value(op.dest) or op.dest
    _replace(op, _copy(source, destination, offsets, strides, op.result.type))


def _is_empty(value: SSAValue) -> bool:
    match value.owner:
        case tensor.EmptyOp():
            return True
        case tensor.ExpandShapeOp(src=source) | tensor.CollapseShapeOp(src=source):
            return _is_empty(source)
        case _:
            return False


def _require_static(op: Operation, *lists: Sequence[int]) -> None:
    if any(DYNAMIC_INDEX in values for values in lists):
        raise QlowerError(
            f"'{op.name}' needs static offsets, sizes and strides", op.location
        )


def unit_axes_joined(
    op: Operation, expanded: Sequence[int], collapsed: Sequence[int]
) -> Reassociation:
    """The reassociation that joins each axis of `collapsed` with unit axes.

    Raises QlowerError at `op` if `expanded` has other axes than those.
    """
    groups: list[list[int]] = []
    leading: list[int] = []
    for axis, size in enumerate(expanded):
        if len(groups) < len(collapsed) and size == collapsed[len(groups)]:
            groups.append([*leading, axis])
            leading = []
        elif size == 1:
            (groups[-1] if groups else leading).append(axis)
        else:
            break
    else:
        if len(groups) == len(collapsed):
            return reassociation(groups)
    raise QlowerError(
        f"'{op.name}' changes more than unit axes between {list(expanded)} and "
        f"{list(collapsed)}",
        op.location,
    )
