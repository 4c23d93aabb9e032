"""What commands make of their options, called without the work itself."""

from __future__ import annotations

import logging
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest
from support.command_lines import parsed

from qlower.cli import examples as sets
from qlower.cli import given, output, progress
from qlower.cli.exit_codes import UsageError
from qlower.cli.inputs import (
    Given,
    as_stored,
    assign_inputs,
    check_inputs,
    given_arrays,
    read_inputs,
)
from qlower.cli.labels import Labels
from qlower.cli.options import make_observers
from qlower.cli.tables.junit import Case
from qlower.cli.tables.output_table import OutputSummary, output_table
from qlower.diagnostics import LOGGER, QlowerError
from qlower.interp.values import Array
from qlower.model.signature import TensorSpec
from qlower.tables.table import Table

Capture = pytest.CaptureFixture[str]
verify: Any = import_module("qlower.cli.verify")
bench: Any = import_module("qlower.cli.bench")
validate: Any = import_module("qlower.cli.validate")
running: Any = import_module("qlower.cli.run")
compiling: Any = import_module("qlower.cli.compile")


def refused(call: Callable[[], object]) -> tuple[type, str, str | None]:
    """How a call is refused: the kind, the message, the help."""
    with pytest.raises(QlowerError) as caught:
        call()
    error = caught.value
    return type(error), error.message, error.help


def int8(values: Any) -> Array:
    return np.array(values, np.int8)


def float32(values: Any) -> Array:
    return np.array(values, np.float32)


# options of several commands


def test_shapes_of_inputs() -> None:
    assert given.shapes([]) == {}
    assert given.shapes(["x=1x2x3", "a=b=4", "x=1x2x3"]) == {
        **{"x": (1, 2, 3), "a=b": (4,)},
    }
    for wrong in ("x", "=1", "x=", "x=1x", "x=ax2", "x=-1", "x=1.0", "x=1*2"):
        assert refused(lambda wrong=wrong: given.shapes([wrong])) == (
            *(QlowerError, f"--shape {wrong!r} is not NAME=SIZExSIZE...", None),
        )
    assert refused(lambda: given.shapes(["x=1", "x=2"]))[1] == (
        "--shape is given twice for 'x'"
    )


def test_several_shapes_of_inputs() -> None:
    """One for each, or as many."""
    assert given.each_shape([]) == [[]]
    assert given.each_shape(["x=1x2"]) == [["x=1x2"]]
    assert given.each_shape(["x=1,2,3"]) == [["x=1"], ["x=2"], ["x=3"]]
    assert given.each_shape(["x=1,2", "y=7", "z=a=3,4"]) == [
        *(["x=1", "y=7", "z=a=3"], ["x=2", "y=7", "z=a=4"]),
    ]
    assert refused(lambda: given.each_shape(["x=1,2,3", "y=1,2", "z=1"])) == (
        QlowerError,
        "--shape gives 2 and 3 shapes: inputs have as many each, or one",
        None,
    )


def test_names_with_values() -> None:
    assert given.layer_contracts([]) == {}
    found = given.layer_contracts(["a=tflite", "b=c=tvm", "a=exact"])
    assert list(found.items()) == [("b=c", "tvm"), ("a", "exact")]
    for wrong in ("a", "=tvm", "a=", "="):
        assert refused(lambda wrong=wrong: given.layer_contracts([wrong]))[:2] == (
            *(QlowerError, f"--layer-contract {wrong!r} is not LAYER=NAME"),
        )
        assert refused(lambda wrong=wrong: given.matched_layers([wrong]))[:2] == (
            *(UsageError, f"--match {wrong!r} must be LAYER=TENSOR"),
        )
        assert refused(lambda wrong=wrong: given.name_values("--port", [wrong])) == (
            *(UsageError, f"--port {wrong!r} must be NAME=VALUE", None),
        )
    assert refused(lambda: given.layer_contracts(["x"], "--b-layer-contract"))[1] == (
        "--b-layer-contract 'x' is not LAYER=NAME"
    )
    assert given.matched_layers(["a=b=c", "d=e"]) == {"a": "b=c", "d": "e"}
    assert given.name_values("--port", ["a=1", "a=2"]) == [("a", "1"), ("a", "2")]


