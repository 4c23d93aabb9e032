"""The tables of machines that skeletons read, by the features that decide them."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from qlower.codegen.targets.base import Dot, Target
from qlower.codegen.targets.resolve import resolve_target
from qlower.diagnostics import QlowerError

NAMES = {"triple", "cpu", "features"}


def dot_text(dot: Dot) -> str:
    """A kind, an instruction and what else is said of it."""
    name = dot.intrinsic.removeprefix("llvm.").partition(".")[2]
    flags = [
        flag
        for flag in ("selects_lane", "takes_scalar", "loads_bytes")
        if getattr(dot, flag)
    ]
    beyond = [] if dot.widens_beyond is None else [f">{dot.widens_beyond}"]
    pairs = [dot.byte_pairs.partition(".x86.")[2]] if dot.byte_pairs else []
    return "/".join([dot.kind.name, *filter(None, [name]), *flags, *beyond, *pairs])


def summary(target: Target) -> str:
    """What isn't a field's default, or a dot that isn't that of signed bytes."""
    words: list[str] = []
    for field in fields(target):
        value = getattr(target, field.name)
        default = None if field.default is MISSING else field.default
        if field.name in NAMES or value == default or field.name == "processor":
            continue
        if isinstance(value, bool):
            words.append(field.name if value else f"not {field.name}")
        elif isinstance(value, int | str):
            words.append(f"{field.name}={value}")
        elif isinstance(value, frozenset):
            words.append("needs " + " ".join(sorted(map(str, value))))
        elif isinstance(value, Dot):
            words.append(f"{field.name}={dot_text(value)}")
    signed, unsigned, words_ = (
        dot_text(dot)
        for dot in (target.dots.signed, target.dots.unsigned, target.dots.words)
    )
    words.append(signed)
    words += [f"unsigned {unsigned}"] if unsigned != signed else []
    words += [f"words {words_}"] if words_ != signed else []
    if target.packs is not None:
        words.append(
            " ".join(
                name.partition(".")[2].partition(".")[2]
                for name in (*target.packs.signed.values(), target.packs.unsigned[8])
            )
        )
    if (tables := target.byte_tables) is not None:
        words.append(f"{tables.intrinsic} {tables.registers} {tables.index_argument}")
        words[-1] += f" of sixteen, {tables.cost}" if tables.of_sixteen else ""
    if target.halves is not None:
        words.append("anywhere" if target.halves.reads_anywhere else "aligned")
    words += ["extremes"] * (target.extremes is not None)
    words += ["tiles"] * (target.tiles is not None)
    return ", ".join(words)


