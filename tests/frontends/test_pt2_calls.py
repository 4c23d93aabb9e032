"""Calls that move, choose, resize and normalize, as PyTorch exports them, give ATen's
bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
F: Any = torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore")

Shape = tuple[int, ...]
IMAGE: Shape = (2, 6, 5, 7)


CHANNELS: Any = [torch.linspace(0.3, end, 6) for end in (1.0, 2.0, 3.0, -1.0)]
"""Mean, variance, factor and offset of each channel."""


def large(x: Any) -> Any:
    return x > 0.2


def normalized(x: Any) -> Any:
    return F.batch_norm(x, *CHANNELS)


CALLS: dict[str, tuple[Callable[[Any], Any], Shape]] = {
    "arange": (lambda x: x * torch.arange(0.0, 3.5, 0.5), IMAGE),
    "stack": (lambda x: torch.stack([x, x * 2], -1), IMAGE),
    "unbind": (lambda x: x.unbind(1)[2] + x.unbind(1)[0], IMAGE),
    "roll": (lambda x: torch.roll(x, (-2, 1), (2, 3)), IMAGE),
    "flip": (lambda x: x.flip(1, -1), IMAGE),
    "repeat": (lambda x: x.repeat(3, 1, 2), (2, 3)),
    "expand": (lambda x: x.expand(4, -1, 2, -1), (3, 1, 5)),
    "full": (lambda x: x + torch.full((5, 7), 0.3), IMAGE),
    "pad_reflect": (lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"), IMAGE),
    "pad_replicate": (lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate"), IMAGE),
    "pad_circular": (lambda x: F.pad(x, (1, 2, 2, 1), mode="circular"), IMAGE),
    "pad_number": (lambda x: F.pad(x, (1, 2, 2, 1), value=0.7), IMAGE),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (1, 8, 3, 5)),
    "nearest": (lambda x: F.interpolate(x, size=(17, 6)), IMAGE),
    "nearest_rows": (lambda x: F.interpolate(x, scale_factor=1.5), (2, 6, 5)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), (1, 2, 4, 6, 6)),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (1, 2, 4, 6, 6)),
    "mean_of_volumes": (lambda x: F.adaptive_avg_pool3d(x, 1), (1, 2, 4, 6, 6)),
    "largest": (lambda x: x.max(-1)[0] - x.amax((2, 3)).sum(), IMAGE),
    "sum": (lambda x: x.sum((1,)), IMAGE),
    "where": (lambda x: torch.where(large(x), x, -x), IMAGE),
    "not_equal": (lambda x: torch.where(large(x).to(x.dtype) != 1, x, 0.5), IMAGE),
    "masked_fill": (lambda x: x.masked_fill(~large(x) & (x >= -1), -1.5), IMAGE),
    "glu": (lambda x: F.glu(x, 1), (1, 32, 4, 4)),
    "softsign": (lambda x: F.softsign(x), IMAGE),
    "rsqrt": (lambda x: torch.rsqrt(x.abs() + 1) + torch.reciprocal(x), IMAGE),
    "cube": (lambda x: x**3, IMAGE),
    "batch_norm": (normalized, IMAGE),
    "einsum": (lambda x: torch.einsum("bij,bkj->bki", x, x[:, :2]), (2, 3, 1)),
    "windows_of_rows": (lambda x: F.adaptive_avg_pool1d(x, 4), (2, 16, 9)),
}
"""Functions of one tensor, and the tensor's shape."""


def exported(function: Callable[[Any], Any], x: Any, path: Path) -> Path:
    class Module(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return function(x)

    torch.export.save(torch.export.export(Module(), (x,)), path)
    return path


def compare(function: Callable[[Any], Any], x: Any, path: Path) -> None:
    run = qlower.jit(qlower.load(exported(function, x, path)))
    found = np.asarray(run(x.contiguous().numpy()))
    wanted = function(x).contiguous().numpy()
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def random(shape: Shape, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parts(7)
@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str, tmp_path: Path) -> None:
    function, shape = CALLS[name]
    compare(function, random(shape), tmp_path / "model.pt2")


def test_calls_interpreted(tmp_path: Path) -> None:
    """All of them in one program."""
    shapes = list(dict.fromkeys(shape for _, shape in CALLS.values()))

    class Module(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            inputs = dict(zip(shapes, given, strict=True))
            return [function(inputs[shape]) for function, shape in CALLS.values()]

    given = tuple(random(shape, seed) for seed, shape in enumerate(shapes))
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Module(), given), path)
    found = qlower.interpret(path, *(x.numpy() for x in given), at="qnn")
    assert isinstance(found, tuple)
    for name, one, wanted in zip(CALLS, found, Module()(*given), strict=True):
        np.testing.assert_array_equal(one, wanted.numpy(), err_msg=name)


