"""Programs as text with inputs and outputs, in every executor.

`pytest tests/test_run_files.py --bless` writes what the interpreter gives at the
model's own level into files that expect something else. Read the difference before
committing it. Modules of every third file, and of all in the long run, are verified
after each pass.
"""

from __future__ import annotations

import pytest
from support.layers.run_files import RUN_TESTS, RunTest, bless


@pytest.mark.parametrize(("turn", "test"), list(enumerate(RUN_TESTS)), ids=str)
def test_every_executor_gives_what_the_file_says(
    turn: int, test: RunTest, request: pytest.FixtureRequest
) -> None:
    if turn % 3 == 0:
        request.getfixturevalue("verify_each")
    results = {contract: test.results(contract, turn) for contract in test.contracts}
    if request.config.getoption("--bless"):
        reference = {
            contract: next(iter(executors.values()))
            for contract, executors in results.items()
        }
        if reference != test.expected:
            bless(test, reference)
        return
    assert list(test.expected) == test.contracts
    for contract, executors in results.items():
        for name, values in executors.items():
            assert values == test.expected[contract], f"{contract} {name}"
