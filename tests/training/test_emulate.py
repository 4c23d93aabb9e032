"""`qlower.torch.emulate`: a float network as a device runs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from qlower.diagnostics import QlowerError

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
emulate: Any = import_module("qlower.torch").emulate
nn = torch.nn


def network() -> Any:
    """Convolutions with batch norm and RELU, depthwise, a residual, pools, linear."""

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
            self.norm = nn.BatchNorm2d(8)
            self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
            self.relu = nn.ReLU()
            self.pool = nn.AvgPool2d(2)
            self.layer = nn.Linear(8, 5)

        def forward(self, x: Any) -> Any:
            x = self.relu(self.norm(self.first(x)))
            x = self.pool(torch.relu(x + self.depthwise(x)))
            x = nn.functional.adaptive_avg_pool2d(x, 1)
            return self.layer(x.flatten(1))

    torch.manual_seed(0)
    made = Network()
    for _ in range(3):  # for the norm's mean and variance
        made(torch.randn(4, 3, 6, 6))
    return made.eval()


@pytest.mark.long
def test_a_float_network_on_a_device() -> None:
    """The parameters are the float ones; the device's answers are near."""
    float_network = network()
    calibration = [torch.randn(1, 3, 6, 6) for _ in range(16)]
    module = emulate(float_network, "pytorch-onednn", calibration)
    x = torch.cat(calibration[:4])
    expected = float_network(x)
    assert (module.surrogate(x) - expected).abs().max() < 1e-5
    found = module(x).detach()
    expected = expected.detach()
    noise = float((found - expected).square().mean() / expected.square().mean())
    assert 0 < noise < 1e-3
    module(x).square().sum().backward()
    assert all(p.grad.abs().max() > 0 for p in module.parameters())
    float_network(x).square().sum().backward()
    gradient = module.layers["layer"].weight.grad
    passes = gradient != 0  # the largest weights are 127.5 steps, so they are clipped
    assert passes.float().mean() > 0.8
    given = gradient[passes], float_network.layer.weight.grad[passes]
    assert torch.cosine_similarity(*given, 0) > 0.99


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("calibration", "contract", "message"),
    [([], "exact", "calibration is empty"), ([0], "no-such", "no-such")],
)
def test_refusals(calibration: list[int], contract: str, message: str) -> None:
    inputs = [torch.randn(1, 3, 6, 6) for _ in calibration]
    with pytest.raises(QlowerError, match=message):
        emulate(network(), contract, inputs)


@pytest.mark.long
def test_functions_with_weights_are_refused() -> None:
    class Functional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 3))

        def forward(self, x: Any) -> Any:
            return nn.functional.linear(x, self.weight)

    with pytest.raises(QlowerError, match="linear: this operator is not supported"):
        emulate(Functional(), "exact", [torch.randn(1, 3)])
