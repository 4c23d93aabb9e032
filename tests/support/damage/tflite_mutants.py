"""TFLite files with one to four fields of their tables changed, drawn by number.

Unlike flipped bytes, which mostly damage offsets, these are well-formed FlatBuffers
that say something else: other operators, tensors, shapes, types, buffers, scales,
options.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..formats.tflite_cases import CASES
from ..formats.tflite_objects import litert_schema, pack, unpack

SMALL_INTEGERS = (-129, -2, -1, 0, 1, 2, 3, 4, 5, 7, 127, 128, 255, 256)
LARGE_INTEGERS = (1 << 15, 1 << 16, 1 << 20, 1 << 30, (1 << 31) - 1, -(1 << 31))
SCALES = (0.0, -0.5, 1e-45, 1e-30, 1e-9, 1 / 256, 0.5, 1.0, 3e4, 1e30, 3e38)
NOT_FINITE = (float("nan"), float("inf"), float("-inf"))
NAMES = (b"", b"y", b"x", b"a;b/c", b"*/ ${x}", b"\xff\xfe", b"n" * 10_000, b"\0")

Change = Callable[[Any, random.Random], None]  # the first is a `ModelT`


def mutant(number: int) -> bytes:
    """File `number`: a changed case, the same for the same number."""
    choice = random.Random(f"mutant {number}")
    data = CASES[choice.choice(sorted(CASES))]()
    while True:
        model = unpack(data)
        try:
            for _ in range(choice.choice((1, 1, 1, 2, 3, 4))):
                choice.choice(CHANGES)(model, choice)
            return pack(model)
        except (TypeError, AttributeError, ValueError, OverflowError, IndexError):
            continue  # nothing left to change, or a number beyond its field


def integer(choice: random.Random) -> int:
    return choice.choice(
        choice.choice((SMALL_INTEGERS, SMALL_INTEGERS, LARGE_INTEGERS))
    )


def graph_of(model: Any) -> Any:
    return model.subgraphs[0]


def any_tensor(model: Any, choice: random.Random) -> Any:
    return choice.choice(graph_of(model).tensors)


def any_operator(model: Any, choice: random.Random) -> Any:
    return choice.choice(graph_of(model).operators)


def listed(values: Any) -> list[Any]:
    """A vector of the file as a list; none is empty."""
    return [] if values is None else list(values)


def change_list(values: Any, choice: random.Random, new: int) -> list[Any]:
    """With an element replaced, added, dropped, doubled, or two exchanged."""
    changed = listed(values)
    place = choice.randrange(len(changed) + 1)
    match choice.randrange(5):
        case 0:
            changed.insert(place, new)
        case 1 if changed:
            del changed[place % len(changed)]
        case 2 if changed:
            changed.append(changed[place % len(changed)])
        case 3 if len(changed) > 1:
            choice.shuffle(changed)
        case _:
            if changed:
                changed[place % len(changed)] = new
    return changed


# The graph


def change_code(model: Any, choice: random.Random) -> None:
    """Another operator, in the old field, the new one or both."""
    code = choice.choice(model.operatorCodes)
    number = choice.randrange(160)
    match choice.randrange(4):
        case 0:
            code.builtinCode = number
        case 1:
            code.deprecatedBuiltinCode = min(number, 127)
        case 2:
            code.deprecatedBuiltinCode = 0
        case _:
            code.deprecatedBuiltinCode = min(number, 127)
            code.builtinCode = number


def change_version(model: Any, choice: random.Random) -> None:
    choice.choice([*model.operatorCodes]).version = integer(choice)


def change_code_index(model: Any, choice: random.Random) -> None:
    any_operator(model, choice).opcodeIndex = abs(integer(choice)) % 4


def change_operands(model: Any, choice: random.Random) -> None:
    operator = any_operator(model, choice)
    new = choice.randrange(-1, len(graph_of(model).tensors) + 1)
    if choice.random() < 0.5:
        operator.inputs = change_list(operator.inputs, choice, new)
    else:
        operator.outputs = change_list(operator.outputs, choice, new)


def change_signature(model: Any, choice: random.Random) -> None:
    graph = graph_of(model)
    new = choice.randrange(-1, len(graph.tensors) + 1)
    if choice.random() < 0.5:
        graph.inputs = change_list(graph.inputs, choice, new)
    else:
        graph.outputs = change_list(graph.outputs, choice, new)


def change_order(model: Any, choice: random.Random) -> None:
    """Operators dropped, doubled or exchanged."""
    graph = graph_of(model)
    graph.operators = change_list(
        graph.operators, choice, choice.choice(graph.operators)
    )


# Tensors


def change_shape(model: Any, choice: random.Random) -> None:
    tensor = any_tensor(model, choice)
    tensor.shape = change_list(tensor.shape, choice, integer(choice))


def change_all_shapes(model: Any, choice: random.Random) -> None:
    """One size of every tensor becomes another: what fits together still does."""
    tensors = graph_of(model).tensors
    old = choice.choice(
        [size for tensor in tensors for size in listed(tensor.shape)] or [1]
    )
    new = choice.choice((0, 1, 2, 3, 8, 17))
    for tensor in tensors:
        if tensor.buffer == 0:
            tensor.shape = [
                new if size == old else size for size in listed(tensor.shape)
            ]


def change_type(model: Any, choice: random.Random) -> None:
    any_tensor(model, choice).type = choice.randrange(20)


def change_all_types(model: Any, choice: random.Random) -> None:
    """One type becomes another everywhere."""
    tensors = graph_of(model).tensors
    old, new = choice.choice(tensors).type, choice.choice((0, 2, 3, 4, 7, 9, 17))
    for tensor in tensors:
        if tensor.type == old:
            tensor.type = new


def change_buffer(model: Any, choice: random.Random) -> None:
    any_tensor(model, choice).buffer = choice.randrange(len(model.buffers) + 1)


def change_data(model: Any, choice: random.Random) -> None:
    """Bytes cut off, added, or read as integers of which one is another."""
    buffer = choice.choice(model.buffers)
    data = bytes(listed(buffer.data))
    match choice.randrange(4):
        case 0:
            data = data[: choice.randrange(len(data) + 1)]
        case 1:
            data += bytes(choice.randrange(1, 9))
        case 2 if len(data) >= 4:
            words = np.frombuffer(data[: len(data) // 4 * 4], np.int32).copy()
            words[choice.randrange(len(words))] = integer(choice)
            data = words.tobytes()
        case _:
            buffer.offset = abs(integer(choice))
            buffer.size = abs(integer(choice))
    buffer.data = list(data) or None


def change_quantization(model: Any, choice: random.Random) -> None:
    tensor = any_tensor(model, choice)
    quantization = tensor.quantization
    if quantization is None:
        quantization = litert_schema().QuantizationParametersT()
        tensor.quantization = quantization
    match choice.randrange(6):
        case 0:
            tensor.quantization = None
        case 1:
            new = choice.choice(choice.choice((SCALES, SCALES, NOT_FINITE)))
            quantization.scale = [new for _ in listed(quantization.scale)] or [new]
        case 2:
            quantization.zeroPoint = [
                integer(choice) for _ in listed(quantization.zeroPoint)
            ]
        case 3:
            quantization.quantizedDimension = integer(choice)
        case 4:
            scales = listed(quantization.scale)
            quantization.scale = scales * choice.choice((0, 2, 3))
        case _:
            points = listed(quantization.zeroPoint)
            quantization.zeroPoint = points * choice.choice((0, 2, 3))


def change_state(model: Any, choice: random.Random) -> None:
    tensor = any_tensor(model, choice)
    if choice.random() < 0.5:
        tensor.isVariable = True
    else:
        tensor.sparsity = litert_schema().SparsityParametersT()


def change_name(model: Any, choice: random.Random) -> None:
    any_tensor(model, choice).name = choice.choice(NAMES)


# Options


def change_option(model: Any, choice: random.Random) -> None:
    options = any_operator(model, choice).builtinOptions
    if options is None:
        return
    fields = cast(dict[str, object], vars(options))
    name = choice.choice(sorted(fields))
    old = fields[name]
    if isinstance(old, bool):
        new: object = not old
    elif isinstance(old, float):
        new = choice.choice((*SCALES, *NOT_FINITE))
    elif isinstance(old, int):
        new = integer(choice)
    else:
        new = change_list(old, choice, integer(choice))
    setattr(options, name, new)


def change_options_type(model: Any, choice: random.Random) -> None:
    operator = any_operator(model, choice)
    if choice.random() < 0.5:
        operator.builtinOptionsType, operator.builtinOptions = 0, None
    else:
        operator.builtinOptionsType = choice.randrange(120)


CHANGES: tuple[Change, ...] = (
    change_code,
    change_version,
    change_code_index,
    change_operands,
    change_signature,
    change_order,
    change_shape,
    change_shape,
    change_all_shapes,
    change_all_shapes,
    change_type,
    change_all_types,
    change_buffer,
    change_data,
    change_data,
    change_quantization,
    change_quantization,
    change_quantization,
    change_state,
    change_name,
    change_option,
    change_option,
    change_option,
    change_options_type,
)
