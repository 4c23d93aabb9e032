"""What a commit makes of a corpus: a hash of each model's level under each contract.

This runs in a process of its own, with the qlower that `PYTHONPATH` names.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

import qlower
from qlower.codegen.targets.resolve import resolve_target
from qlower.compilation.compilation import Compilation
from qlower.contracts import contract_names
from qlower.diagnostics import QlowerError

Level = Literal["arith", "kernels", "code"]

# Commits before 0.2.0, which are compared too, have it in another file.
_FILES = ("qlower.compilation.to_arith", "qlower.compilation.pipeline")
_FILE = import_module(next(filter(find_spec, _FILES)))

TARGETS = {
    "kernels": (("x86_64-linux-gnu", "x86-64-v3"),),
    "code": (("x86_64-linux-gnu", "x86-64-v3"), ("aarch64-linux-gnu", "neoverse-n1")),
}

OWN = ""
"""The contract of a model that names one itself, or needs none."""

READINGS = ("integer", "x86", "as-written")
"""The ways to read groups of dequantize, operator and quantize in ONNX files."""


@dataclass(frozen=True)
class Case:
    """A model's file in the corpus, read in one way, under one contract."""

    file: str
    reading: str
    contract: str

    def __str__(self) -> str:
        words = (self.file, self.reading, self.contract or "(its own)")
        return " ".join(word for word in words if word)

    @classmethod
    def parse(cls, text: str) -> Case:
        """The case that is written so."""
        file, *words = text.split(" ", 1)[0], *text.split(" ")[1:]
        reading = words.pop(0) if words[0] in READINGS else ""
        contract = " ".join(words)
        return cls(file, reading, OWN if contract == "(its own)" else contract)


def cases_of(file: str, contracts: str) -> Iterator[Case]:
    """Every reading of a file under every contract whose name matches."""
    for reading in READINGS if file.endswith(".onnx") else ("",):
        for contract in (OWN, *contract_names()):
            if fnmatch(contract, contracts):
                yield Case(file, reading, contract)


def hashed(corpus: Path, cases: Sequence[Case], level: Level) -> dict[str, str]:
    """The hash of each case at a level, or the words with which it is refused."""
    found: dict[str, str] = {}
    model, read = None, None
    for case in cases:
        if read != (case.file, case.reading):
            read = (case.file, case.reading)
            try:
                model = load(corpus / case.file, case.reading)
            except QlowerError as error:
                model = f"cannot be read: {first_line(error)}"
        if isinstance(model, str):
            found[str(case)] = model
            continue
        assert model is not None
        try:
            found[str(case)] = at_level(model, case.contract or None, level)
        except QlowerError as error:
            found[str(case)] = f"refused: {first_line(error)}"
    return found


def load(path: Path, reading: str) -> qlower.Model:
    """A model of the corpus, whose locations name the file alone."""
    return qlower.load(path, qdq=reading) if reading else qlower.load(path)


def at_level(model: qlower.Model, contract: str | None, level: Level) -> str:
    """The hash of a model at a level, for all targets that it is made for."""
    if level == "arith":
        return digest(
            text_of(_FILE.lower_to_arith(model.module, contract, verify=False))
        )
    parts: list[str] = []
    for triple, cpu in TARGETS[level]:
        target = resolve_target(triple, cpu)
        made = Compilation(model, contract, target)
        if level == "kernels":
            parts.append(digest(text_of(made.kernels)))
        else:
            parts.extend(hashlib.sha256(one).hexdigest() for one in made.code.objects)
    return digest(" ".join(parts))


def text_of(module: ModuleOp) -> str:
    """A module's text with its locations, the paths' folders left out."""
    text = StringIO()
    Printer(stream=text, print_debuginfo=True).print_op(module)
    return text.getvalue()


def digest(text: str) -> str:
    """A hash of text."""
    return hashlib.sha256(text.encode()).hexdigest()


def first_line(error: QlowerError) -> str:
    """An error's own line."""
    return str(error).splitlines()[0]


def main(arguments: Sequence[str]) -> None:
    """`hashing.py CORPUS LEVEL CONTRACTS`: hash the files, under contracts that match,
    or cases that standard input lists."""
    corpus, level, contracts = arguments
    logging.disable()
    cases: list[Case] = []
    for line in sys.stdin.read().splitlines():
        cases += [Case.parse(line)] if " " in line else cases_of(line, contracts)
    assert level in ("arith", "kernels", "code")
    print(json.dumps(hashed(Path(corpus), cases, level)))


if __name__ == "__main__":
    main(sys.argv[1:])
