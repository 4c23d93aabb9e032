"""The graph of a text in TPU-MLIR's `tpu` dialect, with the weights of the `.npz` file
that its module names.

The names of tensors are the locations of operations, and those of weights are the keys
of the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
    UnregisteredAttr,
    UnregisteredOp,
    f32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from qlower.diagnostics import QlowerError, make_file_location
from qlower.dialects.quant import QuantizedType
from qlower.files.arrays import Array, arrays_of
from qlower.kept.journal import beside, read_file, read_given
from qlower.text.context import make_context
from qlower.text.parsing import LocatingParser, parse_module

from ..graph.schema import AttributeValue, Constant, Model, Node, Port

DOMAIN = "tpu"

EXPECTED = {
    "module.state": ("TPU_LOWERED",),
    "module.chip": ("bm1684x", "bm1688"),
    "module.mode": ("INT8",),
    "module.asymmetric": (0,),
}
"""The attributes of the module that say whose arithmetic it is."""

WEIGHT_FILE = "module.weight_file"

SHAPE, TYPE = "result shape", "result type"
SCALE, IS_SIGNED = "result scale", "result is signed"
"""Attributes of nodes for the type of the result; no name in a file has a space."""

OPERATION = "op_name__"
"""xDSL's own attribute."""

STORED = {"i8": "INT8", "si8": "INT8", "i32": "INT32"}


class _Parser(LocatingParser):
    """Keeps the place of an operation whose location is its name."""

    def parse_operation(self) -> Operation:
        line, column = self.line_and_column(self.pos)
        op = super().parse_operation()
        place = op.location
        if isinstance(place, NameLoc):
            at = make_file_location(self._filename, line, column)
            op.location = NameLoc(place.desc, at)
        return op


def read_model(path: Path, filename: str) -> Model:
    """The graph of a text, named `filename` in messages, with the weights beside it;
    raises a `QlowerError` with a place in the text."""
    text = read_given(path)
    context = make_context()
    context.allow_unregistered = True
    module = parse_module(text, filename, context=context, parser=_Parser)
    return _Reader(module, path, filename, len(text)).model()


