"""Mutants drawn from all rooms of the product, as many from each."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

from mutation.sites import Mutant, contract_mutants, python_mutants

ROOT = Path(__file__).resolve().parents[2]

CONTRACTS = "contracts"
NOT_PRODUCT = ("docs",)
"""Rooms that aren't drawn from."""


def room_of(file: str) -> str:
    """The folder below `qlower`, or the family of a contract's text."""
    path = Path(file)
    if path.suffix == ".mlir":
        return f"{CONTRACTS}: {path.stem.lstrip('_').split('-')[0]}"
    return path.parts[1] if len(path.parts) > 2 else "(loose modules)"


def all_mutants() -> dict[str, list[Mutant]]:
    """All mutants by room."""
    rooms: defaultdict[str, list[Mutant]] = defaultdict(list)
    for path in sorted((ROOT / "qlower").rglob("*")):
        file = str(path.relative_to(ROOT))
        if path.suffix == ".py":
            rooms[room_of(file)] += python_mutants(file, path.read_text())
        elif path.suffix == ".mlir" and path.parent.name == CONTRACTS:
            rooms[room_of(file)] += contract_mutants(file, path.read_text())
    return {room: found for room, found in rooms.items() if room not in NOT_PRODUCT}


def draw(seed: int, count: int) -> list[Mutant]:
    """As many mutants of each room, no two of one line."""
    rooms = all_mutants()
    drawn: list[Mutant] = []
    for index, (room, mutants) in enumerate(sorted(rooms.items())):
        share = len(range(index, count, len(rooms)))
        by_line: defaultdict[tuple[str, int], list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            by_line[mutant.file, mutant.line].append(mutant)
        chance = random.Random(f"{seed} {room}")
        lines = chance.sample(sorted(by_line), min(share, len(by_line)))
        drawn += [chance.choice(by_line[line]) for line in lines]
    return drawn


def told(mutant: Mutant) -> str:
    """A mutant in one line."""
    old, new = (" ".join(text.split()) for text in (mutant.old, mutant.new))
    return f"{mutant.file}:{mutant.line}: {old[:100]} -> {new[:100]}"
