"""The lists of `qlower targets`: usual triples, and names for an architecture."""

from __future__ import annotations

import dataclasses

import pytest

from qlower.cli import make_parser
from qlower.cli.tables.target_table import TargetSummary, name_table, target_table
from qlower.codegen.targets.c99 import C99
from qlower.codegen.targets.resolve import ARCHITECTURES, architecture_of


def cells(name: str) -> list[str]:
    """A row as it is shown."""
    lines = [line.split("  ") for line in str(target_table()).splitlines()]
    (found,) = [line for line in lines if line[0] == name]
    return [cell.strip() for cell in found if cell.strip()]


@pytest.mark.parametrize(
    ("triple", "state"),
    [
        ("x86_64-linux-gnu", "tuned and tested"),
        ("aarch64-linux-gnu", "tuned and tested"),
        ("armv7-linux-gnueabihf", "tuned and tested"),
        ("thumbv6m-none-eabi", "experimental"),
        ("c99-none", "C source"),
    ],
)
def test_a_line_of_a_target(triple: str, state: str) -> None:
    architecture = C99 if triple == "c99-none" else architecture_of(triple)
    cpus = list(architecture.cpus)
    assert cells(triple) == [
        *(triple, state, str(len(cpus)), str(len(architecture.features)), cpus[0])
    ]


def test_every_architecture_has_its_usual_triples() -> None:
    rows = target_table().rows
    triples = [row.triple for row in rows]
    assert len(triples) == len(set(triples))
    names = {triple.partition("-")[0] for triple in triples}
    assert names == {one.names[0] for one in (*ARCHITECTURES, C99)}
    assert triples[-1] == "c99-none"
    assert [triple for triple in triples if "thumbv7em" in triple] == [
        *("thumbv7em-none-eabi", "thumbv7em-none-eabihf")
    ]
    for row in rows:
        assert list(row.features) == sorted(row.features)


def test_records_of_targets() -> None:
    by_triple = {row["triple"]: row for row in target_table().records()}
    row, own = by_triple["x86_64-linux-gnu"], architecture_of("x86_64-linux-gnu")
    assert row == {
        **{"triple": "x86_64-linux-gnu", "experimental": False},
        **{"cpus": tuple(own.cpus), "features": tuple(sorted(own.features))},
    }
    assert by_triple["thumbv6m-none-eabi"]["experimental"] is True


def test_names_of_an_architecture() -> None:
    """CPUs in their order, then features, each with what it has or implies by name."""
    known = architecture_of("x86_64-linux-gnu")
    small = dataclasses.replace(
        known,
        cpus={"b": frozenset({"y", "x"}), "a": frozenset[str]()},
        features=frozenset({"y", "x", "z"}),
        implied={"z": "y x", "w": "x"},
    )
    assert str(name_table(small)).splitlines() == [
        "option      name  has",
        "-" * 22,
        "--cpu       b     x, y",
        "--cpu       a     -",
        "--features  x     -",
        "--features  y     -",
        "--features  z     y, x",
    ]
    assert name_table(small).records()[4] == {
        **{"option": "--features", "name": "z", "has": ("y", "x")}
    }
    assert [one.cpus for one in TargetSummary.of(small)] == [("b", "a")]


@pytest.mark.parametrize("option", ["--cpu", "--features"])
def test_names_stand_beside_the_option_that_takes_them(option: str) -> None:
    known = architecture_of("riscv32")
    names = [row.name for row in name_table(known).rows if row.option == option]
    given = names[-1] if option == "--cpu" else f"+{names[-1]}"
    triple = "riscv32-unknown-none-elf"
    words = ["compile", "-", "-o", "-", "--target", triple, option, given]
    parsed = vars(make_parser("compile").parse_args(words))
    assert parsed[option.strip("-")] == given
