"""A nest whose epilogue computes what was proved in place of what was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    IntegerType,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from qlower.dialects.fixed import SaturateOp
from qlower.dialects.kernel import NestOp
from qlower.interp import Array
from qlower.model.nests import constant, dense, scalar_constant
from qlower.transforms.form_kernels.simplify import simplify
from qlower.transforms.operations import Operations, insert_at
from qlower.transforms.prove_epilogues.byte_functions import (
    ByteFunction,
    byte_functions,
)
from qlower.transforms.prove_epilogues.exceptions import Exceptions
from qlower.transforms.prove_epilogues.forms import LineForm, Lines
from qlower.transforms.prove_epilogues.integer_lines import IntegerForm
from qlower.transforms.prove_epilogues.staircase import Located
from qlower.transforms.prove_epilogues.substitutes import Substitute
from qlower.transforms.tidying import is_dead

_ELEMENTS = {"float32": f32, "int32": i32, "int64": i64}


def replace_by_line(
    nest: NestOp, place: Located, lines: Lines, exceptions: Exceptions
) -> None:
    """Makes a nest whose epilogue computes the value at the place by the lines."""
    value, shape, owner = place.value, place.shape, place.value.owner
    assert isinstance(owner, Operation)
    parameters: list[Array] = [*lines.parameters]
    channel = _only_channel(lines, exceptions)
    if channel is None:
        for slot in range(exceptions.slots):
            parameters.append(exceptions.x[:, slot].astype(np.int32))
            parameters.append(exceptions.difference[:, slot].astype(np.int32))
    loops = [loop for loop, extent in enumerate(shape) if extent > 1]
    extents = [shape[loop] for loop in loops]
    regions = tuple(nest.regions)
    block = nest.epilogue.block
    accumulator = block.args[-1]
    tensors: list[arith.ConstantOp] = []
    numbers: list[arith.ConstantOp] = []
    added: list[SSAValue] = []
    for array in parameters:
        element = _ELEMENTS[array.dtype.name]
        if array.tobytes() == array[:1].tobytes() * array.size:
            numbers.append(scalar_constant(array[0], element))
            added.append(numbers[-1].result)
            continue
        index = len(nest.inputs) + len(tensors)
        for region in regions:
            region.block.insert_arg(element, index)
        added.append(block.args[index])
        tensors.append(constant(dense(array.reshape(extents), element)))
    insert_at(InsertPoint.before(nest), tensors, nest.location)
    insert_at(InsertPoint.at_start(block), numbers, owner.location)

    code = Operations()
    if channel is not None:
        added += _of_channel(code, lines, exceptions, channel, added[0])
    ops = [*code.ops, *_operations(lines.form, accumulator, added, value.type)]
    insert_at(InsertPoint.after(owner), ops, owner.location)
    replace_value(value, ops[-1].results[0])

    if not tensors:
        _simplified(nest)
        return
    read = AffineMap(
        len(nest.bounds), 0, tuple(AffineExpr.dimension(loop) for loop in loops)
    )
    inputs = [*nest.inputs, *(tensor.result for tensor in tensors)]
    maps = [*nest.input_maps, *[read] * len(tensors), *nest.result_maps]
    detached = (nest.detach_region(region) for region in regions)
    rebuild(nest, inputs, nest.tables, maps, *detached)


def _only_channel(lines: Lines, exceptions: Exceptions) -> int | None:
    """The channel that alone has exceptions, if its integer factor is no other's: then
    the others need no memory for them."""
    factors = lines.parameters[0]
    channels = np.flatnonzero(exceptions.difference.any(axis=1))
    if not isinstance(lines.form, IntegerForm) or len(channels) != 1:
        return None
    (channel,) = channels.tolist()
    is_alone = np.count_nonzero(factors == factors[channel]) == 1
    return channel if is_alone else None


def _of_channel(
    code: Operations,
    lines: Lines,
    exceptions: Exceptions,
    channel: int,
    factor: SSAValue,
) -> list[SSAValue]:
    """Point and difference of each exception of a channel, which is known by its
    factor."""
    zero = code.integer(0)
    number = int(lines.parameters[0][channel])
    is_there = code.add(arith.CmpiOp(factor, code.integer(number), "eq"))
    found: list[SSAValue] = []
    for slot in range(exceptions.slots):
        difference = code.integer(int(exceptions.difference[channel, slot]))
        found.append(code.integer(int(exceptions.x[channel, slot])))
        found.append(code.add(arith.SelectOp(is_there, difference, zero)))
    return found


def replace_by_substitutes(
    nest: NestOp, choose: Callable[[ByteFunction], Substitute | None]
) -> NestOp:
    """Makes a nest that computes functions between bytes by what is chosen for them."""
    tables: list[arith.ConstantOp] = []
    is_same = True
    for function in byte_functions(nest.epilogue.block):
        substitute = choose(function)
        if substitute is None:
            continue
        is_same = False
        owner = function.value.owner
        assert isinstance(owner, Operation)
        ops, table = substitute.ops, substitute.table
        insert_at(InsertPoint.after(owner), ops, owner.location)
        replace_value(
            function.value, ops[-1].results[0] if ops else function.sources[0]
        )
        if table is not None:
            insert_at(InsertPoint.before(nest), (table,), nest.location)
            tables.append(table)
    if is_same:
        return nest
    regions = (nest.detach_region(region) for region in tuple(nest.regions))
    maps = [*nest.input_maps, *nest.result_maps]
    added = [*nest.tables, *(table.result for table in tables)]
    return rebuild(nest, nest.inputs, added, maps, *regions)


def replace_value(value: SSAValue, result: SSAValue) -> None:
    """Another result in a value's place, and no code for the value."""
    block = value.owner.parent if isinstance(value.owner, Operation) else None
    assert block is not None
    if isinstance(result.owner, Operation):
        result.name_hint = value.name_hint
    value.replace_all_uses_with(result)
    erase_dead_code(block)


