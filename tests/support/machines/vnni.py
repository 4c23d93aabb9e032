"""Whether this machine multiplies bytes as contracts of CPUs with VNNI say."""

from __future__ import annotations

from platform import machine

import pytest

from qlower.codegen.llvm.binding import BINDING

LACKS_VNNI = machine() == "x86_64" and not any(
    BINDING.get_host_cpu_features().get(name) for name in ("avxvnni", "avx512vnni")
)
"""There systems' products of uint8 and int8 saturate in pairs, and their kernels of
real numbers may sum in another order."""

needs_vnni = pytest.mark.skipif(
    LACKS_VNNI, reason="the contract is that of CPUs with VNNI"
)
