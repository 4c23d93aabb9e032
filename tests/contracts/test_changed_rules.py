"""Mutants of contracts, to which live systems are held where they are installed, can be
made of the contracts as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.systems.changed_rules import SYSTEMS
from support.values.near_ties import mutants


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_change_is_of_what_the_text_has(name: str, tmp_path: Path) -> None:
    system = SYSTEMS[name]
    contract = system.changed or system.contract or name
    changes = [change for rule in system.changes.values() for change in rule]
    assert len(mutants(contract, changes, tmp_path)) == len({*changes})
