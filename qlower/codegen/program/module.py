"""A kernel-level module as native objects.

They have one entry,

    int32_t qlower_main(const void *const *inputs, void *const *outputs, void *arena);

with a pointer for each argument and result, and an arena of `arena_bytes`, at
a multiple of the target's `alignment`. It calls a function for each loop nest, in
order. Constants are read-only data.
An object for C programs has the entry point of `entry_point` instead, and may carry
code for several levels of an architecture; code for this process may have another
`Flavour`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp

from qlower.codegen.llvm.alike import join_alike
from qlower.codegen.llvm.binding import BINDING
from qlower.codegen.llvm.module import Module
from qlower.codegen.program.compiled import (
    ENTRY,
    Call,
    CompiledObject,
    check_is_machine,
)
from qlower.codegen.program.emit import Program
from qlower.codegen.program.entry_point import (
    add_entry_point,
    add_reset_point,
    add_text,
)
from qlower.codegen.program.flavour import PLAIN, Flavour
from qlower.codegen.program.interface import Interface
from qlower.codegen.program.levels import add_alias, add_level_function
from qlower.codegen.program.machine_code import machine_code
from qlower.codegen.program.plan import Plan, plan
from qlower.codegen.targets.optimized import SIZE
from qlower.codegen.targets.resolve import Target, resolve_target
from qlower.dialects.kernel import ARENA_BYTES
from qlower.kept.parts import are_kept, find_or_make
from qlower.model.entry import main_function, signature_of
from qlower.model.signature import Signature


def compile_module(
    module: ModuleOp, target: Target, flavour: Flavour = PLAIN
) -> CompiledObject:
    """Native code for the entry function of a kernel-level module with buffers.

    Raises QlowerError for an operation without native code.
    """
    return compile_plan(plan(module, target, flavour), signature_of(module))


def compile_plan(planned: Plan, signature: Signature) -> CompiledObject:
    """Native code as planned, of a model with this signature. Raises QlowerError for an
    operation without.

    Where parts are kept, what this process can run is an object for each kernel, made
    only if it is new. Foreign code is one object: it would take a linker to join them.
    """
    target, code = planned.target, _empty(planned.target)
    is_foreign = target.triple != BINDING.get_process_triple()
    if are_kept() and not is_foreign and target.optimize != SIZE:
        code.units = []
    program, names = _program(code, planned)
    kernels = (replace(k, name=names.get(k.name, k.name)) for k in planned.kernels)
    described = CompiledObject(
        (),
        signature,
        arena_bytes(planned.function),
        target,
        tuple(kernels),
        planned.flavour,
        code,
        tuple(program.calls),
        tuple(program.packed),
    )
    # Their packed weights are in the code now: as many bytes as the model.
    del planned, program
    if code.units is None:
        return replace(described, objects=(_kept_code(code.dense_text(), target),))
    objects = [_kept_code(text, target) for text in code.separate_texts()]
    # What is constant is as quickly made again, and there already with its kernel.
    objects += (machine_code(text, target) for text in code.data_texts())
    return replace(described, objects=tuple(objects))


def _program(code: Module, planned: Plan) -> tuple[Program, dict[str, str]]:
    """The program of a plan in a module, and the function that is called for each
    kernel, where it isn't the kernel's own. Equal kernels have one."""
    if code.units is not None:
        program = Program(code, planned, is_exported=True)
        return program, program.names
    level = code.level(planned.target.function_attributes)
    program = Program(level, planned, is_exported=True)
    joined = join_alike(level) if planned.target.optimize == SIZE else {}
    code.add_level(level)
    return program, {n: joined.get(one, one) for n, one in program.names.items()}


def calls_of(module: ModuleOp, target: Target) -> list[Call]:
    """The interfaces of a kernel-level module's kernels, if each were an object of its
    own."""
    code = _empty(target)
    code.units = []
    return Program(code, plan(module, target), is_exported=True).calls


def data_object(data: Mapping[str, bytes], target: Target) -> bytes:
    """The object of constants that are passed to kernels, by name."""
    return machine_code(_empty(target).data_text(data), target)


PackageModel: TypeAlias = tuple[Interface, Sequence[tuple[ModuleOp, Target]]]
"""A model for C programs: its interface, and its kernel-level module for each level."""


def compile_package(
    models: Sequence[PackageModel], section: str = "", name: str | None = None
) -> CompiledObject:
    """An object for C programs, that exports the names of the interfaces and no more,
    but hidden ones where weights are in a `section` of their own: see `Module`.

    Each level of a model is for a target; the targets share an architecture, and the
    last one that the processor can run is used. Several models are one for inputs of
    several shapes, all for the same targets; their interfaces' names are listed in the
    constant `<name>_entries`. Constants that are equal are there once, and so is each
    function. Raises QlowerError for an operation without native code.
    """
    (first, levels), *more = models
    (module, target), *others = levels
    processor = target.processor
    if others or target.needs:
        target = resolve_target(target.triple)  # what asks must run everywhere
    package = _empty(target)
    package.section = section
    codes: list[Module] = []
    callees: list[list[str]] = [[] for _ in models]
    needs: list[frozenset[str]] = []
    for number, (_, level_target) in enumerate(levels):
        code = package.level(level_target.function_attributes)
        level = f"_level_{number + 1}_" if others else "_"
        for shape, (_, modules) in enumerate(models):
            prefix = f"_shape_{shape + 1}{level}" if more else level
            entry = prefix + ENTRY
            callees[shape].append(entry)
            # the plan goes with its packed weights, once the code has them
            planned = plan(modules[number][0], level_target, entry=entry, prefix=prefix)
            Program(code, planned, is_exported=False)
            del planned
        if level_target.optimize == SIZE:
            join_alike(code)
        codes.append(code)
        needs.append(_needs(code, level_target))
    add_level_function(package, first.level_function, processor, needs)
    for (interface, _), entries in zip(models, callees, strict=True):
        if interface is not first:
            add_alias(package, interface.level_function, first.level_function)
        add_entry_point(package, interface, entries)
        if interface.state_bytes:
            add_reset_point(package, interface)
    if name is not None:
        text = ",".join(interface.name for interface, _ in models)
        add_text(package, f"{name}_entries", text)
    for code in codes:
        package.add_level(code)
    kernels = (kernels for _, levels in models for kernels, _ in levels)
    return CompiledObject(
        (machine_code(package.dense_text(), target),),
        signature_of(module),
        max(arena_bytes(main_function(one)) for one in kernels),
        target,
        module=package,
    )


def _needs(code: Module, target: Target) -> frozenset[str]:
    """The features that the processor must have, and permission for registers if they
    are used."""
    tiles = target.tiles
    if tiles is None or any(tiles.configure in m.declarations for m in code.modules):
        return target.needs
    return target.needs - tiles.features


def _empty(target: Target) -> Module:
    check_is_machine(target)
    return Module(
        target.triple,
        target.function_attributes,
        not target.is_bare_metal,
        8 * target.pointer_bytes,
        target.alignment,
        takes_floats_apart=target.takes_floats_apart,
        hides_loads=target.hides_loads,
    )


def _kept_code(text: str, target: Target) -> bytes:
    content = [b"object", target.identity.encode(), text.encode()]
    return find_or_make(content, lambda: machine_code(text, target))


def arena_bytes(function: FuncOp) -> int:
    """Bytes of scratch memory that a call needs."""
    size = function.attributes.get(ARENA_BYTES)
    return size.value.data if isinstance(size, IntegerAttr) else 0
