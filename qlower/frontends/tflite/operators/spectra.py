"""Spectra of rows of float32: RFFT2D, COMPLEX_ABS, REAL and IMAG.

A complex number is a tensor's element of 64 bits, its real part in the lower ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, f64, i1, i32
from xdsl.ir import SSAValue

from qlower.dialects import qnn
from qlower.dialects.types import shape_of
from qlower.emit.inline_rule import call_function
from qlower.model.nests import Nest, extract, to_index
from qlower.operators.fourier import LONGEST, Level, transform

from ...entry import takes
from ...scalars import Scalars
from ..context import OperatorContext
from ..nests import finish, start
from ..types import COMPLEX
from .plain import litert, unary


def import_rfft2d(op: OperatorContext) -> None:
    """The frequencies of rows, cut or filled up with zeros to `fft_length` (rfft2d.cc).

    Images of several rows are refused: they are transformed along columns, too.
    """
    op.check_type(op.output(), COMPLEX)
    height, length = op.integers(1, "fft_length", count=2)
    if len(op.shape(0)) < 2:
        raise op.error(f"{op.input(0)}: rank {len(op.shape(0))}, expected at least 2")
    *outer, rows, size = op.shape(0)
    op.check_range("rows of an image", rows, 1, 1)
    op.check_range("first fft_length", height, 1, 1)
    op.check_range("second fft_length", length, 2, LONGEST)
    if length & (length - 1):
        raise op.error(f"second fft_length {length} is not a power of 2")
    spectrum, count = transform(length), math.prod(outer)
    row = op.reshaped(op.value(0), (count, size))
    if size < length:
        type = TensorType(f32, (count, length))
        pad = qnn.PadOp(row, type, low=[0, 0], high=[0, length - size])
        row = op.emit(pad, "pad")
    for level in spectrum.levels:
        row = _level(op, row, level)
    shape = (*outer, 1, len(spectrum.real))
    op.result_type(shape)
    nest = start(op, (count, shape[-1]))
    steps = Scalars(nest)
    real = _element(nest, row, spectrum.real)
    between = _element(nest, row, (0, *spectrum.imaginary, 0))
    is_end = [True, *[False] * len(spectrum.imaginary), True]
    imaginary = steps.select(
        nest.constant(np.array(is_end), i1),
        steps.constant(0, f64),
        between,
    )
    number = call_function(nest, "_litert", "complex_of", real, steps.negate(imaginary))
    finish(op, op.reshaped(nest.build([number])[0], shape))


def _level(op: OperatorContext, row: SSAValue, level: Level) -> SSAValue:
    """Rows [N, C] of the next numbers, in float64."""
    rows, _ = shape_of(row)
    nest = start(op, (rows, len(level.places[0])))
    x, y = (_element(nest, row, places) for places in level.places)
    a, b = (np.array(factors) for factors in level.factors)
    made = call_function(nest, "_litert", "sum_of_products", x, a, y, b)
    return nest.build([made])[0]


def _element(nest: Nest, row: SSAValue, places: Sequence[int]) -> SSAValue:
    """The number of a row [N, C] at the place that each of the last loop has."""
    at = nest.constant(np.array(places), i32)
    element = extract(nest, row, [0, to_index(nest, at)])
    return Scalars(nest).cast(element, f64)


IMPORTERS = {
    "RFFT2D": takes("x: REAL, fft_length: INT32", import_rfft2d),
    "COMPLEX_ABS": unary(litert("magnitude"), "COMPLEX64"),
    "REAL": unary(litert("real_part"), "COMPLEX64"),
    "IMAG": unary(litert("imaginary_part"), "COMPLEX64"),
}
