"""The default float environment, in which a model's code runs whatever its caller set.

Rounding is to the nearest, ties to even; subnormal numbers are numbers; nothing traps.
Reading the register takes a nanosecond or two; it is written only where the caller has
another environment, and then once more at the end, to give it back.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation

from qlower.codegen.llvm.function import Function
from qlower.codegen.llvm.values import POINTER, VOID, Value, constant
from qlower.codegen.targets.float_control import FloatControl

_DIALECTS = ("arith", "math", "fixed")


def computes_floats(op: Operation) -> bool:
    """Whether something inside of the operation computes with floats, or its code may:
    that of divisions."""
    return any(
        isinstance(inner, arith.DivSIOp)
        or any(
            isinstance(value.type, AnyFloat)
            for value in (*inner.operands, *inner.results)
        )
        for inner in op.walk()
        if inner.dialect_name() in _DIALECTS
    )


def enter_default(f: Function, control: FloatControl) -> Callable[[], None]:
    """Set the default environment; what is returned gives the caller's back.

    What runs in between has to be functions that are not inlined: LLVM moves float
    operations, but no calls.
    """
    size = control.type.bits // 8
    if control.by_address:
        slot = f.allocate(size)
        f.module.declare(control.read, VOID, [POINTER])
        f.call_function(control.read, [slot])
        before = f.load(control.type, slot, size)
    else:
        before = f.call(control.read, control.type, [])
    kept = before
    if control.flags:
        kept = f.binary("and", before, constant(control.type, ~control.flags))
    default = constant(control.type, control.default)
    differs = f.compare("ne", kept, default)

    def write(value: Value) -> None:
        argument = value
        if control.by_address:
            argument = f.allocate(size)
            f.store(value, argument, size)
        f.module.declare(control.write, VOID, [argument.type])
        f.call_function(control.write, [argument])

    f.when(differs, lambda: write(default))
    return lambda: f.when(differs, lambda: write(before))
