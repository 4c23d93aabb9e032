"""TFLite and ONNX files with any field of any table or message changed, those that no
reader of ours is written for, too."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from ..formats.tflite_objects import pack, unpack

INTEGERS = (
    *(0, 1, -1, 2, 3, 4, 5, 7, 8, 16, 127, 128, 255, 65535, 1 << 20, 1 << 27),
    *((1 << 31) - 1, 1 << 31, -(1 << 31), (1 << 32) - 1, 1 << 40, (1 << 63) - 1),
)
REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e38, float("nan"), float("inf"))
STRINGS = ("", "x", "y", "Conv", "\n", "../x", "\u202e", "9" * 300)

Change = Callable[[random.Random], object]


def tflite_mutant(data: bytes, choice: random.Random) -> bytes:
    """The file with one to three changes of its tables; ValueError, OverflowError,
    TypeError or struct's error where a field can't hold what it is given."""
    model = unpack(data)
    for _ in range(choice.choice((1, 1, 2, 3))):
        _act(list(_of_table(model)), choice)
    return pack(model)


def onnx_mutant(data: bytes, choice: random.Random) -> bytes:
    """The file with one to three changes of its messages."""
    onnx: Any = import_module("onnx")
    model = onnx.ModelProto.FromString(data)
    for _ in range(choice.choice((1, 1, 2, 3))):
        _act(list(_of_message(model)), choice)
    return model.SerializeToString()


def _act(changes: list[tuple[str, Change]], choice: random.Random) -> None:
    """One change; all kinds of fields are as likely, however often there are some."""
    kind = choice.choice(sorted({kind for kind, _ in changes}))
    choice.choice([change for own, change in changes if own == kind])(choice)


def _of_table(table: Any) -> Iterator[tuple[str, Change]]:
    for name, value in vars(table).items():
        kind = f"{type(table).__name__}.{name}"
        yield kind, lambda choice, t=table, n=name: _set(t, n, choice)
        items = value if isinstance(value, list) else [value]
        for item in items:
            if hasattr(item, "InitFromObj"):
                yield from _of_table(item)


def _set(table: Any, name: str, choice: random.Random) -> None:
    value = getattr(table, name)
    new: object
    if choice.random() < 0.1:
        new = None
    elif value is None:
        new = choice.choice((1, [1], [], b"x"))
    elif hasattr(value, "InitFromObj"):
        new = None if choice.random() < 0.5 else type(value)()
    elif isinstance(value, str | bytes):
        new = choice.choice(STRINGS).encode()
    elif isinstance(value, float):
        new = choice.choice(REALS)
    elif isinstance(value, int):
        new = choice.choice((*INTEGERS[:12], value + 1, value - 1, 1 - value))
    else:
        new = _other_list([*value], choice)
    setattr(table, name, new)


def _other_list(held: list[Any], choice: random.Random) -> list[Any]:
    """Items dropped, repeated, exchanged, or one replaced."""
    turn = choice.randrange(6)
    if not held or turn == 0:
        return []
    at, other = choice.randrange(len(held)), choice.randrange(len(held))
    if turn == 1:
        return held[:at] + held[at + 1 :]
    if turn == 2:
        return [*held, held[at]]
    if turn == 3 or hasattr(held[at], "InitFromObj"):
        held[at], held[other] = held[other], held[at]
        return held
    if turn == 4 and len(held) < 64:
        return held * 40
    numbers = REALS if isinstance(held[at], float) else INTEGERS
    held[at] = choice.choice(numbers) if not isinstance(held[at], bytes) else b"x"
    return held


def _of_message(message: Any) -> Iterator[tuple[str, Change]]:
    for field in message.DESCRIPTOR.fields:
        is_many = field.is_repeated
        is_there = bool(getattr(message, field.name)) if is_many else None
        if is_there is None:
            is_there = message.HasField(field.name)
        if not is_there and field.message_type is not None:
            continue  # what is empty is seldom said
        kind = f"{message.DESCRIPTOR.name}.{field.name} {is_there}"
        yield kind, lambda choice, m=message, f=field: _change_field(m, f, choice)
        if field.message_type is not None:
            held = getattr(message, field.name)
            for item in held if is_many else [held]:
                yield from _of_message(item)


def _change_field(message: Any, field: Any, choice: random.Random) -> None:
    held = getattr(message, field.name)
    if choice.random() < 0.1:
        message.ClearField(field.name)
    elif not field.is_repeated:
        if field.message_type is not None:
            held.Clear()
        else:
            setattr(message, field.name, _value(field, choice))
    else:
        turn, count = choice.randrange(4), len(held)
        if field.message_type is not None:
            item = held[choice.randrange(count)]
            if turn == 0:
                held.remove(item)
            elif turn == 1:
                held.add().CopyFrom(item)
            else:
                item.CopyFrom(held[choice.randrange(count)])
        elif turn == 0 or not count:
            held.append(_value(field, choice))
        elif turn == 1:
            del held[choice.randrange(count)]
        elif turn == 2 and count < 64:
            held.extend([*held] * 40)
        else:
            held[choice.randrange(count)] = _value(field, choice)


def _value(field: Any, choice: random.Random) -> object:
    """Something that a field holds; ValueError if that is too large for it."""
    if field.cpp_type == field.CPPTYPE_STRING:
        text = choice.choice(STRINGS)
        return text.encode() if field.type == field.TYPE_BYTES else text
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return choice.choice(REALS)
    return choice.choice(INTEGERS)
