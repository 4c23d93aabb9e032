from __future__ import annotations

import subprocess
import sys

import pytest
from support.machines.native import levels, machine_levels
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from qlower.codegen.targets.architecture import Architecture
from qlower.codegen.targets.resolve import (
    ARCHITECTURES,
    DotKind,
    host_target,
    resolve_levels,
    resolve_target,
)
from qlower.codegen.targets.set_target import SetTargetPass, target_of
from qlower.diagnostics import QlowerError


def llvm_names(architecture: Architecture) -> tuple[set[str], set[str]]:
    """The CPUs and features that LLVM prints when it is asked for help."""
    code = (
        "from qlower.codegen.llvm.binding import BINDING as b\n"
        f"t = b.Target.from_triple('{architecture.names[0]}-linux-gnu')\n"
        "t.create_target_machine(cpu='help', features='', opt=0, reloc='pic',"
        " codemodel='small')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    cpus, features = done.stderr.split("Available features")[:2]
    known_cpus, known_features = (
        {line.split()[0] for line in part.splitlines() if " - " in line}
        for part in (cpus, features)
    )
    return known_cpus, known_features


@pytest.mark.parts(12)
@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda a: a.names[0])
def test_every_name_is_one_of_llvm(architecture: Architecture):
    cpus, features = llvm_names(architecture)
    assert set(architecture.cpus) <= cpus
    # LLVM's help leaves out the name of the 64-bit mode that it detects
    assert architecture.features <= features | {"64bit"}
    assert set(architecture.implied) <= architecture.features
    assert architecture.required <= architecture.features


@pytest.mark.parametrize(
    "triple",
    [
        "aarch64-apple-darwin",
        "arm64-apple-macosx14.0.0",
        "x86_64-pc-windows-msvc",
        "x86_64-w64-windows-gnu",
        "x86_64-windows-elf",
        "x86_64-unknown-freebsd",
        "x86_64-linux-gnux32",
        "wasm32-wasi",
        "thumbv7em-linux-gnueabihf",
        "aarch64-linux-gnueabihf",
        "armv7-linux-gnueabi",
        "armv7-linux-androideabi",
        "armv7-none-eabihf",
    ],
)
def test_systems_that_no_code_is_made_for(triple: str):
    with pytest.raises(QlowerError, match="no code is made for the system of target"):
        resolve_target(triple)


@pytest.mark.parametrize(
    ("triple", "is_experimental"),
    [
        ("x86_64-pc-linux-gnu", False),
        ("x86_64-alpine-linux-musl", False),
        ("x86_64-redhat-linux", False),
        ("x86_64-none-elf", False),
        ("aarch64-unknown-none", False),
        ("aarch64-linux-android", True),
        ("aarch64-linux-android34", True),
        ("riscv64-unknown-elf", True),
    ],
)
def test_systems_that_nothing_tests(triple: str, is_experimental: bool):
    assert resolve_target(triple).is_experimental is is_experimental


def test_no_aarch64_cpu_is_missing():
    (aarch64,) = (known for known in ARCHITECTURES if "aarch64" in known.names)
    assert set(aarch64.cpus) == llvm_names(aarch64)[0]


@pytest.mark.parametrize(
    ("cpu", "features", "bits", "kind"),
    [
        ("x86-64", None, 128, DotKind.PAIRS),
        ("x86-64-v2", None, 128, DotKind.PAIRS),
        ("x86-64-v3", None, 256, DotKind.PAIRS),
        ("x86-64-v3", "+avxvnni", 256, DotKind.UNSIGNED_BYTES),
        ("alderlake", None, 256, DotKind.UNSIGNED_BYTES),
        ("x86-64-v4", None, 512, DotKind.PAIRS),
        ("x86-64-v4", "+avx512vnni", 512, DotKind.UNSIGNED_BYTES),
        ("znver4", None, 512, DotKind.UNSIGNED_BYTES),
        ("znver4", "-avx512vnni", 512, DotKind.PAIRS),
        ("znver4", "-avx512f", 256, DotKind.PAIRS),
        ("znver4", "-avx", 128, DotKind.PAIRS),
    ],
)
def test_levels_of_x86(cpu: str, features: str | None, bits: int, kind: DotKind):
    target = resolve_target("x86_64-linux-gnu", cpu, features)
    assert target.vector_bits == bits
    assert target.dots.signed.kind is target.dots.unsigned.kind is kind


