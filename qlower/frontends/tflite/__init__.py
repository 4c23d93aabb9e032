"""TFLite files as qnn modules.

What is imported is what LiteRT's kernels would compute: shapes, scales, zero points,
weights and fused activations go over unchanged, SAME padding becomes explicit. Every
TFLite operator yields exactly one layer named after its (first) result; operations
that only help have a suffix, such as "/reshape".
"""

from __future__ import annotations

from qlower.kept.journal import read_given

from ..format import Format, Source
from ..import_options import ImportOptions
from .graph import build_module, find_problems
from .nibbles import unpack_weights
from .reader import read_model
from .schema import Model
from .signatures import of_signature

__all__ = ["FORMAT", "import_tflite"]


def _read(source: Source, name: str, options: ImportOptions) -> Model:
    model = read_model(read_given(source), name)
    return unpack_weights(of_signature(model, options.signature))


FORMAT = Format(_read, build_module, find_problems)
import_tflite = FORMAT.module
