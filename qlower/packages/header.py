"""The C header of a compiled model: C99 and C++17, without other headers of the
project."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from qlower.codegen.program.interface import STATUS_CODES, Interface
from qlower.codegen.targets.resolve import processor_of, resolve_target
from qlower.model.signature import TensorSpec
from qlower.model.state import STATE_ALIGNMENT
from qlower.packages.c_text import c_comment, c_string

C_TYPES = {
    "bool": "uint8_t",
    "float32": "float",
    "float64": "double",
    **{
        f"{prefix}int{bits}": f"{prefix}int{bits}_t"
        for prefix in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}
"""The C type of each element type."""


def header_text(interface: Interface) -> str:
    """The header `<name>.h`."""
    upper = interface.name.upper()
    return "\n".join(
        (
            f"/* Model `{interface.name}`, compiled by qlower {interface.version}.",
            " *",
            f" * Call {interface.name}_run with inputs, outputs and an arena:",
            f" * {upper}_ARENA_BYTES bytes at a multiple of {upper}_ARENA_ALIGNMENT.",
            *_places_comment(interface),
            *_state_comment(interface),
            *_float_environment(interface.target),
            " * Stored integers q stand for SCALE * (q - ZERO_POINT); functions below",
            " * convert them. They need no library, but not -ffast-math either. */",
            f"#ifndef {upper}_H",
            f"#define {upper}_H",
            "",
            *_float_check(interface.target),
            "#include <stddef.h>",
            "#include <stdint.h>",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            f"#define {upper}_CONTRACT {c_string(interface.contract)}",
            f'#define {upper}_SOURCE_SHA256 "{interface.model_sha256}"',
            f'#define {upper}_QLOWER_VERSION "{interface.version}"',
            f"#define {upper}_TARGET {c_string(interface.target)}",
            f"#define {upper}_LEVELS {c_string(','.join(interface.levels))}",
            f"#define {upper}_IDENTITY UINT64_C(0x{interface.identity:016x})",
            "",
            *_arena_macros(interface),
            *_state_macros(interface),
            "",
            *(
                f"#define {upper}_{status} {code} /* {meaning} */"
                for status, (code, meaning) in STATUS_CODES.items()
                if interface.state_bytes or "STATE" not in status
            ),
            *(
                line
                for (name, spec), offset in zip(
                    interface.ports, _offsets(interface), strict=True
                )
                for line in _port(upper, name, spec, offset)
            ),
            "",
            f"extern const char {interface.metadata}[];",
            "",
            *_level_comment(interface),
            f"int32_t {interface.level_function}(void);",
            "",
            f"int32_t {interface.entry}(uint64_t identity,",
            *(f"    {parameter}," for parameter in parameters(interface)),
            "    void *arena, uint64_t arena_bytes);",
            "",
            "/* Runs the model. Anything but OK means that nothing was written. */",
            f"static inline int32_t {interface.name}_run(",
            *(f"    {parameter}," for parameter in parameters(interface)),
            "    void *arena, size_t arena_bytes) {",
            *_guarded_run(interface),
            f"  return {interface.entry}({upper}_IDENTITY,",
            f"      {', '.join(interface.pointers)},",
            "      arena, (uint64_t)arena_bytes);",
            "#endif",
            "}",
            *_reset(interface),
            *_conversions(interface),
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            f"#endif /* {upper}_H */",
            "",
        )
    )


def _places_comment(interface: Interface) -> Iterator[str]:
    """The comment on inputs and outputs that may lie in the arena."""
    if interface.arena_inputs or interface.arena_outputs:
        yield " * Inputs and outputs are outside of it, or in it at their OFFSET, where"
        yield " * a call overwrites its inputs."


def _arena_macros(interface: Interface) -> Iterator[str]:
    """The arena's size; with canaries there are as many bytes as its alignment around
    it."""
    upper, unit = interface.name.upper(), interface.arena_alignment
    starts = interface.arena_inputs or interface.arena_outputs
    yield f"#ifndef {upper}_CANARIES"
    yield f"#define {upper}_ARENA_BYTES {interface.arena_bytes}"
    if starts:
        yield f"#define {upper}_ARENA_START 0"
    yield "#else /* the ends of the arena are guarded */"
    yield f"#define {upper}_ARENA_BYTES {interface.arena_bytes + 2 * unit}"
    if starts:
        yield f"#define {upper}_ARENA_START {unit}"
    yield f"#define {upper}_ERROR_CANARY 8 /* a byte beside the arena was changed */"
    yield "#endif"
    yield f"#define {upper}_ARENA_ALIGNMENT {unit}"


def _guarded_run(interface: Interface) -> Iterator[str]:
    """With canaries: the run between two guards."""
    names = ", ".join(interface.pointers)
    values = {
        "upper": interface.name.upper(),
        "entry": interface.entry,
        "names": names,
        "unit": interface.arena_alignment,
        "size": interface.arena_bytes,
    }
    yield from _GUARDED_RUN.format(**values).splitlines()


_GUARDED_RUN = """\
#ifdef {upper}_CANARIES
  unsigned char *bytes = (unsigned char *)arena;
  unsigned char changed = 0;
  int32_t status;
  size_t i;
  if (arena == NULL || arena_bytes < {upper}_ARENA_BYTES)
    return {entry}({upper}_IDENTITY,
        {names}, arena, 0);
  for (i = 0; i < {unit}; i++) bytes[i] = bytes[{unit} + {size} + i] = 0xA5;
  status = {entry}({upper}_IDENTITY,
      {names}, bytes + {unit}, {size});
  for (i = 0; i < {unit}; i++)
    changed |= (unsigned char)((bytes[i] ^ 0xA5) | (bytes[{unit} + {size} + i] ^ 0xA5));
  return changed ? {upper}_ERROR_CANARY : status;
