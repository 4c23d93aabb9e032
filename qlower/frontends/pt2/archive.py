"""The zip archive that `torch.export.save` writes.

Its entries are stored without compression, so that all of them together are no larger
than the file; what claims to be more is refused before it is read.
"""

from __future__ import annotations

import struct
import zipfile
from io import BytesIO

from qlower.diagnostics import QlowerError, make_file_location
from qlower.files.json_text import parse_json
from qlower.files.zip_entries import open_entry

from ..model_files import contents

MOST_ENTRIES = 1 << 16
OLD_PROGRAM = "serialized_exported_program.json"


class Archive:
    """The entries of a file, by their paths below the one folder in it.

    Every method raises QlowerError, located in the file, for what is damaged.
    """

    def __init__(self, data: bytes, filename: str) -> None:
        self.filename = filename
        self.size = len(data)
        self._left = len(data)
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
            entries = self._zip.infolist()
        except _DAMAGES as error:
            what = contents(data) or f": {_reason(error)}"
            raise self.error(f"not a .pt2 file{what}") from error
        if len(entries) > MOST_ENTRIES:
            raise self.error(
                f"{len(entries)} entries are out of range [1, {MOST_ENTRIES}]"
            )
        self._entries: dict[str, zipfile.ZipInfo] = {}
        self._data: dict[str, bytes] = {}
        for entry in entries:
            if entry.filename in self._entries:
                raise self.error(f"damaged file: two entries {entry.filename!r}")
            self._entries[entry.filename] = entry
        self._root = self._find_root()

    def _find_root(self) -> str:
        """The folder that everything lies in, with a slash; "" if there is none."""
        if OLD_PROGRAM in self._entries:
            raise self.error(
                "its weights are a pickle, which can run any code and is not read",
                help="export and save the model again with PyTorch 2.9 or newer",
            )
        roots = [
            name.removesuffix("archive_format")
            for name in self._entries
            if name.rpartition("/")[2] == "archive_format"
        ]
        if len(roots) != 1 or self._read(f"{roots[0]}archive_format") != b"pt2":
            raise self.error(
                "not a .pt2 file of torch.export.save: no archive_format says so",
                help="torch.save and TorchScript write pickles, which are not read;"
                " torch.export.save(torch.export.export(model, inputs), 'model.pt2')"
                " writes such a file",
            )
        return roots[0]

    def error(
        self, message: str, line: int = 0, *, help: str | None = None
    ) -> QlowerError:
        """An error in the file; the line is the number of a node."""
        location = make_file_location(self.filename, line, 0)
        return QlowerError(message, location, help=help)

    def __contains__(self, path: str) -> bool:
        return self._root + path in self._entries

    def names(self, folder: str) -> list[str]:
        """The paths of the entries in a folder, which ends with a slash."""
        start = self._root + folder
        return sorted(
            name.removeprefix(self._root)
            for name in self._entries
            if name.startswith(start)
        )

    def read(self, path: str) -> bytes:
        """The bytes of an entry, which several tensors may share."""
        if path not in self._data:
            self._data[path] = self._read(self._root + path)
        return self._data[path]

    def json(self, path: str) -> object:
        """The content of a JSON entry."""
        try:
            return parse_json(self.read(path))
        except ValueError as error:
            raise self.error(
                f"damaged file: {path!r} is no JSON: {_reason(error)}"
            ) from error

    def _read(self, name: str) -> bytes:
        entry = self._entries.get(name)
        if entry is None:
            raise self.error(f"damaged file: no entry {name!r}")
        if entry.compress_type != zipfile.ZIP_STORED:
            raise self.error(f"entry {name!r} is compressed, which PyTorch never does")
        if entry.file_size > self._left:
            raise self.error(
                f"damaged file: entry {name!r} of {entry.file_size} bytes, of which"
                f" the file of {self.size} has {self._left} left"
            )
        self._left -= entry.file_size
        try:
            with open_entry(self._zip, entry) as stream:
                return stream.read()
        except _DAMAGES as error:
            raise self.error(
                f"damaged file: entry {name!r}: {_reason(error)}"
            ) from error


_DAMAGES = (
    zipfile.BadZipFile,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    OverflowError,
    struct.error,
)
"""Exceptions that the module `zipfile` raises for damaged files (NotImplementedError is
a RuntimeError)."""


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
