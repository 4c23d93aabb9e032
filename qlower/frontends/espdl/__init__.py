"""ESP-DL's `.espdl` files of int8 models, as esp-ppq writes them.

A module computes what ESP-DL computes on the device that the weights lie for, by its
contract: a scale for each channel is the ESP32-P4's, one scale the ESP32-S3's, and
plain weights are the ESP32's. Images have their channels last, as on the device.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.arith import AddiOp
from xdsl.dialects.builtin import IntegerType, ModuleOp, i32

from qlower.diagnostics import QlowerError
from qlower.kept.journal import read_given
from qlower.model.nests import extract, scalar_constant, to_index, widen

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

CODES = 256


def _import_table(node: NodeContext) -> None:
    """The entry of each code, from -128 on."""
    value = node.stored(0, 1, 2)
    entries = node.array(3, "table")
    if entries.shape != (CODES,) or entries.dtype != np.int8:
        raise node.error(
            f"a table of {entries.dtype} {list(entries.shape)} is not supported;"
            f" expected int8 [{CODES}]"
        )
    nest = node.nest(value.type.get_shape())
    table = nest.emitter.constant(entries, IntegerType(8))
    code = nest.input(node.plain(value), range(nest.parallel))
    middle = nest.add(scalar_constant(CODES // 2, i32)).result
    index = nest.add(AddiOp(widen(nest, code, i32), middle)).result
    (codes,) = nest.build([extract(nest, table, [to_index(nest, index)])])
    ssa = node.meant(codes, node.quantization(4, 5), "codes")
    node.define(Value(ssa, value.order))


TABLE = takes(f"{quantized('x')}, table, {RESULT}", _import_table)


def _framework(contract: str) -> Framework:
    def read(graph: Graph, options: ImportOptions) -> Reading:
        return Reading(contract, {}, lambda: [REMARKS[contract]])

    importers = {**IMPORTERS, (DOMAIN, "LUT"): TABLE}
    return Framework(
        importers,
        read,
        unquantized="the model isn't quantized: esp-ppq does that",
        computed="esp-ppq folds what can be computed before the model runs",
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
