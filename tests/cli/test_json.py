"""Everything that is written as JSON: keys are those of the page; and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import TASKS, main
from qlower.cli.exit_codes import ExitCode
from qlower.cli.tables.junit import Case, junit_text
from qlower.cli.verify import cases_of
from qlower.tables.json_text import SCHEMA, json_text
from qlower.verification.native.verdict import Level, Native, NativeVerdict, Whole

PAGE = Path(qlower.__file__).parent / "docs/pages/json.md"
COMMANDS = {
    "diff": "diff tflite tvm m.mlir --random",
    "trace": "trace m.mlir --random --at 0[0,0,0,0]",
    "identify": "identify interp m.mlir --random --contract tflite,tvm --no-verify",
    "identify --probe": "identify --probe mlir -o probe",
    "verify --equal": "verify m.mlir --equal tflite tflite-single",
    "verify --native": "verify m.mlir --native --cpu host",
    "verify --accumulator-bits": "verify m.mlir --accumulator-bits 24",
    "verify --groups": "verify m.mlir --groups",
    "verify --check": "verify m.mlir --check v.json",
    "lint": "lint m.mlir --accumulator-bits 4",
    "inspect --stats": "inspect m.mlir --stats",
    "report": "report m.mlir --against tvm --no-native -o r.html",
    "validate": "validate m.mlir --data x.npy --contract tvm --against tflite",
    "improve": "improve m.mlir --data x.npy --methods biases --limit 8",
    "contracts": "contracts",
    "contracts compare": "contracts compare m.mlir --contract tflite --contract tvm",
    "explore": "explore m.mlir --data x.npy --against exact --points 1 --area bits",
    "cost": "cost tflm tvm --model m.mlir",
    "targets": "targets",
    "cache": "cache",
    "run": "run m.mlir --random",
    "run --profile": "run m.mlir --random --profile",
    "import --check": "import --check m.mlir",
    "vectors": "vectors m.mlir -o vectors",
    "compile": "compile m.mlir -o out --emit obj",
    "bench": "bench m.mlir --rounds 1",
    "bench --emulate": "bench m.mlir --emulate --target thumbv7em-none-eabi",
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text(SMALL_MODEL)
    shape = qlower.load("m.mlir").inputs[0].shape
    np.save("x.npy", np.zeros((8, *shape[1:]), np.int8))


def sections() -> dict[str, dict[str, set[str]]]:
    """The keys of each section of the page, those of lists with their elements'."""
    found: dict[str, dict[str, set[str]]] = {}
    for part in PAGE.read_text().split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        keys = found.setdefault(title, {})
        for first, told in re.findall(r"^\| (`.*?) \| (.*) \|$", text, re.MULTILINE):
            for name in re.findall(r"`([\w\[\]]+)`", first):
                keys[name] = set(re.findall(r"`(\w+)`", told))
    return found


def lists(data: dict[str, Any]) -> Iterator[tuple[str, set[str]]]:
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            elements: list[dict[str, object]] = value
            yield f"{key}[]", {name for one in elements for name in one}
        else:
            yield key, set()


LONG = {"identify --probe", "verify --groups"}
"""What takes seconds, or half a minute."""


@pytest.mark.parts(25)
@pytest.mark.parametrize(
    "title",
    [pytest.param(t, marks=[pytest.mark.long] if t in LONG else []) for t in COMMANDS],
)
def test_keys_are_those_of_the_page(
    title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = COMMANDS[title].split()
    if "--check" in line and line[0] == "verify":
        main(["verify", "m.mlir", "--accumulator-bits", "24", "-o", "v.json"])
        capsys.readouterr()
    form = ["--format", "json"] if "compare" in line else ["--json"]
    assert main([*line, *form, *(["-"] if line[0] == "bench" else [])]) in (0, 1)
    data = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert data.pop("schema") == SCHEMA
    described = sections()[title]
    found = dict(lists(data))
    assert {key.rstrip("[]") for key in found} == {k.rstrip("[]") for k in described}
    for key, names in found.items():
        told = described.get(key, set())
        if names and told:
            missing = {n for n in names - told if not n.startswith("alone_")}
            assert not missing, f"{key}: not on the page"
            assert told - names <= {"alone_"}, f"{key}: not there"


def test_every_command_with_json_is_on_the_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    has_json: set[str] = set()
    for files in TASKS.values():
        for file in files:
            name = file.rstrip("_")
            with suppress(SystemExit):
                main([name, "--help"])
            if "--json" in capsys.readouterr().out:
                has_json.add(name)
    assert has_json == {title.split()[0] for title in sections()}
    assert COMMANDS.keys() == sections().keys()


@pytest.mark.parametrize(
    ("line", "kind", "code"),
    [
        ("diff nobody tvm m.mlir --random --json", "usage", ExitCode.USAGE),
        ("trace m.mlir --json", "usage", ExitCode.USAGE),
        ("inspect none.mlir --stats --format json", "input", ExitCode.WRONG_INPUT),
        ("lint bad.mlir --format=json", "input", ExitCode.WRONG_INPUT),
        ("bench none.mlir --json -", "input", ExitCode.WRONG_INPUT),
    ],
)
def test_errors(
    line: str, kind: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.mlir").write_text("module {\n  nonsense\n}\n")
    assert main(line.split()) == code
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    error = data["error"]
    assert data["schema"] == SCHEMA
    assert error["kind"] == kind
    assert error["message"] in printed.err
    keys = {"kind", "message", "file", "line", "column", "layer", "notes", "help"}
    assert error.keys() == keys
    if "bad" in line:
        assert (error["file"], error["line"]) == ("bad.mlir", 2)


def test_a_bug_is_an_error_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr("qlower.cli.targets.run", fail)
    assert main(["targets", "--json"]) == ExitCode.OUR_BUG
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "bug"


def test_no_error_where_json_goes_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "none.mlir", "--json", "out.json"]) == 1
    assert not capsys.readouterr().out


