"""Whether a nest adds up the products that its layer does, on drawn inputs.

The nest is compiled as it is, but stores its sums rather than results. What other
functions give it is made of drawn results of layers, with their bytes as those were
found to be stored, and what lies between as the interpreter has it: copies with what
they fill in, reshapes. A sum is linear in its inputs, so one drawn input misses a wrong
weight, place or padding once in 256 times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.dialects.tensor import CollapseShapeOp, ExpandShapeOp
from xdsl.ir import Operation, SSAValue

from qlower.codegen.program.module import compile_module
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import CopyOp, NestOp
from qlower.dialects.types import shape_of
from qlower.interp import Array, run_function
from qlower.model.layers import layer_names
from qlower.runtime.alone import alone
from qlower.transforms.form_kernels.regions import build_region
from qlower.verification.native.found import Found, flips, without_reshapes
from qlower.verification.native.reference import References
from qlower.verification.native.sweep import Bind
from qlower.verification.native.verdict import Mismatch
from qlower.verification.sum_rule import Unfit

_DRAWN = 2
"""Inputs that are drawn for a layer."""


@dataclass
class StoredBytes:
    """The bits by which the bytes of values differ from the layers', as far as
    known."""

    known: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def options(self, value: SSAValue) -> Sequence[int]:
        """The possible flips of a value that a function reads."""
        value = _origin(value)
        known = self.known.get(value)
        return flips(value) if known is None else (known,)

    def settle(self, value: SSAValue, flip: int) -> None:
        """Say what was found of a value."""
        self.known.setdefault(_origin(value), flip)


def _origin(value: SSAValue) -> SSAValue:
    """The value that a value's bytes are copied from."""
    value = without_reshapes(value)
    while isinstance(value.owner, CopyOp):
        value = without_reshapes(value.owner.source)
    return value


def decide_products(
    nest: NestOp,
    references: References,
    target: Target,
    bind: Bind,
    stored: StoredBytes,
) -> Found | None:
    """The first sum that differs from the layer's; None if none does.

    Raises Unfit where that isn't looked at.
    """
    name, *_ = layer_names(nest)
    if nest.kept_channels is not None:
        raise Unfit("constant channels are dropped")
    if nest.accumulator_types not in ((i32,), (i64,)) or len(nest.res) != 1:
        raise Unfit("its sum isn't one of 32-bit or 64-bit integers")
    cut = alone(_with_sums(nest))
    read = [value for value in cut.arguments if value not in _unread(nest)]
    leaves = {
        leaf: references.source(leaf) for value in read for leaf in _leaves(value)
    }
    compiled = compile_module(cut.module, target)
    inputs, outputs = (
        [np.zeros(port.shape, port.numpy_dtype) for port in ports]
        for ports in (compiled.signature.inputs, compiled.signature.outputs)
    )
    call = bind(compiled, inputs, outputs)
    sources = frozenset(leaves.values())
    examples = [references.sums(name, sources, seed) for seed in range(_DRAWN)]
    if not all(sources <= set(values) for values, _ in examples):
        raise Unfit("it reads what the layer doesn't")
    if any(sums.size != outputs[0].size for _, sums in examples):
        raise Unfit("it computes a part of its layer")
    found: Found | None = None
    for own in product(*map(stored.options, leaves)):
        by = dict(zip(leaves, own, strict=True))
        found = None
        for values, sums in examples:
            for array, value in zip(inputs, cut.arguments, strict=True):
                if value in read:
                    made = _made(value, values, leaves, by)
                    array[...] = made.reshape(array.shape).view(array.dtype)
            call()
            found = found or _difference(
                sums, outputs[0], is_exact=references.is_exact(name)
            )
        if found is None:
            for leaf, flip in by.items():
                stored.settle(leaf, flip)
            return None
    return found


def _difference(expected: Array, got: Array, *, is_exact: bool) -> Found | None:
    """The first difference of sums; those of pools may all exceed the expected ones by
    the same number."""
    expected, got = expected.reshape(-1), got.reshape(-1)
    more = 0 if is_exact or not len(got) else int(got[0]) - int(expected[0])
    apart = np.flatnonzero(got != expected + more)
    if not len(apart):
        return None
    place = int(apart[0])
    pair = int(expected[place]), int(got[place]) - more
    difference = Mismatch(None, (place,), *pair, of="sum of products of element")
    return Found("drawn inputs", len(got), 0, difference)


def _with_sums(nest: NestOp) -> NestOp:
    """The nest, but it stores what it adds up."""
    arguments = nest.epilogue.block.args
    new = nest.rebuilt(
        inputs=nest.inputs,
        maps=[*nest.input_maps, *nest.result_maps],
        init=nest.init.clone(),
        body=nest.body.clone(),
        epilogue=build_region(arguments, lambda block: [block.args[-1]]),
        result_types=[TensorType(arguments[-1].type, shape_of(nest.res[0]))],
    )
    new.schedule = nest.schedule
    return new


def _unread(nest: NestOp) -> set[SSAValue]:
    """Operands that the nest reads only to form its results."""
    regions = (nest.init.block, nest.body.block)
    read = {
        value
        for block in regions
        for value, argument in zip(nest.inputs, block.args, strict=False)
        if argument.uses
    }
    return {value for value in nest.inputs if value not in read}


def _is_made(value: SSAValue) -> bool:
    """Whether a value is a copy or a reshape of another one."""
    return isinstance(value.owner, CopyOp | ExpandShapeOp | CollapseShapeOp)


def _leaves(value: SSAValue) -> Iterator[SSAValue]:
    """The layers' results and the inputs that a value is made of."""
    if not _is_made(value):
        yield value
    elif isinstance(value.owner, CopyOp):
        for other in alone(value.owner).arguments:
            yield from _leaves(other)
    else:
        assert isinstance(value.owner, Operation)
        yield from _leaves(value.owner.operands[0])


def _made(
    value: SSAValue,
    values: Mapping[str, Array],
    leaves: Mapping[SSAValue, str],
    by: Mapping[SSAValue, int],
) -> Array:
    """A value of the kernel level, of layers' results whose bytes are flipped."""
    owner = value.owner
    if value in leaves:
        bits = values[leaves[value]]
        if by[value]:
            bits = bits.view(np.uint8) ^ np.uint8(by[value])
        return bits.view(f"i{bits.itemsize}").reshape(shape_of(value))
    assert isinstance(owner, Operation)
    if isinstance(owner, CopyOp):
        single = alone(owner)
        given = [_made(one, values, leaves, by) for one in single.arguments]
        return run_function(single.module, "main", given)[0]
    return _made(owner.operands[0], values, leaves, by).reshape(shape_of(value))
