"""What the command line says of itself: help, suggestions, exit codes, colour."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.layers.small_model import SMALL_MODEL

from qlower.cli import TASKS, main
from qlower.cli.colour import painted, wants_colour
from qlower.cli.exit_codes import MEANINGS, ExitCode
from qlower.cli.opt import main as opt
from qlower.cli.parser import GENERAL, SECTIONS
from qlower.files.addresses import refuse_address
from qlower.version import __version__

Capture = pytest.CaptureFixture[str]


def test_help_where_no_command_is_given(capsys: Capture):
    assert main([]) == ExitCode.USAGE
    bare = capsys.readouterr().out
    assert main(["--help"]) == 0
    assert capsys.readouterr().out == bare
    assert main(["help"]) == 0
    assert capsys.readouterr().out == bare


@pytest.mark.parametrize("words", [["lint"], ["contracts", "compare"], ["help"]])
def test_help_of_a_command(words: list[str], capsys: Capture):
    assert main(["help", *words]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: qlower {' '.join(words)} ")
    assert main([*words, "--help"]) == 0
    assert capsys.readouterr().out == told


@pytest.mark.parametrize("word", ["version", "--version", "-V"])
def test_version(word: str, capsys: Capture):
    assert main([word]) == 0
    assert capsys.readouterr().out == f"qlower {__version__}\n"


@pytest.mark.parametrize(
    ("line", "message", "help"),
    [
        ("fly", "there is no command 'fly'", "see qlower --help"),
        ("inspct m", "there is no command 'inspct'", "did you mean 'inspect'?"),
        ("help inspct", "there is no command 'inspct'", "did you mean 'inspect'?"),
        ("contracts shwo x", "no action 'shwo'", "did you mean 'show'?"),
        ("run", "required: MODEL", "see qlower run --help"),
        ("run m --inptu x", "unrecognized arguments: --inptu x", "mean '--input'?"),
        ("run m --inptu=x", "unrecognized arguments: --inptu=x", "mean '--input'?"),
        ("inspect m --fast", "arguments: --fast", "see qlower inspect --help"),
        ("inspect m n", "unrecognized arguments: n", "see qlower inspect --help"),
        ("inspect m --at arit", "invalid choice: 'arit'", "did you mean 'arith'?"),
        ("run m --layer x", "unrecognized arguments: --layer", "see qlower run --help"),
        ("inspect m --json", "--format json is for the table", "--stats prints it"),
        ("contracts show", "needs the name of a contract", ""),
        ("--versio", "arguments: --versio", "mean '--version'?"),
        ("run m --threads x", "invalid int value: 'x'", "see qlower run --help"),
    ],
)
def test_wrong_command_line(line: str, message: str, help: str, capsys: Capture):
    assert main(line.split()) == ExitCode.USAGE
    out, error = capsys.readouterr()
    assert out == "" or "--json" in line  # then the error is there, too
    assert error.startswith("error: ")
    assert message in error
    assert help in error


@pytest.mark.parametrize(
    "line",
    [
        *("run LONG", "run MODEL --input LONG.npy", "run MODEL --input image=LONG"),
        *("run MODEL --random --contract LONG", "import MODEL -o LONG.mlir"),
        *("run MODEL --random --contract ./LONG.mlir", "import --check LONG"),
        *("run MODEL --random --layer-contract conv=LONG", "compile MODEL -o LONG"),
        *("diff LONG tflite MODEL --random", "identify LONG MODEL --random"),
        *("validate MODEL --data LONG", "validate MODEL --data LONG.npy"),
        *("verify MODEL --check LONG", "contracts show ./LONG.mlir", "bench LONG"),
    ],
)
def test_names_longer_than_files_have(line: str, tmp_path: Path, capsys: Capture):
    model = tmp_path / "small.mlir"
    model.write_text(SMALL_MODEL)
    words = line.replace("MODEL", str(model)).replace("LONG", "x" * 300).split()
    assert main(words) in (ExitCode.WRONG_INPUT, ExitCode.USAGE)
    out, error = capsys.readouterr()
    assert "x" * 300 in out + error
    assert "a bug of qlower" not in error


def test_wrong_option_of_the_other_tool(capsys: Capture):
    assert opt(["--lst-passes"]) == ExitCode.USAGE
    assert capsys.readouterr() == (
        "",
        "error: unrecognized arguments: --lst-passes\n"
        "help: did you mean '--list-passes'? See qlower-opt --help\n",
    )


def test_exit_codes_are_one_list_for_both_tools(capsys: Capture):
    assert set(MEANINGS) == set(ExitCode)
    assert [code.value for code in ExitCode] == [0, 1, 2, 70, 130, 141]
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    for code, meaning in MEANINGS.items():
        assert f" {code.value}  {meaning}" in told
    assert opt(["--nope"]) == ExitCode.USAGE
    assert opt(["missing.mlir"]) == ExitCode.WRONG_INPUT
    assert main(["inspect", "missing.mlir"]) == ExitCode.WRONG_INPUT


def test_heads_of_messages_have_colour():
    text = "a b.mlir:1:2: error: note: x\n  %y = error: \nnote: z\nhelp: w\nerrors: v"
    shown = painted(text)
    assert "\x1b[1ma b.mlir:1:2: \x1b[0m\x1b[1;31merror:\x1b[0m note: x" in shown
    assert "\n  %y = error: \n\x1b[1;36mnote:\x1b[0m z" in shown
    assert shown.endswith("\x1b[1;32mhelp:\x1b[0m w\nerrors: v")


@pytest.mark.parametrize(
    ("variables", "is_terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
    ],
)
def test_where_colour_is_wanted(
    variables: dict[str, str],
    is_terminal: bool,
    wanted: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    assert wants_colour() == wanted
    if not is_terminal:
        main(["fly"])
        assert ("\x1b[1;31merror:\x1b[0m" in capsys.readouterr().err) == wanted


@pytest.mark.parametrize("command", ["run", "inspect", "verify", "compile", "lint"])
def test_the_options_of_a_command_come_before_those_that_commands_share(
    command: str, capsys: Capture
):
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    titles = [line[:-1] for line in shown.splitlines() if re.fullmatch(r"\w.*:", line)]
    own, shared = titles[:2], [title for title in titles if title in SECTIONS]
    assert own == ["positional arguments", "options"]
    assert shared == [title for title in SECTIONS if title in titles]
    assert titles.index("options") < titles.index(shared[0])
    assert "-h, --help" in shown.split(f"\n{GENERAL}:")[1]
    assert shown.startswith(f"usage: qlower {command} [OPTIONS] ")


def test_every_command_is_listed_under_its_task(capsys: Capture):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for title, files in TASKS.items():
        listed = shown.split(f"\n{title}:\n")[1].split("\n\n")[0]
        names = [line.split()[0] for line in listed.splitlines() if line[2] != " "]
        assert names == [file.rstrip("_") for file in files]


@pytest.mark.parametrize(
    "line",
    [
        "inspect {}",
        "run m.tflite --input {}",
        "run m.tflite --input x={}",
        "validate m.tflite --data={}",
        "diff tflite {} m.tflite",
        "run m.tflite --contract {}",
        "run m.tflite --layer-contract conv*={}",
    ],
)
def test_addresses_are_refused(line: str, capsys: Capture):
    """The name of a file would be another: with one slash for two."""
    address = "https://example.com/a?b&c"
    assert main(line.format(address).split()) == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error == (
        f"error: {address} is an address; only files are read\n"
        f"help: curl -LO '{address}' gets it\n"
    )


def test_addresses_that_are_not_of_files():
    for word in ("tcp://10.0.0.1:8786", "http", "a:b", "https:/one/slash"):
        refuse_address(word)