@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        ("m.onnx", {}, None),
        ("m.onnx", {"contract": None, "equal": None}, None),
        ("m.onnx", {"contract": "tflite"}, None),
        ("m.onnx", {"contract": "onnxruntime"}, "x86"),
        ("m.tflite", {"contract": "onnxruntime"}, None),
        ("m.onnx", {"contract": "onnxruntime,onnxruntime"}, "x86"),
        ("m.onnx", {"contract": "tflite,onnxruntime"}, None),
        ("m.onnx", {"contract": ["onnxruntime"]}, "x86"),
        ("m.onnx", {"equal": ["onnxruntime", "onnxruntime"]}, "x86"),
        ("m.onnx", {"equal": ["tflite", "onnxruntime"]}, None),
        ("m.onnx", {"a": "x.npz", "b": "onnxruntime:cpu"}, "x86"),
        ("m.onnx", {"a": "x.npz", "b": "y.npz"}, None),
    ],
)
def test_readings_by_named_contracts(
    path: str, options: dict[str, Any], expected: str | None
) -> None:
    found = vars(given)["_named_reading"](path, Namespace(**options))
    assert found == (None if expected is None else READING)


READING = __import__("qlower.frontends.readings", fromlist=["reading_of"]).reading_of(
    ["onnxruntime"]
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("run m --random", (1, False, False, False, {}, ())),
        ("run m --random --threads 3 --tune", (3, False, True, False, {}, ())),
        ("run m --random --profile", (1, True, False, False, {}, ())),
        ("run m --random --save-layers x.npz", (1, False, False, True, {}, ())),
        ("run m --layer-contract a=tvm", (1, False, False, False, {"a": "tvm"}, ())),
        ("run m --arith-passes cse", (1, False, False, False, {}, ("cse",))),
        ("inspect m", (1, False, False, False, {}, ())),
    ],
)
def test_compilations_that_options_describe(
    line: str, expected: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    def compilation(*of: Any, **named: Any) -> str:
        made.append((of, named))
        return "compilation"

    monkeypatch.setattr(given, "Compilation", compilation)
    monkeypatch.setattr(given, "check_model_path", lambda path: f"file {path}")
    monkeypatch.setattr(given, "resolve_target", lambda *of: ("target", *of))
    assert given.make_compilation(parsed(line)) == "compilation"
    ((positional, named),) = made
    path, contract, target, flavour, tune, layers, own = positional
    assert (path, contract) == ("file m", None)
    assert target == ("target", "host", None, None)
    passes = tuple(one.name for one in named["passes"])
    assert expected == (
        *(flavour.threads, flavour.is_profiled, tune, layers),
        *(own, passes),
    )
    assert named["reading"] is None


def test_options_that_say_how_a_model_is_read() -> None:
    says: Any = vars(given)["_says_how"]
    plain = {"shape": [], "outputs": None, "qdq": None, "signature": None}
    assert says(Namespace(**plain)) is False
    for name in plain:
        assert says(Namespace(**{**plain, name: ["x"]})) is True


# inputs

SPECS = [
    TensorSpec("x", (2,), "int8", (0.5,), (-3,)),
    TensorSpec("y", (3,), "float32"),
]


def file(name: str | None, *arrays: Array, names: str = "abc") -> Given:
    return Given(name, Path("f.npz"), dict(zip(names, arrays, strict=False)))


def test_the_array_of_a_file() -> None:
    spec = SPECS[0]
    one, other, real = int8([1, 2]), int8([1, 2, 3]), float32([0.5, 1.0])
    assert file(None, other).array_for(spec) is other
    assert file(None, other, one).array_for(spec) is one
    assert file(None, other, real).array_for(spec) is real
    assert file(None, one, int8([3, 4]), names="ax").array_for(spec).tolist() == [3, 4]
    assert file(None, one, other, names="ax").array_for(spec) is other
    assert refused(lambda: file(None, one, int8([3, 4])).array_for(spec)) == (
        QlowerError,
        "f.npz holds 2 arrays (a, b), 1 is needed",
        f"2 of them fit {spec}; none is called 'x'",
    )
    assert refused(lambda: file(None).array_for(spec))[1:] == (
        "f.npz holds 0 arrays (none), 1 is needed",
        f"0 of them fit {spec}; none is called 'x'",
    )


def test_a_choice_of_arrays_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    module: Any = import_module("qlower.cli.inputs")
    monkeypatch.setattr(module, "warn", said.append)
    given_file = file(None, int8([1]), int8([1, 2]), int8([1, 2, 3]))
    given_file.array_for(SPECS[0])
    assert said == ["f.npz: input 'x' is 'b'; not read: a, c"]


def test_arrays_are_assigned(capsys: Capture) -> None:
    x, y = int8([1, 2]), float32([1, 2, 3])
    for files in (
        [file(None, x), file(None, y)],
        [file("x", x), file("y", y)],
        [file("y", y), file(None, x)],
        [file(None, x), file("y", y)],
        [file(None, y, x, names="yx")],
        [file(None, y, x, int8([0]), names="yxz")],
    ):
        found = assign_inputs(SPECS, files)
        assert [found["x"].tolist(), found["y"].tolist()] == [[1, 2], [1, 2, 3]]
    assert capsys.readouterr().err == ""
    inputs = f"its inputs are {SPECS[0]}, {SPECS[1]}"
    way = f"{inputs}; give each a file, or all one .npz file with their names"
    for files, count in (([], 0), ([file(None, x)], 1), ([file(None, x)] * 3, 3)):
        assert refused(lambda files=files: assign_inputs(SPECS, files)) == (
            *(QlowerError, f"the model takes 2 inputs, {count} are given", way),
        )
    # arrays by other names are no inputs' arrays
    assert refused(lambda: assign_inputs(SPECS, [file(None, x, y)]))[1] == (
        "the model takes 2 inputs, 1 are given"
    )
    assert refused(lambda: assign_inputs(SPECS, [file("z", x)])) == (
        *(QlowerError, "the model has no input 'z'", inputs),
    )
    twice = [file("x", x), file("x", x)]
    assert refused(lambda: assign_inputs(SPECS, twice))[1] == (
        "input 'x' is given twice"
    )
    assert assign_inputs([], []) == {}
    assert list(assign_inputs(SPECS[:1], [file(None, x)])) == ["x"]


def test_real_values_are_stored_with_a_note(capsys: Capture) -> None:
    real, y = float32([0.5, -1.0]), float32([1, 2, 3])
    found = assign_inputs(SPECS, [file(None, real), file(None, y)])
    assert found["x"].tolist() == [-2, -5]
    assert found["y"] is y
    assert capsys.readouterr().err == (
        "note: input 'x' holds real values: quantized to int8 by scale 0.5, zero point "
        "-3\n"
    )
    # one that doesn't fit is refused later: nothing is said of it here
    wrong = float32([[0.5], [1.0], [2.0]])
    assign_inputs(SPECS, [file(None, wrong), file(None, y)])
    assert capsys.readouterr().err == ""
    assert as_stored(SPECS[1], y) is y
    assert as_stored(SPECS[0], real.astype(np.float64)).dtype == np.int8
    whole = int8([1, 2])
    assert as_stored(SPECS[0], whole) is whole


def test_files_with_and_without_names() -> None:
    np.save("a.npy", int8([1]))
    np.save("b=c.npy", int8([2]))
    found = read_inputs(["a.npy", "b=c.npy", "n=a.npy", "n=b=c.npy", "a=b=c.npy"][:3])
    assert [(one.name, str(one.path)) for one in found] == [
        *((None, "a.npy"), (None, "b=c.npy"), ("n", "a.npy")),
    ]
    assert [int(one.array_for(SPECS[0])[0]) for one in found] == [1, 2, 1]


def test_drawn_inputs_and_files_exclude_each_other() -> None:
    both = "--random takes a SEED of at least 0, and no --input"
    for random, files in ((-1, []), (0, ["x"]), (3, ["x"])):
        options = Namespace(random=random, input=files)
        assert refused(lambda options=options: check_inputs(options))[1] == both
        with pytest.raises(QlowerError):
            given_arrays(SPECS, options)
    for random, files in ((None, []), (None, ["x"]), (0, []), (7, [])):
        check_inputs(Namespace(random=random, input=files))
    found = given_arrays(SPECS, Namespace(random=2, input=[]))
    again = given_arrays(SPECS, Namespace(random=3, input=[]))
    assert list(found) == ["x", "y"]
    assert found["y"].tolist() != again["y"].tolist()
    np.savez("xy.npz", y=float32([1, 2, 3]), x=int8([4, 5]))
    found = given_arrays(SPECS, Namespace(random=None, input=["xy.npz"]))
    assert list(found) == ["x", "y"]
    assert found["x"].tolist() == [4, 5]


# outputs


def test_outputs_in_short() -> None:
    spec = TensorSpec("y", (1, 4), "int8", (0.5,), (1,))
    one = OutputSummary.of(2, spec, int8([[5, -7, 9, 5]]))
    assert (one.run, one.indices, one.stored) == (2, (2, 0, 3), (9, 5, 5))
    assert one.real == (4.0, 2.0, 2.0)
    assert one.all_stored == (5, -7, 9, 5)
    assert one.lines == [
        "y (1x4 int8): largest [2] 4, [0] 2, [3] 2",
        "  stored: 5 -7 9 5",
    ]
    few = TensorSpec("z", (3,), "float32")
    three = OutputSummary.of(0, few, float32([1, 3, 2]))
    assert three.lines == ["z (3 float32): values [1] 3, [2] 2, [0] 1"]
    assert three.all_stored == (1, 3, 2)
    scalar = OutputSummary.of(0, TensorSpec("s", (), "int32"), np.array(7, np.int32))
    assert scalar.lines == ["s (int32): values [0] 7"]
    for size, whole in ((16, True), (17, False)):
        wide = TensorSpec("w", (size,), "int8", (1.0,), (0,))
        summary = OutputSummary.of(0, wide, np.zeros(size, np.int8))
        assert (summary.all_stored is not None) == whole
        assert len(summary.lines) == 1 + whole
    assert output_table([one]).records() == [
        {
            **{"input": 2, "output": "y", "type": "1x4 int8", "indices": (2, 0, 3)},
            **{"stored": (9, 5, 5), "real": (4.0, 2.0, 2.0)},
        },
    ]
    shown = output_table([one]).render().splitlines()
    assert shown[0].split() == ["input", "output", "type", "largest"]
    assert shown[2].split("  ")[-1] == "[2] 4, [0] 2, [3] 2"


def test_labels_that_are_met() -> None:
    labels = Labels(Path("l.npy"), np.array([2, 0, 1], np.int64))
    spec = TensorSpec("y", (1, 3), "int8")
    labels.check([spec], 3)
    results = [int8([[0, 1, 5]]), int8([[7, 7, 1]]), int8([[9, 1, 1]])]
    assert labels.judge(results) == "2 of 3 labels are met (66.67%)"
    many = Labels(Path("l.npy"), np.zeros(1000, np.int64))
    assert many.judge([int8([1, 0])] * 1000) == (
        "1,000 of 1,000 labels are met (100.00%)"
    )
    for outputs, count, message in (
        ([spec, spec], 3, "--labels needs a model with 1 output, this one has 2"),
        ([], 3, "--labels needs a model with 1 output, this one has 0"),
        ([spec], 2, "l.npy holds [3] labels, one for each of 2 examples is needed"),
        (
            [TensorSpec("y", (2,), "int8")],
            3,
            "l.npy: 2 is no label, they are in [0, 2)",
        ),
    ):
        call = lambda o=outputs, c=count: labels.check(o, c)  # noqa: E731
        assert refused(call)[1] == message
    below = Labels(Path("l.npy"), np.array([0, -1], np.int64))
    assert refused(lambda: below.check([spec], 2))[1] == (
        "l.npy: -1 is no label, they are in [0, 3)"
    )


class Screen(StringIO):
    """Standard error of a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    """From now on standard error is one."""
    found = Screen()
    monkeypatch.setattr(sys, "stderr", found)
    return found


def record(level: int, text: str) -> logging.LogRecord:
    return logging.LogRecord("qlower", level, "f", 1, text, None, None)


CLEAR = progress.CLEAR_LINE


def test_the_status_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being done is overwritten; warnings are lines, and with -v all is."""
    screen = terminal(monkeypatch)
    monkeypatch.setattr(LOGGER, "level", LOGGER.level)
    handler = progress.StatusHandler()
    handler.emit(record(logging.INFO, "reading"))
    assert screen.getvalue() == f"{CLEAR}reading ..."
    handler.emit(record(logging.WARNING, "mind"))
    assert screen.getvalue().endswith(f"reading ...{CLEAR}mind\n")
    handler.be_verbose(0)
    handler.emit(record(logging.INFO, "more"))
    assert screen.getvalue().endswith(f"mind\n{CLEAR}more ...")
    handler.be_verbose(1)
    assert LOGGER.level == logging.INFO
    handler.emit(record(logging.INFO, "line"))
    assert screen.getvalue().endswith(f"more ...{CLEAR}line\n")
    handler.be_verbose(2)
    assert LOGGER.level == logging.DEBUG
    progress.clear_status()
    assert screen.getvalue().endswith(f"line\n{CLEAR}")
    handler.close()
    assert screen.getvalue().endswith(f"line\n{CLEAR}{CLEAR}")
    output.show("a\x1bb")
    assert screen.getvalue().endswith(CLEAR * 3)


def test_nothing_is_cleared_in_a_file(capsys: Capture) -> None:
    handler = progress.StatusHandler()
    handler.emit(record(logging.INFO, "reading"))
    handler.emit(record(logging.WARNING, "mind"))
    progress.clear_status()
    output.show("text\x1b")
    assert list(progress.progress(iter("ab"), "t")) == ["a", "b"]
    found = capsys.readouterr()
    assert found.err == "mind\n"
    assert found.out == "text\\x1b\n"


def test_tables_and_pictures(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    asked: list[tuple[object, ...]] = []
    table: Any = SimpleNamespace(render=lambda *of: (asked.append(of), "table")[1])
    output.print_table(table, Namespace(format="csv"))
    assert asked == [("csv", None)]
    assert capsys.readouterr().out == "table\n"
    monkeypatch.setenv("COLUMNS", "33")
    assert output.terminal_width() == 33
    monkeypatch.delenv("COLUMNS")
    assert output.terminal_width() is None
    monkeypatch.setattr(sys, "stdout", Screen())
    assert output.terminal_width() == 80
    for good in (None, "a.svg", "b.png"):
        output.check_plot(Namespace(plot=good))
    for bad in ("a.pdf", "svg", "a.svg.gz"):
        assert refused(lambda bad=bad: output.check_plot(Namespace(plot=bad)))[1] == (
            f"--plot {bad!r} ends with neither .svg nor .png"
        )
    drawn: list[Path] = []
    found: Any = SimpleNamespace(plot=drawn.append)
    output.write_plot(Namespace(plot=None), found)
    assert drawn == []
    output.write_plot(Namespace(plot="a.svg"), found)
    assert drawn == [Path("a.svg")]


def test_observers_that_are_asked_for() -> None:
    def kinds(line: str) -> list[str]:
        return [type(one).__name__ for one in make_observers(parsed(line))]

    assert kinds("run m") == []
    assert kinds("run m -vv") == []
    assert kinds("run m -vvv") == ["IrPrinter"]
    assert kinds("run m -vvvv") == ["IrPrinter"]
    assert kinds("run m --timing") == ["Timing"]
    assert kinds("run m --dump-ir d") == ["IrFiles"]
    assert kinds("run m --dump-ir d --timing -vvv") == [
        "IrFiles",
        "Timing",
        "IrPrinter",
    ]
    assert kinds("cache") == []
    assert kinds("cache -vvv") == ["IrPrinter"]


# verify


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("verify m", "say one thing that is to be verified: --equal A B, --native, "),
        ("verify m --native --groups", "say one thing that is to be verified: "),
        ("verify m --equal a b --groups", "say one thing that is to be verified: "),
        ("verify m --check f --native", "say one thing that is to be verified: "),
        ("verify m --accumulator-bits 1", "--accumulator-bits must be in [2, 63], not"),
        (
            "verify m --accumulator-bits 64",
            "--accumulator-bits must be in [2, 63], not",
        ),
        ("verify m --native --smt d", "--smt goes with --equal A B or --accumulator-"),
        (
            "verify m --groups --certificate d",
            "--certificate goes with --equal A B for",
        ),
        (
            "verify m --equal a b --certificate d --layer-contract x=y",
            "--certificate goes with --equal A B for all layers",
        ),
        (
            "verify m --equal a b --certificate d --b-layer-contract x=y",
            "--certificate goes with --equal A B for all layers",
        ),
        (
            "verify m --equal a b --solvers z3",
            "--solvers needs --smt DIR, where claims",
        ),
        (
            "verify m --equal a b --smt d --time-limit 0",
            "--time-limit must be positive, not 0",
        ),
        (
            "verify m --equal a b --smt d --time-limit -1.5",
            "--time-limit must be positive, not -1.5",
        ),
        ("verify m --equal a b --layer x -o f", "a verdict's file has all layers: no "),
        (
            "verify m --equal a b --layer x --certificate f",
            "a verdict's file has all layers: no --layer with -o",
        ),
        ("verify m --check f --sample 0", "--sample must be at least 1, not 0"),
        (
            "verify m --rtl f --native",
            "--rtl FILE is one thing to verify, say no other",
        ),
        (
            "verify m --rtl f --groups",
            "--rtl FILE is one thing to verify, say no other",
        ),
        (
            "verify m --rtl f --check g",
            "--rtl FILE is one thing to verify, say no other",
        ),
        ("verify m --rtl f --equal a b", "--rtl FILE is one thing to verify, say no "),
        ("verify m --rtl f --smt d", "--rtl FILE is one thing to verify, say no other"),
    ],
)
def test_questions_that_are_refused(line: str, message: str) -> None:
    kind, told, _ = refused(lambda: verify.run(parsed(line)))
    assert kind is UsageError
    assert told.startswith(message)


