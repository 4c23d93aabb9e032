"""Systems that contracts are held against: LiteRT, ONNX Runtime and PyTorch, where
installed, on the model itself or on another one, such as the float model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array
from qlower.frontends.tflite.reader import read_model
from qlower.frontends.tflite.variables import keeps_state
from qlower.model.signature import Signature, TensorSpec
from qlower.process.extras import install_line

SYSTEMS = ("litert", "onnxruntime")
"""Systems that run the model's own file."""


@dataclass(frozen=True)
class LiveReference:
    """A model's file in LiteRT (`.tflite`), ONNX Runtime (`.onnx`) or PyTorch (`.pt2`,
    of real numbers).

    `inputs` are those of the validated model: their stored values become the file's, or
    real numbers if it takes those, with channels first if it has them first. ONNX
    Runtime doesn't report what stored integers mean: `signature` does, the file's as it
    is read here.
    """

    path: Path
    inputs: tuple[TensorSpec, ...]
    signature: Signature | None = None

    def __getstate__(self) -> dict[str, object]:
        names = ("path", "inputs", "signature")
        return {name: getattr(self, name) for name in names}

    @property
    def system(self) -> str:
        """The system's name."""
        return _SESSIONS[self.path.suffix][0]

    @property
    def name(self) -> str:
        """The system, and the file."""
        return f"{self.path.name} ({self.system})"

    @property
    def output(self) -> TensorSpec:
        """The first output's values."""
        return self._session().output

    @property
    def is_of_unknown_integers(self) -> bool:
        """Whether some input or the output may be quantized, and nothing says how."""
        session = self._session()
        ports = (*session.inputs, session.output)
        return any(port.dtype in _NARROW and not port.scales for port in ports)

    def run(self, inputs: Sequence[Array]) -> Array:
        """The first output for stored inputs."""
        return self._session().run(self.converted(inputs))

    def converted(self, inputs: Sequence[Array]) -> list[Array]:
        """The stored inputs as the file takes them."""
        pairs = zip(self.inputs, self._session().inputs, inputs, strict=True)
        return [_converted(own, other, x) for own, other, x in pairs]

    def _session(self) -> _Session:
        local = self._local
        if not hasattr(local, "session"):
            local.session = _SESSIONS[self.path.suffix][1](self.path)
            if len(local.session.inputs) != len(self.inputs):
                raise QlowerError(
                    f"{self.path} takes {len(local.session.inputs)} inputs, the model "
                    f"takes {len(self.inputs)}"
                )
            if self.signature is not None:
                local.session.read_as(self.signature)
        return local.session

    @cached_property
    def _local(self) -> Any:
        """A session a thread: LiteRT's interpreters are not to be shared."""
        return threading.local()


