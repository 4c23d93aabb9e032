"""llvmlite's binding, typed: the little of it that we use, and no more."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from operator import attrgetter
from typing import Protocol, cast

from qlower.process.forking import hold_while_forking


class FunctionRef(Protocol):
    is_declaration: bool


class ModuleRef(Protocol):
    """A module that LLVM has parsed."""

    data_layout: str
    functions: Iterable[FunctionRef]

    def verify(self) -> None: ...


class TargetData(Protocol):
    """Sizes and alignments of types; `str` gives LLVM's description."""


class TargetMachine(Protocol):
    target_data: TargetData

    def emit_object(self, module: ModuleRef) -> bytes: ...
    def emit_assembly(self, module: ModuleRef) -> str: ...
    def set_asm_verbosity(self, verbose: bool) -> None: ...


class TargetRef(Protocol):
    def create_target_machine(
        self, *, cpu: str, features: str, opt: int, reloc: str, codemodel: str
    ) -> TargetMachine: ...


class TargetClass(Protocol):
    def from_triple(self, triple: str) -> TargetRef: ...


class TuningOptions(Protocol):
    loop_unrolling: bool
    loop_vectorization: bool
    slp_vectorization: bool
    loop_interleaving: bool


class PassBuilder(Protocol):
    def getModulePassManager(self) -> PassManager: ...
    def getFunctionPassManager(self) -> FunctionPassManager: ...


class PassManager(Protocol):
    def run(self, module: ModuleRef, builder: PassBuilder) -> None: ...


class FunctionPassManager(Protocol):
    def run(self, function: FunctionRef, builder: PassBuilder) -> None: ...


class ModulePassManager(PassManager, Protocol):
    def add_instruction_combine_pass(self) -> None: ...
    def add_aggressive_instcombine_pass(self) -> None: ...
    def add_constant_merge_pass(self) -> None: ...
    def add_global_dead_code_eliminate_pass(self) -> None: ...


class ResourceTracker(Protocol):
    """Keeps loaded code alive; gives the addresses of its exported symbols."""

    def __getitem__(self, name: str) -> int: ...


class LibraryBuilder(Protocol):
    def add_object_img(self, data: bytes) -> LibraryBuilder: ...
    def add_current_process(self) -> LibraryBuilder: ...
    def import_symbol(self, name: str, address: int) -> LibraryBuilder: ...
    def export_symbol(self, name: str) -> LibraryBuilder: ...
    def link(self, jit: LLJIT, name: str) -> ResourceTracker: ...


class LLJIT(Protocol):
    """Loads code, which stays as long as its `ResourceTracker`."""


class Binding(Protocol):
    """The module llvmlite.binding."""

    Target: TargetClass

    def initialize_all_targets(self) -> None: ...
    def initialize_all_asmprinters(self) -> None: ...
    def get_process_triple(self) -> str: ...
    def get_host_cpu_name(self) -> str: ...
    def get_host_cpu_features(self) -> dict[str, bool]: ...
    def parse_assembly(self, llvmir: _Encoded) -> ModuleRef: ...
    def create_pipeline_tuning_options(self, speed_level: int) -> TuningOptions: ...
    def create_pass_builder(
        self, tm: TargetMachine, pto: TuningOptions
    ) -> PassBuilder: ...
    def create_new_module_pass_manager(self) -> ModulePassManager: ...
    def create_lljit_compiler(
        self, target_machine: TargetMachine | None = None, *, use_jit_link: bool
    ) -> LLJIT: ...
    def JITLibraryBuilder(self) -> LibraryBuilder: ...


BINDING = cast(Binding, import_module("llvmlite.binding"))
BINDING.initialize_all_targets()
BINDING.initialize_all_asmprinters()

# Each call into LLVM holds this lock.
hold_while_forking(attrgetter("lib._lock")(import_module("llvmlite.binding.ffi")))


class _Encoded(bytes):
    """A text in bytes. The binding asks for a string to encode as UTF-8, in which not
    every byte of a constant can be."""

    def encode(self, encoding: str) -> bytes:
        return self


def parse(text: str) -> ModuleRef:
    """Have LLVM read a module whose characters are one byte each."""
    return BINDING.parse_assembly(_Encoded(text, "latin-1"))
