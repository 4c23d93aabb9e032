"""A region's scalar operations as C: one table, from op name to expression.

Integers are held sign-extended in the narrowest of C's types that has their width; an
i1 is a `bool`, an index an `int64_t`. What may wrap is computed without a sign.
"""

from __future__ import annotations

import math as numbers
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from qlower.codegen.llvm.values import Type
from qlower.codegen.values.bounds import constant_value, largest_magnitude
from qlower.codegen.values.elements import scalar_type
from qlower.diagnostics import QlowerError
from qlower.dialects.fixed import ConvertOp, ShiftRightOp
from qlower.dialects.kernel import integer_byte_size
from qlower.dialects.types import tensor_type

from .helpers import Helpers, integer, integer_mask, real_number

REALS = {"float": "f32", "double": "f64"}
"""What helpers call C's types of floats."""


def bits_of(type: Attribute) -> int:
    """The width of an integer; an index has 64 bits."""
    return Type(scalar_type(type)).bits


def stored_bits(type: Attribute) -> int:
    """Bits of the C type that an integer is held in."""
    return 8 * integer_byte_size(bits_of(type))


def c_type(type: Attribute) -> str:
    """The C type of a value; QlowerError for one that has none."""
    name = scalar_type(type)
    if name in REALS:
        return name
    return "bool" if name == "i1" else f"int{stored_bits(type)}_t"


def real_of(type: Attribute) -> str:
    """f32 or f64."""
    return REALS[scalar_type(type)]


@dataclass
class Scalars:
    """Writes the values that regions compute inside of one C function.

    `tables` gives the C expression of whole tensors, `index` that of a loop's counter.
    """

    helpers: Helpers
    tables: Mapping[SSAValue, str]
    index: Callable[[int], str]
    taken: set[str] = field(default_factory=set[str])

    def name(self, hint: str | None) -> str:
        """A name of this function's that isn't taken, after a hint from the IR."""
        base = re.sub(r"\W+", "_", hint or "t", flags=re.ASCII).strip("_")[:40] or "t"
        base = base if base[0].isalpha() else f"t{base}"
        base = base.rstrip("0123456789").rstrip("_") or "t"
        number = 0
        while f"{base}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{base}_{number}")
        return f"{base}_{number}"

    def region(
        self,
        region: Region,
        arguments: Sequence[str | None],
        magnitudes: Sequence[float],
    ) -> tuple[list[str], list[str]]:
        """Statements, and the expressions of what the region yields.

        No integer among the first arguments is greater than its entry of `magnitudes`.
        """
        block = region.block
        values: dict[SSAValue, str] = {
            argument: text
            for argument, text in zip(block.args, arguments, strict=True)
            if text is not None
        }
        bounds: dict[SSAValue, float] = {
            argument: magnitude
            for argument, magnitude in zip(block.args, magnitudes, strict=False)
        }
        step = Step(self, values, bounds)
        *operations, last = block.ops
        for op in operations:
            step.emit(op)
        results = [values[operand] for operand in last.operands]
        return list(_used(step.lines, results))[::-1], results


@dataclass
class Step:
    """One region being written: what is known of its values so far."""

    scalars: Scalars
    values: dict[SSAValue, str]
    bounds: dict[SSAValue, float]
    lines: list[str] = field(default_factory=list[str])

    @property
    def helpers(self) -> Helpers:
        return self.scalars.helpers

    def emit(self, op: Operation) -> None:
        """Add the statement of an operation; constants stand where they are used."""
        try:
            expression = EXPRESSIONS.get(op.name)
            if expression is None:
                raise _without_c(op, f"operation {op.name}")
            texts = [
                "" if isinstance(operand.type, TensorType) else self.values[operand]
                for operand in op.operands
            ]
            result = op.results[0]
            type = c_type(result.type)
            text = expression(self, op, texts)
        except QlowerError as error:
            raise _at(error, op) from error
        if isinstance(op, arith.ConstantOp):
            self.values[result] = text
            return
        name = self.scalars.name(result.name_hint)
        self.lines.append(f"const {type} {name} = {text};")
        self.values[result] = name

    def magnitude(self, value: SSAValue) -> float:
        """A bound on |value|."""
        return largest_magnitude(value, self.bounds)


def _used(lines: Sequence[str], results: Sequence[str]) -> Iterator[str]:
    """The statements, from the last, whose values something uses."""
    used = set(_NAMES.findall(" ".join(results)))
    for line in reversed(lines):
        if _NAMES.findall(line.split(" = ")[0])[-1] in used:
            used |= {*_NAMES.findall(line)}
            yield line


