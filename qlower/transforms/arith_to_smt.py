"""Turns functions of scalars, in plain `arith` and `math`, into terms of SMT-LIB.

A function of integers and floats becomes one of bit vectors, booleans (i1) and IEEE
floating-point numbers. It has one more result: whether every step was defined. MLIR
leaves some steps without a result (a shift by the width or more, a division by 0, the
conversion of a float that the integer type cannot hold), and SMT-LIB gives them some
other meaning. A choice is defined if what it chooses is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import pack, unpack
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, func, smt
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from qlower.diagnostics import QlowerError
from qlower.dialects.smtlib import ApplyOp, FloatType
from qlower.interp.values import integer_width
from qlower.transforms.smt_functions import (
    BINARY,
    BOOLEAN,
    CMPF,
    CMPI,
    DIVISIONS,
    FLOATS,
    NEGATED,
    PICKS,
    SHIFTS,
)

BOOL = smt.BoolType()


def sort(type: Attribute, op: Operation) -> Attribute:
    """The sort of a scalar type; QlowerError at `op` where there is none."""
    match type:
        case IntegerType() if type.bitwidth == 1:
            return BOOL
        case IntegerType():
            return smt.BitVectorType(type.bitwidth)
        case Float32Type():
            return FloatType(8, 24)
        case Float64Type():
            return FloatType(11, 53)
        case _:
            raise QlowerError(f"{type} is no sort of SMT-LIB", op.location)


@dataclass(frozen=True)
class _Term:
    """A value, and whether its steps were defined; None where they always are."""

    value: SSAValue
    defined: SSAValue | None = None


Known: TypeAlias = dict[SSAValue, _Term]


@dataclass
class _Terms:
    """The terms of one block."""

    block: Block
    known: Known = field(default_factory=dict[SSAValue, _Term])

    def add(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def apply(self, function: str, result: Attribute, *arguments: SSAValue) -> SSAValue:
        return self.add(ApplyOp(function, arguments, result))

    def number(self, value: int, width: int) -> SSAValue:
        return self.add(smt.BvConstantOp(value % (1 << width), width))

    def ite(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        if isinstance(yes.type, FloatType):
            return self.apply("ite", yes.type, condition, yes, no)
        return self.add(smt.IteOp(condition, yes, no))

    def all(self, *conditions: SSAValue | None) -> SSAValue | None:
        """Whether all conditions hold; those that are None always do."""
        given = list(dict.fromkeys(one for one in conditions if one is not None))
        return (
            self.add(smt.AndOp(*given)) if len(given) > 1 else next(iter(given), None)
        )

    def append(self, op: Operation) -> None:
        """The terms of an operation's result."""
        terms = [self.known[operand] for operand in op.operands]
        if isinstance(op, arith.SelectOp):
            self.known[op.result] = self._select(*terms)
            return
        operands = [term.value for term in terms]
        value = self._value(op, operands)
        condition = self._condition(op, operands)
        defined = self.all(*(term.defined for term in terms), condition)
        self.known[op.results[0]] = _Term(value, defined)

    def _select(self, condition: _Term, yes: _Term, no: _Term) -> _Term:
        value = self.ite(condition.value, yes.value, no.value)
        if yes.defined is None and no.defined is None:
            return _Term(value, condition.defined)
        always = self.add(smt.ConstantBoolOp(True))
        chosen = self.ite(condition.value, yes.defined or always, no.defined or always)
        return _Term(value, self.all(condition.defined, chosen))

    def _value(self, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
        result = sort(op.results[0].type, op)
        if type(op) in FLOATS:
            return self.apply(FLOATS[type(op)], result, *operands)
        match op:
            case arith.ConstantOp():
                return self._constant(op)
            case arith.CmpiOp():
                function, swapped, negated = CMPI[op.predicate.value.data]
                pair = operands[::-1] if swapped else operands
                found = self.apply(function, BOOL, *pair)
                return self.add(smt.NotOp(found)) if negated else found
            case arith.CmpfOp():
                return self._compare(op, operands)
            case arith.ExtSIOp() | arith.ExtUIOp():
                return self._extend(op, operands[0])
            case arith.TruncIOp():
                width = _width(op.result)
                low = self.apply(
                    f"(_ extract {width - 1} 0)",
                    smt.BitVectorType(width),
                    operands[0],
                )
                one = self.number(1, 1) if result == BOOL else None
                return low if one is None else self.apply("=", BOOL, low, one)
            case arith.UIToFPOp():
                name = _of("to_fp_unsigned", result)
                return self.apply(f"{name} RNE", result, *operands)
            case arith.SIToFPOp() | arith.ExtFOp() | arith.TruncFOp():
                return self.apply(f"{_of('to_fp', result)} RNE", result, *operands)
            case arith.BitcastOp() if isinstance(result, FloatType):
                return self.apply(_of("to_fp", result), result, *operands)
            case arith.FPToSIOp() if isinstance(result, smt.BitVectorType):
                return self.apply(
                    f"(_ fp.to_sbv {result.width.data}) RTZ", result, *operands
                )
            case arith.MaximumfOp() | arith.MinimumfOp():
                return self._extreme(operands, isinstance(op, arith.MaximumfOp))
            case _:
                return self._integer(op, operands, result)

    def _integer(
        self, op: Operation, operands: Sequence[SSAValue], result: Attribute
    ) -> SSAValue:
        kind = type(op)
        if result == BOOL and kind in BOOLEAN:
            return self.add(BOOLEAN[kind](*operands))
        if isinstance(result, smt.BitVectorType):
            flags = getattr(op, "overflow_flags", None)
            if flags is not None and flags.data:
                raise QlowerError(
                    f"{op.name} with flags can't be written as a term of SMT-LIB",
                    op.location,
                )
            if kind in PICKS:
                function, less = PICKS[kind]
                condition = self.apply(function, BOOL, *operands)
                return self.ite(condition, operands[less], operands[1 - less])
            if isinstance(op, arith.SubiOp):
                negated = self.add(smt.BVNegOp(_bits(operands[1])))
                return self.add(smt.BVAddOp(_bits(operands[0]), _bits(negated)))
            if kind in BINARY:
                return self.add(BINARY[kind](_bits(operands[0]), _bits(operands[1])))
        types = ", ".join(str(operand.type) for operand in op.operands)
        raise QlowerError(
            f"{op.name} on {types} can't be written as a term of SMT-LIB", op.location
        )

    def _constant(self, op: arith.ConstantOp) -> SSAValue:
        match op.value:
            case IntegerAttr(value=number, type=IntegerType() as type):
                if type.bitwidth == 1:
                    return self.add(smt.ConstantBoolOp(bool(number.data)))
                return self.number(number.data, type.bitwidth)
            case FloatAttr(value=number, type=Float32Type() | Float64Type() as type):
                code = "<I" if isinstance(type, Float32Type) else "<Q"
                (bits,) = unpack(
                    code, pack("<f" if code == "<I" else "<d", number.data)
                )
                result = sort(type, op)
                assert isinstance(result, FloatType)
                return self.apply(
                    _of("to_fp", result), result, self.number(bits, type.bitwidth)
                )
            case _:
                raise QlowerError(f"{op.value} is no scalar of SMT-LIB", op.location)

    def _compare(self, op: arith.CmpfOp, operands: Sequence[SSAValue]) -> SSAValue:
        predicate = op.predicate.value.data
        ordered = NEGATED.get(predicate, predicate)
        if ordered not in CMPF:
            raise QlowerError(
                f"a comparison by predicate {predicate} can't be written as a term of "
                "SMT-LIB",
                op.location,
            )
        function, swapped = CMPF[ordered]
        found = self.apply(function, BOOL, *(operands[::-1] if swapped else operands))
        return found if ordered == predicate else self.add(smt.NotOp(found))

    def _extend(self, op: arith.ExtSIOp | arith.ExtUIOp, operand: SSAValue) -> SSAValue:
        width = _width(op.result)
        if operand.type == BOOL:
            one = -1 if isinstance(op, arith.ExtSIOp) else 1
            return self.ite(operand, self.number(one, width), self.number(0, width))
        name = "sign_extend" if isinstance(op, arith.ExtSIOp) else "zero_extend"
        more = width - _width(op.input)
        return self.apply(f"(_ {name} {more})", smt.BitVectorType(width), operand)

    def _extreme(self, operands: Sequence[SSAValue], is_max: bool) -> SSAValue:
        """The greater or the less of two floats: NaN if one is, and -0 below +0."""
        a, b = operands
        if_less, if_more = (b, a) if is_max else (a, b)
        negative = self.apply("fp.isNegative", BOOL, a)
        found = self.ite(negative, if_less, if_more)
        for function, pair, chosen in (
            ("fp.lt", (b, a), if_more),
            ("fp.lt", (a, b), if_less),
            ("fp.isNaN", (b,), b),
            ("fp.isNaN", (a,), a),
        ):
            found = self.ite(self.apply(function, BOOL, *pair), chosen, found)
        return found

    def _condition(
        self, op: Operation, operands: Sequence[SSAValue]
    ) -> SSAValue | None:
        """Whether a step has a result for its operands; None if it always has."""
        if isinstance(op, SHIFTS):
            amount = _constant_of(op.operands[1])
            width = _width(op.results[0])
            if amount is not None and 0 <= amount < width:
                return None
            limit = self.number(width, width)
            return self.apply("bvult", BOOL, operands[1], limit)
        if isinstance(op, DIVISIONS):
            divisor = _constant_of(op.operands[1])
            if divisor is None or divisor <= 0:
                raise QlowerError(
                    f"{op.name} by a number that isn't a positive constant can't be "
                    "written as a term of SMT-LIB",
                    op.location,
                )
        if isinstance(op, arith.FPToSIOp):
            return self._is_held(op, operands[0])
        return None

    def _is_held(self, op: arith.FPToSIOp, operand: SSAValue) -> SSAValue:
        """Whether a float lies between the ends of an integer type, truncated."""
        end = float(1 << (_width(op.result) - 1))
        whole = self.apply("fp.roundToIntegral RTZ", operand.type, operand)
        type = op.input.type
        assert isinstance(type, Float32Type | Float64Type)
        low, high = (
            self._constant(arith.ConstantOp(FloatAttr(one, type)))
            for one in (-end, end)
        )
        above = self.apply("fp.leq", BOOL, low, whole)
        below = self.apply("fp.lt", BOOL, whole, high)
        return self.add(smt.AndOp(above, below))


def _width(value: SSAValue) -> int:
    """The bits of an integer."""
    return integer_width(value.type)


def _bits(value: SSAValue) -> SSAValue[smt.BitVectorType]:
    """A value that is a bit vector."""
    return SSAValue.get(value, type=smt.BitVectorType)


def _of(name: str, result: FloatType | Attribute) -> str:
    """A conversion to a type of floats."""
    assert isinstance(result, FloatType)
    return f"(_ {name} {result.exponent.data} {result.significand.data})"


def _constant_of(value: SSAValue) -> int | None:
    """The number of a constant integer."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data
        case _:
            return None


def to_smt(function: func.FuncOp) -> func.FuncOp:
    """The function in terms of SMT-LIB, with whether it is defined as last result.

    Raises QlowerError for operations and types that have no such term.
    """
    if function.is_declaration or len(function.body.blocks) != 1:
        raise QlowerError(
            f"@{function.sym_name.data} is no straight line of operations",
            function.location,
        )
    source = function.body.block
    block = Block(arg_types=[sort(arg.type, function) for arg in source.args])
    terms = _Terms(block)
    for old, new in zip(source.args, block.args, strict=True):
        terms.known[old] = _Term(new)
    *steps, end = source.ops
    for op in steps:
        if len(op.results) != 1:
            raise QlowerError(
                f"{op.name} can't be written as a term of SMT-LIB", op.location
            )
        terms.append(op)
    found = [terms.known[operand] for operand in end.operands]
    defined = terms.all(*(term.defined for term in found))
    results = [term.value for term in found]
    results.append(defined or terms.add(smt.ConstantBoolOp(True)))
    block.add_op(func.ReturnOp(*results))
    type = FunctionType.from_lists(
        [arg.type for arg in block.args], [result.type for result in results]
    )
    return func.FuncOp(
        function.sym_name.data, type, Region(block), function.sym_visibility
    )


@dataclass(frozen=True)
class ArithToSmtPass(ModulePass):
    """Rewrite every function of scalars into terms of SMT-LIB.

    `expand-fixed` comes before: roundings are plain arithmetic then.
    """

    name = "arith-to-smt"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = op.body.block
        for function in list(block.ops):
            if not isinstance(function, func.FuncOp):
                raise QlowerError(
                    f"{function.name} can't be written as a term of SMT-LIB",
                    function.location,
                )
            new = to_smt(function)
            new.location = function.location
            block.insert_op_before(new, function)
            block.erase_op(function)
