"""The systems that code is made for, by the triples that name them."""

from __future__ import annotations

from qlower.diagnostics import QlowerError

_NO_SYSTEM = ("elf", "none", "eabi", "eabihf", "unknown")

_LIBRARIES = ("gnu", "musl")
"""The C libraries for Linux that the tests run programs with; for 32-bit Arm with the
suffix of an ABI that passes floats in registers."""


def is_bare_metal(triple: str) -> bool:
    """Whether a triple names no operating system: "aarch64-none-elf" for example."""
    return triple.split("-")[-1] in _NO_SYSTEM


def is_tested_system(triple: str) -> bool:
    """Whether tests run code for the system of a triple: Linux, or none at all.

    Android is Linux with a library of its own, which nothing tests. Raises QlowerError
    for a system that no code is made for: another one has other object files, or other
    calls.
    """
    name, *parts = triple.split("-")
    abi = "eabihf" if name.startswith("armv") else ""
    if "linux" in parts:
        library = parts[parts.index("linux") + 1 :]
        if library and library[0].rstrip("0123456789") == "android":
            return False
        if all(part in (f"{one}{abi}" for one in _LIBRARIES) for part in library):
            return True
    elif is_bare_metal(triple) and set(parts) <= {*_NO_SYSTEM, "pc"}:
        return True
    raise QlowerError(
        f"no code is made for the system of target {triple!r}: supported are Linux "
        f"({', '.join(_LIBRARIES)}; android untested) and none at all",
        help="an ELF object for Linux or bare metal, such as x86_64-linux-gnu or "
        "aarch64-none-elf",
    )


def with_vendor(triple: str) -> str:
    """The triple with a vendor, without which LLVM takes the system for one."""
    parts = triple.split("-")
    if len(parts) == 3:
        parts.insert(1, "unknown")
    return "-".join(parts)
