"""Work that xDSL does when it is imported, and that no command needs.

It parses an operation's assembly format when its class is made. A compilation imports
120 classes; parsing their formats takes most of that time, and hardly any is read or
printed. Its interpreter runs the program `file` to learn how wide an address is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

    from xdsl.irdl import IRDLOperation, OpDef
    from xdsl.irdl.declarative_assembly_format import FormatProgram
    from xdsl.parser import Parser
    from xdsl.printer import Printer


def import_quickly() -> None:
    """Have this process do without, in the modules that it imports from now on."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


class LateFormat:
    """A replacement for xDSL's `FormatProgram` of an operation that is parsed with its
    first use, when mistakes in its text are found."""

    def __init__(self, text: str, definition: OpDef) -> None:
        self._text = text
        self._definition = definition

    def parse(self, parser: Parser, kind: type[IRDLOperation]) -> IRDLOperation:
        """The operation that comes next."""
        return self._program.parse(parser, kind)

    def print(self, printer: Printer, op: IRDLOperation) -> None:
        """Print what follows the operation's name."""
        self._program.print(printer, op)

    @cached_property
    def _program(self) -> FormatProgram:
        from xdsl.irdl.declarative_assembly_format_parser import FormatParser

        return FormatParser(self._text, self._definition).parse_format()


def _load_formats(module: ModuleType, load: Callable[[ModuleType], None]) -> None:
    load(module)
    vars(module)["FormatProgram"].from_str = LateFormat


def _load_interpreter(module: ModuleType, load: Callable[[ModuleType], None]) -> None:
    import platform

    def known(*_arguments: str) -> tuple[str, str]:
        return f"{sys.maxsize.bit_length() + 1}bit", ""

    ask, platform.architecture = platform.architecture, known
    try:
        load(module)
    finally:
        platform.architecture = ask


_LOADED: Mapping[str, Callable[[ModuleType, Callable[[ModuleType], None]], None]] = {
    "xdsl.irdl.declarative_assembly_format": _load_formats,
    "xdsl.interpreter": _load_interpreter,
}
"""The way to load modules that are given in another form."""


class _Finder:
    """Finds these modules, as Python does, to be loaded so."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _LOADED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Loader(spec.loader))
        return spec


class _Loader:
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        _LOADED[module.__name__](module, self._loader.exec_module)
