"""Scales with gradients, and modules as functions of arrays."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError
from qlower.model.scales import result_types

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
training: Any = import_module("qlower.torch")
straight_through: Any = import_module("qlower.torch.straight_through")

EXAMPLES = Path(__file__).parents[2] / "examples" / "digits"
MODEL = EXAMPLES / "digits.mlir"
CONTRACTS = {"softmax": "tflite"}


def images(count: int = 6) -> Any:
    stored = np.load(EXAMPLES / "test_images.npy")
    return torch.from_numpy(stored[:count].reshape(-1, 8, 8, 1))


@pytest.mark.parts(5)
def test_gradients_of_scales_are_pytorchs() -> None:
    """Those of `_fake_quantize_learnable_*`, which are LSQ's."""
    torch.manual_seed(0)
    goal = torch.randn(4, 30)
    for scales, axis in ((torch.tensor([0.02]), None), (torch.rand(4) / 50, 0)):
        found: list[Any] = []
        for is_own in (True, False):
            real = (2 * torch.randn(4, 30, generator=seed())).requires_grad_()
            scale = scales.clone().requires_grad_()
            along = scale if axis is None else scale.reshape(4, 1)
            points = torch.full((len(scales),), 3.0)
            if is_own:
                given = real.detach(), along.detach(), 3, -128, 127
                stored = straight_through.store(*given)
                y = straight_through.applied(
                    *(straight_through.Rounded, real, stored, along, 3, -128, 127)
                )
            elif axis is None:
                y = torch._fake_quantize_learnable_per_tensor_affine(
                    real, scale, points, -128, 127, 1.0
                )
            else:
                y = torch._fake_quantize_learnable_per_channel_affine(
                    real, scale, points, axis, -128, 127, 1.0
                )
            (y * goal).sum().backward()
            found.append((y.detach(), real.grad, scale.grad))
        for own, reference in zip(*found, strict=True):
            torch.testing.assert_close(own, reference, rtol=1e-4, atol=1e-4)


def seed() -> Any:
    return torch.Generator().manual_seed(1)


@pytest.mark.long
def test_changed_scales_have_the_bits_of_the_compiled_model() -> None:
    module = training.Module(
        MODEL, "pow2-shift", layer_contracts=CONTRACTS, train_scales=True
    )
    before = module.stored(images())
    assert set(module.scales) == {
        *("conv1", "depthwise", "pointwise"),
        *("logits", "logits:weight"),
        *(f"{name}:weight" for name in ("conv1", "depthwise", "pointwise")),
    }
    module(images()).square().sum().backward()
    assert all(scale.grad.abs().max() > 0 for scale in module.scales.values())
    with torch.no_grad():
        for number, scale in enumerate(module.scales.values()):
            scale *= 1.03 + 0.02 * number
    model = module.to_model()
    pooled = result_types(model.module)["flatten"].scale
    assert pooled == module.scales["pointwise"].item()
    run = qlower.jit(model, "pow2-shift", layer_contracts=CONTRACTS)
    found = module.stored(images())
    assert np.array_equal(found.numpy(), run(images().numpy()))
    assert not torch.equal(found, before)
    other = training.Module(
        MODEL, "pow2-shift", layer_contracts=CONTRACTS, train_scales=True
    )
    other.load_state_dict(module.state_dict())
    assert torch.equal(other.stored(images()), found)
    with torch.no_grad():
        other.scales["conv1"].fill_(-1)
    with pytest.raises(QlowerError, match="scales have to be positive"):
        other(images())
    assert not training.Module(MODEL).scales


def test_a_function_of_arrays_has_the_modules_gradients() -> None:
    module = training.Module(MODEL)
    run = training.numpy_function(module)
    weight = module.layers["conv1"].weight.detach().numpy() * 0.9
    x = ((images().float() + 128) / 255).numpy()
    y, pullback = run({"layers.conv1.weight": weight}, x)
    with torch.no_grad():
        module.layers["conv1"].weight *= 0.9
    given = torch.from_numpy(x).requires_grad_()
    expected = module(given)
    expected.square().sum().backward()
    assert np.array_equal(y, expected.detach().numpy())
    gradients, of_input = pullback(2 * y)
    wanted = module.layers["conv1"].weight.grad.numpy()
    np.testing.assert_allclose(gradients["layers.conv1.weight"], wanted, rtol=1e-5)
    np.testing.assert_allclose(of_input, given.grad.numpy(), rtol=1e-5)
    with pytest.raises(QlowerError, match="no parameter 'conv1'"):
        run({"conv1": weight}, x)


@pytest.mark.long
def test_jax_has_the_same_gradients() -> None:
    jax: Any = pytest.importorskip("jax", reason="jax is not installed")
    module = training.Module(MODEL)
    function = training.jax_function(module)
    x = ((images().float() + 128) / 255).numpy()
    names = ("layers.conv1.weight", "layers.logits.bias")
    known = dict(module.named_parameters())
    parameters = {name: known[name].detach().numpy() for name in names}

    def loss(parameters: Any, x: Any) -> Any:
        return (function(parameters, x) ** 2).sum()

    found, of_input = jax.jit(jax.grad(loss, argnums=(0, 1)))(parameters, x)
    y, pullback = training.numpy_function(module)(parameters, x)
    expected, wanted = pullback(2 * y)
    assert np.array_equal(np.asarray(jax.jit(function)(parameters, x)), y)
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)
    np.testing.assert_allclose(of_input, wanted, rtol=1e-5)
