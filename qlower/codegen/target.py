"""What the code generator may use: one `Target`, resolved from names.

This is the only file that knows x86 by name. LLVM silently ignores a misspelled CPU or
feature, so names are checked here against what LLVM 22 knows.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from qlower.codegen.llvmlite_binding import BINDING
from qlower.diagnostics import QlowerError


class DotKind(Enum):
    """How a dot-product instruction takes its factors."""

    BYTES = "u8 x s8, four products summed into each i32 lane"
    PAIRS = "s16 x s16, two products summed into each i32 lane"


@dataclass(frozen=True)
class Dot:
    """A dot-product instruction, as LLVM's intrinsic.

    BYTES adds to an accumulator that is its first argument; PAIRS gives the sums only.
    """

    kind: DotKind
    intrinsic: str


@dataclass(frozen=True)
class Target:
    """A machine: what LLVM is told, and the table the loop skeletons read.

    `vector_bits` and `vector_registers` size the tiles. `rounds_in_hardware` says that
    floor, ceil, trunc and roundeven are instructions (else LLVM would call libm),
    `fuses` the same of a fused multiply-add.
    """

    triple: str
    cpu: str
    features: str
    vector_bits: int
    vector_registers: int
    dot: Dot
    rounds_in_hardware: bool
    fuses: bool

    @property
    def identity(self) -> str:
        """Equal for two targets exactly when the code made for them is."""
        return f"{self.triple} {self.cpu} {self.features}"

    @property
    def function_attributes(self) -> str:
        return (
            f'"target-cpu"="{self.cpu}" "target-features"="{self.features}" '
            f'"prefer-vector-width"="{self.vector_bits}"'
        )


def host_target() -> Target:
    """The machine we run on, with everything it has."""
    return resolve_target()


def resolve_target(
    target: str | None = None, cpu: str | None = None, features: str | None = None
) -> Target:
    """The target of `--target`, `--cpu` and `--features`.

    `target` is "host" (default) or a triple; `cpu` a name LLVM knows, "x86-64-v3" for
    example; `features` is a list such as "+avx512vnni,-avx512bf16" that refines the
    CPU. Only the host without a CPU gets the host's own features. Raises QlowerError
    for an unknown name.
    """
    host = BINDING.get_process_triple()
    triple = host if target in (None, "host") else str(target)
    architecture = triple.split("-")[0]
    if architecture not in ("x86_64", "amd64"):
        raise QlowerError(
            f"no code is generated for architecture {architecture!r} of target "
            f"{triple!r}, supported is x86_64",
            help="--target host, or a triple such as x86_64-unknown-linux-gnu",
        )
    if cpu in (None, "host", "native"):
        same_machine = host.split("-")[0] in ("x86_64", "amd64")
        if target in (None, "host") or (cpu is not None and same_machine):
            return _host_x86(triple, features)
        cpu = "x86-64"
    return _x86(triple, str(cpu), _parse_features(features))


# ------------------------------------------------------------------------------- x86

_CPUS = {
    name: frozenset(known.split())
    for known, names in {
        "": "x86-64 generic k8 k8-sse3 opteron opteron-sse3 athlon64 athlon64-sse3 "
        "athlon-fx nocona core2 amdfam10 barcelona bonnell atom btver1",
        "sse4.1": "x86-64-v2 penryn nehalem corei7 westmere silvermont slm goldmont "
        "goldmont-plus tremont",
        "avx": "sandybridge corei7-avx ivybridge core-avx-i btver2 bdver1",
        "avx fma": "bdver2 bdver3",
        "avx2 fma": "x86-64-v3 haswell core-avx2 broadwell skylake bdver4 znver1 "
        "znver2 znver3 knl knm",
        "avxvnni fma": "alderlake raptorlake meteorlake arrowlake arrowlake-s "
        "lunarlake pantherlake wildcatlake novalake gracemont sierraforest "
        "grandridge clearwaterforest",
        "avx512bw avx512dq avx512vl": "x86-64-v4 skylake-avx512 skx cannonlake",
        "avx512bw avx512dq avx512vl avx512vnni": "cascadelake cooperlake "
        "icelake-client icelake-server tigerlake rocketlake sapphirerapids "
        "emeraldrapids graniterapids graniterapids-d diamondrapids znver4 znver5",
    }.items()
    for name in names.split()
}
"""64-bit CPUs of LLVM 22, by what the tables below ask of them."""

_IMPLIED = {
    "avx512vnni": "avx512f",
    "avx512bw": "avx512f",
    "avx512dq": "avx512f",
    "avx512vl": "avx512f",
    "avx512f": "avx2 fma",
    "avxvnni": "avx2",
    "avx2": "avx",
    "fma": "avx",
    "avx": "sse4.1",
}

_FEATURE_NAMES = """
    64bit adx aes amx-avx512 amx-bf16 amx-complex amx-fp16 amx-fp8 amx-int8 amx-movrs
    amx-tf32 amx-tile avx avx10.1 avx10.2 avx2 avx512bf16 avx512bitalg avx512bw
    avx512cd avx512dq avx512f avx512fp16 avx512ifma avx512vbmi avx512vbmi2 avx512vl
    avx512vnni avx512vp2intersect avx512vpopcntdq avxifma avxneconvert avxvnni
    avxvnniint16 avxvnniint8 bmi bmi2 ccmp cf cldemote clflushopt clwb clzero cmov
    cmpccxadd crc32 cx16 cx8 egpr enqcmd f16c fma fma4 fsgsbase fxsr gfni hreset
    invpcid kl lwp lzcnt mmx movbe movdir64b movdiri movrs mwaitx ndd nf pclmul pconfig
    pku popcnt ppx prefetchi prfchw ptwrite push2pop2 raoint rdpid rdpru rdrnd rdseed
    rtm sahf serialize sgx sha sha512 shstk sm3 sm4 sse sse2 sse3 sse4.1 sse4.2 sse4a
    ssse3 tbm tsxldtrk uintr usermsr vaes vpclmulqdq waitpkg wbnoinvd widekl x87 xop
    xsave xsavec xsaveopt xsaves zu
