"""Models that PyTorch holds: exported programs, and modules that FX converted."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import module_contract
from qlower.interp import evaluate_function

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")

ENGINES = (
    "x86",
    pytest.param("fbgemm", marks=pytest.mark.long),
    pytest.param("onednn", marks=pytest.mark.long),
    "qnnpack",
)


def network() -> Any:
    """Layers with and without RELU, a residual, pools and a hard-swish."""
    nn = torch.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 16, 3, padding=1)
            self.depthwise = nn.Conv2d(16, 16, 3, padding=1, groups=16)
            self.pointwise = nn.Conv2d(16, 16, 1)
            self.relu = nn.ReLU()
            self.large = nn.MaxPool2d(2)
            self.mean = nn.AvgPool2d(2)
            self.layer = nn.Linear(16, 10)

        def forward(self, x: Any) -> Any:
            x = self.relu(self.first(x))
            x = torch.relu(x + self.pointwise(self.depthwise(x)))
            x = nn.functional.hardswish(self.mean(self.large(x)))
            x = nn.functional.adaptive_avg_pool2d(x, 1)
            return self.layer(x.view(x.size(0), -1))

    torch.manual_seed(0)
    return Network().eval()


def example(seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, 3, 12, 12, generator=generator)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Any:
    """The quantized engine that is set during a test."""
    before = torch.backends.quantized.engine
    if not torch.cpu._is_vnni_supported():
        pytest.skip("the contracts are those of CPUs with VNNI")
    if request.param not in torch.backends.quantized.supported_engines:
        pytest.skip(f"this PyTorch has no engine {request.param}")
    torch.backends.quantized.engine = request.param
    yield request.param
    torch.backends.quantized.engine = before


def functions() -> Any:
    """Functions that the engines have on quantized tensors."""
    nn = torch.nn

    class Functions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.steps = nn.ModuleList([nn.LeakyReLU(0.2), nn.ELU(), nn.Sigmoid()])

        def forward(self, x: Any) -> Any:
            parts = [step(x) for step in self.steps]
            parts += [torch.tanh(x), nn.functional.hardsigmoid(x)]
            x = torch.cat([nn.functional.relu6(x), *parts], dim=1)
            x = nn.functional.hardtanh(x * nn.functional.hardswish(x), -0.5, 0.75)
            return nn.functional.adaptive_avg_pool2d(x, (5, 3)).mean([2, 3])

    return Functions().eval()


def real_modules() -> Any:
    """Modules that stay real between quantized ones, and those that move elements."""
    nn, functional = torch.nn, torch.nn.functional

    class RealModules(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 1)
            self.steps = nn.Sequential(nn.SiLU(), nn.Softsign())
            self.zeros = nn.ZeroPad2d((1, 0, 2, 3))
            self.softmax, self.shuffle = nn.Softmax(1), nn.PixelShuffle(2)

        def forward(self, x: Any) -> Any:
            x = self.last(self.steps(self.first(x)))
            x = self.last(functional.pad(self.zeros(x), (1, 2)))
            x = self.last((x - x.mean((2, 3), keepdim=True)) ** 2)
            return self.shuffle(self.softmax(self.last(x / 2.0)))

    torch.manual_seed(0)
    return RealModules().eval()


def curves() -> Any:
    """Functions that stay real, each of the whole image."""
    nn = torch.nn
    steps = (
        *(nn.GELU(), nn.GELU("tanh"), nn.Mish(), nn.Softplus(), nn.CELU(0.7)),
        *(nn.SELU(), nn.LogSigmoid(), nn.Tanhshrink(), nn.Softshrink()),
        *(nn.Hardshrink(), nn.PReLU(), nn.PReLU(8)),
    )

    class Curves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 8, 3), nn.Conv2d(104, 4, 1)
            self.steps = nn.ModuleList(steps)

        def forward(self, x: Any) -> Any:
            x = self.first(x)
            parts = [step(x) for step in self.steps]
            return self.last(torch.cat([*parts, torch.exp(x)], 1)) * 0.5

    torch.manual_seed(0)
    return Curves().eval()


def norms() -> Any:
    """Norms of stored integers, rows of fewer and of more than a vector, and one that
    stays real."""
    nn = torch.nn

    class Norms(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 8, 3), nn.Linear(8, 90)
            self.batch, self.group = nn.BatchNorm2d(8), nn.GroupNorm(2, 8)
            self.instance = nn.InstanceNorm2d(8, affine=True)
            self.bounded = nn.BatchNorm2d(8)
            self.rows, self.plain = nn.LayerNorm(90), nn.LayerNorm(8)
            self.relu, self.most = nn.ReLU(), nn.AdaptiveMaxPool2d(2)
            for norm in (self.batch, self.group, self.instance, self.rows):
                norm.weight.data.normal_()
                norm.bias.data.normal_()
            self.batch.running_mean.normal_()
            self.batch.running_var.uniform_(0.5, 2)

        def forward(self, x: Any) -> Any:
            x = self.instance(self.batch(self.relu(self.first(x))))
            x = self.relu(self.bounded(self.group(x)))
            x = self.most(x).flatten(2).transpose(1, 2)
            return self.rows(self.last(self.plain(x))).clamp(-1, 1.5)

    torch.manual_seed(0)
    return Norms().eval()


def converted(name: str, network: Any) -> Any:
    """The network, calibrated and quantized for an engine."""
    fx: Any = import_module("torch.ao.quantization.quantize_fx")
    mapping: Any = import_module("torch.ao.quantization").get_default_qconfig_mapping
    prepared = fx.prepare_fx(network, mapping(name), (example(),))
    with torch.no_grad():
        for seed in range(4):
            prepared(example(seed))
    return fx.convert_fx(prepared)


@pytest.mark.parts(10)
@pytest.mark.parametrize("make", [network, functions, real_modules, curves, norms])
@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_modules_of_an_engine(engine: str, make: Callable[[], Any]) -> None:
    module = converted(engine, make())
    model = qlower.from_fx(module, example())
    assert module_contract(model.module) == f"pytorch-{engine}"
    assert engine in model.remarks[0]
    run = qlower.jit(model)
    for seed in range(3):
        x = example(seed)
        with torch.no_grad():
            expected = module(x).numpy()
        assert (np.asarray(run(x.numpy())) == expected).all()


@pytest.mark.parametrize("engine", ["x86"], indirect=True)
def test_rows_of_a_table(engine: str) -> None:
    """An embedding stays real, and its input are integers."""
    fx: Any = import_module("torch.ao.quantization.quantize_fx")
    mapping: Any = import_module("torch.ao.quantization").get_default_qconfig_mapping
    network = torch.nn.Sequential(torch.nn.Embedding(20, 16), torch.nn.Linear(16, 4))
    x = torch.tensor([[0, 19, 7], [7, 3, 1]])
    prepared = fx.prepare_fx(network.eval(), mapping(engine), (x,))
    prepared(x)
    module = fx.convert_fx(prepared)
    with torch.no_grad():
        expected = module(x).numpy()
    found = qlower.jit(qlower.from_fx(module, x))(x.numpy())
    np.testing.assert_array_equal(found, expected)


PIECES = [
    ("softplus_of_vectors", lambda x: torch.nn.functional.softplus(x), (1.0, 20.0)),
    ("mish", lambda x: torch.nn.functional.mish(x), ()),
    ("log_sigmoid", lambda x: torch.nn.functional.logsigmoid(x), ()),
    ("elu_of_vectors", lambda x: torch.nn.functional.elu(x), (1.0, 1.0, 1.0)),
    ("silu", lambda x: torch.nn.functional.silu(x), ()),
    (
        "gelu_by_tanh_of_vectors",
        lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        (),
    ),
]


@pytest.mark.parametrize(("name", "function", "numbers"), PIECES)
def test_functions_of_vectors(
    name: str, function: Callable[[Any], Any], numbers: tuple[float, ...]
) -> None:
    """The text's steps are those of ATen's kernels, whose exponentials, logarithms and
    tanh are SLEEF's; of numbers of many sizes and where formulas change."""
    if "AVX512" not in torch.backends.cpu.get_cpu_capability():
        pytest.skip("the text is that of AVX-512")
    random = np.random.default_rng(0)
    x = random.normal(0, 1, 8192) * 10.0 ** random.uniform(-7, 2.2, 8192)
    special = [0.0, -0.0, 1e-40, 8.66, 8.67, -16.6, -16.7, 20, 20.1, 88.7, 104, np.inf]
    x[: len(special)] = special
    given = x.astype(np.float32)
    text = load_contract("_sleef").definition.function(name).function
    more = [np.full(given.shape, number, np.float32) for number in numbers]
    with np.errstate(all="ignore"):
        (found,) = evaluate_function(text, [given, *more])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    expected = function(torch.from_numpy(given)).numpy()
    torch.set_num_threads(threads)
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("engine", ["x86"], indirect=True)
def test_a_stored_layer_that_is_not_supported(engine: str) -> None:
    """It is named by its path, and the way that reads it is."""

    class Volumes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.deep = torch.nn.Sequential(torch.nn.Conv3d(2, 3, 1))

        def forward(self, x: Any) -> Any:
            return self.deep(x.reshape(2, 2, 3, 6, 12))

    module = converted(engine, Volumes().eval())
    with pytest.raises(QlowerError, match=r"Conv3d 'deep\.0': this module") as caught:
        qlower.from_fx(module, example())
    assert "PT2E" in str(caught.value)