TABLES = """
x86_64-linux-gnu x86-64 -
    vector_bits=128, vector_registers=16, not rounds_in_hardware, not fuses,
    optimizer_level=1, PAIRS/sse2.pmadd.wd/>32768, sse2.packssdw.128
    sse2.packsswb.128 sse2.packuswb.128
x86_64-linux-gnu x86-64-v2 -
    vector_bits=128, vector_registers=16, rounds_in_hardware, not fuses,
    optimizer_level=1, needs sse4.1,
    PAIRS/sse2.pmadd.wd/>32768/ssse3.pmadd.ub.sw.128, words
    PAIRS/sse2.pmadd.wd/>32768, sse2.packssdw.128 sse2.packsswb.128
    sse2.packuswb.128
x86_64-linux-gnu x86-64-v3 -
    vector_bits=256, vector_registers=16, rounds_in_hardware, fuses,
    optimizer_level=1, needs avx avx2 fma sse4.1,
    PAIRS/avx2.pmadd.wd/>32768/avx2.pmadd.ub.sw, words
    PAIRS/avx2.pmadd.wd/>32768, avx2.packssdw avx2.packsswb avx2.packuswb,
    llvm.x86.avx2.pshuf.b 1 1 of sixteen, 16
x86_64-linux-gnu alderlake -
    vector_bits=256, vector_registers=16, rounds_in_hardware, fuses,
    optimizer_level=1, needs avx avx2 avxvnni fma sse4.1,
    UNSIGNED_BYTES/avx512.vpdpbusd.256, words PAIRS/avx2.pmadd.wd/>32768,
    avx2.packssdw avx2.packsswb avx2.packuswb, llvm.x86.avx2.pshuf.b 1 1 of
    sixteen, 16
x86_64-linux-gnu x86-64-v4 -
    vector_bits=512, vector_registers=32, rounds_in_hardware, fuses,
    masks_lanes, optimizer_level=1, needs avx avx2 avx512bw avx512dq avx512f
    avx512vl fma sse4.1, PAIRS/avx512.pmaddw.d.512/>32768/avx512.pmaddubs.w.512,
    words PAIRS/avx512.pmaddw.d.512/>32768, avx512.packssdw.512
    avx512.packsswb.512 avx512.packuswb.512, llvm.x86.avx512.pshuf.b.512 1 1 of
    sixteen, 16, extremes
x86_64-linux-gnu icelake-server -
    vector_bits=512, vector_registers=32, rounds_in_hardware, fuses,
    masks_lanes, optimizer_level=1, needs avx avx2 avx512bw avx512dq avx512f
    avx512vbmi avx512vl avx512vnni fma sse4.1,
    UNSIGNED_BYTES/avx512.vpdpbusd.512, words PAIRS/avx512.pmaddw.d.512/>32768,
    avx512.packssdw.512 avx512.packsswb.512 avx512.packuswb.512,
    llvm.x86.avx512.vpermi2var.qi.512 2 1, extremes
x86_64-linux-gnu sapphirerapids -
    vector_bits=512, vector_registers=32, rounds_in_hardware, fuses,
    masks_lanes, optimizer_level=1, needs amx-int8 amx-tile avx avx2 avx512bw
    avx512dq avx512f avx512vbmi avx512vl avx512vnni fma sse4.1,
    UNSIGNED_BYTES/avx512.vpdpbusd.512, words PAIRS/avx512.pmaddw.d.512/>32768,
    avx512.packssdw.512 avx512.packsswb.512 avx512.packuswb.512,
    llvm.x86.avx512.vpermi2var.qi.512 2 1, extremes, tiles
x86_64-none-elf sapphirerapids -
    vector_bits=512, vector_registers=32, rounds_in_hardware, fuses,
    masks_lanes, optimizer_level=1, UNSIGNED_BYTES/avx512.vpdpbusd.512, words
    PAIRS/avx512.pmaddw.d.512/>32768, avx512.packssdw.512 avx512.packsswb.512
    avx512.packuswb.512, llvm.x86.avx512.vpermi2var.qi.512 2 1, extremes
aarch64-linux-gnu - -
    vector_bits=128, vector_registers=32, rounds_in_hardware, fuses,
    tuning=+disable-ldp, SINGLES/selects_lane/>0, llvm.aarch64.neon.tbl4.v16i8 4
    4
aarch64-linux-gnu cortex-a76 -
    vector_bits=128, vector_registers=32, rounds_in_hardware, fuses, needs
    dotprod, tuning=+disable-ldp,
    SIGNED_BYTES/neon.sdot.v4i32.v16i8/selects_lane, words
    SINGLES/selects_lane/>0, llvm.aarch64.neon.tbl4.v16i8 4 4
aarch64-linux-gnu neoverse-v1 -
    vector_bits=128, vector_registers=32, rounds_in_hardware, fuses,
    signed_matrix=SIGNED_BYTES/neon.smmla.v4i32.v16i8/selects_lane,
    unsigned_matrix=UNSIGNED_BYTES/neon.usmmla.v4i32.v16i8/selects_lane, needs
    dotprod i8mm, tuning=+disable-ldp,
    SIGNED_BYTES/neon.sdot.v4i32.v16i8/selects_lane, unsigned
    UNSIGNED_BYTES/neon.usdot.v4i32.v16i8/selects_lane, words
    SINGLES/selects_lane/>0, llvm.aarch64.neon.tbl4.v16i8 4 4
aarch64-linux-gnu generic +i8mm
    vector_bits=128, vector_registers=32, rounds_in_hardware, fuses,
    signed_matrix=SIGNED_BYTES/neon.smmla.v4i32.v16i8/selects_lane,
    unsigned_matrix=UNSIGNED_BYTES/neon.usmmla.v4i32.v16i8/selects_lane, needs
    i8mm, tuning=+disable-ldp,
    UNSIGNED_BYTES/neon.usdot.v4i32.v16i8/selects_lane, words
    SINGLES/selects_lane/>0, llvm.aarch64.neon.tbl4.v16i8 4 4
armv7-linux-gnueabihf - -
    vector_bits=128, vector_registers=16, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, prefers_integers,
    takes_floats_apart, hides_loads, pointer_bytes=4, tuning=-neonfp,
    SINGLES/selects_lane/>0
armv7-linux-gnueabihf cortex-a7 -
    vector_bits=128, vector_registers=16, not rounds_in_hardware, fuses, not
    converts_in_hardware, not orders_floats, prefers_integers,
    takes_floats_apart, hides_loads, pointer_bytes=4, tuning=-neonfp,
    SINGLES/selects_lane/>0
riscv64-linux-gnu - -
    vector_bits=32, vector_registers=28, rounds_in_hardware, fuses,
    is_experimental, SINGLES/>0
riscv64-linux-gnu sifive-x280 -
    vector_bits=512, vector_registers=8, rounds_in_hardware, fuses, masks_lanes,
    widens_in_memory, SINGLES/takes_scalar/>65536
riscv32im-unknown-none-elf - -
    vector_bits=32, vector_registers=28, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, not has_roots, prefers_integers,
    pointer_bytes=4, alignment=16, is_experimental, SINGLES/>0
riscv32imc-unknown-none-elf - -
    vector_bits=32, vector_registers=28, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, not has_roots, prefers_integers,
    pointer_bytes=4, alignment=16, is_experimental, SINGLES/>0
thumbv7em-none-eabi cortex-m4 -
    vector_bits=32, vector_registers=13, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, not has_roots, pointer_bytes=4,
    alignment=8, relocation=static, to_nearest=llvm.arm.vcvtr.f32,
    tuning=-use-misched, SINGLES/>0, anywhere
thumbv7em-none-eabi - +strict-align
    vector_bits=32, vector_registers=13, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, not has_roots, prefers_integers,
    pointer_bytes=4, alignment=8, relocation=static, tuning=-use-misched,
    SINGLES/>0, aligned
thumbv7em-none-eabi cortex-m4 +soft-float
    vector_bits=32, vector_registers=13, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, not has_roots, prefers_integers,
    pointer_bytes=4, alignment=8, relocation=static, tuning=-use-misched,
    SINGLES/>0, anywhere
thumbv8m.main-none-eabi - -
    vector_bits=32, vector_registers=13, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, not has_roots, prefers_integers,
    pointer_bytes=4, alignment=8, relocation=static, tuning=-use-misched,
    SINGLES/>0, anywhere
thumbv6m-none-eabi - -
    vector_bits=32, vector_registers=13, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, not has_roots, prefers_integers,
    pointer_bytes=4, alignment=8, relocation=static, is_experimental,
    tuning=-use-misched, SINGLES/>0
thumbv8.1m.main-none-eabi cortex-m55 -
    vector_bits=128, vector_registers=8, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, not has_roots, prefers_integers,
    widens_in_memory, pointer_bytes=4, alignment=16, relocation=static,
    whole_dot=WHOLE/mve.vmldava, SINGLES/loads_bytes
c99-none - -
    vector_bits=32, vector_registers=13, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, prefers_integers, pointer_bytes=4,
    alignment=8, is_source, SINGLES/>0, anywhere
wasm32-none - -
    vector_bits=32, vector_registers=16, rounds_in_hardware, not fuses, not
    converts_in_hardware, pointer_bytes=4, alignment=16, relocation=static,
    is_experimental, SINGLES/>0
wasm32-unknown-unknown - +simd128
    vector_bits=128, vector_registers=16, rounds_in_hardware, not fuses, not
    converts_in_hardware, hides_addresses, adds_to_round, pointer_bytes=4,
    alignment=16, relocation=static, PAIRS/dot/loads_bytes/>131072,
    narrow.signed.v8i16.v4i32 narrow.signed.v16i8.v8i16
    narrow.unsigned.v16i8.v8i16
thumbv7em-none-eabihf cortex-m7 -
    vector_bits=32, vector_registers=13, not rounds_in_hardware, not fuses, not
    converts_in_hardware, not orders_floats, not has_roots, pointer_bytes=4,
    alignment=8, relocation=static, to_nearest=llvm.arm.vcvtr.f32,
    tuning=-use-misched, SINGLES/>0, anywhere
"""
"""A triple, a CPU and features, and what is to be said of that machine."""


