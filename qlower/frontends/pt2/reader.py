"""Reading the bytes of a `.pt2` file of `torch.export.save`, without PyTorch.

That is a zip of JSON, in the schema of torch/_export/serde/schema.py, and of the bytes
of tensors. Pickles, which old versions wrote and which tensors of unusual kinds still
become, are refused: reading one may run any code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

import numpy as np

from qlower.diagnostics import QlowerError, printable

from ..graph.schema import MAX_ELEMENTS, MAX_RANK, Array, Constant, Port
from .archive import Archive
from .program import Argument, Call, Program, Scalar, Tensor, Unread

SCHEMA = 8
"""The major version of the schema; PyTorch writes 8 since 2.5."""

Json = Mapping[str, object]

TYPES: Mapping[int, tuple[str, str | None]] = {
    1: ("UINT8", "u1"),
    2: ("INT8", "i1"),
    3: ("INT16", "<i2"),
    4: ("INT32", "<i4"),
    5: ("INT64", "<i8"),
    6: ("FLOAT16", "<f2"),
    7: ("FLOAT", "<f4"),
    8: ("DOUBLE", "<f8"),
    12: ("BOOL", "?"),
    13: ("BFLOAT16", None),
    28: ("UINT16", "<u2"),
}
"""The schema's numbers of element types: their names here and in NumPy."""

CONSTANTS = ("parameter", "buffer", "tensor_constant")


def read_program(data: bytes, filename: str) -> Program:
    """Read the program in `data`, or raise a `QlowerError` located in `filename`."""
    return _Reader(Archive(data, filename)).program()


