"""Numerics contracts: whose arithmetic a model has.

A contract is a file of MLIR text that says, rule by rule, what an operation means from
its real scales to the stored result (`rules.py` lists the rules and what they may ask
for). The lowering inlines rules; the interpreter evaluates them; nothing else knows
arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from qlower.contract_plugins import plugin_contracts
from qlower.contracts.calls import (
    VALUE,
    check_calls,
    check_functions,
    complete_calls,
    value_name,
)
from qlower.contracts.products import EXACT, PRODUCTS
from qlower.contracts.rules import FREELY_TYPED, RULES
from qlower.diagnostics import QlowerError, make_file_location
from qlower.files.journal import read_file
from qlower.interp.values import Array
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

SERVED = "contract.rules"
"""The attribute of a function that lists the rules which it serves. Without it, a
function that redefines one of the base serves what that one does; any other serves the
rule of its own name, if it is public."""

PRODUCT = "contract.product"
"""The attribute of a contraction's rule that names its product (`products.py`), `exact`
by default. Of a list the contract's rule `<rule>_product` chooses, by index."""

SUMMARY = "contract.summary"

FAMILY = "contract.family"
"""The module attribute that says what the contract belongs to; inherited."""

BASE = "contract.base"
"""The module attribute that names the contract whose functions, rules and private
helpers alike, are taken where the file defines none of the name.

A private helper that the file defines replaces the base's in the inherited functions
too. What it replaces can still be called, by the base's name: `@tflite.add` where the
base is tflite; inherited functions that call a rule mean that one.
"""


LARGEST_TEXT = 1 << 19
"""Characters that a contract's file may have."""


@dataclass(frozen=True)
class Rule:
    """One rule of a contract: its function, the values its arguments want, and the
    products that a contraction may have."""

    name: str
    function: FuncOp
    values: tuple[str, ...]
    products: tuple[str, ...]

    def evaluate(self, values: Mapping[str, Array | np.generic]) -> tuple[Array, ...]:
        """What the rule gives for these values; arrays broadcast against each other."""
        from qlower.interp import evaluate_function

        return evaluate_function(self.function, [values[name] for name in self.values])


@dataclass(frozen=True)
class Contract:
    """A named set of rules.

    `text` is its file's; `source` has that of its bases too, and is a part of every
    cache key. `base` is None where the contract stands alone. `module` has every
    function, inherited ones too; in `written` calls still leave out arguments.
    """

    name: str
    text: str
    source: str
    summary: str
    family: str
    base: Contract | None = field(repr=False)
    rules: Mapping[str, Rule] = field(repr=False)
    module: ModuleOp = field(repr=False)
    written: ModuleOp = field(repr=False)

    @property
    def origin(self) -> Contract | None:
        """The contract that this one is based on; a base of steps alone is none."""
        return self.base if self.base is not None and self.base.rules else None

    def rule(self, name: str) -> Rule:
        """The rule of that name; a `QlowerError` if the contract doesn't define it."""
        found = self.rules.get(name)
        if found is None:
            raise QlowerError(
                f"contract {self.name} has no rule {name}, which this model needs",
                notes=[f"it defines {', '.join(self.rules)}"],
            )
        return found


def contract_names() -> list[str]:
    """The names of the contracts that come with qlower.

    Those that begin with "_" hold steps for others and are none by themselves.
    """
    return [name for name in _shipped_names() if not name.startswith("_")]


def _shipped_names() -> list[str]:
    return sorted(
        entry.name.removesuffix(".mlir")
        for entry in files(__name__).iterdir()
        if entry.name.endswith(".mlir")
    )


def load_contract(name: str, heirs: tuple[str, ...] = ()) -> Contract:
    """The contract called `name`, or the one in the file `name` if it ends in .mlir.

    `heirs` are the files of the contracts that it is a base of.
    """
    if name.endswith(".mlir"):
        return _load_file(name, Path(name).stem, heirs)
    if name not in _shipped_names() and name in plugin_contracts():
        return _load_file(str(plugin_contracts()[name]), name, heirs)
    return _load_shipped_contract(name)


def _load_file(file: str, name: str, heirs: tuple[str, ...]) -> Contract:
    try:
        text = read_file(file).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise QlowerError(f"contract {file} can't be read: {error}") from error
    return parse_contract(text, name, file, heirs)


def _load_base(name: str, heirs: tuple[str, ...], location: FileLineColLoc) -> Contract:
    """The base of the last heir, which names it at the location."""
    file = Path(plugin_contracts().get(name, name)).absolute()
    if any(file == Path(heir).absolute() for heir in heirs):
        raise QlowerError(f"the base {name} is based on this contract", location)
    try:
        return load_contract(name, heirs)
    except QlowerError as error:
        if error.location is None:
            error.location = location
        raise


def _place_of_base(text: str, filename: str) -> FileLineColLoc:
    """Where a contract's text names its base."""
    position = max(text.find(BASE), 0)
    line = text.count("\n", 0, position) + 1
    return make_file_location(filename, line, position - text.rfind("\n", 0, position))


