#!/usr/bin/env python3
"""Run SMT solvers on the claims in this folder, and compare their verdicts.

    python3 run.py [--solvers z3,bitwuzla,cvc5] [--time-limit SECONDS] [--only TEXT]

Solvers are programs on PATH (z3, bitwuzla, cvc5, yices-smt2, mathsat) or Python
packages of this interpreter (pip install z3-solver bitwuzla cvc5); by default all that
are found. Each claim is a file that any solver of SMT-LIB 2 reads: `unsat` means that
it holds. Verdicts go to verdicts.json. Exits with 1 unless all claims are decided, by
all solvers alike and as expected. This file needs Python alone.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

LIST, VERDICTS = "claims.json", "verdicts.json"
MODULES = {"z3": "z3", "bitwuzla": "bitwuzla", "cvc5": "cvc5"}
PROGRAMS = {
    "z3": ["z3"],
    "bitwuzla": ["bitwuzla"],
    "cvc5": ["cvc5"],
    "yices": ["yices-smt2"],
    "mathsat": ["mathsat"],
}
CANT = {"bitwuzla": ("QF_LIA",), "yices": ("QF_BVFP",)}
"""The logics that a solver does not have."""


Progress = Callable[[Iterable[int], str], Iterable[int]]
"""Goes through numbers, and shows how far it is."""


@dataclass
class Answer:
    """A solver's answer to a claim: sat, unsat, or the reason for neither; and its
    values."""

    verdict: str
    seconds: float
    values: dict[str, int] = field(default_factory=dict[str, int])


@dataclass
class Row:
    """A claim of the list: its file, qlower's verdict, its variables, the layers and
    channels that it is `of`, and what each solver says that has its logic."""

    file: str
    expected: str
    variables: list[str]
    of: list[list[str]]
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])


def find_solvers() -> dict[str, list[str]]:
    """The command of each solver that is there, a file's name being its last word."""
    found: dict[str, list[str]] = {}
    for name, words in PROGRAMS.items():
        beside = Path(sys.executable).parent / words[0]
        path = shutil.which(words[0]) or (str(beside) if beside.is_file() else None)
        if path is not None:
            found[name] = [path, *words[1:]]
        elif name in MODULES and importlib.util.find_spec(MODULES[name]):
            found[name] = [sys.executable, __file__, "--module", name]
    return found


def run_module(name: str, file: str) -> None:
    """Run a solver that is a Python package on a script."""
    package = importlib.import_module(name)
    if name == "z3":
        text = Path(file).read_text()
        print(package.Z3_eval_smtlib2_string(package.main_ctx().ref(), text))
    elif name == "bitwuzla":
        options = package.Options()
        options.set(package.Option.PRODUCE_MODELS, True)
        package.Parser(package.TermManager(), options).parse(file)
    else:
        solver = package.Solver(package.TermManager())
        parser = package.InputParser(solver)
        parser.setFileInput(package.InputLanguage.SMT_LIB_2_6, file)
        symbols = parser.getSymbolManager()
        while not (command := parser.nextCommand()).isNull():
            print(command.invoke(solver, symbols), end="")


def ask(
    command: Sequence[str], file: Path, variables: Sequence[str], limit: float
) -> Answer:
    """A solver's verdict on a claim within some seconds, and the values of `sat`."""
    begin = time.monotonic()
    output = _output([*command, str(file.absolute())], limit)
    seconds = time.monotonic() - begin
    if output is None:
        return Answer(f"undecided in {limit:g} s", seconds)
    verdict = next(iter(re.findall(r"^(sat|unsat)\b", output, re.M)), None)
    if verdict is None:
        first = output.strip().splitlines()[:1]
        return Answer(f"undecided: {first[0][:200] if first else 'no answer'}", seconds)
    if verdict == "unsat":
        return Answer(verdict, seconds)
    with tempfile.TemporaryDirectory() as folder:
        asking = Path(folder) / file.name
        text = file.read_text() + f"(get-value ({' '.join(variables)}))\n"
        asking.write_text(text)
        output = _output([*command, str(asking)], limit) or ""
    return Answer(verdict, seconds, values_of(output))


