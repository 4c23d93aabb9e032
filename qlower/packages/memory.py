"""The memory that a compiled model takes in a C program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from qlower.codegen.program.interface import Interface
from qlower.codegen.targets.resolve import architecture_of
from qlower.codegen.targets.stack_frames import StackUse, stack_use
from qlower.diagnostics import QlowerError
from qlower.model.signature import TensorSpec
from qlower.packages.sections import sections_of
from qlower.tables.table import Cell, Column, Table


@dataclass(frozen=True)
class Memory:
    """Bytes of RAM and flash, and how deep the stack becomes.

    `arena`, `state`, `inputs` and `outputs` are the caller's; the last two are 0 where
    they may lie in the arena. `variables` are the object's own. `code` and `constants`
    are None for C source.
    """

    arena: int
    state: int
    inputs: int
    outputs: int
    variables: int
    code: int | None
    constants: int | None
    stack: StackUse

    def to_json(self) -> dict[str, Cell]:
        """Plain data; `stack` is null where the depth isn't known, or wasn't asked
        for."""
        return {
            "arena": self.arena,
            "state": self.state,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "variables": self.variables,
            "stack": self.stack.bytes,
            "stack_calls": self.stack.outside,
            "code": self.code,
            "constants": self.constants,
        }

    @property
    def ram(self) -> int:
        """All of it, with the stack as far as its depth is known."""
        own = self.arena + self.state + self.inputs + self.outputs + self.variables
        return own + (self.stack.bytes or 0)

    def check(self, *, max_flash: int | None, max_ram: int | None) -> None:
        """Raises QlowerError, with the table, where code and constants or all of the
        RAM take more."""
        if max_flash is not None and (self.code is None or self.constants is None):
            raise QlowerError("--max-flash needs machine code, not C source alone")
        flash = (self.code or 0) + (self.constants or 0)
        for what, used, most in (
            ("flash", flash, max_flash),
            ("RAM", self.ram, max_ram),
        ):
            if most is not None and used > most:
                raise QlowerError(
                    f"the model takes {used:,} bytes of {what}, more than the "
                    f"{most:,} of --max-{what.lower()}",
                    notes=str(self.table()).splitlines(),
                )

    def table(self) -> Table[tuple[str, int | None, str]]:
        """The table of consumers, each with its bytes of every kind of memory."""
        is_known = self.stack.bytes is not None
        stack = "RAM, at most" if is_known else "RAM, unknown: --stack may tell"
        if self.stack.outside:
            stack += f", and what is needed by {', '.join(self.stack.outside)}"
        rows: list[tuple[str, int | None, str]] = [
            ("arena", self.arena, "RAM"),
            *([("state", self.state, "RAM")] if self.state else []),
            ("inputs", self.inputs, "RAM" if self.inputs else "in the arena"),
            ("outputs", self.outputs, "RAM" if self.outputs else "in the arena"),
            ("variables", self.variables, "RAM"),
        ]
        if self.code is not None:
            rows += [
                ("stack", self.stack.bytes, stack),
                ("code", self.code, "read-only: flash, if there is any"),
                ("constants", self.constants, "read-only"),
            ]
        return Table(
            "memory",
            rows,
            [
                Column("memory", "name", lambda row: row[0], right=False),
                Column("bytes", "bytes", lambda row: row[1]),
                Column("", "where", lambda row: row[2], right=False),
            ],
        )


def memory_use(
    interface: Interface, object_bytes: bytes | None, assembly: str | None
) -> Memory:
    """The memory of an object, or, with None, of C source; its stack where the code is
    also given as assembly."""
    sections = None if object_bytes is None else sections_of(object_bytes)
    stack = StackUse(None)
    if assembly is not None:
        architecture = architecture_of(interface.target).names[0]
        stack = stack_use(assembly, architecture, interface.entry)
    return Memory(
        arena=interface.arena_bytes,
        state=interface.state_bytes,
        inputs=0 if interface.arena_inputs else _bytes(interface.signature.inputs),
        outputs=0 if interface.arena_outputs else _bytes(interface.signature.outputs),
        variables=0 if sections is None else sections.variables,
        code=None if sections is None else sections.code,
        constants=None if sections is None else sections.constants,
        stack=stack,
    )


def _bytes(specs: Iterable[TensorSpec]) -> int:
    return sum(prod(spec.shape) * spec.numpy_dtype.itemsize for spec in specs)