@lru_cache
def _load_shipped_contract(name: str) -> Contract:
    if name not in _shipped_names():
        known = [*contract_names(), *plugin_contracts()]
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        if Path(f"{name}.mlir").is_file():
            hint = f"did you mean the file ./{name}.mlir? "
        raise QlowerError(
            f"there is no contract {name!r}",
            help=f"{hint}known contracts: {', '.join(known)}; "
            "a contract of your own is a path that ends in .mlir",
        )
    resource = files(__name__) / f"{name}.mlir"
    return parse_contract(resource.read_text(encoding="utf-8"), name, str(resource))


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
    module = parse_module(text, filename)
    rules: dict[str, Rule] = {}
    base_name = module_string(module, BASE)
    base = None
    if base_name:
        base = _load_base(base_name, (*heirs, filename), _place_of_base(text, filename))
        _inherit(module, base)
    check_functions(module)
    written = module.clone()
    complete_calls(module)
    verify_module(module)
    check_calls(module)
    for op in module.body.ops:
        assert isinstance(op, FuncOp)
        for rule in served_rules(op):
            if rule in rules:
                raise QlowerError(f"rule {rule} is defined twice", op.location)
            rules[rule] = _check_rule(rule, op)
    return Contract(
        name,
        text,
        text + (base.source if base else ""),
        module_string(module, SUMMARY),
        module_string(module, FAMILY) or (base.family if base else ""),
        base,
        rules,
        module,
        written,
    )


def _inherit(module: ModuleOp, base: Contract) -> None:
    """Copy the functions of `base`; those that `module` redefines under a new name.

    A function that redefines one takes over the rules which that one served, unless it
    lists its own or another function of `module` serves them. A copy serves what is
    left.
    """
    functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
    inherited = [op for op in base.written.body.ops if isinstance(op, FuncOp)]
    served = {op.sym_name.data: served_rules(op) for op in inherited}
    own = {function.sym_name.data for function in functions}
    redefinitions = [
        function
        for function in functions
        if function.sym_name.data in served and SERVED not in function.attributes
    ]
    others = [function for function in functions if function not in redefinitions]
    taken = {rule for function in others for rule in served_rules(function)}
    for function in redefinitions:
        left = [rule for rule in served[function.sym_name.data] if rule not in taken]
        _serve(function, left)
    own_rules = {rule for function in functions for rule in served_rules(function)}
    rule_names = {op.sym_name.data for op in inherited if not _is_private(op)}
    for function in inherited:
        copy = function.clone()
        _serve(copy, [rule for rule in served_rules(copy) if rule not in own_rules])
        if copy.sym_name.data in own:
            copy.sym_name = StringAttr(f"{base.name}.{copy.sym_name.data}")
        for call in copy.body.block.ops:
            if isinstance(call, CallOp):
                callee = call.callee.string_value()
                if callee in own and callee in rule_names:
                    call.callee = SymbolRefAttr(f"{base.name}.{callee}")
        module.body.block.add_op(copy)


def _serve(function: FuncOp, rules: Iterable[str]) -> None:
    function.attributes[SERVED] = ArrayAttr(StringAttr(rule) for rule in rules)


def served_rules(function: FuncOp) -> tuple[str, ...]:
    """The rules that a function of a contract serves; none if it is a helper."""
    attribute = function.attributes.get(SERVED)
    if attribute is None:
        return () if _is_private(function) else (function.sym_name.data,)
    if not isa(attribute, ArrayAttr[StringAttr]):
        raise QlowerError(
            f"{SERVED} must be a list of names of rules, not {attribute}",
            function.location,
        )
    return tuple(rule.data for rule in attribute.data)


def module_string(module: ModuleOp, key: str) -> str:
    """A string among a contract's module attributes, empty where there is none."""
    attribute = module.attributes.get(key)
    if attribute is None:
        return ""
    if not isinstance(attribute, StringAttr):
        raise QlowerError(f"{key} must be a string, not {attribute}", module.location)
    return attribute.data


def _is_private(function: FuncOp) -> bool:
    visibility = function.sym_visibility
    return visibility is not None and visibility.data == "private"


def _check_rule(name: str, function: FuncOp) -> Rule:
    """Check a function against the signature of a rule that it serves."""
    location = function.location
    signature = RULES.get(name)
    if signature is None:
        close = get_close_matches(name, RULES, n=1)
        raise QlowerError(
            f"there is no rule {name}",
            location,
            notes=[f"rules are {', '.join(RULES)}"],
            help=(f"did you mean {close[0]}? " if close else "")
            + "a helper function must be private",
        )
    values: list[str] = []
    for index, type in enumerate(function.function_type.inputs):
        value = value_name(function, index)
        if value is None:
            raise QlowerError(
                f"argument {index} of rule {name} has neither a name nor the attribute "
                f"{VALUE}",
                location,
            )
        offered = signature.values.get(value)
        if offered is None:
            raise QlowerError(
                f"rule {name} is not given a value {value!r}",
                location,
                notes=[f"it may ask for {', '.join(signature.values)}"],
            )
        if type != offered and value not in FREELY_TYPED:
            raise QlowerError(
                f"argument {index} of rule {name} wants {value} as {type}, "
                f"it is given as {offered}",
                location,
            )
        values.append(value)
    results = tuple(function.function_type.outputs)
    if signature.results is not None and results != signature.results:
        raise QlowerError(
            f"rule {name} returns ({_type_list(results)}), "
            f"it must return ({_type_list(signature.results)})",
            location,
        )
    return Rule(name, function, tuple(values), _products(name, function))


def _products(name: str, function: FuncOp) -> tuple[str, ...]:
    attribute = function.attributes.get(PRODUCT, StringAttr(EXACT))
    entries = attribute.data if isa(attribute, ArrayAttr) else (attribute,)
    legal = PRODUCTS.get(name, (EXACT,))
    names: list[str] = []
    for entry in entries:
        if not isinstance(entry, StringAttr) or entry.data not in legal:
            raise QlowerError(
                f"{PRODUCT} {entry} of rule {name} is not one of {', '.join(legal)}",
                function.location,
            )
        names.append(entry.data)
    if not names:
        raise QlowerError(f"{PRODUCT} of rule {name} is empty", function.location)
    return tuple(names)


def _type_list(types: tuple[Attribute, ...]) -> str:
    return ", ".join(str(type) for type in types)
