"""A module of LLVM IR as text, and its units, which may be compiled by themselves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, TypeAlias

from qlower.codegen.llvm.values import I32, POINTER, Type, Value, constant, symbol

if TYPE_CHECKING:
    from qlower.codegen.llvm.function import Function

_COPIED_BYTES = 32
"""Bytes of the largest constant that each unit has for itself: a pattern, or what a
layer has for few channels. LLVM puts such into sections of their own, where data that
is exchanged isn't looked for."""

_DATA_BYTES = 1 << 19
"""Bytes of constants that are compiled together: to begin takes as long as 100 kB."""

_NAMELESS = "@("
"""The start of a nameless function's text, up to its arguments."""

_PRIVATE, _EXPORTED, _IMPORTED = "private unnamed_addr", "unnamed_addr", "external"
_SHARED = "linkonce_odr hidden unnamed_addr"
"""Whose a constant is, in LLVM's words."""


def escape_bytes(data: bytes) -> str:
    """`data` as the inside of an LLVM string constant, in ASCII."""
    return "\\" + data.hex("\\").upper() if data else ""


def _characters(data: bytes) -> str:
    """`data` as the inside of an LLVM string constant, mostly a character a byte: what
    ends the constant or the text is escaped, and what escapes."""
    text = data.decode("latin-1").replace("\\", r"\5C")
    return text.replace('"', r"\22").replace("\0", r"\00")


def data_name(position: int) -> str:
    """The name of what is passed to units, by its position."""
    return f"data_{position}"


def _content_name(data: bytes) -> str:
    """The name of a constant that depends on its bytes alone."""
    return f"constant_{sha256(data).hexdigest()[:32]}"


