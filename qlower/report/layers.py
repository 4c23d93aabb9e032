"""The blocks that the page shows when a layer is opened."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.ir import Operation, SSAValue

from qlower.diagnostics import printable
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.explain.diff import line_up
from qlower.explain.diff_result import Diff, LayerDifference
from qlower.explain.pairing import pair_table
from qlower.explain.trace import Trace, trace_of
from qlower.inspection.layer_table import COLUMNS, LEGEND, LayerStatistics, describe
from qlower.interp.values import Array
from qlower.model.layers import is_constant, layer_name
from qlower.observe.coverage import Lanes
from qlower.observe.layer_run import LayerRun
from qlower.observe.place import show
from qlower.observe.rows import chain_table, show_exact, show_value
from qlower.report import blocks
from qlower.report.attributes import attributes_of
from qlower.report.blocks import Block
from qlower.report.elements import Element, choose_elements
from qlower.report.levels import Levels
from qlower.report.maps import Grid, difference_map, value_map
from qlower.report.measures import Cut
from qlower.runtime.profiling import Profile
from qlower.tables.table import Row, Table, counted
from qlower.verification.verdict import Equality


@dataclass(frozen=True)
class Limits:
    """The limits of a layer's part of the page: elements with their chains, and cells
    of its pictures."""

    elements: int
    cells: int

    @staticmethod
    def of(count: int) -> Limits:
        """The limits for a model of `count` layers: small models are shown in full."""
        share = max(count, 1)
        elements = min(max(3_000 // share, 8), 24)
        return Limits(elements, min(max(2_000_000 // share, 4_096), 32_768))


@dataclass(frozen=True)
class Seen:
    """Facts about the whole model, for the blocks of its layers; None for those that
    weren't asked for."""

    statistics: Mapping[str, LayerStatistics]
    levels: Levels
    limits: Limits
    diff: Diff | None = None
    profile: Profile | None = None
    equality: Equality | None = None


@dataclass(frozen=True)
class SeenLayer:
    """A layer on one input: `run` is it by the contract, on the values that `alone`
    means, `other` the same by the other side, if that is computed here.

    `carried` and `alone` are the results of both sides, on each side's own values and
    on the same ones, as far as they are known; `value` is the layer's own result.
    """

    name: str
    op: Operation
    value: Array
    run: LayerRun | None
    other: LayerRun | None
    lanes: Lanes | None
    cut: Cut | None
    carried: tuple[Array, Array] | None = None
    alone: tuple[Array, Array] | None = None


def layer_blocks(layer: SeenLayer, seen: Seen) -> Iterator[Block]:
    """All blocks of a layer, in the page's order."""
    row = seen.statistics[layer.name]
    if seen.diff is not None:
        rows = [one for one in seen.diff.layers if _is_of(one, layer.name)]
        yield blocks.table(_part(seen.diff.table, rows), "divergence")
        steps = [str(one.steps) for one in rows if one.steps is not None]
        if steps:
            told = (("", text) for text in steps)
            yield blocks.facts("another step, whatever the input", told)
    if seen.equality is not None:
        verdicts = [one for one in seen.equality.layers if one.layer == layer.name]
        title = seen.equality.table.title
        yield blocks.table(_part(seen.equality.table, verdicts, ()), title)
    grid = Grid.of(layer.value.shape, seen.limits.cells)
    yield blocks.maps("pictures", list(_maps(layer, grid)))
    yield from _elements(layer, grid, seen)
    yield blocks.facts("layer", _facts(row, layer))
    bars = blocks.histogram("result", layer.value)
    if bars is not None:
        yield bars
    yield blocks.facts("scales", _scales(layer.op))
    yield from _strips(layer.op)
    yield blocks.facts("ranges", _ranges(row, layer))
    if row.epilogue is not None:
        yield blocks.facts("proof", _proof(row))
    if seen.profile is not None:
        times = [one for one in seen.profile if layer.name in one.layers]
        yield blocks.table(_part(seen.profile.table, times, ()), "time of its kernels")
    for level in seen.levels.texts(layer.name):
        yield blocks.code(level.level, level.text, level.about)


def _part(
    table: Table[Row], rows: Sequence[Row], notes: Sequence[str] | None = None
) -> Table[Row]:
    """Some rows of a table, without the columns that say which layer it is."""
    columns = [c for c in table.columns if c.key not in ("number", "layer", "op")]
    notes = table.notes if notes is None else notes
    return replace(table, rows=rows, columns=columns, notes=notes)


def _is_of(row: LayerDifference, layer: str) -> bool:
    return layer in (row.name, row.name.rpartition(":")[0])


def _facts(row: LayerStatistics, layer: SeenLayer) -> Iterator[tuple[str, str]]:
    yield "name", row.name
    if layer.run is not None:
        yield "contract", layer.run.contract.name
    told = ("op", "inputs", "results", "macs", "constant_bytes", "result_bytes")
    for column in COLUMNS:
        if column.title is not None and column.key in told:
            yield column.title, column.text(row)
        if column.key == "op":
            yield from attributes_of(layer.op).items()
    if row.full_name != row.name:
        yield "in the file", row.full_name


def _scales(op: Operation) -> Iterator[tuple[str, str]]:
    for number, operand in enumerate(op.operands):
        yield f"operand {number}, {_source(operand)}", _quantization(operand)
    for result in op.results:
        yield "result", _quantization(result)


