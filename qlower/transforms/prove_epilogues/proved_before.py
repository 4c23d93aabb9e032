"""Lines and planes that were proved before, by what they stand for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import TypeAlias

import numpy as np
from xdsl.ir import Operation, SSAValue

from qlower.files.parts import find_or_make
from qlower.transforms.prove_epilogues.byte_functions import ByteFunction
from qlower.transforms.prove_epilogues.exceptions import Exceptions
from qlower.transforms.prove_epilogues.lines import Form, Lines
from qlower.transforms.prove_epilogues.monotone import Values
from qlower.transforms.prove_epilogues.planes import Plane, prove_plane
from qlower.transforms.prove_epilogues.staircase import Staircase

Found: TypeAlias = tuple[Lines, Exceptions] | None


def prove_once(
    find: Callable[[Staircase, bool, bool], Found],
    staircase: Staircase,
    fused: bool,
    mended: bool,
) -> Found:
    """What `find` gives for a staircase and the flags, which decide that alone."""
    bounds = staircase.low.tobytes(), staircase.high.tobytes()
    content = [
        b"lines",
        bytes([fused, mended]),
        *bounds,
        *_content(
            staircase.ops,
            [staircase.accumulator],
            staircase.constants,
            staircase.value,
        ),
    ]
    made = find_or_make(content, lambda: _encoded(find(staircase, fused, mended)))
    return _decoded(made)


def prove_plane_once(
    function: ByteFunction, *, fused: bool, limit: int
) -> Plane | None:
    """What `prove_plane` gives."""
    unsigned = map(function.reads_unsigned, range(len(function.sources)))
    content = [
        b"plane",
        f"{fused} {limit} {list(unsigned)}".encode(),
        *_content(function.ops, function.sources, {}, function.value),
    ]

    def make() -> bytes:
        plane = prove_plane(function, fused=fused, limit=limit)
        if plane is None:
            return b""
        found = plane.order, plane.zero_points, plane.odd, plane.shift
        return json.dumps([*found, plane.coefficients]).encode()

    made = find_or_make(content, make)
    if not made:
        return None
    order, zero_points, odd, shift, coefficients = json.loads(made)
    return Plane(
        function,
        fused,
        tuple(order),
        tuple(zero_points),
        odd,
        shift,
        tuple(coefficients),
    )


def _content(
    ops: Sequence[Operation],
    variables: Sequence[SSAValue],
    constants: Values,
    value: SSAValue,
) -> Iterator[bytes]:
    """All that makes a value of variables: operations, in order, and constants."""
    numbers = {variable: number for number, variable in enumerate(variables)}
    yield str([str(variable.type) for variable in variables]).encode()
    for op in ops:
        for operand in op.operands:
            if operand not in numbers:
                numbers[operand] = len(numbers)
                lanes = constants[operand]
                yield from (f"{lanes.dtype} {lanes.shape}".encode(), lanes.tobytes())
        operands = [numbers[operand] for operand in op.operands]
        for result in op.results:
            numbers[result] = len(numbers)
        attributes = {**op.properties, **op.attributes}
        yield f"{op.name} {operands} {attributes} {op.result_types}".encode()
    yield str(numbers[value]).encode()


def _encoded(found: Found) -> bytes:
    if found is None:
        return b""
    lines, exceptions = found
    form = lines.form
    data = BytesIO()
    for array in (
        np.array([form.fused, form.odd, form.shift, form.least, form.most], np.int64),
        lines.scale,
        lines.offset,
        lines.wrong,
        exceptions.x,
        exceptions.difference,
    ):
        np.save(data, array, allow_pickle=False)
    return data.getvalue()


def _decoded(made: bytes) -> Found:
    if not made:
        return None
    data = BytesIO(made)
    form, scale, offset, wrong, x, difference = (
        np.load(data, allow_pickle=False) for _ in range(6)
    )
    fused, odd, shift, least, most = form.tolist()
    lines = Form(bool(fused), bool(odd), shift, least, most)
    return Lines(lines, scale, offset, wrong), Exceptions(x, difference)