@pytest.mark.parametrize(
    ("cpu", "features", "signed", "unsigned"),
    [
        (None, None, DotKind.SINGLES, DotKind.SINGLES),
        ("cortex-a53", None, DotKind.SINGLES, DotKind.SINGLES),
        ("cortex-a53", "+v8.4a", DotKind.SIGNED_BYTES, DotKind.SIGNED_BYTES),
        ("cortex-a55", None, DotKind.SIGNED_BYTES, DotKind.SIGNED_BYTES),
        ("neoverse-n1", None, DotKind.SIGNED_BYTES, DotKind.SIGNED_BYTES),
        ("neoverse-n1", "-dotprod", DotKind.SINGLES, DotKind.SINGLES),
        ("neoverse-v1", None, DotKind.SIGNED_BYTES, DotKind.UNSIGNED_BYTES),
        ("generic", "+i8mm", DotKind.UNSIGNED_BYTES, DotKind.UNSIGNED_BYTES),
    ],
)
def test_levels_of_aarch64(
    cpu: str | None, features: str | None, signed: DotKind, unsigned: DotKind
):
    target = resolve_target("aarch64-linux-gnu", cpu, features)
    assert (target.dots.signed.kind, target.dots.unsigned.kind) == (signed, unsigned)
    assert (target.vector_bits, target.vector_registers) == (128, 32)


@pytest.mark.parametrize(
    ("triple", "features", "bits", "kind", "bare"),
    [
        ("riscv64-linux-gnu", None, 32, DotKind.SINGLES, False),
        ("riscv64-linux-gnu", "+v", 512, DotKind.SINGLES, False),
        ("armv7-linux-gnueabihf", None, 128, DotKind.SINGLES, False),
        ("armv7a-unknown-linux-musleabihf", "+vfp4", 128, DotKind.SINGLES, False),
        ("riscv64-unknown-elf", None, 32, DotKind.SINGLES, True),
        ("riscv32im-unknown-none-elf", None, 32, DotKind.SINGLES, True),
        ("riscv32imc-unknown-none-elf", "+zbb", 32, DotKind.SINGLES, True),
        ("thumbv7em-none-eabi", None, 32, DotKind.SINGLES, True),
        ("thumbv7em-none-eabihf", None, 32, DotKind.SINGLES, True),
        ("thumbv8m.main-none-eabi", None, 32, DotKind.SINGLES, True),
        ("thumbv8.1m.main-none-eabi", None, 128, DotKind.SINGLES, True),
        ("thumbv8.1m.main-none-eabihf", "+mve.fp", 128, DotKind.SINGLES, True),
        ("wasm32-unknown-unknown", None, 32, DotKind.SINGLES, True),
        ("wasm32-unknown-unknown", "+simd128", 128, DotKind.PAIRS, True),
        ("wasm32-unknown-unknown", "+relaxed-simd", 128, DotKind.PAIRS, True),
    ],
)
def test_other_targets(
    triple: str, features: str | None, bits: int, kind: DotKind, bare: bool
):
    target = resolve_target(triple, None, features)
    assert (target.vector_bits, target.dots.signed.kind) == (bits, kind)
    is_wide = features == "+v" or kind is DotKind.PAIRS
    is_tuned = triple.startswith(("thumb", "armv7")) or is_wide
    assert target.is_experimental == (not is_tuned)
    assert target.is_bare_metal == bare
    assert target.pointer_bytes == (8 if "64" in triple else 4)


def test_host_has_its_own_features():
    target = host_target()
    assert "+" in target.features
    assert resolve_target("host") == target


