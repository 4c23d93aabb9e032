"""Train a linear classifier of digits, quantize it as ONNX Runtime does, write it.

    python examples/one-answer/make.py

`classifier.onnx` is in QDQ form: uint8 pixels, int8 weights of one scale, uint8 scores.
`nine.npy` has the pixels of the held-out image whose digit depends on the machine.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
DIGITS = HERE.parent / "digits"
TRAINED = 240
NINE = 322


def train(pixels: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights [pixel, digit] and biases by ridge regression on codes of -1 and 1."""
    ones = np.c_[pixels / 255, np.ones(len(pixels))]
    wanted = 2 * np.eye(10)[labels] - 1
    found = np.linalg.solve(ones.T @ ones + np.eye(65), ones.T @ wanted)
    return found[:64], found[64]


def classifier(pixels: np.ndarray, labels: np.ndarray) -> onnx.ModelProto:
    """The classifier with all numbers quantized."""
    weights, biases = train(pixels[:TRAINED], labels[:TRAINED])
    x_scale = np.float32(1 / 255)
    w_scale = np.float32(np.abs(weights).max() / 127)
    codes = np.rint(weights / w_scale).astype(np.int8)
    bias = np.rint(biases / (x_scale * w_scale)).astype(np.int32)
    scores = (pixels @ codes.astype(np.int64) + bias) * (x_scale * w_scale)
    y_scale = np.float32((scores.max() - scores.min()) / 255)
    y_zero = np.uint8(np.rint(-scores.min() / y_scale))
    constants = {
        "x_scale": x_scale,
        "x_zero": np.uint8(0),
        "w": codes,
        "w_scale": w_scale,
        "w_zero": np.int8(0),
        "b": bias,
        "b_scale": np.float32(x_scale * w_scale),
        "b_zero": np.int32(0),
        "y_scale": y_scale,
        "y_zero": y_zero,
    }
    nodes = [
        helper.make_node("DequantizeLinear", [n, f"{n}_scale", f"{n}_zero"], [r])
        for n, r in (("x", "pixels"), ("w", "weights"), ("b", "biases"))
    ]
    nodes += [
        helper.make_node("Gemm", ["pixels", "weights", "biases"], ["real"], "scores"),
        helper.make_node("QuantizeLinear", ["real", "y_scale", "y_zero"], ["digit"]),
    ]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 64])],
        [helper.make_tensor_value_info("digit", TensorProto.UINT8, [1, 10])],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


def main() -> None:
    stored = np.load(DIGITS / "test_images.npy").reshape(-1, 64)
    pixels = stored.astype(np.int64) + 128
    labels = np.load(DIGITS / "test_labels.npy")
    model = classifier(pixels, labels)
    onnx.save(model, HERE / "classifier.onnx")
    np.save(HERE / "nine.npy", pixels[NINE : NINE + 1].astype(np.uint8))


if __name__ == "__main__":
    main()
