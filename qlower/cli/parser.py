"""A parser of arguments whose errors look like all our errors."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import NoReturn, TypeAlias, cast

from qlower.cli.exit_codes import UsageError
from qlower.process.lazy import lazy

COMMAND = "command"
"""Where the chosen command is in the parsed arguments."""

GENERAL = "general"

SECTIONS = (
    *("inputs", "whose arithmetic", "how the model is read", "how code is generated"),
    *("output", "what the compiler shows", GENERAL),
)
"""Titles of options that commands share, in the help's order, after a command's own."""

ALIKE = 0.65
"""The least likeness to a known word of another that may mean it, of 1."""


Commands: TypeAlias = "argparse._SubParsersAction[ArgumentParser]"  # pyright: ignore[reportPrivateUsage]
"""Where a parser keeps its commands."""


Section: TypeAlias = "argparse._ArgumentGroup"  # pyright: ignore[reportPrivateUsage]
"""Options under one title of a parser's help."""


class ArgumentParser(argparse.ArgumentParser):
    """A parser that raises `UsageError`, and suggests what may have been meant.

    Its help shows a command's own options first, and names in its first line only
    what a command line must have.
    """

    def format_usage(self) -> str:
        """The command with its arguments and required options."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage or self._usage(), (), ())
        return formatter.format_help()

    def format_help(self) -> str:
        """The help: a command's own options, then `SECTIONS`, in their order."""
        order = {title: place for place, title in enumerate(SECTIONS, 1)}
        self._action_groups.sort(key=lambda group: order.get(group.title or "", 0))
        usage, self.usage = self.usage, self.usage or self._usage()
        try:
            return super().format_help()
        finally:
            self.usage = usage

    def _usage(self) -> str:
        needed = [a for a in self._actions if not a.option_strings or a.required]
        formatter = argparse.HelpFormatter(self.prog, width=1_000)
        formatter.add_usage(None, needed, (), prefix="")
        line = formatter.format_help().strip().replace("%", "%%")
        return f"{line.replace(self.prog, f'{self.prog} [OPTIONS]', 1)}"

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, help=f"see {self.prog} --help")

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """The arguments, all of which have to be known.

        argparse passes unknown arguments to the outermost parser, whose help doesn't
        list that command's options.
        """
        space = namespace or argparse.Namespace()
        parsed, unknown = super().parse_known_args(args, space)
        if unknown:
            options = [word.split("=")[0] for word in unknown if word.startswith("-")]
            raise UsageError(
                f"unrecognized arguments: {' '.join(unknown)}",
                help=self._advice(options, self._option_string_actions),
            )
        return parsed, unknown

    def every_action(self) -> Iterator[argparse.Action]:
        """The options and arguments of this parser and of all its commands."""
        for action in self._actions:
            yield action
            if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
                commands = cast("Commands", action).choices
                for command in commands.values():
                    yield from command.every_action()

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            choices = [str(choice) for choice in action.choices or ()]
            is_command = isinstance(action, argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
            kind = str(action.metavar).lower()
            message = f"there is no {kind} {value!r}" if is_command else str(error)
            help = self._advice([str(value)], choices)
            raise UsageError(message, help=help) from error

    def _advice(self, words: Iterable[str], known: Iterable[str]) -> str:
        """A guess at the first word that resembles a known one, and where to read
        more."""
        names = {name.lstrip("-"): name for name in known}
        see = f"see {self.prog} --help"
        for word in (word.lstrip("-") for word in words):
            near = max(1, len(word) // 3)
            of_its_length = [n for n in names if abs(len(n) - len(word)) <= near]
            for close in get_close_matches(word, of_its_length, 1, ALIKE):
                return f"did you mean {names[close]!r}? {see[0].upper()}{see[1:]}"
        return see


def runner(where: str) -> Callable[[argparse.Namespace], int]:
    """The function `module:name` that runs a command, imported when it is called: help
    and errors of a command line need none of what the command needs."""
    get = lazy(where)

    def run(options: argparse.Namespace) -> int:
        code: int = get()(options)
        return code

    return run


def group_commands(
    parser: ArgumentParser, commands: Commands, task: Callable[[str], str]
) -> None:
    """List a parser's commands in its help under the titles that `task` gives them."""
    for group in parser._action_groups:
        if commands in group._group_actions:
            group._group_actions.remove(commands)
    groups: dict[str, argparse._ArgumentGroup] = {}  # pyright: ignore[reportPrivateUsage]
    for command in commands._choices_actions:
        title = task(command.dest)
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        groups[title]._group_actions.append(command)


def section(parser: argparse.ArgumentParser, title: str) -> Section:
    """One of the parser's `SECTIONS`, to which options are added."""
    known = (group for group in parser._action_groups if group.title == title)
    return next(known, None) or parser.add_argument_group(title)