def _output(command: Sequence[str], limit: float) -> str | None:
    """The output of a program; None if it takes longer than the limit."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout + done.stderr


def values_of(output: str) -> dict[str, int]:
    """The values of `get-value`: signed numbers of bit vectors, or integers."""
    values: dict[str, int] = {}
    for name, digits in re.findall(r"\(([^\s()]+) #b([01]+)\)", output):
        number = int(digits, 2)
        values[name] = number - (int(digits[0]) << len(digits))
    for name, digits in re.findall(r"\(([^\s()]+) #x([0-9a-fA-F]+)\)", output):
        half = 1 << (4 * len(digits) - 1)
        values[name] = (int(digits, 16) + half) % (2 * half) - half
    for name, digits, width in re.findall(
        r"\(([^\s()]+) \(_ bv(\d+) (\d+)\)\)", output
    ):
        half = 1 << (int(width) - 1)
        values[name] = (int(digits) + half) % (2 * half) - half
    for name, minus, digits in re.findall(r"\(([^\s()]+) (\(- )?(\d+)\)", output):
        values[name] = -int(digits) if minus else int(digits)
    return values


def solve(
    folder: Path,
    solvers: dict[str, list[str]],
    limit: float,
    progress: Progress,
    only: str = "",
) -> list[Row]:
    """The list's claims, those whose files' names have `only`, with all answers.

    The verdicts' file has what is known after each claim, so that a run may be ended.
    """
    listed = [Row(**one) for one in json.loads((folder / LIST).read_text())["claims"]]
    rows = [row for row in listed if only in row.file]
    for number in progress(range(len(rows)), "solve"):
        row = rows[number]
        file = folder / row.file
        logic = re.findall(r"\(set-logic (\w+)\)", file.read_text())[0]
        for name, command in solvers.items():
            if logic not in CANT.get(name, ()):
                row.answers[name] = ask(command, file, row.variables, limit)
        found = [asdict(row) for row in rows[: number + 1]]
        (folder / VERDICTS).write_text(json.dumps(found, indent=1) + "\n")
    return rows


def verdict_of(found: Sequence[str]) -> str:
    """The verdict on a layer by the verdicts on its claims."""
    if "sat" in found:
        return "fails"
    return "holds" if all(one == "unsat" for one in found) else "undecided"


def disagreements(rows: Sequence[Row]) -> list[str]:
    """The claims on which two solvers, or a solver and qlower, disagree."""
    found: list[str] = []
    for row in rows:
        verdicts = {name: one.verdict for name, one in row.answers.items()}
        verdicts["qlower"] = row.expected
        if {"sat", "unsat"} <= set(verdicts.values()):
            pairs = ", ".join(f"{name}: {one}" for name, one in verdicts.items())
            found.append(f"{row.file}: {pairs}")
    return found


def is_open(answer: Answer) -> bool:
    """Whether a solver decided nothing."""
    return answer.verdict not in ("sat", "unsat")


def undecided(rows: Sequence[Row]) -> list[str]:
    """The claims that a solver left open, with why, or that none has the logic of."""
    found: list[str] = []
    for row in rows:
        for name, one in row.answers.items():
            if is_open(one):
                found.append(f"{row.file}: {name} {one.verdict}")
        if not row.answers:
            found.append(f"{row.file}: no solver that was asked has its logic")
    return found


def table(rows: Sequence[Row], names: Sequence[str]) -> list[list[str]]:
    """For each layer its claims, and the verdict and seconds of qlower and solvers."""
    layers = dict.fromkeys(layer for row in rows for layer, _ in row.of)
    lines = [["layer", "claims", "qlower", *(f"{name}, s" for name in names)]]
    for layer in layers:
        own = [row for row in rows if any(one == layer for one, _ in row.of)]
        cells = [layer, str(len(own)), verdict_of([row.expected for row in own])]
        for name in names:
            answers = [row.answers[name] for row in own if name in row.answers]
            if not answers:
                cells.append("has no such logic")
                continue
            seconds = sum(one.seconds for one in answers)
            open_ones = sum(map(is_open, answers))
            more = f", {open_ones} open" if open_ones else ""
            if len(answers) < len(own):
                more += f", {len(own) - len(answers)} not in its logics"
            verdict = verdict_of([one.verdict for one in answers])
            cells.append(f"{verdict} {seconds:.1f}{more}")
        lines.append(cells)
    return lines


def counting(numbers: Iterable[int], title: str) -> Iterable[int]:
    """The numbers, each shown on a line of its own that the next replaces."""
    for number in numbers:
        print(f"\r\x1b[K{title} {number}", end="", file=sys.stderr, flush=True)
        yield number
    print("\r\x1b[K", end="", file=sys.stderr)


def main() -> int:
    """Run the solvers, print and write the verdicts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--solvers", help="names, separated by commas")
    parser.add_argument("--time-limit", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--only", default="", help="claims whose file names have this")
    parser.add_argument("--module", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.module:
        run_module(*options.module)
        return 0
    found = find_solvers()
    names = options.solvers.split(",") if options.solvers else list(found)
    missing = [name for name in names if name not in found]
    if missing or not names:
        sys.exit(f"no solver {', '.join(missing)}: pip install z3-solver bitwuzla cvc5")
    chosen = {name: found[name] for name in names}
    rows = solve(
        Path(__file__).resolve().parent,
        chosen,
        options.time_limit,
        counting,
        options.only,
    )
    lines = table(rows, names)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(map(str.ljust, line, widths)).rstrip())
    apart, left = disagreements(rows), undecided(rows)
    print(f"\n{len(rows)} claims: {len(apart)} disagreements, {len(left)} undecided.")
    print("\n".join([*apart, *left]))
    return 1 if apart or left else 0


if __name__ == "__main__":
    sys.exit(main())
