"""Ports of a module matched with the values of a contract's function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qlower.circuits.functions import Argument
from qlower.circuits.rtl.design import Design, Port
from qlower.diagnostics import QlowerError

RESULT = "result"


@dataclass(frozen=True)
class Binding:
    """`inputs` are ports by the argument that they carry, or `selector`'s channel;
    `held` ports have one number; `output` has the result."""

    inputs: Mapping[str, str]
    held: Mapping[str, int]
    output: Port


def bind(
    design: Design,
    arguments: Sequence[Argument],
    selector: str,
    given: Mapping[str, str],
) -> Binding:
    """The binding of a module's ports: as `given`, a port's name to an argument's or a
    number; then by their own names; then what is left over, if that is one of each.

    Raises `QlowerError` for a port or name that isn't there, and for ports without
    anything to carry.
    """
    known = [one.name for one in arguments]
    names = [*known, selector, RESULT]
    inputs: dict[str, str] = {}
    held: dict[str, int] = {}
    outputs = [port for port in design.ports.values() if not port.is_input]
    output: Port | None = None
    for port, value in given.items():
        if port not in design.ports:
            raise QlowerError(
                f"module {design.top} has no port {port!r}",
                help=f"its ports are {', '.join(design.ports)}",
            )
        number = _number(value)
        if number is not None and design.ports[port].is_input:
            held[port] = number
        elif value == RESULT and not design.ports[port].is_input:
            output = design.ports[port]
        elif value in known or value == selector:
            inputs[port] = value
        else:
            raise QlowerError(
                f"port {port}: {value!r} is no value of this function",
                help=f"its values are {', '.join(names)}; or an integer",
            )
    for port in design.ports.values():
        is_free = port.name not in inputs and port.name not in held
        if port.is_input and is_free and port.name in (*known, selector):
            inputs[port.name] = port.name
    left = [
        port.name
        for port in design.ports.values()
        if port.is_input
        and port.name not in inputs
        and port.name not in held
        and port.name != design.clock
    ]
    runtime = [one.name for one in arguments if not one.parameter]
    missing = [name for name in runtime if name not in inputs.values()]
    if len(left) == 1 and len(missing) == 1:
        inputs[left.pop()] = missing.pop()
    if left or missing:
        raise QlowerError(
            f"module {design.top}: nothing is known of "
            + (f"port {', '.join(left)}" if left else "a port for")
            + (f" and of {', '.join(missing)}" if left and missing else "")
            + ("" if left else f" {', '.join(missing)}"),
            help="say --port PORT=VALUE, or of a contract's rule --value NAME=NUMBER; "
            f"values are {', '.join(names)}",
        )
    if output is None and len(outputs) != 1:
        raise QlowerError(
            f"module {design.top} has {len(outputs)} outputs",
            help=f"say which is the result: --port PORT={RESULT}",
        )
    return Binding(inputs, held, output or outputs[0])


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None
