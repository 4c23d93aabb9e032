"""The cache's location and size."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from qlower.kept.cache import KINDS, cache_folder, cache_limit, cache_size
from qlower.tables.table import Column, Table


@dataclass(frozen=True)
class CacheState:
    """The cache's folder (None where there is no cache), the files in it by suffix,
    their bytes, and the bytes that it may hold."""

    folder: Path | None
    files: Counter[str]
    size: int
    limit: int


def cache_table() -> Table[CacheState]:
    """One line: the cache as it is now."""
    state = CacheState(cache_folder(), *cache_size(), cache_limit())
    columns: list[Column[CacheState]] = [
        Column(
            "folder",
            "folder",
            lambda row: None if row.folder is None else str(row.folder),
            right=False,
        ),
        Column("files", "files", lambda row: row.files.total()),
        *(_count(suffix, kind) for suffix, kind in KINDS.items()),
        Column("bytes", "bytes", lambda row: row.size),
        Column("limit", "limit", lambda row: row.limit),
    ]
    notes = [] if state.folder else ["There is no cache: $QLOWER_CACHE_DIR is empty."]
    return Table("cache", [state], columns, notes=notes)


def _count(suffix: str, kind: str) -> Column[CacheState]:
    return Column(kind, kind.replace(" ", "_"), lambda row: row.files[suffix])
