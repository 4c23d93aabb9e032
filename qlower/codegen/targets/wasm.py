"""WebAssembly with 32-bit addresses: pairs by SIMD128, or scalars (experimental).

Tuned for what V8 makes of it on x86-64: 15 vector registers, loads with a distance of
their own, and constants that are made anew where they are used.
"""

from __future__ import annotations

from qlower.codegen.targets.architecture import Architecture, cpu_table
from qlower.codegen.targets.base import Dot, DotKind, Dots, Packs, Target
from qlower.codegen.targets.scalar import SINGLES

_CPUS = cpu_table({"": "generic mvp lime1", "simd128": "bleeding-edge"})
"""The first is what LLVM assumes of every engine of today."""

_FEATURE_NAMES = """
    atomics bulk-memory bulk-memory-opt call-indirect-overlong exception-handling
    extended-const fp16 gc multimemory multivalue mutable-globals nontrapping-fptoint
    reference-types relaxed-simd sign-ext simd128 tail-call wide-arithmetic
"""
_FEATURES = frozenset(_FEATURE_NAMES.split())

_IMPLIED = {"relaxed-simd": "simd128"}


_PAIRS = Dot(DotKind.PAIRS, "llvm.wasm.dot", loads_bytes=True, widens_beyond=1 << 17)
"""Weights of more than 64 KiB a layer are kept as bytes: programs are downloaded."""

_NARROW = "llvm.wasm.narrow"
_PACKS = Packs(
    signed={
        16: f"{_NARROW}.signed.v8i16.v4i32",
        8: f"{_NARROW}.signed.v16i8.v8i16",
    },
    unsigned={8: f"{_NARROW}.unsigned.v16i8.v8i16"},
)


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    is_wide = "simd128" in present
    dot = _PAIRS if is_wide else SINGLES
    return Target(
        triple=triple,
        cpu=cpu,
        features=features,
        vector_bits=128 if is_wide else 32,
        vector_registers=16,  # of the machine below, as far as one can know
        dots=Dots.all(dot),
        rounds_in_hardware=True,
        fuses=False,
        converts_in_hardware=False,
        packs=_PACKS if is_wide else None,
        hides_addresses=is_wide,
        adds_to_round=is_wide,
        pointer_bytes=4,
        alignment=16,
        relocation="static",
        is_experimental=not is_wide,
    )


WASM32 = Architecture(
    names=("wasm32",),
    cpus=_CPUS,
    features=_FEATURES,
    implied=_IMPLIED,
    required=frozenset(),
    table=_table,
)
