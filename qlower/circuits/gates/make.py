"""A model as gates: made, listed by layers, and written."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.traits import SymbolTable

from qlower.circuits.gates import evaluate_gates
from qlower.circuits.gates.functions import gate_interpreter
from qlower.circuits.gates.wires import KINDS, Gates, Wires
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.frontends.load import ModelOrPath
from qlower.interp import Array
from qlower.interp.values import InterpretationError, Poison
from qlower.tables.table import Column, Table, Tabled


@dataclass(frozen=True)
class LayerGates:
    """The number of gates of each kind in a layer, and its widest wire."""

    layer: str
    counts: dict[str, int]
    bits: int


@dataclass(frozen=True, repr=False)
class ModelGates(Tabled[LayerGates]):
    """The gates of a model by a contract, and which of the wires are its outputs."""

    contract: str
    gates: Gates
    outputs: Sequence[Wires]

    @property
    def bits(self) -> Array:
        """The proved bits of each wire, negative for a number with a sign."""
        low, high = self.gates.all_ends()
        exponents = np.frexp(np.maximum(high, ~low).astype(np.float64) + 0.5)[1]
        return np.where(low < 0, -exponents - 1, exponents).astype(np.int8)

    @property
    def table(self) -> Table[LayerGates]:
        """A line for each layer."""
        bits, rows, at = np.abs(self.bits), dict[str, LayerGates](), 0
        for group in self.gates.groups:
            end = at + len(group.a)
            row = rows.setdefault(
                group.layer, LayerGates(group.layer, dict.fromkeys(KINDS, 0), 0)
            )
            row.counts[group.kind] += len(group.a)
            most = max(row.bits, int(bits[at:end].max(initial=0)))
            rows[group.layer] = LayerGates(row.layer, row.counts, most)
            at = end
        del rows[""]  # inputs
        columns: list[Column[LayerGates]] = [
            Column("layer", "layer", lambda row: row.layer, least=12),
            *(_column(kind) for kind in KINDS[2:]),
            Column("widest wire", "bits", lambda row: row.bits),
        ]
        return Table(
            f"gates by {self.contract}",
            list(rows.values()),
            columns,
            "all",
            notes=[f"{self.gates.count:,} wires; widths in bits."],
            whole="--json",
        )

    def arrays(self) -> dict[str, Array]:
        """The arrays of the file, as `evaluate_gates.py` describes them."""
        groups = self.gates.groups
        layers = list(dict.fromkeys(group.layer for group in groups))
        return {
            "format": np.array(evaluate_gates.FORMAT),
            "kinds": np.array([KINDS.index(one.kind) for one in groups], np.uint8),
            "sizes": np.array([len(one.a) for one in groups], np.int64),
            "layers": np.array([layers.index(one.layer) for one in groups], np.int32),
            "names": np.array(layers),
            "a": np.concatenate([one.a for one in groups]),
            "b": np.concatenate([one.b for one in groups]),
            "values": np.array(self.gates.values, np.int64),
            "bits": self.bits,
            **{f"output{n}": one for n, one in enumerate(self.outputs)},
        }

    def write(self, folder: Path, name: str) -> list[str]:
        """Write the file of gates and its reader, and give their names."""
        with zipfile.ZipFile(
            folder / f"{name}.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=4
        ) as archive:
            for key, array in self.arrays().items():
                data = io.BytesIO()
                np.save(data, array)
                archive.writestr(zipfile.ZipInfo(f"{key}.npy"), data.getvalue())
        reader = Path(evaluate_gates.__file__).read_bytes()
        (folder / "evaluate_gates.py").write_bytes(reader)
        return [f"{name}.npz", "evaluate_gates.py"]


def _column(kind: str) -> Column[LayerGates]:
    return Column(kind, kind, lambda row: row.counts[kind], sums=True)


def model_gates(model: ModelOrPath, contract: str | None = None) -> ModelGates:
    """The gates of a whole model.

    Raises `QlowerError` for an operation that isn't of integers, or that integers of 63
    bits don't hold, and for a model that needs too many gates.
    """
    compilation = Compilation(model, contract)
    module, gates = compilation.arith, Gates()
    function = SymbolTable.lookup_symbol(module, "main")
    assert isinstance(function, FuncOp)
    given: list[Wires] = []
    for spec in compilation.signature.inputs:
        kept = spec.numpy_dtype
        if kept.kind not in "iu" or compilation.signature.states:
            raise QlowerError(
                f"input {spec.name} holds {kept}, or the model keeps a state: gates are"
                " of integers that are inputs"
            )
        signed = np.iinfo(np.dtype(f"i{kept.itemsize}"))
        given.append(gates.inputs(spec.shape, int(signed.min), int(signed.max)))
    try:
        found = gate_interpreter(module, gates).call_op(function, tuple(given))
    except InterpretationError as error:
        why = error.message.replace(
            "has no implementation in the interpreter", "is no operation on integers"
        )
        raise QlowerError(
            f"layer {gates.layer} has no gates: {why}",
            help="--contract tflm computes in integers; qlower contracts list has "
            "others",
        ) from error
    except Poison as poison:
        raise QlowerError(f"layer {gates.layer} has no gates: it {poison}") from None
    return ModelGates(compilation.contract or "", gates, found)
