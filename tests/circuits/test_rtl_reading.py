"""An engineer's Verilog as Yosys has read it, its ports bound, and its files copied."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.circuits.recorded_rtl import RECORDED, argument, read

from qlower.circuits.rtl import design
from qlower.circuits.rtl.binding import bind
from qlower.circuits.rtl.design import Design, Port, read_design
from qlower.circuits.rtl.source import copy_source
from qlower.circuits.tools import Done
from qlower.diagnostics import QlowerError


def test_a_module_as_yosys_has_it(yosys: list[str]) -> None:
    found = read("scale")
    assert found.ports == {
        "acc": Port("acc", True, True, 10),
        "channel": Port("channel", True, False, 1),
        "en": Port("en", True, False, 1),
        "q": Port("q", False, True, 9),
    }
    assert (found.clock, found.state_bits) == (None, 13)
    assert found.places == [(1, 10, "acc"), (11, 1, "channel"), (12, 1, "en")]
    assert yosys[0].startswith(
        "read_verilog -sv rtl.sv; hierarchy -check -top scale; proc; flatten;"
    )
    clocked = read("later")
    assert (clocked.clock, clocked.state_bits) == ("clk", 25)
    assert clocked.places == [(1, 1, "clk"), (17, 8, "x")]
    with pytest.raises(QlowerError, match="'a; exec' is no name of a module"):
        read_design(RECORDED / "scale.sv", "a; exec", 60.0)
    assert len(yosys) == 2


@pytest.mark.parametrize(
    ("done", "message"),
    [
        (Done(None, ""), r"Yosys takes more than 60 s to read .*scale\.sv"),
        (
            Done(1, "x\nERROR: rtl.sv:3: bad\nERROR: more\ny"),
            r"Yosys doesn't take (.*/scale\.sv): \1:3: bad",
        ),
        (Done(1, "one\ntwo"), r"Yosys doesn't take .*: two"),
        (Done(1, ""), r"Yosys doesn't take .*: no output"),
    ],
)
def test_yosys_refuses(
    done: Done, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(design, "find_program", str)
    monkeypatch.setattr(design, "run_within_limits", lambda *_: done)
    with pytest.raises(QlowerError, match=f"{message}$"):
        read("scale")


def cell(kind: str, polarity: str = "1", **wires: Sequence[int]) -> Any:
    return {
        "type": kind,
        "parameters": {"CLK_POLARITY": polarity},
        "connections": wires,
    }


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([cell("$add", A=[5])], None),
        ([cell("$dff", CLK=[2]), cell("$add", A=[3]), cell("$dff", CLK=[2])], "clk"),
        ([cell("$dlatch", D=[5])], "module m has a latch: an output isn't always set"),
        ([cell("$dff", CLK=[9])], "register whose clock is no port, or falls"),
        ([cell("$dff", "00", CLK=[2])], "register whose clock is no port, or falls"),
        (
            [cell("$dff", CLK=[2]), cell("$dff", "01", CLK=[3])],
            r"module m has 2 clocks: \['clk', 'slow'\]",
        ),
    ],
)
def test_registers_have_one_clock_that_rises(
    cells: Sequence[Any], expected: str | None
) -> None:
    ports = {"clk": {"bits": [2]}, "slow": {"bits": [3]}, "x": {"bits": [4, 5]}}
    module = {"ports": ports, "cells": dict(enumerate(cells))}
    clock: Callable[[Any, str], str | None] = vars(design)["_clock"]
    if expected is None or " " not in expected:
        assert clock(module, "m") == expected
    else:
        with pytest.raises(QlowerError, match=expected):
            clock(module, "m")


def test_a_port_with_another_characters_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(words: Sequence[str], folder: Path, seconds: float) -> Done:
        module = {"ports": {"a b": {}}, "cells": {}}
        (folder / "design.smt2").touch()
        text = json.dumps({"modules": {"scale": module}})
        (folder / "design.json").write_text(text)
        return Done(0, "")

    monkeypatch.setattr(design, "find_program", str)
    monkeypatch.setattr(design, "run_within_limits", run)
    with pytest.raises(QlowerError, match="port 'a b' of module scale has characters"):
        read("scale")


PORTS = {
    **{"acc": (True, 10), "sel": (True, 1), "en": (True, 1)},
    **{"clk": (True, 1), "q": (False, 8)},
}


def module(ports: Mapping[str, tuple[bool, int]]) -> Design:
    found = {n: Port(n, is_in, True, bits) for n, (is_in, bits) in ports.items()}
    return Design("m", found, "clk", "")


GIVEN = {"sel": "channel", "en": "0x1"}
ARGUMENTS = [argument("acc", [-9], [9]), argument("shift", [2, 3])]


def test_ports_are_bound_by_hand_by_name_and_by_what_is_left() -> None:
    found = bind(module(PORTS), ARGUMENTS, "channel", GIVEN)
    assert found.inputs == {"sel": "channel", "acc": "acc"}
    assert (found.held, found.output.name) == ({"en": 1}, "q")
    # one port is left, and one value that changes with the input
    renamed = {"x" if name == "acc" else name: port for name, port in PORTS.items()}
    found = bind(module(renamed), ARGUMENTS, "channel", GIVEN)
    assert found.inputs == {"sel": "channel", "x": "acc"}
    # a parameter is bound where there is a port, and isn't missed where there is none
    wide = {**PORTS, "shift": (True, 4)}
    found = bind(module(wide), ARGUMENTS, "channel", GIVEN)
    assert found.inputs == {"sel": "channel", "acc": "acc", "shift": "shift"}
    # of two outputs one is named
    two = {**PORTS, "valid": (False, 1)}
    given = {**GIVEN, "valid": "result"}
    assert bind(module(two), ARGUMENTS, "channel", given).output.name == "valid"
    # an argument's own name is no number, even for a held port
    given = {"sel": "shift", "en": "-1"}
    found = bind(module(PORTS), ARGUMENTS, "channel", given)
    assert found.inputs == {"sel": "shift", "acc": "acc"}
    assert found.held == {"en": -1}


@pytest.mark.parametrize(
    ("ports", "given", "message", "help"),
    [
        (
            PORTS,
            {"no": "1"},
            "module m has no port 'no'",
            "its ports are acc, sel, en, clk, q",
        ),
        (
            PORTS,
            {"sel": "chan"},
            "port sel: 'chan' is no value of this function",
            "its values are acc, shift, channel, result; or an integer",
        ),
        (PORTS, {"q": "1"}, "port q: '1' is no value of this function", ""),
        (
            PORTS,
            {"en": "result"},
            "port en: 'result' is no value of this function",
            "",
        ),
        (PORTS, {"en": "1"}, "module m: nothing is known of port sel", ""),
        (PORTS, {}, "module m: nothing is known of port sel, en", ""),
        (
            PORTS,
            {**GIVEN, "acc": "1"},
            "module m: nothing is known of a port for acc",
            "say --port PORT=VALUE, or of a contract's rule --value NAME=NUMBER; "
            "values are acc, shift, channel, result",
        ),
        (
            PORTS,
            {"acc": "1"},
            "module m: nothing is known of port sel, en and of acc",
            "",
        ),
        (
            {**PORTS, "valid": (False, 1)},
            GIVEN,
            "module m has 2 outputs",
            "say which is the result: --port PORT=result",
        ),
    ],
)
def test_ports_that_fit_nothing(
    ports: dict[str, tuple[bool, int]],
    given: dict[str, str],
    message: str,
    help: str,
) -> None:
    with pytest.raises(QlowerError) as error:
        bind(module(ports), ARGUMENTS, "channel", given)
    assert error.value.message == message
    assert help in (error.value.help or "")


def test_included_files_are_copied_once(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    (folder / "inner").mkdir(parents=True)
    file = folder / "mine.sv"
    file.write_text('`include "inner/a.vh"\n`include "inner/a.vh"\nmodule m; endmodule')
    (folder / "inner" / "a.vh").write_text("// a")
    copy = tmp_path / "copy"
    copy_source(file, copy)
    assert (copy / "rtl.sv").read_text() == file.read_text()
    assert (copy / "inner" / "a.vh").read_text() == "// a"
    for name, message in (
        ("inner/../inner/a.vh", 'write "inner/a.vh" for "inner/../inner/a.vh"'),
        ("rtl.sv", "rtl.sv is the name of the copy"),
        ("none.vh", "none.vh can't be read"),
    ):
        file.write_text(f'module m;\n  `include "{name}"\nendmodule')
        with pytest.raises(QlowerError, match=message) as error:
            copy_source(file, copy)
        place = error.value.location
        assert name == "none.vh" or str(place).endswith('mine.sv":2:3)')
    file.write_text("x" * ((1 << 22) + 1))
    with pytest.raises(QlowerError, match="have more than 4,194,304 characters"):
        copy_source(file, copy)
    file.write_bytes(b"\xff")
    with pytest.raises(QlowerError, match=r"mine\.sv can't be read"):
        copy_source(file, copy)