class _Reader:
    def __init__(self, module: ModuleOp, path: Path, filename: str, size: int) -> None:
        self.module = module
        self.path = path
        self.filename = filename
        self.size = size
        self.names: dict[SSAValue, str] = {}
        self.constants: dict[str, Constant] = {}
        self.inputs: list[Port] = []
        self.outputs: list[Port] = []
        self.nodes: list[Node] = []
        self.weight_file = ""
        self.weights: dict[str, Array] = {}

    def model(self) -> Model:
        self.check_module()
        functions = list(self.module.body.ops)
        for one in functions:
            if not isinstance(one, FuncOp) or one.sym_name.data != "main":
                raise self.error(one, "expected a function @main, and nothing else")
        if len(functions) != 1 or len(functions[0].regions[0].blocks) != 1:
            raise QlowerError("expected one function @main", self.module.location)
        self.read_weights()
        for op in functions[0].regions[0].block.ops:
            self.read(op)
        read = tuple(self.nodes), self.constants, tuple(self.inputs)
        return Model(
            *(self.filename, self.size, 0, *read, tuple(self.outputs)), "TPU-MLIR", True
        )

    def error(self, op: Operation, message: str) -> QlowerError:
        place = make_file_location(self.filename, self.line(op), 1)
        return QlowerError(f"{_kind(op)} {self.name(op)!r}: {message}", place)

    def line(self, op: Operation) -> int:
        place = op.location
        if isinstance(place, NameLoc):
            place = place.location
        return place.line.data if isinstance(place, FileLineColLoc) else 0

    def name(self, op: Operation) -> str:
        """The name of an operation's result in the file."""
        if isinstance(op.location, NameLoc):
            return op.location.desc.data
        return f"line {self.line(op)}"

    def check_module(self) -> None:
        given = self.module.attributes
        for name, legal in EXPECTED.items():
            value = _value(given[name]) if name in given else None
            if value not in legal:
                shown = "is missing" if value is None else f"{value!r} is not supported"
                raise QlowerError(
                    f"{name} {shown}; expected {' or '.join(map(repr, legal))}",
                    self.module.location,
                    help="tpuc-opt --convert-top-to-tpu writes what is read here"
                    if name == "module.state"
                    else None,
                )

    def read_weights(self) -> None:
        given = self.module.attributes.get(WEIGHT_FILE)
        name = given.data if isinstance(given, StringAttr) else ""
        if Path(name).name != name or not name.endswith(".npz"):
            raise QlowerError(
                f"{WEIGHT_FILE} {name!r} is not supported; expected the name of an .npz"
                " file beside the text",
                self.module.location,
            )
        self.weight_file = beside(self.path, name)
        try:
            data = read_file(self.weight_file)
        except OSError as error:
            raise QlowerError(
                f"cannot read {self.weight_file}: {error.strerror}",
                help=f"{self.path.name} has operations, {name} their weights",
            ) from error
        self.size += len(data)
        self.weights = arrays_of(BytesIO(data), self.weight_file)

    def read(self, op: Operation) -> None:
        kind = _kind(op)
        names = [self.names.get(value, "") for value in op.operands]
        if isinstance(op, ReturnOp):
            self.outputs += [Port(name, "", None) for name in names]
            return
        name = self.name(op)
        results = [name, *(f"{name} {at}" for at in range(1, len(op.results)))]
        if kind == "top.None":
            return
        if not op.results:
            raise self.error(op, "this operation has no result, which is not supported")
        self.names |= dict(zip(op.results, results, strict=False))
        if kind == "top.Input":
            self.inputs.append(self.port(op, name))
        elif kind == "top.Weight":
            self.constants[name] = self.weight(op, name)
        else:
            domain, _, own = kind.partition(".")
            attributes = dict(self.attributes(op))
            operator = domain, own, name, names, results, attributes, kind
            self.nodes.append(Node(self.line(op), *operator))

    def port(self, op: Operation, name: str) -> Port:
        given = op.operands[0].type if len(op.operands) == 1 else None
        if not isa(given, TensorType[Attribute]) or given.element_type != f32:
            raise self.error(op, f"an input of type {given}; expected a tensor of f32")
        return Port(name, "FLOAT", given.get_shape())

    def weight(self, op: Operation, name: str) -> Constant:
        """The numbers of the weights' file in the shape that the text has for them."""
        type = op.results[0].type
        element = type.element_type if isa(type, TensorType[Attribute]) else None
        stored = STORED.get(str(element))
        if stored is None or not isa(type, TensorType[Attribute]):
            raise self.error(op, f"weights of type {type} are not supported")
        shape = type.get_shape()
        for attribute in op.attributes:
            if attribute != OPERATION:
                raise self.error(op, f"attribute {attribute} is not supported")
        if name not in self.weights:
            raise self.error(op, f"{self.weight_file} has no array of this name")
        array = self.weights[name]
        if name in self.constants and self.constants[name].shape != shape:
            raise self.error(op, "weights of this name have two shapes")
        if array.dtype.name.upper() != stored or array.size != math.prod(shape):
            raise self.error(
                op,
                f"{self.weight_file} has {array.dtype} {list(array.shape)}; expected"
                f" {stored.lower()} {list(shape)}",
            )
        return Constant(stored, shape, array.reshape(shape))

    def attributes(self, op: Operation) -> Iterator[tuple[str, AttributeValue]]:
        for name, given in {**op.attributes, **op.properties}.items():
            if name != OPERATION:
                yield name, _value(given)
        type = op.results[0].type if op.results else None
        if isa(type, TensorType[Attribute]):
            yield SHAPE, type.get_shape()
            element = type.element_type
            yield TYPE, str(element)
            if isinstance(element, QuantizedType) and _is_plain(element):
                yield SCALE, element.scale
                yield IS_SIGNED, int(element.signed)


def _is_plain(type: QuantizedType) -> bool:
    """Whether codes of float32 numbers are of 8 bits, all of them, with one scale and
    no zero point."""
    whole = QuantizedType.per_tensor(8, type.signed, 1.0)
    is_one = type.is_per_tensor and type.zero_points == (0,)
    is_whole = type.data.storage == whole.data.storage
    return is_one and is_whole and type.expressed_type == f32


def _kind(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def _value(given: Attribute) -> AttributeValue:
    """A number, a word or a list of numbers; of another attribute its text."""
    match given:
        case IntegerAttr():
            value = given.value.data
            return int(value != 0) if given.type == IntegerType(1) else value
        case FloatAttr():
            return given.value.data
        case StringAttr():
            return given.data
        case UnregisteredAttr():
            # such as #tpu<round_mode HalfUp>
            return given.value.data.strip("<> ").rpartition(" ")[2]
        case ArrayAttr():
            numbers = [_value(one) for one in given.data]
            integers = tuple(one for one in numbers if isinstance(one, int))
            return integers if len(integers) == len(numbers) else str(given)
        case _:
            return str(given)
