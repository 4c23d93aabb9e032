"""64-bit RISC-V: scalars, RV64GC at least. Experimental."""

from __future__ import annotations

from qlower.codegen.targets.architecture import Architecture, cpu_table
from qlower.codegen.targets.base import Dot, DotKind, Target

_CPUS = cpu_table(
    {
        "": "generic-rv64 andes-ax25 andes-ax45 mips-p8700 sifive-p450 sifive-p470 "
        "sifive-p550 sifive-p670 sifive-p870 sifive-s54 sifive-s76 sifive-u54 "
        "sifive-u74 sifive-x280 sifive-x390 spacemit-x60 tt-ascalon-d8 veyron-v1 "
        "xiangshan-kunminghu xiangshan-nanhu"
    }
)
"""CPUs of LLVM 22 that run RV64GC."""

_GENERAL = "+m,+a,+f,+d,+c"
"""What RV64GC adds to the least that LLVM generates code for."""

_FEATURE_NAMES = """
    a b c d f h m relax v zba zbb zbc zbkb zbs zca zcb zcd zfa zfh zfhmin zicond zicsr
    zifencei zmmul zvl128b zvl256b zvl512b
"""
_FEATURES = frozenset(_FEATURE_NAMES.split())
"""Extensions that arithmetic and its loops can use."""


def _table(triple: str, cpu: str, features: str, present: frozenset[str]) -> Target:
    dot = Dot(DotKind.SINGLES, widens_beyond=0)
    return Target(
        triple=triple,
        cpu=cpu,
        features=_with_general(features),
        vector_bits=32,
        vector_registers=28,
        signed_dot=dot,
        unsigned_dot=dot,
        word_dot=dot,
        rounds_in_hardware=True,
        fuses=True,
        is_experimental=True,
    )


def _with_general(features: str) -> str:
    """The features with all that RV64GC has, once."""
    if features.startswith(_GENERAL):
        return features
    return ",".join(filter(None, (_GENERAL, features)))


RISCV64 = Architecture(
    names=("riscv64",),
    cpus=_CPUS,
    features=_FEATURES,
    implied={},
    required=frozenset(("m", "a", "f", "d")),
    table=_table,
)
