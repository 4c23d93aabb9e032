"""How commands end: the exit code, and what is printed where."""

from __future__ import annotations

import errno
import json
from importlib import import_module
from pathlib import Path
from resource import RLIM_INFINITY
from typing import Any

import pytest

from qlower.cli.exit_codes import ExitCode, UsageError, ending, exit_codes
from qlower.diagnostics import QlowerError

MODULE = import_module("qlower.cli.exit_codes")
INNER = vars(MODULE)
LIMITED, FREE = 64 << 20, RLIM_INFINITY


def raising(error: BaseException) -> Any:
    def run() -> int:
        print("so far")
        raise error

    return run


FULL = OSError(errno.ENOSPC, "No space left on device")
CASES: list[tuple[BaseException, int, str, str | None]] = [
    (QlowerError("bad", help="better"), 1, "error: bad\nhelp: better\n", "input"),
    (UsageError("no option"), 2, "error: no option\n", "usage"),
    (KeyboardInterrupt(), 130, "", None),
    (MemoryError(), 1, "error: the model needs more memory than there is\n", "input"),
    (RecursionError(), 1, "error: what is given is nested too deeply\n", None),
    (FULL, 1, "error: cannot write: No space left on device\n", None),
    (SystemExit(0), 0, "", None),
    (SystemExit(3), 3, "", None),
    (SystemExit("text"), 2, "", None),
    (SystemExit(), 2, "", None),
]


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often the output was given up."""
    calls: list[int] = []
    monkeypatch.setattr(MODULE, "_write_nowhere", lambda: calls.append(1))
    return calls


@pytest.mark.parametrize("is_json", [False, True])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_each_exception(
    number: int,
    is_json: bool,
    nowhere: list[int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    error, code, told, kind = CASES[number]
    arguments = ["run", "m", *(["--json"] if is_json else [])]
    assert ending(raising(error), "qlower", arguments) == code
    out, err = capsys.readouterr()
    assert err == told
    first, *rest = out.splitlines()
    assert first == "so far"
    if is_json and kind:
        found = json.loads("\n".join(rest))["error"]
        assert found["kind"] == kind
        assert found["message"] in told
    else:
        assert not rest
    assert nowhere == ([1] if error is FULL else [])


def test_a_result_is_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    for code in (0, 1, 7):
        assert ending(lambda code=code: code, "qlower", []) == code
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_has_gone(
    nowhere: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending(raising(BrokenPipeError()), "qlower", []) == 141
    assert nowhere == [1]
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    "error", [QlowerError("x"), RecursionError(), ValueError("x"), FULL]
)
def test_debugging_raises(error: BaseException) -> None:
    with pytest.raises(type(error)):
        ending(raising(error), "qlower", [], debug=True)
    assert ending(raising(KeyboardInterrupt()), "qlower", [], debug=True) == 130


@pytest.mark.parametrize(
    ("error", "room", "peak", "told"),
    [
        (ImportError("no room. Really."), LIMITED, 0, "too few for a library: no room"),
        (OSError(5, "e"), LIMITED, 0, r"too few for a library: [Errno 5] e"),
        (TypeError("odd. And"), LIMITED, 60 << 20, "too few: odd"),
        (TypeError("odd"), LIMITED, 48 << 20, None),  # much was left
        (TypeError("odd"), LIMITED, (48 << 20) + 1024, "too few: odd"),
        (TypeError("odd"), FREE, 60 << 20, None),
        (ImportError("odd"), FREE, 60 << 20, None),
    ],
)
def test_few_addresses(
    error: Exception,
    room: int,
    peak: int,
    told: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Anything may be raised where a process has nearly all that it may have; else it
    is a bug."""
    reported: list[object] = []
    crash = import_module("qlower.cli.crash")
    monkeypatch.setattr(MODULE, "getrlimit", lambda _: (room, room))
    monkeypatch.setattr(
        Path,
        "read_text",
        lambda _: f"Name: x\nVmPeak:\t{peak >> 10} kB\nVmSize: 1 kB\n",
    )
    monkeypatch.setattr(crash, "report_crash", lambda *given: reported.append(given))
    code = ending(raising(error), "qlower", ["run", "--format", "json"])
    out, err = capsys.readouterr()
    found = json.loads(out.partition("so far")[2])["error"]
    if told is None:
        assert code == 70
        assert reported == [(error, ["run", "--format", "json"], "qlower")]
        assert found == {"kind": "bug", "message": f"{type(error).__name__}: {error}"}
    else:
        assert code == 1
        assert not reported
        message = f"the 64 MB of addresses that `ulimit -v` allows are {told}"
        assert err == f"error: {message}\n"
        assert (found["kind"], found["message"]) == ("input", message)


@pytest.mark.parametrize(("error", "had"), [(OSError(), False), (MemoryError(), True)])
def test_addresses_that_nobody_counts(
    error: Exception, had: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_: Path) -> str:
        raise error

    monkeypatch.setattr(Path, "read_text", read)
    assert INNER["_had_no_more"](LIMITED) is had


@pytest.mark.parametrize(
    ("line", "is_json"),
    [
        ("run m", False),
        ("run m --json", True),
        ("run m --format=json", True),
        ("run m --format json", True),
        ("run m --format csv json", False),
        ("run json --format", False),
        ("bench m --json x.json", False),
        ("bench m --json", False),
        ("bench m --json -", True),
        ("bench m --json=-", True),
        ("bench - --json", False),
        ("bench m --format json", False),
        ("", False),
    ],
)
def test_which_command_lines_ask_for_json(line: str, is_json: bool) -> None:
    assert INNER["_is_json"](line.split()) is is_json


def test_codes_in_a_help_text() -> None:
    text = exit_codes().splitlines()
    assert text[0] == "exit codes:"
    assert [int(line[:5]) for line in text[1:]] == [0, 1, 2, 70, 130, 141]
    assert [line[5:7] for line in text[1:]] == 6 * ["  "]
    assert len({*text}) == 7
    assert ExitCode.FOUND is ExitCode.WRONG_INPUT
