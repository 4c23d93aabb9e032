"""Lines and planes that were proved before, by the functions that they replace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from typing import TypeAlias

import numpy as np
from xdsl.ir import Operation, SSAValue

from qlower.codegen.nests.content import nest_content
from qlower.dialects.kernel import NestOp
from qlower.kept.parts import find_or_make, find_or_make_all
from qlower.transforms.prove_epilogues.byte_functions import ByteFunction
from qlower.transforms.prove_epilogues.exceptions import Exceptions
from qlower.transforms.prove_epilogues.forms import Form, Lines
from qlower.transforms.prove_epilogues.integer_lines import IntegerForm
from qlower.transforms.prove_epilogues.machine import Machine
from qlower.transforms.prove_epilogues.planes import Plane, prove_plane
from qlower.transforms.prove_epilogues.staircase import Located

Found: TypeAlias = tuple[Lines, Exceptions] | None

Proved: TypeAlias = tuple[Located, Found]
"""Where a nest has a staircase, and the lines that are the same."""


def prove_once(
    prove: Callable[[Sequence[NestOp], Machine], list[Proved | None]],
    nests: Sequence[NestOp],
    machine: Machine,
) -> list[Proved | None]:
    """The results of `prove` for each of the nests; they and the machine decide
    them."""

    def content(nest: NestOp) -> Iterator[bytes]:
        yield from (b"lines", repr(machine).encode())
        yield from nest_content(nest)

    def make(positions: list[int]) -> list[bytes]:
        new = [nests[position] for position in positions]
        return [
            b"" if proved is None else _encoded(nest, *proved)
            for nest, proved in zip(new, prove(new, machine), strict=True)
        ]

    made = find_or_make_all(list(map(content, nests)), make)
    return [
        _decoded(nest, text) if text else None
        for nest, text in zip(nests, made, strict=True)
    ]


def prove_plane_once(
    function: ByteFunction, *, fused: bool, limit: int
) -> Plane | None:
    """The result of `prove_plane`, new or kept."""
    unsigned = map(function.reads_unsigned, range(len(function.sources)))
    content = [
        b"plane",
        f"{fused} {limit} {list(unsigned)}".encode(),
        *_content(function.ops, function.sources, function.value),
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
    ops: Sequence[Operation], variables: Sequence[SSAValue], value: SSAValue
) -> Iterator[bytes]:
    """All that makes a value of variables: operations, in order."""
    numbers = {variable: number for number, variable in enumerate(variables)}
    yield str([str(variable.type) for variable in variables]).encode()
    for op in ops:
        operands = [numbers[operand] for operand in op.operands]
        for result in op.results:
            numbers[result] = len(numbers)
        attributes = {**op.properties, **op.attributes}
        yield f"{op.name} {operands} {attributes} {op.result_types}".encode()
    yield str(numbers[value]).encode()


def _encoded(nest: NestOp, place: Located, found: Found) -> bytes:
    """A line of numbers, and then a row of them for each channel."""
    numbers: list[object] = [_results(nest).index(place.value), place.shape]
    if found is None:
        return json.dumps(numbers).encode()
    lines, exceptions = found
    form = lines.form
    assert isinstance(form, Form | IntegerForm)
    numbers += [type(form).__name__, astuple(form)]
    rows = np.empty(len(lines.wrong), _row(form, exceptions.slots))
    for number, lanes in enumerate(lines.parameters):
        rows[f"{number}"] = lanes
    rows["wrong"] = lines.wrong
    rows["x"], rows["difference"] = exceptions.x, exceptions.difference
    text = json.dumps([*numbers, exceptions.slots]).encode()
    return text + b"\n" + rows.tobytes()


def _decoded(nest: NestOp, made: bytes) -> Proved:
    text, _, data = made.partition(b"\n")
    number: int
    shape: list[int]
    number, shape, *found = json.loads(text)
    place = Located(_results(nest)[number], tuple(shape))
    if not found:
        return place, None
    name, numbers, slots = found
    form = _FORMS[name](*numbers)
    rows = np.frombuffer(data, _row(form, slots))
    parameters = tuple(rows[f"{number}"] for number in range(len(form.types)))
    lines = Lines(form, parameters, rows["wrong"])
    return place, (lines, Exceptions(rows["x"], rows["difference"]))


_FORMS = {form.__name__: form for form in (Form, IntegerForm)}


def _row(form: Form | IntegerForm, slots: int) -> np.dtype[np.void]:
    """The part of a channel that is kept."""
    long = np.dtype(np.int64)
    return np.dtype(
        [
            *((f"{number}", type) for number, type in enumerate(form.types)),
            ("wrong", long),
            *(("x", long, (slots,)), ("difference", long, (slots,))),
        ]
    )


def _results(nest: NestOp) -> list[SSAValue]:
    """The values that the epilogue computes."""
    return [result for op in nest.epilogue.block.ops for result in op.results]
