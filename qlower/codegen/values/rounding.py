"""Roundings as LLVM instructions, exact, and without libm.

Every function takes and gives values of any number of lanes.
"""

from __future__ import annotations

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I1, I32, Type, Value, constant, zero
from qlower.codegen.targets.resolve import Extremes, Target

_SAFE_FOR_I32 = 2.0**31 - 2.0**12
"""A float; slightly larger ones still fit i32."""

_FROM, _BITS_OF_FROM = 2.0**23 + 2.0**22, 0x4B400000
"""A float around which all floats are integers, and its bits."""

_SAFE_FOR_SUM = 2.0**22 - 2.0**3
"""A float; slightly larger ones, added to `_FROM`, still give such an integer."""


def round_float(f: Function, target: Target, mode: str, x: Value) -> Value:
    """`x` rounded to an integral float: floor, ceil, trunc, roundeven or round.

    `round` takes ties away from zero. The sign of a zero result is that of x.
    """
    if mode == "round":
        return round_float(f, target, "trunc", _away_from_zero(f, x))
    if target.rounds_in_hardware:
        return f.intrinsic(mode, x)
    # Adding and subtracting 2^52 (2^23) rounds to nearest even below that magnitude;
    # above it every float is integral already, and so are infinities and NaN.
    limit = constant(x.type, 2.0**23 if x.type.bits == 32 else 2.0**52)
    magnitude = f.intrinsic("fabs", x)
    shifted = f.binary("fadd", magnitude, limit)
    nearest = f.binary("fsub", shifted, limit)
    one, none = constant(x.type, 1.0), constant(x.type, 0.0)
    if mode == "trunc":
        above = f.compare("ogt", nearest, magnitude)
        nearest = f.binary("fsub", nearest, f.select(above, one, none))
    rounded = f.intrinsic("copysign", nearest, x)
    if mode == "floor":
        above = f.compare("ogt", rounded, x)
        rounded = f.binary("fsub", rounded, f.select(above, one, none))
    elif mode == "ceil":
        below = f.compare("olt", rounded, x)
        rounded = f.binary("fadd", rounded, f.select(below, one, none))
    small = f.compare("olt", magnitude, limit)
    return f.select(small, f.intrinsic("copysign", rounded, x), x)


def _away_from_zero(f: Function, x: Value) -> Value:
    """The number that truncates to `x` rounded to the nearest, ties away from zero.

    It is the sum of x and the largest float below a half, with the sign of x. With a
    half itself, the float just below 0.5 would give 1. A tie from 1.5 on still reaches
    the next integer, because the sum is rounded. LLVM's x86 code for `round` does so.
    """
    half = 0.5 - 2.0**-25 if x.type.bits == 32 else 0.5 - 2.0**-54
    step = f.intrinsic("copysign", constant(x.type, half), x)
    return f.binary("fadd", x, step)


def from_integer(
    f: Function, target: Target, opcode: str, x: Value, scalar: str
) -> Value:
    """`x` as a float by `opcode`, sitofp or uitofp."""
    lanes = target.vector_bits // 32
    if not target.hides_addresses or x.type.lanes < lanes or x.type.bits >= 32:
        return f.cast(opcode, x, scalar)
    # LLVM takes lanes of narrow integers apart, also where it joins the two casts
    extension = "sext" if opcode == "sitofp" else "zext"
    parts: list[Value] = []
    for first in range(0, x.type.lanes, lanes):
        part = f.shuffle(x, range(first, first + lanes))
        wide = f.hidden(f.cast(extension, part, "i32"))
        parts.append(f.cast("sitofp", wide, scalar))
    return f.concatenate_all(parts)


