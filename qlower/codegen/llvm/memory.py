"""Addresses, and instructions that read and write what lies there, as text."""

from __future__ import annotations

from collections.abc import Sequence

from qlower.codegen.llvm.computing import Computing
from qlower.codegen.llvm.module import Module
from qlower.codegen.llvm.values import I64, POINTER, Type, Value, constant, zero


class Memory(Computing):
    """The stack frame, addresses in bytes after a pointer, loads and stores."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._constants: set[str] = set()
        """Addresses of what is never written."""

    def allocate(self, size: int, alignment: int | None = None) -> Value:
        """`size` bytes of the stack frame; `alignment` is the module's by default."""
        name, alignment = self._name(), alignment or self.module.alignment
        self._first_lines.append(f"  {name} = alloca [{size} x i8], align {alignment}")
        return Value(POINTER, name)

    def at(self, pointer: Value, offset: Value) -> Value:
        """The address `offset` bytes after `pointer`."""
        if offset.text == "0":
            return pointer
        base, factor, known = self._parts(offset)
        if known:
            pointer = self.at(pointer, self._index(base, factor, 0))
            offset = constant(I64, known)
        instruction = f"getelementptr inbounds i8, {pointer}, {offset}"
        address = self._compute(POINTER, instruction, pointer, offset)
        if self._is_constant(pointer):
            self._constants.add(address.text)
        return address

    def beyond(self, pointer: Value, steps: Sequence[Value]) -> Value:
        """The address after all steps in bytes, what is known first added first."""
        for step in sorted(steps, key=self._scope_number):
            pointer = self.at(pointer, step)
        return pointer

    def _is_constant(self, pointer: Value) -> bool:
        """Whether what is at the address is never written."""
        text = pointer.text
        return text in self._constants or text.startswith(("%p", "@constant_"))

    def field(self, struct: str, pointer: Value, *indices: int) -> Value:
        """The address of a field of a named struct, or of a field in that."""
        path = ", ".join(f"i32 {index}" for index in indices)
        return self._emit(POINTER, f"getelementptr {struct}, {pointer}, i64 0, {path}")

    def entry_of_table(self, name: str, index: Value) -> Value:
        """A pointer of a global array of them."""
        at = self._emit(POINTER, f"getelementptr ptr, ptr @{name}, {index}")
        return self.load(POINTER, at, self.module.pointer_bits // 8)

    def load(self, type: Type, pointer: Value, alignment: int) -> Value:
        instruction = f"load {type}, {pointer}, align {alignment}"
        if self._is_constant(pointer):
            return self._compute(type, instruction, pointer)
        return self._kept_apart(self._emit(type, instruction), alignment)

    def load_first(
        self, type: Type, pointer: Value, count: int, alignment: int
    ) -> Value:
        """The first `count` lanes, the others 0; no more is read."""
        mask = ", ".join(f"i1 {int(lane < count)}" for lane in range(type.lanes))
        name = f"llvm.masked.load.{type.mangled}.p0"
        masks = Type("i1", type.lanes)
        self.module.declare(name, type, (POINTER, masks, type))
        return self._emit(
            type,
            f"call {type} @{name}(ptr align {alignment} {pointer.text}, "
            f"{masks} <{mask}>, {zero(type)})",
        )

    def store(self, value: Value, pointer: Value, alignment: int) -> None:
        self._lines.append(f"  store {value}, {pointer}, align {alignment}")

    def load_atomic(self, type: Type, pointer: Value, alignment: int) -> Value:
        """A word that other threads may write, in no order with other words."""
        return self._emit(
            type, f"load atomic {type}, {pointer} monotonic, align {alignment}"
        )

    def store_atomic(self, value: Value, pointer: Value, alignment: int) -> None:
        """Write a word that `load_atomic` reads."""
        self._lines.append(
            f"  store atomic {value}, {pointer} monotonic, align {alignment}"
        )
