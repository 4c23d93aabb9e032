"""The header's lines, by what an interface has: states, places in the arena, levels,
the way of floats."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qlower.codegen.program.interface import Interface
from qlower.model.signature import Signature, StateSpec, TensorSpec
from qlower.packages.header import header_text, parameters

SIGNATURE = Signature(
    (
        TensorSpec("x*/", (2, 3), "int8", (0.5,), (-3,)),
        TensorSpec("z", (), "float32"),
        TensorSpec("wide", (4,), "int32", (2.0,), (7,)),
    ),
    (TensorSpec("y", (3,), "uint16", (1e-10,), (9,)), TensorSpec("b", (1,), "bool")),
)
STATE = StateSpec("count", (3,), "int8", initial=b"\1\2\3")
PLAIN = Interface(
    *("toy", SIGNATURE, 96, 32, "tflite", "f" * 64, "x86_64-linux-gnu"),
    ("x86-64", "x86-64-v3"),
)
KEEPING = replace(PLAIN, signature=replace(SIGNATURE, states=(STATE,)))
PLACED = replace(PLAIN, arena_inputs=(0, 8, 16), arena_outputs=(32, 40))
INSIDE = replace(PLAIN, arena_inputs=(), arena_outputs=(0, 8, 16, 32, 40))
BARE = "thumbv7em-none-eabi"


def lines(interface: Interface) -> list[str]:
    return header_text(interface).splitlines()


def between(found: list[str], first: str, last: str) -> list[str]:
    """The lines after the first one up to the last one."""
    start = found.index(first) + 1
    return found[start : found.index(last, start)]


def test_macros_of_a_port() -> None:
    found = lines(PLAIN)
    assert between(found, "/* z: scalar of float32 */", "") == [
        "#define TOY_INPUT_1_COUNT 1"
    ]
    assert between(found, "/* wide: 4 of int32 */", "") == [
        "#define TOY_INPUT_2_COUNT 4",
        "#define TOY_INPUT_2_SCALE 2.0f",
        "#define TOY_INPUT_2_ZERO_POINT (7)",
    ]
    assert between(found, "/* y: 3 of uint16 */", "") == [
        "#define TOY_OUTPUT_0_COUNT 3",
        "#define TOY_OUTPUT_0_SCALE 1e-10f",
        "#define TOY_OUTPUT_0_ZERO_POINT (9)",
    ]
    (x,) = (line for line in found if line.endswith(": 2x3 of int8 */"))
    assert between(found, x, "")[:2] == [
        "#define TOY_INPUT_0_COUNT 6",
        "#define TOY_INPUT_0_SCALE 0.5f",
    ]
    assert "OFFSET" not in "\n".join(found)
    assert "ARENA_START" not in "\n".join(found)
    assert " * a call overwrites its inputs." not in found


@pytest.mark.parametrize("interface", [PLACED, INSIDE])
def test_places_in_the_arena(interface: Interface) -> None:
    """Offsets are those of inputs, then of outputs."""
    found = lines(interface)
    assert " * a call overwrites its inputs." in found
    offsets = [line.split(" ", 2)[1:] for line in found if "_OFFSET (" in line]
    names = [f"INPUT_{number}" for number in range(3)] + ["OUTPUT_0", "OUTPUT_1"]
    assert offsets == [
        [f"TOY_{name}_OFFSET", f"(TOY_ARENA_START + {offset})"]
        for name, offset in zip(names, (0, 8, 16, 32, 40), strict=True)
    ]
    assert between(found, "#ifndef TOY_CANARIES", "#endif") == [
        "#define TOY_ARENA_BYTES 96",
        "#define TOY_ARENA_START 0",
        "#else /* the ends of the arena are guarded */",
        "#define TOY_ARENA_BYTES 160",
        "#define TOY_ARENA_START 32",
        "#define TOY_ERROR_CANARY 8 /* a byte beside the arena was changed */",
    ]


def test_a_state() -> None:
    found = lines(KEEPING)
    text = "\n".join(found)
    assert " * Calls with different arenas and states may run at once." in found
    assert " * It keeps no state: calls with different arenas may run at once." in (
        lines(PLAIN)
    )
    assert "#define TOY_STATE_BYTES 8" in found
    assert "#define TOY_STATE_ALIGNMENT 8" in found
    assert "  return toy_reset_checked(TOY_IDENTITY, state);" in found
    assert [*parameters(KEEPING)] == [*parameters(PLAIN), "void *state"]
    assert [*parameters(PLAIN)] == [
        *("const int8_t *input_0", "const float *input_1", "const int32_t *input_2"),
        *("uint16_t *output_0", "uint8_t *output_1"),
    ]
    assert any("STATE" in line for line in found if line.startswith("#define TOY_ERR"))
    assert "STATE" not in header_text(PLAIN)
    assert text.count("void *state") == 4


def test_conversions_of_small_integers() -> None:
    found = header_text(PLAIN)
    assert found.count("toy_nearest(float x") == 1
    for port in ("input_0", "output_0"):
        assert f"toy_quantize_{port}(float real)" in found
    for port in ("input_1", "input_2", "output_1"):
        assert f"toy_quantize_{port}(" not in found
    assert "-128 - TOY_INPUT_0_ZERO_POINT," in found
    assert "65535 - TOY_OUTPUT_0_ZERO_POINT)" in found
    real = TensorSpec("y", (3,), "float32")
    plain = replace(PLAIN, signature=replace(SIGNATURE, inputs=(), outputs=(real,)))
    assert "_nearest" not in header_text(plain)


@pytest.mark.parametrize(
    ("target", "directive", "other"),
    [
        (BARE, "#ifdef", "thumbv7em-none-eabihf"),
        (f"{BARE}hf", "#ifndef", BARE),
    ],
)
def test_the_way_of_floats(target: str, directive: str, other: str) -> None:
    found = lines(replace(PLAIN, target=target))
    at = found.index(f"{directive} __ARM_PCS_VFP")
    assert found[at + 1 : at + 4] == [
        f"#error for this program, compile the model with --target {other}",
        "#endif",
        "",
    ]
    assert " * Call it in C's default floating-point environment (<fenv.h>)." in found
    assert "/* Always 1: there is no system to ask what the processor has. */" in found


def test_a_system_that_is_asked() -> None:
    found = lines(PLAIN)
    assert "__ARM_PCS_VFP" not in "\n".join(found)
    assert " * which it leaves as it was." in found
    assert " * instructions it has; 0 for none, then nothing runs." in found
    first = " * The first call asks the processor, later ones remember what it said."
    assert first in found
    assert first not in lines(replace(PLAIN, target="aarch64-linux-gnu"))