class _LiteRt:
    """LiteRT's reference kernels."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._interpreter = self._start()
        self._is_stream = keeps_state(read_model(path.read_bytes(), str(path)))
        self._details = self._interpreter.get_input_details()
        self.inputs = [_lite_spec(detail) for detail in self._details]
        self._output = self._interpreter.get_output_details()[0]
        self.output = _lite_spec(self._output)

    def _start(self) -> Any:
        module = _import("ai_edge_litert.interpreter", "litert")
        try:
            interpreter: Any = module.Interpreter(
                model_path=str(self._path),
                experimental_op_resolver_type=module.OpResolverType.BUILTIN_REF,
            )
            interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise QlowerError(f"LiteRT can't run {self._path}: {error}") from error
        return interpreter

    def read_as(self, signature: Signature) -> None:
        """Do nothing: the file itself says what its integers mean."""

    def run(self, inputs: Sequence[Array]) -> Array:
        if self._is_stream:  # each row is a first call
            self._interpreter = self._start()
        for detail, array in zip(self._details, inputs, strict=True):
            self._interpreter.set_tensor(detail["index"], array)
        self._interpreter.invoke()
        return np.array(self._interpreter.get_tensor(self._output["index"]))


class _OnnxRuntime:
    """ONNX Runtime on one thread; int8 is computed in integers where it can be."""

    def __init__(self, path: Path) -> None:
        module = _import("onnxruntime", "peers")
        options = module.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.qdqisint8allowed", "1")
        try:
            self._session: Any = module.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # its own classes, which aren't public
            raise QlowerError(f"ONNX Runtime can't run {path}: {error}") from error
        self.inputs = [_onnx_spec(port) for port in self._session.get_inputs()]
        self.output = _onnx_spec(self._session.get_outputs()[0])

    def read_as(self, signature: Signature) -> None:
        """Take the meaning of stored integers from `signature`."""
        pairs = zip(self.inputs, signature.inputs, strict=True)
        self.inputs = [_with_scale(port, read) for port, read in pairs]
        self.output = _with_scale(self.output, signature.outputs[0])

    def run(self, inputs: Sequence[Array]) -> Array:
        pairs = zip(self.inputs, inputs, strict=True)
        feed = {spec.name: array for spec, array in pairs}
        return np.asarray(self._session.run(None, feed)[0])


class _Torch:
    """PyTorch on an exported program whose inputs and output are real numbers."""

    def __init__(self, path: Path) -> None:
        self._torch = _import("torch", "torch")
        try:
            program: Any = self._torch.export.load(str(path))
        except Exception as error:  # zipfile's, json's and its own
            raise QlowerError(f"PyTorch can't read {path}: {error}") from error
        self._module: Any = program.module()
        nodes = {node.name: node for node in program.graph.nodes}
        signature = program.graph_signature
        self.inputs = [_torch_spec(nodes[name]) for name in signature.user_inputs]
        self.output = _torch_spec(nodes[signature.user_outputs[0]])

    def read_as(self, signature: Signature) -> None:
        """Nothing: there are no integers."""

    def run(self, inputs: Sequence[Array]) -> Array:
        with self._torch.no_grad():
            found: Any = self._module(*map(self._torch.from_numpy, inputs))
            outputs: list[Any] = [*found] if isinstance(found, tuple) else [found]
        return np.array(outputs[0].numpy())


_Session = _LiteRt | _OnnxRuntime | _Torch

_SESSIONS: dict[str, tuple[str, type[_Session]]] = {
    ".onnx": ("onnxruntime", _OnnxRuntime),
    ".pt2": ("torch", _Torch),
    ".tflite": ("litert", _LiteRt),
}
"""The system that runs a kind of file, by name, and how."""


def _converted(own: TensorSpec, other: TensorSpec, stored: Array) -> Array:
    """A stored input as the other system takes it."""
    array = stored
    kept_as = (own.dtype, own.scales, own.zero_points)
    if other.scales and kept_as != (other.dtype, other.scales, other.zero_points):
        array = other.quantize(own.dequantize(stored))
    elif np.dtype(other.dtype).kind == "f" and own.scales:
        array = own.dequantize(stored)
    shape = tuple(array.shape)
    if shape != other.shape and len(shape) == 4:
        first = (shape[0], shape[3], shape[1], shape[2])
        if first == other.shape:
            array = np.moveaxis(array, -1, 1)
    if array.size != np.prod(other.shape):
        raise QlowerError(
            f"input {own.name!r} has shape {list(own.shape)}, {other.name!r} of the "
            f"reference {list(other.shape)}"
        )
    return np.ascontiguousarray(array.reshape(other.shape), other.dtype)


def _lite_spec(detail: Any) -> TensorSpec:
    scale, zero_point = detail["quantization"]
    is_quantized = scale != 0
    return TensorSpec(
        str(detail["name"]),
        tuple(int(size) for size in detail["shape"]),
        np.dtype(detail["dtype"]).name,
        (float(scale),) if is_quantized else (),
        (int(zero_point),) if is_quantized else (),
    )


def _onnx_spec(port: Any) -> TensorSpec:
    shape = tuple(size if isinstance(size, int) else 1 for size in port.shape)
    element = str(port.type).removeprefix("tensor(").removesuffix(")")
    names = {"float": "float32", "double": "float64"}
    return TensorSpec(str(port.name), shape, names.get(element, element))


def _torch_spec(node: Any) -> TensorSpec:
    value = node.meta["val"]
    shape = tuple(size if isinstance(size, int) else 1 for size in value.shape)
    return TensorSpec(str(node.name), shape, str(value.dtype).removeprefix("torch."))


_NARROW = frozenset(("int8", "uint8", "int16", "uint16"))
"""Types of ONNX that quantized tensors have."""


def _with_scale(port: TensorSpec, read: TensorSpec) -> TensorSpec:
    """A port of ONNX Runtime, with the meaning of its integers if they are
    quantized."""
    if port.dtype != read.dtype:
        return port
    return replace(port, scales=read.scales, zero_points=read.zero_points)


def _import(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise QlowerError(
            f"{module.partition('.')[0]} is not installed", help=install_line(extra)
        ) from error
