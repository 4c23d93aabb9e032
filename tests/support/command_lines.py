"""Command lines as the commands' own parser reads them."""

from __future__ import annotations

from argparse import Namespace

from qlower.cli import make_parser


def parsed(line: str) -> Namespace:
    """The options of a command line, whose first word is the command."""
    words = line.split()
    return make_parser(words[0]).parse_args(words)
