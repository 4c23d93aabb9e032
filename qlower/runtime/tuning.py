"""Schedules by measurement: each contraction alone, cut in several ways.

What was found is remembered in the cache's directory, one file a nest, named by a hash
of the target and of the nest without its numbers: nests of one shape are measured once.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    ModuleOp,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from qlower.codegen.program.module import compile_plan
from qlower.codegen.program.plan import Plan, plan
from qlower.codegen.program.schedules import possible_schedules
from qlower.codegen.targets.resolve import Target, host_target
from qlower.diagnostics import LOGGER, QlowerError
from qlower.dialects.kernel import (
    NestOp,
    Schedule,
    TileAttr,
    TileRegistersAttr,
)
from qlower.kept.cache import cache_folder, find_entry, keep_entry
from qlower.model.entry import signature_of
from qlower.model.layers import layer_title
from qlower.model.random_inputs import random_input
from qlower.model.signature import Signature
from qlower.runtime.alone import alone
from qlower.runtime.executable import Executable
from qlower.text.context import make_context
from qlower.version import __version__

_CANDIDATES = 4
"""Tiles of vector registers that are measured: the first by estimate."""

_ROUNDS = 15
_ROUND_SECONDS = 2e-4
_GAIN = 0.97
"""The part of the estimate's time below which another schedule counts as faster:
smaller gains may be noise."""


def check_tunable(target: Target) -> None:
    """Refuse a target whose code can't be timed here."""
    host = host_target()
    if target.triple != host.triple or not target.needs <= host.needs:
        raise QlowerError(
            f"code for {target.cpu} of {target.triple} can't be timed on this machine, "
            f"which is {host.cpu} of {host.triple}",
            help="without --tune schedules are chosen by estimate",
        )


def tune(module: ModuleOp, target: Target) -> ModuleOp:
    """A copy of a kernel-level module with the fastest schedule for each contraction,
    for a target that `check_tunable` takes."""
    tuned = module.clone()
    for op in tuned.walk():
        if isinstance(op, NestOp) and op.family.data == "contraction":
            estimate, op.schedule = op.schedule, None
            op.schedule = _schedule(op, target) or estimate
    return tuned


def _schedule(op: NestOp, target: Target) -> Schedule | None:
    """The remembered or fastest schedule; None for a nest with one way to go."""
    module = alone(op).module
    folder = cache_folder()
    path = None if folder is None else folder / f"{_key(module, target)}.tuned"
    remembered = None if path is None else _remembered(path)
    if remembered is not None:
        return remembered
    candidates = _candidates(op, target)
    if len(candidates) < 2:
        return None
    chosen = _fastest(module, target, candidates)
    LOGGER.info("tuned %s: %s", layer_title(op) or op.name, chosen)
    if path is not None:
        keep_entry(path, str(chosen).encode())
    return chosen


def _candidates(op: NestOp, target: Target) -> list[Schedule]:
    """Schedules to measure, the estimate's first."""
    found = possible_schedules(op, target)
    tiles = [schedule for schedule in found if isinstance(schedule, TileAttr)]
    measured = tiles[:_CANDIDATES]
    return [s for s in found if isinstance(s, TileRegistersAttr) or s in measured]


def _key(module: ModuleOp, target: Target) -> str:
    text = StringIO()
    _ShapePrinter(stream=text).print_op(module)
    content = f"{__version__}\n{target.identity}\n{text.getvalue()}"
    return hashlib.sha256(content.encode()).hexdigest()


class _ShapePrinter(Printer):
    """Prints no numbers of constants, but their types."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            dense = cast("DenseIntOrFPElementsAttr[AnyDenseElement]", attribute)
            self.print_attribute(dense.type)
        else:
            super().print_attribute(attribute)


def _remembered(path: Path) -> Schedule | None:
    """The contents of a file; None if there is none, or it is damaged."""
    text = find_entry(path)
    if text is None:
        return None
    found = Parser(make_context(), text.decode()).parse_attribute()
    return found if isinstance(found, Schedule) else None


def _fastest(module: ModuleOp, target: Target, candidates: list[Schedule]) -> Schedule:
    """The first candidate, unless another is clearly faster."""
    (nest,) = (op for op in module.walk() if isinstance(op, NestOp))
    planned = plan(module, target)
    calls = {
        schedule: _call(planned.scheduled(nest, schedule), signature_of(module))
        for schedule in candidates
    }
    times = _times(calls)
    best = min(candidates, key=times.__getitem__)
    return best if times[best] < _GAIN * times[candidates[0]] else candidates[0]


def _call(planned: Plan, signature: Signature) -> Callable[[], None]:
    """The code on random arrays."""
    run = Executable(compile_plan(planned, signature))
    random = np.random.default_rng(0)
    inputs = [random_input(spec, random) for spec in run.signature.arguments]
    outputs = [np.empty(s.shape, s.numpy_dtype) for s in run.signature.results]
    return run.bind(inputs, outputs)


def _times(
    calls: Mapping[Schedule, Callable[[], None]],
) -> dict[Schedule, float]:
    """Seconds a call: the least of some rounds, in which all take turns."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(_ROUNDS):
        for schedule, call in calls.items():
            call()
            start, count, spent = time.perf_counter(), 0, 0.0
            while spent < _ROUND_SECONDS:
                call()
                count += 1
                spent = time.perf_counter() - start
            least[schedule] = min(least[schedule], spent / count)
    return least
