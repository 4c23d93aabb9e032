"""The search for a difference between native code and the interpreter: the kernel, and
the pass or schedule.

The interpreter runs the result of each pass. If some module gives other bits, the pass
before it is to blame; of its rewrites, halving finds the first with which the bits
change. If none does, each kernel is compiled alone and run on the interpreter's values
of its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from qlower.codegen.program.module import compile_module
from qlower.codegen.program.schedules import possible_schedules
from qlower.compilation.compilation import Compilation
from qlower.compilation.passes import Applied, Observer, apply_passes
from qlower.compilation.to_arith import arith_passes
from qlower.compilation.to_kernel import kernel_passes
from qlower.diagnostics import LOGGER
from qlower.dialects.kernel import CopyOp, NestOp, ScanOp
from qlower.interp import Array, run_function
from qlower.model.entry import main_function
from qlower.model.layers import layer_names, layer_title
from qlower.runtime.alone import alone, with_code
from qlower.runtime.executable import Executable
from qlower.runtime.executors import JitFunction, Variant
from qlower.tables.table import Column, Table, Tabled
from qlower.tally import Tally
from qlower.transforms.lower_qnn import LowerQnnPass


@dataclass(frozen=True)
class Fault:
    """A fault: `differing` of `count` outputs.

    `cause` names the pass, rewrite or schedule, `kernel` the first native function with
    the fault.
    """

    differing: int
    count: int
    kernel: str
    cause: str

    def __str__(self) -> str:
        return (
            f"{self.differing} of {self.count} outputs differ\n"
            f"first kernel: {self.kernel}\n"
            f"cause: {self.cause}"
        )


@dataclass(frozen=True, repr=False)
class Bisection(Tabled[Fault]):
    """The cause of native code's difference from the interpreter; no fault if they are
    equal."""

    fault: Fault | None

    @property
    def is_equal(self) -> bool:
        """Whether both give the same bits."""
        return self.fault is None

    @property
    def table(self) -> Table[Fault]:
        """A line for the fault, if there is one."""
        columns: list[Column[Fault]] = [
            Column("outputs that differ", "differing", lambda one: one.differing),
            Column("of", "outputs", lambda one: one.count),
            Column("first kernel", "kernel", lambda one: one.kernel, right=False),
            Column("cause", "cause", lambda one: one.cause, right=False),
        ]
        return Table("bisection", [one for one in [self.fault] if one], columns)

    def render(self, width: int | None = None) -> str:
        """Return the fault in lines."""
        same = "native code and interpreter give the same bits"
        return same if self.fault is None else str(self.fault)


def bisect(compilation: Compilation, inputs: Mapping[str, Array]) -> Fault | None:
    """Find what makes native code differ from the interpreter; None if they are equal.

    The measure is the highest level that the model has: the contract's definition of
    each layer, or the arithmetic that the model is written in.
    """
    module = compilation.model.module
    first, *_ = arith_passes(module, compilation.contract)
    level = "qnn" if isinstance(first, LowerQnnPass) else "arith"
    expected, _ = compilation.interpreter(level).run((), inputs)
    plain = Variant.plain(compilation.model.signature)
    native = JitFunction(Executable(compilation.code), plain)
    outputs, _ = native.run((), inputs)
    differing = sum(map(_differing, outputs, expected))
    if not differing:
        return None
    count = sum(right.size for right in expected)
    search = _Search(compilation, inputs, expected)
    kernel, cause = search.wrong_pass() or search.wrong_kernel()
    return Fault(differing, count, kernel, cause)


@dataclass
class _Search:
    """The search for a fault of a compilation that is known to have one."""

    compilation: Compilation
    inputs: Mapping[str, Array]
    expected: Sequence[Array]

    def wrong_pass(self) -> tuple[str, str] | None:
        """The first kernel of the rewrite, or of the pass, that changes the bits; None
        if no pass does."""
        compilation = self.compilation
        module = compilation.model.module
        steps = [
            *arith_passes(module, compilation.contract),
            *compilation.passes,
            *kernel_passes(compilation.target),
        ]
        for step in steps:
            LOGGER.info("check %s", step.name)
            counts = _Counts()
            after = apply_passes(module, [step], [counts])
            if not self._is_right(after):
                return self._wrong_rewrite(module, step, counts.tally)
            module = after
        return None

    def _wrong_rewrite(
        self, module: ModuleOp, step: ModulePass, tally: Tally
    ) -> tuple[str, str]:
        """The rewrite of a pass that changes the bits of the module."""
        unknown = "not known", f"{step.name}, in what it doesn't count as rewrites"
        if "limit" not in {option.name for option in fields(step)}:
            return unknown
        right, wrong = -1, len(tally.rewrites)
        while wrong - right > 1:
            middle = (right + wrong) // 2
            LOGGER.info("check %s with %d rewrites", step.name, middle)
            options: dict[str, Any] = {"limit": middle}
            limited = replace(step, **options)
            if self._is_right(apply_passes(module, [limited])):
                right = middle
            else:
                wrong = middle
        if wrong == 0:
            return unknown
        layer = tally.rewrites[wrong - 1]
        cause = f"{step.name}, rewrite {wrong} of {len(tally.rewrites)}, of {layer}"
        return self._kernel_of(layer), f"{cause} ({step.name}{{limit={wrong - 1}}})"

    def wrong_kernel(self) -> tuple[str, str]:
        """The first kernel whose own code gives other bits than the interpreter."""
        kernels, target = self.compilation.kernels, self.compilation.target
        values = self._interpreted(kernels)
        for number, op in enumerate(with_code(kernels)):
            LOGGER.info("check kernel %d", number)
            if _is_kernel_right(op, self.compilation, values):
                continue
            name = f"{number}, {layer_title(op) or op.name}"
            schedule = op.schedule if isinstance(op, NestOp) else None
            if not isinstance(op, NestOp) or schedule is None:
                return name, "its code"
            for other in possible_schedules(op, target):
                if other != schedule and self._is_right_with(op, other, values):
                    return name, f"its schedule {schedule}: with {other} it is right"
            return name, "its code, in all schedules"
        return "none alone", "where tensors lie, or how kernels are called"

    def _is_right_with(
        self, op: NestOp, schedule: Any, values: Mapping[SSAValue, Array]
    ) -> bool:
        """Whether the nest is right in another schedule."""
        before, op.schedule = op.schedule, schedule
        try:
            return _is_kernel_right(op, self.compilation, values)
        finally:
            op.schedule = before

    def _kernel_of(self, layer: str) -> str:
        """The first kernel that has the layer, or one of several that are joined."""
        names = set(layer.split(" + "))
        for number, op in enumerate(with_code(self.compilation.kernels)):
            if any(names & set(layer_names(inner)) for inner in op.walk()):
                return f"{number}, {layer_title(op) or op.name}"
        return "not known"

    def _is_right(self, module: ModuleOp) -> bool:
        """Whether the interpreted module, at the arith level or below, gives the
        bits."""
        outputs = run_function(module, _name(module), self._arguments())
        return not any(map(_differing, outputs, self.expected))

    def _interpreted(self, module: ModuleOp) -> dict[SSAValue, Array]:
        """Every value of the entry function."""
        recorder = _Recorder()
        arguments = self._arguments()
        function = main_function(module)
        recorder.values.update(zip(function.body.block.args, arguments, strict=True))
        run_function(module, _name(module), arguments, listeners=[recorder])
        return recorder.values

    def _arguments(self) -> Sequence[Array]:
        model = self.compilation.model
        return [*model.signature.bind((), self.inputs), *model.new_state().arrays]


@dataclass
class _Counts(Observer):
    """Keeps what the last pass counted."""

    tally: Tally = field(default_factory=Tally)

    def after(
        self, module: ModuleOp, applied: Applied, rest: Sequence[ModulePass]
    ) -> None:
        self.tally = applied.tally


@dataclass
class _Recorder(Interpreter.Listener):
    """Keeps the results of a function's operations, but not of those inside of them."""

    values: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        if isinstance(op.parent_op(), FuncOp):
            self.values.update(zip(op.results, results, strict=True))


def _is_kernel_right(
    op: NestOp | CopyOp | ScanOp,
    compilation: Compilation,
    values: Mapping[SSAValue, Array],
) -> bool:
    """Whether the native code of one kernel gives what the interpreter does."""
    single = alone(op)
    run = Executable(compile_module(single.module, compilation.target))
    given = [
        np.ascontiguousarray(values[value]).view(spec.numpy_dtype)
        for value, spec in zip(single.arguments, run.signature.inputs, strict=True)
    ]
    expected = [values[result] for result in op.results]
    return not any(map(_differing, run(given), expected))


def _differing(first: Array, second: Array) -> int:
    """The number of elements with other bits; signs of types don't count."""

    def bits(array: Array) -> Array:
        flat = np.ascontiguousarray(array).reshape(-1)
        return flat.view(np.uint8).reshape(len(flat), array.itemsize)

    return int((bits(first) != bits(second)).any(axis=1).sum())


def _name(module: ModuleOp) -> str:
    return main_function(module).sym_name.data
