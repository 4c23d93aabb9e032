"""Operations' assembly formats, each parsed when it is first read or printed by.

xDSL parses an operation's format when its class is made: that is most of what making
the 120 classes takes that a compilation imports, and hardly any is read or printed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

    from xdsl.irdl import IRDLOperation, OpDef
    from xdsl.irdl.declarative_assembly_format import FormatProgram
    from xdsl.parser import Parser
    from xdsl.printer import Printer

_PLACE = "xdsl.irdl.declarative_assembly_format"


def parse_formats_late() -> None:
    """Have this process do so with the operations that aren't imported yet."""
    if _PLACE not in sys.modules and _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class LateFormat:
    """What xDSL takes for the `FormatProgram` of an operation; a mistake in its text is
    found with the first use."""

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


class _Finder:
    """Finds the module that has `FormatProgram`, and changes it once it is loaded."""

    _loader: Loader

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname != _PLACE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        assert spec is not None
        assert spec.loader is not None
        self._loader, spec.loader = spec.loader, cast("Loader", self)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        vars(module)["FormatProgram"].from_str = LateFormat


_FINDER = _Finder()
