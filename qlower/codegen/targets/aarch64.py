"""AArch64: NEON multiplications, or the dot products of DOTPROD and I8MM."""

from __future__ import annotations

from qlower.codegen.llvm.values import I64
from qlower.codegen.targets.aarch64_processor import AARCH64_PROCESSOR
from qlower.codegen.targets.architecture import Architecture, cpu_table
from qlower.codegen.targets.base import (
    ByteTables,
    Dot,
    DotKind,
    Dots,
    FixedPoint,
    Target,
)
from qlower.codegen.targets.float_control import FloatControl

_CPUS = cpu_table(
    {
        "": "generic a64fx apple-a7 apple-a8 apple-a9 apple-a10 apple-a11 apple-a12 "
        "apple-s4 apple-s5 carmel cortex-a34 cortex-a35 cortex-a53 cortex-a57 "
        "cortex-a72 cortex-a73 cyclone exynos-m3 falkor kryo thunderx thunderxt81 "
        "thunderxt83 thunderxt88 thunderx2t99 thunderx3t110",
        "dotprod": "apple-a13 apple-a14 apple-m1 apple-s6 apple-s7 apple-s8 "
        "cortex-a55 cortex-a65 cortex-a65ae cortex-a75 cortex-a76 cortex-a76ae "
        "cortex-a77 cortex-a78 cortex-a78ae cortex-a78c cortex-r82 cortex-r82ae "
        "cortex-x1 cortex-x1c exynos-m4 exynos-m5 neoverse-e1 neoverse-n1 saphira "
        "tsv110",
        "dotprod i8mm": "ampere1 ampere1a ampere1b ampere1c apple-a15 apple-a16 "
        "apple-a17 apple-a18 apple-a19 apple-m2 apple-m3 apple-m4 apple-m5 apple-s9 "
        "apple-s10 c1-nano c1-premium c1-pro c1-ultra cobalt-100 cortex-a320 "
        "cortex-a510 cortex-a520 cortex-a520ae cortex-a710 cortex-a715 cortex-a720 "
        "cortex-a720ae cortex-a725 cortex-x2 cortex-x3 cortex-x4 cortex-x925 "
        "fujitsu-monaka gb10 grace neoverse-512tvb neoverse-n2 neoverse-n3 "
        "neoverse-v1 neoverse-v2 neoverse-v3 neoverse-v3ae olympus oryon-1",
    }
)
"""CPUs of LLVM 22, by what the table below asks of them."""

_FEATURE_NAMES = """
    aes altnzcv am amvs bf16 brbe bti btie ccdp ccidx ccpp chk clrbhb cmh cmpbr
    complxnum CONTEXTIDREL2 cpa crc crypto cssc d128 dit dotprod ecv el2vmsa el3 ete
    execute-only f16f32dot f16f32mm f16mm f32mm f64mm f8f16mm f8f32mm faminmax fgt flagm
    fmv fp-armv8 fp16fml fp8 fp8dot2 fp8dot4 fp8fma fpac fprcvt fptoint fullfp16 gcie
    gcs hbc hcx i8mm ite jsconv lor ls64 lscp lse lse128 lse2 lsfe lsui lut mec mops
    mpam mpamv2 mte mtetc neon nmi nv occmo outline-atomics pan pan-rwv pauth pauth-lr
    pcdphint perfmon poe2 pops predres prfm-slc-target rand ras rasv2 rcpc rcpc-immo
    rcpc3 rdm reserve-x1 reserve-x10 reserve-x11 reserve-x12 reserve-x13 reserve-x14
    reserve-x15 reserve-x18 reserve-x2 reserve-x20 reserve-x21 reserve-x22 reserve-x23
    reserve-x24 reserve-x25 reserve-x26 reserve-x27 reserve-x28 reserve-x3 reserve-x4
    reserve-x5 reserve-x6 reserve-x7 reserve-x9 rme sb sel2 sha2 sha3 sm4 sme sme-b16b16
    sme-f16f16 sme-f64f64 sme-f8f16 sme-f8f32 sme-fa64 sme-i16i64 sme-lutv2 sme-mop4
    sme-tmop sme2 sme2p1 sme2p2 sme2p3 spe spe-eef specres2 specrestrict ssbs ssve-aes
    ssve-bitperm ssve-fexpa ssve-fp8dot2 ssve-fp8dot4 ssve-fp8fma strict-align sve
    sve-aes sve-aes2 sve-b16b16 sve-b16mm sve-bfscale sve-bitperm sve-f16f32mm sve-sha3
    sve-sm4 sve2 sve2-aes sve2-bitperm sve2-sha3 sve2-sm4 sve2p1 sve2p2 sve2p3 tev the
    tlb-rmi tlbid tlbiw tracev8.4 trbe uaops v8.1a v8.2a v8.3a v8.4a v8.5a v8.6a v8.7a
    v8.8a v8.9a v8a v8r v9.1a v9.2a v9.3a v9.4a v9.5a v9.6a v9.7a v9a vh wfxt xs
"""
_FEATURES = frozenset(_FEATURE_NAMES.split())
"""Architecture extensions of LLVM 22 and switches of its ABI (not its tuning)."""


