"""A hash of a module, constants and all."""

from __future__ import annotations

import hashlib
import re
from io import StringIO
from typing import cast

from xdsl.dialects.builtin import AnyDenseElement, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.printer import Printer

_ESCAPED = re.compile(r"[^ !#-\[\]-~]")
"""A character that strings are printed without."""


def fingerprint(module: ModuleOp, *, locations: bool = True) -> bytes:
    """A hash of everything in the module, constants included, and `locations`."""
    text = StringIO()
    _HashingPrinter(stream=text, print_debuginfo=locations).print_op(module)
    return hashlib.sha256(text.getvalue().encode()).digest()


class _HashingPrinter(Printer):
    """Prints the hash of a constant's bytes in place of megabytes of digits."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            dense = cast("DenseIntOrFPElementsAttr[AnyDenseElement]", attribute)
            self.print_string(hashlib.sha256(dense.data.data).hexdigest())
            self.print_attribute(dense.type)
        else:
            super().print_attribute(attribute)

    def print_bytes_literal(self, bytestring: bytes) -> None:
        """At once, where xDSL prints byte by byte: remarks have thousands."""
        text = bytestring.decode("latin-1")
        self.print_string(f'"{_ESCAPED.sub(_escape, text)}"')


def _escape(match: re.Match[str]) -> str:
    return "\\\\" if match[0] == "\\" else f"\\{ord(match[0]):02X}"