def data_groups(sizes: Sequence[int]) -> list[list[int]]:
    """Groups of constants of these sizes that are compiled together, by their
    positions."""
    begins = accumulate(sizes, initial=0)
    numbered = zip(begins, range(len(sizes)), strict=False)
    return [
        [position for _, position in group]
        for _, group in groupby(numbered, lambda entry: entry[0] // _DATA_BYTES)
    ]


@dataclass(frozen=True, eq=False)
class Packing:
    """The making of data from the bytes of the entry's argument with this number."""

    argument: int
    make: Callable[[bytes], Sequence[bytes]]


@dataclass(frozen=True)
class PackedData:
    """One run of bytes that a packing makes, `position`-th of all that it makes: the
    caller gives their address after those of the arguments."""

    packing: Packing
    position: int
    size: int

    def __len__(self) -> int:
        return self.size


Content: TypeAlias = bytes | int | PackedData
"""The parameter of a unit."""


@dataclass
class Module:
    """Globals, functions and declarations; `str` gives the IR.

    `functions` has what was built, by name; `texts` are other definitions.

    `attributes` are those of all functions, quoted as LLVM wants them. Without
    `has_library` memory is copied and filled by the code itself. `alignment`, in bytes,
    is that of constants and of memory on the stack. Where it `takes_floats_apart`,
    functions compute lanes of floats one by one; where it `hides_loads`, they keep LLVM
    from joining loads of 64 bits with what extends their lanes.

    A `level` has functions of other attributes, whose number is `group`. Where there is
    a list of `units`, those may be compiled by themselves, unless they are `joined`. A
    unit with `parameters` has one function, to which they are passed: large constants
    and numbers; `digest` is that of its text but for its name.

    Where `section` is a name, large constants lie in sections of that name, where the
    linker keeps one of those that are equal in several objects.
    """

    triple: str
    attributes: str
    has_library: bool = True
    pointer_bits: int = 64
    alignment: int = 64
    takes_floats_apart: bool = False
    hides_loads: bool = False
    units: list[Module] | None = None
    joined: bool = False
    globals: list[str] = field(default_factory=list[str])
    functions: dict[str, str] = field(default_factory=dict[str, str])
    texts: list[str] = field(default_factory=list[str])
    declarations: dict[str, str] = field(default_factory=dict[str, str])
    group: int = 0
    parameters: dict[Content, Value] | None = None
    digest: str = ""
    section: str = ""
    _constants: dict[bytes, str] = field(default_factory=dict[bytes, str])
    _passed: dict[bytes, str] = field(default_factory=dict[bytes, str])
    _groups: list[str] = field(default_factory=list[str])
    _shared: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.group = len(self._groups)
        self._groups.append(f"attributes #{self.group} = {{ {self.attributes} }}")

    def level(self, attributes: str) -> Module:
        """A module for functions with other attributes, which shares this one's data
        and has equal functions once; see `add_level`."""
        return replace(
            self,
            attributes=attributes,
            units=list[Module](),
            joined=True,
            functions=dict[str, str](),
            declarations=dict[str, str](),
            _shared=dict[str, str](),
        )

    def add_level(self, level: Module) -> None:
        """Take the functions of one, and of its units."""
        for module in level.modules:
            self.functions |= module.functions
            self.declarations |= module.declarations
        for unit in level.units or ():
            self.globals += unit.globals
            self.texts += unit.texts
            self._constants |= unit._constants

    def unit(self, *, has_parameters: bool = False) -> Module:
        """For functions that may be compiled by themselves, or with parameters be there
        once; this module where all code is compiled together."""
        if self.units is None:
            return self
        unit = Module(
            self.triple,
            self.attributes,
            self.has_library,
            self.pointer_bits,
            self.alignment,
            takes_floats_apart=self.takes_floats_apart,
            hides_loads=self.hides_loads,
            joined=self.joined,
            parameters={} if has_parameters else None,
        )
        unit.group = self.group
        self.units.append(unit)
        return unit

    def saved(self) -> bytes:
        """The digest of a unit with parameters, and those, for `restore`."""
        passed = [*(self.parameters or ())]
        assert not any(isinstance(one, PackedData) for one in passed)
        numbers = [one if isinstance(one, int) else None for one in passed]
        data = [one for one in passed if isinstance(one, bytes)]
        head = [self.digest, numbers, [len(one) for one in data]]
        return b"".join((json.dumps(head).encode(), b"\n", *data))

    def restore(self, saved: bytes) -> None:
        """Have the digest and the parameters of a unit that was saved."""
        head, _, joined = saved.partition(b"\n")
        self.digest, numbers, sizes = json.loads(head)
        ends = accumulate(sizes)
        data = (joined[e - n : e] for e, n in zip(ends, sizes, strict=True))
        assert self.parameters is not None
        self.parameters.clear()
        for number in numbers:
            if number is None:
                self._parameter(POINTER, next(data))
            else:
                self._parameter(I32, number)

    def saved_code(self) -> bytes:
        """The code of a unit with parameters, which follows from its digest, for
        `restore_code`."""
        (name, text), *_ = self.functions.items()
        text = text.replace(f"@{name}(", _NAMELESS, 1)
        names, data = [*self._constants.values()], [*self._constants]
        others = self.globals, self.texts, self.declarations
        head = [text, others, names, [len(one) for one in data]]
        return b"".join((json.dumps(head).encode(), b"\n", *data))

    def restore_code(self, saved: bytes, name: str) -> None:
        """Have the code of a unit that was saved, under a name."""
        head, _, joined = saved.partition(b"\n")
        text, others, names, sizes = json.loads(head)
        self.globals, self.texts, self.declarations = others
        self.functions = {name: text.replace(_NAMELESS, f"@{name}(", 1)}
        ends = accumulate(sizes)
        data = (joined[e - n : e] for e, n in zip(ends, sizes, strict=True))
        self._constants = dict(zip(data, names, strict=True))

    def has_equal(self, unit: Module) -> bool:
        """Whether `shared_name` gave the name of a function like the unit's."""
        return unit.digest in self._shared

    def shared_name(self, unit: Module, name: str) -> str:
        """The name by which to call the function of the last unit: that of an equal one
        if there is one, and then the unit goes."""
        shared = self._shared.setdefault(unit.digest, name)
        if shared != name and self.units:
            self.units.pop()
        return shared

    def add_constant(self, data: bytes) -> Value:
        """The address of read-only bytes; equal ones are shared.

        Their name is their hash, so that the text of a unit depends on nothing else.
        """
        if self.parameters is not None and len(data) > _COPIED_BYTES:
            return self._parameter(POINTER, data)
        return symbol(self._constants.setdefault(data, _content_name(data)))

    def repeated_byte(self, address: Value) -> int | None:
        """The byte that a constant consists of; None for all other addresses."""
        for data, name in self._constants.items():
            if symbol(name) == address and data.count(data[:1]) == len(data):
                return data[0]
        return None

    def pass_constant(self, data: bytes) -> Value:
        """The address of read-only bytes that a unit has as a parameter.

        They are numbered: the caller's text doesn't depend on their contents.
        """
        new = _content_name(data) if self.section else data_name(len(self._passed))
        return symbol(self._passed.setdefault(data, new))

    def add_packed(self, data: PackedData) -> Value:
        """The address of data that is packed for each call."""
        return self._parameter(POINTER, data)

    def add_number(self, value: int) -> Value:
        """An i32 in which kernels that share a function may differ."""
        if self.parameters is None:
            return constant(I32, value)
        return self._parameter(I32, value)

    def _parameter(self, type: Type, content: Content) -> Value:
        assert self.parameters is not None
        new = Value(type, f"%p{len(self.parameters)}")
        return self.parameters.setdefault(content, new)

    def declare(self, name: str, result: Type, arguments: Iterable[Type]) -> None:
        types = ", ".join(map(str, arguments))
        self.declarations[name] = f"declare {result} @{name}({types})"

    def add_function(self, function: Function) -> None:
        self.functions[function.name] = str(function)
        if self.parameters is not None:
            self.digest = sha256(function.text("").encode()).hexdigest()

    @property
    def modules(self) -> tuple[Module, ...]:
        """The units, and this."""
        return (*(self.units or ()), self)

    @property
    def all_functions(self) -> dict[str, str]:
        """The functions by name, those of units too."""
        return {
            name: text
            for module in self.modules
            for name, text in module.functions.items()
        }

    def __str__(self) -> str:
        """All of it, the units too, for people."""
        return self._whole_text(escape_bytes)

    def dense_text(self) -> str:
        """All of it for LLVM, as `parse` reads it, in a third of the characters."""
        return self._whole_text(_characters)

    def _whole_text(self, written: Callable[[bytes], str]) -> str:
        constants = {
            name: data
            for module in self.modules
            for found in (module._constants, module._passed)
            for data, name in found.items()
        }
        return self._text(self.modules, self._definitions(constants, _PRIVATE, written))

    def separate_texts(self) -> Iterator[str]:
        """The texts of the units, and of what is left, as `parse` reads them.

        What is large and used in several is in memory once, as data of what is left.
        """
        uses = Counter(data for module in self.modules for data in module._constants)
        shared = {d for d, n in uses.items() if n > 1 and len(d) > _COPIED_BYTES}
        names = {d: n for m in self.modules for d, n in m._constants.items()}
        passed = {name: data for data, name in self._passed.items()}
        for module in self.modules:
            own = {n: d for d, n in module._constants.items() if d not in shared}
            other = {n: d for d, n in module._constants.items() if d in shared}
            lines = self._definitions(own, _PRIVATE)
            if module is self:
                other = {names[data]: data for data in uses if data in shared}
                lines += self._definitions(other, _EXPORTED)
                lines += self._definitions(passed, _IMPORTED)
            else:
                lines += self._definitions(other, _IMPORTED)
            yield self._text([module], lines)

    def data_texts(self) -> Iterator[str]:
        """The texts of what is passed to units, in groups, as `parse` reads them."""
        passed = {name: data for data, name in self._passed.items()}
        names = [*passed]
        for group in data_groups([*map(len, passed.values())]):
            yield self.data_text({names[n]: passed[names[n]] for n in group})

    def data_text(self, data: Mapping[str, bytes]) -> str:
        """The text of what is passed to units, by name, as `parse` reads it."""
        return self._text([], self._definitions(data, _EXPORTED))

    @property
    def passed(self) -> Mapping[bytes, str]:
        """The values passed to units, with their names, in order."""
        return self._passed

    @property
    def has_constants(self) -> bool:
        """Whether code of this module itself has read-only bytes."""
        return bool(self._constants)

    def _text(self, modules: Sequence[Module], constants: Sequence[str]) -> str:
        """The definitions of modules, with those of constants."""
        functions = {k: v for m in modules for k, v in m.functions.items()}
        declarations = {k: v for m in modules for k, v in m.declarations.items()}
        return "\n".join(
            (
                f'target triple = "{self.triple}"',
                *constants,
                *(text for module in modules for text in module.globals),
                *(v for k, v in declarations.items() if k not in functions),
                *(text for module in modules for text in module.texts),
                *functions.values(),
                *self._groups,
                "",
            )
        )

    def _definitions(
        self,
        constants: Mapping[str, bytes],
        linkage: str,
        written: Callable[[bytes], str] = _characters,
    ) -> list[str]:
        """Constants by name, their bytes as `written`."""
        lines: list[str] = []
        for name, data in constants.items():
            whose, place = linkage, ""
            if self.section and len(data) > _COPIED_BYTES:
                lines.append(f"${name} = comdat any")
                whose, place = _SHARED, f', section "{self.section}", comdat'
            lines.append(
                f"@{name} = {whose} constant [{len(data)} x i8]"
                + ("" if linkage == _IMPORTED else f' c"{written(data)}"')
                + f"{place}, align {self.alignment}"
            )
        return lines
