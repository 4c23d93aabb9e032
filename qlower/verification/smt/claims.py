"""Claims about a model as SMT-LIB scripts, each written once, and their list."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from qlower.files.replacing import replacing_files
from qlower.tables.json_text import json_text
from qlower.verification.smt import solve

Status: TypeAlias = Literal["unsat", "sat", "unknown"]

Replay: TypeAlias = Callable[[Mapping[str, int]], str | None]
"""The interpreter's results for a solver's values, as text; None if they refute
nothing."""


@dataclass
class Claim:
    """One script: `unsat` if what `says` says holds for all values.

    `script` are its commands from `declare-const` on. `expected` is qlower's own
    verdict, and `of` the layers and channels whose claim this is.
    """

    says: str
    logic: str
    script: str
    variables: Sequence[str]
    expected: Status
    replay: Replay
    of: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    name: str = ""

    def text(self) -> str:
        """The file."""
        layers: dict[str, list[str]] = {}
        for layer, channel in self.of:
            layers.setdefault(layer, []).append(channel)
        about = "; ".join(
            f"{layer}" + (f", channels {' '.join(ones)}" if any(ones) else "")
            for layer, ones in layers.items()
        )
        head = [
            *textwrap.wrap(self.says, 78),
            *textwrap.wrap(f"Of {about}.", 78),
            "unsat: so it is. sat: the values are where it is not.",
        ]
        return "\n".join(
            [
                *(f"; {line}" for line in head),
                "(set-info :smt-lib-version 2.6)",
                "(set-option :produce-models true)",
                f"(set-logic {self.logic})",
                f"(set-info :status {self.expected})",
                self.script,
                "(check-sat)",
                "",
            ]
        )


@dataclass
class Claims:
    """The claims of a model's layers, in order; `refused` says of layers why they
    have none."""

    claims: dict[str, Claim] = field(default_factory=dict[str, Claim])
    refused: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, claim: Claim, layer: str, channel: str) -> None:
        """Enter a claim about a channel, "" for a whole layer."""
        known = self.claims.setdefault(claim.script, claim)
        known.of.append((layer, channel))

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims.values())

    def write(self, folder: Path) -> None:
        """Write all claims, their list and the script that runs solvers on them.

        Files of these names are replaced; others stay.
        """
        counts: dict[str, int] = {}
        for claim in self:
            stem = re.sub(r"[^\w.-]+", "_", claim.of[0][0])[:80]
            number = counts[stem] = counts.get(stem, -1) + 1
            claim.name = f"{stem}.{number:03}.smt2"
        rows = [
            {
                "file": claim.name,
                "expected": claim.expected,
                "variables": list(claim.variables),
                "of": [list(one) for one in claim.of],
            }
            for claim in self
        ]
        record = {"claims": rows, "refused": self.refused}
        script = Path(solve.__file__).read_text(encoding="utf-8")
        with replacing_files(folder) as temporary:
            for claim in self:
                (temporary / claim.name).write_text(claim.text(), encoding="utf-8")
            (temporary / solve.LIST).write_text(json_text(record), encoding="utf-8")
            (temporary / "run.py").write_text(script, encoding="utf-8")
