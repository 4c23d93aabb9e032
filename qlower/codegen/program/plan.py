"""A plan of a module's code, decided before any of it is written.

For every nest and copy there is one record: the native function's name, how the nest is
run, and the blocks that threads share, with an estimate of the time that decides it.
`emit` writes what the plan says, and decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from qlower.codegen.nests.blocks import (
    Blocks,
    block_of,
    plan_blocks,
    plan_channel_blocks,
    plan_copy_blocks,
)
from qlower.codegen.nests.nest import LoopNest, analyse
from qlower.codegen.nests.recognise import PRODUCT_FAMILIES, Contraction, Products
from qlower.codegen.program.compiled import ENTRY, Kernel
from qlower.codegen.program.flavour import PLAIN, Flavour
from qlower.codegen.program.float_environment import computes_floats
from qlower.codegen.program.team import is_worthwhile
from qlower.codegen.program.work import (
    copy_kernel,
    estimated_copy_nanoseconds,
    estimated_nanoseconds,
    nest_kernel,
    scan_kernel,
)
from qlower.codegen.skeletons.choose import Skeleton, Skeletons, scratch_bytes
from qlower.codegen.skeletons.copy import cut_axis
from qlower.codegen.targets.float_control import FloatControl
from qlower.codegen.targets.resolve import Target
from qlower.diagnostics import QlowerError
from qlower.dialects.kernel import CopyOp, NestOp, ScanOp, Schedule
from qlower.model.entry import main_function
from qlower.model.layers import layer_name


@dataclass(frozen=True)
class NestCode:
    """A native function `name` for a nest, or for a block of one."""

    name: str
    nest: LoopNest
    skeleton: Skeleton


@dataclass(frozen=True)
class NestPlan:
    """A nest: the code of the whole, and of its `blocks` where threads share it.

    `nanoseconds` is an estimate for one thread. `of_blocks` has the code for each
    number of iterations that a block has.
    """

    kernel: Kernel
    skeletons: Skeletons
    whole: NestCode
    nanoseconds: float
    blocks: Blocks | None = None
    of_blocks: Mapping[int, NestCode] = field(default_factory=dict[int, NestCode])

    @property
    def scratch(self) -> int | None:
        """The arena offset of the code's own memory; None if it needs none, or if there
        is too little room and it uses the stack."""
        planned = self.whole.nest.op.scratch
        needed = scratch_bytes(self.whole.skeleton)
        if planned is None or not 0 < needed <= planned.bytes.data:
            return None
        return planned.offset.data

    def scheduled(self, schedule: Schedule) -> NestPlan:
        """The nest run as another schedule says, by one thread.

        Raises QlowerError where the target can't.
        """
        nest = self.whole.nest
        skeleton = self.skeletons.of(nest, schedule)
        return replace(self, whole=replace(self.whole, skeleton=skeleton), blocks=None)


@dataclass(frozen=True)
class CopyPlan:
    """A copy, and the blocks that threads share."""

    kernel: Kernel
    op: CopyOp
    nanoseconds: float
    blocks: Blocks | None = None


@dataclass(frozen=True)
class ScanPlan:
    """A scan, and the plan of its function, which one thread runs."""

    kernel: Kernel
    step: Plan
    nanoseconds: float
    blocks: None = None


KernelPlan: TypeAlias = NestPlan | CopyPlan | ScanPlan


@dataclass(frozen=True)
class Plan:
    """The code `entry` of a kernel-level function: a record for each kernel, by
    operation.

    `threads` is 1 where more don't pay, whatever the flavour asks for. The steps of a
    scan run in the float environment of the code that calls them.
    """

    function: FuncOp
    target: Target
    flavour: Flavour
    entry: str
    steps: Mapping[Operation, KernelPlan]
    threads: int
    is_step: bool = False

    @cached_property
    def float_control(self) -> FloatControl | None:
        """The register that the code has to set; None where it computes no floats."""
        needed = not self.is_step and computes_floats(self.function)
        return self.target.float_control if needed else None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The nests and copies in the order in which they run."""
        return tuple(step.kernel for step in self.steps.values())

    def scheduled(self, op: NestOp, schedule: Schedule) -> Plan:
        """This plan with another schedule of the nest `op`, for one thread."""
        step = self.steps[op]
        assert isinstance(step, NestPlan)
        steps = {**self.steps, op: step.scheduled(schedule)}
        return replace(self, steps=steps, threads=1)


