"""Commands with the work itself replaced: what they ask for, print and return."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.command_lines import parsed

from qlower.cli.exit_codes import ExitCode, UsageError
from qlower.diagnostics import QlowerError
from qlower.interp.values import Array
from qlower.model.signature import TensorSpec
from qlower.sides.make_side import UnknownSide

Capture = pytest.CaptureFixture[str]
report: Any = import_module("qlower.cli.report")
validate: Any = import_module("qlower.cli.validate")
differ: Any = import_module("qlower.cli.diff")
rtl: Any = import_module("qlower.cli.rtl")
bisect: Any = import_module("qlower.cli.bisect")
trace: Any = import_module("qlower.cli.trace")
lint: Any = import_module("qlower.cli.lint")
circuits: Any = import_module("qlower.cli.circuits")
comparing: Any = import_module("qlower.cli.compare")
costing: Any = import_module("qlower.cli.cost")


def refused(call: Any) -> tuple[type, str, str | None]:
    with pytest.raises(QlowerError) as caught:
        call()
    error = caught.value
    return type(error), error.message, error.help


def int8(values: Any) -> Array:
    return np.array(values, np.int8)


def data_of(text: str) -> dict[str, Any]:
    """JSON's object, of the version that there is."""
    found = json.loads(text)
    assert found.pop("schema") == 1
    return found


class Result:
    """What a command prints, as text or as data."""

    table = "table"

    def __init__(self, **of: Any) -> None:
        vars(self).update(of)

    def render(self, width: int | None) -> str:
        return f"text in {width}"

    def to_dict(self) -> dict[str, object]:
        return {"data": 1}

    def __str__(self) -> str:
        return "it"


# report


@pytest.fixture
def reporting(monkeypatch: pytest.MonkeyPatch) -> Any:
    asked = SimpleNamespace(calls=[], difference=None, good=True)

    def make(model: Any, *inputs: Any, **of: Any) -> Any:
        of.pop("progress")
        asked.calls.append((inputs, of))
        if of["against"] == "nobody":
            raise UnknownSide("who?", help="somebody")
        return Result(
            html=lambda: "<p>" + "x" * 99_997,
            explorer_files=lambda: {"graph.json": "g", "data.json": "d"},
            difference=asked.difference,
        )

    monkeypatch.setattr(report, "given_model", lambda options: options.model)
    monkeypatch.setattr(report, "as_model", lambda model: SimpleNamespace(inputs=[]))
    monkeypatch.setattr(report, "given_arrays", lambda specs, options: {"x": "array"})
    monkeypatch.setattr(report, "make_report", make)
    monkeypatch.setattr(report, "check_layers", lambda options, found: asked.good)
    return asked


@pytest.mark.parametrize(
    ("line", "message", "help"),
    [
        ("", "nothing to write", "-o FILE or --model-explorer DIR"),
        ("-o p --fail-below 3", "--fail-below needs --against", "--against B"),
        ("-o p --junit j", "--junit needs --against", "--against B"),
        ("-o p --verify", "--verify is about two contracts", "--against CONTRACT"),
        ("-o p --against nobody", "who?", "somebody"),
    ],
)
@pytest.mark.usefixtures("reporting")
def test_reports_that_are_refused(line: str, message: str, help: str) -> None:
    assert refused(lambda: report.run(parsed(f"report m {line}"))) == (
        *(UsageError, message, help),
    )
    assert not Path("p").exists()


def test_reports_that_are_written(reporting: Any, capsys: Capture) -> None:
    assert report.run(parsed("report m -o p.html")) == 0
    assert capsys.readouterr().out == "p.html: 0.1 MB\n"
    assert len(Path("p.html").read_text()) == 100_000
    assert report.run(parsed("report m --model-explorer d --json")) == 0
    assert data_of(capsys.readouterr().out) == {"data": 1}
    assert Path("d/graph.json").read_text() == "g"
    line = "report m -o p.html --model-explorer d --random 3 --no-native --against b"
    assert report.run(parsed(f"{line} --verify --match a=b --contract c")) == 0
    assert capsys.readouterr().out.splitlines() == [
        *("p.html: 0.1 MB", "d/graph.json", "d/data.json"),
    ]
    first, _, last = reporting.calls
    plain = {
        **{"contract": None, "against": None, "random": 0, "layer_contracts": {}},
        **{"native": True, "verify": False, "match": {}},
    }
    assert first == ((), plain)
    assert last == (
        (),
        {
            **{"contract": "c", "against": "b", "random": 3, "layer_contracts": {}},
            **{"native": False, "verify": True, "match": {"a": "b"}},
        },
    )
    report.run(parsed("report m -o p.html --input x.npy"))
    assert reporting.calls[-1] == (("array",), plain)


