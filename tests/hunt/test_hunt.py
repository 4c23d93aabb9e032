"""The hunt of `hunting.py` over all contracts, as long as is wanted.

    QLOWER_HUNT_OUTPUTS=100000000 QLOWER_HUNT_SEED=7 python -m pytest --long tests/hunt

- `QLOWER_HUNT_OUTPUTS`: numbers to compare, over all contracts together (1,000,000);
  each is compared some eight times.
- `QLOWER_HUNT_SEED`: another number draws other layers (0), so that runs add up.
- `QLOWER_HUNT_CONTRACTS`: names with commas between, instead of all contracts.
- `QLOWER_HUNT_FOLDER`: where reproducers go (`hunt` in the working directory): a
  folder for each mismatch, with module, inputs and both answers.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic

import pytest
from hunt.hunting import BATCH, Tally, compare_executors, draw_batch, tell
from hunt.systems import compare_system, options_of

from qlower.contracts import contract_names

NAMES = os.environ.get("QLOWER_HUNT_CONTRACTS")
CONTRACTS = NAMES.split(",") if NAMES else contract_names()
OUTPUTS = int(os.environ.get("QLOWER_HUNT_OUTPUTS", "1000000"))
SEED = int(os.environ.get("QLOWER_HUNT_SEED", "0"))
FOLDER = Path(os.environ.get("QLOWER_HUNT_FOLDER", "hunt"))


@pytest.mark.long
@pytest.mark.parametrize("contract", CONTRACTS)
def test_hunt(contract: str):
    tally = Tally(contract, FOLDER)
    seed, start = SEED * 1_000_000, monotonic()
    options = options_of(contract)
    while tally.outputs < OUTPUTS / len(CONTRACTS):
        batch = list(draw_batch(contract, seed, options))
        compare_system(contract, batch, tally)
        for quarry in batch:
            compare_executors(quarry, tally)
        assert tally.refused < tally.layers, f"{contract} refuses everything"
        tell(
            f"{contract}: {tally.outputs} outputs of {tally.layers} layers, "
            f"{tally.comparisons} comparisons, {tally.refused} refused, "
            f"{len(tally.mismatches)} mismatches, {monotonic() - start:.0f} s"
        )
        seed += BATCH
    assert not tally.mismatches
