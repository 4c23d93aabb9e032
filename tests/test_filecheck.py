"""The FileCheck tests, which `lit filecheck` runs too."""

# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from unittest import TestCase

import pytest
from lit import LitTestCase
from support.tools_in_process import printed

FOLDER = Path(__file__).parents[1] / "filecheck"
TESTS = list(LitTestCase.load_test_suite([str(FOLDER)]))

RECORDED = Path(__file__).with_name("printed_modules.txt")
"""What is printed for them, as the number of lines and a digest of each function;
written by `pytest tests/test_filecheck.py --bless`."""

OF_EVERY_MACHINE = ("transforms/", "dialects/")
ANY_TARGET = re.compile(r"set-target(?!{[^}]*triple)")


def functions() -> Iterator[str]:
    """What `qlower-opt` printed for the file of a test, function by function: FileCheck
    looks at some lines."""
    for (tool, *options), text in printed:
        passes = " ".join(option for option in options if FOLDER.name not in option)
        is_first = len(options) > len(passes.split())
        if Path(tool).name != "qlower-opt" or not is_first:
            continue
        if ANY_TARGET.search(passes):
            continue
        yield f"  {passes}"
        text = text.replace(str(FOLDER), "").replace(str(FOLDER.parent), "")
        for part in re.split(r"^(?= *func\.func)", text, flags=re.MULTILINE):
            name = re.search(r"@\w+", part)
            digest = sha256(part.encode()).hexdigest()[:10]
            yield f"    {name[0] if name else '-'} {part.count(chr(10))} {digest}"


def recorded() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in RECORDED.read_text().splitlines():
        if line.startswith(" "):
            lines.append(line)
        else:
            lines = found[line] = []
    return found


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.id())
def test_file(test: TestCase, request: pytest.FixtureRequest) -> None:
    printed.clear()
    test.debug()
    if missing := vars(test)["_test"].getMissingRequiredFeatures():
        pytest.skip(f"{' and '.join(missing)} not installed")
    name = test.id().partition(" :: ")[2]
    if not name.startswith(OF_EVERY_MACHINE):
        return
    found, known = list(functions()), recorded()
    if request.config.getoption("--bless"):
        known[name] = found
        lines = [line for file in sorted(known) for line in (file, *known[file])]
        RECORDED.write_text("\n".join(lines) + "\n")
    assert found == known.get(name)
