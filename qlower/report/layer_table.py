"""A model's layers as a table: what each one is, how big, and how much work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FixedBitwidthType, ModuleOp
from xdsl.ir import Attribute, Operation

from qlower.contracts.accumulator_range import (
    AccumulatorRange,
    accumulator_range,
    tensor_shape,
)
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, element_type
from qlower.model.layers import is_constant, layer_name, layers
from qlower.transforms.prove_epilogues import Proof


@dataclass(frozen=True)
class LayerStatistics:
    """One layer.

    `accumulator` is the range of its exact sums, `epilogue` says what was proved of
    their requantization, `work` counts multiply-accumulates, `constant_bytes` its
    weights and bias, `result_bytes` what it computes.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    accumulator: AccumulatorRange | None
    epilogue: Proof | None
    work: int
    constant_bytes: int
    result_bytes: int


HEADER = (
    "op",
    "input (scale, zero point)",
    "result (scale, zero point)",
    "accumulator",
    "bits",
    "epilogue",
    "proved",
    "MACs",
    "constant bytes",
    "result bytes",
    "layer",
)
"""The columns; layer names come last because some are very long."""


def layer_statistics(
    module: ModuleOp, proofs: Iterable[Proof] = ()
) -> list[LayerStatistics]:
    """The layers of a model at the qnn level, in order; `proofs` names some of them."""
    named = {proof.layer: proof for proof in proofs}
    return [_layer(op, named.get(layer_name(op))) for op in layers(module)]


def multiply_accumulates(op: Operation) -> int:
    """Products that the layer's definition sums, padding included."""
    match op:
        case qnn.Conv2DOp() | qnn.LinearOp():
            taps = math.prod(tensor_shape(op.weight.type)[1:])
        case qnn.DepthwiseConv2DOp():
            taps = math.prod(tensor_shape(op.weight.type)[1:3])
        case qnn.MatMulOp():
            taps = tensor_shape(op.lhs.type)[-1]
        case _:
            return 0
    return math.prod(tensor_shape(op.result.type)) * taps


def format_statistics(rows: Sequence[LayerStatistics]) -> str:
    """The table, with a line of totals."""
    totals = (
        f"{len(rows)} layers",
        *[""] * 6,
        f"{sum(row.work for row in rows):,}",
        f"{sum(row.constant_bytes for row in rows):,}",
        f"{sum(row.result_bytes for row in rows):,}",
        "total",
    )
    cells = [HEADER, *(_cells(row) for row in rows), totals]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = range(HEADER.index("accumulator"), HEADER.index("layer"))
    lines = [
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    rule = "-" * (sum(widths[:-1]) + 2 * len(widths[:-1]) + len(HEADER[-1]))
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1], ""])


def _layer(op: Operation, epilogue: Proof | None) -> LayerStatistics:
    constants = [value for value in op.operands if is_constant(value.owner)]
    computed = [value for value in op.operands if value not in constants]
    return LayerStatistics(
        layer_name(op) or "",
        op.name.removeprefix("qnn."),
        tuple(describe(value.type) for value in computed),
        tuple(describe(value.type) for value in op.results),
        accumulator_range(op),
        epilogue,
        multiply_accumulates(op),
        sum(tensor_bytes(value.type) for value in constants),
        sum(tensor_bytes(value.type) for value in op.results),
    )


def _cells(row: LayerStatistics) -> tuple[str, ...]:
    accumulator, epilogue = row.accumulator, row.epilogue
    return (
        row.kind,
        ", ".join(row.inputs),
        ", ".join(row.results),
        "-" if accumulator is None else str(accumulator),
        "-" if accumulator is None else str(accumulator.bits),
        "-" if epilogue is None else str(epilogue),
        "-" if epilogue is None else f"{epilogue.proved}/{epilogue.channels}",
        f"{row.work:,}" if row.work else "-",
        f"{row.constant_bytes:,}" if row.constant_bytes else "-",
        f"{row.result_bytes:,}",
        row.name,
    )


def tensor_bytes(type: Attribute) -> int:
    """Bytes of a tensor's stored elements."""
    element = element_type(type)
    if isinstance(element, QuantizedType):
        width = element.storage_width
    else:
        assert isinstance(element, FixedBitwidthType)
        width = element.bitwidth
    return math.prod(tensor_shape(type)) * ((width + 7) // 8)


def describe(type: Attribute) -> str:
    """A tensor's shape, stored type, scale and zero point in short."""
    element = element_type(type)
    shape = "x".join(map(str, tensor_shape(type)))
    if not isinstance(element, QuantizedType):
        return f"{shape} {element}"
    storage = f"{shape} {element.data.storage}"
    if not element.is_per_tensor:
        return f"{storage} ({len(element.scales)} scales)"
    return f"{storage} ({element.scale:.6g}, {element.zero_point})"
