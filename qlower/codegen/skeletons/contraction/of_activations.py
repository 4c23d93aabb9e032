"""Sums of products of two activations, as in attention: one packed when it runs.

A matrix of the factor that moves with the lanes is packed as constant weights are, with
the sums of its columns; then it is multiplied by the tiles of a contraction. In the
words of `packing`, x' and w' are what the dot product takes, and what else there is
follows from the sums of w' and x'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I64, Type, Value, constant, vector_constant, zero
from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.point import nested
from qlower.codegen.nests.recognise import (
    Contraction,
    Factor,
    factors_of,
    lanes_of_products,
)
from qlower.codegen.skeletons.contraction.emit import Tiles
from qlower.codegen.skeletons.contraction.tiling import Sizes, Tiling, choose_tile
from qlower.codegen.skeletons.products.byte_products import BroadcastBytes
from qlower.codegen.skeletons.products.choose import vector_step
from qlower.codegen.skeletons.products.packing import Packed
from qlower.codegen.targets.resolve import Target

_LEAST = 8
"""Rows, columns and products of a sum from which packing pays."""

_MOST_BYTES = 1 << 17
"""Bytes of a packed matrix on the stack, which caches hold beside the other one."""


@dataclass(frozen=True)
class PairPlan:
    """Products of two activations: the weights of `contraction` are no constant, and
    are packed for `dot` for each step of the groups."""

    contraction: Contraction
    dot: BroadcastBytes
    tiling: Tiling
    sizes: Sizes

    @property
    def weight_bytes(self) -> int:
        """Bytes of a packed matrix."""
        return self.sizes.vectors * self.sizes.chunks * self.dot.chunk_bytes

    def on(self, nest: LoopNest) -> PairPlan:
        """This plan of the same nest with addresses."""
        placed = self.contraction.on(nest)
        placed = replace(placed, weight=placed.weight.of(nest))
        return replace(self, contraction=placed)


def plan_pair(target: Target, nest: LoopNest) -> PairPlan | None:
    """The plan of a nest that multiplies two activations, where packing pays and the
    target has dot products of bytes."""
    factors = factors_of(nest)
    if factors is None or len(nest.reduction) != 1:
        return None
    plans = (_plan(target, nest, x, w) for x, w in (factors, factors[::-1]))
    return next((plan for plan in plans if plan is not None), None)


def _plan(
    target: Target, nest: LoopNest, activation: Factor, weight: Factor
) -> PairPlan | None:
    """The plan with these parts of the factors."""
    run, parallel = len(nest.parallel), range(len(nest.parallel))
    x, w = activation.operand, weight.operand
    dot = vector_step(target, "i8", signed=activation.signed)
    lanes = lanes_of_products(nest, activation, weight, 0)
    if not isinstance(dot, BroadcastBytes) or dot.weights_are_joined:
        return None
    for factor in (activation, weight):
        is_plain = isinstance(factor.offset, int) and factor.scalar == "i8"
        if not is_plain or factor.operand.data is not None or factor.operand.edges:
            return None
    if len(lanes) != 1 or w.strides[lanes[0]] != 1 or x.strides[run] != 1:
        return None
    others = [loop for loop in parallel if loop != lanes[0]]
    groups = tuple(loop for loop in others if w.strides[loop])
    pixels = tuple(loop for loop in others if not w.strides[loop])
    contraction = Contraction(
        nest, activation, weight, lanes[0], run, (), groups, pixels
    )
    length, columns = nest.bounds[run], nest.bounds[lanes[0]]
    rows = nest.bounds[pixels[-1]] if pixels else 1
    if min(rows, length, columns) < _LEAST:
        return None
    chunks, vectors = -(-length // dot.depth), -(-columns // dot.lanes)
    has_row_factor = _excess(weight) != 0
    sizes = Sizes(rows, length, vectors, chunks, has_row_factor)
    tiling = choose_tile(target.vector_registers, dot, sizes)
    plan = PairPlan(contraction, dot, tiling, sizes)
    return plan if plan.weight_bytes <= _MOST_BYTES else None


def _excess(weight: Factor) -> int:
    """w1 = w' - (w - w0), where w' is the stored number as a signed byte."""
    assert isinstance(weight.offset, int)
    return weight.offset if weight.signed else weight.offset - 128


def emit_pair(f: Function, target: Target, plan: PairPlan) -> None:
    """The whole nest, which is placed."""
    contraction, dot, sizes = plan.contraction, plan.dot, plan.sizes
    nest = contraction.nest
    packed = Packed(
        f.allocate(plan.weight_bytes),
        f.allocate(4 * sizes.vectors * dot.lanes),
        starts_from_initial=False,
        row_factor=_excess(contraction.weight) or None,
        vectors=sizes.vectors,
        chunks=sizes.chunks,
        taps=1,
        block=1,
    )
    of_group = replace(contraction, groups=())
    common = f, target, nest, contraction.lane, of_group, dot, packed
    code = Tiles(*common, plan.tiling, None)

    def group(indices: list[Value]) -> None:
        _pack(f, plan, packed, indices)
        code.group(indices)

    indices = [constant(I64, 0)] * len(nest.bounds)
    nested(f, nest.bounds, contraction.groups, indices, group)


def _pack(f: Function, plan: PairPlan, packed: Packed, indices: list[Value]) -> None:
    """Packs the matrix of the group at `indices`."""
    dot = plan.dot
    whole, rest = divmod(plan.contraction.nest.bounds[plan.contraction.lane], dot.lanes)

    def vector(number: Value, carried: list[Value]) -> list[Value]:
        _pack_vector(f, plan, packed, indices, number, dot.lanes)
        return carried

    f.loop(whole, [], vector)
    if rest:
        _pack_vector(f, plan, packed, indices, constant(I64, whole), rest)


def _pack_vector(
    f: Function,
    plan: PairPlan,
    packed: Packed,
    indices: list[Value],
    number: Value,
    lanes: int,
) -> None:
    """Packs a vector of columns, `lanes` of them, and the numbers that their sums start
    from: -x1 sum w' + K x1 w1."""
    contraction, dot = plan.contraction, plan.dot
    nest, weight = contraction.nest, contraction.weight
    assert contraction.run is not None
    lane, run = contraction.lane, contraction.run
    point = list(indices)
    point[lane] = f.scale(number, dot.lanes)
    ones = vector_constant("i8", [1] * dot.lanes * dot.depth)
    first = f.scale(number, plan.sizes.chunks)

    def row(position: Value) -> Value:
        now = [*point[:run], position]
        loaded = weight.operand.load(f, now, lane, lanes)
        if not weight.signed:
            loaded = f.binary("xor", loaded, constant(loaded.type, -128))
        # lanes beyond the columns are summed, and not read
        return f.shuffle(loaded, [min(n, lanes - 1) for n in range(dot.lanes)])

    def put(chunk: Value, rows: list[Value], total: Value) -> Value:
        a, b, c, d = rows
        joined = f.interleave(f.interleave(a, c), f.interleave(b, d))
        offset = f.scale(f.add(first, chunk), dot.chunk_bytes)
        f.store(joined, f.at(packed.weights, offset), dot.chunk_bytes)
        return dot.multiply(f, total, [ones], [joined])

    def step(chunk: Value, carried: list[Value]) -> list[Value]:
        start = f.scale(chunk, dot.depth)
        rows = [row(f.add(start, constant(I64, tap))) for tap in range(dot.depth)]
        return [put(chunk, rows, carried[0])]

    length = nest.bounds[run]
    whole = length // dot.depth
    (total,) = f.loop(whole, [zero(Type("i32", dot.lanes))], step)
    if length % dot.depth:
        last = dot.positions(length)[-1].tolist()
        nothing = zero(Type("i8", dot.lanes))
        rows = [row(constant(I64, at)) if at >= 0 else nothing for at in last]
        total = put(constant(I64, whole), rows, total)
    assert isinstance(contraction.activation.offset, int)
    x1 = contraction.activation.offset
    x1 += dot.activation_bias(contraction.activation.signed)
    start = f.binary("mul", total, f.splat(f.number(-x1), dot.lanes))
    known = f.splat(f.number(length * x1 * _excess(weight)), dot.lanes)
    offset = f.scale(number, 4 * dot.lanes)
    start = f.binary("add", start, known)
    f.store(start, f.at(packed.correction, offset), 4 * dot.lanes)
