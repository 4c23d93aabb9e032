"""The questions by which compiled code finds out the features of its processor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qlower.codegen.llvm.module import Module

WORDS = "processor_words"
"""The function `void @processor_words(ptr)`, that `Processor.add_reader` defines."""


@dataclass(frozen=True)
class Processor:
    """The way an operating system and its processors report their features.

    `bits`: for each feature that can be asked for, by LLVM's name, the bits that must
    be set, by the number of their word. `add_reader` defines the function `WORDS`, for
    code that needs some features: it stores `words` numbers of 64 bits, and asks the
    system for its permission where that is needed. `remembers` says that reading takes
    so long (thousands of cycles, in a virtual machine hundreds of thousands) that an
    object does it once.
    """

    bits: Mapping[str, Mapping[int, int]]
    words: int
    add_reader: Callable[[Module, Collection[str]], None]
    remembers: bool

    def masks(self, features: Iterable[str]) -> dict[int, int]:
        """The bits of each word that are set where all of the features are present."""
        found: dict[int, int] = {}
        for feature in features:
            for word, bits in self.bits[feature].items():
                found[word] = found.get(word, 0) | bits
        return dict(sorted(found.items()))