@pytest.mark.parametrize(
    ("difference", "good", "code"),
    [(None, False, 0), ("d", None, 0), ("d", True, 0), ("d", False, ExitCode.FOUND)],
)
def test_layers_below_a_bound_fail_a_report(
    difference: Any, good: Any, code: int, reporting: Any
) -> None:
    reporting.difference, reporting.good = difference, good
    assert report.run(parsed("report m -o p.html")) == code


# validate


@pytest.fixture
def validating(monkeypatch: pytest.MonkeyPatch) -> Any:
    asked = SimpleNamespace(
        **{"calls": [], "missed": {}, "examples": 5, "failed": 0, "notes": []},
        job=SimpleNamespace(source=SimpleNamespace(size=5), limit=None, summary="s"),
    )

    def prepare(options: Any, contracts: Any, **of: Any) -> Any:
        asked.calls.append((contracts, of))
        return asked.job

    def run_job(job: Any, **of: Any) -> Any:
        asked.calls.append(of)
        return Result(
            examples=asked.examples,
            failed=asked.failed,
            class_table=lambda: "classes",
            layer_table=lambda: "layers",
        )

    class Gates:
        def __init__(self, *of: Any) -> None:
            self.of = of

        def check(self, *, has_reference: bool) -> None:
            asked.calls.append((self.of, has_reference))

        def missed(self, found: Any) -> Any:
            return asked.missed

    @contextmanager
    def nothing(*of: Any) -> Generator[Any]:
        yield f"with {of[0]}"

    monkeypatch.setattr(validate, "prepare_job", prepare)
    monkeypatch.setattr(validate, "run_job", run_job)
    monkeypatch.setattr(validate, "Gates", Gates)
    monkeypatch.setattr(validate, "bar", nothing)
    monkeypatch.setattr(validate, "cluster", nothing)
    monkeypatch.setattr(validate, "is_real_reference", lambda name: name == "real.onnx")
    monkeypatch.setattr(
        validate,
        "count_real_layers",
        lambda job, path, found, matched: (
            asked.calls.append((path, matched)) or asked.notes
        ),
    )
    monkeypatch.setattr(validate, "print_table", lambda table, options: print(table))
    return asked


def test_what_is_validated(validating: Any, capsys: Capture) -> None:
    line = "validate m --data d --contract a,,b --jobs 3 --resume r"
    assert validate.run(parsed(line)) == 0
    prepared, gates, ran = validating.calls
    assert prepared == (
        ["a", "b"],
        {"metric": None, "with_layers": False, "layer_contracts": {}},
    )
    assert gates == ((None, None, None, None), False)
    assert ran == {
        **{"jobs": 3, "client": "with None", "resume": Path("r")},
        "on_progress": "with 5",
    }
    out, error = capsys.readouterr()
    assert out == "table\n"
    assert error == "note: 5 examples in d: s\n"


def test_what_validation_prints(validating: Any, capsys: Capture) -> None:
    validate.run(parsed("validate m --data d --layers --classes --against c"))
    assert capsys.readouterr().out == "table\n\nclasses\n\nlayers\n"
    assert validating.calls[0][1]["with_layers"] is True
    assert validating.calls[1][1] is True
    validate.run(parsed("validate m --data d --format json"))
    assert data_of(capsys.readouterr().out) == {"data": 1, "missed": []}


@pytest.mark.parametrize("line", ["--layers --against c", "--against real.onnx", ""])
@pytest.mark.usefixtures("validating")
def test_tensors_are_matched_for_layers_of_float_models(line: str) -> None:
    options = parsed(f"validate m --data d --match a=b {line}")
    assert refused(lambda: validate.run(options))[1] == (
        "--match needs --layers, and --against a float model"
    )


