"""TFLite files as qnn modules.

What is imported is what LiteRT's kernels would compute: shapes, scales, zero points,
weights and fused activations go over unchanged, SAME padding becomes explicit. Every
TFLite operator yields exactly one layer named after its (first) result; operations
that only help have a suffix, such as "/reshape".
"""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qlower.diagnostics import QlowerError
from qlower.kept.journal import read_given

from ..import_options import ImportOptions
from .graph import build_module, find_problems
from .nibbles import unpack_weights
from .reader import read_model
from .schema import Model
from .signatures import of_signature

__all__ = ["check_tflite", "import_tflite"]


def import_tflite(
    path_or_bytes: str | Path | bytes,
    *,
    name: str,
    options: ImportOptions | None = None,
) -> ModuleOp:
    """Read a quantized TFLite model into a module at the qnn level.

    `name` is the file name of locations and messages; `options` chooses a signature,
    fixes shapes and cuts the model. Raises `QlowerError` when the
    file can't be read, is damaged, or has something that is not supported; the message
    names operator, tensor, value and the legal range.
    """
    options = options or ImportOptions()
    return build_module(_read(path_or_bytes, name, options), options)


def check_tflite(path: Path, options: ImportOptions) -> list[QlowerError]:
    """Everything that keeps `import_tflite` from reading a file."""
    return find_problems(_read(path, str(path), options), options)


def _read(
    path_or_bytes: str | Path | bytes, name: str, options: ImportOptions
) -> Model:
    model = read_model(read_given(path_or_bytes), name)
    return unpack_weights(of_signature(model, options.signature))