def stated() -> dict[str, str]:
    """The text of each machine, in one line."""
    found: dict[str, str] = {}
    name = ""
    for line in TABLES.strip().splitlines():
        if line.startswith(" "):
            found[name] = f"{found[name]} {line.strip()}".lstrip()
        else:
            name = line
            found[name] = ""
    return found


@pytest.mark.parametrize(("machine", "text"), stated().items())
def test_machines(machine: str, text: str) -> None:
    triple, *others = machine.split(" ")
    cpu, features = (None if one == "-" else one for one in others)
    assert summary(resolve_target(triple, cpu, features)) == text


@pytest.mark.parametrize(
    ("triple", "given", "name", "features"),
    [
        ("riscv32im-unknown-none-elf", None, "riscv32-unknown-none-elf", "+m"),
        ("riscv32imc-unknown-none-elf", None, "riscv32-unknown-none-elf", "+m,+c"),
        ("riscv32im-none-elf", "+zbb", "riscv32-none-elf", "+m,+zbb"),
        ("riscv64-linux-gnu", None, "riscv64-linux-gnu", "+m,+a,+f,+d,+c"),
        ("armv7-linux-gnueabihf", None, "armv7-unknown-linux-gnueabihf", "+neon"),
        ("thumbv7em-none-eabi", None, "thumbv7em-unknown-none-eabi", ""),
        ("thumbv8m.main-none-eabi", None, "thumbv8m.main-unknown-none-eabi", "+dsp"),
        (
            "thumbv8.1m.main-none-eabi",
            None,
            "thumbv8.1m.main-unknown-none-eabi",
            "+mve",
        ),
        ("aarch64-linux-gnu", None, "aarch64-linux-gnu", ""),
        ("wasm32-none", "+simd128", "wasm32-none", "+simd128"),
    ],
)
def test_names_for_llvm(
    triple: str, given: str | None, name: str, features: str
) -> None:
    """With a vendor, and what all code for the machine needs."""
    found = resolve_target(triple, features=given)
    assert (found.triple, found.features) == (name, features)


@pytest.mark.parametrize(
    ("triple", "kind", "help"),
    [
        ("armv7-none-eabi", "32-bit Cortex-A Linux", "armv7-linux-gnueabihf"),
        ("riscv32-linux-gnu", "32-bit RISC-V bare metal", "riscv32im-unknown-none-elf"),
    ],
)
def test_systems_without_tables(triple: str, kind: str, help: str) -> None:
    with pytest.raises(QlowerError) as caught:
        resolve_target(triple)
    assert caught.value.message == (
        f"no code is made for the system of target {triple!r}: of {kind} alone is "
        "supported"
    )
    assert caught.value.help == help