def test_layers_of_float_models(validating: Any, capsys: Capture) -> None:
    validating.notes = ["n", "m"]
    line = "validate m --data d --layers --against real.onnx --match a=b"
    assert validate.run(parsed(line)) == 0
    assert validating.calls[0][1]["with_layers"] is False
    assert validating.calls[-1] == (Path("real.onnx"), {"a": "b"})
    assert capsys.readouterr().err.splitlines()[1:] == ["note: n", "note: m"]


@pytest.mark.usefixtures("validating")
def test_litert_runs_the_first_signature() -> None:
    options = parsed("validate m --data d --signature s --against litert")
    assert refused(lambda: validate.run(options))[1] == (
        "--against litert cannot be combined with --signature: LiteRT always runs the "
        "first one"
    )
    assert validate.run(parsed("validate m --data d --signature s --against c")) == 0
    assert validate.run(parsed("validate m --data d --against litert")) == 0


@pytest.mark.parametrize(
    ("missed", "examples", "failed", "code"),
    [
        ({}, 5, 0, ExitCode.DONE),
        ({}, 5, 4, ExitCode.DONE),
        ({}, 5, 5, ExitCode.WRONG_INPUT),
        ({}, 0, 0, ExitCode.DONE),
        ({"a": [], "b": ["too low", "too few"]}, 5, 0, ExitCode.WRONG_INPUT),
    ],
)
def test_gates_that_are_missed(
    missed: Any,
    examples: int,
    failed: int,
    code: int,
    validating: Any,
    capsys: Capture,
) -> None:
    validating.missed, validating.examples = missed, examples
    validating.failed = failed
    line = "validate m --data d --junit j.xml --min-top1 0.5 --max-loss 0.25"
    assert validate.run(parsed(line)) == code
    sentences = [f"error: {one}" for own in missed.values() for one in own]
    assert capsys.readouterr().err.splitlines()[1:] == sentences
    text = Path("j.xml").read_text()
    assert f'tests="{len(missed)}"' in text
    assert ("too low; too few" in text) == bool(missed)


