"""Instructions that compute a value from others, as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.scopes import ScopedText
from qlower.codegen.llvm.values import (
    I64,
    Type,
    Value,
    constant,
    vector_constant,
)


class Computing(ScopedText):
    """Arithmetic on scalars and lanes, moves of lanes, and integers of indices."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module
        self._first_lines: list[str] = []
        self._splats: dict[Value, dict[int, Value]] = {}
        self._indices: dict[str, tuple[Value, int, int]] = {}
        """The base, factor and offset of each i64 value `base * factor + offset`."""
        self._last: dict[str, int] = {}
        """The greatest value of a loop's index."""

    def binary(self, opcode: str, a: Value, b: Value) -> Value:
        if self._is_apart(a.type):
            return self._lane_by_lane(partial(self.binary, opcode), a, b)
        return self._compute(a.type, f"{opcode} {a}, {b.text}", a, b)

    def unary(self, opcode: str, a: Value) -> Value:
        return self._compute(a.type, f"{opcode} {a}", a)

    def cast(self, opcode: str, a: Value, scalar: str) -> Value:
        """`opcode` to lanes of `scalar`; nothing when `a` has them already."""
        type = a.type.of(scalar)
        if type == a.type:
            return a
        return self._compute(type, f"{opcode} {a} to {type}", a)

    def bitcast(self, a: Value, type: Type) -> Value:
        if type == a.type:
            return a
        return self._compute(type, f"bitcast {a} to {type}", a)

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        if self._is_apart(a.type):
            return self._lane_by_lane(partial(self.compare, predicate), a, b)
        opcode = "fcmp" if a.type.is_float else "icmp"
        instruction = f"{opcode} {predicate} {a}, {b.text}"
        return self._compute(a.type.of("i1"), instruction, a, b)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        instruction = f"select {condition}, {a}, {b}"
        return self._compute(a.type, instruction, condition, a, b)

    # --------------------------------------------------------------- vectors

    def _is_apart(self, type: Type) -> bool:
        """Whether lanes of the type are computed one by one."""
        return self.module.takes_floats_apart and type.is_float and type.lanes > 1

    def _kept_apart(self, loaded: Value, alignment: int) -> Value:
        """A loaded value, hidden from LLVM if nothing may be joined with the load."""
        type = loaded.type
        is_double = type.lanes > 1 and type.lanes * type.bits == 64
        if self.module.hides_loads and is_double and alignment < 8:
            return self.hidden(loaded, "w")
        return loaded

    def _lane_by_lane(self, compute: Callable[..., Value], *operands: Value) -> Value:
        """A vector of what is computed from each lane of the operands."""
        lanes = range(operands[0].type.lanes)
        return self.join(
            [compute(*(self.extract(x, lane) for x in operands)) for lane in lanes]
        )

    def splat(self, a: Value, lanes: int) -> Value:
        """A scalar in all lanes; `a` itself if it has that many lanes already."""
        if a.type.lanes == lanes:
            return a
        type = Type(a.type.scalar, lanes)
        if a.text[0] not in "%@":
            return Value(type, f"splat ({a})")
        if a in self._splats:
            return self._first_splat(a, type)
        first = self._compute(type, f"insertelement {type} poison, {a}, i64 0", a)
        return self.shuffle(first, [0] * lanes)

    def _first_splat(self, a: Value, type: Type) -> Value:
        """A number of the caller in all lanes, from the beginning on."""
        splats = self._splats[a]
        if type.lanes not in splats:
            new = Value(type, f"{a.text}x{type.lanes}")
            self._first_lines += [
                f"  {new.text}.first = insertelement {type} poison, {a}, i64 0",
                f"  {new.text} = shufflevector {type} {new.text}.first, {type} poison, "
                f"<{type.lanes} x i32> zeroinitializer",
            ]
            splats[type.lanes] = new
        return splats[type.lanes]

    def shuffle(self, a: Value, lanes: Sequence[int]) -> Value:
        """The numbered lanes of a vector, or of a scalar, which has lane 0 alone."""
        if a.type.lanes == 1:
            return self.splat(a, len(lanes))
        if len(lanes) == 1:
            return self.extract(a, lanes[0])
        whole = range(a.type.lanes)
        if lanes == whole or tuple(lanes) == tuple(whole):
            return a
        return self.shuffle_both(a, Value(a.type, "poison"), lanes)

    def shuffle_both(self, a: Value, b: Value, lanes: Sequence[int]) -> Value:
        """Lanes of a, and of b, which has as many and is counted on."""
        type, mask = Type(a.type.scalar, len(lanes)), vector_constant("i32", lanes)
        return self._compute(type, f"shufflevector {a}, {b}, {mask}", a, b)

    def concatenate(self, a: Value, b: Value) -> Value:
        """The lanes of a, then those of b, which has as many."""
        return self.shuffle_both(a, b, range(2 * a.type.lanes))

    def concatenate_all(self, parts: Sequence[Value]) -> Value:
        """The lanes of all parts, a power of two of them."""
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self.concatenate(a, b) for a, b in pairs]
        return parts[0]

    def interleave(self, a: Value, b: Value) -> Value:
        """Lane after lane, one of a and one of b."""
        lanes = range(a.type.lanes)
        order = [i for n in lanes for i in (n, n + len(lanes))]
        return self.shuffle_both(a, b, order)

    def insert(self, a: Value, scalar: Value, lane: int) -> Value:
        """`a` with another scalar in one lane."""
        if a.type.lanes == 1:
            return scalar
        instruction = f"insertelement {a}, {scalar}, i64 {lane}"
        return self._compute(a.type, instruction, a, scalar)

    def extract(self, a: Value, lane: int) -> Value:
        if a.type.lanes == 1:
            return a
        instruction = f"extractelement {a}, i64 {lane}"
        return self._compute(Type(a.type.scalar), instruction, a)

    def join(self, scalars: Sequence[Value]) -> Value:
        """A vector of the given lanes."""
        type = Type(scalars[0].type.scalar, len(scalars))
        vector = Value(type, "poison")
        for lane, scalar in enumerate(scalars):
            vector = self.insert(vector, scalar, lane)
        return vector

    # ----------------------------------------------------- integers of indices

    def add(self, a: Value, b: Value) -> Value:
        """Sum of two i64; constants are folded."""
        left, right = a.constant, b.constant
        if left is not None and right is not None:
            return constant(I64, left + right)
        if left == 0:
            return b
        if right == 0:
            return a
        if left is None and right is None:
            return self.binary("add nsw", a, b)
        base, factor, known = self._parts(a if left is None else b)
        return self._index(base, factor, known + (left or 0) + (right or 0))

    def scale(self, a: Value, factor: int) -> Value:
        """Product of an i64 and a constant."""
        if factor == 1:
            return a
        number = a.constant
        if number is not None or factor == 0:
            return constant(I64, (number or 0) * factor)
        base, before, known = self._parts(a)
        return self._index(base, before * factor, known * factor)

    def is_below(self, a: Value, bound: int) -> bool:
        """Whether an i64 is known to lie in [0, bound)."""
        base, factor, first = self._parts(a)
        if base.text not in self._last:
            return False
        last = first + factor * self._last[base.text]
        return min(first, last) >= 0 and max(first, last) < bound

    def _parts(self, a: Value) -> tuple[Value, int, int]:
        """An i64 as a value, its factor, and what is added to the product."""
        whole = a, 1, 0
        return whole if self._is_straight else self._indices.get(a.text, whole)

    def _index(self, base: Value, factor: int, known: int) -> Value:
        """The i64 value `base * factor + known`."""
        index = base
        if factor != 1:
            index = self.binary("mul nsw", base, constant(I64, factor))
            self._indices[index.text] = base, factor, 0
        if known:
            index = self.binary("add nsw", index, constant(I64, known))
            self._indices[index.text] = base, factor, known
        return index

    def divide(self, a: Value, factor: int) -> Value:
        """Quotient of a non-negative i64 and a constant that divides it."""
        if a.constant is not None:
            return constant(I64, a.constant // factor)
        return self.binary("udiv exact", a, constant(I64, factor))

    def hidden(self, value: Value, registers: str = "r") -> Value:
        """Hide from LLVM where a value in such registers comes from.

        It leaves distances from such an address in loads, and adds none in registers.
        """
        type, places = value.type, f'"={registers},0"'
        return self._emit(
            type, f'call {type} asm "", {places}({value}) nounwind memory(none)'
        )

    def in_turn(self, value: Value) -> Value:
        """Have a value computed after those for which this was called before."""
        return self._emit(
            value.type,
            f'call {value.type} asm sideeffect "", "=r,0"({value}) '
            "nounwind memory(inaccessiblemem: readwrite)",
        )
