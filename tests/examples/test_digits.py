"""The digit classifier in examples/digits: the committed model, and how it is made."""

from __future__ import annotations

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

import qlower
from qlower.cli import main
from qlower.compilation.compilation import Compilation
from qlower.model.layers import layers
from qlower.model.printing import exact_module
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
IMAGES = [np.load(DIGITS / "images" / f"{digit}.npy") for digit in range(10)]


@pytest.fixture(scope="module")
def model() -> qlower.Model:
    return qlower.load(DIGITS / "digits.mlir")


@pytest.fixture
def module_of() -> Any:
    """Import a script of the example, as it imports its neighbours."""
    sys.path.insert(0, str(DIGITS))
    yield import_module
    sys.path.remove(str(DIGITS))
    for name in ("network", "quantize", "train"):
        sys.modules.pop(name, None)


def test_the_model_is_verified_and_small(model: qlower.Model) -> None:
    verify_module(model.module)
    assert [op.name for op in layers(model.module)] == [
        "qnn.conv2d",
        "qnn.depthwise_conv2d",
        "qnn.conv2d",
        "qnn.max_pool2d",
        "qnn.reshape",
        "qnn.linear",
        "qnn.softmax",
    ]
    data = [DIGITS / "digits.mlir", *DIGITS.rglob("*.npy")]
    assert sum(file.stat().st_size for file in data) < 50_000


def test_the_text_survives_printing(model: qlower.Model) -> None:
    text = exact_module(model.module)
    assert exact_module(parse_module(text)) == text


def test_inputs_and_outputs(model: qlower.Model) -> None:
    (image,), (probabilities,) = model.inputs, model.outputs
    assert (image.name, image.shape, image.dtype) == ("image", (1, 8, 8, 1), "int8")
    assert image.zero_point == -128
    assert probabilities.name == "probabilities"
    assert (probabilities.scale, probabilities.zero_point) == (1 / 256, -128)


@pytest.mark.parts(5)
def test_every_executor_reads_the_images(model: qlower.Model) -> None:
    layers_of = {
        level: Compilation(model, with_layers=True).interpreter(level)
        for level in ("qnn", "arith", "kernel")
    }
    jitted = qlower.jit(model, with_layers=True)
    for digit, image in enumerate(IMAGES):
        (answer,), recorded = jitted.run([image], {})
        assert answer.argmax() == digit
        for interpreter in layers_of.values():
            (expected,), expected_layers = interpreter.run([image], {})
            np.testing.assert_array_equal(answer, expected)
            assert recorded.keys() == expected_layers.keys()
            for name, result in recorded.items():
                np.testing.assert_array_equal(result, expected_layers[name], name)


def test_accuracy_on_held_out_images(model: qlower.Model) -> None:
    classify = qlower.jit(model)
    images = np.load(DIGITS / "test_images.npy")
    labels = np.load(DIGITS / "test_labels.npy")
    answers = [np.argmax(classify(image)) for image in images]
    # The README's figure: integer arithmetic gives it on every machine.
    assert (np.count_nonzero(answers == labels), len(labels)) == (349, 360)


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("7.812500e-03:-128", "the output scale must be 1/256"),
        ("3.906250e-03:-127", "the output zero point must be the storage type's minim"),
    ],
)
def test_softmax_has_one_quantization(type: str, message: str) -> None:
    text = (DIGITS / "digits.mlir").read_text()
    assert "3.906250e-03:-128" in text
    model = qlower.Model(parse_module(text.replace("3.906250e-03:-128", type)))
    with pytest.raises(qlower.QlowerError, match=message):
        qlower.lower(model)
    with pytest.raises(qlower.QlowerError, match=message):
        qlower.interpret(model, IMAGES[0], at="qnn")


def test_the_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    script = [sys.executable, str(DIGITS / "classify.py"), "3"]
    done = run(script, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "images/3.npy is a 3, probability 0.9" in done.stdout
    assert "the same bits" in done.stdout
    assert "images/0.npy to 9.npy are 0 1 2 3 4 5 6 7 8 9" in done.stdout
    assert "349 of 360" in done.stdout
    before, _, after = done.stdout.partition("\n$ ")
    line, _, shown = after.partition("\n")
    assert before
    tool, *arguments = shlex.split(line)
    assert Path(tool).name == "qlower"
    assert main(arguments) == 0
    assert capsys.readouterr().out == shown
    page = (DIGITS.parents[1] / "README.md").read_text()
    (quoted,) = re.findall(r"```mlir\n(.*?)```", page, re.DOTALL)
    lines = [line.partition("//")[0].strip() for line in quoted.splitlines()]
    assert "\n".join(lines) in "\n".join(map(str.strip, shown.splitlines()))


def test_gradients(module_of: Any) -> None:
    """Backward against a difference quotient in float64, in one random direction."""
    network = module_of("network")
    random = np.random.default_rng(0)
    initial: dict[str, NDArray[np.float32]] = network.initial_parameters(random)
    parameters = {
        name: value.astype(np.float64) + random.normal(0, 0.1, value.shape)
        for name, value in initial.items()
    }
    images, labels = random.random((4, 8, 8, 1)), np.array([3, 1, 4, 1])

    def loss(parameters: dict[str, NDArray[np.float64]]) -> float:
        logits = network.forward(parameters, images)["logits"]
        return -np.log(network.softmax(logits)[np.arange(4), labels]).mean()

    results = network.forward(parameters, images)
    gradients = network.backward(parameters, results, labels)
    assert gradients.keys() == parameters.keys()
    for name, gradient in gradients.items():
        direction = random.normal(0, 1, parameters[name].shape)
        step = 1e-6 * direction
        above = loss({**parameters, name: parameters[name] + step})
        below = loss({**parameters, name: parameters[name] - step})
        slope = (above - below) / 2e-6
        assert np.vdot(gradient, direction) == pytest.approx(slope, rel=1e-4), name


def test_quantized_logits_are_near_the_float_ones(module_of: Any) -> None:
    network, quantize = module_of("network"), module_of("quantize")
    random = np.random.default_rng(0)
    parameters = network.initial_parameters(random)
    images = random.random((20, 8, 8, 1)).astype(np.float32)
    results = network.forward(parameters, images)
    ranges = {name: (value.min(), value.max()) for name, value in results.items()}
    module: ModuleOp = quantize.quantized_model(parameters, ranges)
    stored = quantize.store(images, ranges["image"])
    type = quantize.activation_type(ranges["logits"])
    run = qlower.jit(qlower.Model(module), with_layers=True)
    for image, logits in zip(stored, results["logits"], strict=True):
        answer = run.run([image[None]], {})[1]["logits"][0]
        real = (answer.astype(float) - type.zero_point) * type.scale
        assert np.abs(real - logits).max() < 6 * type.scale


def test_training_data_is_what_is_committed(module_of: Any) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn, the data set, isn't installed")
    train, quantize = module_of("train"), module_of("quantize")
    _, held_out = train.read_data()
    stored = quantize.store(held_out.images, (0.0, 1.0))
    np.testing.assert_array_equal(stored[:, None], np.load(DIGITS / "test_images.npy"))
    labels = np.load(DIGITS / "test_labels.npy")
    np.testing.assert_array_equal(held_out.labels, labels)
    for digit, image in enumerate(IMAGES):
        first = list(labels).index(digit)
        np.testing.assert_array_equal(stored[first][None], image)
