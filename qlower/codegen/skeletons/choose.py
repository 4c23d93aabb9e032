"""The choice of the skeleton that runs a nest: made once, emitted wherever the nest
is."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from xdsl.ir import Attribute

from qlower.codegen.llvm.function import Function
from qlower.codegen.nests.nest import LoopNest
from qlower.codegen.nests.recognise import Contraction, DepthwiseProducts, recognise
from qlower.codegen.skeletons.contraction.emit import emit_contraction
from qlower.codegen.skeletons.contraction.of_activations import (
    PairPlan,
    emit_pair,
    plan_pair,
)
from qlower.codegen.skeletons.contraction.tiling import (
    VectorPlan,
    plan_vectors,
    tile_candidates,
)
from qlower.codegen.skeletons.contraction.widened import (
    WidenedPlan,
    emit_widened,
    plan_widened,
)
from qlower.codegen.skeletons.depthwise.emit import (
    WindowPlan,
    emit_depthwise,
    plan_window,
)
from qlower.codegen.skeletons.depthwise.routine import (
    RoutinePlan,
    emit_windows,
    plan_routine,
)
from qlower.codegen.skeletons.loops import LoopPlan, emit_loops, plan_loops
from qlower.codegen.skeletons.products.packing import Weights
from qlower.codegen.skeletons.tile_registers.plan import (
    TiledContraction,
    plan_tiles,
    possible_tiles,
    tile_factors,
)
from qlower.codegen.targets.resolve import Target
from qlower.dialects.kernel import Schedule, TileAttr, TileRegistersAttr

Skeleton: TypeAlias = (
    VectorPlan
    | WidenedPlan
    | PairPlan
    | TiledContraction
    | WindowPlan
    | RoutinePlan
    | LoopPlan
)
"""The skeleton that runs a nest, with all that is decided before code is written."""


def scratch_bytes(skeleton: Skeleton) -> int:
    """Bytes of memory that a nest's code needs while it runs, at a multiple of 4."""
    match skeleton:
        case WidenedPlan(scratch=sizes) | RoutinePlan(scratch=sizes):
            return sum(sizes)
        case _:
            return 0


def _may_have_scratch(nest: LoopNest) -> bool:
    """Whether the planner hasn't refused the nest's code memory of its own."""
    return nest.op.scratch is None or nest.op.scratch.bytes.data > 0


class Skeletons:
    """The skeletons of a nest and of its blocks, for a target.

    The nest is recognised once, and its weights are packed once for each kind of
    product.
    """

    def __init__(self, target: Target, nest: LoopNest) -> None:
        self.target = target
        self.products = recognise(nest)
        self.weights = (
            Weights(self.products) if isinstance(self.products, Contraction) else None
        )

    def of(self, nest: LoopNest, schedule: Attribute | None) -> Skeleton:
        """The skeleton of the nest itself or a block of it, cut as a schedule says or
        else by estimate.

        Raises QlowerError where the schedule can't be followed.
        """
        match self.products:
            case Contraction():
                assert self.weights is not None
                contraction = self.products.on(nest)
                if schedule is None:
                    widened = self._widened(contraction, self.weights)
                    if widened is not None:
                        return widened
                plan = None
                if nest.channels is None:
                    plan = plan_tiles(self.target, contraction, schedule)
                if plan is None:
                    return plan_vectors(
                        self.target, contraction, self.weights, schedule
                    )
                factors = tile_factors(self.weights)
                return TiledContraction(contraction, plan, factors)
            case DepthwiseProducts():
                products = self.products.on(nest)
                routine = None
                if _may_have_scratch(nest):
                    routine = plan_routine(self.target, products)
                return routine or plan_window(self.target, products)
            case None:
                return plan_pair(self.target, nest) or plan_loops(self.target, nest)

    def _widened(
        self, contraction: Contraction, weights: Weights
    ) -> WidenedPlan | None:
        """The contraction by a routine, where one pays and has memory."""
        if not _may_have_scratch(contraction.nest):
            return None
        return plan_widened(self.target, contraction, weights)

    def channels_of_tile(self) -> int:
        """The unit of a part of a contraction's channels, in vector registers."""
        assert self.weights is not None
        products = self.weights.contraction
        schedule = products.nest.op.schedule
        return plan_vectors(self.target, products, self.weights, schedule).channels

    def estimated_schedule(self) -> Schedule | None:
        """The best way to cut a contraction, by estimate; None for any other nest, and
        where a routine takes all rows and channels."""
        if self.weights is None:
            return None
        products = self.weights.contraction
        if self._widened(products, self.weights) is not None:
            return None
        if plan_tiles(self.target, products, None) is not None:
            return TileRegistersAttr()
        plan = plan_vectors(self.target, products, self.weights, None)
        return TileAttr(plan.tiling.height, plan.tiling.width)

    def schedules(self) -> list[Schedule]:
        """All ways to cut a contraction, the best by estimate first."""
        if self.weights is None:
            return []
        products, best = self.weights.contraction, self.estimated_schedule()
        tilings = tile_candidates(self.target, products, self.weights)
        found: list[Schedule] = [TileAttr(one.height, one.width) for one in tilings]
        if possible_tiles(self.target, products) is not None:
            found.insert(0, TileRegistersAttr())
        if best is not None:
            found.insert(0, best)
        return list(dict.fromkeys(found))


def emit_nest(f: Function, target: Target, skeleton: Skeleton, nest: LoopNest) -> None:
    """All code of a nest, placed in `f`, by the skeleton that was chosen for it."""
    match skeleton:
        case VectorPlan(contraction=contraction):
            placed = replace(skeleton, contraction=contraction.on(nest))
            emit_contraction(f, target, placed)
        case WidenedPlan(contraction=contraction):
            placed = replace(skeleton, contraction=contraction.on(nest))
            emit_widened(f, target, placed)
        case PairPlan():
            emit_pair(f, target, skeleton.on(nest))
        case TiledContraction(contraction=contraction):
            # few machines have tile registers, and every command would import this
            from qlower.codegen.skeletons.tile_registers.emit import emit_tiles

            emit_tiles(f, target, replace(skeleton, contraction=contraction.on(nest)))
        case WindowPlan(products=products):
            emit_depthwise(f, target, replace(skeleton, products=products.on(nest)))
        case RoutinePlan(products=products):
            emit_windows(f, target, replace(skeleton, products=products.on(nest)))
        case LoopPlan():
            emit_loops(f, target, nest, skeleton)
