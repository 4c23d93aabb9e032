"""Advice on text in dialects that aren't read."""

from __future__ import annotations

import re

_UNREGISTERED = re.compile(
    r"(?:operation )?'?(?P<dialect>[a-z_]\w*)\.\S+ is not (registered|supported)"
)

_TORCH = (
    "torch-mlir-opt makes TOSA or linalg of it, which are read:"
    " --torch-backend-to-tosa-backend-pipeline"
)
_IREE = (
    "IREE's own levels aren't read; what goes into iree-compile is, if that is TOSA or"
    " linalg in func.func"
)
_LOW = "tensors are read, not buffers: print the model before it is bufferized"

WAYS_OUT = {
    "linalg": "mlir-opt --linalg-generalize-named-ops writes it as linalg.generic",
    "torch": _TORCH,
    "torch_c": _TORCH,
    **dict.fromkeys(
        ("flow", "hal", "iree_input", "iree_linalg_ext", "stream", "util", "vm"), _IREE
    ),
    **dict.fromkeys(("affine", "bufferization", "llvm", "vector"), _LOW),
    **dict.fromkeys(("tf", "tfl"), "the .tflite file itself is read"),
    "onnx": "the .onnx file itself is read",
    "chlo": "stablehlo-opt --chlo-legalize-to-stablehlo takes it apart",
    "mhlo": "mlir-hlo-opt --hlo-legalize-to-stablehlo makes StableHLO of it",
}
"""Advice, by dialect."""


def way_out(message: str) -> str | None:
    """Advice on a parser's message, if it is about a known dialect."""
    found = _UNREGISTERED.match(message)
    return None if found is None else WAYS_OUT.get(found["dialect"])
