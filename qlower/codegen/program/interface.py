"""The facts that a C program needs to call a compiled model.

The header writes it as macros and prototypes, the object carries the same as a string
(JSON) and checks the caller's `identity`, so that a header and an object of two
different compilations are found out at run time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from qlower.diagnostics import QlowerError
from qlower.model.signature import Signature, TensorSpec
from qlower.model.state import state_offsets
from qlower.model.tables import Port, port_table
from qlower.tables.table import Table, counted
from qlower.version import __version__

STATUS_CODES: Mapping[str, tuple[int, str]] = {
    "OK": (0, "the outputs are written"),
    "ERROR_VERSION": (1, "this header is not of this object's compilation"),
    "ERROR_NULL": (2, "a pointer is null"),
    "ERROR_ARENA_SIZE": (3, "the arena is smaller than ARENA_BYTES"),
    "ERROR_ARENA_ALIGNMENT": (4, "the arena's address is no multiple of its alignment"),
    "ERROR_PROCESSOR": (5, "processor or system withhold what the code needs"),
    "ERROR_STATE_ALIGNMENT": (6, "the state's address is no multiple of its alignment"),
}
"""The results of the C entry point; any but OK means that nothing was written."""

LONGEST_NAME = 100
"""Characters of what files and symbols begin with: a file's name may have 255."""

_HEADERS = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math "
    "setjmp signal stdalign stdarg stdatomic stdbit stdbool stdckdint stddef "
    "stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar "
    "wctype arm_acle arm_fp16 arm_neon arm_sve endian features immintrin "
    "malloc memory omp pthread strings sysexits unistd "
)
STANDARD_HEADERS = frozenset(_HEADERS.split())
"""Headers of the C library and of compilers, which a model's would hide from `-I`."""


_IN_ARENA = "arena_inputs", "arena_outputs"


@dataclass(frozen=True)
class Interface:
    """A compiled model's names, sizes and types.

    `name` is what C symbols, macros (in upper case) and files begin with; `arena_bytes`
    is the scratch memory that a call needs, at a multiple of `arena_alignment`; its end
    is where a call leaves the next state until the outputs are written;
    `model_sha256` is the hash of the model's file (or of its module, if there was no
    file); `target` is a triple, and `levels` are the CPUs that there is code for.
    `arena_inputs` and `arena_outputs` have an offset for each input and output at which
    it may lie in the arena, if they may.
    """

    name: str
    signature: Signature
    arena_bytes: int
    arena_alignment: int
    contract: str
    model_sha256: str
    target: str
    levels: tuple[str, ...]
    version: str = __version__
    arena_inputs: tuple[int, ...] = ()
    arena_outputs: tuple[int, ...] = ()

    @property
    def identity(self) -> int:
        """64 bits that differ whenever anything that a caller relies on does."""
        digest = hashlib.sha256(self.to_json().encode()).digest()
        return int.from_bytes(digest[:8], "little")

    @property
    def entry(self) -> str:
        """The symbol of the checked entry point."""
        return f"{self.name}_run_checked"

    @property
    def reset(self) -> str:
        """The symbol of the function that makes a state a new one, if there are any."""
        return f"{self.name}_reset_checked"

    @property
    def state_bytes(self) -> int:
        """The size of a state; 0 for a model without."""
        return state_offsets(self.signature.states)[-1]

    @property
    def level_function(self) -> str:
        """The symbol of the function that reports which level runs here."""
        return f"{self.name}_level"

    @property
    def metadata(self) -> str:
        """The symbol of this interface as JSON, ended by a zero byte."""
        return f"{self.name}_interface"

    @property
    def ports(self) -> list[tuple[str, TensorSpec]]:
        """C names of the inputs, then of the outputs, each with what it holds."""
        return [
            (role if len(specs) == 1 else f"{role}_{index}", spec)
            for role, specs in (
                ("input", self.signature.inputs),
                ("output", self.signature.outputs),
            )
            for index, spec in enumerate(specs)
        ]

    @property
    def pointers(self) -> list[str]:
        """C names of all arguments of a call other than the arena."""
        names = [name for name, _ in self.ports]
        return [*names, "state"] if self.state_bytes else names

    @property
    def summary(self) -> str:
        """The compiled model, its target and its call, in a few lines."""
        lines = [
            f"{self.name}: {self.target} ({', '.join(self.levels)}), contract "
            f"{self.contract}"
        ]
        lines += [f"  input {spec}" for spec in self.signature.inputs]
        lines += [f"  output {spec}" for spec in self.signature.outputs]
        lines += [f"  state {spec}" for spec in self.signature.states]
        return "\n".join([*lines, f"  {counted(self.arena_bytes, 'byte')} of arena"])

    def table(self) -> Table[Port]:
        """The inputs and outputs, with the rest in notes."""
        notes = [
            f"{self.target} ({', '.join(self.levels)}), contract {self.contract}.",
            f"{counted(self.arena_bytes, 'byte')} of arena.",
        ]
        return port_table(self.name, self.signature, notes)

    def to_json(self) -> str:
        """Text that `from_json` reads back; the same for equal interfaces."""
        data = {**asdict(self), "signature": self.signature.to_json()}
        for name in _IN_ARENA:  # most have none
            if not data[name]:
                del data[name]
        return json.dumps(data, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Interface:
        """The interface that `to_json` wrote."""
        data: dict[str, Any] = json.loads(text)
        data["signature"] = Signature.from_json(data["signature"])
        for name in ("levels", *_IN_ARENA):
            data[name] = tuple(data.get(name, ()))
        return Interface(**data)


def check_name(name: str) -> str:
    """`name` itself, or a QlowerError if C symbols and files can't begin with it.

    A name that begins with an underscore is C's own.
    """
    if len(name) > LONGEST_NAME:
        raise QlowerError(
            f"{name[:20]}... is no name for files: it has {len(name)} characters, "
            f"expected at most {LONGEST_NAME}"
        )
    if name.lower() in STANDARD_HEADERS:
        raise QlowerError(
            f"{name!r} is no name for a header: <{name.lower()}.h> is the C library's",
            help=f"--name {c_identifier(name)}",
        )
    if not re.fullmatch(r"[A-Za-z]\w*", name, flags=re.ASCII):
        raise QlowerError(
            f"{name!r} is no name for C: expected a letter, then letters, digits and _",
            help=f"--name {c_identifier(name)}",
        )
    return name


def c_identifier(name: str) -> str:
    """A name as a C identifier in lower case, of ASCII letters, digits and `_`, which
    `check_name` accepts."""
    identifier = re.sub(r"\W+", "_", name[:LONGEST_NAME], flags=re.ASCII)
    identifier = identifier.strip("_").lower()
    if not identifier[:1].isalpha() or identifier in STANDARD_HEADERS:
        identifier = f"model_{identifier}".rstrip("_")
    return identifier[:LONGEST_NAME]
