"""A compilation: a model on its way to machine code, each level made once.

qnn --> arith --> kernels --> code
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from qlower.codegen.program.compiled import CompiledObject
from qlower.codegen.program.flavour import PLAIN, Flavour
from qlower.codegen.targets.resolve import Target, host_target
from qlower.compilation.observing import present_observers
from qlower.diagnostics import LOGGER, QlowerError
from qlower.frontends.model_files import check_model_path
from qlower.kept.journal import Journal, read_given
from qlower.kept.parts import (
    PartsInMemory,
    are_kept,
    keep_last,
    kept_at_least_in,
    last_kept,
)
from qlower.model import Model
from qlower.process.float_environment import default_floats
from qlower.runtime.executable import Executable
from qlower.runtime.executors import JitFunction, Level, ModelInterpreter, Variant
from qlower.runtime.objects import cached, find_object

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from qlower.codegen.program.compiled import Call
    from qlower.compilation.passes import Observer
    from qlower.contracts.values import LoadContract
    from qlower.frontends.import_options import ImportOptions
    from qlower.frontends.load import ModelOrPath
    from qlower.model.signature import Signature
    from qlower.runtime.packing import PackingFunction


@dataclass(frozen=True)
class Compilation:
    """A model, the settings that decide its machine code, and the levels between.

    `source` is a model or the path of one. `contract` names the numerics, or is the
    path of an `.mlir` file with them; None is the module's own `qnn.contract`. With
    `with_layers` the results of all layers are returned, too. With `tuned` ways to cut
    contractions are measured, which takes this machine's code. `layer_contracts` gives
    layers another contract (`with_layer_contracts`).

    Each level is made when it is first asked for, and what makes it is imported then:
    cached code runs without xDSL. QlowerError then says what the user got wrong. A
    compilation sees every file as it was when it was first read.
    """

    source: ModelOrPath
    contract: str | None = None
    target: Target = field(default_factory=host_target)
    flavour: Flavour = PLAIN
    tuned: bool = False
    with_layers: bool = False
    layer_contracts: Mapping[str, str] = field(default_factory=dict[str, str])
    reading: ImportOptions | None = None
    """The options by which the file is read; None: as the contract's system does."""

    observers: tuple[Observer, ...] = field(default_factory=present_observers)
    passes: tuple[ModulePass, ...] = ()
    """Additional passes at the arith level; they must keep the bits to be right."""

    above: Compilation | None = field(default=None, repr=False, compare=False)
    """The compilation whose levels above the kernels this one shares."""

    def for_target(self, target: Target) -> Compilation:
        """The compilation for another target, which shares this one's arith level."""
        return replace(self, target=target, above=self)

    @cached_property
    @default_floats()
    def model(self) -> Model:
        """The model, read from its file if it is given as a path."""
        if self.above is not None:
            return self.above.model
        from qlower.dialects.qnn.attributes import QDQ
        from qlower.frontends.load import as_model
        from qlower.model.entry import refuse_packed

        with self._journal.kept():
            contracts = [self.contract] if self.contract else []
            model = as_model(self.source, contracts, self.reading)
            from qlower.frontends.readings import check_codes, check_reading

            check_codes(model, self.contract)
            if QDQ in model.module.attributes:
                check_reading(model, self.contract)
        self._journal.contents.clear()  # the module has what the files had
        refuse_packed(model.module)
        if self.layer_contracts:
            from qlower.model.layer_contracts import with_layer_contracts

            return with_layer_contracts(model, self.layer_contracts)
        return model

    @property
    def qnn(self) -> ModuleOp:
        """The module that is compiled: the model's, or one that returns every layer."""
        return self._exposed[0] if self.with_layers else self.model.module

    @cached_property
    def arith(self) -> ModuleOp:
        """The arith level: every rounding, shift and saturation is an op."""
        self._verify_lowered()
        return self._lowered

    @cached_property
    def kernels(self) -> ModuleOp:
        """The kernel level: loop nests for the target, cut as they will run."""
        from qlower.compilation.passes import CompilerBug
        from qlower.compilation.to_kernel import lower_to_kernel

        if self.tuned:
            from qlower.runtime.tuning import check_tunable

            check_tunable(self.target)
        try:
            with kept_at_least_in(self.parts):
                lowered = lower_to_kernel(self._lowered, self.target, self.observers)
        except CompilerBug:
            self._verify_lowered()  # else a pass before is to blame
            raise
        if not self.tuned:
            return lowered
        from qlower.runtime.tuning import tune

        return tune(lowered, self.target)

    @cached_property
    def code(self) -> CompiledObject:
        """Machine code to be run in a process like this one, with its LLVM IR."""
        return self._generate()

    @cached_property
    def object(self) -> CompiledObject:
        """The machine code without its IR, from the cache where possible.

        A model in a file is looked up by the file's bytes, before it is even read as a
        model; a model in memory by the content of its module. Who observes wants to
        see it made.
        """
        if self.observers:
            with kept_at_least_in(self.parts):  # as it is made without observers
                return self.code
        if self._kept is not None:
            return self._kept
        if self.tuned or self.passes:
            # Measuring, or code of others, decides what comes of it: that is looked up.
            from qlower.kept.fingerprint import fingerprint

            content, journal = (b"kernels", fingerprint(self.kernels)), Journal()
        else:
            content, journal = self._content, self._journal
        return cached(content, self.target, self.flavour, journal, self._make)

    @property
    def signature(self) -> Signature:
        """Inputs and outputs, which are known before there is code."""
        return self.model.signature if self._kept is None else self._kept.signature

    @cached_property
    def _kept(self) -> CompiledObject | None:
        """The machine code that the cache has of a source, a target and a flavour."""
        if self.observers or self.tuned or self.passes:
            return None
        return find_object(self._content, self.target, self.flavour, self._journal)

    def function(self) -> JitFunction:
        """The model as native code in this process."""
        return JitFunction(Executable(self.object), self.variant)

    def packing_function(self, packed: Collection[str]) -> PackingFunction:
        """The model as native code in this process, whose inputs of some names are
        weights, which `can_be_packed`. It is compiled for this."""
        from qlower.model.entry import mark_packed
        from qlower.runtime.objects import cached_parts
        from qlower.runtime.packing import PackingFunction

        with cached_parts(), kept_at_least_in(self.parts):
            mark_packed(self._lowered, packed)
            code = self._generate()
        return PackingFunction(Executable(code.without_text()), self.variant)

    @property
    def variant(self) -> Variant:
        """The results of the machine code."""
        if self.with_layers:
            return self._exposed[1]
        return Variant.plain(self.object.signature)

    def interpreter(
        self, at: Level = "arith", load: LoadContract | None = None
    ) -> ModelInterpreter:
        """The model in the reference interpreter, at one of its levels; `load` finds
        contracts by name at the qnn level."""
        from qlower.model.layers import own_arithmetic

        match at:
            case "qnn" if own_arithmetic(self.qnn) is not None:
                # What that means is what it is lowered to; no contract says more.
                at, module = "arith", self.arith
            case "qnn":
                module = self.qnn
            case "arith":
                module = self.arith
            case "kernel":
                module = self.kernels
            case _:
                raise QlowerError(
                    f"nothing runs at level {at!r}: choose qnn, arith or kernel"
                )
        if self.with_layers:
            variant = self._exposed[1]
        else:
            variant = Variant.plain(self.model.signature)
        return ModelInterpreter(module, variant, at, self.contract, load)

    @cached_property
    def parts(self) -> PartsInMemory:
        """The parts that equal layers share, where no cache has them."""
        return PartsInMemory() if self.above is None else self.above.parts

    @cached_property
    def _lowered(self) -> ModuleOp:
        """The arith level as its passes left it: what comes of it is verified."""
        return self._lower() if self.above is None else self.above._lowered

    def _verify_lowered(self) -> None:
        """Raises CompilerBug, at the pass that is to blame, if that doesn't verify."""
        from qlower.text.verification import verify_module

        try:
            verify_module(self._lowered)
        except QlowerError:
            self._lower(verify=True)
            raise

    @default_floats()
    def _lower(self, *, verify: bool = False) -> ModuleOp:
        """The arith level, made anew."""
        from qlower.compilation.passes import apply_passes
        from qlower.compilation.to_arith import lower_to_arith

        with self._journal.kept():
            lowered = lower_to_arith(
                self.qnn,
                self.contract,
                observers=self.observers,
                verify=verify or bool(self.passes),
            )
            if not self.passes:
                return lowered
            return apply_passes(lowered, self.passes, self.observers)

    @cached_property
    def _journal(self) -> Journal:
        """The files read and the warnings given on the way to the arith level."""
        if self.above is not None:
            return self.above._journal
        if isinstance(self.source, Model):
            return Journal()
        return Journal(os.path.dirname(Path(self.source)))

    @cached_property
    def _exposed(self) -> tuple[ModuleOp, Variant]:
        """The module that returns every layer, and which result is which layer's."""
        if self.above is not None:
            return self.above._exposed
        from qlower.model.entry import signature_of
        from qlower.model.layers import expose_layers

        module, layers = expose_layers(self.model.module)
        count = len(self.model.outputs)
        return module, Variant(signature_of(module), layers, count)

    def _generate(self) -> CompiledObject:
        from qlower.compilation.to_code import generate_code

        kernels, start = self.kernels, perf_counter()
        code = generate_code(kernels, self.target, self.flavour)
        for observer in self.observers:
            observer.generated(code, perf_counter() - start)
        return code

    def _make(self) -> CompiledObject:
        """The code alone: its IR has all weights once more."""
        is_plain = not self.tuned and not self.passes and self.flavour == PLAIN
        can_exchange = is_plain and are_kept()
        with self._journal.kept(), kept_at_least_in(self.parts):
            if can_exchange:
                return self._make_what_changed()
            return self._generate().without_text()

    def _make_what_changed(self) -> CompiledObject:
        """The code, with what the cache has of a model whose constants were others."""
        from qlower.model.outline import Outline
        from qlower.runtime.changed import KeptCode
        from qlower.tally import tallied
        from qlower.transforms.check_defined import CHECKED_ALONE
        from qlower.transforms.drop_channels import DROPPED

        outline = Outline.of(self.qnn)
        contract = repr(self.contract).encode()
        name = (b"changed", self.target.identity.encode(), contract, outline.digest)
        kept = last_kept(name)
        if kept is not None:
            before = KeptCode.from_json(kept)
            old = find_object(before.content, self.target, self.flavour, self._journal)
            found = old and before.exchanged(self.qnn, outline, old, self._calls)
            if found:
                after, made = found
                LOGGER.info("exchange data of code in the cache")
                keep_last(name, replace(after, content=self._content).to_json())
                return made
        with tallied() as tally:
            made = self._generate()
        # What is constant in a layer decides what others look like.
        is_alone = tally.counts[CHECKED_ALONE] and not tally.counts[DROPPED]
        if is_alone and not self._journal.warnings:
            code = KeptCode.of(self._content, outline, self._lowered, made)
            if code is not None:
                keep_last(name, code.to_json())
        return made.without_text()

    @default_floats()
    def _calls(self, part: ModuleOp) -> tuple[ModuleOp, Sequence[Call]] | None:
        """A part of the module at the arith level, and how its kernels are called; None
        if something about it isn't defined or can't be compiled."""
        from qlower.codegen.program.module import calls_of
        from qlower.compilation.to_arith import lower_to_arith
        from qlower.compilation.to_kernel import lower_to_kernel
        from qlower.tally import tallied
        from qlower.transforms.check_defined import CHECKED_ALONE

        try:
            with tallied() as tally:
                lowered = lower_to_arith(part, self.contract, verify=False)
                kernels = lower_to_kernel(lowered, self.target)
        except QlowerError:
            return None  # the whole says it better
        if not tally.counts[CHECKED_ALONE]:
            return None
        return lowered, calls_of(kernels, self.target)

    @cached_property
    def _content(self) -> tuple[bytes, ...]:
        """The settings that decide the code, other than target, flavour and files that
        are read."""
        named = b"" if self.contract is None else b"contract " + self.contract.encode()
        layer_contracts = repr(list(self.layer_contracts.items())).encode()
        if isinstance(self.source, Model):
            from qlower.kept.fingerprint import fingerprint

            return named, layer_contracts, b"module", fingerprint(self.qnn)
        path = check_model_path(self.source)
        layers = b"layers" if self.with_layers else b""
        with self._journal.kept():
            file = sha256(read_given(path)).digest()
        reading = b"" if self.reading is None else repr(self.reading).encode()
        return (
            *(named, layer_contracts, b"file", path.suffix.encode(), layers, file),
            reading,
        )
