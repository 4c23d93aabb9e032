"""The real weights that a model was quantized from, in a float model's file."""

from __future__ import annotations

from importlib import import_module
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.frontends.tflite.reader import read_model
from qlower.model import Model
from qlower.model.signature import Array
from qlower.model.weights import WeightSpec, weight_specs
from qlower.process.extras import install_line

FARTHEST = 0.1
"""The largest distance of real weights from stored ones: the root of a noise share."""


def float_parameters(model: Model, path: Path) -> dict[str, Array]:
    """The real weights and biases of a `.tflite`, `.onnx` or `.pt2` file, by name.

    Each is the tensor of the file whose values are nearest to the stored ones, in any
    order of dimensions. Raises QlowerError for a weight that the file doesn't have: a
    batch norm that isn't folded changes them. A bias that it doesn't have is left.
    """
    tensors = [array for array in float_arrays(path) if array.size > 1]
    found: dict[str, Array] = {}
    for spec in weight_specs(model.module):
        nearest, distance = _nearest(spec, tensors)
        if nearest is not None and distance <= FARTHEST:
            found[spec.name] = nearest
        elif spec.role == "weight":
            raise QlowerError(
                f"{path} has no weights that {spec.name} was quantized from",
                help="batch norms have to be folded into the weights of both models",
            )
    return found


def float_arrays(path: Path) -> list[Array]:
    """All tensors of real numbers that a file holds."""
    try:
        if path.suffix == ".tflite":
            file = read_model(path.read_bytes(), str(path))
            return [
                np.frombuffer(data, np.float32).reshape(tensor.shape)
                for tensor in file.tensors
                if tensor.type == "FLOAT32" and (data := file.buffers[tensor.buffer])
            ]
        if path.suffix == ".onnx":
            onnx: Any = import_module("onnx")
            graph = onnx.load(str(path)).graph
            constants = [
                attribute.t
                for node in graph.node
                if node.op_type == "Constant"
                for attribute in node.attribute
                if attribute.name == "value"
            ]
            tensors = [*graph.initializer, *constants]
            arrays: list[Array] = [onnx.numpy_helper.to_array(one) for one in tensors]
            return [array for array in arrays if array.dtype == np.float32]
        if path.suffix == ".pt2":
            torch: Any = import_module("torch")
            state = torch.export.load(str(path)).state_dict
            return [one.detach().numpy() for one in state.values()]
    except OSError as error:
        raise QlowerError(f"cannot read {path}: {error.strerror}") from error
    except ImportError:
        extra = path.suffix.removeprefix(".").replace("pt2", "torch")
        raise QlowerError(f"{path} can't be read", help=install_line(extra)) from None
    raise QlowerError(f"{path} is no .tflite, .onnx or .pt2 file")


def _nearest(spec: WeightSpec, tensors: list[Array]) -> tuple[Array | None, float]:
    """The tensor nearest to stored values, as they lie, and its distance."""
    best: tuple[Array | None, float] = None, np.inf
    real, shape = spec.real, spec.stored.shape
    power = float(np.linalg.norm(real)) or 1.0
    for tensor in tensors:
        if tensor.size != real.size:
            continue
        for order in permutations(range(tensor.ndim)):
            turned = tensor.transpose(order)
            if _plain(turned.shape) != _plain(shape):
                continue
            turned = turned.reshape(shape).astype(np.float64)
            distance = float(np.linalg.norm(turned - real)) / power
            if distance < best[1]:
                best = turned, distance
    return best


def _plain(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)
