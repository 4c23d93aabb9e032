"""Models that PyTorch holds, without a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from io import BytesIO

from qlower.diagnostics import QlowerError
from qlower.model import Model

from .fx import GraphModule, TorchTensor, import_fx
from .import_options import ImportOptions
from .load import named


def from_torch(
    program: object,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    outputs: Sequence[str] = (),
) -> Model:
    """The model of a `torch.export.ExportedProgram` that PT2E quantized.

    It is the model of the file that `torch.export.save` writes of it, with the same
    options as of `load`. Raises `QlowerError` for another object, and as `load` does.
    """
    from .pt2 import import_pt2

    export = import_module("torch.export")
    if not isinstance(program, export.ExportedProgram):
        raise QlowerError(
            f"from_torch takes an ExportedProgram, not {type(program).__name__}",
            help="torch.export.export(model, inputs) gives one; modules that FX"
            " converted go to from_fx",
        )
    written = BytesIO()
    export.save(program, written)
    options = ImportOptions.of(shapes, outputs)
    module = import_pt2(written.getvalue(), name="exported program", options=options)
    return named(module, None)


def from_fx(
    module: GraphModule, *examples: TorchTensor, outputs: Sequence[str] = ()
) -> Model:
    """The model of a module that `convert_fx` made for the engine that is set.

    It runs once on the examples, whose shapes are those of its inputs. `outputs` cuts
    the model, as in `load`. Raises `QlowerError` for what isn't supported, by name.
    """
    return named(import_fx(module, examples, ImportOptions.of(None, outputs)), None)
