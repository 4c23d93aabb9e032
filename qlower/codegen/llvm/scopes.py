"""The lines of a function's text: where a value is computed, and which are known.

LLVM's passes would move out of a loop what doesn't depend on it, and merge what is
computed twice; to write it so takes a part of their time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from qlower.codegen.llvm.pieces import is_local
from qlower.codegen.llvm.values import Type, Value


@dataclass(frozen=True, slots=True)
class Scope:
    """The function, a loop's body or a branch: `known` are values by the instruction
    that computes them, `before` what is computed before a loop."""

    known: dict[str, Value] = field(default_factory=dict[str, Value])
    before: list[str] = field(default_factory=list[str])


class ScopedText:
    """The lines that are written, and the open scopes; the function is number 0. Names
    are counted."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._names = 0
        self._scopes = [Scope()]
        self._outermost = 0
        """The scope beyond which nothing is moved: that of the innermost branch."""
        self._scope_of: dict[str, int] = {}
        """The number of the scope of what isn't in the function's own."""
        self._is_straight = False
        """Whether what is written may be copied, as it stands."""

    def _name(self) -> str:
        self._names += 1
        return f"%v{self._names}"

    def _emit(self, type: Type, instruction: str) -> Value:
        """Emit an instruction that may differ each time, or must not be moved."""
        self._names += 1
        name = f"%v{self._names}"
        self._lines.append(f"  {name} = {instruction}")
        self._scope_of[name] = len(self._scopes) - 1
        return Value(type, name)

    def _compute(self, type: Type, instruction: str, *operands: Value) -> Value:
        """Emit an instruction that depends on its operands alone: in the outermost loop
        that has all of them, and once in it."""
        if self._is_straight:
            return self._emit(type, instruction)
        scopes, scope_of = self._scopes, self._scope_of
        number, innermost = self._outermost, len(scopes) - 1
        for operand in operands:
            inside = scope_of.get(operand.text, 0)
            if inside > number:
                number = inside
        if number > innermost:  # an operand's loop has ended
            number = innermost
        known = scopes[number].known
        value = known.get(instruction)
        if value is None:
            self._names += 1
            name = f"%v{self._names}"
            lines = self._lines if number == innermost else scopes[number + 1].before
            lines.append(f"  {name} = {instruction}")
            scope_of[name] = number
            value = known[instruction] = Value(type, name)
        return value

    def _scope_number(self, value: Value) -> int:
        return self._scope_of.get(value.text, 0)

    def _add_here(self, values: Sequence[Value]) -> None:
        """Let what uses the values be computed in the innermost scope."""
        number = len(self._scopes) - 1
        for value in values:
            if is_local(value.text):
                self._scope_of[value.text] = number

    def _enter_loop(self) -> Scope:
        """The body of a loop that runs once at least."""
        self._scopes.append(Scope())
        return self._scopes[-1]

    def _enter_branch(self) -> int:
        """Code that may not run; gives what to leave it with."""
        outermost, self._outermost = self._outermost, len(self._scopes)
        self._scopes.append(Scope())
        return outermost

    def _leave(self, outermost: int | None = None) -> None:
        """Leave a loop, or a branch."""
        self._scopes.pop()
        if outermost is not None:
            self._outermost = outermost