_NAMES = re.compile(r"[A-Za-z_]\w*")

Expression = Callable[[Step, Operation, list[str]], str]


def _without_c(op: Operation, what: str) -> QlowerError:
    return QlowerError(
        f"{what} has no form in C",
        op.location,
        help="the interpreter computes it: qlower run --executor interp",
    )


def _at(error: QlowerError, op: Operation) -> QlowerError:
    """The error at the operation, if it has no place yet."""
    if error.location is not None:
        return error
    return QlowerError(error.message, op.location, notes=error.notes, help=error.help)


def _type(op: Operation) -> Attribute:
    return op.results[0].type


def unsigned(type: Attribute, text: str) -> str:
    """A held integer as an unsigned one of its width, of at least 32 bits."""
    bits, held = bits_of(type), stored_bits(type)
    if bits == 1:
        return f"({text} ? 1u : 0u)"
    word = 64 if held == 64 else 32
    if bits == word:
        return f"(uint{word}_t){text}"
    return f"((uint{word}_t){text} & {integer_mask(bits)})"


def signed(type: Attribute, text: str) -> str:
    """An unsigned integer, whose higher bits don't count, as it is held."""
    bits, held = bits_of(type), stored_bits(type)
    if bits == 1:
        return f"(({text}) & 1u) != 0u"
    if bits == held:
        return f"(int{held}_t)({text})"
    word, sign = max(held, 32), 1 << (bits - 1)
    low = f"(int{word}_t)((({text}) & {integer_mask(bits)}) ^ {sign:#x}u)"
    return f"(int{held}_t)({low} - {integer(sign)})"


_LOGICAL = {"+": "!=", "-": "!=", "*": "&&", "&": "&&", "|": "||", "^": "!="}
"""Operators on single bits."""


def _binary(operator: str) -> Expression:
    """+, - and *, as plain C where nothing can wrap."""

    def write(step: Step, op: Operation, v: list[str]) -> str:
        type = _type(op)
        if bits_of(type) == 1:
            return f"{v[0]} {_LOGICAL[operator]} {v[1]}"
        a, b = map(step.magnitude, op.operands)
        largest = a * b if operator == "*" else a + b
        are_numbers = all(isinstance(x.owner, arith.ConstantOp) for x in op.operands)
        held = stored_bits(type)
        if largest < 1 << (bits_of(type) - 1) and held >= 32 and not are_numbers:
            return f"{v[0]} {operator} {v[1]}"
        a, b = (unsigned(type, text) for text in v)
        return signed(type, f"{a} {operator} {b}")

    return write


def _bitwise(operator: str) -> Expression:
    def write(step: Step, op: Operation, v: list[str]) -> str:
        type = _type(op)
        if bits_of(type) == 1:
            return f"{v[0]} {_LOGICAL[operator]} {v[1]}"
        return signed(type, f"{unsigned(type, v[0])} {operator} {unsigned(type, v[1])}")

    return write


def _divide(operator: str, *, is_signed: bool) -> Expression:
    """Divisions, which an earlier pass has shown to be defined."""

    def write(step: Step, op: Operation, v: list[str]) -> str:
        type = _type(op)
        if bits_of(type) == 1:
            raise _without_c(op, f"{op.name} of i1")
        if is_signed:
            return f"({c_type(type)})({v[0]} {operator} {v[1]})"
        return signed(type, f"{unsigned(type, v[0])} {operator} {unsigned(type, v[1])}")

    return write


def _shift_left(step: Step, op: Operation, v: list[str]) -> str:
    type = _type(op)
    return (
        v[0]
        if bits_of(type) == 1
        else signed(type, f"{unsigned(type, v[0])} << {v[1]}")
    )


def _shift_right_signed(step: Step, op: Operation, v: list[str]) -> str:
    type = _type(op)
    return v[0] if bits_of(type) == 1 else f"({c_type(type)})({v[0]} >> {v[1]})"


def _shift_right_unsigned(step: Step, op: Operation, v: list[str]) -> str:
    type = _type(op)
    return (
        v[0]
        if bits_of(type) == 1
        else signed(type, f"{unsigned(type, v[0])} >> {v[1]}")
    )


def _extreme_integer(comparison: str, *, is_signed: bool) -> Expression:
    def write(step: Step, op: Operation, v: list[str]) -> str:
        type = _type(op)
        if bits_of(type) == 1:  # true is -1 with a sign, and 1 without
            return f"{v[0]} {'||' if (comparison == '<') == is_signed else '&&'} {v[1]}"
        a, b = v if is_signed else (unsigned(type, text) for text in v)
        return f"({a} {comparison} {b}) ? {v[0]} : {v[1]}"

    return write