class RealParts(torch.nn.Module):
    """Functions of real tensors between quantized layers, and what shapes decide."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(4, 5, 1)
        self.edge = torch.nn.ReflectionPad2d(1)
        self.offset = torch.nn.Parameter(torch.randn(1, 4, 1, 1))

    def forward(self, x: Any) -> Any:
        functions = torch.nn.functional
        x = functions.glu(self.first(self.edge(x)), dim=1) + self.offset
        columns = torch.arange(x.shape[3]) % 3
        x = x.masked_fill(columns == 0, 0.5) - x.amax(1, keepdim=True)
        a, b = x.split((1, 3), dim=1)
        return self.last(functions.silu(torch.cat([a, b * 2], 1)))


@pytest.mark.parametrize("engine", ["x86"], indirect=True)
def test_real_parts_of_a_quantized_module(engine: str) -> None:
    torch.manual_seed(0)
    module = converted(engine, RealParts().eval())
    run = qlower.jit(qlower.from_fx(module, example()))
    for seed in range(3):
        with torch.no_grad():
            expected = module(example(seed)).numpy()
        assert (np.asarray(run(example(seed).numpy())) == expected).all()


@pytest.mark.parametrize("engine", ["x86"], indirect=True)
def test_a_module_that_is_not_supported(engine: str) -> None:
    fx: Any = import_module("torch.fx")
    module = fx.symbolic_trace(torch.nn.Unfold(2))
    message = r"node 1 aten.im2col.default 'unfold/im2col': this operator is not"
    with pytest.raises(QlowerError, match=message):
        qlower.from_fx(module, example())


def test_an_exported_program() -> None:
    import_module("torch.ao.quantization.fx._decomposed")
    convert: Any = torch.ops.quantized_decomposed

    class Pair(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            stored = convert.quantize_per_tensor(x, 0.1, 128, 0, 255, torch.uint8)
            real = convert.dequantize_per_tensor(stored, 0.1, 128, 0, 255, torch.uint8)
            return torch.relu(real)

    program = torch.export.export(Pair(), (example(),))
    run = qlower.jit(qlower.from_torch(program))
    with torch.no_grad():
        expected = Pair()(example()).numpy()
    assert (np.asarray(run(example().numpy())) == expected).all()


def test_an_object_that_is_no_program() -> None:
    with pytest.raises(QlowerError, match="takes an ExportedProgram, not Linear"):
        qlower.from_torch(torch.nn.Linear(2, 2))


@pytest.mark.parametrize("name", ["float16", "int16"])
def test_constants_of_other_types(name: str) -> None:
    class Sum(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("term", torch.ones(4, dtype=getattr(torch, name)))

        def forward(self, x: Any) -> Any:
            y = torch.quantize_per_tensor(x + self.term, 0.1, 3, torch.quint8)
            return y.dequantize()

    module = import_module("torch.fx").symbolic_trace(Sum())
    with pytest.raises(QlowerError) as caught:
        qlower.from_fx(module, torch.zeros(2, 4))
    assert caught.value.message.endswith(
        f"term: constants of type {name} are not supported; expected one of float32,"
        " int32, int64, bool"
    )
