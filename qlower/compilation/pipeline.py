"""From the qnn level down to native code: the one place that says which pass follows.

qnn --lower-qnn--> arith
tosa --lower-tosa--> arith
stablehlo --lower-stablehlo--> arith
arith --set-target, form-kernels, check-defined, drop-channels, tabulate-words,
prove-epilogues, fuse-layers, tabulate-functions, match-signs, plan-memory,
schedule-contractions--> kernel
kernel --> LLVM IR, object
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import ArgSpecParseError

from qlower.codegen.program.interface import Interface
from qlower.compilation.passes import Observer, apply_passes
from qlower.diagnostics import LOGGER, QlowerError, warn
from qlower.dialects.quant import QuantizedType
from qlower.dialects.types import element_type
from qlower.model.layers import has_dialect
from qlower.process.float_environment import default_floats
from qlower.process.garbage import rare_collections
from qlower.transforms import get_all_passes

if TYPE_CHECKING:
    from qlower.codegen.program.compiled import CompiledObject
    from qlower.codegen.program.flavour import Flavour
    from qlower.codegen.targets.resolve import Target
    from qlower.transforms.drop_channels import Dropped
    from qlower.transforms.prove_epilogues import Proof


@default_floats()
@rare_collections()
def lower_to_arith(
    module: ModuleOp,
    contract: str | None = None,
    *,
    expand_fixed: bool = False,
    observers: Sequence[Observer] = (),
    verify: bool = True,
) -> ModuleOp:
    """A copy of a qnn-level module at the arith level; `verify` as in `apply_passes`.

    `contract` names the numerics (or is the path of a file with them), in place of the
    module's own. With `expand_fixed` the result is upstream MLIR, without our ops.
    """
    passes = arith_passes(module, contract)
    if expand_fixed:
        from qlower.transforms.expand_fixed import ExpandFixedPass
        from qlower.transforms.tidying import CanonicalizePass

        passes += [ExpandFixedPass(), CanonicalizePass()]
    return apply_passes(module, passes, observers, verify=verify)


def arith_passes(module: ModuleOp, contract: str | None) -> list[ModulePass]:
    """From the qnn to the arith level; only what is left to do, where a module is there
    already."""
    from qlower.contracts import load_contract
    from qlower.model.layer_contracts import check_takes_contract
    from qlower.transforms.lower_qnn import LowerQnnPass
    from qlower.transforms.tidying import CanonicalizePass, CsePass, DcePass

    if contract is not None:
        load_contract(contract)  # refuse an unknown one here, not at the first layer
        check_takes_contract(module, contract)
    above: list[ModulePass] = []
    if has_dialect(module, "tosa"):
        from qlower.transforms.lower_tosa import LowerTosaPass

        above.append(LowerTosaPass())
    if has_dialect(module, "stablehlo"):
        from qlower.transforms.lower_stablehlo import LowerStablehloPass

        above.append(LowerStablehloPass())
    elif _is_quantized(module):
        above.append(LowerQnnPass(contract=contract))
    return [
        *above,
        CanonicalizePass(),
        CsePass(),
        DcePass(),
    ]


def parse_passes(text: str) -> list[ModulePass]:
    """The passes that `qlower-opt -p` would run: xDSL's, ours, and those of installed
    packages (entry points `xdsl.universe`)."""
    from xdsl.universe import Universe

    from qlower.text.pass_options import quote_options

    if not text:
        return []
    known = {**Universe.get_multiverse().all_passes, **get_all_passes()}
    try:
        return list(PassPipeline.parse_spec(known, quote_options(text)).passes)
    except (ArgSpecParseError, ValueError) as error:
        raise QlowerError(f"pass pipeline: {error}") from error


def kernel_passes(target: Target) -> list[ModulePass]:
    """From the arith to the kernel level: the loop nests that suit the target best,
    with their places in memory and their schedules."""
    from qlower.codegen.program.schedules import ScheduleContractionsPass
    from qlower.codegen.targets.set_target import SetTargetPass
    from qlower.transforms.check_defined import CheckDefinedPass
    from qlower.transforms.drop_channels import DropChannelsPass
    from qlower.transforms.form_kernels import FormKernelsPass
    from qlower.transforms.fuse_layers import FuseLayersPass
    from qlower.transforms.match_signs import MatchSignsPass
    from qlower.transforms.plan_memory import PlanMemoryPass
    from qlower.transforms.prove_epilogues import ProveEpiloguesPass
    from qlower.transforms.tabulate_functions import TabulateFunctionsPass
    from qlower.transforms.tabulate_words import TabulateWordsPass

    return [
        SetTargetPass.of(target),
        FormKernelsPass(),
        CheckDefinedPass(),
        DropChannelsPass(),
        TabulateWordsPass(),
        FuseLayersPass(real=True),
        ProveEpiloguesPass(),
        FuseLayersPass(),
        TabulateFunctionsPass(),
        MatchSignsPass(),
        PlanMemoryPass(target.alignment),
        ScheduleContractionsPass(),
    ]


@default_floats()
@rare_collections()
def lower_to_kernel(
    module: ModuleOp, target: Target, observers: Sequence[Observer] = ()
) -> ModuleOp:
    """A copy of an arith-level module at the kernel level, for the target."""
    return apply_passes(module, kernel_passes(target), observers)


@default_floats()
def epilogue_proofs(module: ModuleOp, target: Target) -> list[Proof]:
    """What lowering an arith-level module for the target proves of its epilogues."""
    return _proofs(_formed(module), target)


@default_floats()
def channels_dropped(module: ModuleOp) -> list[Dropped]:
    """Which products of an arith-level module no result depends on: those of channels
    that are constant, or that nobody reads."""
    from qlower.transforms.drop_channels import dropped_channels

    return dropped_channels(_formed(module))


@default_floats()
def proofs_and_dropped(
    module: ModuleOp, target: Target
) -> tuple[list[Proof], list[Dropped]]:
    """`epilogue_proofs` and `channels_dropped`, of kernels that are formed once."""
    from qlower.transforms.drop_channels import dropped_channels

    kernels = _formed(module)
    dropped = dropped_channels(kernels)  # before proofs rewrite what it reads
    return _proofs(kernels, target), dropped


def _formed(module: ModuleOp) -> ModuleOp:
    from qlower.transforms.form_kernels import FormKernelsPass

    return apply_passes(module, [FormKernelsPass()])


def _proofs(kernels: ModuleOp, target: Target) -> list[Proof]:
    from qlower.transforms.prove_epilogues import Machine, prove_epilogues

    machine = Machine.of(target)
    return [] if machine is None else prove_epilogues(kernels, machine)


@default_floats()
@rare_collections()
def generate_code(
    module: ModuleOp, target: Target, flavour: Flavour | None = None
) -> CompiledObject:
    """Machine code for a kernel-level module, to be run in this process."""
    from qlower.codegen.program.flavour import PLAIN
    from qlower.codegen.program.module import compile_module

    _announce(target, target.cpu)
    return compile_module(module, target, flavour or PLAIN)


@default_floats()
@rare_collections()
def generate_package(
    levels: Sequence[tuple[ModuleOp, Target]], interface: Interface
) -> CompiledObject:
    """Machine code for C programs, of the kernel-level module for each target."""
    from qlower.codegen.program.module import compile_package

    _announce(levels[0][1], ", ".join(interface.levels))
    return compile_package(levels, interface)


def _announce(target: Target, cpus: str) -> None:
    if target.is_experimental:
        warn(f"target {target.triple} is experimental")
    LOGGER.info("generate code for %s", cpus)


def _is_quantized(module: ModuleOp) -> bool:
    """Whether anything is left for lower-qnn to do."""
    return any(
        op.dialect_name() in ("qnn", "quant")
        or any(isinstance(element_type(type), QuantizedType) for type in _types(op))
        for op in module.walk()
    )


def _types(op: Operation) -> Sequence[Attribute]:
    """The types of the values that an operation or its blocks define."""
    arguments = (
        argument.type
        for region in op.regions
        for block in region.blocks
        for argument in block.args
    )
    return (*op.result_types, *arguments)
