"""A model's layers as a table: what each one is, how big, and how much work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import FixedBitwidthType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation

from qlower.contracts.accumulator_range import (
    AccumulatorRange,
    accumulator_range,
    tensor_shape,
)
from qlower.dialects import qnn
from qlower.dialects.qnn.attributes import module_contract
from qlower.dialects.qnn.constraints import NARROW
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.model.layers import full_name, is_constant, layer_name, layers
from qlower.operators.sums import Sums
from qlower.tables.table import Column, Table, counted
from qlower.transforms.drop_channels import Dropped
from qlower.transforms.lower_qnn.bias import start_by
from qlower.transforms.prove_epilogues import Proof

_SUMS = (
    *(qnn.Conv2DOp, qnn.DepthwiseConv2DOp, qnn.LinearOp, qnn.MatMulOp),
    *(qnn.RealOp, qnn.HybridOp),
)
"""Operations whose first two operands are multiplied and summed."""


@dataclass(frozen=True)
class LayerStatistics:
    """One layer.

    `accumulator` is the range of its exact sums, `epilogue` says what was proved of
    their requantization, `work` counts multiply-accumulates, `needed` those on which
    a result of the model depends, `constant_bytes` its weights and bias,
    `result_bytes` what it computes.
    """

    number: int
    name: str
    full_name: str
    kind: str
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    accumulator: AccumulatorRange | None
    epilogue: Proof | None
    work: int
    needed: int
    constant_bytes: int
    result_bytes: int


LEGEND = {
    "fma": "one multiply-add takes the place of the contract's steps after the sum, "
    "proved to give the same for every sum",
    "mul, add": "the same by a multiplication and an addition",
    "mended": "the number of sums for which a correction is added",
    "table": "the results for all bytes are looked up",
    "copy": "the bytes pass as they are",
    "as written": "the contract's own steps",
    "needed": "products that can change an output: not those of channels that are "
    "constant, or that nobody reads; machine code leaves the others out",
}
"""The words of the column `epilogue`, explained."""

COLUMNS: tuple[Column[LayerStatistics], ...] = (
    Column("#", "number", lambda row: row.number),
    Column("layer", "layer", lambda row: row.name, least=12),
    Column(None, "full_name", lambda row: row.full_name),
    Column("op", "op", lambda row: row.kind, right=False),
    Column("input", "inputs", lambda row: row.inputs, least=14, rank=5),
    Column(
        "result (scale, zero point)",
        "results",
        lambda row: row.results,
        least=28,
        rank=1,
    ),
    Column(
        "accumulator",
        None,
        lambda row: None if row.accumulator is None else str(row.accumulator),
        rank=6,
    ),
    Column(
        None, "accumulator_min", lambda row: row.accumulator and row.accumulator.minimum
    ),
    Column(
        None, "accumulator_max", lambda row: row.accumulator and row.accumulator.maximum
    ),
    Column(
        "bits", "accumulator_bits", lambda row: row.accumulator and row.accumulator.bits
    ),
    Column(
        "epilogue", "epilogue", lambda row: row.epilogue and str(row.epilogue), rank=2
    ),
    Column(
        "proved",
        None,
        lambda row: row.epilogue and f"{row.epilogue.proved}/{row.epilogue.channels}",
        rank=4,
    ),
    Column(None, "channels", lambda row: row.epilogue and row.epilogue.channels),
    Column(None, "channels_proved", lambda row: row.epilogue and row.epilogue.proved),
    Column("MACs", "macs", lambda row: row.work, sums=True),
    Column("needed", "macs_needed", lambda row: row.needed, sums=True, rank=8),
    Column(
        "constant bytes",
        "constant_bytes",
        lambda row: row.constant_bytes,
        sums=True,
        rank=3,
    ),
    Column(
        "result bytes", "result_bytes", lambda row: row.result_bytes, sums=True, rank=7
    ),
)


def layer_statistics(
    module: ModuleOp,
    proofs: Iterable[Proof] = (),
    contract: str | None = None,
    dropped: Iterable[Dropped] = (),
) -> list[LayerStatistics]:
    """The layers of a model at the qnn level, in order; `proofs` and `dropped` have
    names of some.

    A bias in real numbers counts as `contract` quantizes it, by default the model's.
    """
    named = {proof.layer: proof for proof in proofs}
    idle = {one.layer: one.products - one.needed for one in dropped}
    used = contract or module_contract(module)
    return [
        _layer(number, op, named.get(layer_name(op)), idle.get(layer_name(op), 0), used)
        for number, op in enumerate(layers(module))
    ]


def multiply_accumulates(op: Operation) -> int:
    """Products that the layer's definition sums, padding included."""
    sums = op.sums if isinstance(op, _SUMS) else _sums_of_tosa(op)
    if sums is None:
        return 0
    return sums.count(*(tensor_shape(operand.type) for operand in op.operands[:2]))


