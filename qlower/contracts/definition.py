"""Definitions of a contract's file on top of its base, read as far as they are
needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qlower.contracts.calls import complete_calls, value_name
from qlower.contracts.outline import Outline, functions_of
from qlower.contracts.products import EXACT
from qlower.contracts.reading import (
    Functions,
    Rule,
    chooser_of,
    inherit,
    read_functions,
    read_rules,
)
from qlower.contracts.rules import OF_WORDS, RULES, is_of_words

FEW_READINGS = 4
"""Times that some rules of a contract are read before all are read in one step, which
takes as long as some five times; one model asks two or three times."""


@dataclass(frozen=True, eq=False)
class Definition:
    """The functions of a contract's file, and the definition of its base.

    `own` is the file's module. For a contract that comes with qlower it is an outline,
    and only the functions that a wanted rule is made of are parsed.
    """

    name: str
    own: ModuleOp | Outline
    base: Definition | None

    @cached_property
    def whole(self) -> Functions:
        """All functions and rules, inherited ones included, verified but in contracts
        that come with qlower: these are known to verify."""
        if not isinstance(self.own, ModuleOp):
            module = self._on_base()
            complete_calls(module)
            return Functions(module, read_rules(module))
        if self.base is None:
            return read_functions(self.own.clone())
        return read_functions(self.own.clone(), self.base.name, self.base.written)

    @cached_property
    def written(self) -> ModuleOp:
        """All functions, inherited ones included, whose calls still leave out
        arguments."""
        return self._parsed if self.base is None else self._on_base()

    @cached_property
    def _parsed(self) -> ModuleOp:
        """The file's functions as they are written."""
        return self.own if isinstance(self.own, ModuleOp) else self.own.parse()

    def _on_base(self) -> ModuleOp:
        """Copies of all functions, inherited ones included, as they are written."""
        module = self._parsed.clone()
        if self.base is not None:
            inherit(module, self.base.name, self.base.written)
        return module

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        """The rules by name. Those of a module are all checked immediately."""
        return self.whole.rules if isinstance(self.own, ModuleOp) else _Rules(self)

    @cached_property
    def outlines(self) -> tuple[Outline, ...]:
        """The outlines of the contract and its bases, which all come with qlower."""
        assert isinstance(self.own, Outline)
        return (self.own, *(self.base.outlines if self.base is not None else ()))

    def part(self, names: frozenset[str]) -> ModuleOp:
        """The functions of these names, from the outlines, not verified."""
        module = self._written(names)
        complete_calls(module)
        return module

    def _written(self, names: frozenset[str]) -> ModuleOp:
        """The functions of these names, whose calls still leave out arguments."""
        assert isinstance(self.own, Outline)
        module = self.own.parse(names)
        if self.base is not None:
            inherit(module, self.base.name, self.base._written(names))
        return module

    def read(self, rules: Iterable[str]) -> None:
        """Read rules together that will be asked for, which takes less."""
        if isinstance(self.rules, _Rules):
            self.rules.read(rules)

    def function(self, name: str) -> Rule:
        """A function, which may be a helper, of a contract that comes with qlower."""
        module = self.part(functions_of(name, self.outlines))
        (function,) = (
            op
            for op in module.body.ops
            if isinstance(op, FuncOp) and op.sym_name.data == name
        )
        arguments = range(len(function.function_type.inputs))
        values = tuple(value_name(function, index) or "" for index in arguments)
        return Rule(name, function, values, (EXACT,))


class _Rules(Mapping[str, Rule]):
    """Rules that are read when they are asked for."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._found: dict[str, Rule | None] = {}
        self._readings = 0

    def __getitem__(self, name: str) -> Rule:
        self.read([name])
        found = self._found[name]
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._definition.whole.rules)

    def __len__(self) -> int:
        return len(self._definition.whole.rules)

    def __bool__(self) -> bool:
        return any(rule in self for rule in RULES)  # not all, as to count them

    def read(self, rules: Iterable[str]) -> None:
        """Parse the functions of those rules that aren't known yet, or in the end all
        that there are."""
        new = {rule for rule in rules if rule not in self._found}
        if not new:
            return
        self._readings += 1
        if self._readings > FEW_READINGS or "whole" in vars(self._definition):
            known = self._definition.whole.rules
            self._found |= {rule: known.get(rule) for rule in new}
            return
        outlines = self._definition.outlines
        wanted = new | {chooser_of(rule) for rule in new} & RULES.keys()
        names = frozenset[str]().union(*(functions_of(one, outlines) for one in wanted))
        if names:
            known = read_rules(self._definition.part(names))
            self._found |= {rule: known.get(rule) for rule in new}
        else:
            self._found |= dict.fromkeys(new)


class RulesOfWords(Mapping[str, Rule]):
    """The rules for 16-bit elements among others, by the names of those for bytes."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = rules

    def __getitem__(self, name: str) -> Rule:
        return self._rules[f"{name}{OF_WORDS}"]

    def __iter__(self) -> Iterator[str]:
        return (
            name.removesuffix(OF_WORDS) for name in self._rules if is_of_words(name)
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)
