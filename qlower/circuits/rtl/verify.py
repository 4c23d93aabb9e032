"""Whether an engineer's module is a contract's function for every input."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from qlower.circuits.functions import Argument
from qlower.circuits.rtl.binding import Binding, bind
from qlower.circuits.rtl.claim import claim
from qlower.circuits.rtl.design import Design, read_design
from qlower.circuits.rtl.source import MAIN, copy_source
from qlower.circuits.simulate import Pins, simulate
from qlower.diagnostics import QlowerError
from qlower.explain.diff import Progress, no_progress
from qlower.interp import evaluate_function, make_interpreter
from qlower.interp.values import dtype_of
from qlower.tables.table import Column, Table, Tabled, counted
from qlower.transforms.arith_to_comb.circuit import bits_of
from qlower.transforms.ranges import Range
from qlower.transforms.scalar_ranges import function_ranges
from qlower.verification.smt.solve import ask, find_solvers

READING_SECONDS = 60.0
"""The time limit of Yosys for reading a file."""


@dataclass(frozen=True)
class Subject:
    """A contract's function that a module is to be: `selector` names what chooses a
    lane."""

    title: str
    function: FuncOp
    arguments: Sequence[Argument]
    selector: str
    lanes: int


@dataclass(frozen=True)
class FunctionStep:
    """A step of the function, and what it gives."""

    name: str
    op: str
    value: int


@dataclass(frozen=True)
class Counterexample:
    """Inputs for which both differ: `module` is what the simulator shows, None where
    none was there to show it; `contract` what the interpreter gives by `steps`."""

    inputs: Mapping[str, int]
    module: int | None
    contract: int
    steps: Sequence[FunctionStep]

    @property
    def confirmed(self) -> bool:
        """Whether the simulated module differs from the interpreted contract."""
        return self.module is not None


@dataclass(frozen=True)
class LaneVerdict:
    """equal, differs or undecided, of a lane; and why it is undecided."""

    lane: int
    verdict: str
    seconds: float
    why: str = ""
    counterexample: Counterexample | None = None


@dataclass(frozen=True, repr=False)
class RtlEquality(Tabled[LaneVerdict]):
    """The verdict on a module; `subject` names the function that it is compared
    with."""

    file: str
    top: str
    subject: str
    selector: str
    lanes: Sequence[LaneVerdict]
    solver: str
    memory: int = 0
    notes: Sequence[str] = field(default=())

    @property
    def verdict(self) -> str:
        """differs if any lane does, else undecided if any is, else equal."""
        found = {one.verdict for one in self.lanes}
        return next(v for v in ("differs", "undecided", "equal") if v in found)

    @property
    def holds(self) -> bool:
        """Whether module and contract are equal for all inputs."""
        return self.verdict == "equal"

    @property
    def counterexample(self) -> Counterexample | None:
        """The first one."""
        return next(
            (one.counterexample for one in self.lanes if one.counterexample), None
        )

    @property
    def table(self) -> Table[LaneVerdict]:
        """A line for each lane that isn't equal."""
        rows = [one for one in self.lanes if one.verdict != "equal"]
        columns: list[Column[LaneVerdict]] = [
            Column(self.selector, self.selector, lambda row: row.lane),
            Column("verdict", "verdict", lambda row: row.verdict, right=False),
            Column("inputs", "inputs", _inputs, least=20),
            Column("module", "module", _module),
            Column("contract", "contract", _contract),
            Column("seconds", "seconds", lambda row: f"{row.seconds:.2f}"),
        ]
        notes = [f"{self.selector} {one.lane}: {one.why}" for one in rows if one.why]
        return Table("lanes", rows, columns, notes=notes[:10], whole="--json")

    def render(self, width: int | None = None) -> str:
        """The verdict, the lanes that aren't equal, and the steps of the first."""
        seconds = sum(one.seconds for one in self.lanes)
        equal = sum(one.verdict == "equal" for one in self.lanes)
        lines = [
            f"{self.top} in {self.file} and {self.subject}: {self.verdict}",
            f"{equal} of {counted(len(self.lanes), self.selector)} equal for every "
            f"input, {seconds:.1f} s of {self.solver}",
        ]
        if not self.holds:
            lines += ["", self.table.render(width=width)]
        example = self.counterexample
        if example is not None:
            lines += ["", "the contract, step by step:"]
            lines += [f"  {name:<20} {value}" for name, value in example.inputs.items()]
            lines += [
                f"  {one.name:<20} {one.value:<12} {one.op}" for one in example.steps
            ]
            if not example.confirmed:
                lines.append("not simulated: iverilog is not installed")
        return "\n".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {
            "question": "rtl",
            "file": self.file,
            "top": self.top,
            "subject": self.subject,
            "verdict": self.verdict,
            "solver": self.solver,
            "memory": self.memory,
            "lanes": [
                {
                    "lane": one.lane,
                    "verdict": one.verdict,
                    "seconds": round(one.seconds, 3),
                    "why": one.why,
                    "counterexample": None
                    if one.counterexample is None
                    else {
                        "inputs": dict(one.counterexample.inputs),
                        "module": one.counterexample.module,
                        "contract": one.counterexample.contract,
                        "confirmed": one.counterexample.confirmed,
                    },
                }
                for one in self.lanes
            ],
        }