def test_numbers_that_json_has_not() -> None:
    data = {"a": [float("inf"), 1.5], "b": {"c": float("nan")}}
    assert json.loads(json_text(data)) == {
        "schema": SCHEMA,
        "a": [None, 1.5],
        "b": {"c": None},
    }


# ---------------------------------------------------------------- JUnit


@pytest.mark.parts(8)
@pytest.mark.parametrize(
    ("line", "cases", "failures"),
    [
        ("diff tflite tflite m.mlir --random", 1, 0),
        ("diff tflite exact m.mlir --input differs.npy", 1, 1),
        ("verify m.mlir --equal tflite tflite", 1, 0),
        ("verify m.mlir --accumulator-bits 4", 1, 1),
        ("lint m.mlir", 1, 0),
        ("lint m.mlir --accumulator-bits 4", 1, 1),
        ("validate m.mlir --data x.npy --contract tflite", 1, 0),
        ("validate m.mlir --data x.npy --contract tflite --min-top1 0.5", 1, 1),
    ],
)
def test_verdicts_as_junit(line: str, cases: int, failures: int) -> None:
    model = qlower.load("m.mlir")
    codes = np.random.default_rng(0).integers(-128, 128, (64, *model.inputs[0].shape))
    np.save("differs.npy", codes.astype(np.int8))
    code = main([*line.split(), "--junit", "verdicts.xml"])
    suites = ElementTree.parse("verdicts.xml").getroot()
    assert int(suites.get("tests", "")) >= cases
    assert (int(suites.get("failures", "")) > 0) == bool(failures) == bool(code)
    assert len(suites.findall(".//failure")) == int(suites.get("failures", ""))


def test_each_kind_of_verdict_as_a_case() -> None:
    """Layers and code that differ, or are undecided, fail; what computes nothing, or is
    refused, is skipped."""
    level = Level("x86-64", "x86_64", "", "")
    rows = [
        NativeVerdict("x86-64", "a", "conv2d", "equal", "all sums"),
        NativeVerdict("x86-64", "b", "add", "undecided", "too many"),
    ]
    whole = {"x86-64": Whole(9, 90, 0), "x86-64-v3": Whole(9, 90, 2)}
    given = {"x86-64": level}, {}, {}, 1.0, whole, ["c"]
    cases = cases_of(Native("tflite", rows, *given))
    assert cases == [
        *(Case("a x86-64"), Case("b x86-64", "undecided too many")),
        Case("c", skipped="computes nothing"),
        *(Case("the whole code x86-64"), Case("the whole code x86-64-v3", "differs")),
    ]
    root = ElementTree.fromstring(junit_text("a model", cases).split("\n", 1)[1])
    (suite,) = root
    numbers = {"tests": "5", "failures": "2", "errors": "0"}
    assert root.attrib == numbers
    assert suite.attrib == {"name": "a model", **numbers, "skipped": "1"}
    inside = [[(one.tag, one.attrib) for one in case] for case in suite]
    assert inside == [
        *([], [("failure", {"message": "undecided too many"})]),
        [("skipped", {"message": "computes nothing"})],
        *([], [("failure", {"message": "differs"})]),
    ]
    assert {case.get("classname") for case in suite} == {"a model"}


def test_a_contract_that_is_none_is_a_wrong_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = ["identify", "tflit", "m.mlir", "--random"]
    assert main(line) == ExitCode.USAGE
    assert "did you mean" in capsys.readouterr().err


def test_hostile_text_in_junit() -> None:
    text = junit_text("a", [Case('<&"\x1b\ud800', "b\x00")])
    (case,) = ElementTree.fromstring(text.split("\n", 1)[1]).iter("testcase")
    assert case.get("name") == '<&"??'
    assert text.encode()
