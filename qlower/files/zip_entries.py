"""Entries of zip archives, which may be damaged on purpose."""

from __future__ import annotations

import warnings
import zipfile
from typing import IO


def open_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> IO[bytes]:
    """An entry to read; raises `BadZipFile` for one that begins where another does, of
    which newer Pythons only warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            return archive.open(entry)
        except UserWarning as warning:
            raise zipfile.BadZipFile(str(warning)) from warning