def extreme(f: Function, target: Target, name: str, a: Value, b: Value) -> Value:
    """The "minimum" or "maximum" of two floats: a NaN of either wins, and -0 < 0."""
    known = target.extremes
    is_constant = any(x.text[0] not in "%@" for x in (a, b))
    if known is not None and not is_constant and a.type.scalar == "float":
        whole, rest = divmod(a.type.lanes, known.lanes)
        if whole and not rest:
            return _extreme_of_registers(f, known, name, a, b)
    if target.orders_floats:
        return f.intrinsic(name, a, b)
    predicate, opcode = {"minimum": ("olt", "or"), "maximum": ("ogt", "and")}[name]
    ordered = f.select(f.compare(predicate, a, b), a, b)
    # equal numbers have the same bits, but for the sign of zeros
    bits = [f.bitcast(x, x.type.of(f"i{x.type.bits}")) for x in (a, b)]
    equal = f.bitcast(f.binary(opcode, *bits), a.type)
    ordered = f.select(f.compare("oeq", a, b), equal, ordered)
    return f.select(f.compare("uno", a, b), f.binary("fadd", a, b), ordered)


def _extreme_of_registers(
    f: Function, known: Extremes, name: str, a: Value, b: Value
) -> Value:
    """`extreme` by an instruction, and a sum in place of NaN."""
    type = Type("float", known.lanes)
    number = known.minimum if name == "minimum" else known.maximum
    mask = constant(Type(f"i{known.lanes}"), -1)
    found = [
        f.call(
            known.intrinsic,
            type,
            (
                *(f.shuffle(x, range(first, first + known.lanes)) for x in (a, b)),
                constant(I32, number),
                zero(type),
                mask,
                constant(I32, known.rounding),
            ),
        )
        for first in range(0, a.type.lanes, known.lanes)
    ]
    ordered = f.concatenate_all(found)
    return f.select(f.compare("uno", a, b), f.binary("fadd", a, b), ordered)


def fused_multiply_add(
    f: Function, target: Target, a: Value, b: Value, c: Value
) -> Value:
    """a * b + c with one rounding.

    Without an instruction for it, binary32 is computed in binary64: the product is
    exact, the sum is rounded to odd, and what is rounded to odd in 53 bits rounds on to
    24 correctly (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
    """
    if target.fuses:
        return f.intrinsic("fma", a, b, c)
    product = f.binary("fmul", *(f.cast("fpext", v, "double") for v in (a, b)))
    addend = f.cast("fpext", c, "double")
    total = f.binary("fadd", product, addend)
    # Knuth's TwoSum: error = product + addend - total, exactly
    part = f.binary("fsub", total, product)
    left = f.binary("fsub", product, f.binary("fsub", total, part))
    error = f.binary("fadd", left, f.binary("fsub", addend, part))
    bits = f.bitcast(total, total.type.of("i64"))
    even = f.compare(
        "eq",
        f.binary("and", bits, constant(bits.type, 1)),
        zero(bits.type),
    )
    # one step toward the exact sum: up in magnitude when error and total agree in sign
    none = constant(total.type, 0.0)
    inexact = f.compare("one", error, none)
    error_bits = f.bitcast(error, bits.type)
    differ = f.compare("slt", f.binary("xor", bits, error_bits), zero(bits.type))
    step = f.select(differ, constant(bits.type, -1), constant(bits.type, 1))
    adjust = f.binary("and", even, inexact)
    odd = f.select(adjust, f.binary("add", bits, step), bits)
    return f.cast("fptrunc", f.bitcast(odd, total.type), "float")


def convert_float(
    f: Function,
    target: Target,
    mode: str,
    x: Value,
    scalar: str,
    magnitude: float,
    *,
    is_number: bool,
) -> Value:
    """`x` rounded by the named mode, saturated to the signed range of `scalar`.

    |x| is known to be at most `magnitude`, but for its last bits. Unless it `is_number`
    it may be NaN, which becomes 0.
    """
    result = x.type.of(scalar)
    if not is_number:
        x = f.select(f.compare("ord", x, x), x, zero(x.type))
    is_safe = (x.type.scalar, scalar) == ("float", "i32") and magnitude < _SAFE_FOR_I32
    if is_safe and mode == "half_even" and target.converts_in_hardware:
        name = f"llvm.lrint.{result.mangled}.{x.type.mangled}"
        return f.call(name, result, [x])
    is_nearest = is_safe and mode == "half_even"
    if is_nearest and target.adds_to_round and magnitude < _SAFE_FOR_SUM:
        # the sum's last bit has the value 1
        bits = f.bitcast(f.binary("fadd", x, constant(x.type, _FROM)), result)
        return f.binary("sub", bits, constant(result, _BITS_OF_FROM))
    if is_safe and mode == "half_away":
        return f.cast("fptosi", _away_from_zero(f, x), scalar)
    integral = {
        "half_away": "round",
        "half_even": "roundeven",
        "floor": "floor",
        "ceil": "ceil",
    }
    if mode == "toward_zero":
        rounded = x  # as the conversion does
    elif mode in integral:
        rounded = round_float(f, target, integral[mode], x)
    else:
        rounded = _round_half_directed(f, target, mode, x)
    if is_safe:
        return f.cast("fptosi", rounded, scalar)
    limit = 1 << (result.bits - 1)
    least = constant(x.type, float(-limit))
    below = f.compare("olt", rounded, least)
    above = f.compare("oge", rounded, constant(x.type, float(limit)))
    integer = f.cast("fptosi", f.select(below, least, rounded), scalar)
    return f.select(above, constant(result, limit - 1), integer)


