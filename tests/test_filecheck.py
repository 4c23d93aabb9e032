"""The FileCheck tests, which `lit filecheck` runs too."""

# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from pathlib import Path
from unittest import TestCase

import pytest
from lit import LitTestCase

TESTS = list(
    LitTestCase.load_test_suite([str(Path(__file__).parents[1] / "filecheck")])
)


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.id())
def test_file(test: TestCase) -> None:
    test.debug()