def _extend(step: Step, op: Operation, v: list[str]) -> str:
    """Sign extension: the number stays."""
    if bits_of(op.operands[0].type) == 1:
        return f"({c_type(_type(op))})({v[0]} ? -1 : 0)"
    return f"({c_type(_type(op))}){v[0]}"


def _extend_unsigned(step: Step, op: Operation, v: list[str]) -> str:
    return f"({c_type(_type(op))}){unsigned(op.operands[0].type, v[0])}"


def _truncate(step: Step, op: Operation, v: list[str]) -> str:
    return signed(_type(op), unsigned(op.operands[0].type, v[0]))


def _cast_index(step: Step, op: Operation, v: list[str]) -> str:
    narrows = bits_of(_type(op)) < bits_of(op.operands[0].type)
    return (_truncate if narrows else _extend)(step, op, v)


_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _compare(step: Step, op: Operation, v: list[str]) -> str:
    assert isinstance(op, arith.CmpiOp)
    type = op.operands[0].type
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    sign = _SIGNS[predicate[-2:]]
    if predicate[0] == "u" or bits_of(type) == 1:
        v = [unsigned(type, text) for text in v]
        if predicate[0] == "s":  # of bits: true is -1
            v = v[::-1]
    return f"{v[0]} {sign} {v[1]}"


def _compare_floats(step: Step, op: Operation, v: list[str]) -> str:
    assert isinstance(op, arith.CmpfOp)
    a, b = v
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    ordered = f"(({a} <= {b}) || ({a} >= {b}))"
    match predicate:
        case "false" | "true":
            return predicate
        case "ord":
            return ordered
        case "uno":
            return f"!{ordered}"
        case "one":
            return f"({a} < {b}) || ({a} > {b})"
        case "ueq":
            return f"!(({a} < {b}) || ({a} > {b}))"
        case "oeq":
            return f"{a} == {b}"
        case "une":
            return f"{a} != {b}"
        case _ if predicate[0] == "o":
            return f"{a} {_SIGNS[predicate[1:]]} {b}"
        case _:
            opposite = {"ult": ">=", "ule": ">", "ugt": "<=", "uge": "<"}[predicate]
            return f"!({a} {opposite} {b})"


def _constant(step: Step, op: Operation, v: list[str]) -> str:
    assert isinstance(op, arith.ConstantOp)
    match op.value:
        case IntegerAttr(value=value):
            if bits_of(_type(op)) == 1:
                return "true" if value.data else "false"
            return integer(value.data)
        case FloatAttr(value=value):
            return real_constant(step.helpers, value.data, real_of(_type(op)))
        case _:
            raise QlowerError("a constant in a loop nest must be a number", op.location)


def real_constant(helpers: Helpers, value: float, real: str) -> str:
    """A float's expression; infinities and NaN by their bits."""
    if numbers.isfinite(value):
        text = real_number(value, real)
        return f"({text})" if text.startswith("-") else text
    sign = numbers.copysign(1, value) < 0
    exponent, digits, width = {"f32": (0xFF, 23, 32), "f64": (0x7FF, 52, 64)}[real]
    bits = (sign << (width - 1)) | (exponent << digits)
    bits |= (1 << (digits - 1)) if numbers.isnan(value) else 0
    return f"{helpers.of_bits(real)}(UINT{width}_C({bits:#x}))"


def _select(step: Step, op: Operation, v: list[str]) -> str:
    return f"{v[0]} ? {v[1]} : {v[2]}"


def _of_floats(operator: str) -> Expression:
    return lambda step, op, v: f"{v[0]} {operator} {v[1]}"


def _helper(method: Callable[[Helpers, str], str]) -> Expression:
    """A helper for the type of float."""
    return lambda step, op, v: (
        f"{method(step.helpers, real_of(_type(op)))}({', '.join(v)})"
    )


def _extreme(name: str) -> Expression:
    return _helper(lambda helpers, real: helpers.extreme(name, real))


def _round(mode: str) -> Expression:
    return _helper(lambda helpers, real: helpers.round_float(mode, real))


def _from_integer(step: Step, op: Operation, v: list[str]) -> str:
    if bits_of(op.operands[0].type) == 1:
        return f"{v[0]} ? -1.0f : 0.0f"
    return f"({c_type(_type(op))}){v[0]}"


def _from_unsigned(step: Step, op: Operation, v: list[str]) -> str:
    return f"({c_type(_type(op))}){unsigned(op.operands[0].type, v[0])}"