def _inputs(row: LaneVerdict) -> str:
    example = row.counterexample
    if example is None:
        return ""
    return ", ".join(f"{name} {value}" for name, value in example.inputs.items())


def _module(row: LaneVerdict) -> int | None:
    return row.counterexample.module if row.counterexample else None


def _contract(row: LaneVerdict) -> int | None:
    return row.counterexample.contract if row.counterexample else None


def verify_rtl(
    file: Path,
    top: str,
    subject: Subject,
    *,
    ports: Mapping[str, str],
    channel: int | None = None,
    latency: int = 0,
    seconds: float = 60.0,
    solver: str | None = None,
    progress: Progress = no_progress,
) -> RtlEquality:
    """Whether module `top` of a file is the subject's function, lane by lane.

    `ports` binds ports by hand. Results are expected `latency` cycles of the clock
    after the inputs, whatever the registers held and whatever comes after. Only lane
    `channel` is looked at where that is given. A solver has `seconds` for a lane.

    Raises `QlowerError` for a file that is refused, ports that fit nothing, and tools
    that aren't installed.
    """
    solvers = find_solvers()
    known = [name for name in ("bitwuzla", "z3", "cvc5", "yices") if name in solvers]
    if solver is not None and solver not in solvers:
        raise QlowerError(f"the solver {solver} is not installed")
    if not known:
        raise QlowerError(
            "no SMT solver is installed", help="pip install bitwuzla, or z3-solver"
        )
    chosen = solver or known[0]
    design = read_design(file, top, READING_SECONDS)
    binding = bind(design, subject.arguments, subject.selector, ports)
    work = _Work(file, design, binding, subject, latency, seconds)
    work.check(channel)
    lanes = range(subject.lanes) if channel is None else [channel]
    found: list[LaneVerdict] = []
    with TemporaryDirectory() as name:
        for lane in progress(lanes, "lanes"):
            found.append(work.decide(lane, solvers[chosen], Path(name)))
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return RtlEquality(
        str(file), top, subject.title, subject.selector, found, chosen, memory
    )


