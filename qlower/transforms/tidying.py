"""xDSL's passes canonicalize, cse and dce, in time that follows what they can change.

xDSL's own ask for each operation, in each of several walks, which traits its class has.
Most of a lowered model has nothing to fold, and no twin: that is seen here at a glance.
The result is the same; `qlower-opt` runs xDSL's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.folder import Folder
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.traits import (
    ConstantLike,
    HasCanonicalizationPatternsTrait,
    HasFolder,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    NoMemoryEffect,
    is_side_effect_free,
)
from xdsl.transforms.dead_code_elimination import region_dce, would_be_trivially_dead


class CanonicalizePass(ModulePass):
    """Folds operations and applies their patterns, until nothing changes."""

    name = "canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pattern = _Simplification(Folder(ctx))
        _FoldingWalker(pattern, post_walk_func=erase_dead).rewrite_module(op)


class CsePass(ModulePass):
    """Replaces operations by equal ones before them."""

    name = "cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for region in op.regions:
            _Equal().merge(region)


class DcePass(ModulePass):
    """Erases operations without effects that nothing uses."""

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erase_dead(op.body)


class _FoldingWalker(PatternRewriteWalker):
    """Begins with the operations that can fold or have patterns; what depends on one
    that changes follows, as with xDSL's."""

    def _populate_worklist(self, op: Operation | Region | Block) -> None:
        for inner in op.walk(reverse=True, region_first=True):
            if _folds(type(inner)) or _patterns(type(inner)):
                self._worklist.push(inner)


@dataclass(eq=False, repr=False)
class _Simplification(RewritePattern):
    """Erases an operation that is dead, else folds it, else applies its patterns."""

    folder: Folder

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if is_dead(op):
            rewriter.erase(op)
            return
        folded = self.folder.try_fold(op) if _folds(type(op)) else None
        if folded is not None:
            values, constants = folded
            rewriter.replace(op, constants, values)
            return
        for pattern in _patterns(type(op)):
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return


@cache
def _folds(kind: type[Operation]) -> bool:
    return kind.has_trait(
        HasFolder, value_if_unregistered=False
    ) and not kind.has_trait(ConstantLike)


@cache
def _patterns(kind: type[Operation]) -> tuple[RewritePattern, ...]:
    traits = kind.get_traits_of_type(HasCanonicalizationPatternsTrait)
    return tuple(pattern for trait in traits for pattern in trait.get_patterns(kind))


def erase_dead(region: Region, listener: PatternRewriterListener | None = None) -> bool:
    """Erases what nothing uses, from the last operation to the first, so that its
    operands have gone unused when it is their turn; says whether there was any."""
    if len(region.blocks) > 1:
        return region_dce(region, listener)
    changed = False
    for block in region.blocks:
        for op in reversed(block.ops):
            if is_dead(op):
                if listener is not None:
                    listener.handle_operation_removal(op)
                block.erase_op(op, safe_erase=False)
                changed = True
                continue
            for inner in op.regions:
                changed |= erase_dead(inner, listener)
    return changed


def is_dead(op: Operation) -> bool:
    """Whether nothing uses an operation, which has no effects either."""
    return _is_unused(op) and (_is_pure(type(op)) or would_be_trivially_dead(op))


def _is_unused(op: Operation) -> bool:
    return not any([result.first_use for result in op.results])


@dataclass(eq=False)
class Expression:
    """The computation of an operation, equal for operations with the same results."""

    op: Operation
    operands: tuple[SSAValue, ...]
    types: tuple[Attribute, ...]

    @classmethod
    def of(cls, op: Operation) -> Expression:
        return cls(op, tuple(op.operands), tuple(op.result_types))

    def __hash__(self) -> int:
        # Operations with operands in common are few.
        if self.operands:
            return hash((self.op.name, self.operands))
        return hash((self.op.name, frozenset(self.op.properties.items()), self.types))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Expression)
            and self.op.name == other.op.name
            and self.operands == other.operands
            and self.types == other.types
            and self.op.properties == other.op.properties
            and self.op.attributes == other.op.attributes
            and all(
                one.is_structurally_equivalent(same)
                for one, same in zip(self.op.regions, other.op.regions, strict=True)
            )
        )


@dataclass
class _Equal:
    """The operations that dominate a place, by what they compute."""

    known: dict[Expression, Operation] = field(
        default_factory=dict[Expression, Operation]
    )

    def merge(self, region: Region) -> None:
        """Replaces operations of a region by known ones. Regions with several blocks
        stay as they are, as do the operations that have them."""
        if len(region.blocks) != 1:
            return
        added: list[Expression] = []
        for op in region.block.ops:
            isolated = op.regions and op.has_trait(IsolatedFromAbove)
            for inner in op.regions:
                (_Equal() if isolated else self).merge(inner)
            if not _can_merge(op):
                continue
            if _is_unused(op):
                region.block.erase_op(op)
                continue
            expression = Expression.of(op)
            twin = self.known.get(expression)
            if twin is None:
                self.known[expression] = op
                added.append(expression)
                continue
            for result, same in zip(op.results, twin.results, strict=True):
                result.replace_all_uses_with(same)
            region.block.erase_op(op)
        for expression in added:
            del self.known[expression]


def _can_merge(op: Operation) -> bool:
    """Whether what an operation computes is all that it does."""
    if any(len(region.blocks) > 1 for region in op.regions):
        return False
    return _is_pure(type(op)) or (
        not op.has_trait(IsTerminator) and is_side_effect_free(op)
    )


@cache
def _is_pure(kind: type[Operation]) -> bool:
    """Whether that can be said of all operations of a kind."""
    effects = kind.get_traits_of_type(MemoryEffect)
    return (
        bool(effects)
        and all(isinstance(effect, NoMemoryEffect) for effect in effects)
        and not kind.has_trait(IsTerminator)
    )