def plan(
    module: ModuleOp,
    target: Target,
    flavour: Flavour = PLAIN,
    *,
    entry: str = ENTRY,
    prefix: str = "_",
) -> Plan:
    """A plan to run the entry function of a kernel-level module.

    Names of native functions begin with `prefix`: with an underscore, as no name of an
    `Interface` does, so that none is that of an entry point. Raises QlowerError for a
    nest whose family or schedule is not one that it can have.
    """
    return _plan_function(main_function(module), target, flavour, entry, prefix)


def _plan_function(
    function: FuncOp, target: Target, flavour: Flavour, entry: str, prefix: str
) -> Plan:
    steps: dict[Operation, KernelPlan] = {}
    for op in function.body.block.ops:
        name = prefix + function_name(len(steps), op)
        if isinstance(op, NestOp):
            steps[op] = _plan_nest(name, op, target, flavour.threads)
        elif isinstance(op, CopyOp) and op.has_code:
            steps[op] = _plan_copy(name, op, flavour.threads)
        elif isinstance(op, ScanOp):
            steps[op] = _plan_scan(name, op, target)
    threads = flavour.threads
    if not is_worthwhile(_shared_nanoseconds(steps.values()), threads):
        steps = {op: replace(step, blocks=None) for op, step in steps.items()}
        threads = 1
    return Plan(function, target, flavour, entry, steps, threads)


def _shared_nanoseconds(steps: Iterable[KernelPlan]) -> Iterator[float]:
    return (step.nanoseconds for step in steps if step.blocks is not None)


def _plan_nest(name: str, op: NestOp, target: Target, threads: int) -> NestPlan:
    nest = analyse(op)
    skeletons = Skeletons(target, nest)
    products = skeletons.products
    _check_family(op, products)
    skeleton = skeletons.of(nest, op.schedule)
    kernel = nest_kernel(name, nest, products)
    nanoseconds = estimated_nanoseconds(nest, skeleton, kernel.bytes, target)
    planned = NestPlan(kernel, skeletons, NestCode(name, nest, skeleton), nanoseconds)
    if threads == 1:
        return planned
    blocks = plan_blocks(nest, nanoseconds, kernel.bytes, threads)
    if blocks is None and isinstance(products, Contraction):
        step = skeletons.channels_of_tile()
        blocks = plan_channel_blocks(products, step, nanoseconds, kernel.bytes, threads)
    if blocks is None:
        return planned
    codes: dict[int, NestCode] = {}
    for bound, suffix in ((blocks.size, ""), (blocks.last, "_last")):
        if bound not in codes:
            block = block_of(nest, blocks.loop, bound)
            skeleton = skeletons.of(block, op.schedule)
            codes[bound] = NestCode(name + suffix, block, skeleton)
    return replace(planned, blocks=blocks, of_blocks=codes)


def _plan_scan(name: str, op: ScanOp, target: Target) -> ScanPlan:
    step = _plan_function(op.function, target, PLAIN, name, f"{name}_")
    step = replace(step, is_step=True)
    kernel = scan_kernel(name, op, step.kernels)
    nanoseconds = op.count * sum(one.nanoseconds for one in step.steps.values())
    return ScanPlan(kernel, step, nanoseconds)


def _check_family(op: NestOp, products: Products | None) -> None:
    """Passes have relied on the family: it must be what the code does."""
    family = op.family.data
    found = None if products is None else products.family
    if found != (family if family in PRODUCT_FAMILIES else None):
        raise QlowerError(
            f"a nest of family {family} has the body of family {found or 'loop'}",
            op.location,
        )


def _plan_copy(name: str, op: CopyOp, threads: int) -> CopyPlan:
    kernel = copy_kernel(name, op)
    nanoseconds = estimated_copy_nanoseconds(kernel)
    blocks = plan_copy_blocks(cut_axis(op), nanoseconds, kernel.bytes, threads)
    return CopyPlan(kernel, op, nanoseconds, blocks)


def function_name(number: int, op: Operation) -> str:
    """`nest_<n>_<layer>`, the layer in characters that a symbol can have."""
    layer = re.sub(r"\W+", "_", layer_name(op) or "", flags=re.ASCII).strip("_")
    return f"nest_{number}_{layer[:80]}".rstrip("_")
