"""Numerics contracts: whose arithmetic a model has.

A contract is a file of MLIR text that says, rule by rule, what an operation means from
its real scales to the stored result (`rules.py` lists the rules and what they may ask
for). The lowering inlines rules; the interpreter evaluates them; nothing else knows
arithmetic.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, StringAttr

from qlower.contracts.definition import Definition, RulesOfWords
from qlower.contracts.outline import Outline
from qlower.contracts.reading import Rule
from qlower.contracts.rules import OF_WORDS
from qlower.contracts.shorthand import parse_contract_module
from qlower.diagnostics import QlowerError, make_file_location, printable
from qlower.files.contract_plugins import plugin_contracts
from qlower.kept.journal import beside, read_file

__all__ = [
    "BASE",
    "FAMILY",
    "PREFIX",
    "SUMMARY",
    "Contract",
    "Rule",
    "contract_names",
    "is_contract",
    "load_contract",
    "module_string",
    "parse_contract",
    "plain_module",
]

SUMMARY = "contract.summary"

PREFIX = "arithmetic:"
"""The start of names that describe an arithmetic."""

FAMILY = "contract.family"
"""The module attribute that says what the contract belongs to; inherited."""

QDQ = "contract.qdq"
"""The module attribute that says how the contract's system reads groups of dequantize,
operator, quantize in an ONNX file (`frontends.import_options.QDQ_READINGS`);
inherited."""

CODES = "contract.codes"
"""The module attribute that is `signed` if the contract's system has no unsigned codes;
inherited."""

BASE = "contract.base"
"""The module attribute that names the contract whose functions, rules and private
helpers alike, are taken where the file defines none of the name. A path that ends in
`.mlir` is relative to the file.

Rules for 16-bit elements are not inherited unless the module says `contract.words`.

A private helper that the file defines replaces the base's in the inherited functions
too; it can't have the name of one of the base's rules. What a function replaces can
still be called, by the base's name: `@tflite.add` where the base is tflite; inherited
functions that call a rule mean that one.
"""


LARGEST_TEXT = 1 << 19
"""Characters that a contract's file may have."""

KEPT = 16
"""Contracts of files that are kept, by their texts and their bases'."""


@dataclass(frozen=True, eq=False)
class Contract:
    """A named set of rules.

    `text` is its file's. `base` is None where the contract stands alone. `definition`
    has its functions; `rules` may be of others, whose names end in `suffix` there.
    `qdq` is how its system reads ONNX files, if it does; `codes` is `signed` if that
    has no other codes.
    """

    name: str
    text: str = field(repr=False)
    summary: str
    family: str
    base: Contract | None = field(repr=False)
    definition: Definition = field(repr=False)
    rules: Mapping[str, Rule] = field(repr=False)
    qdq: str | None = None
    codes: str | None = None
    suffix: str = ""

    @cached_property
    def source(self) -> str:
        """The text of the contract and of its bases: a part of every cache key."""
        return self.text + (self.base.source if self.base else "")

    @property
    def origin(self) -> Contract | None:
        """The contract that this one is based on; a library is none, nor is a base of
        steps alone."""
        if self.base is None or self.base.is_library or not self.base.rules:
            return None
        return self.base

    @property
    def is_library(self) -> bool:
        """Whether it only has steps and rules for contracts that are based on it."""
        return self.name.startswith("_")

    @cached_property
    def of_words(self) -> Contract:
        """The contract of operations on 16-bit elements: its rules for these, by the
        names of those for bytes."""
        return replace(self, rules=RulesOfWords(self.rules), suffix=OF_WORDS)

    def rule(self, name: str) -> Rule:
        """The rule of that name; a `QlowerError` if the contract doesn't define it."""
        found = self.rules.get(name)
        if found is None:
            raise QlowerError(
                f"contract {self.name} has no rule {name}{self.suffix}, which this "
                "model needs",
                notes=[f"it defines {self.rule_names}"],
            )
        return found

    @property
    def rule_names(self) -> str:
        """The names of its rules, for messages."""
        return ", ".join(f"{name}{self.suffix}" for name in self.rules) or "none"


def contract_names() -> list[str]:
    """The names of the contracts that come with qlower.

    Those that begin with "_" hold steps for others and are none by themselves.
    """
    return [name for name in _shipped_names() if not name.startswith("_")]


@lru_cache
def _shipped_names() -> list[str]:
    return sorted(
        entry.name.removesuffix(".mlir")
        for entry in files(__name__).iterdir()
        if entry.name.endswith(".mlir")
    )


def is_contract(name: str) -> bool:
    """Whether a text names a contract: one that comes with qlower or a package, a file,
    or an arithmetic."""
    return (
        name.endswith(".mlir")
        or name.startswith(PREFIX)
        or name in contract_names()
        or name in plugin_contracts()
    )