#else"""


def _state_comment(interface: Interface) -> Iterator[str]:
    """The comment on the state that calls leave behind."""
    if not interface.state_bytes:
        yield " * It keeps no state: calls with different arenas may run at once."
        return
    name, upper = interface.name, interface.name.upper()
    yield " * What one call leaves to the next is in the caller's state:"
    yield f" * {upper}_STATE_BYTES bytes at a multiple of {upper}_STATE_ALIGNMENT."
    yield f" * {name}_reset makes a new one of them; copies are states, too."
    yield " * Calls with different arenas and states may run at once."


def _state_macros(interface: Interface) -> Iterator[str]:
    if interface.state_bytes:
        upper = interface.name.upper()
        yield f"#define {upper}_STATE_BYTES {interface.state_bytes}"
        yield f"#define {upper}_STATE_ALIGNMENT {STATE_ALIGNMENT}"


def _reset(interface: Interface) -> Iterator[str]:
    """The function that makes a state a new one."""
    if not interface.state_bytes:
        return
    yield ""
    yield f"int32_t {interface.reset}(uint64_t identity, void *state);"
    yield ""
    yield "/* Makes a state as it is before the first call. */"
    yield f"static inline int32_t {interface.name}_reset(void *state) {{"
    yield f"  return {interface.reset}({interface.name.upper()}_IDENTITY, state);"
    yield "}"


def _float_check(triple: str) -> Iterator[str]:
    """For Arm's 32-bit targets: which way floats are passed in all of a program."""
    if not triple.startswith("thumb"):
        return
    is_hard = triple.endswith("hf")
    wanted = triple[:-2] if is_hard else f"{triple}hf"
    yield f"#if{'n' if is_hard else ''}def __ARM_PCS_VFP"
    yield f"#error for this program, compile the model with --target {wanted}"
    yield "#endif"
    yield ""


def _float_environment(triple: str) -> Iterator[str]:
    """The comment on a rounding mode that a program may have set."""
    if resolve_target(triple).float_control is None:
        yield " * Call it in C's default floating-point environment (<fenv.h>)."
        return
    yield " * It runs in C's default floating-point environment, whatever the caller's,"
    yield " * which it leaves as it was."


