"""Counts so far, in a file, so that interrupted work can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from time import monotonic

from qlower.diagnostics import QlowerError, warn
from qlower.files.json_text import parse_json
from qlower.files.replacing import replacing
from qlower.validation.counts import Partial
from qlower.validation.key import Key
from qlower.validation.sources import Chunk

_SECONDS_BETWEEN = 5.0
"""The work that may be lost when the machine stops."""


@dataclass
class Progress:
    """The sum of all chunks that are done, and which these are.

    `key` says what the counts are of: a file with another key is refused.
    """

    key: Key
    path: Path | None = None
    total: Partial = field(default_factory=Partial)
    done: set[int] = field(default_factory=set[int])
    """The first row of each chunk that is in `total`."""

    _saved: float = field(default_factory=monotonic)

    def load(self) -> None:
        """Take up what the file has, if there is one."""
        if self.path is None or not os.path.exists(self.path):
            return
        if not os.path.isfile(self.path):
            raise QlowerError(f"cannot read {self.path}: it is not a file")
        try:
            data = dict(parse_json(self.path.read_text(encoding="utf-8")))
            digest = data.pop("digest")
            found: Key = dict(data["key"])
            total, done = Partial.from_json(data["total"]), set(map(int, data["done"]))
        except OSError as error:
            raise QlowerError(f"cannot read {self.path}: {error.strerror}") from error
        except (
            *(ArithmeticError, AttributeError, LookupError),
            *(TypeError, ValueError),
        ) as error:
            raise self._no_state() from error
        names = dict.fromkeys([*self.key, *found])
        differing = [name for name in names if found.get(name) != self.key.get(name)]
        if differing:
            raise QlowerError(
                f"{self.path} was written by a different run (key differs):"
                f" {', '.join(differing)}",
                help="resume with what it was begun with, or remove the file",
            )
        if digest != _digest(data):
            raise self._no_state()
        self.total, self.done = total, done

    def _no_state(self) -> QlowerError:
        return QlowerError(f"{self.path} is no state of `qlower validate`")

    def take(self, chunks: list[Chunk], partial: Partial) -> None:
        """Add the counts of chunks; the file is written every few seconds."""
        self.total.add(partial)
        self.done.update(chunk.start for chunk in chunks)
        if monotonic() - self._saved > _SECONDS_BETWEEN:
            self.save()

    def save(self) -> None:
        """Write the file. A full disk costs the chance to resume, not the run."""
        if self.path is None:
            return
        data: dict[str, object] = {
            "key": self.key,
            "done": sorted(self.done),
            "total": self.total.to_json(),
        }
        data["digest"] = _digest(data)
        try:
            with replacing(self.path) as stream:
                stream.write(json.dumps(data).encode())
        except QlowerError as error:
            warn(f"what was counted isn't kept: {error.message}")
        self._saved = monotonic()


def _digest(data: Mapping[str, object]) -> str:
    """The digest of the file's other contents: an edited file would count rows
    twice."""
    return sha256(json.dumps(data).encode()).hexdigest()