def _source(value: SSAValue) -> str:
    owner = value.owner
    if is_constant(owner):
        return "constant"
    name = layer_name(owner) if isinstance(owner, Operation) else None
    return name or "input of the model"


def _quantization(value: SSAValue) -> str:
    return describe(value.type)


def _strips(op: Operation) -> Iterator[Block]:
    """The scales of channels, a picture for each operand that has several."""
    for value in op.operands:
        type = element_type(value.type)
        if isinstance(type, QuantizedType) and not type.is_per_tensor:
            yield blocks.strip(f"scales of {_source(value)}, by channel", type.scales)


def _ranges(row: LayerStatistics, layer: SeenLayer) -> Iterator[tuple[str, str]]:
    known, run, value = row.accumulator, layer.run, layer.value
    if known is not None:
        text = f"{known}, {known.bits} bits"
        yield "accumulators that any input can give", text
    if run is not None and run.exact_accumulators is not None:
        sums = run.exact_accumulators
        yield "accumulators for this input", f"[{sums.min()}, {sums.max()}]"
    if value.size and value.dtype.kind in "iub":
        least, greatest = value.min(), value.max()
        text = f"[{least}, {greatest}]"
        type = element_type(layer.op.results[0].type)
        if isinstance(type, QuantizedType) and type.is_per_tensor:
            real = [(int(n) - type.zero_point) * type.scale for n in (least, greatest)]
            ends = f"[{type.storage_min}, {type.storage_max}]"
            text += f" of {ends}, which stand for {real[0]:.6g} to {real[1]:.6g}"
        yield "result for this input", text
    if layer.cut is not None:
        zeros = f", of these {layer.cut.at_zero:,} at 0" if layer.cut.at_zero else ""
        low, high = layer.cut.low, layer.cut.high
        yield "elements that are cut", f"{low:,} at the low end{zeros}; {high:,} high"


def _proof(row: LayerStatistics) -> Iterator[tuple[str, str]]:
    assert row.epilogue is not None
    yield "epilogue", str(row.epilogue)
    proved, channels = row.epilogue.proved, row.epilogue.channels
    yield (
        "proved for every accumulator",
        f"{proved:,} of {counted(channels, 'channel')}",
    )
    for word, meaning in LEGEND.items():
        if word in str(row.epilogue):
            yield word, meaning


def _maps(layer: SeenLayer, grid: Grid) -> Iterator[Block]:
    pairs = {"differences alone": layer.alone, "differences carried": layer.carried}
    for title, pair in pairs.items():
        if pair is not None:
            yield difference_map(title, *pair, grid)
    yield value_map("result", layer.value, grid)


def _elements(layer: SeenLayer, grid: Grid, seen: Seen) -> Iterator[Block]:
    run = layer.run
    if run is None:
        return
    apart = None
    if layer.alone is not None:
        a, b = layer.alone
        wide = np.float64 if a.dtype.kind == "f" else np.int64
        apart = np.nan_to_num(b.astype(wide) - a.astype(wide))
    chosen = choose_elements(run, layer.lanes, apart, seen.limits.elements)
    if not chosen:
        return
    size = math.prod(run.result.shape)
    about = (
        f"{counted(len(chosen), 'element')} of {size:,}: the first that differs and "
        "one that differs the most, the nearest to a tie of each rounding, the least "
        "and the greatest, one that is cut at each end, and one of each of some "
        f"channels. For any other: qlower trace MODEL --at '{layer.name}[...]'"
    )
    items = [_element(layer, element, grid, seen) for element in chosen]
    yield blocks.elements("how an element came about", about, items)


def _element(layer: SeenLayer, element: Element, grid: Grid, seen: Seen) -> Block:
    run, index = layer.run, element.index
    assert run is not None
    a = trace_of(run, layer.name, index)
    b = None if layer.other is None else trace_of(layer.other, layer.name, index)
    values: list[Array] = [a.result]
    lines: list[str] = []
    parts: list[Block] = []
    if a.sum is not None:
        lines.append(str(a.sum))
    if seen.diff is not None and layer.alone is not None:
        values = [result[index] for result in layer.alone]
        lines += [_steps(seen.diff.a, a), *([_steps(seen.diff.b, b)] if b else [])]
    if seen.diff is not None and b is not None:
        pairs = line_up(a, b, is_equal=bool(values[0] == values[1]))
        both = pair_table(pairs, seen.diff.a, seen.diff.b)
        parts += [blocks.table(both, f"{seen.diff.a} and {seen.diff.b}")] * bool(pairs)
    if not parts:
        parts = [blocks.table(chain_table(chain)) for chain in a.chains]
        lines += ["both take the same steps"] * (b is not None)
    texts = dict.fromkeys(show_value(value) for value in values)
    exact = f", exact {show_exact(a.exact)}" if a.exact is not None else ""
    return {
        "at": show(index) or "the only one",
        "why": ", ".join(element.why),
        "value": " | ".join(texts) + exact,
        "cell": list(grid.cell(index, run.result.shape)),
        "lines": [printable(line) for line in lines],
        "blocks": parts,
    }


def _steps(side: str, trace: Trace) -> str:
    """A side's steps in a line."""
    return f"{side}: {trace.path}"
