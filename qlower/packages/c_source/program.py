"""A model as one C99 file: a function for each loop nest, and the checked entry point.

The file defines what the model's header declares, as an object would.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.dialects.func import FuncOp

from qlower.codegen.program.interface import STATUS_CODES, Interface
from qlower.model.entry import main_function
from qlower.model.state import STATE_ALIGNMENT, initial_memory, state_offsets
from qlower.packages.c_text import c_comment, c_string
from qlower.packages.header import parameters

from .constants import Constants
from .writer import Parts, Writer

LONGEST_STRING = 4095
"""Characters of a string literal that every C99 compiler takes."""


def c_source(module: ModuleOp, interface: Interface, section: str = "") -> str:
    """The file `<name>.c` of a kernel-level module with buffers. Weights have the
    attribute <NAME>_WEIGHTS, which puts them into a section that is named.

    Raises QlowerError, at its place, for an operation without a form in C.
    """
    function = main_function(module)
    return "\n".join([*_Program(function, interface, section).lines(), ""])


class _Program:
    """The parts of the file, made in the order of the model's operations."""

    def __init__(self, function: FuncOp, interface: Interface, section: str) -> None:
        self.function = function
        self.interface = interface
        self.section = section
        signature = interface.signature
        offsets = state_offsets(signature.states)
        names = [name for name, _ in interface.ports]
        inputs = len(signature.inputs)
        states = [("state_bytes", offset) for offset in offsets[:-1]]
        left = interface.arena_bytes - interface.state_bytes
        outputs = [
            *((name, 0) for name in names[inputs:]),
            *(("memory", left + offset) for offset in offsets[:-1]),
        ]
        arguments = [*((name, 0) for name in names[:inputs]), *states]
        self.parts = Parts(
            interface.name, Constants(interface.name), interface.state_bytes > 0
        )
        self.calls = Writer(function, self.parts, arguments, outputs).calls

    def lines(self) -> Iterator[str]:
        """The file."""
        interface = self.interface
        yield f"/* Model `{interface.name}`, compiled by qlower {interface.version}."
        yield f" * Contract {c_comment(interface.contract)}."
        yield " *"
        yield " * C99, freestanding: no library, no allocation, no recursion. Layers"
        yield " * are in the order in which they run. Integers are exact; what may wrap"
        yield " * is computed without a sign."
        if self._has_floats:
            yield " * Floats are those of IEEE 754, each operation rounded by itself."
        yield " */"
        yield f'#include "{interface.name}.h"'
        yield ""
        yield "#include <stdbool.h>"
        if self._has_floats:
            yield from _FLOAT_CHECKS.splitlines()
        yield ""
        yield from _CHECKS.format(name=interface.name).splitlines()
        yield ""
        for text in self.parts.helpers.texts.values():
            yield f"{text}\n"
        if self.parts.copies_bytes:
            yield _COPY_BYTES
        attribute = f"{interface.name.upper()}_WEIGHTS"
        yield from _weights_attribute(attribute, self.section)
        yield from self.parts.constants.lines(attribute)
        yield ""
        yield from self.parts.functions
        yield from self._entry()
        if interface.state_bytes:
            yield from self._reset()
        yield f"int32_t {interface.level_function}(void) {{"
        yield "  return 1;"
        yield "}"
        yield ""
        yield from _metadata(interface)

    @property
    def _has_floats(self) -> bool:
        """Whether anything is computed with floats."""
        return any(
            isinstance(value.type, AnyFloat)
            for op in self.function.walk()
            if not isinstance(op.parent_op(), FuncOp)
            for value in (*op.operands, *op.results)
        )

    def _entry(self) -> Iterator[str]:
        interface = self.interface
        yield f"int32_t {interface.entry}(uint64_t identity,"
        for parameter in parameters(interface):
            yield f"    {parameter},"
        yield "    void *arena, uint64_t arena_bytes) {"
        pointers = [*interface.pointers, "arena"]
        null = " || ".join(f"({pointer} == NULL)" for pointer in pointers)
        size, unit = interface.arena_bytes, interface.arena_alignment
        yield from self._failures(
            {
                "ERROR_VERSION": self._is_other,
                "ERROR_NULL": null,
                "ERROR_ARENA_SIZE": f"arena_bytes < {size}u",
                "ERROR_ARENA_ALIGNMENT": f"((uintptr_t)arena % {unit}u) != 0u",
                **self._state_failure,
            }
        )
        if any("memory" in call for call in self.calls) or interface.state_bytes:
            yield "  unsigned char *const memory = (unsigned char *)arena;"
        if interface.state_bytes:
            yield "  unsigned char *const state_bytes = (unsigned char *)state;"
        for call in self.calls:
            yield f"  {call}"
        if interface.state_bytes:
            left = interface.arena_bytes - interface.state_bytes
            offsets = state_offsets(interface.signature.states)
            for spec, offset in zip(
                interface.signature.states, offsets[:-1], strict=True
            ):
                yield (
                    f"  copy_bytes(state_bytes + {offset}, memory + {left + offset}, "
                    f"{spec.nbytes}u);"
                )
        yield f"  return {interface.name.upper()}_OK;"
        yield "}"
        yield ""

    def _reset(self) -> Iterator[str]:
        interface = self.interface
        data = initial_memory(interface.signature.states)
        yield f"static const unsigned char {interface.name}_initial[{len(data)}] = {{"
        yield from _bytes(data)
        yield "};"
        yield ""
        yield f"int32_t {interface.reset}(uint64_t identity, void *state) {{"
        yield from self._failures(
            {
                "ERROR_VERSION": self._is_other,
                "ERROR_NULL": "state == NULL",
                **self._state_failure,
            }
        )
        yield f"  copy_bytes(state, {interface.name}_initial, {len(data)}u);"
        yield f"  return {interface.name.upper()}_OK;"
        yield "}"
        yield ""

    @property
    def _is_other(self) -> str:
        return f"identity != {self.interface.name.upper()}_IDENTITY"

    @property
    def _state_failure(self) -> dict[str, str]:
        if not self.interface.state_bytes:
            return {}
        misaligned = f"((uintptr_t)state % {STATE_ALIGNMENT}u) != 0u"
        return {"ERROR_STATE_ALIGNMENT": misaligned}

    def _failures(self, conditions: dict[str, str]) -> Iterator[str]:
        """Return the first failure, in the order of the status codes."""
        upper = self.interface.name.upper()
        for status in STATUS_CODES:
            if status in conditions:
                yield f"  if ({conditions[status]}) {{"
                yield f"    return {upper}_{status};"
                yield "  }"


