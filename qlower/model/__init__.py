"""A model in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qlower.model.layers import full_result_names
from qlower.model.signature import Signature, TensorSpec


@dataclass(frozen=True)
class Model:
    """A quantized network: a verified module, usually at the qnn level.

    `path` is the file it came from, if any.
    """

    module: ModuleOp
    path: Path | None = None

    @cached_property
    def signature(self) -> Signature:
        """Inputs and outputs."""
        return Signature.of_module(self.module)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """What the model takes: name, shape, dtype, scale and zero point of each."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """What the model gives: name, shape, dtype, scale and zero point of each."""
        return self.signature.outputs

    @cached_property
    def full_names(self) -> dict[str, str]:
        """The names that the file has for layers' results, by their short names."""
        return full_result_names(self.module)

    def __str__(self) -> str:
        lines = [f"model {self.path or ''}".rstrip()]
        lines += [f"  input {spec}" for spec in self.inputs]
        lines += [f"  output {spec}" for spec in self.outputs]
        return "\n".join(lines)
