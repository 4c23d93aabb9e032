"""The questions that decide a layer: which functions of integers to compare, and on
which intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.ir import Block, SSAValue

from qlower.contracts.accumulator_range import (
    accumulator_range,
    centred_rows,
    product_bounds,
)
from qlower.contracts.contractions import Contraction, Product
from qlower.contracts.pair_range import PAIR_BITS, pair_bounds
from qlower.contracts.products import IN_PAIRS
from qlower.contracts.registers import held_sums, keeps_sums
from qlower.dialects import qnn
from qlower.dialects.quant import QuantizedType, quantized_element
from qlower.dialects.types import element_type, integer_range
from qlower.interp import Array
from qlower.observe.layer_run import CONTRACTIONS, Evaluation, LayerRun
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.decide import Domain
from qlower.verification.functions import (
    NO_OFFSET,
    WHOLE,
    Given,
    Lanes,
    RuleFunction,
    Variable,
    make_lanes,
)
from qlower.verification.reach import Reach, all_over, reach_average, reach_sum
from qlower.verification.same_rules import Runs

POOLS = (qnn.AvgPool2DOp, qnn.AdaptiveAvgPool2DOp, qnn.MeanOp, qnn.SumOp)


@dataclass(frozen=True)
class Question:
    """Whether two functions are the same on a domain.

    `reach` gives operands of the layer for which an element of its result has a number
    of the domain. `rows` are the weights, [channel, weight], where results are integers
    and the numbers are sums of products with these.
    """

    functions: tuple[RuleFunction, RuleFunction]
    domain: Domain
    lanes: Lanes
    reach: Reach | None
    rows: Integers | None = None


def questions(runs: Runs, *, of_registers: bool = False) -> list[Question] | str:
    """The questions that decide a layer; or the reason why there are none of this
    form. With `of_registers` they are about all that a register of sums made in turn
    can hold, less the bias, rather than about exact sums."""
    a, b = runs
    op = a.op
    if not a.evaluations:
        return "what is moved or compared isn't the same"
    if isinstance(op, CONTRACTIONS):
        return _contraction(runs, op, of_registers)
    if isinstance(op, qnn.MatMulOp):
        return _matmul(runs, op, of_registers)
    if isinstance(op, POOLS):
        return _average(runs)
    if isinstance(op, qnn.BinaryOp):
        return _binary(runs, op)
    sources = _sources(a)
    if sources is None or len(sources) != len(b.evaluations):
        return (
            f"{op.name} depends on real numbers, or on a row or window for each element"
        )
    found: list[Question] = []
    for number, source in enumerate(sources):
        asked = _unary((a.evaluations[number], b.evaluations[number]), source)
        if asked is None:
            return _POSITION
        found.append(asked)
    return found


_POSITION = "a rule computes with the position of an element"


def _sources(run: LayerRun) -> Sequence[SSAValue] | None:
    """The operand of each evaluation of a rule of one stored integer."""
    op = run.op
    values = [one.values.get("input") for one in run.evaluations]
    if any(value is None or value.dtype.kind != "i" for value in values):
        return None
    sources: Sequence[SSAValue]
    match op:
        case qnn.ConcatOp():
            own = element_type(op.result.type)
            sources = [one for one in op.inputs if element_type(one.type) != own]
        case qnn.CompareOp():
            sources = [op.lhs, op.rhs]
        case qnn.L2NormalizeOp():
            return None
        case _:
            sources = [op.operands[0]]
    return sources if len(sources) == len(values) else None


def _ask(
    sides: Sequence[Evaluation],
    given: Sequence[Callable[[Lanes, int], Given]],
    bounds: tuple[Array, Array],
    reach: Reach | None,
    *,
    more: Sequence[Mapping[str, Array]] = ({}, {}),
    cuts: Sequence[Array] = (),
) -> Question | None:
    """A question about all lanes, with bounds of each; None if there are no lanes."""
    shape = np.broadcast_shapes(
        *(value.shape for side in sides for value in side.values.values()),
        *(value.shape for own in more for value in own.values()),
    )
    names = {f"cut {number}": cut for number, cut in enumerate(cuts)}
    extra = {"low": bounds[0], "high": bounds[1], **names}
    lanes = make_lanes(sides, ({**more[0], **extra}, more[1]), shape)
    if lanes is None:
        return None
    count = len(lanes.places)

    def column(name: str) -> Integers:
        return np.broadcast_to(lanes.columns[0, name], count).astype(np.int64)

    functions = [
        RuleFunction(side.rule, lanes.constants(number), make(lanes, number))
        for number, (side, make) in enumerate(zip(sides, given, strict=True))
    ]
    domain = Domain(
        np.arange(count),
        column("low"),
        column("high"),
        [column(name) for name in names],
    )
    return Question((functions[0], functions[1]), domain, lanes, reach)


def _contraction(
    runs: Runs, op: Contraction, of_registers: bool
) -> list[Question] | str:
    if isinstance(op, qnn.FusedAddOp):
        return "codes of another layer are added to each sum"
    bounds = product_bounds(op)
    if bounds is None:
        return "the weights aren't constant"
    held = _held(runs, op, of_registers)
    if isinstance(held, str):
        return held
    slack = _slack(runs, op)
    if isinstance(slack, str):
        return slack
    low, high = bounds[0] - slack, bounds[1] + slack
    if held is not None:
        low, high = (end - runs[0].start for end in held)
    offsets = [run.start.astype(np.int64) for run in runs]
    sides = [run.evaluations[-1] for run in runs]
    more = [{"offset": offset} for offset in offsets]
    cuts = [
        np.broadcast_to(cut, low.shape)
        for side, offset in zip(sides, offsets, strict=True)
        for cut in (-offset, *_wraps(side, low + offset, high + offset, -offset))
    ]
    reach = None if slack or held is not None else reach_sum(runs[0])
    asked = _ask(
        sides,
        [_accumulator(side) for side in sides],
        (low, high),
        reach,
        more=more,
        cuts=cuts,
    )
    if asked is None:
        return _POSITION
    if reach is None or runs[0].result.dtype.kind == "f":
        return [asked]
    return [replace(asked, rows=centred_rows(op))]


_CUT = "a register that is narrower than the sums may cut them"


def _held(
    runs: Runs, op: Product, of_registers: bool
) -> tuple[Integers, Integers] | str | None:
    """The ends of what registers hold, None where that are exact sums; or the reason
    why it isn't known."""
    if all(keeps_sums(run.contract, op, run.start) for run in runs):
        return None
    held = held_sums(runs[0].contract, op, runs[0].start) if of_registers else None
    return _CUT if held is None else held


