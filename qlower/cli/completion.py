"""`qlower completion`: what shells need to complete commands and options."""

from __future__ import annotations

import argparse
from functools import partial

from qlower.cli.options import add_command
from qlower.cli.parser import ArgumentParser, Commands
from qlower.diagnostics import QlowerError
from qlower.process.extras import install_line

EXAMPLE = """  qlower completion bash >> ~/.bash_completion
  qlower completion zsh > ~/.zfunc/_qlower
  qlower completion fish > ~/.config/fish/completions/qlower.fish"""

SHELLS = ("bash", "zsh", "fish")

FOLDER, FILES = "DIR", ("FILE", "MODEL", "INPUT")
"""Words in the names of arguments that stand for folders and files."""


def register(commands: Commands, common: ArgumentParser, whole: ArgumentParser) -> None:
    """Add the command to the parser `whole`."""
    summary = "print a script that completes commands and options"
    parser = add_command(commands, common, "completion", summary, EXAMPLE)
    parser.add_argument("shell", choices=SHELLS, help="the shell that is to read it")
    parser.set_defaults(run=partial(run, whole))


def run(whole: ArgumentParser, options: argparse.Namespace) -> int:
    """Print what shtab makes of the parser."""
    try:
        import shtab
    except ImportError as error:
        raise QlowerError(
            f"completion needs the package 'shtab': {error}",
            help=install_line("completion"),
        ) from error
    if options.shell not in shtab.SUPPORTED_SHELLS:
        raise QlowerError(
            f"shtab {shtab.__version__} has no completion for {options.shell}",
            help=f"{install_line('completion')} --upgrade",
        )
    for action in whole.every_action():
        name = str(action.metavar)
        if name == FOLDER:
            setattr(action, "complete", shtab.DIRECTORY)  # noqa: B010
        elif any(word in name for word in FILES):
            setattr(action, "complete", shtab.FILE)  # noqa: B010
    print(shtab.complete(whole, options.shell))
    return 0
