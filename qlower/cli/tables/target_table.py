"""The targets that code is generated for."""

from __future__ import annotations

from dataclasses import dataclass

from qlower.codegen.targets.c99 import C99, PORTABLE_C
from qlower.codegen.targets.resolve import ARCHITECTURES, Architecture, resolve_target
from qlower.tables.table import Column, Table

SYSTEMS = {
    "armv7": ("linux-gnueabihf",),
    "riscv32": ("unknown-none-elf",),
    "thumbv7em": ("none-eabi", "none-eabihf"),
    "thumbv8m.main": ("none-eabi", "none-eabihf"),
    "thumbv8.1m.main": ("none-eabi", "none-eabihf"),
    "thumbv7m": ("none-eabi",),
    "thumbv6m": ("none-eabi",),
    "thumbv8m.base": ("none-eabi",),
    "wasm32": ("unknown-unknown",),
    "c99": ("none",),
}
"""The end of an architecture's usual triples, where that isn't Linux."""


@dataclass(frozen=True)
class TargetSummary:
    """An architecture by its usual triple, what it is tuned for, and names for it."""

    triple: str
    is_experimental: bool
    cpus: tuple[str, ...]
    features: tuple[str, ...]

    @staticmethod
    def of(architecture: Architecture) -> list[TargetSummary]:
        """One for each usual triple; CPUs from the least to the most, features by
        name."""
        name = architecture.names[0]
        triples = (f"{name}-{one}" for one in SYSTEMS.get(name, ("linux-gnu",)))
        return [
            TargetSummary(
                triple,
                resolve_target(triple).is_experimental,
                tuple(architecture.cpus),
                tuple(sorted(architecture.features)),
            )
            for triple in triples
        ]


def _state(row: TargetSummary) -> str:
    if row.triple == PORTABLE_C:
        return "C source"
    return "experimental" if row.is_experimental else "tuned and tested"


def target_table() -> Table[TargetSummary]:
    """A line for each usual triple."""
    columns: list[Column[TargetSummary]] = [
        Column("target", "triple", lambda row: row.triple, right=False),
        Column(
            "state",
            "experimental",
            lambda row: row.is_experimental,
            _state,
            right=False,
        ),
        Column("CPUs", None, lambda row: len(row.cpus)),
        Column("features", None, lambda row: len(row.features)),
        Column("least CPU", None, lambda row: row.cpus[0], right=False),
        Column(None, "cpus", lambda row: row.cpus),
        Column(None, "features", lambda row: row.features),
    ]
    rows = [row for one in (*ARCHITECTURES, C99) for row in TargetSummary.of(one)]
    notes = [
        "Code for riscv64 is tuned and tested with `--features +v`, for wasm32 with "
        "`--features +simd128`: under QEMU, and in wasmtime and node; for armv7 under "
        "QEMU's Cortex-A7. Run `qlower targets TARGET` to list CPUs and features. "
        "Other triples: Linux with musl, and bare metal, such as "
        "aarch64-none-elf. c99-none is C source for the compiler of any other "
        "processor (`qlower compile --emit c`)."
    ]
    return Table("targets", rows, columns, notes=notes)


@dataclass(frozen=True)
class NameForTarget:
    """A CPU, with the features that distinguish it for qlower, or a feature, with those
    that it implies."""

    option: str
    name: str
    features: tuple[str, ...]


def name_table(architecture: Architecture) -> Table[NameForTarget]:
    """The names that `--cpu` and `--features` accept for an architecture."""
    implied = architecture.implied
    cpus = [
        NameForTarget("--cpu", name, tuple(sorted(features)))
        for name, features in architecture.cpus.items()
    ]
    features = [
        NameForTarget("--features", name, tuple(implied.get(name, "").split()))
        for name in sorted(architecture.features)
    ]
    columns: list[Column[NameForTarget]] = [
        Column("option", "option", lambda row: row.option, right=False),
        Column("name", "name", lambda row: row.name, right=False),
        Column("has", "has", lambda row: row.features, least=24, wraps=False),
    ]
    return Table("names", cpus + features, columns)