_IMPLIED = {
    "v8.4a": "dotprod",
    "v8.5a": "v8.4a",
    "v8.6a": "v8.5a i8mm",
    "v8.7a": "v8.6a",
    "v8.8a": "v8.7a",
    "v8.9a": "v8.8a",
    "v8r": "dotprod",
    "v9a": "v8.5a",
    "v9.1a": "v9a v8.6a",
    "v9.2a": "v9.1a",
    "v9.3a": "v9.2a",
    "v9.4a": "v9.3a",
    "v9.5a": "v9.4a",
    "v9.6a": "v9.5a",
    "v9.7a": "v9.6a",
}


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    return Target(
        triple=triple,
        cpu=cpu,
        features=features,
        vector_bits=128,
        vector_registers=32,
        dots=Dots(
            signed=_dot(present, signed=True),
            unsigned=_dot(present, signed=False),
            words=_SINGLES,
        ),
        rounds_in_hardware=True,
        fuses=True,
        fixed_point=_FIXED_POINT,
        byte_tables=ByteTables(f"{_NEON}.tbl4.v16i8", 4, 4, zero_beyond=True),
        signed_matrix=_SIGNED_MATRIX if "i8mm" in present else None,
        unsigned_matrix=_UNSIGNED_MATRIX if "i8mm" in present else None,
        tuning=_TUNING,
        float_control=_FLOAT_CONTROL,
    )


_FLOAT_CONTROL = FloatControl(
    I64, "llvm.aarch64.get.fpcr", "llvm.aarch64.set.fpcr", default=0
)

_TUNING = "+disable-ldp"
"""No core loads a pair of vectors faster than two, and what needs the first one waits
for both."""

_NEON = "llvm.aarch64.neon"
_FIXED_POINT = FixedPoint(
    multiply_high={"half_up": f"{_NEON}.sqrdmulh", "floor": f"{_NEON}.sqdmulh"},
    rounding_shift=f"{_NEON}.srshl",
    narrow=f"{_NEON}.sqxtn",
    narrow_unsigned=f"{_NEON}.sqxtun",
    convert={
        "half_even": f"{_NEON}.fcvtns",
        "half_away": f"{_NEON}.fcvtas",
        "floor": f"{_NEON}.fcvtms",
        "ceil": f"{_NEON}.fcvtps",
    },
)


_SINGLES = Dot(DotKind.SINGLES, selects_lane=True, widens_beyond=0)
_SIGNED_MATRIX = Dot(DotKind.SIGNED_BYTES, f"{_NEON}.smmla.v4i32.v16i8", True)
_UNSIGNED_MATRIX = Dot(DotKind.UNSIGNED_BYTES, f"{_NEON}.usmmla.v4i32.v16i8", True)


def _dot(present: frozenset[str], *, signed: bool) -> Dot:
    if "i8mm" in present and not (signed and "dotprod" in present):
        intrinsic = f"{_NEON}.usdot.v4i32.v16i8"
        return Dot(DotKind.UNSIGNED_BYTES, intrinsic, selects_lane=True)
    if "dotprod" in present:
        intrinsic = f"{_NEON}.sdot.v4i32.v16i8"
        return Dot(DotKind.SIGNED_BYTES, intrinsic, selects_lane=True)
    return _SINGLES


AARCH64 = Architecture(
    names=("aarch64", "arm64"),
    cpus=_CPUS,
    features=_FEATURES,
    implied=_IMPLIED,
    required=frozenset(("fp-armv8", "neon")),
    table=_table,
    levels=("generic", "generic+dotprod", "generic+dotprod+i8mm"),
    processor=AARCH64_PROCESSOR,
)