def erase_dead_code(block: Block) -> None:
    """Erase the operations of a region that nothing needs."""
    for op in reversed(tuple(block.ops)):
        if is_dead(op):
            Rewriter.erase_op(op)


def rebuild(
    nest: NestOp,
    inputs: Sequence[SSAValue],
    tables: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    init: Region,
    body: Region,
    epilogue: Region,
) -> NestOp:
    """Puts a nest with other operands and regions in the place of `nest`."""
    before = tuple(nest.inputs)
    new = nest.rebuilt(
        inputs=inputs,
        tables=tables,
        maps=maps,
        init=init,
        body=body,
        epilogue=epilogue,
    )
    for old, result in zip(nest.res, new.res, strict=True):
        result.name_hint = old.name_hint
    Rewriter.replace_op(nest, new)
    return _simplified(new, before)


def _simplified(nest: NestOp, before: Sequence[SSAValue] | None = None) -> NestOp:
    """A nest without what it doesn't need, as are the inputs from `before`, its own by
    default, that nothing needs then."""
    before = tuple(nest.inputs) if before is None else before
    new = simplify(nest)
    for input in dict.fromkeys(before):
        if isinstance(input.owner, Operation) and is_dead(input.owner):
            Rewriter.erase_op(input.owner)
    return new


def _operations(
    form: LineForm,
    accumulator: SSAValue,
    parameters: Sequence[SSAValue],
    result_type: Attribute,
) -> list[Operation]:
    """The line at the accumulator, mended at its exceptions, as the type it had.

    `parameters`: the form's, then point and difference of each exception.
    """
    own = len(form.types)
    ops = form.operations(accumulator, parameters[:own], parameters[own:])
    result = ops[-1].results[0]
    assert isa(result_type, IntegerType)
    if result_type.bitwidth < 32:
        ops.append(SaturateOp(result, result_type))
    elif result_type.bitwidth > 32:
        ops.append(arith.ExtSIOp(result, result_type))
    return ops
