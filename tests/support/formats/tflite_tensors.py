"""The tensor names of a `.tflite` file, whose recorded layers go by tensor index."""

from __future__ import annotations

from qlower.frontends.tflite.reader import read_model


def tensor_names(data: bytes) -> list[str]:
    """The name of every tensor of the model, by its index."""
    return [tensor.name for tensor in read_model(data, "model.tflite").tensors]