class _Reader:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.line = 0

    def error(self, message: str, *, help: str | None = None) -> QlowerError:
        return self.archive.error(message, self.line, help=help)

    # JSON of an expected shape

    def record(self, value: object, what: str) -> Json:
        if not isinstance(value, dict):
            raise self.error(f"damaged file: {what} is no JSON object")
        return cast(Json, value)

    def items(self, value: object, what: str) -> list[object]:
        if not isinstance(value, list):
            raise self.error(f"damaged file: {what} is no JSON list")
        return cast(list[object], value)

    def text(self, value: object, what: str) -> str:
        if not isinstance(value, str):
            raise self.error(f"damaged file: {what} is no text")
        return printable(value)

    def number(self, value: object, what: str, low: int, high: int) -> int:
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not low <= value <= high
        ):
            shown = value if isinstance(value, int) else type(value).__name__
            raise self.error(
                f"damaged file: {what} {_short(shown)} is out of range [{low}, {high}]"
            )
        return value

    def only(self, value: object, what: str) -> tuple[str, object]:
        """The key and value of a union of the schema, which has one."""
        record = self.record(value, what)
        if len(record) != 1:
            raise self.error(f"damaged file: {what} has {len(record)} values, not 1")
        ((key, held),) = record.items()
        return printable(key), held

    # The program

    def program(self) -> Program:
        if "byteorder" in self.archive and self.archive.read("byteorder") != b"little":
            raise self.error("its numbers have their highest byte first: not supported")
        models = [
            name for name in self.archive.names("models/") if name.endswith(".json")
        ]
        if len(models) != 1:
            raise self.error(f"{len(models)} models in the file, expected 1")
        model = self.record(self.archive.json(models[0]), "the model")
        version = self.record(model.get("schema_version"), "schema_version")
        major = self.number(version.get("major"), "major", 0, 1 << 31)
        if major != SCHEMA:
            raise self.error(
                f"schema version {major} is not supported; expected {SCHEMA}",
                help="export and save the model again with PyTorch 2.9 or newer",
            )
        module = self.record(model.get("graph_module"), "graph_module")
        graph = self.record(module.get("graph"), "graph")
        signature = self.record(module.get("signature"), "signature")
        self.metas = self.record(graph.get("tensor_values"), "tensor_values")
        calls = tuple(
            self.call(index, self.record(node, "node"))
            for index, node in enumerate(self.items(graph.get("nodes"), "nodes"))
        )
        self.line = 0
        stem = models[0].removeprefix("models/").removesuffix(".json")
        inputs, constants = self.inputs(signature, calls, stem)
        return Program(
            self.archive.filename,
            self.archive.size,
            calls,
            constants,
            inputs,
            self.outputs(signature),
        )

    def call(self, index: int, node: Json) -> Call:
        self.line = index
        target = self.text(node.get("target"), "target").removeprefix("torch.ops.")
        arguments: dict[str, Argument] = {}
        for given in self.items(node.get("inputs"), "inputs"):
            named = self.record(given, "input")
            name = self.text(named.get("name"), "name of an input")
            if name in arguments:
                raise self.error(f"damaged file: two arguments {name!r}")
            arguments[name] = self.argument(named.get("arg"), name)
        results: list[str] = []
        for given in self.items(node.get("outputs"), "outputs"):
            results += self.result(given)
        return Call(index, target, arguments, tuple(results))

    def argument(self, value: object, name: str) -> Argument:
        kind, held = self.only(value, f"argument {name!r}")
        match kind:
            case "as_none":
                return None
            case "as_tensor":
                return self.tensor(held)
            case "as_tensors" | "as_optional_tensors":
                return tuple(
                    self.optional(item)
                    if kind == "as_optional_tensors"
                    else self.tensor(item)
                    for item in self.items(held, name)
                )
            case "as_ints" | "as_floats" | "as_bools":
                return tuple(self.scalar(item, name) for item in self.items(held, name))
            case "as_int" | "as_float" | "as_bool" | "as_string":
                return self.scalar(held, name)
            case "as_scalar_type" | "as_memory_format" | "as_layout":
                return self.number(held, name, 0, 255)
            case "as_sym_int":
                return self.symbol(held, name)
            case "as_sym_ints":
                return tuple(self.symbol(item, name) for item in self.items(held, name))
            case _:
                return Unread(kind)

    def scalar(self, value: object, name: str) -> Scalar:
        if isinstance(value, bool | float | str):
            return printable(value) if isinstance(value, str) else value
        return self.number(value, f"argument {name!r}", -(1 << 63), (1 << 63) - 1)

    def symbol(self, value: object, name: str) -> int | Unread:
        """A size; one that isn't known before the model runs is not read."""
        kind, held = self.only(value, f"argument {name!r}")
        if kind == "as_int":
            return self.number(held, f"argument {name!r}", -(1 << 63), (1 << 63) - 1)
        return Unread("a size that is computed")

    def tensor(self, value: object) -> Tensor:
        name = self.text(self.record(value, "tensor").get("name"), "name of a tensor")
        return Tensor(name)

    def optional(self, value: object) -> Tensor | None:
        kind, held = self.only(value, "optional tensor")
        return None if kind == "as_none" else self.tensor(held)

    def result(self, value: object) -> list[str]:
        kind, held = self.only(value, "output")
        match kind:
            case "as_tensor":
                return [self.tensor(held).name]
            case "as_tensors":
                return [self.tensor(item).name for item in self.items(held, "output")]
            case _:
                # Values that are no tensors; what takes one is refused.
                return []

    def outputs(self, signature: Json) -> tuple[str, ...]:
        found: list[str] = []
        for spec in self.items(signature.get("output_specs"), "output_specs"):
            kind, held = self.only(spec, "output_spec")
            if kind != "user_output":
                raise self.error(
                    f"{kind} is not supported: the model changes what it keeps"
                )
            argument = self.record(held, kind).get("arg")
            which, tensor = self.only(argument, "arg of an output")
            if which != "as_tensor":
                raise self.error(f"an output that is no tensor ({which})")
            found.append(self.tensor(tensor).name)
        return tuple(found)

    # Inputs and constants

    def inputs(
        self, signature: Json, calls: tuple[Call, ...], stem: str
    ) -> tuple[tuple[Port, ...], dict[str, Constant]]:
        """The inputs of the program, and the constants that any call uses."""
        used = {
            item.name
            for call in calls
            for value in call.arguments.values()
            for item in (value if isinstance(value, tuple) else (value,))
            if isinstance(item, Tensor)
        }
        ports: list[Port] = []
        constants: dict[str, Constant] = {}
        files: dict[str, Json] = {}
        for spec in self.items(signature.get("input_specs"), "input_specs"):
            kind, held = self.only(spec, "input_spec")
            record = self.record(held, kind)
            if kind == "user_input":
                which, tensor = self.only(record.get("arg"), "arg of an input")
                if which == "as_none":
                    continue
                if which != "as_tensor":
                    raise self.error(f"an input that is no tensor ({which})")
                ports.append(self.port(self.tensor(tensor).name))
                continue
            if kind not in CONSTANTS:
                raise self.error(f"an input of kind {kind} is not supported")
            name = self.tensor(record.get("arg")).name
            if name in constants:
                raise self.error(f"damaged file: two inputs {name!r}")
            if name in used:
                key = self.text(record.get(f"{kind}_name"), f"{kind}_name")
                if not files:
                    files = self.tensor_files(stem)
                constants[name] = self.constant(key, files)
        return tuple(ports), constants

    def port(self, name: str) -> Port:
        meta = self.record(self.metas.get(name), f"the type of {name!r}")
        type, _ = self.type(meta)
        sizes: list[int | None] = []
        for size in self.items(meta.get("sizes"), f"sizes of {name!r}"):
            kind, held = self.only(size, f"size of {name!r}")
            known = kind == "as_int"
            sizes.append(
                self.number(held, f"size of {name!r}", 0, MAX_ELEMENTS)
                if known
                else None
            )
        return Port(name, type, tuple(sizes))

    def tensor_files(self, stem: str) -> dict[str, Json]:
        """The archive's descriptions of its tensors, by their names in the program,
        with the folder that holds their data."""
        found: dict[str, Json] = {}
        for folder in ("data/weights/", "data/constants/"):
            kind = folder.split("/")[1]
            path = f"{folder}{stem}_{kind}_config.json"
            if path not in self.archive:
                continue
            config = self.record(self.archive.json(path), path).get("config")
            for name, held in self.record(config, "config").items():
                entry = self.record(held, f"the data of {name!r}")
                found[name] = {**entry, "folder": folder}
        if not found:
            raise self.error(
                "its weights are a pickle, which can run any code and is not read",
                help="export and save the model again with PyTorch 2.9 or newer",
            )
        return found

    def constant(self, name: str, files: Mapping[str, Json]) -> Constant:
        what = f"tensor {name!r}"
        if name not in files:
            raise self.error(f"damaged file: no data of {what}")
        entry = files[name]
        if entry.get("use_pickle") is not False:
            raise self.error(
                f"{what} is a pickle, which can run any code and is not read",
                help="tensors of torchao's quantize_ are plain ones after"
                " torchao.utils.unwrap_tensor_subclass(model), before the export",
            )
        path = self.text(entry.get("path_name"), f"path of {what}")
        meta = self.record(entry.get("tensor_meta"), f"tensor_meta of {what}")
        type, dtype = self.type(meta)
        shape = self.sizes(meta, "sizes", what)
        if len(shape) > MAX_RANK or math.prod(shape) > MAX_ELEMENTS:
            raise self.error(f"{what}: shape {list(shape)} is out of range")
        if dtype is None:
            return Constant(type, shape, None, f"elements of type {type}")
        data = self.archive.read(f"{entry['folder']}{path}")
        array = self.strided(data, np.dtype(dtype), shape, meta, what)
        return Constant(type, shape, array)

    def strided(
        self,
        data: bytes,
        dtype: np.dtype[np.generic],
        shape: tuple[int, ...],
        meta: Json,
        what: str,
    ) -> Array:
        """The elements that sizes, strides and offset name, all of them in `data`."""
        strides = self.sizes(meta, "strides", what)
        _, held = self.only(meta.get("storage_offset"), f"storage_offset of {what}")
        offset = self.number(held, f"storage_offset of {what}", 0, MAX_ELEMENTS)
        count = len(data) // dtype.itemsize
        last = offset + sum(
            (size - 1) * stride for size, stride in zip(shape, strides, strict=False)
        )
        if (
            len(strides) != len(shape)
            or len(data) % dtype.itemsize
            or math.prod(shape) > count
            or (0 not in shape and last >= count)
        ):
            raise self.error(
                f"damaged file: {what} of shape {list(shape)}, strides {list(strides)}"
                f" and offset {offset} does not lie in {len(data)} bytes of {dtype}"
            )
        if 0 in shape:
            return np.zeros(shape, dtype)
        flat = np.frombuffer(data, dtype)[offset:]
        steps = [stride * dtype.itemsize for stride in strides]
        return np.lib.stride_tricks.as_strided(flat, shape, steps, writeable=False)

    def type(self, meta: Json) -> tuple[str, str | None]:
        number = self.number(meta.get("dtype"), "dtype", 0, 255)
        return TYPES.get(number, (f"type {number}", None))

    def sizes(self, meta: Json, key: str, what: str) -> tuple[int, ...]:
        found: list[int] = []
        for size in self.items(meta.get(key), f"{key} of {what}"):
            _, held = self.only(size, f"{key} of {what}")
            found.append(self.number(held, f"{key} of {what}", 0, MAX_ELEMENTS))
        return tuple(found)


def _short(value: object) -> str:
    shown = str(value) if not isinstance(value, int) or value < 1 << 99 else "a number"
    return shown[:40]
