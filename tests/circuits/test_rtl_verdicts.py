"""Verdicts on an engineer's Verilog that Yosys has read, without it and solvers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.circuits.recorded_rtl import RECORDED, SCALE, later, read, scale
from support.layers.small_model import SIGNED_MODEL
from support.table_forms import forms

from qlower.circuits.rtl import verify
from qlower.circuits.rtl.binding import bind
from qlower.circuits.rtl.claim import claim
from qlower.circuits.rtl.subject import layer_subject, rule_subject
from qlower.circuits.rtl.verify import Counterexample, LaneVerdict, RtlEquality, Subject
from qlower.circuits.simulate import Pins
from qlower.cli import main, rtl
from qlower.diagnostics import QlowerError
from qlower.tables.json_text import json_text
from qlower.verification.smt.solve import Answer, ask, find_solvers


def claims() -> dict[str, tuple[str, Sequence[str]]]:
    """Scripts and their variables, by the names of their files."""
    found: dict[str, tuple[str, Sequence[str]]] = {}
    first, second = read("scale"), read("later")
    binding = bind(first, scale().arguments, "channel", {"en": "1"})
    rows = [(-500, 500, 27), (-512, 511, 11)]
    for lane, (low, high, factor) in enumerate(rows):
        ranges = {"acc": (low, high), "multiplier": (factor, factor), "zero": (0, 0)}
        given = first, binding, scale().function, ranges, {"channel": lane}, 0
        found[f"scale_{lane}"] = claim(*given)
    ranges = {"acc": (-500, 500), "multiplier": (27, 27), "zero": (1, 1)}
    given = first, binding, scale().function, ranges, {"channel": 0}, 0
    found["scale_moved"] = claim(*given)
    binding = bind(second, later().arguments, "lane", {})
    for cycles in (1, 2):
        given = second, binding, later().function, {"x": (-128, 127)}, {}, cycles
        found[f"later_{cycles}"] = claim(*given)
    return found


VERDICTS = {
    **{"scale_0": "unsat", "scale_1": "unsat", "scale_moved": "sat"},
    **{"later_1": "sat", "later_2": "unsat"},
}


def test_claims(yosys: list[str], request: pytest.FixtureRequest) -> None:
    """The scripts that solvers have decided, and their verdicts again if there is a
    solver: that a module is a function, and that it isn't one with another zero point,
    or a cycle earlier."""
    solvers = find_solvers()
    for name, (text, variables) in claims().items():
        path = RECORDED / "claims" / f"{name}.smt2"
        if request.config.getoption("--bless"):
            path.write_text(text)
        assert text == path.read_text(), name
        assert variables == (["x"] if "later" in name else ["acc"])
        for solver in sorted(set(solvers) & {"bitwuzla"}):
            answer = ask(solvers[solver], path, variables, 60.0)
            assert answer.verdict == VERDICTS[name], name


def test_nothing_that_changes_is_no_question(yosys: list[str]) -> None:
    binding = bind(found := read("scale"), scale().arguments, "channel", {"en": "1"})
    ranges = {"acc": (5, 5), "multiplier": (27, 27), "zero": (0, 0)}
    with pytest.raises(QlowerError, match="nothing changes with the input"):
        claim(found, binding, scale().function, ranges, {"channel": 0}, 0)


def q(inputs: Mapping[str, int], zero: int = 0) -> int:
    """The module's output."""
    product = inputs["acc"] * (11 if inputs["channel"] else 27)
    return int(np.clip((product + 16 >> 5) + zero, -128, 127)) if inputs["en"] else 0


