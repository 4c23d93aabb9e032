"""Single changes of the product's text that a test should see.

Python is changed inside functions, one expression at a time; contracts, one token of an
operation. The text around a change stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A part of a file's text, from `start` to `end`, and what takes its place."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def apply(self, text: str) -> str:
        """The file's text with the change."""
        assert text[self.start : self.end] == self.old, self
        return text[: self.start] + self.new + text[self.end :]


_OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Add(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(),
    ast.LShift: ast.RShift(),
    ast.RShift: ast.LShift(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
    ast.Pow: ast.Mult(),
}
_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
}
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}

Change = tuple[ast.AST, str]
"""A node and the text that replaces it."""


def python_mutants(file: str, text: str) -> list[Mutant]:
    """All changes of a Python file that compile."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()
    found: list[Mutant] = []
    for node, new in _changes(ast.parse(text)):
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start, end = (
            starts[line - 1] + len(lines[line - 1].encode()[:column].decode())
            for line, column in (
                (node.lineno, node.col_offset),
                (node.end_lineno, node.end_col_offset),
            )
        )
        found.append(Mutant(file, node.lineno, start, end, text[start:end], new))
    return found


def _changes(tree: ast.Module) -> Iterator[Change]:
    alike = {id(node) for node in _any_negative(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                for child in _inside(statement):
                    if id(child) not in alike:
                        yield from _changes_of(child)


def _any_negative(tree: ast.Module) -> Iterator[ast.expr]:
    """The 1 of each -1 that `reshape` is given: for numpy any negative number is the
    size that remains."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(attr="reshape"), arguments):
                for argument in arguments:
                    for one in ast.walk(argument):
                        match one:
                            case ast.UnaryOp(ast.USub(), ast.Constant(1) as number):
                                yield number
                            case _:
                                pass
            case _:
                pass


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, but for functions, which are visited themselves, and
    for annotations, formatted strings, assertions and `strict=True`, which no test can
    see."""
    if isinstance(node, ast.FunctionDef | ast.JoinedStr | ast.Assert):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        return
    yield node
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "pattern"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST):
                yield from _inside(child)


def _changes_of(node: ast.AST) -> Iterator[Change]:
    """What may take the place of one node."""
    match node:
        case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
            if not _is_text(left) and not _is_text(right):
                other = _OPERATORS[type(operator)]
                yield node, _text(ast.BinOp(left, other, right))
        case ast.Compare(left, operators, comparators):
            for index, operator in enumerate(operators):
                changed = list(operators)
                changed[index] = _COMPARISONS[type(operator)]
                yield node, _text(ast.Compare(left, changed, comparators))
        case ast.BoolOp(operator, values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield node, _text(ast.BoolOp(other, values))
            yield node, _text(values[0])
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            if not isinstance(operand, ast.Constant):
                yield node, _text(operand)
        case ast.IfExp(_, body, orelse):
            yield node, _text(body)
            yield node, _text(orelse)
        case ast.If(test):
            yield test, "False"
        case ast.Constant(bool() as value):
            yield node, repr(not value)
        case ast.Constant(int() as value):
            yield node, f"({value + 1})"
            yield node, f"({value - 1})"
        case ast.Call(ast.Name(name)) if name in _FUNCTIONS:
            yield node.func, _FUNCTIONS[name]
        case ast.Expr(ast.Call() as call):
            yield call, "None"
        case ast.Raise():
            yield node, "pass"
        case ast.Tuple(elements, ast.Load()) if len(elements) > 2 and not any(
            isinstance(element, ast.Slice) for element in elements
        ):
            yield node, _text(ast.Tuple(elements[:-1], ast.Load()))
        case ast.List(elements, ast.Load()) if len(elements) > 1:
            yield node, _text(ast.List(elements[:-1], ast.Load()))
        case _:
            pass


def _is_text(node: ast.expr) -> bool:
    """Whether an operand of + may be no number."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr | ast.Tuple | ast.List | ast.ListComp)


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


