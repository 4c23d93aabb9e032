"""Assembly text, as LLVM prints it for ELF objects."""

from __future__ import annotations


def functions_of(assembly: str) -> dict[str, str]:
    """The code of each function, from its label to its end, by name."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in assembly.splitlines():
        is_label = ":" in line and not line.startswith(("\t", ".", " "))
        if is_label:
            current = found.setdefault(line.split(":")[0].strip('"'), [])
        elif line.startswith(".Lfunc_end"):
            current = None
        if current is not None:
            current.append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}
