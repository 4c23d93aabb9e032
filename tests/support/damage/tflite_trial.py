"""A process that tries mutants: `python -m support.damage.tflite_trial`.

It reads a number a line and answers with two: what it is about to do ("import",
"litert", "run"), so that a crash can be told from the peer's, and what became of it.
Memory and the processor time of every import are limited.
"""

from __future__ import annotations

import math
import resource
import signal
import sys
import time
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite
from qlower.frontends.tflite.reader import read_model
from qlower.interp.values import Array
from qlower.model.entry import name_tensors
from qlower.model.layers import name_layers

from ..formats.tflite_cases import random_inputs
from ..systems.litert import run_litert
from ..systems.litert_reading import litert_reading, our_reading
from .tflite_mutants import mutant

LONGEST_IMPORT = 1.0
"""Seconds of processor time; a case takes a few milliseconds."""

MOST_MEMORY = 6 << 30

LONGEST_TRIAL = 120
"""Seconds until the process ends itself, on a busy machine."""

NOT_NATIVE = "no native code for operation math."
"""How functions without a definition to the bit are refused, which interpreters take
from numpy: on float32, where nothing makes a table of them."""

LARGEST_RUN = 1 << 14
"""Elements of inputs and outputs of a mutant that is run."""


def say(word: str) -> None:
    print(word, flush=True)


def trial(number: int) -> str:
    """What becomes of a mutant: "refused", "imported", "alike", or a fault."""
    data = mutant(number)
    say("import")
    start = time.process_time()
    module = read(data)
    taken = time.process_time() - start
    if taken > LONGEST_IMPORT:
        return f"fault: import takes {taken:.1f} s"
    if module is None:
        return "refused"
    say("litert")
    ours = our_reading(read_model(data, "model.tflite"))
    try:
        theirs = litert_reading(data)
    except (RuntimeError, ValueError):
        theirs = ours
    if repr(ours) != repr(theirs):  # a scale may be NaN, which isn't equal to itself
        return f"fault: read {ours}, LiteRT {theirs}"
    return run(qlower.Model(module), data)


def read(data: bytes) -> ModuleOp | None:
    """What `qlower.load` makes of a file; None if it refuses it."""
    try:
        module = import_tflite(data, name="model.tflite")
        module.verify()
        name_layers(module)
        name_tensors(module)
    except QlowerError:
        return None
    return module


def run(model: qlower.Model, data: bytes) -> str:
    """Both executors, and LiteRT for the shapes and types of what it gives."""
    specs = (*model.inputs, *model.outputs)
    if sum(math.prod(spec.shape) for spec in specs) > LARGEST_RUN:
        return "imported"
    say("run")
    inputs = random_inputs([(spec.shape, spec.dtype) for spec in model.inputs])
    native, interpreted = execute(model, inputs, True), execute(model, inputs, False)
    if isinstance(native, str) or isinstance(interpreted, str):
        if native == interpreted or NOT_NATIVE in native:
            return "imported"
        return f"fault: native {native}, interpreted {interpreted}"
    if types_of(native) != types_of(interpreted) or not all(
        one.tobytes() == other.tobytes()
        for one, other in zip(native, interpreted, strict=True)
    ):
        return "fault: executors differ"
    say("litert")
    try:
        reference = run_litert(data, inputs)
    except (RuntimeError, ValueError):
        return "alike"
    if types_of(reference) != types_of(native):
        return f"fault: {types_of(native)}, LiteRT {types_of(reference)}"
    return "alike"


def types_of(arrays: Sequence[Array]) -> list[tuple[tuple[int, ...], str]]:
    return [(array.shape, array.dtype.name) for array in arrays]


def execute(
    model: qlower.Model, inputs: list[Array], native: bool
) -> tuple[Array, ...] | str:
    """The outputs, or the message of a refusal."""
    try:
        outputs = (
            qlower.jit(model)(*inputs) if native else qlower.interpret(model, *inputs)
        )
        return outputs if isinstance(outputs, tuple) else (outputs,)
    except QlowerError as error:
        return error.message


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    for line in sys.stdin:
        signal.alarm(LONGEST_TRIAL)
        try:
            verdict = trial(int(line))
        except Exception as error:  # which the parent reports
            verdict = f"fault: {type(error).__name__}: {error}"
        say(" ".join(verdict.split())[:500])


if __name__ == "__main__":
    main()
