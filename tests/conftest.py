"""Tests share one object cache that is thrown away, and leave the user's alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_object_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("object_cache")
        patch.setenv("QLOWER_CACHE_DIR", str(folder))
        yield