def _slack(runs: Runs, op: Contraction) -> int | str:
    """The distance by which saturated pairs can leave the bounds of exact sums; or the
    reason why the sums of both sides may differ."""
    excess = [_excess(op, run.product) for run in runs]
    if not any(excess):
        return 0
    if runs[0].product == runs[1].product:
        return excess[0]
    return "pairs of products may saturate by one contract alone"


def _excess(op: Contraction, product: str) -> int:
    """The most that a sum can lose or gain as its pairs saturate."""
    if product not in IN_PAIRS:
        return 0
    bounds = pair_bounds(op, product)
    assert bounds is not None, "the weights are constant"
    low, high = integer_range(PAIR_BITS)
    most = max(low - int(bounds[0].min()), int(bounds[1].max()) - high, 0)
    return most * int(np.prod(op.weight.type.get_shape()))


def _matmul(runs: Runs, op: qnn.MatMulOp, of_registers: bool) -> list[Question] | str:
    held = _held(runs, op, of_registers)
    if isinstance(held, str):
        return held
    reach = accumulator_range(op)
    assert reach is not None
    low, high = held or (np.array(reach.minimum), np.array(reach.maximum))
    sides = [run.evaluations[-1] for run in runs]
    zero = np.zeros((), np.int64)
    asked = _ask(
        sides,
        [_accumulator(side) for side in sides],
        (low, high),
        None,
        cuts=[zero, *_wraps(sides[0], low, high, zero)],
    )
    return _POSITION if asked is None else [asked]


_MOST_WRAPS = 8
"""A domain isn't cut where sums wrap more often."""


def _wraps(
    side: Evaluation, low: Integers, high: Integers, first: Integers
) -> Iterator[Integers]:
    """The numbers, `first` for a sum of 0, from which sums in low ... high wrap."""
    width = 8 * side.values["accumulator"].itemsize
    half = 1 << (width - 1)
    least, most = (int(end) + half >> width for end in (low.min(), high.max()))
    if most - least <= _MOST_WRAPS:
        for wraps in range(least + 1, most + 1):
            yield first + ((wraps << width) - half)


def _accumulator(evaluation: Evaluation) -> Callable[[Lanes, int], Given]:
    """The accumulator of a number and of the lane's offset, if it has one, in the type
    in which the rule was given it."""
    dtype = evaluation.values["accumulator"].dtype

    def given(lanes: Lanes, side: int) -> Given:
        offset = lanes.columns.get((side, "offset"), NO_OFFSET)
        return Given(WHOLE, {"accumulator": (0, offset, dtype)})

    return given


