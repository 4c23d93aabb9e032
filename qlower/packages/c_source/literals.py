"""Literals of C: integers for any width of `int`, and exact floats."""

from __future__ import annotations


def integer(value: int) -> str:
    """A literal whose value doesn't depend on the width of `int`."""
    if -(1 << 15) < value < 1 << 15:
        return str(value) if value >= 0 else f"({value})"
    for bits in (32, 64):
        if value == -1 << (bits - 1):
            return f"(-INT{bits}_C({-(value + 1)}) - 1)"
        if -1 << (bits - 1) < value < 1 << (bits - 1):
            text = f"INT{bits}_C({abs(value)})"
            return text if value >= 0 else f"(-{text})"
    raise ValueError(f"{value} has more than 64 bits")


def integer_mask(bits: int) -> str:
    """A literal of `bits` ones, from the lowest bit up."""
    return f"UINT{32 if bits <= 32 else 64}_C({(1 << bits) - 1:#x})"


def real_number(value: float, real: str) -> str:
    """A finite float's literal, exact: decimal where it is short, else hexadecimal."""
    suffix = "f" if real == "f32" else ""
    if (value == int(value) and abs(value) < 1 << 24) or value in (0.5, -0.5):
        return f"{value!r}{suffix}"
    return f"{value.hex()}{suffix}"