def _weights_attribute(name: str, section: str) -> Iterator[str]:
    """The macro that states where large arrays are placed; a compiler option may define
    it."""
    yield f"#ifndef {name} /* an attribute of large arrays, such as a section */"
    yield f"#define {name}" + (
        f' __attribute__((section("{section}")))' if section else ""
    )
    yield "#endif"
    yield ""


def _metadata(interface: Interface) -> Iterator[str]:
    text = interface.to_json()
    if len(text.encode()) <= LONGEST_STRING:
        yield f"const char {interface.metadata}[] ="
        for at in range(0, len(text), 64):
            yield f"    {c_string(text[at : at + 64])}"
        yield "    ;"
        return
    data = text.encode() + b"\0"
    yield f"const char {interface.metadata}[{len(data)}] = {{"
    yield from _bytes(data)
    yield "};"


def _bytes(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), 16):
        yield f"  {', '.join(map(str, data[at : at + 16]))},"


_COPY_BYTES = """\
static void copy_bytes(void *target, const void *source, uint32_t size) {
  unsigned char *const to = (unsigned char *)target;
  const unsigned char *const from = (const unsigned char *)source;
  for (uint32_t i = 0; i < size; i++) {
    to[i] = from[i];
  }
}
"""

_CHECKS = """\
/* C leaves to the compiler how negative numbers are narrowed and shifted. */
typedef char {name}_check_narrowing[((int8_t)200 == -56) ? 1 : -1];
typedef char {name}_check_shifting[((-3 >> 1) == -2) ? 1 : -1];"""

_FLOAT_CHECKS = """
#include <float.h>
/* Each result is assigned before it is used: binary64 may compute binary32. */
#if !defined(FLT_EVAL_METHOD) || ((FLT_EVAL_METHOD != 0) && (FLT_EVAL_METHOD != 1))
#error doubles must be computed as such: with gcc for x86 by -msse2 -mfpmath=sse
#endif
#if defined(__FAST_MATH__) || (FLT_RADIX != 2) || (FLT_MANT_DIG != 24) \\
    || (DBL_MANT_DIG != 53)
#error floats must be those of IEEE 754, without -ffast-math
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif"""
