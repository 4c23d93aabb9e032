"""Networks of torchvision and a transformer encoder, quantized by PT2E.

Their weights are drawn from a seed. They need the packages torchao, torchvision and
executorch, which belong to no extra: the versions must be those that were built for the
installed PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.frontends.load import as_model
from qlower.interp.values import Array
from qlower.model.cut import computed_names

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

NETWORKS = (
    "resnet18",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "squeezenet1_1",
    "shufflenet_v2_x0_5",
    "efficientnet_b0",
)
CALIBRATED = ("mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0")
"""With norms that make numbers as large as those of trained networks."""

SHAPE = (1, 3, 64, 64)
ENCODER = "encoder"

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        not torch.cpu._is_vnni_supported(),
        reason="the contract is that of CPUs with VNNI",
    ),
]


def encoder() -> Any:
    """One layer of a transformer, between linear layers."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.Linear(16, 32), layer, nn.Linear(32, 10))


def network(name: str, calibrated: bool = False) -> Any:
    torch.manual_seed(0)
    if name == ENCODER:
        return encoder().eval()
    models: Any = pytest.importorskip("torchvision.models")
    made = getattr(models, name)(weights=None)
    if calibrated:
        calibrate_norms(made)
    return made.eval()


def calibrate_norms(network: Any) -> None:
    """Drawn scales and offsets, and the statistics of two batches of drawn images."""
    nn = torch.nn
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.3)
    network.train()
    with torch.no_grad():
        for _ in range(2):
            network(torch.randn(8, *SHAPE[1:]))


def examples(name: str) -> list[Any]:
    generator = torch.Generator().manual_seed(0)
    shape = (1, 8, 16) if name == ENCODER else SHAPE
    return [torch.randn(shape, generator=generator) for _ in range(4)]


def quantized(name: str, quantizer: Any, calibrated: bool = False) -> Any:
    """The network that PT2E prepares, calibrates and converts."""
    steps: Any = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e")
    given = examples(name)
    exported = torch.export.export(network(name, calibrated), (given[0],), strict=True)
    prepared = steps.prepare_pt2e(exported.module(), quantizer)
    with torch.no_grad():
        for x in given:
            prepared(x)
    return steps.convert_pt2e(prepared)


def saved(converted: Any, x: Any, folder: Path) -> Path:
    path = folder / "model.pt2"
    torch.export.save(torch.export.export(converted, (x,)), path)
    return path


def inductor() -> Any:
    name = "torchao.quantization.pt2e.quantizer.x86_inductor_quantizer"
    found: Any = pytest.importorskip(name)
    config = found.get_default_x86_inductor_quantization_config()
    return found.X86InductorQuantizer().set_global(config)


def stored_values(lowered: Any, x: Any) -> list[Array]:
    """All values of uint8 of a lowered program, before sums overwrite them."""
    interpreter: Any = import_module("torch.fx").Interpreter(lowered)
    found: list[Array] = []
    run_node: Any = interpreter.run_node

    def record(node: Any) -> Any:
        value = run_node(node)
        if isinstance(value, torch.Tensor) and value.dtype == torch.uint8:
            found.append(value.numpy().copy())
        return value

    interpreter.run_node = record
    with torch.no_grad():
        interpreter.run(x)
    return found


@pytest.mark.parametrize(
    ("name", "calibrated"),
    [*((name, False) for name in NETWORKS), *((name, True) for name in CALIBRATED)],
)
def test_values_of_the_lowered_program(
    name: str, calibrated: bool, tmp_path: Path
) -> None:
    """Each stored value of ours is one of PyTorch's, whatever it is called there."""
    lowering: Any = pytest.importorskip("torchao.quantization.pt2e.lowering")
    x = examples(name)[0]
    converted = quantized(name, inductor(), calibrated)
    path = saved(converted, x, tmp_path)
    lowered = lowering.lower_pt2e_quantized_to_x86(converted, (x,))
    wanted = stored_values(lowered, x)
    names = [
        value
        for value in computed_names(as_model(path).module)
        if value.startswith("quantize_per_tensor") and value.isidentifier()
    ]
    found = qlower.jit(qlower.load(path, outputs=names))(x.numpy())
    assert isinstance(found, tuple)
    compared = different = 0
    for value in found:
        alike = [
            int((value != other).sum())
            for other in wanted
            if other.shape == value.shape
        ]
        compared, different = compared + value.size, different + min(alike)
    assert compared > 50_000
    assert not different


def test_the_encoder_as_lowered(tmp_path: Path) -> None:
    """Float sums: in another order."""
    converted = quantized(ENCODER, inductor())
    run = qlower.jit(as_model(saved(converted, examples(ENCODER)[0], tmp_path)))
    for x in examples(ENCODER):
        with torch.no_grad():
            expected = converted(x).numpy()
        np.testing.assert_allclose(run(x.numpy()), expected, atol=2e-2)


@pytest.mark.parametrize("name", [*NETWORKS, ENCODER])
def test_outputs_of_executorch(name: str, tmp_path: Path) -> None:
    """They are all equal, though the encoder has norms and an attention in float32."""
    base = "executorch.backends.xnnpack"
    quantizers: Any = pytest.importorskip(f"{base}.quantizer.xnnpack_quantizer")
    partitioner: Any = import_module(f"{base}.partition.xnnpack_partitioner")
    config = quantizers.get_symmetric_quantization_config(is_per_channel=True)
    quantizer = quantizers.XNNPACKQuantizer().set_global(config)
    converted = quantized(name, quantizer)
    given = examples(name)
    path = saved(converted, given[0], tmp_path)
    edge = import_module("executorch.exir").to_edge_transform_and_lower(
        torch.export.export(converted, (given[0],)),
        partitioner=[partitioner.XnnpackPartitioner()],
    )
    (tmp_path / "model.pte").write_bytes(edge.to_executorch().buffer)
    runtime: Any = import_module("executorch.runtime").Runtime.get()
    method = runtime.load_program(str(tmp_path / "model.pte")).load_method("forward")
    run = qlower.jit(as_model(path))
    different = 0
    for x in given:
        expected = method.execute([x])[0].numpy()
        different += int((np.asarray(run(x.numpy())) != expected).sum())
    assert not different
