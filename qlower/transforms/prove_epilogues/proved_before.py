"""Lines that were proved before, by the staircase that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from qlower.files.parts import find_or_make
from qlower.transforms.prove_epilogues.exceptions import Exceptions
from qlower.transforms.prove_epilogues.lines import Form, Lines
from qlower.transforms.prove_epilogues.staircase import Staircase

Found: TypeAlias = tuple[Lines, Exceptions] | None


def prove_once(
    find: Callable[[Staircase, bool, bool], Found],
    staircase: Staircase,
    fused: bool,
    mended: bool,
) -> Found:
    """What `find` gives for a staircase and the flags, which decide that alone."""
    content = [b"lines", bytes([fused, mended]), *_content(staircase)]
    made = find_or_make(content, lambda: _encoded(find(staircase, fused, mended)))
    return _decoded(made)


def _content(staircase: Staircase) -> Iterator[bytes]:
    """All that a staircase is: bounds and constants by channel, and its operations."""
    numbers: dict[SSAValue, int] = {staircase.accumulator: 0}
    yield from (staircase.low.tobytes(), staircase.high.tobytes())
    for op in staircase.ops:
        for operand in op.operands:
            if operand not in numbers:
                numbers[operand] = len(numbers)
                lanes = staircase.constants[operand]
                yield from (f"{lanes.dtype} {lanes.ndim}".encode(), lanes.tobytes())
        operands = [numbers[operand] for operand in op.operands]
        for result in op.results:
            numbers[result] = len(numbers)
        attributes = {**op.properties, **op.attributes}
        yield f"{op.name} {operands} {attributes} {op.result_types}".encode()
    yield str(numbers[staircase.value]).encode()


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