"""
_FEATURES = frozenset(_FEATURE_NAMES.split())
"""Instruction-set features of LLVM 22 (not its tuning switches)."""

_REQUIRED = frozenset(("64bit", "cmov", "cx8", "fxsr", "sse", "sse2", "x87"))
"""What the 64-bit calling convention itself needs."""


def _parse_features(text: str | None) -> tuple[str, ...]:
    """The signed feature names of "+a,-b"; raises QlowerError for an unknown one."""
    items = [item.strip() for item in (text or "").split(",") if item.strip()]
    for item in items:
        if item[0] not in "+-":
            raise QlowerError(
                f"feature {item!r} has no sign, expected +{item} or -{item}"
            )
        _check_known("feature", item[1:], _FEATURES)
        if item[0] == "-" and item[1:] in _REQUIRED:
            raise QlowerError(
                f"feature {item!r} can't be removed: all x86-64 code has it"
            )
    return tuple(items)


def _check_known(kind: str, name: str, known: Iterable[str]) -> None:
    names = sorted(known)
    if name in names:
        return
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    raise QlowerError(
        f"unknown {kind} {name!r} for x86_64",
        help=f"did you mean {', '.join(close)}?"
        if close
        else f"known are {', '.join(names)}",
    )


def _host_x86(triple: str, features: str | None) -> Target:
    present = BINDING.get_host_cpu_features()
    items = [f"{'+' if has else '-'}{name}" for name, has in sorted(present.items())]
    return _x86_table(
        triple,
        BINDING.get_host_cpu_name(),
        (*items, *_parse_features(features)),
        frozenset(),
    )


def _x86(triple: str, cpu: str, features: tuple[str, ...]) -> Target:
    _check_known("cpu", cpu, _CPUS)
    return _x86_table(triple, cpu, features, _CPUS[cpu])


def _x86_table(
    triple: str, cpu: str, features: tuple[str, ...], base: frozenset[str]
) -> Target:
    present = _with_implied(base)
    for item in features:
        if item[0] == "+":
            present |= _with_implied({item[1:]})
        else:
            present = {f for f in present if item[1:] not in _with_implied({f})}
    wide = {"avx512bw", "avx512dq", "avx512vl"} <= present
    bits = 512 if wide else 256 if "avx2" in present else 128
    return Target(
        triple=triple,
        cpu=cpu,
        features=",".join(features),
        vector_bits=bits,
        vector_registers=32 if wide else 16,
        dot=_x86_dot(present, bits),
        rounds_in_hardware="sse4.1" in present,
        fuses="fma" in present,
    )


def _x86_dot(present: set[str], bits: int) -> Dot:
    if (bits == 512 and "avx512vnni" in present) or (
        bits == 256 and "avxvnni" in present
    ):
        return Dot(DotKind.BYTES, f"llvm.x86.avx512.vpdpbusd.{bits}")
    pairs = {128: "sse2.pmadd.wd", 256: "avx2.pmadd.wd", 512: "avx512.pmaddw.d.512"}
    return Dot(DotKind.PAIRS, f"llvm.x86.{pairs[bits]}")


def _with_implied(features: Iterable[str]) -> set[str]:
    """`features` and all that they imply."""
    found: set[str] = set()
    pending = list(features)
    while pending:
        name = pending.pop()
        found.add(name)
        pending += _IMPLIED.get(name, "").split()
    return found
