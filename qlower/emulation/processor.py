"""Differences between the machines that unicorn emulates."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Protocol, TypeAlias, cast

from qlower.diagnostics import QlowerError
from qlower.emulation.image import Relocate
from qlower.process.extras import install_line

Words = Sequence[int]


class Machine(Protocol):
    """unicorn.Uc, the little of it that we use."""

    def ctl_set_cpu_model(self, model: int) -> None: ...
    def mem_map(self, address: int, size: int) -> None: ...
    def mem_unmap(self, address: int, size: int) -> None: ...
    def mem_write(self, address: int, data: bytes) -> None: ...
    def mem_read(self, address: int, size: int) -> bytearray: ...
    def reg_write(self, register: int, value: int) -> None: ...
    def reg_read(self, register: int) -> int: ...
    def hook_add(
        self,
        kind: int,
        hook: BlockHook,
        data: None,
        begin: int,
        end: int,
    ) -> int: ...
    def emu_start(self, begin: int, until: int) -> None: ...


BlockHook: TypeAlias = "Callable[[Machine, int, int, None], None]"
"""Called with the machine, an address, a size and nothing."""


@dataclass(frozen=True)
class Processor:
    """A machine by unicorn's names of architecture, modes, CPU and registers.

    Arguments are words in the registers `arguments`, then on the stack; the i32 result
    is in `result`, where to return to in `link`. `pointer` is struct's letter of a
    pointer, `return_code` the instruction that returns. `registers` are set before
    anything runs. `is_thumb` says that code has odd addresses. `library` are functions
    of words in registers that the code may call, as it may memcpy and memset. `cycles`
    estimates those of a block, and `taken` is how many more a branch takes, where there
    is a model of the processor.
    """

    architecture: str
    modes: tuple[str, ...]
    cpu: str
    arguments: tuple[str, ...]
    link: str
    result: str
    pointer: str
    return_code: bytes
    relocate: Relocate
    registers: Mapping[str, int] = field(default_factory=dict[str, int])
    is_thumb: bool = False
    library: Mapping[str, Callable[[Words], Words]] = field(
        default_factory=dict[str, Callable[[Words], Words]]
    )
    cycles: Callable[[bytes], int] | None = None
    taken: int = 0

    def start(self) -> Machine:
        """A machine that is switched on."""
        try:
            unicorn = import_module("unicorn")
        except ModuleNotFoundError as error:
            raise QlowerError(
                "code for another machine is run by unicorn, which isn't installed",
                help=install_line("emulation"),
            ) from error
        mode = sum(getattr(unicorn, f"UC_MODE_{name}") for name in self.modes)
        architecture = getattr(unicorn, f"UC_ARCH_{self.architecture}")
        machine = cast(Machine, unicorn.Uc(architecture, mode))
        model = getattr(self._constants, f"UC_CPU_{self.cpu}")
        machine.ctl_set_cpu_model(model)
        for name, value in self.registers.items():
            machine.reg_write(self.register(name), value)
        return machine

    def count(self, code: bytes) -> int:
        """The instructions in a block of code, of two bytes or four."""
        halves = struct.unpack(f"<{len(code) // 2}H", code)
        found = position = 0
        while position < len(halves):
            first, found = halves[position], found + 1
            if self.is_thumb:
                is_wide = first >> 11 >= 0b11101
            else:
                is_wide = self.architecture != "RISCV" or first & 3 == 3
            position += 1 + is_wide
        return found

    def register(self, name: str) -> int:
        """unicorn's number of a register."""
        return int(getattr(self._constants, f"UC_{self.architecture}_REG_{name}"))

    @property
    def _constants(self) -> ModuleType:
        return import_module(f"unicorn.{self.architecture.lower()}_const")
