"""SystemVerilog as circuits of ours are printed, evaluated in Python.

The subset has one operation a line. Widths and signs are those of IEEE 1800-2017, 11.6
and 11.8: an expression is signed if all its operands are, a part or a concatenation
never is. Operands of one operation must have the same width, which is asserted, so that
nothing is extended. Registers are passed through, and counted: what meets in a step
must have passed as many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_PORT = re.compile(
    r"  (input |output) logic( signed)?(?: \[(\d+):0\])? (\w+)"
    r"(?:  /\* \[(-?\d+), (-?\d+)\] \*/)?,?"
)
_WIRE = re.compile(r"  wire(?: \[(\d+):0\])? (\w+) = (.*);")
_LOGIC = re.compile(r"  logic(?: \[(\d+):0\])? (\w+);")
_REGISTER = re.compile(r"  always_ff @\(posedge clk\) (\w+) <= (.*);")
_CASE = re.compile(r"    case \((.*)\)")
_ENTRY = re.compile(r"      (\d+)'d(\d+): (\w+) = (.*);")
_TOKEN = re.compile(
    r"-?\d+'s?d\d+|\$signed|\w+|<<|>>>|>>|[<>=!]=|[-+*/%&|^<>?:{}()\[\],]"
)


@dataclass(frozen=True)
class Value:
    """Bits as an unsigned number, how many and read how; `later` counts registers that
    they came through, None for constants."""

    number: int
    width: int
    signed: bool
    later: int | None

    @property
    def read(self) -> int:
        """The number as its sign says."""
        if self.signed and self.number >> (self.width - 1):
            return self.number - (1 << self.width)
        return self.number


@dataclass(frozen=True)
class Port:
    """A port, and the integers that its comment says."""

    name: str
    width: int
    signed: bool
    is_input: bool
    range: tuple[int, int] | None


def ports_of(text: str) -> dict[str, Port]:
    """The ports of a module by name."""
    found: dict[str, Port] = {}
    for line in text.splitlines():
        if match := _PORT.fullmatch(line):
            kind, signed, high, name, least, most = match.groups()
            ends = None if least is None else (int(least), int(most))
            width = int(high or 0) + 1
            found[name] = Port(name, width, bool(signed), kind == "input ", ends)
    return found


def evaluate(text: str, values: Mapping[str, Integers], stages: int = 0) -> Integers:
    """The `result` of a module for sets of inputs, as unsigned numbers."""
    names = list(values)
    rows = zip(*(values[name].tolist() for name in names), strict=True)
    found = [_result(text, dict(zip(names, row, strict=True)), stages) for row in rows]
    return np.array(found, np.int64)


def _result(text: str, given: Mapping[str, int], stages: int) -> int:
    known: dict[str, Value] = {}
    ports = ports_of(text)
    for port in ports.values():
        if port.is_input and port.name != "clk":
            number = given[port.name]
            low, high = port.range or (0, (1 << port.width) - 1)
            assert low <= number <= high, port
            assert port.signed == (low < 0), port
            bits = number % (1 << port.width)
            known[port.name] = Value(bits, port.width, port.signed, 0)
    _run(text, known)
    result, port = known["result"], ports["result"]
    assert result.width == port.width
    assert result.later in (stages, None)
    shown = Value(result.number, port.width, port.signed, 0).read
    assert port.range is None or port.range[0] <= shown <= port.range[1]
    return result.number


def _run(text: str, known: dict[str, Value]) -> None:
    """Every statement of a module, in the order of the text."""
    declared: dict[str, int] = {}
    lines = iter(text.partition(");\n")[2].splitlines())
    for line in lines:
        if match := _WIRE.fullmatch(line):
            high, name, source = match.groups()
            assert name not in known, f"{name} has two drivers"
            known[name] = _assigned(source, int(high or 0) + 1, known)
        elif match := _LOGIC.fullmatch(line):
            assert match[2] not in known, f"{match[2]} has two drivers"
            declared[match[2]] = int(match[1] or 0) + 1
        elif match := _REGISTER.fullmatch(line):
            value = _assigned(match[2], declared[match[1]], known)
            later = None if value.later is None else value.later + 1
            known[match[1]] = Value(value.number, value.width, False, later)
        elif match := _CASE.fullmatch(line):
            name, value = _chosen(lines, _expression(match[1], known), known)
            assert value.width == declared[name]
            known[name] = value
        elif match := re.fullmatch(r"  assign (\w+) = (.*);", line):
            known[match[1]] = _expression(match[2], known)
        else:
            assert line in ("  always_comb", "endmodule") or line.strip()[:2] in (
                *("//", "/*"),
            ), line


def _assigned(source: str, width: int, known: Mapping[str, Value]) -> Value:
    value = _expression(source, known)
    assert value.width == width, source
    return Value(value.number, width, False, value.later)


def _chosen(
    lines: Iterator[str], index: Value, known: Mapping[str, Value]
) -> tuple[str, Value]:
    """The name that a table sets, and its entry."""
    entries: dict[int, Value] = {}
    name = ""
    for line in lines:
        match = _ENTRY.fullmatch(line)
        if match is None:
            assert line == f"      default: {name} = '0;"
            break
        assert int(match[1]) == index.width
        name = match[3]
        entries[int(match[2])] = _expression(match[4], known)
    assert next(lines) == "    endcase"
    width = entries[0].width
    value = entries.get(index.number, Value(0, width, False, None))
    return name, Value(value.number, width, False, index.later)


def _expression(source: str, known: Mapping[str, Value]) -> Value:
    parser = _Parser(_TOKEN.findall(source), known)
    value = parser.expression()
    assert not parser.tokens, source
    return value


class _Parser:
    def __init__(self, tokens: list[str], known: Mapping[str, Value]) -> None:
        self.tokens, self.known = tokens, known

    def expression(self) -> Value:
        value = self.operand()
        first = self.tokens[0] if self.tokens else ""
        if first == "?":
            self.take("?")
            yes = self.operand()
            self.take(":")
            no = self.operand()
            assert (value.width, yes.width) == (1, no.width)
            return _made((yes if value.number else no).number, (yes, no), value)
        while self.tokens and self.tokens[0] == first:
            self.take(first)
            value = _applied(first, value, self.operand())
        return value

    def take(self, token: str) -> None:
        assert self.tokens.pop(0) == token

    def operand(self) -> Value:
        token = self.tokens.pop(0)
        if token == "{":
            return self.braces()
        if token == "$signed":
            self.take("(")
            value = self.operand()
            self.take(")")
            return Value(value.number, value.width, True, value.later)
        if literal := re.fullmatch(r"(-?)(\d+)'(s?)d(\d+)", token):
            minus, bits, sign, digits = literal.groups()
            number = -int(digits) if minus else int(digits)
            assert int(digits) < 1 << int(bits) or minus
            return Value(number % (1 << int(bits)), int(bits), bool(sign), None)
        value = self.known[token]
        if self.tokens[:1] != ["["]:
            return value
        self.take("[")
        high = low = int(self.tokens.pop(0))
        if self.tokens[0] == ":":
            self.take(":")
            low = int(self.tokens.pop(0))
        self.take("]")
        assert 0 <= low <= high < value.width
        width = high - low + 1
        number = value.number >> low & (1 << width) - 1
        return Value(number, width, False, value.later)

    def braces(self) -> Value:
        """A concatenation, or one operand several times."""
        parts: list[Value] = []
        if self.tokens[0].isdecimal():
            count = int(self.tokens.pop(0))
            self.take("{")
            parts = [self.operand()] * count
            self.take("}")
        else:
            parts.append(self.operand())
            while self.tokens[0] == ",":
                self.take(",")
                parts.append(self.operand())
        self.take("}")
        number = width = 0
        for part in parts:
            number, width = number << part.width | part.number, width + part.width
        return Value(number, width, False, _meeting(*parts))


def _meeting(*values: Value) -> int | None:
    later = {value.later for value in values if value.later is not None}
    assert len(later) <= 1, "registers are missing"
    return later.pop() if later else None


def _made(number: int, operands: tuple[Value, ...], *others: Value) -> Value:
    width = operands[0].width
    signed = all(one.signed for one in operands)
    return Value(number % (1 << width), width, signed, _meeting(*operands, *others))


def _applied(sign: str, a: Value, b: Value) -> Value:
    """IEEE 1800-2017, 11.4."""
    if sign in ("<<", ">>", ">>>"):
        shift = min(b.number, a.width)
        left = a.read if sign == ">>>" else a.number
        return _made(left << shift if sign == "<<" else left >> shift, (a,), b)
    assert a.width == b.width, (sign, a, b)
    signed = a.signed and b.signed
    x, y = (a.read, b.read) if signed else (a.number, b.number)
    if sign in ("==", "!=", "<", "<=", ">", ">="):
        truth = {
            **{"==": x == y, "!=": x != y, "<": x < y},
            **{"<=": x <= y, ">": x > y, ">=": x >= y},
        }[sign]
        return Value(int(truth), 1, False, _meeting(a, b))
    if sign in "/%":
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return _made(quotient if sign == "/" else x - y * quotient, (a, b))
    number = {
        **{"+": x + y, "-": x - y, "*": x * y},
        **{"&": x & y, "|": x | y, "^": x ^ y},
    }[sign]
    return _made(number, (a, b))
