"""`qlower help` and `qlower version`."""

from __future__ import annotations

import argparse
from functools import partial

from qlower.cli.options import add_command
from qlower.cli.parser import ArgumentParser, Commands
from qlower.version import __version__

EXAMPLE = """  qlower help
  qlower help contracts compare"""


def register(
    commands: Commands,
    common: ArgumentParser,
    whole: ArgumentParser,
) -> None:
    """Add both commands to the parser `whole`."""
    parser = add_command(
        commands, common, "help", "show the help of a command", EXAMPLE
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="COMMAND",
        help="the command (default: all)",
    )
    parser.set_defaults(run=partial(show_help, whole))
    version = add_command(
        commands, common, "version", "show the version", "  qlower version"
    )
    version.set_defaults(run=show_version)


def show_help(whole: ArgumentParser, options: argparse.Namespace) -> int:
    """Print the help of a command; that ends as `--help` does."""
    whole.parse_args([*options.words, "--help"])
    return 0


def show_version(options: argparse.Namespace) -> int:
    """Print the version."""
    print(f"qlower {__version__}")
    return 0
