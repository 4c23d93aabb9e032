"""WebAssembly with 32-bit addresses: scalars, or pairs by SIMD128. Experimental."""

from __future__ import annotations

from qlower.codegen.targets.architecture import Architecture, cpu_table
from qlower.codegen.targets.base import Dot, DotKind, Target
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


PAIRS = Dot(DotKind.PAIRS, "llvm.wasm.dot", widens_beyond=0)


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    is_wide = "simd128" in present
    dot = PAIRS if is_wide else SINGLES
    return Target(
        triple=triple,
        cpu=cpu,
        features=features,
        vector_bits=128 if is_wide else 32,
        vector_registers=16,  # of the machine below, as far as one can know
        signed_dot=dot,
        unsigned_dot=dot,
        word_dot=dot,
        rounds_in_hardware=True,
        fuses=False,
        converts_in_hardware=False,
        pointer_bytes=4,
        alignment=16,
        relocation="static",
        is_experimental=True,
    )


WASM32 = Architecture(
    names=("wasm32",),
    cpus=_CPUS,
    features=_FEATURES,
    implied=_IMPLIED,
    required=frozenset(),
    table=_table,
)
