"""The parser of arguments: help, errors and guesses, of a program that is made here."""

from __future__ import annotations

import argparse

import pytest

from qlower.cli.exit_codes import UsageError
from qlower.cli.parser import ArgumentParser, group_commands, runner, section


def made() -> ArgumentParser:
    """A program with two commands; sections are added out of order."""
    parser = ArgumentParser(prog="mine", allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    run = commands.add_parser("run", help="run it", allow_abbrev=False)
    section(run, "general").add_argument("--verbose", action="store_true")
    section(run, "inputs").add_argument("--seed", type=int)
    section(run, "general").add_argument("--quiet", action="store_true")
    run.add_argument_group("own").add_argument("--level", choices=["arith", "kernel"])
    run.add_argument("model")
    run.add_argument("-o", "--output", required=True, help="100%% of it")
    commands.add_parser("bench", help="time it")
    commands.add_parser("check", help="check it")
    titles = {"run": "use", "bench": "measure", "check": "use"}
    group_commands(parser, commands, titles.__getitem__)
    return parser


def refusal(words: str) -> tuple[str, str | None]:
    with pytest.raises(UsageError) as caught:
        made().parse_args(words.split())
    return caught.value.message, caught.value.help


def test_the_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Its own options first, then sections in their order; what is needed on top."""
    for _ in range(2):
        with pytest.raises(SystemExit):
            made().parse_args(["run", "--help"])
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "usage: mine run [OPTIONS] -o OUTPUT model"
        assert [line for line in lines if line.endswith(":")] == [
            *("positional arguments:", "options:", "own:", "inputs:", "general:")
        ]
        assert lines[-2:] == ["  --verbose", "  --quiet"]
        assert "100% of it" in "\n".join(lines)


def test_a_usage_that_is_given_stays() -> None:
    parser = ArgumentParser(prog="mine", usage="mine THIS")
    assert parser.format_usage() == "usage: mine THIS\n"
    assert parser.format_help().startswith("usage: mine THIS\n")
    plain = ArgumentParser(prog="mine")
    assert plain.format_usage() == "usage: mine [OPTIONS]\n"
    assert plain.format_help().startswith("usage: mine [OPTIONS]\n")
    assert plain.usage is None


def test_commands_under_titles() -> None:
    text = made().format_help()
    assert "positional arguments" not in text
    assert text[text.index("\nuse:") :] == (
        "\nuse:\n  run         run it\n  check       check it\n"
        "\nmeasure:\n  bench       time it\n"
    )


@pytest.mark.parametrize(
    ("words", "message", "help"),
    [
        (
            "run m -o y --sed 3",
            "unrecognized arguments: --sed 3",
            "did you mean '--seed'? See mine run --help",
        ),
        (
            "run m -o y --zzz --quite=3",
            "unrecognized arguments: --zzz --quite=3",
            "did you mean '--quiet'? See mine run --help",
        ),
        ("run m -o y --q", "unrecognized arguments: --q", "see mine run --help"),
        ("run m -o y n", "unrecognized arguments: n", "see mine run --help"),
        (
            "run m -o y --verboselyx",
            "unrecognized arguments: --verboselyx",
            "did you mean '--verbose'? See mine run --help",
        ),
        ("run m -o y --verb", "unrecognized arguments: --verb", "see mine run --help"),
        (
            "run m -o y --oo",
            "unrecognized arguments: --oo",
            "did you mean '-o'? See mine run --help",
        ),
        (
            "run m",
            "the following arguments are required: -o/--output",
            "see mine run --help",
        ),
        (
            "bensh",
            "there is no command 'bensh'",
            "did you mean 'bench'? See mine --help",
        ),
        ("zzz", "there is no command 'zzz'", "see mine --help"),
        (
            "run m -o y --level kernle",
            "argument --level: invalid choice: 'kernle' (choose from ",
            "did you mean 'kernel'? See mine run --help",
        ),
    ],
)
def test_what_may_have_been_meant(words: str, message: str, help: str) -> None:
    """The last of these messages goes on with what there is."""
    found = refusal(words)
    assert (found[0][: len(message)], found[1]) == (message, help)
    assert found[0] == message or message.endswith("(choose from ")


def test_arguments_are_parsed() -> None:
    given = argparse.Namespace(before=1)
    words = ["run", "m", "-o", "y", "--seed", "3"]
    found = made().parse_args(words, given)
    assert found is given
    assert vars(found) == {
        **{"before": 1, "command": "run", "model": "m", "output": "y", "seed": 3},
        **{"verbose": False, "quiet": False, "level": None},
    }
    assert made().parse_args(words).seed == 3


def test_every_action() -> None:
    names = [action.dest for action in made().every_action()]
    assert names == [
        *("help", "command"),
        *("help", "verbose", "seed", "quiet", "level", "model", "output"),
        *("help", "help"),
    ]


def test_a_command_is_imported_when_it_runs() -> None:
    run = runner("operator:attrgetter")
    with pytest.raises(TypeError):
        run(argparse.Namespace())
    given = argparse.Namespace()
    assert runner("builtins:id")(given) == id(given)
    with pytest.raises(ModuleNotFoundError):
        runner("nothing.here:run")(given)
