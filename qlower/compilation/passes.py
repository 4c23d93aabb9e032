"""Applying passes to a module: each leaves one that verifies, and may be observed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar, Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qlower.diagnostics import LOGGER, QlowerError
from qlower.model.cloning import clone_in_order
from qlower.model.contract_files import name_contracts_wholly
from qlower.model.printing import exact_module
from qlower.tally import Tally, tallied
from qlower.text.context import make_context
from qlower.text.verification import verify_module


class CompilerBug(Exception):
    """A pass failed, or left IR that doesn't verify.

    `before` is the IR that it was given, as text, and `passes` its form for
    `qlower-opt -p`.
    """

    def __init__(self, message: str, before: str, passes: str) -> None:
        super().__init__(message)
        self.before = before
        self.passes = passes


@dataclass(frozen=True)
class Applied:
    """A pass that was applied: how long it took, the verification of the result, and
    what it counted."""

    step: ModulePass
    seconds: float
    verification_seconds: float
    tally: Tally


class GeneratedCode(Protocol):
    """Machine code, as far as an observer asks about it."""

    @property
    def llvm_text(self) -> str:
        """LLVM's IR before its optimizer, written when it is asked for."""
        ...


class Observer:
    """Sees what passes do. By default it looks away.

    Modules are verified before it sees them if any observer `sees_modules`.
    """

    sees_modules: ClassVar[bool] = True

    def before(self, module: ModuleOp, steps: Sequence[ModulePass]) -> None:
        """The module is about to go through the passes."""

    def after(
        self, module: ModuleOp, applied: Applied, rest: Sequence[ModulePass]
    ) -> None:
        """The module has gone through a pass, which `rest` will follow."""

    def generated(self, code: GeneratedCode, seconds: float) -> None:
        """Machine code was made."""

    def finish(self) -> None:
        """The work is over."""


VERIFY_EACH = "QLOWER_VERIFY_EACH"
"""The variable that, where it isn't empty, has a module verified after each pass."""


def apply_passes(
    module: ModuleOp,
    steps: Sequence[ModulePass],
    observers: Sequence[Observer] = (),
    *,
    verify: bool = True,
) -> ModuleOp:
    """A copy of the module that went through the passes, and verifies.

    It is verified after the last pass unless `verify` leaves that to the caller, and
    after each where somebody looks at it then or `VERIFY_EACH` asks for it. QlowerError
    is the user's mistake. Anything else that a pass raises becomes a CompilerBug, and
    so does IR that doesn't verify; the pass that is to blame is found by verifying
    after each.
    """
    is_seen = any(observer.sees_modules for observer in observers)
    verify_each = is_seen or bool(os.environ.get(VERIFY_EACH))
    try:
        return _apply(module, steps, observers, verify, verify_each)
    except CompilerBug:
        if not verify_each:
            _apply(module, steps, (), verify, verify_each=True)
        raise


def _apply(
    module: ModuleOp,
    steps: Sequence[ModulePass],
    observers: Sequence[Observer],
    verify: bool,
    verify_each: bool,
) -> ModuleOp:
    context = make_context()
    result = clone_in_order(module, {})
    for observer in observers:
        observer.before(result, steps)
    for index, step in enumerate(steps):
        LOGGER.info("%s", step.name)
        with tallied() as tally:
            start = perf_counter()
            try:
                step.apply(context, result)
            except (QlowerError, MemoryError):
                raise
            except RecursionError:
                raise QlowerError(
                    f"the module is nested too deeply for {step.name}", result.location
                ) from None
            except Exception as error:
                what = f"{type(error).__name__}: {error}"
                raise _failure(module, steps, index, what) from error
            applied = perf_counter()
        if verify_each or (verify and step is steps[-1]):
            try:
                verify_module(result)
            except QlowerError as error:
                raise _failure(module, steps, index, error.message) from error
        done = Applied(step, applied - start, perf_counter() - applied, tally)
        if tally.counts:
            LOGGER.debug("%s: %s", step.name, tally)
        for observer in observers:
            observer.after(result, done, steps[index + 1 :])
    return result


def pipeline_text(steps: Sequence[ModulePass]) -> str:
    """The passes as `qlower-opt -p` takes them."""
    return ",".join(str(step.spec()) for step in steps)


def _failure(
    module: ModuleOp, steps: Sequence[ModulePass], index: int, what: str
) -> CompilerBug:
    """The failure of a pass, with the IR before it, which is made once more."""
    context, before = make_context(), module.clone()
    for step in steps[:index]:
        step.apply(context, before)
    failed = steps[index]
    name_contracts_wholly(before)
    text = exact_module(before)
    return CompilerBug(f"{failed.name}: {what}", text, pipeline_text([failed]))
