"""Whether this machine multiplies bytes as contracts of CPUs with VNNI say."""

from __future__ import annotations

import pytest

from qlower.codegen.targets.resolve import saturates_pairs

LACKS_VNNI = saturates_pairs()
"""There systems' kernels of real numbers may sum in another order, too."""

needs_vnni = pytest.mark.skipif(
    LACKS_VNNI, reason="the contract is that of CPUs with VNNI"
)