def test_a_loss_of_all_is_warned_about(
    validating: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(validate, "warn", said.append)
    for loss, count in (("0.99", 0), ("1", 1)):
        validate.run(parsed(f"validate m --data d --max-loss {loss}"))
        assert len(said) == count


# diff


@pytest.fixture
def differing(monkeypatch: pytest.MonkeyPatch) -> Any:
    asked = SimpleNamespace(calls=[], equal=True, passes=None)

    def diff(a: Any, b: Any, model: Any, *inputs: Any, **of: Any) -> Any:
        of.pop("progress")
        asked.calls.append((a, b, model, inputs, of))
        if a == "nobody":
            raise UnknownSide("who?", help="somebody")
        return Result(is_equal=asked.equal)

    monkeypatch.setattr(differ, "given_model", lambda options: options.model)
    monkeypatch.setattr(differ, "model_of", lambda path, options: path)
    monkeypatch.setattr(differ, "as_model", lambda model: f"model {model}")
    monkeypatch.setattr(differ, "version_of", lambda *of: of)
    monkeypatch.setattr(
        differ, "arrays_for_layers", lambda model, options: {"x": "array"}
    )
    monkeypatch.setattr(differ, "diff", diff)
    monkeypatch.setattr(differ, "check_layers", lambda options, found: asked.passes)
    return asked


def test_two_systems_on_a_model(differing: Any, capsys: Capture) -> None:
    assert differ.run(parsed("diff a b m --random")) == 0
    plain = {
        **{"contract": None, "at": None, "layer_contracts": {}},
        **{"b_layer_contracts": {}, "match": {}},
    }
    assert differing.calls == [("a", "b", "model m", ("array",), plain)]
    assert capsys.readouterr().out == "text in None\n"
    line = "diff a b m --random --json --contract c --at l --layer-contract p=q"
    differ.run(parsed(f"{line} --b-layer-contract r=s --match t=u"))
    assert data_of(capsys.readouterr().out) == {"data": 1}
    assert differing.calls[-1][4] == {
        **{"contract": "c", "at": "l", "layer_contracts": {"p": "q"}},
        **{"b_layer_contracts": {"r": "s"}, "match": {"t": "u"}},
    }
    assert refused(lambda: differ.run(parsed("diff nobody b m --random"))) == (
        *(UsageError, "who?", "somebody"),
    )


def test_two_versions_of_a_model(differing: Any) -> None:
    needs = "MODEL is required, unless A and B are models themselves"
    for line in ("diff a b.mlir", "diff a.mlir b", "diff a b"):
        assert refused(lambda line=line: differ.run(parsed(f"{line} --random"))) == (
            *(UsageError, needs, None),
        )
    differ.run(parsed("diff x/a.mlir y/b.mlir --random --contract c"))
    a, b, model, *_ = differing.calls[-1]
    assert (a, model) == ("x/a.mlir", "model x/a.mlir")
    title, *rest = b
    assert "b" in title
    assert rest == ["model x/a.mlir", "model y/b.mlir", "c", "jit"]
    differ.run(parsed("diff a.mlir b.tflite --random"))
    assert differing.calls[-1][1] == "b.tflite"


@pytest.mark.parametrize(
    ("equal", "passes", "code"),
    [
        (True, None, 0),
        (False, None, ExitCode.FOUND),
        (False, True, 0),
        (True, False, ExitCode.FOUND),
    ],
)
def test_a_bound_decides_instead_of_equality(
    equal: bool, passes: bool | None, code: int, differing: Any
) -> None:
    differing.equal, differing.passes = equal, passes
    assert differ.run(parsed("diff a b m --random")) == code


# rtl


@pytest.fixture
def verilog(monkeypatch: pytest.MonkeyPatch) -> Any:
    calls: list[Any] = []

    def verify(*of: Any, **named: Any) -> Any:
        named.pop("progress")
        calls.append((of, named))
        return Result(holds=named["channel"] != 1)

    monkeypatch.setattr(rtl, "verify_rtl", verify)
    monkeypatch.setattr(rtl, "is_contract_name", lambda name: name == "tflite")
    monkeypatch.setattr(rtl, "rule_subject", lambda *of, **named: (of, named))
    monkeypatch.setattr(rtl, "layer_subject", lambda *of: of)
    monkeypatch.setattr(rtl, "given_model", lambda options: options.model)
    return calls


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("m", "--rtl needs --top NAME, the module to compare"),
        (
            "m --top t --save x",
            "--save and --junit don't go with --rtl; -o writes",
        ),
        (
            "m --top t --junit x",
            "--save and --junit don't go with --rtl; -o writes",
        ),
        ("m --top t --layer l --latency 65", "--latency must be in [0, 64], not 65"),
        ("m --top t --layer l --latency -1", "--latency must be in [0, 64], not -1"),
        ("m --top t", "--rtl needs --layer LAYER, what the module computes"),
        ("m --top t --rule r", "--rule and --value are for a contract in the place of"),
        ("m --top t --value a=1", "--rule and --value are for a contract in the place"),
        ("tflite --top t", "tflite is a contract: say --rule RULE"),
        ("tflite --top t --rule r --layer l", "tflite is a contract: say --rule RULE"),
        ("tflite --top t --rule r --value a=x", "--value a: 'x' is no integer"),
    ],
)
@pytest.mark.usefixtures("verilog")
def test_verilog_that_is_refused(line: str, message: str) -> None:
    kind, told, _ = refused(lambda: rtl.run_rtl(parsed(f"verify --rtl f {line}")))
    assert kind is UsageError
    assert told.startswith(message)


