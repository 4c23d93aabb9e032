"""The functions of a contract, and the rules that they serve, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, i32
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.hints import isa

from qlower.contracts.calls import (
    VALUE,
    check_calls,
    check_functions,
    complete_calls,
    value_name,
)
from qlower.contracts.products import EXACT, IN_TURN, PRODUCTS
from qlower.contracts.rules import FREELY_TYPED, RULES, is_of_words
from qlower.diagnostics import QlowerError
from qlower.dialects.copying import copy_operation
from qlower.interp.values import Array
from qlower.text.verification import verify_module

SERVED = "contract.rules"
"""The attribute of a function that lists the rules which it serves. Without it, a
function that redefines one of the base serves what that one does; any other serves the
rule of its own name, if it is public."""

REPLACES = "contract.replaces"
"""The attribute of a function that takes the place of a helper of the base, also where
functions of the base call that."""

WORDS = "contract.words"
"""The module attribute of a contract that has the base's rules for 16-bit elements."""

PRODUCT = "contract.product"
"""The attribute of a contraction's rule that names its product (`products.py`), by
default the first of those that it may have. Of a list the contract's rule
`<rule>_product` chooses, by index; if that has the attribute, its list counts."""


@dataclass(frozen=True)
class Rule:
    """One rule of a contract: its function, the values its arguments want, and the
    products that a contraction may have."""

    name: str
    function: FuncOp
    values: tuple[str, ...]
    products: tuple[str, ...]

    def evaluate(self, values: Mapping[str, Array | np.generic]) -> tuple[Array, ...]:
        """The results of the rule for these values; arrays broadcast against each
        other. Of a rule on rows these lie along their last dimension."""
        from qlower.interp import evaluate_function

        if self.is_of_rows:
            return self.evaluate_rows(values)[0]
        return evaluate_function(self.function, [values[name] for name in self.values])

    @property
    def is_of_rows(self) -> bool:
        """Whether the rule is given the elements of rows."""
        return RULES[self.name].of_rows if self.name in RULES else False

    def evaluate_rows(
        self, values: Mapping[str, Array | np.generic]
    ) -> tuple[tuple[Array, ...], Mapping[str, Array]]:
        """The results of a rule on rows, and those of its helpers on rows, by name."""
        from qlower.contracts.rows import evaluate_rows

        arrays = {name: np.asarray(value) for name, value in values.items()}
        return evaluate_rows(self.function, self.values, arrays)

    def evaluate_each(
        self, values: Mapping[str, Array | np.generic], shape: Sequence[int]
    ) -> tuple[Array, ...]:
        """`evaluate` for each element of `shape`, even if the rule looks at none."""
        return tuple(np.broadcast_to(one, shape) for one in self.evaluate(values))


@dataclass(frozen=True)
class Functions:
    """Functions of a contract, inherited ones included, and the rules they serve."""

    module: ModuleOp
    rules: Mapping[str, Rule]


def read_functions(
    module: ModuleOp, base_name: str = "", base: ModuleOp | None = None
) -> Functions:
    """The functions of `module`, which changes, and of its base, as they are written.

    Raises `QlowerError` where they don't verify, or are no rules.
    """
    from qlower.contracts.rows import check_rows

    known = set[FuncOp]()
    if base is None:
        own = [op for op in module.body.ops if isinstance(op, FuncOp)]
        _check_names(own, "a contract without a base", ())
    else:
        known = inherit(module, base_name, base)
    check_functions(module)
    for op in module.body.ops:
        assert isinstance(op, FuncOp)
        check_rows(op)
    complete_calls(module)
    verify_module(module, known)
    check_calls(module)
    return Functions(module, read_rules(module))


def read_rules(module: ModuleOp) -> dict[str, Rule]:
    """The rules that functions serve, whose calls are complete, by their names."""
    rules: dict[str, Rule] = {}
    for op in module.body.ops:
        assert isinstance(op, FuncOp)
        for rule in served_rules(op):
            if rule in rules:
                raise QlowerError(f"rule {rule} is defined twice", op.location)
            rules[rule] = _check_rule(rule, op)
    for name, rule in rules.items():
        chooser = rules.get(chooser_of(name))
        if chooser is not None and PRODUCT in chooser.function.attributes:
            rules[name] = replace(rule, products=_products(name, chooser.function))
    return rules


def chooser_of(rule: str) -> str:
    """The rule that chooses between the products of one."""
    return f"{rule}_product"