@dataclass(frozen=True)
class _Work:
    file: Path
    design: Design
    binding: Binding
    subject: Subject
    latency: int
    seconds: float

    def check(self, channel: int | None) -> None:
        """Refuse what can't be asked."""
        subject, design = self.subject, self.design
        if channel is not None and not 0 <= channel < subject.lanes:
            raise QlowerError(
                f"{subject.selector} {channel} is not in [0, {subject.lanes - 1}]"
            )
        given = set(self.binding.inputs.values())
        loose = [
            one.name
            for one in subject.arguments
            if one.parameter and one.name not in given and len(one.low) > 1
        ]
        if loose and channel is None and subject.selector not in given:
            raise QlowerError(
                f"{', '.join(loose)} of {subject.title} differ from {subject.selector} "
                f"to {subject.selector}, and no port of {design.top} is for them",
                help=f"say which {subject.selector} the module is for, --channel N, or "
                "bind a port, --port PORT=VALUE",
            )
        if design.clock is None and self.latency:
            raise QlowerError(f"module {design.top} has no registers, --latency is 0")
        (result,) = [
            function_ranges(subject.function)[one] for one in _results(subject)
        ]
        needed, output = bits_of(result), self.binding.output
        if output.bits < needed:
            raise QlowerError(
                f"port {output.name} of {design.top} has {output.bits} bits, the "
                f"results of {subject.title} in [{result[0]}, {result[1]}] need "
                f"{needed}"
            )

    def decide(self, lane: int, command: Sequence[str], folder: Path) -> LaneVerdict:
        """The verdict of a lane, its counterexample replayed."""
        ranges = {one.name: _range(one, lane) for one in self.subject.arguments}
        selected = {self.subject.selector: lane}
        text, names = claim(
            self.design,
            self.binding,
            self.subject.function,
            ranges,
            selected,
            self.latency,
        )
        file = folder / "claim.smt2"
        file.write_text(text)
        begin = time.monotonic()
        answer = ask(command, file, names, self.seconds)
        seconds = time.monotonic() - begin
        if answer.verdict == "unsat":
            return LaneVerdict(lane, "equal", seconds)
        if answer.verdict != "sat" or not answer.values:
            return LaneVerdict(lane, "undecided", seconds, answer.verdict)
        inputs = {
            name: answer.values.get(name, low) for name, (low, _) in ranges.items()
        }
        return self._replayed(lane, inputs, seconds)

    def _replayed(
        self, lane: int, inputs: Mapping[str, int], seconds: float
    ) -> LaneVerdict:
        steps = tuple(_steps(self.subject.function, inputs))
        contract = self._interpreted(inputs)
        shown: int | None = None
        try:
            shown = self._simulated(lane, inputs)
        except QlowerError as error:
            if "not installed" not in error.message:
                return LaneVerdict(lane, "undecided", seconds, error.message)
        else:
            bits = self.binding.output.bits
            if shown is not None and shown % (1 << bits) == contract % (1 << bits):
                why = "the solver's counterexample isn't one in the simulator"
                return LaneVerdict(lane, "undecided", seconds, why)
        example = Counterexample(inputs, shown, contract, steps)
        return LaneVerdict(lane, "differs", seconds, "", example)

    def _interpreted(self, inputs: Mapping[str, int]) -> int:
        function = self.subject.function
        given = [
            np.array(inputs[one.name]).astype(dtype_of(type))
            for one, type in zip(
                self.subject.arguments, function.function_type.inputs, strict=True
            )
        ]
        (result,) = evaluate_function(function, given)
        return int(result)

    def _simulated(self, lane: int, inputs: Mapping[str, int]) -> int | None:
        """The module's output, by its port's sign; None for unknown bits."""
        binding, output = self.binding, self.binding.output
        values = {**inputs, self.subject.selector: lane}
        pins = Pins(
            {port: self.design.ports[port].bits for port in binding.inputs},
            binding.held,
            output.name,
            output.bits,
            self.design.clock,
            self.latency,
        )
        with TemporaryDirectory() as name:
            folder = Path(name)
            copy_source(self.file, folder)
            (found,) = simulate(
                [folder / MAIN],
                self.design.top,
                pins,
                {port: np.array([values[own]]) for port, own in binding.inputs.items()},
            )
        half = 1 << (output.bits - 1)
        if found is not None and output.is_signed and found >= half:
            return found - 2 * half
        return found


def _range(one: Argument, lane: int) -> Range:
    low, high = (int(end[lane % len(end)]) for end in (one.low, one.high))
    return low, high


def _results(subject: Subject) -> Sequence[SSAValue]:
    end = subject.function.body.block.last_op
    assert isinstance(end, ReturnOp)
    return end.operands


def _steps(function: FuncOp, inputs: Mapping[str, int]) -> Iterator[FunctionStep]:
    """The result of each step for these inputs, by the steps' names in order."""
    interpreter = make_interpreter(ModuleOp([]))
    known: dict[SSAValue, object] = {}
    for argument, value in zip(function.args, inputs.values(), strict=True):
        known[argument] = np.array(value).astype(dtype_of(argument.type))
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp):
            return
        found = interpreter.run_op(op, tuple(known[one] for one in op.operands))
        known.update(zip(op.results, found, strict=True))
        hint = op.results[0].name_hint
        if not isinstance(op, ConstantOp) and hint is not None:
            yield FunctionStep(hint, op.name, int(np.asarray(found[0])))