def _level_comment(interface: Interface) -> Iterator[str]:
    """The comment on the function that returns the level that runs."""
    processor = processor_of(interface.target)
    if processor is None:
        yield "/* Always 1: there is no system to ask what the processor has. */"
        return
    yield "/* Which of LEVELS runs on this processor, counted from 1: the last whose"
    yield " * instructions it has; 0 for none, then nothing runs."
    if processor.remembers:
        yield " * The first call asks the processor, later ones remember what it said."
    yield " */"


def _conversions(interface: Interface) -> Iterator[str]:
    """Functions between real numbers and the stored integers of each port.

    They give what `TensorSpec.quantize` and, rounded to float32, `dequantize` give. An
    integer of up to 16 bits is exact in float32, and so is its distance to the zero
    point; there are none for wider ones.
    """
    ports = [
        (port, spec)
        for port, spec in interface.ports
        if spec.scale is not None and spec.numpy_dtype.itemsize <= 2
    ]
    if ports:
        yield from _NEAREST.format(name=interface.name).splitlines()
    for port, spec in ports:
        limits = np.iinfo(spec.dtype)
        names = {
            "name": interface.name,
            "port": port,
            "macro": f"{interface.name}_{port}".upper(),
            "type": C_TYPES[spec.dtype],
            "low": f"{limits.min}",
            "high": f"{limits.max}",
        }
        yield from _CONVERSIONS.format(**names).splitlines()


_NEAREST = """
/* The integer nearest to x, of two the even one, between low and high; 0 for NaN. */
static inline int32_t {name}_nearest(float x, int32_t low, int32_t high) {{
  int32_t whole, odd;
  float rest;
  if (!(x > (float)low)) return x <= (float)low ? low : 0;
  if (x >= (float)high) return high;
  whole = (int32_t)x; /* towards zero, and rest is exact */
  rest = x - (float)whole;
  odd = whole % 2 != 0;
  if (rest > 0.5f || (rest >= 0.5f && odd)) return whole + 1;
  if (rest < -0.5f || (rest <= -0.5f && odd)) return whole - 1;
  return whole;
}}
"""

_CONVERSIONS = """
/* real / SCALE to the nearest, plus ZERO_POINT, saturated; NaN gives ZERO_POINT. */
static inline {type} {name}_quantize_{port}(float real) {{
  return ({type})({macro}_ZERO_POINT +
                  {name}_nearest(real / {macro}_SCALE,
                                 {low} - {macro}_ZERO_POINT,
                                 {high} - {macro}_ZERO_POINT));
}}
static inline float {name}_dequantize_{port}({type} stored) {{
  return {macro}_SCALE * (float)(stored - {macro}_ZERO_POINT);
}}
"""


def parameters(interface: Interface) -> Iterator[str]:
    """The parameters of the entry point except the identity and the arena."""
    for name, spec in interface.ports:
        constant = "const " if name.startswith("input") else ""
        yield f"{constant}{C_TYPES[spec.dtype]} *{name}"
    if interface.state_bytes:
        yield "void *state"


def _offsets(interface: Interface) -> list[int | None]:
    """The offsets of inputs and outputs that may lie in the arena."""
    offsets = [*interface.arena_inputs, *interface.arena_outputs]
    return [*offsets] or [None] * len(interface.ports)


def _port(upper: str, name: str, spec: TensorSpec, offset: int | None) -> Iterator[str]:
    """Macros of one input or output, which may lie in the arena at an offset."""
    prefix = f"{upper}_{name.upper()}"
    shape = "x".join(map(str, spec.shape)) or "scalar"
    yield ""
    yield f"/* {c_comment(spec.name)}: {shape} of {spec.dtype} */"
    yield f"#define {prefix}_COUNT {prod(spec.shape)}"
    if offset is not None:
        yield f"#define {prefix}_OFFSET ({upper}_ARENA_START + {offset})"
    if spec.scale is not None:
        yield f"#define {prefix}_SCALE {_c_float(spec.scale)}"
        yield f"#define {prefix}_ZERO_POINT ({spec.zero_point})"


def _c_float(value: float) -> str:
    text = f"{value:.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