class Verdict:
    """A verdict on no layers."""

    def __init__(self, holds: bool = True) -> None:
        self.holds = holds

    def to_dict(self) -> dict[str, object]:
        return {"layers": []}

    def inputs(self) -> dict[str, Array]:
        return {"x": int8([1])}

    def render(self, width: int | None) -> str:
        return f"verdict in {width}"


LINES: list[tuple[str, dict[str, object]]] = [
    ("--groups", {"groups": True}),
    (
        "--native",
        {
            **{"native": True, "layer": None, "contract": None, "target": "host"},
            **{"cpu": None, "features": None, "layer_contracts": {}},
        },
    ),
    (
        "--native --layer l --contract tvm --target t --cpu c --features +f "
        "--layer-contract a=b",
        {
            **{"native": True, "layer": "l", "contract": "tvm", "target": "t"},
            **{"cpu": "c", "features": "+f", "layer_contracts": {"a": "b"}},
        },
    ),
    (
        "--accumulator-bits 2 --layer l --contract tvm --order memory",
        {
            **{"accumulator_bits": 2, "layer": "l", "contract": "tvm"},
            **{"order": "memory", "layer_contracts": {}, "claims": None},
        },
    ),
    (
        "--accumulator-bits 63",
        {
            **{"accumulator_bits": 63, "layer": None, "contract": None},
            **{"order": "any", "layer_contracts": {}, "claims": None},
        },
    ),
    (
        "--equal p q --layer l --layer-contract a=b --b-layer-contract c=d",
        {
            **{"equal": ("p", "q"), "layer": "l", "layer_contracts": {"a": "b"}},
            **{"b_layer_contracts": {"c": "d"}, "claims": None},
        },
    ),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, dict[str, Any]]]:
    calls: list[tuple[object, dict[str, Any]]] = []

    def decide(model: object, **options: Any) -> Verdict:
        options.pop("progress", None)
        calls.append((model, options))
        return Verdict()

    monkeypatch.setattr(verify, "given_model", lambda options: options.model)
    monkeypatch.setattr(verify, "verify", decide)
    return calls


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_what_is_asked(
    line: str,
    expected: dict[str, object],
    asked: list[tuple[object, dict[str, Any]]],
    capsys: Capture,
) -> None:
    assert verify.run(parsed(f"verify m {line}")) == 0
    assert asked == [("m", expected)]
    assert capsys.readouterr().out == "verdict in None\n"


