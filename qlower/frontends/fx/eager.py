"""Modules that PyTorch quantized in eager mode, as torch.fx traces them."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from qlower.diagnostics import QlowerError

from .traced import GraphModule

QUANTIZED = ("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized")
"""Where the modules are that `torch.ao.quantization.convert` puts in."""


def trace_eager(module: object) -> GraphModule:
    """Return the graph of an eager module; torch's own modules become one node each.

    Raises QlowerError for an object that isn't a module, has no quantized layer, or
    branches on values, which no graph can express.
    """
    torch, fx = import_module("torch"), import_module("torch.fx")
    if not isinstance(module, torch.nn.Module):
        raise QlowerError(f"from_eager takes a module, not {type(module).__name__}")
    if isinstance(module, torch.jit.ScriptModule):
        raise QlowerError(
            "from_eager takes a module in Python, not a ScriptModule",
            help="pass what was given to torch.jit.script or torch.jit.trace",
        )
    if not is_quantized(module):
        raise QlowerError(
            f"{type(module).__name__} has no quantized layer",
            help="torch.ao.quantization.convert quantizes a module that was prepared"
            " and calibrated",
        )
    try:
        traced = fx.symbolic_trace(module)
    except (fx.proxy.TraceError, NameError, RuntimeError, TypeError) as error:
        raise QlowerError(
            f"torch.fx can't trace {type(module).__name__}: {error}",
            help="a forward method may compute with shapes, but not branch on values",
        ) from error
    return cast(GraphModule, traced)


def is_quantized(module: object) -> bool:
    """Return whether a module has layers that eager mode quantized."""
    parts = getattr(module, "modules", tuple)()
    return any(type(part).__module__.startswith(QUANTIZED) for part in parts)
