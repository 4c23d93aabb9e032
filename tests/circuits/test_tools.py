"""Programs of others, played by scripts: what they are given, what is read of it."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.circuits.circuits import Integers
from support.circuits.verilog_text import evaluate
from support.layers.small_model import SIGNED_MODEL
from support.table_forms import forms

from qlower.circuits import area, simulate
from qlower.circuits.area import Area, area_of, luts_of
from qlower.circuits.cost import Cost, Costs
from qlower.circuits.functions import Argument
from qlower.circuits.make import model_circuits
from qlower.circuits.simulate import Pins
from qlower.circuits.tools import find_program, is_installed
from qlower.contract_pages.contract_differences import Disagreement
from qlower.diagnostics import QlowerError

Program = Callable[[str, str], None]

SCRIPT = Path(__file__).parents[2] / "examples/benchmark/circuits.py"

PINS = Pins({"a": 4, "channel": 1}, {"en": 1}, "q", 6)
VALUES: Mapping[str, Integers] = {
    "a": np.array([-1, 5, 17]),
    "channel": np.array([0, 1, 1]),
}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program of a name that runs a shell script, in which TMP is the test's folder;
    there are no others but the system's own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def make(name: str, script: str) -> None:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script.replace('TMP', str(tmp_path))}\n")
        path.chmod(0o755)

    return make


def circuit(name: str) -> Any:
    """A circuit for programs that only take its text."""
    return SimpleNamespace(name=name, text=f"// of a contract\nmodule {name};\n")


def test_a_program_sees_its_own_folder_alone(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    program("yosys", 'echo "$HOME $PWD $SECRET $(cat)"; echo aside >&2; exit 3')
    done = area.run_within_limits([find_program("yosys")], tmp_path, 9.0)
    assert done.code == 3
    assert done.output == f"{tmp_path} {tmp_path}  \naside\n"
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(QlowerError, match="yosys is not installed") as error:
        find_program("yosys")
    assert error.value.help == "apt install yosys"


def test_a_program_is_there_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_installed("sh")
    monkeypatch.setenv("PATH", "")
    assert not is_installed("sh")


def test_the_area_is_the_last_that_yosys_prints(
    program: Program, tmp_path: Path
) -> None:
    program(
        "yosys",
        """echo "$1 $2" >> TMP/lines; cp circuit.sv TMP/seen.sv
        case "$2" in *lut*) n=11;; *) n=23;; esac
        echo 'Printing statistics.'; echo '  Number of cells: 999'
        echo 'Printing statistics.'; echo "  Number of cells:    $n"
        echo '  Estimated number of transistors:  92+'""",
    )
    assert area_of(circuit("one")) == Area(cells=23, transistors=92, luts=11)
    assert (tmp_path / "seen.sv").read_text() == "module one;\n"
    read = "-p read_verilog -sv circuit.sv; synth -flatten "
    assert (tmp_path / "lines").read_text().splitlines() == [
        f"{read}-top one; abc -g AND,OR,XOR,NAND,NOR,XNOR,MUX; stat -tech cmos",
        f"{read}-lut 6 -top one; stat",
    ]
    # the same circuit isn't asked for twice
    assert luts_of(circuit("one")) == 11
    assert len((tmp_path / "lines").read_text().splitlines()) == 2


def test_yosys_fails_or_takes_too_long(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program("yosys", "for n in 1 2 3 4 5; do echo line $n; done; exit 1")
    with pytest.raises(QlowerError, match="Yosys fails on two") as error:
        luts_of(circuit("two"))
    assert error.value.notes == ("line 3", "line 4", "line 5")
    monkeypatch.setattr(area, "SECONDS", 0.1)
    program("yosys", "exec sleep 60")
    with pytest.raises(QlowerError, match="Yosys takes too long for three"):
        luts_of(circuit("three"))


def test_a_simulator_gets_words_and_gives_bits(
    program: Program, tmp_path: Path
) -> None:
    program(
        "iverilog", 'printf "%s\\n" "$*" > TMP/words; cat *.hex bench.sv > TMP/given'
    )
    program(
        "vvp",
        'printf "%s\\n" "$*" >> TMP/words; echo 000101 0001x1 01000z > result.txt',
    )
    file = tmp_path / "dut.sv"
    found = simulate.simulate([file], "dut", PINS, VALUES)
    assert found == [5, None, None]
    assert (tmp_path / "words").read_text().splitlines() == [
        f"-g2012 -o bench.vvp -s bench bench.sv {file}",
        "-n bench.vvp",
    ]
    words, _, bench = (tmp_path / "given").read_text().partition("module bench;\n")
    assert words.split() == ["f", "5", "1", "0", "1", "1"]
    assert bench.splitlines() == [
        *("  integer n_, file_;", "  reg clk_ = 0;", "  wire [5:0] out_;"),
        *("  reg [3:0] a;", "  reg [3:0] a_all_ [0:2];"),
        *("  reg [0:0] channel;", "  reg [0:0] channel_all_ [0:2];"),
        "  dut dut_ (.a(a), .channel(channel), .en(1), .q(out_));",
        "  initial begin",
        '    $readmemh("a.hex", a_all_);',
        '    $readmemh("channel.hex", channel_all_);',
        '    file_ = $fopen("result.txt", "w");',
        "    for (n_ = 0; n_ < 3; n_ = n_ + 1) begin",
        "      a = a_all_[n_ < 3 ? n_ : 2];",
        "      channel = channel_all_[n_ < 3 ? n_ : 2];",
        "      #1 clk_ = 1;",
        '      #1 if (n_ >= 0) $fdisplay(file_, "%b", out_);',
        *("      clk_ = 0;", "    end", "    $fclose(file_);", "    $finish;"),
        *("  end", "endmodule"),
    ]


@pytest.mark.parts(3)
@pytest.mark.parametrize(("latency", "later"), [(0, 0), (1, 0), (3, 2)])
def test_what_a_clock_shows_later(
    latency: int, later: int, program: Program, tmp_path: Path
) -> None:
    """A result is there after the edge of its own cycle: the third of 3."""
    program("iverilog", "cp bench.sv TMP/bench.sv")
    program("vvp", "echo 0 1 1 > result.txt")
    pins = Pins({"a": 4}, {}, "q", 1, "clk", latency)
    assert simulate.simulate([], "dut", pins, {"a": VALUES["a"]}) == [0, 1, 1]
    bench = (tmp_path / "bench.sv").read_text()
    assert "  dut dut_ (.a(a), .q(out_), .clk(clk_));" in bench
    assert f"for (n_ = 0; n_ < {3 + later}; n_ = n_ + 1)" in bench
    assert f"#1 if (n_ >= {later}) $fdisplay" in bench


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    ("iverilog", "vvp", "message", "notes"),
    [
        (
            "seq 9; exit 2",
            "",
            "Icarus Verilog doesn't take dut",
            ["1", "2", "3", "4", "5"],
        ),
        ("", "exit 1", "the simulation of dut fails", []),
        ("", "exec sleep 60", "the simulation of dut takes too long", []),
        ("", "echo 1 0 > result.txt", "the simulation of dut ends by itself", []),
        ("", "", "the simulation of dut ends by itself", []),
    ],
)
def test_simulators_that_fail(
    iverilog: str, vvp: str, message: str, notes: list[str], program: Program
) -> None:
    program("iverilog", iverilog)
    program("vvp", vvp)
    seconds = 0.5 if "sleep" in vvp else 60
    with pytest.raises(QlowerError, match=message) as error:
        simulate.simulate([], "dut", PINS, VALUES, seconds=seconds)
    assert list(error.value.notes) == notes


def row(name: str, size: int | None, differing: int, why: str = "") -> Cost:
    made: Any = None
    if size is not None:
        ends = [
            Argument("accumulator", np.array([-900, -70]), np.array([800, 512])),
            Argument("shift", np.array([3, 2]), np.array([6, 9]), True),
        ]
        made = SimpleNamespace(
            arguments=ends, bits=(99, size), multipliers=[(31, 11)] * (size % 3)
        )
    sizes = None if size is None else Area(size, 4 * size, size // 2)
    largest = 3 if differing else 0
    return Cost(name, made, sizes, Disagreement(200, differing, largest), why)


def costs(*rows: Cost) -> Costs:
    return Costs("small", "exact", rows)


@pytest.mark.parametrize("is_there", [True, False])
def test_costs_without_yosys_say_so(
    is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qlower.circuits.cost.is_installed", lambda _: is_there)
    notes = costs(row("tflm", 20, 0)).table.notes
    assert any(note.startswith("no cells and LUTs") for note in notes) != is_there


def test_a_line_for_each_contract() -> None:
    found = costs(
        row("tflm", 20, 0), row("tvm", 30, 5), row("exact", None, 0, "steps in floats")
    ).table
    assert found.records() == [
        {
            **{"contract": "tflm", "ports": "accumulator 11, shift 4"},
            **{"multiplies": "31 x 11, 31 x 11", "wires": 20, "cells": 20, "luts": 10},
            **{"transistors": 80, "relative_area": 1.0, "differing": 0.0},
        },
        {
            **{"contract": "tvm", "ports": "accumulator 11, shift 4"},
            **{"multiplies": "nothing", "wires": 30, "cells": 30, "luts": 15},
            **{"transistors": 120, "relative_area": 1.5, "differing": 0.025},
        },
        {
            **{"contract": "exact", "ports": "", "multiplies": "", "wires": None},
            **{"cells": None, "luts": None, "transistors": None},
            **{"relative_area": None, "differing": 0.0},
        },
    ]
    assert [[c.text(one) for c in found.columns][-2:] for one in found.rows] == [
        *(["1.00", "0 %"], ["1.50", "2.5 % (3)"], ["-", "0 %"]),
    ]
    assert "exact: steps in floats" in found.notes
    assert not [note for note in found.notes if note.startswith("tvm")]
    assert found.title == "cost on small"
    assert forms(found)[:3] == [
        "contract, left",
        "ports, left, cut to 20, rank 2",
        "multiplies, left",
    ]
    # without an area of the first there is nothing to compare with
    last = costs(row("exact", None, 0), row("tvm", 30, 5)).table.records()[1]
    assert last["relative_area"] is None
    nothing = Cost("none", None, None, Disagreement())
    assert costs(nothing).table.records()[0]["differing"] is None


def test_a_picture_has_contracts_with_an_area(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    rows = [row("tflm", 20, 4), row("arithmetic: base tflite; product 8", 10, 100)]
    rows += [row("exact", None, 7), Cost("none", None, rows[0].area, Disagreement())]
    costs(*rows).plot(tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text()
    shown = {line.partition("<")[0] for line in text.split('">')}
    assert {"tflm", "product 8", "cells"} <= shown
    assert "outputs that differ from exact, in %" in shown
    assert shown.isdisjoint({"none", "exact", rows[1].contract})


@pytest.mark.parts(3)
@pytest.mark.parametrize(("layer", "fault"), [("conv", 0), ("conv", 3), ("scores", 0)])
def test_vectors_of_a_layer_are_simulated_once_each(
    layer: str, fault: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simulator that computes the module's text, with one result changed or none."""
    path = tmp_path / "small.mlir"
    path.write_text(SIGNED_MODEL)
    (found,) = model_circuits(path, "tflm", layer=layer).circuits
    given: list[tuple[int, ...]] = []

    def run(
        files: Any, top: str, pins: Pins, values: Any, *, seconds: float
    ) -> list[int]:
        assert (top, pins.output, pins.held) == (found.name, "result", {})
        given.extend(zip(*(values[name].tolist() for name in values), strict=True))
        results = evaluate(files[0].read_text(), values).tolist()
        results[-1] ^= fault
        return results

    script = runpy.run_path(str(SCRIPT))
    inner = script["_simulated"]
    monkeypatch.setitem(inner.__globals__, "simulate", run)
    assert inner(str(path), "tflm", found) == (len(given), int(fault > 0))
    assert len(given) == len(set(given)) > 7
    channels = {one[-1] for one in given} if layer == "conv" else {0, 1}
    assert channels == {0, 1}
