"""Every field of a small file changed in turn: other options, operands, tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeAlias, cast

from ..formats.tflite_objects import pack, unpack

Edit: TypeAlias = tuple[str, Callable[[], object]]
"""The name of a change, and what makes it in an unpacked file."""

TYPES = {"FLOAT32": 0, "UINT8": 3, "INT64": 4, "INT8": 9}
ONNX_TYPES = {"FLOAT": 1, "UINT8": 2, "INT8": 3, "INT64": 7}
"""Types that a tensor is given instead of its own."""


def tflite_changes(data: bytes, wanted: str | None = None) -> dict[str, bytes]:
    """The file of each change, or of the wanted one, by name."""
    model = unpack(data)
    names = [name for name, _ in _tflite(model)] if wanted is None else [wanted]
    found: dict[str, bytes] = {}
    for name in names:
        model = unpack(data)
        dict(_tflite(model))[name]()
        found[name] = pack(model)
    return found


def onnx_changes(data: bytes, wanted: str | None = None) -> dict[str, bytes]:
    """The same for an ONNX file."""
    onnx: Any = import_module("onnx")
    model = onnx.ModelProto.FromString(data)
    names = [name for name, _ in _onnx(model)] if wanted is None else [wanted]
    found: dict[str, bytes] = {}
    for name in names:
        model = onnx.ModelProto.FromString(data)
        dict(_onnx(model))[name]()
        found[name] = model.SerializeToString()
    return found


def _set(owner: object, field: str, value: object) -> Callable[[], None]:
    return lambda: setattr(owner, field, value)


def _tflite(model: Any) -> Iterator[Edit]:
    (graph, *_) = model.subgraphs
    for at, operator in enumerate(graph.operators):
        options = operator.builtinOptions
        fields = {} if options is None else cast(dict[str, object], vars(options))
        for field, old in sorted(fields.items()):
            for new in _instead_of(old):
                yield f"{at}.{field} = {new}", _set(options, field, new)
        for kind in ("inputs", "outputs"):
            held = _list(getattr(operator, kind))
            for name, new in _other_operands(held, -1):
                yield f"{at}.{kind} {name}", _set(operator, kind, new)
        code = model.operatorCodes[operator.opcodeIndex]
        yield f"{at}.version = 99", _set(code, "version", 99)
    for at, tensor in enumerate(graph.tensors):
        own = [int(size) for size in _list(tensor.shape)]
        for name, new in _other_shapes(own):
            yield f"tensor {at} is {name}", _set(tensor, "shape", new)
        for name, code in TYPES.items():
            if code != tensor.type:
                yield f"tensor {at} is {name}", _set(tensor, "type", code)
        q = tensor.quantization
        if q is not None and q.scale is not None:
            scales, points = _list(q.scale), _list(q.zeroPoint)
            yield f"tensor {at} has no scale", _set(tensor, "quantization", None)
            yield f"tensor {at}.scale * 2", _set(q, "scale", [2 * s for s in scales])
            yield f"tensor {at}.scale twice", _set(q, "scale", [*scales, *scales])
            yield f"tensor {at}.zero + 1", _set(q, "zeroPoint", [z + 1 for z in points])
            axis = q.quantizedDimension + 1
            yield f"tensor {at}.axis + 1", _set(q, "quantizedDimension", axis)
        data = _list(model.buffers[tensor.buffer].data)
        if data:
            buffer, first = model.buffers[tensor.buffer], int(data[0])
            yield f"tensor {at} has no data", _set(tensor, "buffer", 0)
            more = [(first + 1) % 256, *data[1:]]
            yield f"tensor {at}[0] + 1", _set(buffer, "data", more)
            inverted = [255 - int(byte) for byte in data]
            yield f"~tensor {at}", _set(buffer, "data", inverted)
        else:
            yield f"tensor {at} is a variable", _set(tensor, "isVariable", True)


def _onnx(model: Any) -> Iterator[Edit]:
    graph = model.graph
    for at, node in enumerate(graph.node):
        held = list(node.input)
        for name, new in _other_operands(held, ""):
            yield f"{at}.input {name}", _filled(node.input, new)
        for attribute in node.attribute:
            name = f"{at}.{attribute.name}"
            yield (
                f"{name} is left out",
                lambda n=node, a=attribute: n.attribute.remove(a),
            )
            for field in ("i", "f"):
                if attribute.HasField(field):
                    for new in _instead_of(getattr(attribute, field)):
                        yield f"{name} = {new}", _set(attribute, field, new)
            if attribute.HasField("s"):
                yield f"{name} = other", _set(attribute, "s", b"other")
            for numbers in filter(len, (attribute.ints, attribute.floats)):
                old = list(numbers)
                for other in (
                    [*old, 1],
                    old[:-1],
                    [old[0] + 1, *old[1:]],
                    [-1, *old[1:]],
                ):
                    yield f"{name} = {other}", _filled(numbers, other)
    for at, tensor in enumerate(graph.initializer):
        for name, new in _other_shapes(list(tensor.dims)):
            yield f"constant {at} is {name}", _filled(tensor.dims, new)
        for name, code in ONNX_TYPES.items():
            if code != tensor.data_type:
                yield f"constant {at} is {name}", _set(tensor, "data_type", code)
        inverted = bytes(255 - byte for byte in tensor.raw_data)
        yield f"~constant {at}", _set(tensor, "raw_data", inverted)
        yield f"constant {at} is none", lambda t=tensor: graph.initializer.remove(t)
    for at, port in enumerate((*graph.input, *graph.output)):
        type = port.type.tensor_type
        for name, code in ONNX_TYPES.items():
            if code != type.elem_type:
                yield f"port {at} is {name}", _set(type, "elem_type", code)
        if type.shape.dim:
            (first, *_) = type.shape.dim
            yield (
                f"port {at} is [1 + ...]",
                _set(first, "dim_value", first.dim_value + 1),
            )
            yield f"port {at} is [?, ...]", _set(first, "dim_param", "N")
            yield f"port {at} is [...]", lambda s=type.shape: s.dim.pop()
    (opset, *_) = model.opset_import
    for version in (7, 9, 11, 13):
        yield f"opset {version}", _set(opset, "version", version)


def _filled(field: Any, values: list[Any]) -> Callable[[], None]:
    def act() -> None:
        del field[:]
        field.extend(values)

    return act


def _list(values: Any) -> list[Any]:
    return [] if values is None else [*values]


def _other_operands(
    held: list[Any], nothing: object
) -> Iterator[tuple[str, list[Any]]]:
    for n in range(len(held)):
        yield f"{n} is left out", [*held[:n], nothing, *held[n + 1 :]]
        if n:
            yield f"{n} is the first", [*held[:n], held[0], *held[n + 1 :]]
    yield "fewer", held[:-1]
    yield "more", [*held, *held[-1:]]


def _other_shapes(own: list[int]) -> Iterator[tuple[str, list[int]]]:
    yield "[1, ...]", [1, *own]
    if own:
        yield "[... + 1]", [*own[:-1], own[-1] + 1]
        yield "[1:]", own[1:]
    if len(own) > 1:
        yield "[1 + ...]", [own[0] + 1, *own[1:]]


def _instead_of(old: object) -> Iterator[object]:
    if isinstance(old, bool):
        yield not old
    elif isinstance(old, int):
        yield from (one for one in (old + 1, -1, 0, 9) if one != old)
    elif isinstance(old, float):
        yield from (old + 0.5, -1.0)
    elif old is not None and hasattr(old, "__len__"):
        held = [*cast("list[int]", old)]
        yield [*held, 1]
        yield held[:-1]