def load_contract(name: str, heirs: tuple[str, ...] = ()) -> Contract:
    """The contract called `name`, or the one in the file `name` if it ends in .mlir; or
    an arithmetic that the name describes (`family/names.py`).

    `heirs` are the files of the contracts that it is a base of.
    """
    if name.startswith(PREFIX):
        return _arithmetic(name)
    if name.endswith(".mlir"):
        return _load_file(name, Path(name).stem, heirs)
    if name not in _shipped_names() and name in plugin_contracts():
        return _load_file(str(plugin_contracts()[name]), name, heirs)
    return _load_shipped_contract(name)


@lru_cache(maxsize=64)
def _arithmetic(name: str) -> Contract:
    from qlower.contracts.family.names import text_of

    return parse_contract(text_of(name), name, name)


def _load_file(file: str, name: str, heirs: tuple[str, ...]) -> Contract:
    try:
        text = read_file(file).decode()
    except (OSError, UnicodeDecodeError) as error:
        shown = printable(file)
        raise QlowerError(f"contract {shown} can't be read: {error}") from error
    return parse_contract(text, name, file, heirs)


def _load_base(name: str, heirs: tuple[str, ...], location: FileLineColLoc) -> Contract:
    """The base of the last heir, which names it at the location. A file's name is
    relative to the heir's."""
    if name.endswith(".mlir"):
        name = beside(heirs[-1], name)
    file = os.path.realpath(plugin_contracts().get(name, name))
    if any(file == os.path.realpath(heir) for heir in heirs):
        raise QlowerError(f"the base {name} is based on this contract", location)
    try:
        return load_contract(name, heirs)
    except QlowerError as error:
        if error.location is None:
            error.location = location
        raise


def _place_of_base(text: str, filename: str) -> FileLineColLoc:
    """The position at which a contract's text names its base."""
    position = max(text.find(BASE), 0)
    line = text.count("\n", 0, position) + 1
    return make_file_location(filename, line, position - text.rfind("\n", 0, position))


@lru_cache
def _load_shipped_contract(name: str) -> Contract:
    if name not in _shipped_names():
        known = [*contract_names(), *plugin_contracts()]
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        if os.path.isfile(f"{name}.mlir"):
            hint = f"did you mean the file ./{name}.mlir? "
        raise QlowerError(
            f"there is no contract {name!r}",
            help=f"{hint}`qlower contracts` lists them; "
            "a contract of your own is a path that ends in .mlir",
        )
    resource = files(__name__) / f"{name}.mlir"
    outline = Outline(resource.read_text(encoding="utf-8"), str(resource))
    header = outline.parse(frozenset())
    base = _base_of(header, outline.text, str(resource), ())
    return _contract(name, outline.text, header, outline, base)


def parse_contract(
    text: str, name: str, filename: str, heirs: tuple[str, ...] = ()
) -> Contract:
    """Read a contract from its text; errors point into `filename`.

    `heirs` are the files of the contracts that it is a base of.
    """
    if len(text) > LARGEST_TEXT:
        raise QlowerError(
            f"{len(text)} characters are more than the {LARGEST_TEXT} of a contract",
            make_file_location(filename, 1, 1),
        )
    base = _base_of(_own_module(text, filename), text, filename, heirs)
    return _contract_on(base, text, name, filename)


@lru_cache(maxsize=KEPT)
def _own_module(text: str, filename: str) -> ModuleOp:
    return parse_contract_module(text, filename)


@lru_cache(maxsize=KEPT)
def _contract_on(
    base: Contract | None, text: str, name: str, filename: str
) -> Contract:
    own = _own_module(text, filename)
    return _contract(name, text, own, own, base)


def _base_of(
    header: ModuleOp, text: str, filename: str, heirs: tuple[str, ...]
) -> Contract | None:
    """The base that a module names, as its file is now."""
    name = module_string(header, BASE)
    if not name:
        return None
    return _load_base(name, (*heirs, filename), _place_of_base(text, filename))


def _contract(
    name: str,
    text: str,
    header: ModuleOp,
    own: ModuleOp | Outline,
    base: Contract | None,
) -> Contract:
    keys = (SUMMARY, FAMILY, QDQ, CODES)
    summary, family, qdq, codes = (module_string(header, key) for key in keys)
    if base is not None:
        family, qdq, codes = family or base.family, qdq or base.qdq, codes or base.codes
    definition = Definition(name, own, None if base is None else base.definition)
    rules = definition.rules
    return Contract(
        *(name, text, summary, family, base, definition, rules),
        qdq or None,
        codes or None,
    )


def plain_module(contract: Contract) -> ModuleOp:
    """All functions of a contract, inherited ones too, as a contract without a base:
    what calls and functions leave out in its text is written there."""
    module = contract.definition.whole.module.clone()
    module.attributes.pop(BASE, None)
    return module


def module_string(module: ModuleOp, key: str) -> str:
    """A string among a contract's module attributes, empty where there is none."""
    attribute = module.attributes.get(key)
    if attribute is None:
        return ""
    if not isinstance(attribute, StringAttr):
        raise QlowerError(f"{key} must be a string, not {attribute}", module.location)
    return attribute.data
