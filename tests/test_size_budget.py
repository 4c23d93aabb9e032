"""The age of lines: what moves and what replaces is as old as what it was."""

import subprocess
from pathlib import Path

import line_ages
import pytest


def commit(tree: Path, files: dict[str, str]) -> str:
    """A commit of letters, one a line; the name of the commit before."""
    for name, letters in files.items():
        (tree / name).write_text("".join(f"{letter}\n" for letter in letters))
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("add", "."), (*identity, "commit", "-q", "--message", "a")):
        subprocess.run(["git", *words], cwd=tree, check=True)
    found = line_ages.git("rev-list", "HEAD").split()
    return found[0]


def test_weights_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_ages, "ROOT", tmp_path)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    start = commit(tmp_path, {"a.py": "abcdefgh", "test.py": "xy"})
    steps = [
        # b and c move, and n is new.
        ({"a.py": "adefgh", "b.py": "bnc"}, [1] * 6, [1, 0, 1]),
        # Two lines replace d; three replaced lines leave one.
        ({"a.py": "astefgh"}, [1, 0.5, 0.5, 1, 1, 1, 1], [1, 0, 1]),
        ({"a.py": "astuh"}, [1, 0.5, 0.5, 1, 1], [1, 0, 1]),
        # Tests weigh nothing, nor what comes from them.
        ({"a.py": "astuhx", "test.py": "y"}, [1, 0.5, 0.5, 1, 1, 0], [1, 0, 1]),
        # A line that replaces a new one is new.
        ({"b.py": "boc"}, [1, 0.5, 0.5, 1, 1, 0], [1, 0, 1]),
    ]
    for files, first, second in steps:
        commit(tmp_path, files)
        found = line_ages.line_weights(start, lambda name: name != "test.py")
        assert (found["a.py"], found["b.py"]) == (first, second)
