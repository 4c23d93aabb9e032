"""Native code of a model as it is kept and loaded, apart from what makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from qlower.codegen.program.flavour import PLAIN, Flavour
from qlower.codegen.targets.resolve import Target
from qlower.model.signature import Signature

ENTRY = "qlower_main"
"""The symbol of the code's only entry."""


@dataclass(frozen=True)
class Kernel:
    """One nest or copy of the compiled code.

    `name` is that of its native function, of its first one where threads share it.
    `layer` names the source layer, or several: `conv + add`, and `layers` each of them;
    `family` is the nest's, or "copy"; `products` the multiply-accumulates of a sum of
    products (else 0), `bytes` the size of all tensors that it reads and writes, weights
    included.
    """

    name: str
    layer: str
    layers: tuple[str, ...]
    family: str
    products: int
    bytes: int
    results: int
    operations: int
    channels: int
    step: int

    @staticmethod
    def from_json(entry: Mapping[str, Any]) -> Kernel:
        """The kernel whose fields were written as JSON."""
        fields: dict[str, Any] = {**entry, "layers": tuple(entry["layers"])}
        return Kernel(**fields)


@dataclass(frozen=True)
class CompiledObject:
    """Native code of a model, and how to call it.

    `objects` are object files, which are linked: a single one, or one for each kernel
    and one that calls them, which the cache has of layers. `kernels` are the
    nests and copies in the order in which they run. `llvm_text` is the IR before LLVM's
    optimizer, and `functions` are those of it by name; both are empty when the objects
    came from the cache.
    """

    objects: tuple[bytes, ...]
    signature: Signature
    arena_bytes: int
    target: Target
    kernels: tuple[Kernel, ...] = ()
    flavour: Flavour = PLAIN
    llvm_text: str = ""
    functions: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def object_bytes(self) -> bytes:
        """The only object file."""
        (only,) = self.objects
        return only

    def without_text(self) -> CompiledObject:
        """The code alone, as the cache has it."""
        return replace(self, llvm_text="", functions={})

    def assembly(self) -> str:
        """The code as assembly text (compiled again)."""
        from qlower.codegen.program.module import assembly_text

        return assembly_text(self.llvm_text, self.target)