def _round_half_directed(f: Function, target: Target, mode: str, x: Value) -> Value:
    """Ties up, down or toward zero; everything else to the nearest."""
    nearest = round_float(f, target, "roundeven", x)
    distance = f.intrinsic("fabs", f.binary("fsub", x, nearest))  # exact
    tie = f.compare("oeq", distance, constant(x.type, 0.5))
    directed = {"half_up": "ceil", "half_down": "floor", "half_toward_zero": "trunc"}
    return f.select(tie, round_float(f, target, directed[mode], x), nearest)


def shift_right(
    f: Function, mode: str, x: Value, amount: Value, magnitude: float
) -> Value:
    """round(x / 2^amount) as in unlimited precision, 0 <= amount < width.

    |x| is known to be at most `magnitude`.
    """
    type = x.type
    if type.bits == 1:  # the only amount is 0
        return x
    one = constant(type, 1)
    unit = f.binary("shl", one, amount)
    half = f.binary("lshr", unit, one)  # 0 for amount 0
    known = amount.constant
    if (
        mode == "half_up"
        and known is not None
        and magnitude + (1 << known >> 1) < 1 << (type.bits - 1)
    ):  # x + half stays in range: no carry is lost
        return f.binary("ashr", f.binary("add", x, half), amount)
    negative = f.compare("slt", x, zero(type))
    if mode == "half_away":
        # |x| + half < 2^width, so the unsigned magnitude rounds without overflow
        absolute = f.call(f"llvm.abs.{type.mangled}", type, (x, constant(I1, 0)))
        rounded = f.binary("lshr", f.binary("add", absolute, half), amount)
        return f.select(negative, f.binary("sub", zero(type), rounded), rounded)
    quotient = f.binary("ashr", x, amount)
    rest = f.binary("and", x, f.binary("sub", unit, one))
    inexact = f.compare("ne", rest, zero(type))
    above = f.compare("ugt", rest, half)
    tie = f.binary("and", f.compare("eq", rest, half), inexact)
    match mode:
        case "floor":
            return quotient
        case "ceil":
            up = inexact
        case "toward_zero":
            up = f.binary("and", inexact, negative)
        case "half_up":
            up = f.binary("or", above, tie)
        case "half_down":
            up = above
        case "half_toward_zero":
            up = f.binary("or", above, f.binary("and", tie, negative))
        case "half_even":
            odd = f.cast("trunc", quotient, "i1")
            up = f.binary("or", above, f.binary("and", tie, odd))
        case _:
            raise ValueError(f"rounding mode {mode}")
    return f.binary("add", quotient, f.cast("zext", up, type.scalar))


def saturate(f: Function, x: Value, scalar: str, *, unsigned: bool) -> Value:
    """The signed x clamped to the range of the narrower `scalar`, low bits kept."""
    bits = x.type.of(scalar).bits
    low = 0 if unsigned else -1 << (bits - 1)
    high = low + (1 << bits) - 1
    clamped = f.intrinsic("smax", x, constant(x.type, low))
    clamped = f.intrinsic("smin", clamped, constant(x.type, high))
    return f.cast("trunc", clamped, scalar)
