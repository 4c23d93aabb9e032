"""Native code of a model as it is kept and loaded, apart from what makes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qlower.codegen.program.flavour import PLAIN, Flavour
from qlower.codegen.targets.resolve import Target
from qlower.diagnostics import QlowerError
from qlower.model.signature import Signature

if TYPE_CHECKING:
    from qlower.codegen.llvm.module import Content, Module, PackedData

ENTRY = "qlower_main"
"""The symbol of the code's only entry."""


@dataclass(frozen=True)
class Kernel:
    """One nest or copy of the compiled code.

    `name` is that of its native function, of its first one where threads share it;
    kernels that are equal up to constants may have one function.
    `layer` names the source layer, or several: `conv + add`, and `layers` each of them;
    `family` is the nest's, or "copy"; `products` the multiply-accumulates of a sum of
    products (else 0), whose activations have 16 bits if it `takes_words`, `bytes` the
    size of all tensors that it reads and writes, weights included.
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
    takes_words: bool

    @staticmethod
    def from_json(entry: Mapping[str, Any]) -> Kernel:
        """The kernel whose fields were written as JSON."""
        fields: dict[str, Any] = {**entry, "layers": tuple(entry["layers"])}
        return Kernel(**fields)


@dataclass(frozen=True)
class Call:
    """The interface of the code of a kernel of these `layers`, where it is an object of
    its own: `digest` is that of its function's text but for the name, `parameters` are
    the constants and numbers that the function is given."""

    layers: tuple[str, ...]
    digest: str
    parameters: tuple[Content, ...]

    @property
    def data(self) -> tuple[bytes, ...]:
        """The constants, in order."""
        return tuple(one for one in self.parameters if isinstance(one, bytes))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers, in order."""
        return tuple(one for one in self.parameters if isinstance(one, int))


@dataclass(frozen=True)
class CompiledObject:
    """Native code of a model, and how to call it.

    `objects` are object files, which are linked: a single one, or one for each kernel,
    one that calls them and some of data, which the cache has of layers. `kernels` are
    the nests and copies in the order in which they run. `module` is what LLVM made the
    objects of, and `calls` how it calls those; there are none when the objects came
    from the cache. `packed` is data whose addresses a call gives after its inputs'.
    """

    objects: tuple[bytes, ...]
    signature: Signature
    arena_bytes: int
    target: Target
    kernels: tuple[Kernel, ...] = ()
    flavour: Flavour = PLAIN
    module: Module | None = None
    calls: tuple[Call, ...] = ()
    packed: tuple[PackedData, ...] = ()

    @property
    def llvm_text(self) -> str:
        """The IR before LLVM's optimizer, empty without a module: of large networks it
        is several times as large as the weights."""
        check_is_machine(self.target)
        return "" if self.module is None else str(self.module)

    @property
    def functions(self) -> Mapping[str, str]:
        """The functions of that by name."""
        return {} if self.module is None else self.module.all_functions

    @property
    def object_bytes(self) -> bytes:
        """The only object file."""
        check_is_machine(self.target)
        (only,) = self.objects
        return only

    def without_text(self) -> CompiledObject:
        """The code alone, as the cache has it."""
        return replace(self, module=None, calls=())

    def assembly(self) -> str:
        """The code as assembly text (compiled again)."""
        check_is_machine(self.target)
        from qlower.codegen.program.machine_code import assembly_text

        return assembly_text(self.llvm_text, self.target)


def check_is_machine(target: Target) -> None:
    """Refuse to make machine code for a target that is C source."""
    if target.is_source:
        raise QlowerError(
            f"target {target.triple} is C source: it has no machine code",
            help="qlower compile --emit c",
        )