SIZES: list[tuple[Shape, dict[str, Any]]] = [
    ((1, 16, 5, 7), {"scale_factor": 2}),
    ((1, 8, 5, 7), {"size": (17, 13), "align_corners": True}),
    ((2, 3, 5, 7), {"scale_factor": (1.7, 0.6)}),
    ((1, 21, 8, 8), {"size": (17, 19)}),
    ((1, 4, 1, 1), {"size": (6, 6)}),
    ((1, 32, 9, 9), {"size": (4, 5)}),
    ((1, 2, 40, 40), {"size": (80, 81)}),
]


@pytest.mark.parts(6)
@pytest.mark.parametrize(("shape", "given"), SIZES)
def test_bilinear(shape: Shape, given: dict[str, Any], tmp_path: Path) -> None:
    """Channels lie last in memory, as behind a convolution that the lowering for x86
    makes; of small images the order is the same."""
    last = random(shape).contiguous(memory_format=torch.channels_last)
    compare(
        lambda x: F.interpolate(x, mode="bilinear", **given),
        last,
        tmp_path / "model.pt2",
    )


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("sizes", "wanted"), [((7, 8), (2, 3)), ((13, 13), (6, 6)), ((5, 4), (7, 7))]
)
def test_adaptive_windows(sizes: Shape, wanted: Shape, tmp_path: Path) -> None:
    """Windows of unequal sizes, at equal distances, and of elements that are repeated,
    of whole vectors of channels."""
    last = random((1, 16, *sizes)).contiguous(memory_format=torch.channels_last)
    path = tmp_path / "model.pt2"
    compare(lambda x: F.adaptive_avg_pool2d(x, wanted), last, path)


@pytest.mark.parametrize("size", [17, 3])
def test_linear(size: int, tmp_path: Path) -> None:
    compare(
        lambda x: F.interpolate(x, size=size, mode="linear"),
        random((2, 6, 9)),
        tmp_path / "model.pt2",
    )


MASKS: dict[str, dict[str, Any]] = {
    "truths": {"attn_mask": torch.ones(5, 5, dtype=torch.bool).tril()},
    "numbers": {"attn_mask": torch.linspace(-9, 3, 25).reshape(5, 5)},
    "causal": {"is_causal": True},
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_of_attention(name: str, tmp_path: Path) -> None:
    """The order in which PyTorch adds isn't known: the last bits may differ."""
    x = random((1, 2, 5, 8))

    def attention(x: Any) -> Any:
        return F.scaled_dot_product_attention(x, x, x, **MASKS[name])

    run = qlower.jit(qlower.load(exported(attention, x, tmp_path / "model.pt2")))
    np.testing.assert_allclose(run(x.numpy()), attention(x).numpy(), atol=1e-6)


INTEL = Path("/proc/cpuinfo")


@pytest.mark.parts(2)
@pytest.mark.parametrize(("rows", "depth"), [(16, 300), (33, 385), (20, 768), (4, 64)])
def test_linear_layers_of_mkl(rows: int, depth: int, tmp_path: Path) -> None:
    """With one thread, on the processors on which its order was measured."""
    is_known = INTEL.is_file() and "GenuineIntel" in INTEL.read_text()
    if not is_known or torch.backends.cpu.get_cpu_capability() != "AVX512":
        pytest.skip("MKL adds in another order on other processors")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    weight, bias = random((17, depth), 1), random((17,), 2)
    try:
        compare(
            lambda x: F.linear(x, weight, bias),
            random((rows, depth)),
            tmp_path / "model.pt2",
        )
    finally:
        torch.set_num_threads(threads)


def test_computed_parameters_are_refused(tmp_path: Path) -> None:
    """With advice for programs of PyTorch, which no tool of ONNX Runtime reads."""

    def scaled(x: Any) -> Any:
        return F.layer_norm(x, (8,), x[0] * 2)

    path = exported(scaled, random((3, 8)), tmp_path / "model.pt2")
    with pytest.raises(QlowerError, match=r"must be a constant") as caught:
        qlower.load(path)
    assert "register_buffer" in str(caught.value)
