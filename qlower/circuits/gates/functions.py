"""Operations as gates: the interpreter runs them on wire numbers.

Nests, movements and calls are the interpreter's own, since they compute nothing;
operations that compute make gates in place of numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects import arith, math, tensor
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp
from xdsl.dialects.linalg.ops import FillOp, IndexOp
from xdsl.interpreter import Interpreter, OpImplResult, PythonValues
from xdsl.ir import Operation

from qlower.circuits.gates.wires import Gates, Wires
from qlower.dialects.fixed import RoundingMode, SaturateOp, ShiftRightOp
from qlower.interp.arith import dense_array
from qlower.interp.engine import Implementation, NumpyInterpreter
from qlower.interp.func import FuncFunctions
from qlower.interp.linalg import LinalgFunctions
from qlower.interp.nest import loop_counter
from qlower.interp.tensor import TensorFunctions, box_of, insert
from qlower.interp.values import PartialTensor, Poison, integer_width, static_shape
from qlower.model.layers import layer_title

Meaning = Callable[[Gates, Operation, list[Wires]], Wires]


def _bits(op: Operation) -> int:
    return integer_width(op.results[0].type)


def _given_bits(op: Operation) -> int:
    return integer_width(op.operands[0].type)


def _held(meaning: Callable[[Gates, Wires, Wires], Wires]) -> Meaning:
    """An operation on numbers, wrapped at the type's width; booleans are refused."""

    def run(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
        if _bits(op) == 1:
            raise Poison("of booleans has no gates")
        return gates.wrapped(meaning(gates, args[0], args[1]), _bits(op))

    return run


def _and(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    if _bits(op) == 1:
        return gates.multiply(args[0], args[1])
    mask = gates.numbers(args[1])
    size = 0 if mask is None else int(mask.max())
    if mask is None or (mask != size).any() or size < 1 or size & (size + 1):
        raise Poison("is not of a number and 2^n - 1")
    return gates.remainder(args[0], size.bit_length())


def _or(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    if _bits(op) != 1:
        raise Poison("of numbers has no gates")
    return gates.inverted(gates.multiply(*map(gates.inverted, args)))


def _exclusive_or(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    if _bits(op) != 1:
        raise Poison("of numbers has no gates")
    return gates.chosen(args[0], gates.inverted(args[1]), args[1])


def _divided(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    """Toward zero by a constant: a product and a shift that are exact in its range.

    With m = ceil(2^s / d), x m / 2^s is above x / d by less than 1 / d where
    x (m d - 2^s) < 2^s: "Division by Invariant Integers using Multiplication", 1994.
    """
    numbers = gates.numbers(args[1])
    if numbers is None or numbers.min() != numbers.max() or numbers.min() < 1:
        raise Poison("divides by something else than one positive constant")
    by, size = int(numbers.min()), gates.magnitude(args[0])
    most = int(gates.ends(size)[1].max())
    shift = next(
        s for s in range(most.bit_length() + 64) if most * (-(1 << s) % by) < 1 << s
    )
    multiplier = -(-(1 << shift) // by)
    found = gates.shift(gates.scaled(size, multiplier), shift)
    return gates.multiply(found, gates.raised(gates.scaled(gates.sign(args[0]), 2), 1))


def _remainder(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    whole = gates.multiply(_divided(gates, op, args), args[1])
    return gates.subtract(args[0], whole)


def _power(gates: Gates, amounts: Wires, entry: Callable[[int], int]) -> Wires:
    """A number for each amount of a shift: a constant, or looked up."""
    low, high = gates.ends(amounts)
    if low.min() < 0 or high.max() > 62:
        raise Poison(f"shifts by {low.min()} to {high.max()}, not by 0 to 62")
    return gates.table(amounts, [entry(n) for n in range(int(high.max()) + 1)])


def _shifted_left(gates: Gates, a: Wires, b: Wires) -> Wires:
    return gates.multiply(a, _power(gates, b, lambda n: 1 << n))


def _shifted_right(gates: Gates, a: Wires, b: Wires) -> Wires:
    """Shift by constants; or sum the shifted number over all amounts, selected by the
    amount."""
    numbers = gates.numbers(b)
    if numbers is not None:
        return gates.shift(a, numbers)
    low, high = gates.ends(b)
    least, most = int(low.min()), int(high.max())
    found = gates.constants(0)
    parts: list[Wires] = []
    for amount in range(least, most + 1):
        parts.append(gates.shift(a, amount))
        is_this = _power(gates, b, lambda n, amount=amount: int(n == amount))
        found = gates.add(gates.multiply(is_this, parts[-1]), found)
    ends = [gates.ends(part) for part in parts]
    low, high = np.min([x for x, _ in ends], 0), np.max([x for _, x in ends], 0)
    return gates.bounded(found, low, high)


def _rounded(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    """The shift that rounds down, of a number to which something is added before."""
    assert isinstance(op, ShiftRightOp)
    value, by = args
    mode = op.rounding.data

    def constant(entry: Callable[[int], int]) -> Wires:
        return _power(gates, by, lambda n: entry(n) if n else 0)

    def if_negative(wires: Wires) -> Wires:
        return gates.multiply(gates.sign(value), wires)

    match mode:
        case RoundingMode.FLOOR:
            return _shifted_right(gates, value, by)
        case RoundingMode.CEIL:
            more = constant(lambda n: (1 << n) - 1)
        case RoundingMode.TOWARD_ZERO:
            more = gates.negative(if_negative(constant(lambda n: (1 << n) - 1)))
        case RoundingMode.HALF_UP:
            more = constant(lambda n: 1 << n - 1)
        case RoundingMode.HALF_AWAY:
            one = constant(lambda n: 1)
            more = gates.add(if_negative(one), constant(lambda n: 1 << n - 1))
        case RoundingMode.HALF_TOWARD_ZERO:
            one = gates.negative(if_negative(constant(lambda n: 1)))
            more = gates.add(one, constant(lambda n: (1 << n - 1) - 1))
        case RoundingMode.HALF_DOWN:
            more = constant(lambda n: (1 << n - 1) - 1)
        case RoundingMode.HALF_EVEN:
            floor = _shifted_right(gates, value, by)
            odd = gates.multiply(gates.remainder(floor, 1), constant(lambda n: 1))
            more = gates.add(odd, constant(lambda n: (1 << n - 1) - 1))
    return _shifted_right(gates, gates.add(value, more), by)


def _saturated(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    assert isinstance(op, SaturateOp)
    low, high = (gates.constants(end) for end in op.bounds)
    return gates.smaller(gates.larger(args[0], low), high)


def _compared(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    assert isinstance(op, arith.CmpiOp)
    predicate = op.predicate.value.data
    is_unsigned = predicate > 5
    if _given_bits(op) == 1 or (
        is_unsigned and min(gates.ends(x)[0].min() for x in args) < 0
    ):
        raise Poison("compares what may be negative without a sign, or booleans")
    a, b = args
    if predicate < 2:
        either = gates.multiply(
            gates.inverted(gates.below(a, b)), gates.inverted(gates.below(b, a))
        )
        return gates.inverted(either) if predicate else either
    order = (predicate - 2) % 4
    less = gates.below(a, b) if order in (0, 3) else gates.below(b, a)
    return gates.inverted(less) if order in (1, 3) else less


def _extended(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    return gates.negative(args[0]) if _given_bits(op) == 1 else args[0]


def _extended_with_zeros(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    bits = _given_bits(op)
    return args[0] if bits == 1 else gates.remainder(args[0], bits)


def _cut(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    if _bits(op) == 1:
        return gates.remainder(args[0], 1)
    return gates.wrapped(args[0], _bits(op))


def _leading_zeros(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    """The number of larger powers of two."""
    if gates.ends(args[0])[0].min() < 0:
        raise Poison("counts the zeros of what may be negative")
    powers = [gates.constants(1 << n) for n in range(_bits(op))]
    found = gates.constants(0)
    for power in powers:
        found = gates.add(gates.below(args[0], power), found)
    return found


def _found(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    entries = gates.numbers(args[0])
    if entries is None or len(args) != 2:
        raise Poison("looks up what isn't a constant list")
    return gates.table(args[1], entries.tolist())


MEANINGS: dict[type[Operation], Meaning] = {
    arith.AddiOp: _held(Gates.add),
    arith.SubiOp: _held(Gates.subtract),
    arith.MuliOp: _held(Gates.multiply),
    arith.MaxSIOp: _held(Gates.larger),
    arith.MinSIOp: _held(Gates.smaller),
    arith.ShLIOp: _held(_shifted_left),
    arith.ShRSIOp: _held(_shifted_right),
    arith.DivSIOp: _divided,
    arith.RemSIOp: _remainder,
    arith.AndIOp: _and,
    arith.OrIOp: _or,
    arith.XOrIOp: _exclusive_or,
    arith.CmpiOp: _compared,
    arith.SelectOp: lambda gates, _op, args: gates.chosen(*args),
    arith.ExtSIOp: _extended,
    arith.ExtUIOp: _extended_with_zeros,
    arith.TruncIOp: _cut,
    arith.IndexCastOp: _extended,
    math.AbsIOp: lambda gates, _op, args: gates.magnitude(args[0]),
    math.CountLeadingZerosOp: _leading_zeros,
    ShiftRightOp: _rounded,
    SaturateOp: _saturated,
    tensor.ExtractOp: _found,
}


def gate_interpreter(module: ModuleOp, gates: Gates) -> NumpyInterpreter:
    """An interpreter whose numbers are wires, and that makes gates."""
    interpreter = NumpyInterpreter(module)
    for functions in (FuncFunctions, LinalgFunctions, TensorFunctions):
        interpreter.register_implementations(functions())
    made: dict[type[Operation], Meaning] = {**MEANINGS, **_PLACES}

    def gate(meaning: Meaning) -> Implementation:
        def run(_: Interpreter, op: Operation, args: PythonValues) -> OpImplResult:
            if not isinstance(op, arith.ConstantOp):
                gates.layer = layer_title(op) or gates.layer
            return OpImplResult((meaning(gates, op, list(args)),), None)

        return run

    def pad(_: Interpreter, op: Operation, args: PythonValues) -> OpImplResult:
        return OpImplResult((_padded(interpreter, gates, op, args[0]),), None)

    def count(_: Interpreter, op: Operation, args: PythonValues) -> OpImplResult:
        assert isinstance(op, IndexOp)
        counter = loop_counter(interpreter, op.dim.value.data)
        return OpImplResult((gates.constants(counter),), None)

    def empty(_: Interpreter, op: Operation, args: PythonValues) -> OpImplResult:
        shape = static_shape(op.results[0].type)
        nothing = PartialTensor(np.zeros(shape, np.int64), np.zeros(shape, np.bool_))
        return OpImplResult((nothing,), None)

    interpreter.implementations |= {name: gate(one) for name, one in made.items()}
    interpreter.implementations |= {tensor.PadOp: pad, IndexOp: count}
    interpreter.implementations[tensor.EmptyOp] = empty
    return interpreter


def _constant(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    assert isinstance(op, arith.ConstantOp)
    match op.value:
        case IntegerAttr() as number:
            value = number.value.data
            return gates.constants(abs(value) if _bits(op) == 1 else value)
        case DenseIntOrFPElementsAttr() as dense:
            elements = dense_array(dense)
            if elements.dtype.kind == "f":
                raise Poison("holds floats, which gates don't have")
            return gates.constants(elements)
        case other:
            raise Poison(f"holds {other.name}, which gates don't have")


def _filled(gates: Gates, op: Operation, args: list[Wires]) -> Wires:
    return np.broadcast_to(args[0], static_shape(op.results[0].type))


_PLACES: dict[type[Operation], Meaning] = {arith.ConstantOp: _constant, FillOp: _filled}


def _padded(
    interpreter: NumpyInterpreter, gates: Gates, op: Operation, source: Wires
) -> Wires | PartialTensor:
    """Pad as the interpreter does, with wires as elements."""
    assert isinstance(op, tensor.PadOp)
    if op.low or op.high:
        raise Poison("has dynamic padding")
    shape = static_shape(op.result.type)
    places = np.meshgrid(*map(np.arange, shape), indexing="ij", sparse=True)
    given = tuple(gates.constants(one) for one in places)
    (filler,) = interpreter.run_ssacfg_region(op.region, given)
    result = np.broadcast_to(filler, shape)
    low = op.static_low.get_values()
    box = box_of(shape, low, static_shape(op.source.type), [1] * len(shape))
    return insert(source, result, box)