def test_verilog_that_is_compared(verilog: Any, capsys: Capture) -> None:
    line = "verify --rtl f m --top t --layer l"
    assert rtl.run_rtl(parsed(line)) == 0
    assert capsys.readouterr().out == "text in None\n"
    more = "--contract c --port a=b --channel 1 --latency 64 --time-limit 2.5"
    assert rtl.run_rtl(parsed(f"{line} {more} --solvers z3 --json -o v.json")) == 1
    assert data_of(capsys.readouterr().out) == {"data": 1}
    assert data_of(Path("v.json").read_text()) == {"data": 1}
    values = "tflite --rule r --value a=0x10 --value b=-3"
    rtl.run_rtl(parsed(f"verify --rtl f {values} --top t"))
    rtl.run_rtl(parsed(f"verify --rtl f {values} --top t --accumulator-bits 24"))
    first, second, third, fourth = verilog
    plain = {"ports": {}, "channel": None, "latency": 0, "seconds": 60.0}
    assert first == ((Path("f"), "t", ("m", None, "l")), {**plain, "solver": None})
    assert second == (
        (Path("f"), "t", ("m", "c", "l")),
        {
            **{"ports": {"a": "b"}, "channel": 1, "latency": 64, "seconds": 2.5},
            "solver": "z3",
        },
    )
    rule = ("tflite", "r", {"a": 16, "b": -3})
    assert third[0][2] == (rule, {"accumulator_bits": 32})
    assert fourth[0][2] == (rule, {"accumulator_bits": 24})


# bisect, trace, lint, circuits