def _sums_of_tosa(op: Operation) -> Sums | None:
    """The sums of a TOSA operation; None of another one."""
    if op.dialect_name() != "tosa":
        return None
    from qlower.dialects import tosa

    is_sum = isinstance(op, tosa.PaddedConvolutionOp | tosa.MatMulOp)
    return op.sums if is_sum else None


def layer_table(
    rows: Sequence[LayerStatistics],
    refused: Mapping[str, str] | None = None,
    *,
    full_names: bool = False,
) -> Table[LayerStatistics]:
    """The layers with a line of totals; people see `full_names` if they want to.

    `refused` says why some have no epilogue.
    """
    results = {text for row in rows for text in row.results}

    def inputs(row: LayerStatistics) -> str:
        """Without scales where a row above has them."""
        return ", ".join(
            text.split(" (")[0] if text in results else text for text in row.inputs
        )

    columns = [replace(c, show=inputs) if c.key == "inputs" else c for c in COLUMNS]
    if all(row.needed == row.work for row in rows):
        columns = [
            replace(c, title=None) if c.key == "macs_needed" else c for c in columns
        ]
    if full_names:
        columns[1:3] = [
            Column(None, "layer", lambda row: row.name),
            Column("layer", "full_name", lambda row: row.full_name, right=False),
        ]
    reasons: dict[str, list[str]] = {}
    for name, reason in (refused or {}).items():
        reasons.setdefault(reason, []).append(name)
    notes = [
        f"No epilogue of {counted(len(names), 'layer')} ({', '.join(names[:3])}"
        f"{', ...' if len(names) > 3 else ''}): {reason}."
        for reason, names in reasons.items()
    ]
    return Table("layers", rows, columns, counted(len(rows), "layer"), LEGEND, notes)


def _layer(
    number: int,
    op: Operation,
    epilogue: Proof | None,
    idle: int,
    contract: str | None,
) -> LayerStatistics:
    is_contraction = isinstance(op, qnn.Conv2DOp | qnn.DepthwiseConv2DOp | qnn.LinearOp)
    tensors = [value for value in op.operands if isinstance(value.type, TensorType)]
    constants = [value for value in tensors if is_constant(value.owner)]
    computed = [value for value in tensors if value not in constants]
    work = multiply_accumulates(op)
    return LayerStatistics(
        number,
        layer_name(op) or "",
        full_name(op) or "",
        op.name.split(".")[-1],
        tuple(describe(value.type) for value in computed),
        tuple(describe(value.type) for value in op.results),
        accumulator_range(op, start_by(contract, op) if is_contraction else None),
        epilogue,
        work,
        max(work - idle, 0),
        sum(tensor_bytes(value.type) for value in constants),
        sum(tensor_bytes(value.type) for value in op.results),
    )


def tensor_bytes(type: Attribute) -> int:
    """Bytes of a tensor's stored elements; two of 4 bits share one."""
    element = element_type(type)
    if isinstance(element, QuantizedType):
        width = element.storage_width
    else:
        assert isinstance(element, FixedBitwidthType)
        width = element.bitwidth
    held = width if width == NARROW else 8 * -(-width // 8)
    return -(-math.prod(tensor_shape(type)) * held // 8)


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
