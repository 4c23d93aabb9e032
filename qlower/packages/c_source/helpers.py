"""C functions for what C has no operator for: roundings, saturation, bits of floats.

Each is asked for by name and written once into the file that calls it. They need no
library: floats are rounded by way of integers, and square roots digit by digit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .intrinsics import INTRINSICS, SATURATED
from .literals import integer, integer_mask, real_number

_UP = {
    "ceil": "rest != 0u",
    "toward_zero": "(rest != 0u) && (x < 0)",
    "half_up": "(rest >= half) && (rest != 0u)",
    "half_down": "rest > half",
    "half_toward_zero": "(rest > half) || ((rest == half) && (rest != 0u) && (x < 0))",
    "half_even": "(rest > half) || ((rest == half) && (rest != 0u)"
    " && ((quotient & 1) != 0))",
}
"""When x / 2^n, rounded down, is one too little; `rest` is what was lost of 2^n."""

_ADJUSTED = {
    "half_away": ("rest >= {half}", "rest <= -{half}"),
    "half_even": (
        "(rest > {half}) || ((rest >= {half}) && is_odd)",
        "(rest < -{half}) || ((rest <= -{half}) && is_odd)",
    ),
    "half_up": ("rest >= {half}", "rest < -{half}"),
    "half_down": ("rest > {half}", "rest <= -{half}"),
    "half_toward_zero": ("rest > {half}", "rest < -{half}"),
    "floor": ("", "rest < {none}"),
    "ceil": ("rest > {none}", ""),
    "toward_zero": ("", ""),
}
"""When a number cut off towards zero is one too little, and when one too great."""


@dataclass
class Helpers:
    """The functions that a file calls, in the order in which they were asked for."""

    texts: dict[str, str] = field(default_factory=dict[str, str])

    def shift_right(self, mode: str, bits: int) -> str:
        """round(x / 2^n) for 0 <= n < bits, of 32 or 64 bits."""
        name = f"shift_right_{mode}_i{bits}"
        t, u = f"int{bits}_t", f"uint{bits}_t"
        head = [
            f"/* x / 2^n, rounded {mode.replace('_', ' ')}. */",
            f"static inline {t} {name}({t} x, int32_t n) {{",
            f"  const {u} unit = ({u})1u << n;",
        ]
        half = f"  const {u} half = unit >> 1;"
        if mode == "half_away":
            body = [
                half,
                f"  const {u} size = (x < 0) ? (0u - ({u})x) : ({u})x;",
                f"  const {t} rounded = ({t})((size + half) >> n);",
                "  return (x < 0) ? -rounded : rounded;",
            ]
        else:
            up = _UP[mode]
            body = [
                *([half] if "half" in up else []),
                f"  const {u} rest = ({u})x & (unit - 1u);",
                f"  const {t} quotient = x >> n;",
                f"  return quotient + (({up}) ? 1 : 0);",
            ]
        return self.use(name, [*head, *body, "}"])

    def saturate(self, bits: int, low: int, high: int, result: str, label: str) -> str:
        """x of 32 or 64 bits between `low` and `high`, as the C type `result`."""
        name = f"saturate_i{bits}_{label}"
        if (bits, low, high) in SATURATED:
            self.add_intrinsics()
        lines = [
            f"static inline {result} {name}(int{bits}_t x) {{",
            *SATURATED.get((bits, low, high), ()),
            f"  return (x < {integer(low)}) ? ({result}){integer(low)}",
            f"      : ((x > {integer(high)}) ? ({result}){integer(high)}"
            f" : ({result})x);",
            *(["#endif"] if (bits, low, high) in SATURATED else []),
            "}",
        ]
        return self.use(name, lines)

    def convert(self, mode: str, real: str, bits: int, result: str) -> str:
        """A float to an integer with that number of bits, saturated; NaN gives 0."""
        name = f"convert_{mode}_{real}_i{bits}"
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        least, most = (real_number(float(end), real) for end in (low, high))
        return self.use(
            name,
            [
                f"/* x rounded {mode.replace('_', ' ')}, saturated; NaN gives 0. */",
                f"static inline {result} {name}({_C[real]} x) {{",
                f"  if (!(x > {least})) {{",
                f"    return (x <= {least}) ? ({result}){integer(low)} : 0;",
                "  }",
                f"  if (x >= {most}) {{",
                f"    return ({result}){integer(high)};",
                "  }",
                *_rounded(mode, real, 64 if bits > 32 else 32),
                f"  return ({result})whole;",
                "}",
            ],
        )

    def round_float(self, mode: str, real: str) -> str:
        """A float rounded to a whole one; its sign stays."""
        name = f"round_{mode}_{real}"
        size, sign = self.absolute(real), self.copy_sign(real)
        limit = real_number(2.0**23 if real == "f32" else 2.0**52, real)
        return self.use(
            name,
            [
                f"/* x as a whole number, rounded {mode.replace('_', ' ')}. */",
                f"static inline {_C[real]} {name}({_C[real]} x) {{",
                f"  if (!({size}(x) < {limit})) {{",
                "    return x;",
                "  }",
                *_rounded(mode, real, 32 if real == "f32" else 64),
                f"  return {sign}(({_C[real]})whole, x);",
                "}",
            ],
        )

    def bits_of(self, real: str) -> str:
        """The bits of a float as an unsigned integer."""
        return self._bits(f"bits_of_{real}", _C[real], _BITS[real], "number", "bits")

    def of_bits(self, real: str) -> str:
        """The float of these bits."""
        return self._bits(f"{real}_of_bits", _BITS[real], _C[real], "bits", "number")

    def _bits(self, name: str, given: str, result: str, first: str, last: str) -> str:
        return self.use(
            name,
            [
                f"static inline {result} {name}({given} x) {{",
                f"  union {{ {given} {first}; {result} {last}; }} both;",
                f"  both.{first} = x;",
                f"  return both.{last};",
                "}",
            ],
        )

    def absolute(self, real: str) -> str:
        """The magnitude of a float, also of NaN."""
        return self._of_changed_bits("absolute", real, f"& {_ALL_BUT_SIGN[real]}")

    def negated(self, real: str) -> str:
        """A float with the other sign, also NaN."""
        sign = f"({_ALL_BUT_SIGN[real]} + 1u)"
        return self._of_changed_bits("negated", real, f"^ {sign}")

    def _of_changed_bits(self, what: str, real: str, change: str) -> str:
        """A function of a float that changes its bits by an operator and an operand."""
        to, of = self.bits_of(real), self.of_bits(real)
        name = f"{what}_{real}"
        return self.use(
            name,
            [
                f"static inline {_C[real]} {name}({_C[real]} x) {{",
                f"  return {of}({to}(x) {change});",
                "}",
            ],
        )

    def copy_sign(self, real: str) -> str:
        """The magnitude of x with the sign of y."""
        to, of = self.bits_of(real), self.of_bits(real)
        name, mask = f"copy_sign_{real}", _ALL_BUT_SIGN[real]
        return self.use(
            name,
            [
                f"static inline {_C[real]} {name}({_C[real]} x, {_C[real]} y) {{",
                f"  return {of}(({to}(x) & {mask}) | ({to}(y) & ~{mask}));",
                "}",
            ],
        )

    def extreme(self, name: str, real: str) -> str:
        """The minimum or maximum of two floats: NaN of either wins, and -0 < 0."""
        to, of = self.bits_of(real), self.of_bits(real)
        t = _C[real]
        comparison, joined = {"minimum": ("<", "|"), "maximum": (">", "&")}[name]
        return self.use(
            f"{name}_{real}",
            [
                f"/* The {name}; NaN if x or y is, and -0 < 0. */",
                f"static inline {t} {name}_{real}({t} x, {t} y) {{",
                "  if (!((x <= y) || (x >= y))) {",
                "    return x + y;",
                "  }",
                "  if (!((x < y) || (x > y))) {",
                f"    return {of}({to}(x) {joined} {to}(y));",
                "  }",
                f"  return (x {comparison} y) ? x : y;",
                "}",
            ],
        )

    def fused_multiply_add(self) -> str:
        """a * b + c of binary32 with one rounding, computed in binary64.

        The product is exact; the sum is rounded to odd (Boldo and Melquiond, "Emulation
        of FMA and correctly rounded sums"), by Knuth's TwoSum.
        """
        to, of = self.bits_of("f64"), self.of_bits("f64")
        return self.use(
            "fused_f32",
            [
                "/* a * b + c, rounded once: by way of a sum rounded to odd. */",
                "static inline float fused_f32(float a, float b, float c) {",
                "  const double product = (double)a * (double)b;",
                "  const double addend = (double)c;",
                "  const double total = product + addend;",
                "  const double part = total - product;",
                "  const double error = (product - (total - part)) + (addend - part);",
                f"  const uint64_t bits = {to}(total);",
                "  if (((error < 0.0) || (error > 0.0)) && ((bits & 1u) == 0u)) {",
                "    const bool agree = (error < 0.0) == (total < 0.0);",
                f"    return (float){of}(agree ? (bits + 1u) : (bits - 1u));",
                "  }",
                "  return (float)total;",
                "}",
            ],
        )

    def root(self, real: str) -> str:
        """The square root, rounded to nearest even: a digit at a time."""
        to, of, t, u = self.bits_of(real), self.of_bits(real), _C[real], _BITS[real]
        digits, bias = {"f32": (23, 127), "f64": (52, 1023)}[real]
        pairs, zeros = {"f32": (13, 12), "f64": (27, 27)}[real]
        extra = 2 * pairs - 2 - digits
        return self.use(
            f"root_{real}",
            [
                "/* The square root to the nearest: two bits of x give one of it.",
                " * None lies halfway between two floats. */",
                f"static inline {t} root_{real}({t} x) {{",
                f"  uint64_t fraction = (uint64_t)({to}(x) & {integer_mask(digits)});",
                f"  int32_t exponent = (int32_t)({to}(x) >> {digits}u);",
                "  uint64_t root = 0u;",
                "  uint64_t rest = 0u;",
                f"  if (!(x > 0) || (exponent == {2 * bias + 1})) {{",
                "    return (x < 0) ? ((x - x) / (x - x)) : x;",
                "  }",
                "  if (exponent == 0) {",
                "    exponent = 1;",
                f"    for (int32_t i = 0; i < {digits}; i++) {{",
                f"      if (fraction < (UINT64_C(1) << {digits})) {{",
                "        fraction <<= 1;",
                "        exponent--;",
                "      }",
                "    }",
                "  } else {",
                f"    fraction |= UINT64_C(1) << {digits};",
                "  }",
                f"  exponent -= {bias + digits + extra};",
                f"  fraction <<= {extra};",
                "  if ((exponent % 2) != 0) {",
                "    fraction <<= 1;",
                "    exponent--;",
                "  }",
                f"  for (int32_t i = 0; i < {pairs + zeros}; i++) {{",
                f"    rest = (rest << 2) | ((fraction >> {2 * pairs - 2}) & 3u);",
                "    fraction <<= 2;",
                "    root <<= 1;",
                "    if (rest >= ((root << 1) | 1u)) {",
                "      rest -= (root << 1) | 1u;",
                "      root |= 1u;",
                "    }",
                "  }",
                "  root = (root >> 1) + (root & 1u);",
                f"  exponent = (exponent / 2) - {zeros - 1} + {bias + digits - 1};",
                f"  return {of}((({u})exponent << {digits}u) + ({u})root);",
                "}",
            ],
        )

    def leading_zeros(self, bits: int) -> str:
        """The zero bits above the highest one bit of an unsigned number."""
        name = f"leading_zeros_u{bits}"
        return self.use(
            name,
            [
                f"static inline int32_t {name}(uint{bits}_t x) {{",
                "  int32_t count = 0;",
                f"  for (int32_t i = 0; i < {bits}; i++) {{",
                "    count = ((x >> i) != 0u) ? 0 : (count + 1);",
                "  }",
                "  return count;",
                "}",
            ],
        )

    def inside(self) -> str:
        """An index, clamped into a table."""
        return self.use(
            "inside",
            [
                "/* The index, or the last one for another. */",
                "static inline uint32_t inside(int64_t index, uint32_t size) {",
                "  return ((uint64_t)index < size) ? (uint32_t)index : (size - 1u);",
                "}",
            ],
        )

    def add_intrinsics(self) -> None:
        """Add the processor's intrinsics that the innermost loops use."""
        self.texts.setdefault("intrinsics", INTRINSICS)

    def use(self, name: str, lines: list[str]) -> str:
        """Add a function once; its name."""
        self.texts.setdefault(name, "\n".join(lines))
        return name


_C = {"f32": "float", "f64": "double"}
_BITS = {"f32": "uint32_t", "f64": "uint64_t"}
_ALL_BUT_SIGN = {"f32": "UINT32_C(0x7fffffff)", "f64": "UINT64_C(0x7fffffffffffffff)"}


def _rounded(mode: str, real: str, bits: int) -> list[str]:
    """`whole`, x rounded; it is in range, and so are its neighbours."""
    half, none = real_number(0.5, real), real_number(0.0, real)
    up, down = (when.format(half=half, none=none) for when in _ADJUSTED[mode])
    t = f"int{bits}_t"
    lines = [f"  {t} whole = ({t})x;"]
    if up or down:
        lines.append(f"  const {_C[real]} rest = x - ({_C[real]})whole;")
    if "is_odd" in up:
        lines.append("  const bool is_odd = (whole % 2) != 0;")
    for condition, step in ((up, "++"), (down, "--")):
        if condition:
            lines += [f"  if ({condition}) {{", f"    whole{step};", "  }"]
    return lines