@pytest.mark.parametrize(
    ("count", "faults", "code", "text"),
    [
        (1, {}, 0, "native code and interpreter give the same bits"),
        (3, {}, 0, "native code and interpreter give the same bits for 3 inputs"),
        (1, {0: "a fault"}, 1, "a fault"),
        (3, {1: "a fault", 2: "another"}, 1, "input 1: a fault"),
    ],
)
def test_inputs_that_are_bisected(
    count: int,
    faults: dict[int, str],
    code: int,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    model = SimpleNamespace(inputs=["specs"])
    compilation = SimpleNamespace(model=model)
    monkeypatch.setattr(bisect, "read_inputs", lambda given: given)
    monkeypatch.setattr(bisect, "make_compilation", lambda options: compilation)
    monkeypatch.setattr(bisect, "assign_inputs", lambda specs, given: given)
    runs = SimpleNamespace(runs=list(range(count)))
    monkeypatch.setattr(bisect, "input_set", lambda specs, arrays: runs)
    monkeypatch.setattr(bisect, "bisect", lambda of, run: faults.get(run))
    assert bisect.run(parsed("bisect m x")) == code
    assert capsys.readouterr().out == f"{text}\n"


@pytest.mark.parametrize("count", [1, 3])
def test_the_first_input_is_traced(
    count: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    calls: list[Any] = []
    model = SimpleNamespace(inputs=[TensorSpec("x", (1,), "int8")])
    runs = SimpleNamespace(runs=[{"x": n} for n in range(count)])
    monkeypatch.setattr(trace, "given_model", lambda options: options.model)
    monkeypatch.setattr(trace, "as_model", lambda given: model)
    monkeypatch.setattr(trace, "arrays_for_layers", lambda model, options: {})
    monkeypatch.setattr(trace, "input_set", lambda specs, arrays: runs)
    monkeypatch.setattr(
        trace, "trace", lambda *of, **named: (calls.append((of, named)), Result())[1]
    )
    assert trace.run(parsed("trace m --random --at l[0]")) == 0
    head = "" if count == 1 else "input 0 of 3\n"
    assert capsys.readouterr().out == f"{head}text in None\n"
    line = (
        "trace m --random --at l --json --products --all-steps --given a=1 --given b=2"
    )
    trace.run(parsed(line))
    assert data_of(capsys.readouterr().out) == {"data": 1}
    plain = {
        **{"at": "l[0]", "contract": None, "layer_contracts": {}, "products": False},
        **{"all_steps": False, "given": {}},
    }
    assert calls[0] == ((model, 0), plain)
    assert calls[1][1] == {
        **plain,
        **{"at": "l", "products": True, "all_steps": True},
        "given": {"a": "1", "b": "2"},
    }


@pytest.mark.parametrize("clean", [False, True])
def test_findings_and_their_cases(
    clean: bool, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    calls: list[Any] = []
    one = type(
        "F", (), {"layer": "l", "what": "pairs", "__str__": lambda self: "why"}
    )()

    def found(model: Any, contract: Any, **of: Any) -> Any:
        calls.append((model, contract, of))
        return Result(is_clean=clean, findings=[] if clean else [one])

    monkeypatch.setattr(lint, "lint", found)
    monkeypatch.setattr(lint, "given_model", lambda options: options.model)
    monkeypatch.setattr(lint, "print_table", lambda table, options: print(table))
    code = lint.run(parsed("lint m --junit j.xml"))
    assert code == (0 if clean else ExitCode.FOUND)
    assert capsys.readouterr().out == "table\n"
    text = Path("j.xml").read_text()
    assert ('name="findings"' in text) == clean
    assert ('name="l pairs"' in text) == (not clean)
    assert calls[0] == (
        "m",
        None,
        {
            **{"accumulator_bits": None, "pairs": False, "inputs": None},
            "layer_contracts": {},
        },
    )
    np.save("x.npy", int8([1, 2]))
    line = "lint m --contract c --accumulator-bits 20 --pairs --input x.npy"
    lint.run(parsed(line))
    _, contract, of = calls[1]
    assert (contract, of["accumulator_bits"], of["pairs"]) == ("c", 20, True)
    given = of["inputs"]([TensorSpec("x", (2,), "int8")])
    assert given["x"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "m --emit obj,systemverilog",
            "--emit obj can't be written along with",
        ),
        ("m --emit gates,comb", "--emit gates is of a whole model, and written alone"),
        (
            "m --emit comb --accumulator-bits 33",
            "--accumulator-bits must be in [2, 32], not 33",
        ),
        (
            "m --emit comb --accumulator-bits 1",
            "--accumulator-bits must be in [2, 32], not 1",
        ),
        ("m --emit comb --stages 65", "--stages must be in [0, 64], not 65"),
        ("m --emit comb --stages -1", "--stages must be in [0, 64], not -1"),
        ("m --emit comb --rules r", "--rules is for a contract in the place of MODEL"),
        (
            "m --emit comb --accumulator-bits 32",
            "--accumulator-bits is for a contract in the place of MODEL",
        ),
        ("m --emit comb --unsigned", "--unsigned is for a contract in the place of MO"),
        (
            "tflite --emit comb --layer l",
            "tflite is a contract: it has no layers",
        ),
        (
            "tflite --emit comb --contract c",
            "tflite is a contract: it has no layers, and its constants are inputs",
        ),
    ],
)
def test_circuits_that_are_refused(line: str, message: str) -> None:
    options = parsed(f"compile {line} -o d")
    emit = options.emit.split(",")
    kind, told, _ = refused(lambda: circuits.write_circuits(options, emit))
    assert kind is UsageError
    assert told.startswith(message)


def test_circuits_that_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    for name in ("contract_circuits", "model_circuits"):
        monkeypatch.setattr(
            circuits, name, lambda *of, **named: calls.append((of, named))
        )
    monkeypatch.setattr(circuits, "given_model", lambda options: options.model)
    for line in (
        "tflite --emit comb",
        "tflite --emit comb --rules r,s --unsigned --accumulator-bits 24 --stages 3",
        "m --emit comb",
        "m --emit comb --contract c --layer l --constants ports --stages 64",
    ):
        circuits._made(parsed(f"compile {line} -o d"))
    assert calls == [
        (
            ("tflite",),
            {
                **{"rules": circuits.RULES_OF_CIRCUITS, "unsigned": False},
                **{"accumulator_bits": 32, "stages": 0},
            },
        ),
        (
            ("tflite",),
            {
                **{"rules": ["r", "s"], "unsigned": True},
                **{"accumulator_bits": 24, "stages": 3},
            },
        ),
        (("m", None), {"layer": "*", "constants": "inside", "stages": 0}),
        (("m", "c"), {"layer": "l", "constants": "ports", "stages": 64}),
    ]


def test_names_of_contracts() -> None:
    for name, text in (
        ("summary.mlir", 'contract.summary = "x"'),
        ("base.mlir", 'contract.base = "x"'),
        ("model.mlir", "func.func"),
        ("tvm", "a file"),
    ):
        Path(name).write_text(text)
    Path("odd.mlir").write_bytes(b"\xff")
    names = ("tflite", "tvm", "x", "summary.mlir", "base.mlir", "model.mlir")
    assert [circuits.is_contract_name(name) for name in names] == [
        *(True, False, False, True, True, False),
    ]
    assert not circuits.is_contract_name("odd.mlir")
    assert not circuits.is_contract_name("gone.mlir")


def test_circuits_and_their_benches_are_written(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    made = [
        SimpleNamespace(name="a", text="verilog a", module="module a", bench=True),
        SimpleNamespace(name="b", text="verilog b", module="module b", bench=False),
    ]
    found = Result(circuits=made, refused=[("l", "why")])
    monkeypatch.setattr(circuits, "_made", lambda options: found)
    monkeypatch.setattr(circuits, "has_vectors", lambda one: one.bench)
    monkeypatch.setattr(circuits, "bench_text", lambda one: f"bench {one.name}")

    def written(emit: str, *more: str) -> str:
        options = parsed(f"compile m --emit {emit} -o d {' '.join(more)}")
        assert circuits.write_circuits(options, emit.split(",")) == 0
        return capsys.readouterr().out

    assert written("systemverilog").splitlines() == [
        *("d/a.sv", "d/a_tb.sv", "d/b.sv", "", "text in None"),
    ]
    assert Path("d/a_tb.sv").read_text() == "bench a"
    files = ["d/a.sv", "d/a_tb.sv", "d/a.mlir", "d/b.sv", "d/b.mlir"]
    data = data_of(written("systemverilog,comb", "--json"))
    assert data == {"files": files, "data": 1}
    assert Path("d/b.mlir").read_text() == "module b\n"
    assert written("comb").splitlines()[:2] == ["d/a.mlir", "d/b.mlir"]
    made.clear()
    monkeypatch.setattr(circuits, "integer_contracts", lambda kind: ["p", "q"])
    with pytest.raises(QlowerError) as caught:
        written("comb")
    assert caught.value.message == "nothing of m is a circuit of integers"
    assert list(caught.value.notes) == ["l: why"]
    assert caught.value.help == "contracts whose convolutions compute in integers: p, q"


def test_subjects_of_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model, with drawn inputs or those of a file; a folder is its model's name."""
    model: Any = SimpleNamespace(inputs=[TensorSpec("x", (2,), "int8")])
    asked: list[str] = []
    monkeypatch.setattr(comparing, "model_of", lambda path, options: asked.append(path))
    monkeypatch.setattr(comparing, "as_model", lambda given: model)
    monkeypatch.setattr(comparing, "random_inputs", lambda specs: "drawn")
    np.save("x.npy", int8([3, 4]))
    Path("a=b.mlir").touch()

    def of(argument: str) -> Any:
        return comparing.subject_of(argument, None)

    first = of("d/net.mlir")
    assert (first.name, first.model, first.inputs) == ("net", model, "drawn")
    second = of("d/model.mlir=x.npy")
    assert second.name == "d"
    assert second.inputs["x"].tolist() == [3, 4]
    assert of("a=b.mlir").inputs == "drawn"
    assert asked == ["d/net.mlir", "d/model.mlir", "a=b.mlir"]


@pytest.mark.parametrize("examples", [None, 1, 0])
def test_costs_of_contracts(
    examples: int | None, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    calls: list[Any] = []

    def costs(*of: Any, **named: Any) -> Any:
        named.pop("progress")
        calls.append((of, named))
        return Result(plot=lambda path: calls.append(path))

    monkeypatch.setattr(costing, "subject_of", lambda name, options: name)
    monkeypatch.setattr(costing, "costs", costs)
    monkeypatch.setattr(costing, "print_table", lambda table, options: print(table))
    line = "cost tflite tvm --model m"
    more = "" if examples is None else f"--examples {examples}"
    if examples == 0:
        assert refused(lambda: costing.run(parsed(f"{line} {more}")))[1] == (
            "--examples must be at least 1, not 0"
        )
        return
    assert costing.run(parsed(f"{line} {more}")) == 0
    assert capsys.readouterr().out == "table\n"
    assert calls[0][0][:2] == ("m", ["tflite", "tvm"])
    assert calls[0][1] == {"examples": examples}
    costing.run(parsed(f"{line} --format json --plot p.svg"))
    assert data_of(capsys.readouterr().out) == {"data": 1}
    assert calls[-1] == Path("p.svg")
    assert refused(lambda: costing.run(parsed(f"{line} --plot p.pdf")))[1].startswith(
        "--plot 'p.pdf' ends"
    )
