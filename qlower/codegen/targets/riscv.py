"""RISC-V: RV64GC, with vectors (RVV 1.0) or without, and RV32IM of bare metal.

All but RV64GC with vectors are experimental.

Virtual machines that prove what they ran have RV32IM, without compressed instructions;
their triples are those of Rust: `riscv32im-unknown-none-elf`.
"""

from __future__ import annotations

from dataclasses import replace

from qlower.codegen.targets.architecture import Architecture, cpu_table, with_least
from qlower.codegen.targets.base import Dot, DotKind, Dots, Target
from qlower.codegen.targets.scalar import SCALAR, SINGLES
from qlower.codegen.targets.triples import is_bare_metal
from qlower.diagnostics import QlowerError

_CPUS = cpu_table(
    {
        "": "generic-rv64 andes-ax25 andes-ax45 mips-p8700 sifive-p450 sifive-p550 "
        "sifive-s54 sifive-s76 sifive-u54 sifive-u74 veyron-v1 xiangshan-nanhu",
        "v": "sifive-p470 sifive-p670 sifive-p870 sifive-x280 sifive-x390 "
        "spacemit-x60 tt-ascalon-d8 xiangshan-kunminghu",
    }
)
"""CPUs of LLVM 22 that run RV64GC, by whether they have vectors."""

_GENERAL = "+m,+a,+f,+d,+c"
"""RV64GC's additions to the least that LLVM generates code for."""

_FEATURE_NAMES = """
    a b c d f h m relax v zba zbb zbc zbkb zbs zca zcb zcd zfa zfh zfhmin zicond zicsr
    zifencei zmmul zvl128b zvl256b zvl512b
"""
_FEATURES = frozenset(_FEATURE_NAMES.split())
"""Extensions that arithmetic and its loops can use."""


_SPLAT = Dot(DotKind.SINGLES, takes_scalar=True, widens_beyond=1 << 16)

_GROUP_BITS = 512
"""Four registers of the least width that RVV allows for applications, as one."""


def _wide_table(
    triple: str, cpu: str, features: str, present: frozenset[str]
) -> Target:
    scalar = Target(
        triple=triple,
        cpu=cpu,
        features=with_least(_GENERAL, features),
        vector_bits=32,
        vector_registers=28,
        dots=Dots.all(SINGLES),
        rounds_in_hardware=True,
        fuses=True,
        is_experimental=True,
    )
    if "v" not in present:
        return scalar
    return replace(
        scalar,
        vector_bits=_GROUP_BITS,
        vector_registers=8,
        dots=Dots.all(_SPLAT),
        widens_in_memory=True,
        masks_lanes=True,
        is_experimental=False,
    )


RISCV64 = Architecture(
    names=("riscv64",),
    cpus=_CPUS,
    features=_FEATURES,
    implied={},
    required=frozenset(("m", "a", "f", "d")),
    table=_wide_table,
)


def _narrow_table(
    triple: str, cpu: str, features: str, present: frozenset[str]
) -> Target:
    if not is_bare_metal(triple):
        raise QlowerError(
            f"no code is made for the system of target {triple!r}: of 32-bit RISC-V "
            "bare metal alone is supported",
            help="riscv32im-unknown-none-elf",
        )
    name, *parts = triple.split("-")
    least = "+m,+c" if name.endswith("imc") else "+m"
    return replace(
        SCALAR,
        triple="-".join(["riscv32", *parts]),
        cpu=cpu,
        features=with_least(least, features),
        vector_registers=28,
        has_roots=False,
        alignment=16,  # of the stack
        is_experimental=True,
    )


RISCV32 = Architecture(
    names=("riscv32", "riscv32im", "riscv32imc"),
    cpus=cpu_table({"": "generic-rv32"}),
    features=frozenset(("c", "m", "zba", "zbb", "zbs", "zicond")),
    implied={},
    required=frozenset(("m",)),
    table=_narrow_table,
)