def _between_floats(step: Step, op: Operation, v: list[str]) -> str:
    return f"({c_type(_type(op))}){v[0]}"


def _bitcast(step: Step, op: Operation, v: list[str]) -> str:
    source, result = op.operands[0].type, _type(op)
    if isinstance(source, AnyFloat) == isinstance(result, AnyFloat):
        return v[0]
    if isinstance(result, AnyFloat):
        bits = stored_bits(source)
        return f"{step.helpers.of_bits(real_of(result))}((uint{bits}_t){v[0]})"
    return f"({c_type(result)}){step.helpers.bits_of(real_of(source))}({v[0]})"


def _fused(step: Step, op: Operation, v: list[str]) -> str:
    if real_of(_type(op)) != "f32":
        raise _without_c(op, "math.fma on f64")
    return f"{step.helpers.fused_multiply_add()}({', '.join(v)})"


def _absolute(step: Step, op: Operation, v: list[str]) -> str:
    type = _type(op)
    if bits_of(type) == 1:
        return v[0]
    return f"({v[0]} < 0) ? {signed(type, f'0u - {unsigned(type, v[0])}')} : {v[0]}"


def _leading_zeros(step: Step, op: Operation, v: list[str]) -> str:
    type = _type(op)
    word = max(32, stored_bits(type))
    name = step.helpers.leading_zeros(word)
    spare = word - bits_of(type)
    return signed(type, f"(uint{word}_t)({name}({unsigned(type, v[0])}) - {spare})")


def _shift_and_round(step: Step, op: Operation, v: list[str]) -> str:
    assert isinstance(op, ShiftRightOp)
    type, mode = _type(op), op.rounding.data.value
    if bits_of(type) == 1:  # the only amount is 0
        return v[0]
    word = max(32, stored_bits(type))
    if mode == "floor":
        return f"({c_type(type)})({v[0]} >> {v[1]})"
    amount = op.operands[1]
    if mode == "half_up" and isinstance(amount.owner, arith.ConstantOp):
        half = 1 << constant_value(amount) >> 1
        if step.magnitude(op.operands[0]) + half < 1 << (word - 1):
            text = f"({v[0]} + {integer(half)}) >> {v[1]}"
            return text if word == stored_bits(type) else f"({c_type(type)})({text})"
    call = f"{step.helpers.shift_right(mode, word)}({v[0]}, {_as_int32(type, v[1])})"
    return call if word == stored_bits(type) else f"({c_type(type)}){call}"


def _as_int32(type: Attribute, text: str) -> str:
    return f"(int32_t){text}" if stored_bits(type) > 32 and not text.isdigit() else text


def _convert(step: Step, op: Operation, v: list[str]) -> str:
    assert isinstance(op, ConvertOp)
    type, real = _type(op), real_of(op.operands[0].type)
    if bits_of(type) == 1:
        raise _without_c(op, "fixed.convert to i1")
    mode = op.rounding.data.value
    return f"{step.helpers.convert(mode, real, bits_of(type), c_type(type))}({v[0]})"


def _saturate(step: Step, op: Operation, v: list[str]) -> str:
    """Saturation, before which clamps that are no narrower needn't be done."""
    is_unsigned = isinstance(op.properties.get("unsigned"), UnitAttr)
    type, bits = _type(op), bits_of(_type(op))
    low = 0 if is_unsigned else -(1 << (bits - 1))
    high = low + (1 << bits) - 1
    value, text = op.operands[0], v[0]
    if bits == 1:
        return f"{text} > 0" if is_unsigned else f"{text} < 0"
    if not is_unsigned and step.magnitude(value) <= high:
        return f"({c_type(type)}){text}"
    while (clamped := _clamped_beyond(value, low, high)) is not None:
        value, text = clamped, step.values[clamped]
    word = max(32, stored_bits(value.type))
    if not is_unsigned:
        name = step.helpers.saturate(word, low, high, c_type(type), f"i{bits}")
        return f"{name}({text})"
    wide = f"int{word}_t"
    name = step.helpers.saturate(word, low, high, wide, f"u{bits}")
    return signed(type, f"(u{wide}){name}({text})")


def _clamped_beyond(value: SSAValue, low: int, high: int) -> SSAValue | None:
    """What a clamp that a saturation makes superfluous takes."""
    owner = value.owner
    if not isinstance(owner, arith.MinSIOp | arith.MaxSIOp):
        return None
    if not isinstance(owner.rhs.owner, arith.ConstantOp):
        return None
    limit = constant_value(owner.rhs)
    is_beyond = limit >= high if isinstance(owner, arith.MinSIOp) else limit <= low
    return owner.lhs if is_beyond else None


