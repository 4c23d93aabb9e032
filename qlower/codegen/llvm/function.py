"""A function of LLVM IR as text.

`Function` is a small typed builder: every value is a scalar or a vector of `lanes`
scalars, loops are structured (`Function.loop`), addresses are bytes after a pointer.
Writing text costs microseconds an instruction; LLVM parses and verifies it. What needs
no more than is known before a loop is computed there, and once: that takes a part of
the time that LLVM's passes would.

Instructions that compute a value are in `computing.py`, those that read and write
memory in `memory.py`; here are calls, blocks of bytes and control.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence

from qlower.codegen.llvm.memory import Memory
from qlower.codegen.llvm.module import Module, PackedData
from qlower.codegen.llvm.pieces import Piece, is_local
from qlower.codegen.llvm.routine import Routine
from qlower.codegen.llvm.values import (
    FLOAT,
    I64,
    VOID,
    Type,
    Value,
    argument,
    constant,
    joined,
)

_INLINE_BYTES = 64
"""Bytes of the largest block that is copied or filled by loads and stores in place of
a call."""


class Function(Memory):
    """Builds one function, block after block."""

    def __init__(
        self,
        module: Module,
        name: str,
        arguments: Sequence[Type],
        argument_attributes: Sequence[str],
        *,
        result: Type | None = None,
        internal: bool = True,
        separate: bool = False,
    ):
        """`internal` is called in its module only, `separate` from other units."""
        super().__init__(module)
        self.name = name
        self.arguments = [argument(type, i) for i, type in enumerate(arguments)]
        self._arguments = [
            f"{value.type} {attributes} {value.text}"
            for value, attributes in zip(
                self.arguments, argument_attributes, strict=True
            )
        ]
        linkage = "internal " if internal and not separate else ""
        self._type = f"{linkage}{result or 'void'}"
        self._attributes = f"{'noinline ' if internal else ''}nounwind #{module.group}"
        self._pieces: dict[Hashable, Piece] = {}
        self._block = "entry"

    def __str__(self) -> str:
        return self.text(self.name)

    def text(self, name: str) -> str:
        """The function's definition, under a name."""
        arguments = [*self._arguments]
        for content, value in (self.module.parameters or {}).items():
            is_number = isinstance(content, int)
            attributes = "" if is_number else self._attributes_of_constant(content)
            arguments.append(f"{value.type} {attributes}{value.text}")
        head = f"define {self._type} @{name}({', '.join(arguments)}) {self._attributes}"
        return "\n".join(
            (f"{head} {{", "entry:", *self._first_lines, *self._lines, "}")
        )

    def _attributes_of_constant(self, data: bytes | PackedData) -> str:
        return (
            f"noalias nonnull readonly align {self.module.alignment} "
            f"dereferenceable({len(data)}) "
        )

    def number(self, value: int) -> Value:
        """An i32 in which kernels that share this function may differ."""
        number = self.module.add_number(value)
        if number.constant is None:
            self._splats.setdefault(number, {1: number})
        return number

    def float_number(self, value: float) -> Value:
        """A float in which kernels that share this function may differ: they are given
        its bits."""
        single = constant(FLOAT, value)
        (bits,) = struct.unpack("<i", struct.pack("<f", value))
        number = self.module.add_number(bits)
        if number.constant is not None:
            return single
        result = Value(FLOAT, f"{number.text}.float")
        if result not in self._splats:
            self._first_lines.append(f"  {result.text} = bitcast {number} to {FLOAT}")
            self._splats[result] = {1: result}
        return result

    def again(
        self,
        what: Hashable,
        arguments: Sequence[Value],
        write: Callable[[], list[Value]],
    ) -> list[Value]:
        """The results of `write`, which writes straight code for `what`.

        That code is the same for all arguments of equal types and constants: where it
        was written before, it is copied with other names.
        """
        given = [argument.text for argument in arguments]
        places = [given.index(text) if is_local(text) else text for text in given]
        key = what, tuple(argument.type for argument in arguments), tuple(places)
        piece = self._pieces.get(key)
        if piece is not None:
            text, results = piece.copy(given, self._names + 1)
            self._lines.append(text)
            self._names += piece.names
            self._add_here(results)
            return results
        begin, names, block = len(self._lines), self._names, self._block
        at_first = len(self._first_lines)
        outer, self._is_straight = self._is_straight, True
        results = write()
        self._is_straight = outer
        lines = self._lines[begin:]
        if lines and (block, at_first) == (self._block, len(self._first_lines)):
            own = range(names + 1, self._names + 1)
            piece = Piece.of("\n".join(lines), results, given, own)
            if piece is not None:
                self._pieces[key] = piece
        return results

    # ----------------------------------------------------------------- calls

    def call(self, name: str, result: Type, arguments: Sequence[Value]) -> Value:
        """A call of an intrinsic by its full name."""
        if name not in self.module.declarations:
            self.module.declare(name, result, (a.type for a in arguments))
        return self._emit(result, f"call {result} @{name}({joined(arguments)})")

    def intrinsic(self, name: str, *arguments: Value) -> Value:
        """`llvm.<name>`, overloaded on the type of its first argument and result."""
        type = arguments[0].type
        if self._is_apart(type):
            return self._lane_by_lane(lambda *x: self.intrinsic(name, *x), *arguments)
        return self.call(f"llvm.{name}.{type.mangled}", type, arguments)

    def call_pointer(self, function: Value, arguments: Sequence[Value]) -> None:
        """A call of the function at an address."""
        self._lines.append(f"  call void {function.text}({joined(arguments)})")

    def call_function(
        self, name: str, arguments: Sequence[Value], result: Type = VOID
    ) -> None:
        """A call whose result, if there is one, doesn't matter."""
        self._lines.append(f"  call {result} @{name}({joined(arguments)})")

    def call_routine(self, routine: Routine, arguments: Sequence[Value]) -> None:
        """A call of machine code, which is the prologue of a function without a body:
        LLVM neither looks into it nor adds to it."""
        # four arguments are in registers, the others at the beginning of its frame
        spare = -(-(routine.stack_bytes - 4 * (len(arguments) - 4)) // 8)
        given = [*arguments, *[Value(I64, "undef")] * spare]
        types = ", ".join(str(value.type) for value in given)
        code = ", ".join(f"i16 {number}" for number in routine.code)
        units = ", ".join(["i16"] * len(routine.code))
        name = routine.name
        self.module.declarations[name] = (
            f"define internal void @{name}({types}) naked noinline optnone nounwind "
            f"#{self.module.group} prologue <{{ {units} }}> <{{ {code} }}> "
            "{\n  unreachable\n}"
        )
        self.call_function(name, given)

    # ------------------------------------------------------- blocks of bytes

    def skip(self, pointer: Value, count: int) -> Value:
        """The address `count` bytes after `pointer`, in which kernels that share this
        function may differ."""
        number = self.number(count)
        if number.constant is not None:
            return self.at(pointer, constant(I64, count))
        return self.at(pointer, self.cast("zext", number, "i64"))

    def copy_bytes(self, target: Value, source: Value, size: int) -> None:
        """Copy memory. Without a library nothing is called."""
        if not self.module.has_library:
            # LLVM makes a fill of such a copy, which may be a call
            byte = self.module.repeated_byte(source)
            if byte is not None:
                return self.fill_bytes(target, byte, size)

        def copy(offset: Value, size: int) -> None:
            self._memory(
                "memcpy",
                f"{self.at(target, offset)}, {self.at(source, offset)}, i64 {size}",
                "ptr, ptr, i64, i1",
            )

        self._in_blocks(copy, size)

    def fill_bytes(self, target: Value, byte: int, size: int) -> None:
        if self.module.has_library:
            arguments = f"{target}, i8 {byte}, i64 {size}"
            return self._memory("memset", arguments, "ptr, i8, i64, i1")

        def fill(offset: Value, size: int) -> None:
            # by stores: LLVM joins inline fills to one that may be a call
            while size:
                width = min(8, 1 << size.bit_length() - 1)
                word = int.from_bytes(bytes([byte]) * width)
                stored = constant(Type(f"i{8 * width}"), word)
                self.store(stored, self.at(target, offset), 1)
                offset = self.add(offset, constant(I64, width))
                size -= width

        return self._in_blocks(fill, size)

    def _in_blocks(self, code: Callable[[Value, int], None], size: int) -> None:
        """`code` for all bytes in one step, or for blocks that are copied inline."""
        if self.module.has_library:
            return code(constant(I64, 0), size)

        def block(index: Value, carried: list[Value]) -> list[Value]:
            code(self.scale(index, _INLINE_BYTES), _INLINE_BYTES)
            return carried

        self.loop(size // _INLINE_BYTES, [], block)
        if rest := size % _INLINE_BYTES:
            code(constant(I64, size - rest), rest)

    def _memory(self, kind: str, arguments: str, types: str) -> None:
        pointers = "p0" if kind == "memset" else "p0.p0"
        inline = "" if self.module.has_library else ".inline"
        name = f"llvm.{kind}{inline}.{pointers}.i64"
        self.module.declarations[name] = f"declare void @{name}({types})"
        self._lines.append(f"  call void @{name}({arguments}, i1 false)")

    # --------------------------------------------------------------- control

    def loop(
        self,
        count: int,
        carried: Sequence[Value],
        body: Callable[[Value, list[Value]], Sequence[Value]],
    ) -> list[Value]:
        """Run `body(index, carried) -> carried` for index 0 ... count - 1.

        Gives the carried values after the last run. One run needs no loop.
        """
        if count == 0:
            return list(carried)
        if count == 1:
            return list(body(constant(I64, 0), list(carried)))
        self._names += 1
        label, before = f"loop{self._names}", self._block
        place, scope = len(self._lines), self._enter_loop()
        self._begin(label)
        # a machine counts by as many bits as it has
        counter = Value(Type(f"i{self.module.pointer_bits}"), self._name())
        inside = [Value(value.type, self._name()) for value in carried]
        self._add_here([counter, *inside])
        hole = len(self._lines)
        self._lines += [""] * (1 + len(inside))
        index = self.cast("zext nneg", counter, "i64")
        self._last[index.text] = count - 1
        after = list(body(index, inside))
        following = self.binary("add nuw nsw", counter, constant(counter.type, 1))
        for position, (phi, first, later) in enumerate(
            (
                (counter, constant(counter.type, 0), following),
                *zip(inside, carried, after, strict=True),
            )
        ):
            self._lines[hole + position] = (
                f"  {phi.text} = phi {phi.type} [ {first.text}, %{before} ], "
                f"[ {later.text}, %{self._block} ]"
            )
        was_last = self.compare("eq", following, constant(counter.type, count))
        self._begin(f"{label}.end", f"{was_last}, label %{label}.end, label %{label}")
        self._leave()
        self._lines[place] = "\n".join((*scope.before, self._lines[place]))
        self._add_here(after)
        return after

    def when(self, condition: Value, code: Callable[[], None]) -> None:
        """Run `code` if the condition holds."""
        self._names += 1
        label = f"when{self._names}"
        self._begin(label, f"{condition}, label %{label}, label %{label}.end")
        outermost = self._enter_branch()
        code()
        self._leave(outermost)
        self._begin(f"{label}.end")

    def repeat(self, goes_on: Callable[[], Value], code: Callable[[], None]) -> None:
        """Run `code` again and again while the condition before it holds."""
        self._names += 1
        label = f"while{self._names}"
        outermost = self._enter_branch()
        self._begin(label)
        body, end = f"{label}.body", f"{label}.end"
        condition = goes_on()
        self._begin(body, f"{condition}, label %{body}, label %{end}")
        code()
        self._leave(outermost)
        self._begin(end, f"label %{label}")

    def _begin(self, block: str, way: str = "") -> None:
        """End a block and begin another, to which it branches if no `way` is given."""
        self._lines += [f"  br {way or f'label %{block}'}", f"{block}:"]
        self._block = block

    def finish(self, value: Value | None = None) -> None:
        self._lines.append("  ret void" if value is None else f"  ret {value}")
        self.module.add_function(self)
