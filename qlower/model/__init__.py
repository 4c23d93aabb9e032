"""A model in memory. Importing these names doesn't load xDSL; using a model does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from qlower.diagnostics import QlowerError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from qlower.model.extract import LayerIndex
    from qlower.model.signature import Signature, TensorSpec
    from qlower.model.state import State


@dataclass(frozen=True, repr=False)
class Model:
    """A quantized network: a verified module, usually at the qnn level.

    `path` is the file it came from, if any, and `signature_name` the one of a TFLite
    file's signatures by which it was asked for.
    """

    module: ModuleOp
    path: Path | None = None
    signature_name: str | None = None

    @cached_property
    def signature(self) -> Signature:
        """Inputs and outputs."""
        from qlower.model.entry import signature_of

        return signature_of(self.module)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The model's inputs: name, shape, dtype, scale and zero point of each."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The model's outputs: name, shape, dtype, scale and zero point of each."""
        return self.signature.outputs

    def check_runs_elsewhere(self) -> None:
        """Raises QlowerError for a named signature of a TFLite file: other systems run
        a file's first."""
        if self.signature_name is not None:
            raise QlowerError(
                f"{self.path} is read by its signature {self.signature_name!r}, and "
                "other systems run a file's first"
            )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model as MLIR text, which `load` reads back, bit for bit."""
        from qlower.files.replacing import replacing
        from qlower.model.contract_files import text_in

        file = Path(path)
        with replacing(file) as stream:
            stream.write(text_in(self.module, str(file.parent)).encode())

    def new_state(self) -> State:
        """A new state, as it is before the first call."""
        from qlower.model.state import State

        return State(self.signature.states)

    @cached_property
    def full_names(self) -> dict[str, str]:
        """The names that the file has for layers' results, by their short names."""
        from qlower.model.layers import full_result_names

        return full_result_names(self.module)

    @cached_property
    def index(self) -> LayerIndex:
        """The layers by name."""
        from qlower.model.extract import LayerIndex

        return LayerIndex(self.module)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the bits of an imported model: the session of the other system
        that has the same bits, and the operators that aren't computed on integers."""
        from xdsl.dialects.builtin import ArrayAttr, StringAttr
        from xdsl.utils.hints import isa

        from qlower.dialects.qnn.attributes import REMARKS

        given = self.module.attributes.get(REMARKS)
        if not isa(given, ArrayAttr[StringAttr]):
            return ()
        return tuple(text.data for text in given)

    def __str__(self) -> str:
        lines = [f"model {self.path or ''}".rstrip()]
        lines += [f"  input {spec}" for spec in self.inputs]
        lines += [f"  output {spec}" for spec in self.outputs]
        lines += [f"  state {spec}" for spec in self.signature.states]
        lines.append(f"  {self._layers}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from qlower.model.tables import port_table

        title = str(self.path or "model")
        return port_table(title, self.signature, [self._layers]).render("html")

    @property
    def _layers(self) -> str:
        """The number of layers of each kind: `3 layers: 2 linear, 1 reshape`."""
        from qlower.model.layers import layers
        from qlower.tables.table import counted

        kinds = Counter(op.name.split(".")[-1] for op in layers(self.module))
        each = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
        return f"{counted(kinds.total(), 'layer')}{each and f': {each}'}"
