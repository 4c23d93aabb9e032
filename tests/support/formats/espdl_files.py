"""Files of ESP-DL, written by the numbers of the schema's fields."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from qlower.interp.values import Array

INT8, INT16, INT32 = 3, 5, 6
VECTOR = 16


def packed(filters: Array, groups: int = 1, plain: bool = False) -> tuple[Array, str]:
    """Filters [O, C / groups, H, W] as esp-ppq lays them, with their shape in the file,
    and its word for that."""
    count, depth, height, width = filters.shape
    shape = (
        (height, width, count, depth)
        if groups > 1
        else (*(height, width, depth, count),)
    )
    last = filters.transpose(0, 2, 3, 1)
    if plain:
        whole = last.transpose(1, 2, 3, 0) if groups > 1 else last
        return whole.reshape(shape), "HWCN" if groups > 1 else "NHWC"
    group = VECTOR // filters.itemsize
    end = count // group * group
    first = last[:end].reshape(-1, group, height, width, depth)
    rest = last[end:].transpose(3, 1, 2, 0) if groups > 1 else last[end:]
    flat = [first.transpose(0, 2, 3, 4, 1).reshape(-1), rest.reshape(-1)]
    word = f"(N/{group})HWC{group}" + "_UNALIGNED" * (count % group > 0)
    return np.concatenate(flat).reshape(shape), word


@dataclass
class EspdlFile:
    """A model under construction, of one input `x` and the output `y`."""

    input: tuple[Sequence[int], int]
    """The shape and the exponent of the input."""
    bits: int = 8
    """The bits of elements, of weights too."""
    nodes: list[tuple[str, Sequence[str], str, Mapping[str, object]]] = field(
        default_factory=list[tuple[str, Sequence[str], str, Mapping[str, object]]]
    )
    values: dict[str, tuple[Sequence[int], int]] = field(
        default_factory=dict[str, "tuple[Sequence[int], int]"]
    )
    constants: dict[str, tuple[Array, Sequence[int], str]] = field(
        default_factory=dict[str, "tuple[Array, Sequence[int], str]"]
    )

    def add(
        self,
        kind: str,
        inputs: Sequence[str],
        result: str,
        shape: Sequence[int],
        exponent: int,
        **attributes: object,
    ) -> str:
        """Add a node whose result has this shape and exponent."""
        self.values[result] = shape, exponent
        given = {"quant_type": f"S{self.bits}", **attributes}
        self.nodes.append((kind, inputs, result, given))
        return result

    def constant(
        self, name: str, array: Array, exponents: Sequence[int], layout: str = "UNK"
    ) -> str:
        self.constants[name] = array, exponents, layout
        return name

    def build(self) -> bytes:
        builder = _Builder(1024, INT8 if self.bits == 8 else INT16)
        values = {"x": self.input} | self.values
        infos = [builder.value(name, *one) for name, one in values.items()]
        graph = builder.table(
            {
                0: builder.list([builder.node(*node) for node in self.nodes]),
                2: builder.list(
                    [builder.tensor(name, *one) for name, one in self.constants.items()]
                ),
                4: builder.list([builder.value("x", *self.input)]),
                5: builder.list([builder.value("y", *values["y"])]),
                6: builder.list(infos),
            }
        )
        builder.made.Finish(builder.table({7: graph}))
        data = bytes(builder.made.Output())
        return b"EDL2" + struct.pack("<II4x", 0, len(data)) + data


class _Builder:
    def __init__(self, size: int, kind: int) -> None:
        package: Any = import_module("flatbuffers")
        self.made = package.Builder(size)
        self.kind = kind

    def table(
        self, offsets: Mapping[int, int], numbers: Mapping[int, int] | None = None
    ) -> int:
        made = self.made
        made.StartObject(16)
        for number, offset in offsets.items():
            made.PrependUOffsetTRelativeSlot(number, offset, 0)
        for number, value in (numbers or {}).items():
            made.PrependInt32Slot(number, value, 0)
        return made.EndObject()

    def list(self, offsets: Sequence[int]) -> int:
        self.made.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.made.PrependUOffsetTRelative(offset)
        return self.made.EndVector()

    def integers(self, values: Sequence[int]) -> int:
        return self.made.CreateNumpyVector(np.array(values, np.int64))

    def texts(self, names: Sequence[str]) -> int:
        return self.list([self.made.CreateString(name) for name in names])

    def node(
        self, kind: str, inputs: Sequence[str], result: str, given: Mapping[str, object]
    ) -> int:
        attributes = [self.attribute(*item) for item in given.items()]
        return self.table(
            {
                0: self.texts(inputs),
                1: self.texts([result]),
                2: self.made.CreateString(f"{kind} {result}"),
                3: self.made.CreateString(kind),
                5: self.list(attributes),
            }
        )

    def attribute(self, name: str, value: object) -> int:
        made = self.made
        offsets = {0: made.CreateString(name)}
        kind = 7
        if isinstance(value, str):
            kind, offsets[6] = 3, made.CreateByteVector(value.encode())
        elif isinstance(value, int):
            kind = 2
        else:
            assert isinstance(value, Sequence)
            offsets[11] = self.integers([int(str(one)) for one in value])
        made.StartObject(16)
        for place, offset in offsets.items():
            made.PrependUOffsetTRelativeSlot(place, offset, 0)
        if isinstance(value, int):
            made.Prep(8, 8)
            made.PrependInt64(value)
            made.PrependStructSlot(5, made.Offset(), 0)
        made.PrependInt32Slot(3, kind, 0)
        return made.EndObject()

    def value(self, name: str, shape: Sequence[int], exponent: int) -> int:
        sizes: list[int] = []
        for size in shape:
            self.made.StartObject(3)
            self.made.PrependInt64Slot(1, size, 0)
            self.made.PrependInt8Slot(0, 1, 0)
            sizes.append(self.table({0: self.made.EndObject()}))
        tensor = self.table({1: self.table({0: self.list(sizes)})}, {0: self.kind})
        self.made.StartObject(3)
        self.made.PrependUOffsetTRelativeSlot(1, tensor, 0)
        self.made.PrependUint8Slot(0, 1, 0)
        kind = self.made.EndObject()
        named = self.made.CreateString(name)
        return self.table({0: named, 1: kind, 3: self.integers([exponent])})

    def tensor(
        self, name: str, array: Array, exponents: Sequence[int], layout: str
    ) -> int:
        raw = array.tobytes()
        raw += bytes(-len(raw) % VECTOR)
        self.made.StartVector(VECTOR, len(raw) // VECTOR, VECTOR)
        self.made.head -= len(raw)
        self.made.Bytes[self.made.head : self.made.head + len(raw)] = raw
        data = self.made.EndVector()
        kind = {1: INT8, 2: INT16, 4: INT32, 8: 7}[array.itemsize]
        return self.table(
            {
                0: self.integers(array.shape),
                6: self.made.CreateString(name),
                7: self.made.CreateString(f"layout ==> {layout}"),
                8: data,
                13: self.integers(exponents),
            },
            {1: kind},
        )


def network(
    seed: int, plain: bool = False, single: bool = False, bits: int = 8
) -> EspdlFile:
    """A convolution of 18 filters, a depthwise one, a table, a sum, a pool and two
    linear layers; `plain` as for the ESP32, with one scale if `single`. Of 16 bits an
    entry of the table serves 256 codes, and nothing is rescaled alone."""
    draw = np.random.default_rng(seed)

    def filters(
        kind: str, given: str, result: str, shape: Sequence[int], into: int, out: int
    ) -> None:
        groups = shape[0] if shape[1] == 1 else 1
        weights = draw.integers(-most, most + 1, shape).astype(f"int{bits}")
        count = 1 if single or plain else shape[0]
        exponents = (draw.integers(-9, -6, count) - low).tolist()
        array, layout = packed(weights, groups, plain)
        array = array.reshape(array.shape[-2:]) if kind == "MatMul" else array
        operands = [given, file.constant(f"{result}.weight", array, exponents, layout)]
        bias = draw.integers(-9000, 9000, shape[0]) << 2 * (bits - 8)
        bias = bias.astype(np.int32 if bits == 8 else np.int64)
        steps = [exponent + into for exponent in exponents]
        if kind != "MatMul":
            operands.append(file.constant(f"{result}.bias", bias, steps))
        made: dict[str, object] = {"activation": "Relu" if groups > 1 else "Linear"}
        if kind == "Conv":
            made |= {"pads": [shape[2] // 2] * 4, "strides": [1, 1], "group": groups}
            made |= {"dilations": [1, 1], "kernel_shape": list(shape[2:])}
        sizes = [1, 5, 4, shape[0]] if kind == "Conv" else [1, shape[0]]
        file.add(kind, operands, result, sizes, out, **made)

    most = (1 << bits - 1) - 1
    low = bits - 8  # the places that all exponents lie lower
    shape = [1, 5, 4, 18]
    file = EspdlFile(([1, 5, 4, 3], -5 - low), bits=bits)
    filters("Conv", "x", "a", (18, 3, 3, 3), -5 - low, -2 - low)
    filters("Conv", "a", "b", (18, 1, 3, 3), -2 - low, -1 - low)
    entries = draw.integers(-most - 1, most + 1, 256 + (bits > 8))
    file.constant("table", entries.astype(f"int{bits}"), [-3 - low], "")
    kind = "Swish" if bits == 8 else "LUT"
    file.add(kind, ["b"], "c", shape, -3 - low, lut="table")
    if bits == 8:
        file.add("Add", ["a", "c"], "d", shape, -1)
        file.add("RequantizeLinear", ["d", "", ""], "e", shape, -3)
    else:
        file.add("Add", ["c", "c"], "d", shape, -3 - low)
        file.add("Relu", ["d"], "e", shape, -3 - low)
    file.add("GlobalAveragePool", ["e"], "f", [1, 1, 1, 18], -4 - low)
    file.add("Flatten", ["f"], "g", [1, 18], -4 - low, axis=1)
    filters("MatMul", "g", "h", (17, 18, 1, 1), -4 - low, -4 - low)
    filters("Gemm", "h", "y", (10, 17, 1, 1), -4 - low, -3 - low)
    return file