def _average(runs: Runs) -> list[Question] | str:
    """Sums of a pool's stored integers."""
    op = runs[0].op
    type = quantized_element(op.operands[0].type)
    sides = [run.evaluations[-1] for run in runs]
    count = sides[0].values["count"].astype(np.int64)
    low, high = count * type.storage_min, count * type.storage_max
    given: list[Callable[[Lanes, int], Given]] = []
    cuts = [np.zeros((), np.int64), count * type.zero_point]
    for run, side in zip(runs, sides, strict=True):
        if "sum" not in side.values:
            given.append(_accumulator(side))
            # of what is stored, and of its difference from the zero points
            for first in (np.zeros((), np.int64), count * type.zero_point):
                cuts += _wraps(side, low - first, high - first, first)
            continue
        addends = _exact_addends(run.evaluations[0], type, int(count.max()))
        if addends is None:
            return "sums of rounded addends depend on their order"
        given.append(_centred_sum(addends, type.zero_point))
    reach = reach_average(runs[0])
    asked = _ask(
        sides,
        given,
        (low, high),
        reach,
        more=({"taps": count}, {"taps": count}),
        cuts=cuts,
    )
    return _POSITION if asked is None else [asked]


def _centred_sum(
    dtype: np.dtype[np.generic], point: int
) -> Callable[[Lanes, int], Given]:
    """The sum of `stored - zero point`, of a sum of stored integers."""

    def given(lanes: Lanes, side: int) -> Given:
        count = lanes.columns[side, "taps"]
        return Given(WHOLE, {"sum": (0, -point * count, dtype)})

    return given


def _exact_addends(
    addend: Evaluation, type: QuantizedType, count: int
) -> np.dtype[np.generic] | None:
    """The type of the addends, if those are differences from the zero point and their
    sums are exact in it."""
    stored = np.arange(type.storage_min, type.storage_max + 1, dtype=np.int32)
    (addends,) = addend.rule.evaluate({**addend.values, "input": stored})
    centred = stored - type.zero_point
    limit = 1 << (24 if addends.dtype == np.float32 else 31)
    is_exact = np.array_equal(addends, centred)
    is_small = int(np.abs(centred).max()) * count < limit
    return addends.dtype if is_exact and is_small else None


def _unary(sides: tuple[Evaluation, Evaluation], source: SSAValue) -> Question | None:
    type = quantized_element(source.type)
    bounds = np.array(type.storage_min), np.array(type.storage_max)

    def given(lanes: Lanes, side: int) -> Given:
        return Given(WHOLE, {"input": (0, NO_OFFSET, np.dtype(np.int32))})

    return _ask(sides, (given, given), bounds, all_over([source]))


def _binary(runs: Runs, op: qnn.BinaryOp) -> list[Question] | str:
    """Every pair of stored integers; of an operand that is constant its own."""
    sides = [run.evaluations[-1] for run in runs]
    types = [quantized_element(value.type) for value in (op.lhs, op.rhs)]
    names = [
        name
        for name, value in (("lhs", op.lhs), ("rhs", op.rhs))
        if isinstance(value.owner, Block)
    ]
    fixed = {
        name: sides[0].values[name] for name in ("lhs", "rhs") if name not in names
    }
    ranges = [
        (type.storage_min, type.storage_max - type.storage_min + 1)
        for name, type in zip(("lhs", "rhs"), types, strict=True)
        if name in names
    ]
    is_square = op.lhs is op.rhs
    if is_square:
        ranges = ranges[:1]
    count = int(np.prod([size for _, size in ranges]))
    inner = ranges[-1][1] if len(ranges) == 2 else 1
    steps = (inner, 1) if len(ranges) == 2 else (1,)
    variables = [
        Variable(low, step, size)
        for (low, size), step in zip(ranges, steps, strict=True)
    ]
    own = [0, 0] if is_square else range(len(names))
    values = {
        name: (index, NO_OFFSET, np.dtype(np.int32))
        for name, index in zip(names, own, strict=True)
    }

    def numbers(x: int) -> list[int]:
        return [int(variables[index](np.array(x))) for index in own]

    def given(lanes: Lanes, side: int) -> Given:
        return Given(variables, values)

    sources = [value for value in op.operands[:2] if isinstance(value.owner, Block)]
    asked = _ask(
        sides,
        (given, given),
        (np.zeros((), np.int64), np.array(count - 1)),
        all_over(sources, numbers),
        more=(fixed, fixed),
    )
    return _POSITION if asked is None else [asked]
