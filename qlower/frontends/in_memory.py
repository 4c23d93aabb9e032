"""Models that PyTorch holds, without a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from io import BytesIO

from qlower.diagnostics import QlowerError
from qlower.model import Model

from .fx import GraphModule, TorchTensor, import_fx, trace_eager
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
            " converted go to from_fx, those of eager mode to from_eager",
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
    if not isinstance(module, import_module("torch.fx").GraphModule):
        raise QlowerError(
            f"from_fx takes a GraphModule, not {type(module).__name__}",
            help="convert_fx gives one; modules that torch.ao.quantization.convert"
            " made (eager mode) go to from_eager",
        )
    return named(import_fx(module, examples, ImportOptions.of(None, outputs)), None)


def from_eager(
    module: object, *examples: TorchTensor, outputs: Sequence[str] = ()
) -> Model:
    """Return the model of a module that `torch.ao.quantization.convert` quantized.

    That is PyTorch's eager mode, with QuantStub and DeQuantStub. The module is traced
    by torch.fx and runs once on the examples, whose shapes are those of its inputs; the
    contract is that of the engine that is set. `outputs` cuts the model, as in `load`.
    Raises `QlowerError` for a module that can't be traced, and for what isn't
    supported, by name.
    """
    graph = trace_eager(module)
    return named(import_fx(graph, examples, ImportOptions.of(None, outputs)), None)