_TOKENS = {
    **{"arith.addi": "arith.subi", "arith.subi": "arith.addi"},
    **{"arith.addf": "arith.subf", "arith.subf": "arith.addf"},
    **{"arith.mulf": "arith.divf", "arith.divf": "arith.mulf"},
    **{"arith.maxsi": "arith.minsi", "arith.minsi": "arith.maxsi"},
    **{"arith.maximumf": "arith.minimumf", "arith.minimumf": "arith.maximumf"},
    **{"arith.shli": "arith.shrsi", "arith.shrsi": "arith.shrui"},
    **{"arith.andi": "arith.ori", "arith.ori": "arith.andi"},
    **{"arith.muli": "arith.addi", "arith.divsi": "arith.floordivsi"},
    **{"math.roundeven": "math.round", "math.floor": "math.trunc"},
    **{"half_up": "half_away", "half_away": "half_even", "half_even": "half_up"},
    **{"floor": "toward_zero", "toward_zero": "floor", "half_down": "half_up"},
    **{"sge": "sgt", "sgt": "sge", "slt": "sle", "sle": "slt", "eq": "ne", "ne": "eq"},
    **{"oge": "ogt", "ogt": "oge", "olt": "ole", "ole": "olt", "oeq": "one"},
}
"""Words of an operation, and what takes their places."""

_WORD = re.compile(r"[\w.]+")
_INTEGER = re.compile(r"(?<![\w.@%#+-])-?\d+(?![\w.#]|\s*x)")
_OPERANDS = re.compile(
    r"(?:arith\.(?:sub[if]|div\w+|shl\w|shr\w+"
    r"|cmpi [su]\w+,|cmpf [ou](?!eq|ne)\w+,)|arith\.select %[\w#]+,)"
    r" (?P<operands>(%[\w#]+), (%[\w#]+))"
)


_BOUND = re.compile(
    r"(?P<flag>%\w+) = arith\.cmpf (?P<word>o[lg][te]), (?P<x>%\w+), "
    r"(?P<bound>-?\d+\.\d+) : f\d+\n\s+%\w+ = arith\.select (?P=flag), "
    r"(?:(?P=bound), (?P=x)|(?P=x), (?P=bound)) : f\d+\n"
    r"(?!(?:(?!func\.func)[\s\S])*?(?P=flag)\b)"
)
"""A comparison that does nothing but bound a number: equality gives the bound itself,
which it is."""


def _without_change(text: str) -> set[int]:
    """Where words stand whose change keeps every value."""
    return {
        match.start("word")
        for match in _BOUND.finditer(text)
        if float(match["bound"]) != 0
    }


def contract_mutants(file: str, text: str) -> list[Mutant]:
    """All changes of the operations in a contract's functions, but for comparisons with
    a bound other than 0 that the compared number is replaced by."""
    found: list[Mutant] = []
    left_out = _without_change(text)
    position = 0
    in_function = False
    for number, whole in enumerate(text.splitlines(keepends=True), 1):
        line = whole.split("//")[0]
        in_function |= "func.func" in line
        if in_function and line.lstrip().startswith(("%", "cf.assert")):
            for start, end, new in _changes_of_line(line):
                begin, stop = position + start, position + end
                if begin in left_out:
                    continue
                found.append(Mutant(file, number, begin, stop, line[start:end], new))
        position += len(whole)
    return found


def _changes_of_line(line: str) -> Iterator[tuple[int, int, str]]:
    if line.lstrip().startswith("cf.assert"):
        yield line.index("cf.assert"), len(line.rstrip()), ""
        return
    first = line.index("=") + 1 if "=" in line else 0
    for match in _WORD.finditer(line, first):
        before = line[match.start() - 1]
        if before not in "%@" and match[0] in _TOKENS:
            yield match.start(), match.end(), _TOKENS[match[0]]
    for match in _INTEGER.finditer(line, first):
        for step in (1, -1):
            yield match.start(), match.end(), str(int(match[0]) + step)
    match = _OPERANDS.search(line, first)
    if match is not None:
        yield *match.span("operands"), f"{match[3]}, {match[2]}"
