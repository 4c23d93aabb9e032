"""The comparison in examples/glow-divergence: what it prints and its page says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.model.layers import layers
from qlower.text.verification import verify_module

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = EXAMPLES / "glow-divergence"
GLOW = ("glow-interpreter", "glow-cpu")
MODULES = ("compare", "network", "quantize", "residual", "train", "make_model")


@pytest.fixture(scope="module")
def module_of() -> Iterator[Any]:
    """Import a script of the example, as it imports its neighbours."""
    folders = [str(FOLDER), str(EXAMPLES / "digits")]
    sys.path[:0] = folders
    yield import_module
    for folder in folders:
        sys.path.remove(folder)
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def model() -> qlower.Model:
    return qlower.load(FOLDER / "residual.mlir")


@pytest.fixture(scope="module")
def printed(module_of: Any) -> str:
    """The output without arguments, all images."""
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        compare = module_of("compare")
        patch.setattr(compare, "print", lambda *a, **_: lines.extend(a), raising=False)
        assert compare.main([]) == 0
    return "\n".join(lines)


def compared(
    module_of: Any, model: qlower.Model, contracts: tuple[str, str], count: int
) -> Any:
    """A comparison on the first images."""
    images = np.load(EXAMPLES / "digits" / "test_images.npy")[:count]
    return module_of("compare").compare(model, list(images), contracts)


def test_the_model_is_verified_and_small(model: qlower.Model) -> None:
    verify_module(model.module)
    kinds = [op.name for op in layers(model.module)]
    assert kinds.count("qnn.add") == 4
    assert kinds.count("qnn.conv2d") == 10
    assert (FOLDER / "residual.mlir").stat().st_size < 50_000


@pytest.mark.long
@pytest.mark.parametrize("contract", GLOW)
def test_native_code_and_interpreter_agree(model: qlower.Model, contract: str) -> None:
    run = qlower.jit(model, contract=contract)
    for image in np.load(EXAMPLES / "digits" / "test_images.npy")[:3]:
        expected = qlower.interpret(model, image, contract=contract, at="qnn")
        np.testing.assert_array_equal(run(image), expected)


@pytest.mark.parts(4)
def test_the_page_shows_what_is_printed(printed: str) -> None:
    """Integer and float32 arithmetic without libraries: the same on every machine."""
    page = (FOLDER / "README.md").read_text()
    assert "\n".join(f"    {line}".rstrip() for line in printed.splitlines()) in page


def test_small_differences_compound(printed: str) -> None:
    rows = {
        line.split()[1]: [float(word.rstrip("%")) for word in line.split()[2:]]
        for line in printed.splitlines()
        if line.startswith(("conv2d ", "add ", "avg_pool2d ", "reshape ", "linear "))
    }
    assert len(rows) == 17
    # share, largest and mean difference in the whole networks, and alone
    assert rows["stem"][:3] == rows["stem"][3:]
    assert all(row[4] <= 1 for row in rows.values())
    assert rows["flatten"][3:] == [0, 0, 0]
    assert max(row[1] for row in rows.values()) > 3
    assert rows["logits"][0] > 10 * rows["logits"][3]
    additions = [row[3] for name, row in rows.items() if name.endswith("/add")]
    convolutions = [row[3] for name, row in rows.items() if "/conv" in name]
    assert min(additions) > 4 * max(convolutions)


@pytest.mark.parts(2)
@pytest.mark.parametrize("contract", GLOW)
def test_an_arithmetic_doesnt_differ_from_itself(
    module_of: Any, model: qlower.Model, contract: str
) -> None:
    comparison = compared(module_of, model, (contract, contract), 3)
    assert len(comparison.layers) == 17
    assert comparison.other_answers == 0
    for layer in comparison.layers:
        assert layer.whole.differing == layer.alone.differing == 0
        assert layer.whole.count == layer.alone.count > 0


@pytest.mark.long
def test_a_finer_addition(module_of: Any, model: qlower.Model) -> None:
    finer = (GLOW[0], str(FOLDER / "wide-add.mlir"))
    before = compared(module_of, model, GLOW, 20).layers
    after = compared(module_of, model, finer, 20).layers
    for old, new in zip(before, after, strict=True):
        if old.kind == "add":
            assert new.alone.share < old.alone.share / 4
        else:
            assert new.alone == old.alone
    assert after[-1].whole.share > before[-1].whole.share / 2


@pytest.mark.long
def test_another_model_and_a_picture(
    module_of: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib isn't installed")
    picture = tmp_path / "picture.svg"
    module_of("compare").main(
        [
            *("--model", str(EXAMPLES / "digits" / "digits.mlir")),
            *("--contracts", "tflite", "tflite-xnnpack"),
            *("--images", "4", "--picture", str(picture)),
        ]
    )
    output = capsys.readouterr().out
    assert "tflite-xnnpack against tflite, 4 images" in output
    assert "softmax probabilities" in output
    assert "tflite-xnnpack against tflite" in picture.read_text()


def test_gradients(module_of: Any) -> None:
    """Backward against a difference quotient in float64, in one random direction."""
    residual, network = module_of("residual"), module_of("network")
    random = np.random.default_rng(0)
    parameters = {
        name: value.astype(np.float64) + random.normal(0, 0.1, value.shape)
        for name, value in residual.initial_parameters(random).items()
    }
    images, labels = random.random((3, 8, 8, 1)), np.array([3, 1, 4])

    def loss(parameters: dict[str, Any]) -> float:
        logits = residual.forward(parameters, images)["logits"]
        return -np.log(network.softmax(logits)[np.arange(3), labels]).mean()

    results = residual.forward(parameters, images)
    gradients = residual.backward(parameters, results, labels)
    assert gradients.keys() == parameters.keys()
    for name, gradient in gradients.items():
        direction = random.normal(0, 1, parameters[name].shape)
        step = 1e-7 * direction
        above = loss({**parameters, name: parameters[name] + step})
        below = loss({**parameters, name: parameters[name] - step})
        slope = (above - below) / 2e-7
        assert np.vdot(gradient, direction) == pytest.approx(slope, rel=1e-3), name


def test_quantization(module_of: Any) -> None:
    """An untrained network, quantized, is near its float logits."""
    pytest.importorskip("sklearn", reason="scikit-learn, the data set, isn't installed")
    make_model, quantize = module_of("make_model"), module_of("quantize")
    residual = module_of("residual")
    random = np.random.default_rng(0)
    parameters = residual.initial_parameters(random)
    images = random.random((10, 8, 8, 1)).astype(np.float32)
    results = residual.forward(parameters, images)
    ranges = {name: (value.min(), value.max()) for name, value in results.items()}
    run = qlower.jit(qlower.Model(make_model.quantized_model(parameters, ranges)))
    type = quantize.activation_type(ranges["logits"])
    for image, logits in zip(
        quantize.store(images, ranges["image"]), results["logits"], strict=True
    ):
        stored = np.asarray(run(image[None])).astype(float)
        real = (stored - type.zero_point) * type.scale
        assert np.abs(real[0] - logits).max() < 12 * type.scale
