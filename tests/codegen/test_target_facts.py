"""What follows from the table of a machine: its identity, attributes, aims and dots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qlower.codegen.targets.base import Dot, DotKind, Dots, Target
from qlower.codegen.targets.c99 import PORTABLE_C
from qlower.codegen.targets.resolve import resolve_target
from qlower.codegen.targets.triples import is_bare_metal, is_tested_system, with_vendor
from qlower.codegen.targets.x86_tiles import AMX
from qlower.diagnostics import QlowerError

BARE = resolve_target("thumbv7em-none-eabi", "cortex-m4")
LINUX = resolve_target("x86_64-linux-gnu", "x86-64-v3")


def test_identities() -> None:
    assert LINUX.identity == "x86_64-linux-gnu x86-64-v3"
    named = replace(LINUX, features="+avxvnni", tuned_for="znver4")
    assert named.identity == "x86_64-linux-gnu x86-64-v3 +avxvnni znver4"
    name = "thumbv7em-unknown-none-eabi cortex-m4"
    assert BARE.identity == name
    assert BARE.optimized("size").identity == f"{name} for size"
    assert BARE.optimized("speed") == BARE


ALIKE = '"target-cpu"="cortex-m4" "target-features"="-use-misched" '
WIDE = '"target-cpu"="x86-64-v3" "target-features"="{}" "prefer-vector-width"="256"'


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (BARE, f'{ALIKE}"prefer-vector-width"="32" "no-builtins"'),
        (
            BARE.optimized("size"),
            f'optsize {ALIKE}"prefer-vector-width"="32" "no-builtins"',
        ),
        (
            BARE.optimized("ram"),
            f'{ALIKE}"prefer-vector-width"="32" "no-builtins"',
        ),
        (LINUX, WIDE.format("")),
        (replace(LINUX, tuned_for="znver4"), f'{WIDE.format("")} "tune-cpu"="znver4"'),
        (
            replace(LINUX, features="+sha", tuning="-fast"),
            WIDE.format("+sha,-fast"),
        ),
    ],
)
def test_attributes_of_functions(target: Target, wanted: str) -> None:
    assert target.function_attributes == wanted


@pytest.mark.parametrize("what", ["ram", "size"])
@pytest.mark.parametrize("target", [LINUX, resolve_target(PORTABLE_C)])
def test_aims_of_bare_metal_alone(what: str, target: Target) -> None:
    with pytest.raises(QlowerError) as caught:
        target.optimized(what)
    assert caught.value.message == (
        f"--optimize {what} is for targets without an operating system, not for "
        f"{target.triple}"
    )
    assert caught.value.help == (
        "--target thumbv7em-none-eabi --cpu cortex-m4, for example"
    )
    assert target.optimized("speed") == target


def test_unknown_aims() -> None:
    with pytest.raises(QlowerError) as caught:
        BARE.optimized("fast")
    message = "--optimize 'fast' is not one of speed, ram, size"
    assert caught.value.message == message


SINGLES, PAIRS = Dot(DotKind.SINGLES), Dot(DotKind.PAIRS)
SIGNED, UNSIGNED = Dot(DotKind.SIGNED_BYTES), Dot(DotKind.UNSIGNED_BYTES)


@pytest.mark.parametrize(
    ("dots", "prefers_unsigned"),
    [
        (Dots.all(SINGLES), None),
        (Dots.all(PAIRS), True),
        (Dots.all(replace(PAIRS, loads_bytes=True)), None),
        (Dots(UNSIGNED, UNSIGNED, PAIRS), True),
        (Dots(SIGNED, SIGNED, SINGLES), False),
        (Dots(SIGNED, UNSIGNED, SINGLES), None),
    ],
)
def test_signs_that_products_take_easily(
    dots: Dots, prefers_unsigned: bool | None
) -> None:
    assert replace(LINUX, dots=dots).prefers_unsigned is prefers_unsigned


def test_dots_by_activations() -> None:
    target = replace(LINUX, dots=Dots(SIGNED, UNSIGNED, SINGLES))
    assert target.dot("i8", signed=True) is SIGNED
    assert target.dot("i8", signed=False) is UNSIGNED
    assert target.dot("i16", signed=True) is SINGLES
    assert target.dot("i16", signed=False) is SINGLES
    assert AMX.multiply(signed=True) == "llvm.x86.tdpbssd"
    assert AMX.multiply(signed=False) == "llvm.x86.tdpbusd"


TRIPLES = {
    # whether tests run code for it, and nothing is under the code
    "x86_64-linux-gnu": (True, False),
    "x86_64-pc-linux-musl": (True, False),
    "x86_64-linux": (True, False),
    "aarch64-linux-android": (False, False),
    "aarch64-linux-android34": (False, False),
    "armv7-linux-gnueabihf": (True, False),
    "armv7-linux-musleabihf": (True, False),
    "x86_64-pc-none-elf": (True, True),
    "aarch64-none-elf": (True, True),
    "wasm32-unknown-unknown": (True, True),
    "thumbv6m-none-eabi": (True, True),
}
NO_CODE = [
    *("x86_64-linux-gnux32", "x86_64-pc-windows-msvc", "armv7-linux-gnu"),
    *("x86_64-windows-elf", "x86_64-linux-gnu-elf", "aarch64-apple-none"),
    *("aarch64-linux-gnueabihf", "wasm32"),
]


@pytest.mark.parametrize("triple", TRIPLES)
def test_systems(triple: str) -> None:
    assert (is_tested_system(triple), is_bare_metal(triple)) == TRIPLES[triple]


@pytest.mark.parametrize("triple", NO_CODE)
def test_other_systems(triple: str) -> None:
    with pytest.raises(QlowerError) as caught:
        is_tested_system(triple)
    assert caught.value.message == (
        f"no code is made for the system of target {triple!r}: supported are Linux "
        "(gnu, musl; android untested) and none at all"
    )
    assert caught.value.help == (
        "an ELF object for Linux or bare metal, such as x86_64-linux-gnu or "
        "aarch64-none-elf"
    )


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("thumbv7em-none-eabi", "thumbv7em-unknown-none-eabi"),
        ("armv7-vendor-linux-gnueabihf", "armv7-vendor-linux-gnueabihf"),
        ("c99-none", "c99-none"),
    ],
)
def test_vendors(given: str, wanted: str) -> None:
    assert with_vendor(given) == wanted
