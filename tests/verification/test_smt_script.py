"""The script beside claims for SMT solvers, which shell scripts stand for."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from qlower.verification.smt import solve
from qlower.verification.smt.solve import (
    Answer,
    Row,
    ask,
    disagreements,
    find_solvers,
    is_open,
    table,
    undecided,
    values_of,
    verdict_of,
)

# Says what the claim's comment is; values if it is asked for them.
SOLVER = """#!/bin/sh
if grep -q get-value "$1"; then echo sat; echo '((x #b{x}) (y 7))'; exit; fi
sed -n 's/^; //p' "$1"
"""


@pytest.fixture
def solvers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """One that is right, and one that says unsat of all and lacks a logic."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (
        ("z3", SOLVER.replace("{x}", "1101")),
        ("bitwuzla", "#!/bin/sh\necho unsat\n"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setattr(solve, "MODULES", {})
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    return {name: [str(folder / name)] for name in ("z3", "bitwuzla")}


def claim(folder: Path, name: str, told: str, logic: str = "QF_BV") -> Path:
    file = folder / name
    file.write_text(f"; {told}\n(set-logic {logic})\n(check-sat)\n")
    return file


def test_solvers_that_are_there(
    solvers: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Programs on PATH, or beside Python, before packages."""
    assert find_solvers() == solvers
    beside = tmp_path / "yices-smt2"
    beside.write_text("")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert find_solvers() == {**solvers, "yices": [str(beside)]}
    monkeypatch.setattr(solve, "MODULES", {"cvc5": "json", "z3": "json", "yices": "no"})
    package = [sys.executable, solve.__file__, "--module", "cvc5"]
    assert find_solvers() == {**solvers, "yices": [str(beside)], "cvc5": package}


@pytest.mark.parametrize(
    ("told", "verdict", "values"),
    [
        ("unsat", "unsat", {}),
        ("sat", "sat", {"x": -3, "y": 7}),
        ("c a comment\\nsat", "undecided: c a comment\\nsat", {}),
        ("unknown", "undecided: unknown", {}),
        ("", "undecided: no answer", {}),
        (300 * "e", f"undecided: {200 * 'e'}", {}),
        ("saturated", "undecided: saturated", {}),
    ],
)
def test_an_answer(
    told: str,
    verdict: str,
    values: dict[str, int],
    solvers: dict[str, list[str]],
    tmp_path: Path,
) -> None:
    found = ask(solvers["z3"], claim(tmp_path, "a.smt2", told), ["x", "y"], 20)
    assert (found.verdict, found.values) == (verdict, values)
    assert 0 < found.seconds < 20
    assert is_open(found) == verdict.startswith("undecided")


def test_a_solver_that_takes_longer(tmp_path: Path) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nexec sleep 9\n")
    program.chmod(0o755)
    found = ask([str(program)], claim(tmp_path, "a.smt2", "sat"), ["x"], 0.1)
    assert found.verdict == "undecided in 0.1 s"
    assert found.seconds < 9


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("#b0111", 7), ("#b1000", -8), ("#b1111", -1), ("#b0", 0), ("#b1", -1)],
        *[("#x7f", 127), ("#x80", -128), ("#xFF", -1), ("#x0a1", 161)],
        *[("(_ bv7 4)", 7), ("(_ bv8 4)", -8), ("(_ bv15 4)", -1), ("(_ bv0 4)", 0)],
        *[("12", 12), ("(- 12)", -12), ("0", 0)],
    ],
)
def test_values(text: str, value: int) -> None:
    """Signed numbers, however they are written, each of its own variable."""
    assert values_of(f"sat\n((v {text})\n (w 5))") == {"v": value, "w": 5}


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (["unsat"], "holds"),
        (["unsat", "sat", "undecided"], "fails"),
        (["unsat", "undecided: x"], "undecided"),
        ([], "holds"),
    ],
)
def test_a_verdict_on_several_claims(found: list[str], verdict: str) -> None:
    assert verdict_of(found) == verdict


def rows() -> list[Row]:
    return [
        Row(
            "a", "unsat", [], [["one", "0"], ["two", "0"]], {"p": Answer("unsat", 1.0)}
        ),
        Row(
            *("b", "sat", ["x"], [["one", "1"]]),
            {"p": Answer("unsat", 2.25), "q": Answer("sat", 0.5)},
        ),
        Row("c", "unsat", [], [["two", "1"]], {"p": Answer("undecided in 3 s", 3.0)}),
        Row("d", "unsat", [], [["three", "0"]], {}),
    ]


def test_what_is_said_of_rows() -> None:
    assert disagreements(rows()) == ["b: p: unsat, q: sat, qlower: sat"]
    assert undecided(rows()) == [
        "c: p undecided in 3 s",
        "d: no solver that was asked has its logic",
    ]
    assert table(rows(), ["p", "q"]) == [
        ["layer", "claims", "qlower", "p, s", "q, s"],
        ["one", "2", "fails", "holds 3.2", "fails 0.5, 1 not in its logics"],
        ["two", "2", "holds", "undecided 4.0, 1 open", "has no such logic"],
        ["three", "1", "holds", "has no such logic", "has no such logic"],
    ]


CLAIMS = [
    ("good.smt2", "unsat", "unsat", "QF_BV"),
    ("bad.smt2", "sat", "sat", "QF_BV"),
    ("whole.smt2", "unsat", "unsat", "QF_LIA"),
]


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        ([], 1, ["bad.smt2: z3: sat, bitwuzla: unsat, qlower: sat"]),
        (["--solvers", "z3"], 0, [""]),
        (["--only", "good"], 0, [""]),
        (
            ["--solvers", "bitwuzla", "--only", "whole"],
            *(1, ["whole.smt2: no solver that was asked has its logic"]),
        ),
    ],
)
@pytest.mark.usefixtures("solvers")
def test_a_run(
    words: list[str],
    code: int,
    last: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All claims of the list by all solvers that have their logic; what is known is
    written after each."""
    listed = [
        {
            "file": name,
            "expected": expected,
            "variables": ["x", "y"],
            "of": [["l", "0"]],
        }
        for name, expected, *_ in CLAIMS
    ]
    for name, _, told, logic in CLAIMS:
        claim(tmp_path, name, told, logic)
    (tmp_path / solve.LIST).write_text(json.dumps({"claims": listed}))
    monkeypatch.setattr(solve, "__file__", str(tmp_path / "run.py"))
    monkeypatch.setattr(sys, "argv", ["run.py", *words])
    assert solve.main() == code
    out, err = capsys.readouterr()
    lines = out.splitlines()
    chosen = [row for row in CLAIMS if "--only" not in words or words[-1] in row[0]]
    assert lines[0].split()[:3] == ["layer", "claims", "qlower"]
    assert lines[1].split()[:2] == ["l", str(len(chosen))]
    counts = [
        len(last) * (last[0] != "") * (kind in last[0]) for kind in ("z3:", "no ")
    ]
    assert lines[-len(last) - 1] == (
        f"{len(chosen)} claims: {counts[0]} disagreements, {counts[1]} undecided."
    )
    assert lines[-len(last) :] == last
    shown = [f"\r\x1b[Ksolve {number}" for number in range(len(chosen))]
    assert err == "".join([*shown, "\r\x1b[K"])
    written = json.loads((tmp_path / solve.VERDICTS).read_text())
    assert [row["file"] for row in written] == [row[0] for row in chosen]
    values = {"x": -3, "y": 7}
    for row in written:
        if row["file"] == "bad.smt2":
            assert row["answers"]["z3"]["values"] == values


@pytest.mark.usefixtures("solvers")
def test_solvers_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["run.py", "--solvers", "z3,cvc5,mathsat"])
    with pytest.raises(
        SystemExit, match="no solver cvc5, mathsat: pip install z3-solv"
    ):
        solve.main()
    monkeypatch.setattr(solve, "PROGRAMS", {})
    monkeypatch.setattr(sys, "argv", ["run.py"])
    with pytest.raises(SystemExit, match="no solver : pip install"):
        solve.main()


def test_solvers_that_are_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each by its own calls; `--module` is such a run alone."""
    file = claim(tmp_path, "a.smt2", "sat")
    options: list[tuple[str, bool]] = []
    read: list[str] = []

    class Command:
        def __init__(self, text: str) -> None:
            self.text = text

        def isNull(self) -> bool:
            return not self.text

        def invoke(self, *_: object) -> str:
            return self.text

    commands = iter(["one\n", "two\n", ""])
    parser = SimpleNamespace(
        setFileInput=lambda language, name: read.append(f"{language} {name}"),
        getSymbolManager=lambda: None,
        nextCommand=lambda: Command(next(commands)),
    )
    package = SimpleNamespace(
        main_ctx=lambda: SimpleNamespace(ref=lambda: "context"),
        Z3_eval_smtlib2_string=lambda ref, text: f"{ref}: {text[:5]}",
        Options=lambda: SimpleNamespace(set=lambda *given: options.append(given)),
        Option=SimpleNamespace(PRODUCE_MODELS="models"),
        TermManager=lambda: None,
        Parser=lambda *_: SimpleNamespace(parse=read.append),
        Solver=lambda *_: None,
        InputParser=lambda *_: parser,
        InputLanguage=SimpleNamespace(SMT_LIB_2_6="2.6"),
    )
    monkeypatch.setattr(solve.importlib, "import_module", lambda name: package)
    told: dict[str, str] = {}
    for name in ("z3", "bitwuzla", "cvc5"):
        monkeypatch.setattr(sys, "argv", ["run.py", "--module", name, str(file)])
        assert solve.main() == 0
        told[name] = capsys.readouterr().out
    assert told == {"z3": "context: ; sat\n", "bitwuzla": "", "cvc5": "one\ntwo\n"}
    assert options == [("models", True)]
    assert read == [str(file), f"2.6 {file}"]