def _pair_dot(step: Step, op: Operation, v: list[str]) -> str:
    """Two products of an unsigned and a signed byte, summed and saturated."""
    a, b, c, d = v
    name = step.helpers.saturate(32, -(1 << 15), (1 << 15) - 1, "int16_t", "i16")
    return (
        f"{name}((int32_t)(uint8_t){a} * (int32_t){b}"
        f" + (int32_t)(uint8_t){c} * (int32_t){d})"
    )


def _loop_index(step: Step, op: Operation, v: list[str]) -> str:
    dim = op.properties["dim"]
    assert isinstance(dim, IntegerAttr)
    return f"(int64_t){step.scalars.index(dim.value.data)}"


def _extract(step: Step, op: Operation, v: list[str]) -> str:
    """An element of a table; where an index isn't known to be inside, it is clamped."""
    table = op.operands[0]
    element = ""
    for index, text, size in zip(
        op.operands[1:], v[1:], tensor_type(table).get_shape(), strict=True
    ):
        if not _is_below(index, size):
            text = f"{step.helpers.inside()}({text}, {size}u)"
        element = text if not element else f"({element}) * {size} + {text}"
    return loaded(_type(op), f"{step.scalars.tables[table]}[{element or '0'}]")


def _is_below(index: SSAValue, size: int) -> bool:
    """Whether an index is a number, or the code of one, that a table is large enough
    for."""
    owner = index.owner
    if isinstance(owner, arith.ConstantOp):
        return 0 <= constant_value(index) < size
    if isinstance(owner, arith.IndexCastOp):
        owner = owner.input.owner
    return isinstance(owner, arith.ExtUIOp) and (1 << bits_of(owner.input.type) <= size)


def loaded(type: Attribute, text: str) -> str:
    """An element of memory as it is held; of bits it is a byte."""
    return f"{text} != 0u" if scalar_type(type) == "i1" else text


def stored(type: Attribute, text: str) -> str:
    """A held value as an element of memory."""
    return f"{text} ? 1u : 0u" if scalar_type(type) == "i1" else text


EXPRESSIONS: dict[str, Expression] = {
    "arith.constant": _constant,
    "arith.addi": _binary("+"),
    "arith.subi": _binary("-"),
    "arith.muli": _binary("*"),
    "arith.divsi": _divide("/", is_signed=True),
    "arith.divui": _divide("/", is_signed=False),
    "arith.remsi": _divide("%", is_signed=True),
    "arith.remui": _divide("%", is_signed=False),
    "arith.andi": _bitwise("&"),
    "arith.ori": _bitwise("|"),
    "arith.xori": _bitwise("^"),
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right_signed,
    "arith.shrui": _shift_right_unsigned,
    "arith.minsi": _extreme_integer("<", is_signed=True),
    "arith.maxsi": _extreme_integer(">", is_signed=True),
    "arith.minui": _extreme_integer("<", is_signed=False),
    "arith.maxui": _extreme_integer(">", is_signed=False),
    "arith.extsi": _extend,
    "arith.extui": _extend_unsigned,
    "arith.trunci": _truncate,
    "arith.index_cast": _cast_index,
    "arith.cmpi": _compare,
    "arith.cmpf": _compare_floats,
    "arith.select": _select,
    "arith.addf": _of_floats("+"),
    "arith.subf": _of_floats("-"),
    "arith.mulf": _of_floats("*"),
    "arith.divf": _of_floats("/"),
    "arith.negf": _helper(Helpers.negated),
    "arith.minimumf": _extreme("minimum"),
    "arith.maximumf": _extreme("maximum"),
    "arith.sitofp": _from_integer,
    "arith.uitofp": _from_unsigned,
    "arith.extf": _between_floats,
    "arith.truncf": _between_floats,
    "arith.bitcast": _bitcast,
    "math.fma": _fused,
    "math.floor": _round("floor"),
    "math.ceil": _round("ceil"),
    "math.trunc": _round("toward_zero"),
    "math.round": _round("half_away"),
    "math.roundeven": _round("half_even"),
    "math.sqrt": _helper(Helpers.root),
    "math.absf": _helper(Helpers.absolute),
    "math.absi": _absolute,
    "math.ctlz": _leading_zeros,
    "math.copysign": _helper(Helpers.copy_sign),
    "fixed.shift_right": _shift_and_round,
    "fixed.convert": _convert,
    "fixed.saturate": _saturate,
    "fixed.pair_dot": _pair_dot,
    "kernel.index": _loop_index,
    "tensor.extract": _extract,
}
"""Everything that C can compute."""
