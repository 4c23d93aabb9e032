"""Contracts' statements about themselves, without reading their functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from qlower.contracts import BASE, FAMILY, SUMMARY, contract_names, module_string
from qlower.files.contract_plugins import plugin_contracts
from qlower.text.parsing import parse_module

_FIRST_FUNCTION = re.compile(r"^\s*func\.func\b", re.MULTILINE)


@dataclass(frozen=True)
class Header:
    """A contract's name and the attributes of its module; `base` is a name, or empty,
    and the family empty where it is the base's."""

    name: str
    summary: str
    family: str
    base: str


def contract_headers() -> list[Header]:
    """The headers of the contracts that come with qlower, in alphabetical order, and of
    those that other packages bring."""
    shipped = files("qlower.contracts")
    found: dict[str, Traversable] = {
        name: shipped / f"{name}.mlir" for name in contract_names()
    }
    for name, file in plugin_contracts().items():
        found.setdefault(name, file)
    headers = {name: _header(name, file) for name, file in found.items()}
    return [
        Header(name, found.summary, _family(found, headers), found.base)
        for name, found in headers.items()
    ]


def _header(name: str, resource: Traversable) -> Header:
    text = resource.read_text(encoding="utf-8")
    function = _FIRST_FUNCTION.search(text)
    if function is not None:
        text = f"{text[: function.start()]}\n}}"
    module = parse_module(text, str(resource))
    summary, family, base = (
        module_string(module, key) for key in (SUMMARY, FAMILY, BASE)
    )
    return Header(name, summary, family, "" if base.startswith("_") else base)


def _family(header: Header, headers: dict[str, Header]) -> str:
    """Its own, or else its base's."""
    while not header.family and header.base in headers:
        header = headers[header.base]
    return header.family
