"""The products that an accumulator is the sum of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qlower.dialects import qnn
from qlower.interp.values import Array
from qlower.observe.layer_run import LayerRun
from qlower.observe.place import Index, show
from qlower.semantics.rules import centred
from qlower.tables.table import Column, Table


@dataclass(frozen=True)
class Product:
    """An input and a weight, both less their zero points; `at` is where the input is,
    outside of the image for padding."""

    at: Index
    input: int
    weight: int

    @property
    def value(self) -> int:
        return self.input * self.weight


def products_of(run: LayerRun, index: Index) -> list[Product]:
    """The products for one element of a contraction's result, in the order of the
    weights; none for other layers."""
    op = run.op
    match op:
        case qnn.LinearOp():
            row = index[:-1]
            inputs = centred(run.arguments[0], op.input)[row]
            weights = centred(run.arguments[1], op.weight)[index[-1]]
            return [
                Product((*row, k), int(x), int(w))
                for k, (x, w) in enumerate(zip(inputs, weights, strict=True))
            ]
        case qnn.Conv2DOp() | qnn.DepthwiseConv2DOp():
            return _window(op, run.arguments, index)
        case _:
            return []


def _window(
    op: qnn.Conv2DOp | qnn.DepthwiseConv2DOp, arguments: Sequence[Array], index: Index
) -> list[Product]:
    batch, y, x, output = index
    image = centred(arguments[0], op.input)
    weight = centred(arguments[1], op.weight)
    if isinstance(op, qnn.Conv2DOp):
        own = weight[output]
        first = output // (weight.shape[0] // op.groups) * weight.shape[3]
        channels = range(first, first + weight.shape[3])
    else:
        own = weight[0, :, :, output, None]
        channels = range(output // op.multiplier, output // op.multiplier + 1)
    found: list[Product] = []
    for kh, kw in np.ndindex(*own.shape[:2]):
        row = y * op.stride[0] + kh * op.dilation[0] - op.pad[0]
        column = x * op.stride[1] + kw * op.dilation[1] - op.pad[2]
        inside = 0 <= row < image.shape[1] and 0 <= column < image.shape[2]
        for place, channel in enumerate(channels):
            given = int(image[batch, row, column, channel]) if inside else 0
            at = (batch, row, column, channel)
            found.append(Product(at, given, int(own[kh, kw, place])))
    return found


def product_table(products: list[Product]) -> Table[Product]:
    """A line for each product, and their sum."""
    columns: list[Column[Product]] = [
        Column(
            "input", "at", lambda row: row.at, lambda row: show(row.at), right=False
        ),
        Column("less zero point", "input", lambda row: row.input),
        Column("weight", "weight", lambda row: row.weight),
        Column("product", "product", lambda row: row.value, sums=True),
    ]
    return Table("products", products, columns, total="sum", whole="--json")
