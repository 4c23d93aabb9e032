"""Whether a change leaves the code of all models as it was, level by level.

    python tests/same_code/compare.py BEFORE [AFTER] [--files 'onnx/*']

BEFORE and AFTER are commits; AFTER is the working tree unless it is given. The arith
level of every model of the corpus is hashed under every contract, as text with names
and locations. Where it moved, the kernel level is hashed; where that moved, too, the
machine code for x86-64 and AArch64. The machine code of the real models is always
hashed; with `--code` that of every model, after changes below the arith level, which
takes several times as long. Each line that is printed names a model, a contract and
the lowest level that moved. The exit code is 1 if machine code moved, if a refusal came
or went, or if the patterns match no case.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from same_code.corpus import REAL_MODELS, write_corpus  # noqa: E402

WORKING_TREE = "."
LEVELS = ("arith", "kernels", "code")


@dataclass
class Comparison:
    """What moved between two commits: the cases, by the lowest level that moved."""

    compared: int = 0
    lowered: int = 0
    """Cases that aren't refused."""

    moved: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    refusals: dict[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )
    """What a case gave before and after, where at least one of the two refuses it."""

    @property
    def is_same(self) -> bool:
        """Whether machine code is the same, and refused is what was."""
        changed = [
            pair for pair in self.refusals.values() if not all(map(refuses, pair))
        ]
        return not self.moved.get("code") and not changed

    def render(self) -> str:
        """The comparison in words, a line for each case that moved."""
        lines = [
            f"{self.compared} cases, {self.lowered} of them lowered: "
            + ", ".join(
                f"{len(self.moved.get(level, []))} moved at {level}" for level in LEVELS
            )
            + f", {len(self.refusals)} are refused differently"
        ]
        lowest: dict[str, str] = {}
        for level in LEVELS:
            lowest.update(dict.fromkeys(self.moved.get(level, []), level))
        lines += [f"{level:<8}{case}" for case, level in sorted(lowest.items())]
        for case, (before, after) in sorted(self.refusals.items()):
            lines += [f"refused {case}", f"  before: {before}", f"  after:  {after}"]
        return "\n".join(lines)


def refuses(given: str) -> bool:
    """Whether this is a refusal rather than a hash."""
    return ":" in given


def compare(
    before: Path,
    after: Path,
    corpus: Path,
    files: Sequence[str],
    contracts: str = "*",
    jobs: int = 2,
    *,
    code_of_all: bool = False,
) -> Comparison:
    """Compare what the packages in two folders make of files of a corpus, under the
    contracts whose names match a pattern; of all of them with `code_of_all` the machine
    code, else of those alone that moved above it and of the real models."""
    result = Comparison()

    def differing(names: Sequence[str], level: str) -> list[str]:
        old, new = (
            hashes(tree, corpus, names, level, contracts, jobs)
            for tree in (before, after)
        )
        if level == "arith":
            result.compared = len(old.keys() | new.keys())
            result.lowered = sum(not refuses(given) for given in new.values())
        moved: list[str] = []
        for case in sorted(old.keys() | new.keys()):
            pair = (
                old.get(case, "absent: no such contract"),
                new.get(case, "absent: no such contract"),
            )
            if pair[0] == pair[1]:
                continue
            if any(map(refuses, pair)):
                result.refusals[case] = pair
            else:
                moved.append(case)
        result.moved[level] = moved
        return moved

    moved = differing(files, "arith")
    moved = differing(moved, "kernels") if moved else []
    real = [f"{name} (its own)" for name in files if name.startswith(REAL_MODELS)]
    real = [name.replace(".onnx ", ".onnx integer ") for name in real]
    if code_of_all:
        differing(files, "code")
    elif moved or real:
        differing(sorted({*moved, *real}), "code")
    return result


def hashes(
    tree: Path,
    corpus: Path,
    names: Sequence[str],
    level: str,
    contracts: str,
    jobs: int,
) -> Mapping[str, str]:
    """What the package in a folder makes of files or cases, by case."""

    def part(number: int) -> dict[str, str]:
        script = Path(__file__).with_name("hashing.py")
        return json.loads(
            subprocess.run(
                [sys.executable, str(script), ".", level, contracts],
                env={**os.environ, "PYTHONPATH": str(tree), "QLOWER_CACHE_DIR": ""},
                cwd=corpus,
                input="\n".join(names[number::jobs]),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
        )

    with ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(part, range(min(jobs, len(names)))))
    return {case: given for one in parts for case, given in one.items()}


def check_out(commit: str, folder: Path) -> Path:
    """A folder with the package as it is in a commit."""
    if commit == WORKING_TREE:
        return ROOT
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", commit, "qlower"]
    archive = subprocess.run(command, capture_output=True)
    if archive.returncode:
        raise SystemExit(archive.stderr.decode().strip())
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", metavar="BEFORE", help="the commit to compare with")
    parser.add_argument("after", metavar="AFTER", nargs="?", default=WORKING_TREE)
    parser.add_argument("--files", default="*", help="files of the corpus to compare")
    parser.add_argument("--contracts", default="*", help="contracts to compare")
    parser.add_argument(
        "--code", action="store_true", help="compare the machine code of every model"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        corpus, *trees = (Path(scratch, name) for name in ("corpus", "old", "new"))
        for folder in trees:
            folder.mkdir()
        write_corpus(corpus)
        names = sorted(
            str(path.relative_to(corpus))
            for path in corpus.rglob("*.*")
            if fnmatch(str(path.relative_to(corpus)), options.files)
        )
        if not names:
            raise SystemExit(f"no file of the corpus matches {options.files!r}")
        commits = (options.before, options.after)
        before, after = (check_out(*pair) for pair in zip(commits, trees, strict=True))
        found = compare(
            before,
            after,
            corpus,
            names,
            options.contracts,
            options.jobs,
            code_of_all=options.code,
        )
    if not found.compared:
        raise SystemExit(
            f"none of {len(names)} files has a case of a contract that matches"
            f" {options.contracts!r}"
        )
    print(found.render())
    return 0 if found.is_same else 1


if __name__ == "__main__":
    sys.exit(main())
