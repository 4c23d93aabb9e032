"""How `qlower cache` is called."""

from __future__ import annotations

from qlower.cli.options import add_command
from qlower.cli.output import add_format
from qlower.cli.parser import ArgumentParser, Commands, runner

EXAMPLE = """  qlower cache
  qlower cache --clear

$QLOWER_CACHE_DIR is its folder, and is empty for no cache; $QLOWER_CACHE_MEGABYTES
limits its size (default: 1024)."""


def register(commands: Commands, common: ArgumentParser) -> None:
    """Add the command to the parser."""
    summary = "show where the cache is and how large, or clear it"
    parser = add_command(commands, common, "cache", summary, EXAMPLE)
    parser.add_argument("--clear", action="store_true", help="remove all that is in it")
    add_format(parser)
    parser.set_defaults(run=runner("qlower.cli.cache:run"))