@pytest.fixture
def tools(yosys: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Solvers that answer as they are told, and a simulator that knows the module."""
    state: Any = type("Tools", (), {})()
    state.answers, state.asked, state.pins = [], [], []
    state.module = q

    def asking(
        command: Sequence[str], file: Path, variables: Sequence[str], limit: float
    ) -> Answer:
        assert command == ["solve"]
        state.asked.append((file.read_text(), list(variables), limit))
        return state.answers.pop(0)

    def run(
        files: Sequence[Path], top: str, pins: Pins, values: Mapping[str, Any]
    ) -> list[int | None]:
        assert files[0].read_text() == (RECORDED / f"{top}.sv").read_text()
        state.pins.append(pins)
        given = {name: int(one[0]) for name, one in values.items()}
        found = state.module({**given, **pins.held})
        return [None if found is None else found % (1 << pins.bits)]

    monkeypatch.setattr(verify, "find_solvers", lambda: {"z3": ["solve"]})
    monkeypatch.setattr(verify, "ask", asking)
    monkeypatch.setattr(verify, "simulate", run)
    return state


def compared(subject: Subject | None = None, **given: Any) -> RtlEquality:
    options: dict[str, Any] = {"ports": {"en": "1"}, "seconds": 7.0, **given}
    file = RECORDED / "scale.sv"
    return verify.verify_rtl(file, "scale", subject or scale(), **options)


def test_lanes_are_asked_for_one_by_one(tools: Any) -> None:
    tools.answers = [Answer("unsat", 0.0)] * 2
    found = compared()
    assert [one.verdict for one in found.lanes] == ["equal"] * 2
    assert (found.holds, found.solver, found.subject) == (True, "z3", "the contract")
    assert found.counterexample is None
    recorded = [(RECORDED / "claims" / f"scale_{n}.smt2").read_text() for n in (0, 1)]
    assert tools.asked == [(text, ["acc"], 7.0) for text in recorded]
    assert found.render().splitlines() == [
        f"scale in {RECORDED / 'scale.sv'} and the contract: equal",
        "2 of 2 channels equal for every input, 0.0 s of z3",
    ]
    tools.answers = [Answer("unsat", 0.0)]
    assert [one.lane for one in compared(channel=1).lanes] == [1]
    assert tools.asked[-1][0] == recorded[1]


def test_a_counterexample_is_run_again(tools: Any) -> None:
    """Where the module has another zero point; and where it hasn't, or can't be run,
    which leaves the lane undecided."""
    tools.answers = [Answer("sat", 0.0, {"acc": -37}), Answer("undecided in 7 s", 0.0)]
    tools.module = lambda given: q(given, 1)
    found = compared()
    assert (found.verdict, found.holds) == ("differs", False)
    first, second = found.lanes
    assert (first.lane, first.verdict, first.why) == (0, "differs", "")
    example = first.counterexample
    assert example is found.counterexample
    assert example is not None
    assert example.inputs == {"acc": -37, "multiplier": 27, "zero": 0}
    # -999 + 16 >> 5
    assert (example.module, example.contract, example.confirmed) == (-30, -31, True)
    assert [(one.name, one.value) for one in example.steps] == [
        *(("product", -999), ("rounded", -31), ("moved", -31), ("result", -31)),
    ]
    assert (second.verdict, second.why) == ("undecided", "undecided in 7 s")
    assert tools.pins == [Pins({"channel": 1, "acc": 10}, {"en": 1}, "q", 9)]
    head, share, _, *rest = found.render(120).splitlines()
    assert head.endswith("and the contract: differs")
    assert share == "0 of 2 channels equal for every input, 0.0 s of z3"
    place = rest.index("the contract, step by step:")
    assert rest[place + 1 : place + 5] == [
        *("  acc                  -37", "  multiplier           27"),
        *("  zero                 0", "  product              -999         arith.muli"),
    ]
    assert len(rest) == place + 8
    tools.answers = [Answer("sat", 0.0, {"acc": 3})]
    tools.module = q
    (lane,) = compared(channel=0).lanes
    assert lane.verdict == "undecided"
    assert lane.why == "the solver's counterexample isn't one in the simulator"
    # a solver that says sat, and has no values
    tools.answers = [Answer("sat", 0.0)]
    (lane,) = compared(channel=0).lanes
    assert (lane.verdict, lane.why) == ("undecided", "sat")
    # an output with unknown bits differs
    tools.answers, tools.module = [Answer("sat", 0.0, {"acc": 3})], lambda _: None
    found = compared(channel=0)
    assert found.verdict == "differs"
    assert found.render(100).endswith("not simulated: iverilog is not installed")


def test_a_simulator_that_fails_or_is_missing(
    tools: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for message, verdict in (
        ("iverilog is not installed", "differs"),
        ("the simulation of scale fails", "undecided"),
    ):

        def run(*_: Any, message: str = message) -> Any:
            raise QlowerError(message)

        monkeypatch.setattr(verify, "simulate", run)
        tools.answers = [Answer("sat", 0.0, {"acc": 511})]
        (lane,) = compared(channel=1).lanes
        assert lane.verdict == verdict
        assert lane.why == (message if verdict == "undecided" else "")
        example = lane.counterexample
        assert (example is None) == (verdict == "undecided")
        # 511 * 11 + 16 >> 5 is 176
        assert example is None or (example.module, example.contract) == (None, 127)


def test_questions_that_are_refused(
    tools: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for given, message in (
        ({"channel": 2}, r"channel 2 is not in \[0, 1\]"),
        ({"channel": -1}, r"channel -1 is not in \[0, 1\]"),
        ({"latency": 1}, "module scale has no registers, --latency is 0"),
        ({"solver": "cvc5"}, "the solver cvc5 is not installed"),
        (
            {"ports": {"en": "1", "channel": "0"}},
            "multiplier of the contract differ from channel to channel, and no port of "
            "scale is for them",
        ),
    ):
        with pytest.raises(QlowerError, match=message):
            compared(**given)
    # for one channel its number is enough
    tools.answers = [Answer("unsat", 0.0)]
    given: Any = {"ports": {"en": "1", "channel": "0"}, "channel": 0}
    assert compared(**given).holds
    wide = scale(SCALE.replace("i8", "i16"))
    with pytest.raises(
        QlowerError,
        match=r"port q of scale has 9 bits, the results of the contract in "
        r"\[-422, 422\] need 10",
    ):
        compared(wide)
    monkeypatch.setattr(verify, "find_solvers", dict)
    with pytest.raises(QlowerError, match="no SMT solver is installed"):
        compared()


def lane(number: int, verdict: str, why: str = "", *steps: int) -> LaneVerdict:
    example = None
    if steps:
        shown, wanted = steps
        example = Counterexample({"acc": 5, "shift": 2}, shown, wanted, ())
    return LaneVerdict(number, verdict, 0.12345, why, example)


def test_a_verdict_as_a_table_and_as_data() -> None:
    lanes = [
        lane(0, "equal"),
        lane(1, "undecided", "slow"),
        lane(2, "differs", "", 3, 4),
    ]
    found = RtlEquality("a.sv", "m", "it", "channel", lanes, "z3", 99)
    assert found.verdict == "differs"
    assert replace(found, lanes=lanes[:2]).verdict == "undecided"
    assert replace(found, lanes=lanes[:1]).verdict == "equal"
    assert found.table.records() == [
        {
            **{"channel": 1, "verdict": "undecided", "inputs": "", "module": None},
            **{"contract": None, "seconds": "0.12"},
        },
        {
            **{"channel": 2, "verdict": "differs", "inputs": "acc 5, shift 2"},
            **{"module": 3, "contract": 4, "seconds": "0.12"},
        },
    ]
    assert forms(found.table) == [
        *("channel, right", "verdict, left", "inputs, left, cut to 20"),
        *("module, right", "contract, right", "seconds, right"),
    ]
    assert found.table.notes == ["channel 1: slow"]
    many = [lane(n, "undecided", "slow") for n in range(12)]
    assert len(replace(found, lanes=many).table.notes) == 10
    plain: dict[str, Any] = dict(found.to_dict())
    first, _, last = plain.pop("lanes")
    assert plain == {
        **{"question": "rtl", "file": "a.sv", "top": "m", "subject": "it"},
        **{"verdict": "differs", "solver": "z3", "memory": 99},
    }
    assert first == {
        **{"lane": 0, "verdict": "equal", "seconds": 0.123, "why": ""},
        "counterexample": None,
    }
    assert last["counterexample"] == {
        "inputs": {"acc": 5, "shift": 2},
        **{"module": 3, "contract": 4, "confirmed": True},
    }


@pytest.mark.parametrize("json", [False, True])
def test_the_command_prints_what_it_found(
    json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = RtlEquality("a.sv", "m", "it", "", [lane(0, "equal")], "z3", 9)
    monkeypatch.setattr(rtl, "verify_rtl", lambda *_, **__: found)
    words = ["verify", "tflm", "--rule", "conv2d", "--rtl", "a.sv", "--top", "m"]
    assert main([*words, *["--json"] * json]) == 0
    printed = capsys.readouterr().out.strip()
    assert printed == (json_text(found.to_dict()).strip() if json else found.render())


def test_rules_with_numbers_for_some_values() -> None:
    found = rule_subject("tflm", "conv2d", {"output_min": -128, "shift": 7})
    ends = {
        one.name: (one.low[0], one.high[0], one.parameter) for one in found.arguments
    }
    assert ends["output_min"] == (-128, -128, True)
    assert ends["shift"] == (7, 7, True)
    assert ends["accumulator"] == (-(1 << 31), (1 << 31) - 1, False)
    assert (found.title, found.selector, found.lanes) == (
        *("rule conv2d of contract tflm", "lane", 1),
    )
    narrow = rule_subject("tflm", "conv2d", {}, unsigned=True, accumulator_bits=12)
    ends = {
        one.name: (one.low[0], one.high[0], one.parameter) for one in narrow.arguments
    }
    assert ends["accumulator"][:2] == (-2048, 2047)
    assert ends["output_min"][:2] == (0, 255)
    assert rule_subject("tflm", "conv2d", {"shift": 0, "output_max": 127})
    for values, message in (
        ({"output_max": 128}, r"output_max must be in \[-128, 127\], not 128"),
        ({"output_max": -129}, r"output_max must be in \[-128, 127\], not -129"),
        ({"none": 1}, "rule conv2d of contract tflm has no value 'none'"),
    ):
        with pytest.raises(QlowerError, match=message):
            rule_subject("tflm", "conv2d", values)


def test_a_layer_as_a_subject(tmp_path: Path) -> None:
    path = tmp_path / "small.mlir"
    path.write_text(SIGNED_MODEL)
    found = layer_subject(path, "tflm", "conv")
    assert (found.title, found.selector, found.lanes) == (
        *("layer conv by tflm", "channel", 2),
    )
    with pytest.raises(QlowerError, match=r"--layer \* means 3 layers, say one"):
        layer_subject(path, "tflm", "*")