@pytest.mark.usefixtures("asked")
def test_verdicts_are_written_where_they_are_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    line = "verify m --equal p q -o v.json --save x.npz --junit j.xml --json"
    assert verify.run(parsed(line)) == 0
    text = capsys.readouterr().out
    assert Path("v.json").read_text() + "\n" == text
    assert '"layers": []' in text
    assert np.load("x.npz")["x"].tolist() == [1]
    assert 'tests="0"' in Path("j.xml").read_text()
    monkeypatch.setattr(verify, "verify", lambda *_, **__: Verdict(holds=False))
    assert verify.run(parsed("verify m --equal p q")) == 1


class Listed(list[str]):
    """Claims that are written elsewhere."""

    def __init__(self, *names: str) -> None:
        super().__init__(names)
        self.written: list[Path] = []
        self.refused = {"pool": "it adds nothing", "relu": "it is a table"}

    def write(self, folder: Path) -> None:
        self.written.append(folder)


@pytest.mark.parametrize("stream", ["out", "err"])
@pytest.mark.parametrize("count", [1, 2])
def test_claims_are_listed(count: int, stream: str, capsys: Capture) -> None:
    """With results as JSON on standard error; without solvers all is well."""
    claims = Listed(*"ab"[:count])
    options = Namespace(smt="d", solvers=None, json=stream == "err", time_limit=None)
    assert verify._solve(options, claims) is True
    assert claims.written == [Path("d")]
    many = "1 claim" if count == 1 else "2 claims"
    assert getattr(capsys.readouterr(), stream) == (
        f"\n{many} in d.\npool: no claim, it adds nothing\nrelu: no claim, it is a "
        "table\n`python3 d/run.py` runs SMT solvers on them.\n"
    )


