"""Claims that two rules are equal for all sums that a channel can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, ModuleOp, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from qlower.contracts.accumulator_range import AccumulatorRange
from qlower.diagnostics import QlowerError
from qlower.emit.scalar_function import ScalarBody, function_of_rule
from qlower.emit.smtlib import bit_vector, definitions
from qlower.interp import Array, InterpretationError
from qlower.model.nests import scalar_constant
from qlower.observe.place import show
from qlower.transforms.arith_to_smt import to_smt
from qlower.transforms.expand_fixed import ExpandFixedPass
from qlower.transforms.prove_epilogues.steps import Integers
from qlower.verification.decide import Decision, Domain, decide, same
from qlower.verification.functions import Lanes, RuleFunction, Variable, of_lanes
from qlower.verification.possible import apart, shared_factor
from qlower.verification.questions import Question
from qlower.verification.smt.claims import Claim, Claims, Status

_WIDE = 64
"""The bits in which a variable is, and is added to an offset."""


def add_equality(
    claims: Claims,
    contracts: tuple[str, str],
    layer: str,
    asked: Sequence[Question],
    decisions: Sequence[Decision],
) -> None:
    """Enter what was decided of a layer."""
    try:
        for question, decision in zip(asked, decisions, strict=True):
            _Equality(claims, layer, contracts, question, decision).add()
    except QlowerError as error:
        claims.refused[layer] = error.message


@dataclass(frozen=True)
class _Group:
    """Intervals, by number, of lanes whose functions are the same text, with what each
    adds to its numbers before."""

    intervals: dict[int, int]
    body: Sequence[str]
    differ: str
    has_floats: bool


@dataclass(frozen=True)
class _Equality:
    """One question about a layer."""

    claims: Claims
    layer: str
    contracts: tuple[str, str]
    question: Question
    decision: Decision

    def add(self) -> None:
        """Enter a claim for each group, or for each of its intervals if it fails."""
        domain = self.question.domain
        for group in list(self._groups().values()):
            ends = {
                at: (int(domain.low[at]) + shift, int(domain.high[at]) + shift)
                for at, shift in group.intervals.items()
            }
            first, shift = next(iter(group.intervals.items()))
            low = min(least for least, _ in ends.values())
            high = max(most for _, most in ends.values())
            if len(ends) > 1:
                status = self._status_of_all(first, low - shift, high - shift)
                if status == "unsat":
                    self._enter(group, list(ends), low, high, status)
                    continue
            for at, (low, high) in ends.items():
                status, factor = self._status(at)
                self._enter(group, [at], low, high, status, factor)

    def _status(self, interval: int) -> tuple[Status, int]:
        """qlower's own verdict on an interval, or on the multiples in it of the factor
        that weights share, where it doesn't hold for all numbers."""
        lane = int(self.question.domain.lanes[interval])
        is_known = self.decision.why is None
        if is_known and lane not in self.decision.apart:
            return "unsat", 1
        factor = shared_factor(self.question, lane)
        if is_known and factor == 1:
            return "sat", 1
        if self._apart is None:
            return "unknown", factor
        _, first, last = self._apart[self._apart[:, 0] == lane].T
        differs = (-(-first // factor) * factor <= last).any()
        return "sat" if differs else "unsat", factor

    @cached_property
    def _apart(self) -> Integers | None:
        """The intervals in which the rules differ: lane, first and last number."""
        return apart(self.question)

    def _status_of_all(self, interval: int, low: int, high: int) -> Status:
        """qlower's own verdict on the lane of `interval` on low ... high."""
        lane = self.question.domain.lanes[interval : interval + 1]
        cuts = [cut[interval : interval + 1] for cut in self.question.domain.cuts]
        whole = Domain(lane, np.array([low]), np.array([high]), cuts)
        found = decide(self.question.functions, whole)
        if found.why is not None:
            return "unknown"
        return "sat" if found.intervals else "unsat"

    def _groups(self) -> dict[str, _Group]:
        """The intervals by the text of their functions."""
        groups: dict[str, _Group] = {}
        for interval, lane in enumerate(self.question.domain.lanes.tolist()):
            shift = self._shift(lane)
            functions = [
                _smt_function(function, lane, shift)
                for function in self.question.functions
            ]
            terms = [f"x{index}" for index in range(len(self._variables))]
            sides = [
                definitions(function, prefix, terms)
                for prefix, function in zip("ab", functions, strict=True)
            ]
            (a, a_defined), (b, b_defined) = (side.results for side in sides)
            body = [line for side in sides for line in side.lines]
            differ = f"(assert (not (and {a_defined} {b_defined} (= {a} {b}))))"
            text = "\n".join([*body, differ])
            has_floats = any(side.has_floats for side in sides)
            groups.setdefault(text, _Group({}, body, differ, has_floats))
            groups[text].intervals[interval] = shift
        return groups

    def _shift(self, lane: int) -> int:
        """The constant that both functions add to the number; that sum becomes the
        variable."""
        own = np.array(lane)
        offsets = {
            int(of_lanes(offset, own))
            for function in self.question.functions
            for _, offset, _ in function.given.values.values()
        }
        return offsets.pop() if len(offsets) == 1 else 0

    @property
    def _variables(self) -> Sequence[Variable]:
        return self.question.functions[0].given.variables

    def _names(self) -> list[str]:
        """The variables by their meaning in the first rule."""
        values = self.question.functions[0].given.values
        names = {index: name for name, (index, _, _) in values.items()}
        return [names[index] for index in range(len(self._variables))]

    def _enter(
        self,
        group: _Group,
        intervals: list[int],
        low: int,
        high: int,
        status: Status,
        factor: int = 1,
    ) -> None:
        """Enter a claim about low ... high, or about the numbers in it that are a
        multiple of a factor and what the first interval adds."""
        names = self._names()
        lines: list[str] = []
        for index, (name, one) in enumerate(zip(names, self._variables, strict=True)):
            ends = (
                (low, high) if one.size is None else (one.low, one.low + one.size - 1)
            )
            width = AccumulatorRange(*ends).bits
            least, most = (bit_vector(end, width) for end in ends)
            lines += [
                f"(declare-const {name} (_ BitVec {width}))",
                f"(assert (and (bvsle {least} {name}) (bvsle {name} {most})))",
                f"(define-fun x{index} () (_ BitVec {_WIDE}) "
                f"((_ sign_extend {_WIDE - width}) {name}))",
            ]
        ends_text = f"[{low:,}, {high:,}]"
        whole = all(one.size is not None for one in self._variables)
        a, b = self.contracts
        first, shift = intervals[0], group.intervals[intervals[0]]
        if factor > 1:
            least, most, step, start = (
                bit_vector(one, _WIDE)
                for one in (
                    *(-((shift - low) // factor), (high - shift) // factor),
                    *(factor, shift),
                )
            )
            lines += [
                f"(declare-const k (_ BitVec {_WIDE}))",
                f"(assert (and (bvsle {least} k) (bvsle k {most})))",
                f"(assert (= x0 (bvadd (bvmul {step} k) {start})))",
            ]
            ends_text += (
                f" that is {factor:,} * k + {shift:,}, as weights share a factor"
            )
        lanes = self.question.domain.lanes
        claim = Claim(
            says=f"{a} (a) and {b} (b) give the same result for every "
            + (f"{' and '.join(names)}." if whole else f"{names[0]} in {ends_text}."),
            logic="QF_BVFP" if group.has_floats else "QF_BV",
            script="\n".join([*lines, *group.body, group.differ]),
            variables=names,
            expected=status,
            replay=lambda values: self._replay(int(lanes[first]), shift, values),
        )
        for at in intervals:
            for channel in _channels(self.question.lanes, int(lanes[at])):
                self.claims.add(claim, self.layer, channel)

    def _replay(self, lane: int, shift: int, values: Mapping[str, int]) -> str | None:
        """The results of both rules in the interpreter, if they differ."""
        pairs = zip(self._variables, self._names(), strict=True)
        number = sum(one.number(values.get(name, 0)) for one, name in pairs) - shift
        at, x = np.array([lane]), np.array([number])
        results: list[str] = []
        found: list[Array] = []
        for function in self.question.functions:
            try:
                found.append(function(at, x))
                results.append(str(found[-1][0]))
            except InterpretationError:
                results.append("no result")
        if len(found) == 2 and bool(same(*found).all()):
            return None
        return " | ".join(results)


def _channels(lanes: Lanes, lane: int) -> Iterator[str]:
    """The channels of a lane: last indices, or elements where others matter, too."""
    if lanes.of.size == 1:
        yield ""
    elif lanes.of.size == lanes.of.shape[-1]:
        yield from map(str, np.flatnonzero(lanes.of.reshape(-1) == lane).tolist())
    else:
        yield show(lanes.index(lane))


def _smt_function(function: RuleFunction, lane: int, shift: int) -> FuncOp:
    """A rule with the constants of a lane, of variables with `shift` added before, in
    terms of SMT-LIB."""
    own = np.array(lane)
    constants = {
        name: np.asarray(of_lanes(value, own))
        for name, value in function.constants.items()
    }
    types = dict(
        zip(
            function.rule.values,
            function.rule.function.function_type.inputs,
            strict=True,
        )
    )

    def runtime(body: ScalarBody, x: Sequence[SSAValue]) -> dict[str, SSAValue]:
        given: dict[str, SSAValue] = {}
        for name, (index, offset, _) in function.given.values.items():
            value, number = x[index], int(of_lanes(offset, own)) - shift
            if number:
                moved = body.add(scalar_constant(number, i64)).result
                value = body.add(arith.AddiOp(value, moved)).result
            type = types.get(name, i64)
            if isinstance(type, AnyFloat):
                value = body.add(arith.SIToFPOp(value, type)).result
            elif type == i32:
                value = body.add(arith.TruncIOp(value, i32)).result
            given[name] = value
        return given

    arguments = [i64] * len(function.given.variables)
    made = function_of_rule("rule", function.rule, constants, arguments, runtime)
    module = ModuleOp([made])
    ExpandFixedPass().apply(Context(), module)
    return to_smt(made)
