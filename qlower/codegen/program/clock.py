"""Reading the clock in compiled code: `clock_gettime`, nanoseconds."""

from __future__ import annotations

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import I32, I64, POINTER, Value, constant

_MONOTONIC = 1
_NANOSECONDS = 1_000_000_000


class Clock:
    """Stores the time between marks; a mark costs some 20 ns itself."""

    def __init__(self, f: Function, times: Value) -> None:
        """`times` points to an i64 for each mark; the first interval starts here."""
        self._f = f
        self._times = times
        self._now = f.allocate(16)
        self._marks = 0
        self._last = self._read()

    def mark(self) -> None:
        """The time since the mark before."""
        f = self._f
        now = self._read()
        at = f.at(self._times, constant(I64, 8 * self._marks))
        f.store(f.binary("sub", now, self._last), at, 8)
        self._last = now
        self._marks += 1

    def _read(self) -> Value:
        f = self._f
        f.module.declare("clock_gettime", I32, (I32, POINTER))
        f.call("clock_gettime", I32, (constant(I32, _MONOTONIC), self._now))
        seconds = f.load(I64, self._now, 8)
        rest = f.load(I64, f.at(self._now, constant(I64, 8)), 8)
        whole = f.binary("mul", seconds, constant(I64, _NANOSECONDS))
        return f.binary("add", whole, rest)