def inherit(module: ModuleOp, name: str, base: ModuleOp) -> set[FuncOp]:
    """Copy the functions of the contract `name`; those that `module` redefines under a
    new name. Returns the copies that call none of the module's own functions: what
    verifies in the base verifies here.

    A function that redefines one takes over the rules which that one served, unless it
    lists its own or another function of `module` serves them. A copy serves what is
    left.
    """
    functions = [op for op in module.body.ops if isinstance(op, FuncOp)]
    inherited = [op for op in base.body.ops if isinstance(op, FuncOp)]
    _check_names(functions, name, inherited)
    has_words = WORDS in module.attributes
    served = {
        op.sym_name.data: [
            rule for rule in served_rules(op) if has_words or not is_of_words(rule)
        ]
        for op in inherited
    }
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
    unchanged = set[FuncOp]()
    for function in inherited:
        copy = _copy(function)
        left = served[copy.sym_name.data]
        _serve(copy, [rule for rule in left if rule not in own_rules])
        if copy.sym_name.data in own:
            copy.sym_name = StringAttr(f"{name}.{copy.sym_name.data}")
        unchanged.add(copy)
        for call in copy.body.block.ops:
            if isinstance(call, CallOp):
                callee = call.callee.string_value()
                if callee in own and callee in rule_names:
                    call.callee = SymbolRefAttr(f"{name}.{callee}")
                elif callee in own:
                    unchanged.discard(copy)
        module.body.block.add_op(copy)
    return unchanged


def _copy(function: FuncOp) -> FuncOp:
    """A copy of a straight line of operations, in one step instead of xDSL's two."""
    copies: dict[SSAValue, SSAValue] = {}
    block = Block(arg_types=[argument.type for argument in function.args])
    for argument, copy in zip(function.args, block.args, strict=True):
        copy.name_hint = argument.name_hint
        copies[argument] = copy
    for op in function.body.block.ops:
        block.add_op(copy_operation(op, copies))
    whole = function.clone_without_regions()
    whole.body.add_block(block)
    return whole


def _check_names(
    functions: Sequence[FuncOp], name: str, inherited: Iterable[FuncOp]
) -> None:
    """A function that happens to have the name of one of the base would silently be
    that rule or helper, for the functions of the base, too."""
    is_helper = {op.sym_name.data: _is_private(op) for op in inherited}
    for function in functions:
        own, location = function.sym_name.data, function.location
        if REPLACES in function.attributes:
            if not is_helper.get(own):
                raise QlowerError(
                    f"@{own} replaces no helper: {name} has none of that name", location
                )
            del function.attributes[REPLACES]
        elif is_helper.get(own):
            raise QlowerError(
                f"@{own} has the name of a helper of {name}, whose functions would call"
                " it",
                location,
                help="give it another name, or write `replaces` before its body",
            )
        elif own in is_helper and _is_helper(function):
            raise QlowerError(
                f"the helper @{own} has the name of a rule of {name}",
                location,
                help="give it another name, or leave out `private` to replace the rule",
            )


def _serve(function: FuncOp, rules: Iterable[str]) -> None:
    function.attributes[SERVED] = ArrayAttr(StringAttr(rule) for rule in rules)


def served_rules(function: FuncOp) -> tuple[str, ...]:
    """The rules that a function of a contract serves; none if it is a helper."""
    attribute = function.attributes.get(SERVED)
    if attribute is None:
        return () if _is_private(function) else (function.sym_name.data,)
    # A hint with an argument would be made a constraint at each of thousands of calls.
    entries = attribute.data if isa(attribute, ArrayAttr) else (None,)
    names = tuple(entry.data for entry in entries if isinstance(entry, StringAttr))
    if len(names) < len(entries):
        raise QlowerError(
            f"{SERVED} must be a list of names of rules, not {attribute}",
            function.location,
        )
    return names


def _is_helper(function: FuncOp) -> bool:
    """Whether a function serves no rule, not even that of its name in a base."""
    return _is_private(function) and SERVED not in function.attributes


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
        is_free = value in FREELY_TYPED and offered == i32
        if type != offered and not is_free:
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
    is_chooser = name.endswith(chooser_of(""))
    products = (EXACT,) if is_chooser else _products(name, function)
    return Rule(name, function, tuple(values), products)


def _products(name: str, function: FuncOp) -> tuple[str, ...]:
    legal = PRODUCTS.get(name, (EXACT,))
    attribute = function.attributes.get(PRODUCT, StringAttr(legal[0]))
    entries = attribute.data if isa(attribute, ArrayAttr) else (attribute,)
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
    if IN_TURN in names and len(names) > 1 and chooser_of(name) not in RULES:
        raise QlowerError(
            f"{PRODUCT} of rule {name} names several, between which no rule chooses",
            function.location,
        )
    return tuple(names)


def _type_list(types: tuple[Attribute, ...]) -> str:
    return ", ".join(str(type) for type in types)