@pytest.mark.parametrize(
    ("solvers", "limit", "names", "seconds"),
    [
        ("all", None, [], 60.0),
        ("z3", 2.5, ["z3"], 2.5),
        ("z3,,cvc5", None, ["z3", "cvc5"], 60.0),
    ],
)
@pytest.mark.parametrize("faults", [[], ["z3"]])
def test_solvers_that_are_asked(
    solvers: str,
    limit: float | None,
    names: list[str],
    seconds: float,
    faults: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    calls: list[tuple[object, ...]] = []

    def answers(claims: object, folder: Path, *of: object) -> Any:
        calls.append((folder, *of[:2]))
        return SimpleNamespace(faults=faults, render=lambda width: f"answers {width}")

    module = import_module("qlower.verification.smt.verdicts")
    monkeypatch.setattr(module, "answers_of", answers)
    options = Namespace(smt="d", solvers=solvers, json=False, time_limit=limit)
    assert verify._solve(options, Listed()) is (not faults)
    assert calls == [(Path("d"), names, seconds)]
    out = capsys.readouterr().out
    assert out.endswith("table\n\nanswers None\n")
    assert out.startswith("\n0 claims in d.\n")


@pytest.mark.parametrize("stream", ["out", "err"])
def test_how_to_check_a_certificate(
    stream: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    made: list[tuple[object, ...]] = []
    module = import_module("qlower.verification.certificates.make")
    monkeypatch.setattr(module, "write_certificate", lambda *of, **_: made.append(of))
    options = Namespace(
        certificate="c", model="m.mlir", equal=["p", "q"], json=stream == "err"
    )
    verify._certify(options)
    assert made == [("p", "q", Path("m.mlir"), Path("c"))]
    assert getattr(capsys.readouterr(), stream) == (
        "\n`python3 c/check.py m.mlir` checks it.\n"
    )


def test_verdicts_as_cases_of_junit() -> None:
    rows: list[dict[str, object]] = [
        {"layer": "a", "verdict": "equal"},
        {"layer": "b", "what": "sums", "level": "avx2", "verdict": "fits"},
        {"layer": "c", "what": "", "verdict": "real", "how": "real numbers"},
        {"layer": "d", "level": None, "verdict": "differs", "how": "at 3"},
        {"layer": "e", "verdict": "undecided"},
    ]
    record = {
        **{"layers": rows, "undecided": [{"layer": "f", "verdict": "undecided"}]},
        **{"moved": ["g"], "whole": {"x": {"differing": 0}, "y": {"differing": 2}}},
    }
    found: Any = SimpleNamespace(to_dict=lambda: record)
    assert verify.cases_of(found) == [
        *(Case("a", ""), Case("b sums avx2", ""), Case("c", skipped="real numbers")),
        *(Case("d", "differs at 3"), Case("e", "undecided"), Case("f", "undecided")),
        *(Case("g", skipped="computes nothing"), Case("the whole code x", "")),
        Case("the whole code y", "differs"),
    ]
    plain: Any = SimpleNamespace(to_dict=lambda: {"layers": rows[:1]})
    assert verify.cases_of(plain) == [Case("a", "")]
    layer: Any = SimpleNamespace(
        layer="l",
        refused={"r": "no rule"},
        groups=[["a", "b"], ["c"], ["d"]],
        undecided=[("a", "d"), ("e", "a")],
    )
    assert list(verify._group_cases(layer)) == [
        *(Case("l r", skipped="no rule"), Case("l a", "undecided against d, e")),
        *(Case("l b", "undecided against d, e"), Case("l c", "")),
        Case("l d", "undecided against a"),
    ]


# others


def test_counts_of_threads() -> None:
    assert [bench._counts(text) for text in ("1", "1,2,16")] == [[1], [1, 2, 16]]
    for wrong in ("", "0", "1,", "1,0", "a", "-1", "1.5"):
        assert refused(lambda wrong=wrong: bench._counts(wrong))[1] == (
            f"--threads {wrong} is no list of positive numbers"
        )


def test_peers_with_files() -> None:
    Path("there.onnx").touch()
    known = next(iter(bench.PEERS))
    assert bench._peers("") == {}
    assert bench._peers(known) == {known: None}
    assert bench._peers(f"{known}=there.onnx") == {known: Path("there.onnx")}
    assert refused(lambda: bench._peers("nobody"))[1].startswith(
        "there is no peer 'nobody', known are "
    )
    assert refused(lambda: bench._peers(f"{known}=gone"))[1] == (
        f"there is no file gone for {known}"
    )


def test_rows_that_are_read() -> None:
    def rows(size: int | None, limit: int | None) -> int | None:
        return validate._rows(
            SimpleNamespace(source=SimpleNamespace(size=size), limit=limit)
        )

    assert [rows(None, 3), rows(9, None), rows(9, 3), rows(2, 3)] == [None, 9, 3, 2]
    job: Any = SimpleNamespace(source=SimpleNamespace(size=None), summary="as it is")
    assert sets.described(job, "d") == ("an unknown number of examples in d: as it is")
    job.source.size = 1
    assert sets.described(job, "d") == "1 example in d: as it is"
    job.source.size = 2000
    assert sets.described(job, "d") == "2,000 examples in d: as it is"


def test_lines_of_a_file_of_names() -> None:
    lines: Any = vars(sets)["_lines_of"]
    assert lines(None) is None
    Path("names").write_text("a\n\nb")
    assert lines("names") == ["a", "", "b"]
    Path("names").write_bytes(b"\xff")
    assert refused(lambda: lines("names"))[1].startswith("cannot read names: ")
    assert refused(lambda: lines("gone"))[1].startswith("cannot read gone: ")


def test_bars_and_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    with sets.bar(3, "row") as advance, sets.cluster(None) as client:
        assert advance is None
        assert client is None
    made: list[Any] = []

    class Client:
        def __init__(self, address: str, timeout: str) -> None:
            made.append((address, timeout))
            if address == "wrong":
                raise OSError("nobody")

        def close(self) -> None:
            made.append("closed")

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    with sets.cluster("there") as client:
        assert isinstance(client, Client)
        assert made == [("there", "10s")]
    assert made == [("there", "10s"), "closed"]

    def connect() -> None:
        with sets.cluster("wrong"):
            pass

    assert refused(connect)[1] == "no scheduler at wrong: nobody"
    monkeypatch.setitem(sys.modules, "distributed", None)
    kind, message, help = refused(connect)
    assert (kind, message) == (QlowerError, "dask is not installed")
    assert "dask" in (help or "")


def test_a_bar_shows_how_many_rows_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    moved: list[Any] = []

    class Bar:
        n = 0

        def __init__(self, **options: Any) -> None:
            moved.append(options)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            moved.append("closed")

        def update(self, rows: int) -> None:
            moved.append(rows)
            self.n += rows

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Bar))
    with sets.bar(9, "row") as advance:
        assert advance is not None
        advance(4)
        advance(9)
    options = {"total": 9, "unit": "row", "leave": False, "file": screen}
    assert moved == [options, 4, 5, "closed"]
    seen: list[Any] = []

    def bar(items: Any, **options: Any) -> Iterator[int]:
        seen.append(options)
        yield from items

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=bar))
    assert list(progress.progress([7], "t")) == [7]
    assert list(progress.progress([], "t")) == []
    assert list(progress.progress([7, 8], "t")) == [7, 8]
    shown = {"desc": "t", "leave": False, "file": screen}
    assert seen == [{**shown, "total": 0}, {**shown, "total": 2}]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert list(progress.progress([7, 8], "t")) == [7, 8]
    with sets.bar(9, "row") as advance:
        assert advance is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--cpu c", "--cpu and --features are for --executor jit"),
        ("--features +f", "--cpu and --features are for --executor jit"),
        ("--profile", "--profile, --tune and --threads are for --executor jit"),
        ("--tune", "--profile, --tune and --threads are for --executor jit"),
        ("--threads 2", "--profile, --tune and --threads are for --executor jit"),
        ("--dump-ir d", "--dump-ir and --arith-passes are for --executor jit"),
        ("--arith-passes cse", "--dump-ir and --arith-passes are for --executor jit"),
    ],
)
def test_options_of_machine_code(line: str, message: str) -> None:
    compilation = SimpleNamespace(function=lambda: "jit", interpreter=lambda: "interp")
    make = running._make_executor
    own = parsed(f"run m --random --executor interp {line}")
    assert refused(lambda: make(compilation, own))[1] == message
    assert make(compilation, parsed(f"run m --random {line}")) == "jit"
    plain = parsed("run m --random --executor interp")
    assert make(compilation, plain) == "interp"


def test_results_in_lines_a_table_or_an_object(capsys: Capture) -> None:
    spec = TensorSpec("y", (2,), "int8")
    one = [int8([1, 2])]
    plain, csv = Namespace(format="plain"), Namespace(format="csv")
    running._show([spec], [one], plain, None)
    assert capsys.readouterr().out == "y (2 int8): values [1] 2, [0] 1\n"
    running._show([spec], [one, one], plain, None)
    assert capsys.readouterr().out.splitlines()[0].split()[:2] == ["input", "output"]
    running._show([spec], [one], csv, None)
    assert capsys.readouterr().out.splitlines()[0].startswith("input,output,")
    profile: Table[Any] = Table("p", [3], [])
    running._show([spec], [one], Namespace(format="json"), profile)
    text = capsys.readouterr().out
    assert '"profile": [' in text
    assert '"output": "y"' in text


TARGETS = [
    {"target": "host", "cpu": None, "features": None},
    {"target": "t", "cpu": None, "features": None},
    {"target": "host", "cpu": "c", "features": None},
    {"target": "host", "cpu": None, "features": "+f"},
]


def test_targets_by_default() -> None:
    found = [compiling._is_default_target(Namespace(**one)) for one in TARGETS]
    assert found == [True, False, False, False]
