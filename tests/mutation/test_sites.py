"""Mutants are one change of the text each, which still is Python, or MLIR."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from mutation.record import Reach
from mutation.sites import Mutant, contract_mutants, python_mutants

PYTHON = '''\
"""A docstring with 1 < 2."""

LIMIT = 3


def f(x: int, y: int = 2) -> int:
    """Return 1 + 1."""
    assert x < 5, "never"
    if not x or y <= LIMIT:
        raise ValueError(f"{x + 1}")
    print("grün" if x else y, [x, y])
    return min(x, -y) + sum(zip((1, x, y), strict=True)) + LIMIT[:, x, y]
'''

CONTRACT = """\
// arith.addi half_up 1
func.func private @f(%add: i32, %x: f32) -> i32 {
  %y = arith.subi %add, 128 : i32  // sge
  %z = fixed.convert %x {rounding = half_away} : f32 to i32
  %b = arith.cmpi sge, %y, %z : i32
  cf.assert %b, "1 floor"
}
"""


def test_python() -> None:
    mutants = python_mutants("f.py", PYTHON)
    changed = {(mutant.old, mutant.new) for mutant in mutants}
    assert ("y <= LIMIT", "(y < LIMIT)") in changed
    assert ("not x or y <= LIMIT", "(not x)") in changed
    assert ("not x or y <= LIMIT", "False") in changed
    assert ("min", "max") in changed
    assert ('raise ValueError(f"{x + 1}")', "pass") in changed
    assert ("[x, y]", "([x])") in changed
    assert ("1", "(2)") in changed
    assert not {"True", "5", "x < 5"} & {old for old, _ in changed}
    for mutant in mutants:
        text = mutant.apply(PYTHON)
        assert text != PYTHON
        ast.parse(text)


def test_sizes_that_remain() -> None:
    """Which -2 would say, too."""
    text = "def f(x):\n    return x.reshape([-1, 2]).reshape(-1)[-1]\n"
    found = {(one.old, one.start, one.new) for one in python_mutants("f.py", text)}
    last = text.rindex("1")
    assert found == {
        ("2", text.index("2"), "(3)"),
        ("2", text.index("2"), "(1)"),
        ("[-1, 2]", text.index("["), "([-1])"),
        *(("1", last, f"({n})") for n in (0, 2)),
    }


def test_contracts() -> None:
    mutants = contract_mutants("f.mlir", CONTRACT)
    assert {(mutant.line, mutant.old, mutant.new) for mutant in mutants} == {
        (3, "arith.subi", "arith.addi"),
        (3, "128", "129"),
        (3, "128", "127"),
        (4, "half_away", "half_even"),
        (5, "sge", "sgt"),
        (5, "%y, %z", "%z, %y"),
        (6, 'cf.assert %b, "1 floor"', ""),
    }
    assert all(mutant.apply(CONTRACT) != CONTRACT for mutant in mutants)


BOUNDS = """\
func.func private @f(%x: f32) -> f32 {
  %low = arith.cmpf olt, %x, -2.5 : f32
  %not_low = arith.select %low, -2.5, %x : f32
  %high = arith.cmpf ogt, %not_low, 2.5 : f32
  %not_high = arith.select %high, 2.5, %not_low : f32
  %positive = arith.cmpf ogt, %not_high, 0.0 : f32
  %result = arith.select %positive, %not_high, 0.0 : f32
  %other = arith.select %high, %not_high, %x : f32
}

func.func private @g(%low: f32) -> f32 {
"""


def test_bounds_of_contracts() -> None:
    """A number that equals its bound is the bound, but for 0 and -0; a comparison that
    is used again is changed."""
    mutants = contract_mutants("f.mlir", BOUNDS)
    changed = {mutant.line for mutant in mutants if mutant.old in ("olt", "ogt")}
    assert changed == {4, 6}


def test_the_tool_leaves_the_product_to_its_workers() -> None:
    """One that it had imported itself would be tested in place of each mutant."""
    program = "import mutation.run, sys; assert 'qlower' not in sys.modules"
    tests = Path(__file__).resolve().parents[1]
    subprocess.run([sys.executable, "-c", program], cwd=tests, check=True)


def test_files_of_one_name_are_collected(tmp_path: Path) -> None:
    """In several folders."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_parts.py").write_text("def test_f():\n    pass\n")
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[3:]\n"
        "from mutation import record\n"
        "sys.path.append(str(record.PROBES))\n"
        "record._collect(Path(sys.argv[1]), ['a', 'b'], Path(sys.argv[2]))\n"
    )
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--long', action='store_true')\n"
    )
    names = tmp_path / "names.json"
    tests = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", code, tmp_path, names, tests]
    subprocess.run(command, check=True)
    found = json.loads(names.read_text())
    assert found == {f"{folder}/test_parts.py::test_f": False for folder in "ab"}


FILES = "tests/test_filecheck.py::test_file"
NESTS = "tests/codegen/test_nests.py::test_a_window"


def test_tests_that_are_named_after_a_file_come_first(tmp_path: Path) -> None:
    """Of a test with cases for all passes the one of this pass, though what it reaches
    was recorded for other cases."""
    (tmp_path / "qlower/transforms").mkdir(parents=True)
    file = "qlower/transforms/match_signs.py"
    (tmp_path / file).write_text("def f():\n    return 1\n")
    reached = {file: {"f": [0]}}
    much = {"qlower/other.py": {"g": [*range(20)]}}
    rows = [
        (NESTS, 0.1, {**reached, "qlower/other.py": {"g": [0]}}),
        (f"{FILES}[drop-channels.mlir]", 0.1, {**reached, **much}),
        (f"{FILES}[match-signs.mlir]", 0.1, {}),
        ("tests/test_models.py::test_matches", 0.1, {**reached, **much}),
        ("tests/test_models.py::test_for_long", 3, {**reached, **much}),
    ]
    names = [test for test, *_ in rows]
    (tmp_path / "reach.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    (tmp_path / "collected.json").write_text(json.dumps(dict.fromkeys(names, False)))
    reach = Reach(tmp_path / "reach.jsonl", tmp_path)
    mutant = Mutant(file, 2, 20, 21, "1", "(2)")
    assert reach.tests_of(mutant) == [
        f"{FILES}[match-signs.mlir]",
        NESTS,
        "tests/test_models.py::test_matches",
        f"{FILES}[drop-channels.mlir]",
        "tests/test_models.py::test_for_long",
    ]
