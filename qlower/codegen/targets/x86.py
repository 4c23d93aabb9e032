"""x86-64: pairs of 16-bit products, or bytes by VNNI. All that knows x86 by name."""

from __future__ import annotations

from dataclasses import replace

from qlower.codegen.llvm.values import I32
from qlower.codegen.targets.architecture import Architecture, cpu_table
from qlower.codegen.targets.base import (
    ByteTables,
    Dot,
    DotKind,
    Dots,
    Extremes,
    Packs,
    Target,
)
from qlower.codegen.targets.float_control import FloatControl
from qlower.codegen.targets.x86_processor import X86_PROCESSOR
from qlower.codegen.targets.x86_tiles import tiles_of, withheld

_CPUS = cpu_table(
    {
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
        "avx512bw avx512dq avx512vl": "x86-64-v4 skylake-avx512 skx",
        "avx512bw avx512dq avx512vl avx512vbmi": "cannonlake",
        "avx512bw avx512dq avx512vl avx512vnni": "cascadelake cooperlake",
        "avx512bw avx512dq avx512vl avx512vnni avx512vbmi": "icelake-client "
        "icelake-server tigerlake rocketlake znver4 znver5",
        "avx512bw avx512dq avx512vl avx512vnni avx512vbmi amx-int8": "sapphirerapids "
        "emeraldrapids graniterapids graniterapids-d diamondrapids",
    }
)
"""64-bit CPUs of LLVM 22, by what the tables below ask of them."""

_IMPLIED = {
    "avx512vnni": "avx512f",
    "avx512vbmi": "avx512bw",
    "avx512bw": "avx512f",
    "avx512dq": "avx512f",
    "avx512vl": "avx512f",
    "avx512f": "avx2 fma",
    "amx-int8": "amx-tile",
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


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    wide = {"avx512bw", "avx512dq", "avx512vl"} <= present
    bits = 512 if wide else 256 if "avx2" in present else 128
    dot = _dot(present, bits)
    return Target(
        triple=triple,
        cpu=cpu,
        features=features,
        vector_bits=bits,
        vector_registers=32 if wide else 16,
        # LLVM makes one instruction of the pairs and an addition
        dots=Dots(dot, dot, words=_pairs(bits)),
        rounds_in_hardware="sse4.1" in present,
        fuses="fma" in present,
        extremes=_EXTREMES if wide else None,
        masks_lanes=wide,
        packs=_packs(bits),
        byte_tables=_byte_tables(present, bits),
        tiles=tiles_of(triple, present, bits),
        float_control=_FLOAT_CONTROL,
        optimizer_level=1,  # takes a tenth of level 2's time; code as fast, to 1 %
    )


_FLOAT_CONTROL = FloatControl(
    I32,
    "llvm.x86.sse.stmxcsr",
    "llvm.x86.sse.ldmxcsr",
    default=0x1F80,
    flags=0x3F,
    by_address=True,
)
"""MXCSR: all exceptions are masked."""

_FIRST_LEVEL_BYTES = 1 << 15
"""Bytes of the first level of cache. A load that widens takes an instruction more:
where all weights did, networks took up to 14 % longer (35 % before SSE4.1); with those
that fit the cache as s16, 5 % (8 %), and objects are a third smaller."""


def _byte_tables(present: frozenset[str], bits: int) -> ByteTables | None:
    """Half of 256 bytes in two registers, or 16 of them at a time."""
    if bits == 512 and "avx512vbmi" in present:
        return ByteTables("llvm.x86.avx512.vpermi2var.qi.512", 2, 1)
    name = {256: "avx2.pshuf.b", 512: "avx512.pshuf.b.512"}.get(bits)
    if name is None:
        return None
    return ByteTables(f"llvm.x86.{name}", 1, 1, of_sixteen=True, cost=16)


_EXTREMES = Extremes("llvm.x86.avx512.mask.range.ps.512", 16, 4, 5, rounding=4)


def _packs(bits: int) -> Packs:
    prefix = {128: "sse2", 256: "avx2", 512: "avx512"}[bits]
    suffix = {128: ".128", 256: "", 512: ".512"}[bits]
    words, bytes_, unsigned_bytes = (
        f"llvm.x86.{prefix}.{name}{suffix}"
        for name in ("packssdw", "packsswb", "packuswb")
    )
    return Packs({16: words, 8: bytes_}, {8: unsigned_bytes})


def _dot(present: frozenset[str], bits: int) -> Dot:
    if (bits == 512 and "avx512vnni" in present) or (
        bits == 256 and "avxvnni" in present
    ):
        return Dot(DotKind.UNSIGNED_BYTES, f"llvm.x86.avx512.vpdpbusd.{bits}")
    pairs = _pairs(bits)
    return (
        replace(pairs, byte_pairs=_BYTE_PAIRS[bits]) if "sse4.1" in present else pairs
    )


def _pairs(bits: int) -> Dot:
    pairs = {128: "sse2.pmadd.wd", 256: "avx2.pmadd.wd", 512: "avx512.pmaddw.d.512"}
    intrinsic = f"llvm.x86.{pairs[bits]}"
    return Dot(DotKind.PAIRS, intrinsic, widens_beyond=_FIRST_LEVEL_BYTES)


_BYTE_PAIRS = {
    128: "llvm.x86.ssse3.pmadd.ub.sw.128",
    256: "llvm.x86.avx2.pmadd.ub.sw",
    512: "llvm.x86.avx512.pmaddubs.w.512",
}
"""The intrinsic by the bits of a vector."""


X86 = Architecture(
    names=("x86_64", "amd64"),
    cpus=_CPUS,
    features=_FEATURES,
    implied=_IMPLIED,
    # what the 64-bit calling convention itself needs
    required=frozenset(("64bit", "cmov", "cx8", "fxsr", "sse", "sse2", "x87")),
    table=_table,
    levels=("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"),
    processor=X86_PROCESSOR,
    withheld=withheld,
)