@pytest.mark.parametrize(
    ("options", "message", "help"),
    [
        (
            {"target": "x86_64-linux-gnu", "cpu": "haswel"},
            "unknown cpu 'haswel' for x86_64",
            "haswell",
        ),
        (
            {"target": "x86_64-linux-gnu", "features": "+avx512vni"},
            "unknown feature",
            "avx512vnni",
        ),
        (
            {"target": "x86_64-linux-gnu", "features": "+qqq"},
            "unknown feature 'qqq'",
            "known are 64bit, adx,",
        ),
        ({"target": "x86_64-linux-gnu", "features": "-sse2"}, "be removed", None),
        ({"features": "avx2"}, "has no sign", None),
        (
            {"target": "x86_64-linux-gnu", "cpu": "zzzzzz"},
            "unknown cpu 'zzzzzz'",
            "known are ",
        ),
        (
            {"target": "aarch64-linux-gnu", "cpu": "cortex-a5x"},
            "unknown cpu 'cortex-a5x' for aarch64",
            "cortex-a5",
        ),
        (
            {"target": "aarch64-linux-gnu", "features": "+dotproduct"},
            "unknown feature 'dotproduct' for aarch64",
            "dotprod",
        ),
        ({"target": "aarch64-linux-gnu", "features": "-neon"}, "be removed", None),
        (
            {"target": "thumbv7em-none-eabi", "cpu": "cortex-m33"},
            "unknown cpu 'cortex-m33' for thumbv7em",
            "cortex-m4",
        ),
        (
            {"target": "wasm32-unknown-unknown", "features": "+simd"},
            "unknown feature 'simd' for wasm32",
            "simd128",
        ),
        ({"target": "riscv64-linux-gnu", "features": "-m"}, "be removed", None),
        ({"target": "riscv32im-linux-gnu"}, "bare metal alone", "riscv32im-unknown"),
        ({"target": "sparc-sun-solaris"}, "architecture 'sparc'", "qlower targets"),
        ({"target": "sparc-sun-solaris"}, "architecture 'sparc'", "`--emit c`"),
    ],
)
def test_unknown_names(options: dict[str, str], message: str, help: str | None):
    with pytest.raises(QlowerError, match=message) as caught:
        resolve_target(**options)
    assert help is None or help in (caught.value.help or "")


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"target": "thumbv7em-none-eabi", "cpu": "cortex-m33"}, "thumbv8m.main-none"),
        ({"target": "thumbv8m.main-none-eabi", "cpu": "cortex-m85"}, "thumbv8.1m.main"),
        ({"target": "thumbv7em-none-eabi", "cpu": "cortex-m55"}, "thumbv8.1m.main"),
        ({"target": "thumbv7em-none-eabi", "cpu": "cortex-m23"}, "thumbv8m.base-none"),
        ({"target": "thumbv7em-none-eabi", "cpu": "cortex-m3"}, "thumbv7m-none"),
        ({"target": "thumbv7em-none-eabi", "cpu": "cortex-m0plus"}, "thumbv6m-none"),
        ({"target": "armv6-linux-gnueabihf"}, "aarch64-linux-gnu"),
        ({"target": "arm-linux-gnueabihf"}, "armv7-linux-gnueabihf"),
        ({"target": "aarch64-linux-gnu", "cpu": "cortex-a7"}, "armv7-linux-gnueabihf"),
        ({"target": "xtensa-esp32s3-none-elf"}, "--emit c --package idf"),
        ({"target": "z80-none-elf"}, None),
    ],
)
def test_what_serves_a_processor_that_is_refused(
    options: dict[str, str], note: str | None
):
    with pytest.raises(QlowerError) as caught:
        resolve_target(**options)
    assert len(caught.value.notes) == (note is not None)
    assert note is None or note in caught.value.notes[0]


def test_the_cpu_of_another_machine():
    others = [
        a for a in ARCHITECTURES if host_target().triple.split("-")[0] not in a.names
    ]
    with pytest.raises(QlowerError, match="is this machine's"):
        resolve_target(f"{others[0].names[0]}-linux-gnu", "native")


@pytest.mark.parametrize("name", {**levels(), **machine_levels()})
def test_a_target_is_the_same_after_a_module_has_told_it(name: str):
    target = {**levels(), **machine_levels()}[name]
    module = ModuleOp([])
    SetTargetPass.of(target).apply(Context(), module)
    assert target_of(module) == target


def test_a_level_is_the_same_after_a_module_has_told_it():
    for target in resolve_levels("x86_64-linux-gnu", "x86-64,x86-64-v3").values():
        module = ModuleOp([])
        SetTargetPass.of(target).apply(Context(), module)
        assert target_of(module) == target
