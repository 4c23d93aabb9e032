"""ESP-DL's `.espdl` files of int8 and int16 models, as esp-ppq writes them.

A module computes what ESP-DL computes on the device that the weights lie for, by its
contract: a scale for each channel is the ESP32-P4's, one scale the ESP32-S3's, and
plain weights are the ESP32's. Images have their channels last, as on the device.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects.arith import AddiOp, MaxSIOp, TruncIOp
from xdsl.dialects.builtin import IntegerType, ModuleOp, i32, i64
from xdsl.ir import SSAValue

from qlower.diagnostics import QlowerError
from qlower.dialects.quant import quantized_element
from qlower.emit.inline_rule import call_function
from qlower.kept.journal import read_given
from qlower.model.nests import Nest, extract, scalar_constant, to_index, widen

from ..entry import RESULT, quantized, takes
from ..format import Format, Source
from ..graph.context import NodeContext
from ..graph.importer import Framework, Reading, build_module, find_problems
from ..graph.nodes import Graph
from ..graph.operators import IMPORTERS
from ..graph.schema import Model
from ..graph.values import Value
from ..import_options import ImportOptions
from .reader import DOMAIN, read_content
from .translating import model_of

__all__ = ["FORMAT"]


def _import_table(node: NodeContext, contract: str) -> None:
    """The entry of each code, from the least one on. Tables of words have one for each
    2^n codes and one more, and a device takes the nearest as it rounds."""
    value = node.stored(0, 1, 2)
    entries = node.array(3, "table")
    bits = quantized_element(value.ssa.type).storage_width
    sizes = {256: 0} if bits == 8 else {(1 << bits - n) + 1: n for n in range(bits)}
    if entries.dtype.itemsize * 8 != bits or entries.size not in sizes:
        raise node.error(
            f"a table of {entries.dtype} {list(entries.shape)} is not supported;"
            f" expected {'int8 [256]' if bits == 8 else 'int16 [2^n + 1]'}"
        )
    nest = node.nest(value.type.get_shape())
    table = nest.emitter.constant(entries, IntegerType(bits))
    code = nest.input(node.plain(value), range(nest.parallel))
    middle = nest.add(scalar_constant(1 << bits - 1, i32)).result
    place = nest.add(AddiOp(widen(nest, code, i32), middle)).result
    if sizes[entries.size]:
        places = nest.add(scalar_constant(sizes[entries.size], i64)).result
        wide = widen(nest, place, i64)
        wide = call_function(nest, contract, "round_shift", wide, places)
        place = nest.add(TruncIOp(wide, i32)).result
    _store(node, nest, extract(nest, table, [to_index(nest, place)]), value)


def _import_relu(node: NodeContext) -> None:
    """The larger one of a code and 0, where input and result have one scale."""
    value = node.stored(0, 1, 2)
    nest = node.nest(value.type.get_shape())
    code = nest.input(node.plain(value), range(nest.parallel))
    zero = nest.add(scalar_constant(0, code.type)).result
    _store(node, nest, nest.add(MaxSIOp(code, zero)).result, value)


def _store(node: NodeContext, nest: Nest, code: SSAValue, like: Value) -> None:
    codes = nest.build_one(code)
    numbers = range(len(node.node.inputs))
    ssa = node.meant(codes, node.quantization(*numbers[-2:]), "codes")
    node.define(Value(ssa, like.order))


def _framework(contract: str) -> Framework:
    def read(graph: Graph, options: ImportOptions) -> Reading:
        return Reading(contract, lambda: [REMARKS[contract]])

    build = partial(_import_table, contract=contract)
    importers = {
        **IMPORTERS,
        (DOMAIN, "LUT"): takes(f"{quantized('x')}, table, {RESULT}", build),
        (DOMAIN, "Relu"): takes(f"{quantized('x')}, {RESULT}", _import_relu),
    }
    return Framework(
        importers,
        read,
        unquantized="the model isn't quantized: esp-ppq does that",
        computed="esp-ppq folds what can be computed before the model runs",
        storages={"INT8": (8, True), "INT16": (16, True)},
    )


REMARKS = {
    "esp-dl-p4": "weights have a scale for each channel, as for the ESP32-P4",
    "esp-dl-s3": "weights have one scale, as for the ESP32-S3; an older file for the"
    " ESP32-P4 has that, too: --contract esp-dl-p4",
    "esp-dl-esp32": "weights lie as for a device without a vector unit (the ESP32)",
}


def _read(source: Source, name: str, options: ImportOptions) -> tuple[Model, str]:
    """The model of a file, and its contract."""
    return model_of(read_content(read_given(source), name), name)


def _build(read: tuple[Model, str], options: ImportOptions) -> ModuleOp:
    model, contract = read
    return build_module(model, options, _framework(contract))


def _problems(read: tuple[Model, str], options: ImportOptions) -> list[QlowerError]:
    model, contract = read
    return find_problems(model, options, _framework(contract))


FORMAT = Format(_read, _build, _problems)
