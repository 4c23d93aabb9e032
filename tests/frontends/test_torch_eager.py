"""Modules that PyTorch quantized in eager mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.systems.eager_networks import (
    NETWORKS,
    Network,
    Stubs,
    nn,
    quantization,
    torch,
)

import qlower
from qlower.contracts import load_contract
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import module_contract
from qlower.interp import evaluate_function

pytestmark = pytest.mark.filterwarnings("ignore")

ENGINES = ("fbgemm", "qnnpack", "x86", "onednn")


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The quantized engine that is set during a test."""
    before = torch.backends.quantized.engine
    if not torch.cpu._is_vnni_supported():
        pytest.skip("the contracts are those of CPUs with VNNI")
    if request.param not in torch.backends.quantized.supported_engines:
        pytest.skip(f"this PyTorch has no engine {request.param}")
    torch.backends.quantized.engine = request.param
    torch.manual_seed(0)
    yield request.param
    torch.backends.quantized.engine = before


PAIRS = [
    pytest.param(
        network, engine, marks=[] if place == number % 2 else [pytest.mark.long]
    )
    for number, network in enumerate(NETWORKS)
    for place, engine in enumerate(ENGINES)
]
"""Each network with each engine; with one of the first two in the default lane."""


def assert_equal(module: Any, example: Any, inputs: Any) -> qlower.Model:
    """The model of a module gives the module's bits for all inputs."""
    model = qlower.from_eager(module, example)
    run = qlower.jit(model)
    for x in inputs:
        given = x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x
        with torch.no_grad():
            expected = module(given).numpy()
        assert (np.asarray(run(x.numpy())) == expected).all()
    return model


@pytest.mark.parts(12)
@pytest.mark.parametrize(("make", "engine"), PAIRS, indirect=["engine"])
def test_networks(make: Callable[[], Network], engine: str) -> None:
    network = make()
    module = network.quantized(engine)
    inputs = [network.example(seed) * (1 + seed) for seed in range(3)]
    model = assert_equal(module, network.example(), inputs)
    assert module_contract(model.module) == f"pytorch-{engine}"
    assert len(model.remarks) == 1


def _layer(layer: Any, activation: Any, weight: Any, calibration: Any) -> Any:
    """A layer that is quantized by the given observers."""
    module = Stubs({"layer": layer}, lambda net, x: net.layer(x)).eval()
    module.qconfig = quantization.QConfig(activation=activation, weight=weight)
    prepared = quantization.prepare(module)
    prepared(calibration)
    return quantization.convert(prepared)


@pytest.mark.parametrize("engine", ["fbgemm", "qnnpack"], indirect=True)
def test_a_ramp_of_equal_inputs(engine: str) -> None:
    """The layer that shows on CPUs without VNNI that pairs of products saturate."""
    torch.manual_seed(100)
    observer = quantization.MinMaxObserver
    module = _layer(
        nn.Linear(10, 10, bias=False),
        observer.with_args(dtype=torch.quint8),
        observer.with_args(dtype=torch.qint8),
        torch.randn(100, 10),
    )
    ramp = torch.arange(-4, 4, 0.01).reshape(-1, 1).expand(-1, 10).contiguous()
    assert_equal(module, ramp, [ramp])


@pytest.mark.parametrize("engine", ["fbgemm"], indirect=True)
def test_a_convolution_of_one_weight(engine: str) -> None:
    """A calculation by hand rounds its bias to an integer and gives 31 of 24."""
    module = _layer(
        nn.Conv2d(1, 1, 1),
        quantization.HistogramObserver.with_args(dtype=torch.quint8, reduce_range=True),
        quantization.PerChannelMinMaxObserver.with_args(
            dtype=torch.qint8, qscheme=torch.per_channel_symmetric
        ),
        torch.randint(0, 255, (1, 1, 4, 16)) / 255,
    )
    x = torch.arange(0, 256).reshape(1, 1, 16, 16) / 255
    assert_equal(module, x, [x])


@pytest.mark.parametrize("engine", ["qnnpack"], indirect=True)
def test_a_clamp_that_qnnpack_mixes_up_is_remarked_on(engine: str) -> None:
    layers = {"first": nn.Conv2d(3, 8, 1), "bounds": nn.ReLU6()}
    module = Stubs(layers, lambda net, x: net.bounds(net.first(x)))
    network = Network(module, (1, 3, 6, 6))
    quantized = network.quantized(engine)
    remarks = qlower.from_eager(quantized, network.example()).remarks
    assert "node 3 relu6 'bounds': PyTorch's qnnpack mixes up" in remarks[1]


@pytest.mark.parametrize("engine", ["fbgemm"], indirect=True)
def test_transposed_layers_never_saturate(engine: str) -> None:
    """Depthwise layers of the same sizes have pairs of products that do."""
    layer = nn.ConvTranspose2d(8, 8, 3, padding=1, groups=8)
    layer.weight.data.fill_(1)
    x = torch.rand(2, 8, 5, 6)
    module = _layer(
        layer,
        quantization.MinMaxObserver.with_args(dtype=torch.quint8),
        quantization.default_weight_observer,
        x,
    )
    assert_equal(module, x, [x, torch.ones_like(x)])


@pytest.mark.parametrize(
    ("engine", "layer", "message"),
    [
        ("fbgemm", lambda: nn.ConvTranspose2d(16, 8, 2), "it mixes up weights here"),
        ("x86", lambda: nn.ConvTranspose2d(8, 6, 2), "it mixes up weights here"),
        (
            "x86",
            lambda: nn.ConvTranspose2d(4, 4, 3, 2, output_padding=1),
            "the engine x86 leaves it to fbgemm",
        ),
        (
            "qnnpack",
            lambda: nn.ConvTranspose2d(4, 4, 3, dilation=2),
            "dilations of a transposed convolution are not supported",
        ),
    ],
    indirect=["engine"],
)
def test_transposed_layers_that_are_refused(
    engine: str, layer: Callable[[], Any], message: str
) -> None:
    made = layer()
    body = quantization.QuantWrapper(made)
    network = Network(body, (1, made.in_channels, 5, 5))
    with pytest.raises(QlowerError, match=message):
        qlower.from_eager(network.quantized(engine), network.example())


@pytest.mark.parts(2)
@pytest.mark.parametrize("engine", ["x86", "fbgemm"], indirect=True)
def test_averages_of_contiguous_images_are_remarked_on(engine: str) -> None:
    """By default images are so until a convolution makes them channels_last."""
    body = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(16, 4, 1))
    network = Network(quantization.QuantWrapper(body), (2, 16, 12, 12))
    module = network.quantized(engine)
    module.quant.zero_point = torch.tensor([61])
    x = network.example()
    (_, remark) = qlower.from_eager(module, x).remarks
    assert "node 2 avg_pool2d 'module_0': its image has the channels first" in remark
    last = x.contiguous(memory_format=torch.channels_last)
    assert len(qlower.from_eager(module, last).remarks) == 1
    if engine == "x86":
        assert "as the contract pytorch-nchw does" in remark
        run = qlower.jit(qlower.from_eager(module, x), contract="pytorch-nchw")
        assert (np.asarray(run(x.numpy())) == module(x).numpy()).all()


@pytest.mark.parts(8)
@pytest.mark.parametrize("includes", [False, True])
@pytest.mark.parametrize("engine", ENGINES, indirect=True)
def test_averages_whose_last_windows_are_smaller(engine: str, includes: bool) -> None:
    """They end within the image, in its padding, or beyond that."""
    pools = [
        nn.AvgPool2d(*window, ceil_mode=True, count_include_pad=includes)
        for window in product((2, 3, (3, 2)), (2, 3, (1, 3)), (0, 1))
    ]
    layers = {"first": nn.Conv2d(3, 19, 1), "pools": nn.ModuleList(pools)}

    def forward(net: Any, x: Any) -> Any:
        x = net.first(x)
        return torch.cat([pool(x).flatten(2) for pool in net.pools], 2)

    network = Network(Stubs(layers, forward), (2, 3, 9, 8))
    assert_equal(network.quantized(engine), network.example(), [network.example()])


@pytest.mark.parametrize("engine", ["qnnpack"], indirect=True)
def test_a_softmax_at_the_end(engine: str) -> None:
    body = nn.Sequential(quantization.QuantWrapper(nn.Linear(20, 7)), nn.Softmax(1))
    network = Network(body, (5, 20))
    module = network.quantized(engine)
    x = network.example()
    model = qlower.from_eager(module, x)
    assert "softmax '_1' runs on float32" in model.remarks[1]
    found = qlower.jit(model)(x.numpy())
    np.testing.assert_allclose(found, module(x).numpy(), rtol=1e-6)


def _rescaled(net: Any, x: Any) -> Any:
    return net.sum.add_scalar(net.layer(x), 50.0)


def _reversed(net: Any, x: Any) -> Any:
    return net.sum.mul_scalar(net.layer(x), -1.0)


def _gathered(net: Any, x: Any) -> Any:
    return net.layer(x)[:, [1, 0]]


def _fractional(net: Any, x: Any) -> Any:
    return nn.functional.interpolate(net.layer(x), size=(3, 7))


def _smooth(net: Any, x: Any) -> Any:
    return nn.functional.interpolate(net.layer(x), scale_factor=2, mode="bilinear")


@pytest.mark.parametrize("engine", ["qnnpack"], indirect=True)
@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (_rescaled, "add_scalar: 50.0 changes what is stored"),
        (_reversed, "mul_scalar: -1.0 changes what is stored"),
        (_gathered, "getitem: an index is not supported"),
        (_fractional, r"\[1, 2, 3, 7\] of \[1, 2, 5, 5\] is not supported"),
        (_smooth, "mode 'bilinear' is not supported; expected 'nearest'"),
    ],
)
def test_operators_that_are_refused(
    engine: str, forward: Callable[[Any, Any], Any], message: str
) -> None:
    sums = torch.ao.nn.quantized.FloatFunctional()
    module = Stubs({"layer": nn.Conv2d(3, 2, 1), "sum": sums}, forward)
    network = Network(module, (1, 3, 5, 5))
    with pytest.raises(QlowerError, match=message):
        qlower.from_eager(network.quantized(engine), network.example())


def _float() -> Any:
    return nn.Linear(2, 2)


def _branching() -> Any:
    def forward(net: Any, x: Any) -> Any:
        return net.layer(x) if x.sum() > 0 else x

    return _converted(Stubs({"layer": nn.Linear(2, 2)}, forward))


def _scripted() -> Any:
    wrapped = quantization.QuantWrapper(nn.Linear(2, 2))
    return torch.jit.trace(_converted(wrapped), torch.zeros(1, 2))


def _signed() -> Any:
    def forward(net: Any, x: Any) -> Any:
        x = torch.quantize_per_tensor(net.layer(x).dequantize(), 0.1, -3, torch.qint8)
        return torch.relu(x)

    return _converted(Stubs({"layer": nn.Linear(2, 2)}, forward))


def _converted(module: Any) -> Any:
    module.eval().qconfig = quantization.get_default_qconfig("x86")
    return quantization.convert(quantization.prepare(module))


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: 3, "takes a module, not int"),
        (_float, "Linear has no quantized layer"),
        (_branching, "torch.fx can't trace Stubs: symbolically traced variables"),
        (_signed, "values of type qint8 are not supported; expected quint8"),
        (_scripted, "takes a module in Python, not a ScriptModule"),
    ],
)
def test_modules_that_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(QlowerError, match=message):
        qlower.from_eager(make(), torch.zeros(1, 2))


BY_CHANNEL = quantization.per_channel_dynamic_qconfig
BY_TENSOR = quantization.default_dynamic_qconfig


def _dynamic(layers: Any, qconfig: Any = BY_TENSOR) -> Any:
    kinds = {nn.Linear: qconfig, nn.LSTM: BY_TENSOR, nn.GRU: BY_TENSOR}
    return quantization.quantize_dynamic(layers.eval(), kinds)


@pytest.mark.parts(6)
@pytest.mark.parametrize("engine", ["fbgemm", "qnnpack", "x86"], indirect=True)
@pytest.mark.parametrize("qconfig", [BY_TENSOR, BY_CHANNEL])
def test_dynamically_quantized_linear_layers(qconfig: Any, engine: str) -> None:
    """Of two and three dimensions, with and without a bias, and ranges from those below
    the least scale to large ones, with both ends or one."""
    first, second = nn.Linear(19, 33), nn.Linear(33, 6, bias=False)
    module = _dynamic(nn.Sequential(first, nn.ReLU(), second), qconfig)
    sizes = [0.0, 1e-39, 1e-7, 1e-4, 1e-2, 1.0, 1e3]
    inputs = [torch.randn(5, 19) * size for size in sizes]
    inputs += [inputs[5].abs(), -inputs[4].abs(), -inputs[2].abs()]
    assert_equal(module, inputs[0], inputs)
    rows = torch.randn(2, 3, 19)
    assert_equal(module, rows, [rows])


@pytest.mark.parts(2)
@pytest.mark.parametrize("engine", ["fbgemm", "qnnpack"], indirect=True)
def test_dynamic_codes_at_ties(engine: str) -> None:
    """Numbers between two codes, and up to two floats away from there."""
    layer = nn.Linear(1, 1, bias=False)
    layer.weight.data[:] = 1.0
    module = _dynamic(nn.Sequential(layer))
    random = np.random.default_rng(1)
    last = 127 if engine == "fbgemm" else 255
    for seed in range(20):
        ends = -abs(random.normal()) * (seed % 4 > 0), abs(random.normal())
        low, high = np.array(ends, np.float32)
        step = (float(high) - float(low)) / last
        ties = (random.integers(-last, last, 200) + 0.5) * step
        near = np.float32(ties).view(np.int32) + random.integers(-2, 3, 200, np.int32)
        x = np.clip(near.view(np.float32), low, high)
        given = torch.from_numpy(np.append(x, [low, high]).reshape(-1, 1))
        assert_equal(module, given, [given])


@pytest.mark.parametrize("engine", ["onednn"], indirect=True)
def test_dynamic_layers_of_onednn_are_refused(engine: str) -> None:
    module = _dynamic(nn.Sequential(nn.Linear(3, 2)))
    model = qlower.from_eager(module, torch.ones(1, 3))
    with pytest.raises(QlowerError, match="how oneDNN rounds layers that quantize"):
        qlower.jit(model)


class Recurrent(nn.Module):
    """A recurrent layer as it is called, with or without a state of its own."""

    def __init__(self, kind: str, has_state: bool = False, **options: Any) -> None:
        super().__init__()
        self.layer = getattr(nn, kind)(**options)
        self.kind, self.has_state = kind, has_state

    def forward(self, x: Any) -> Any:
        if self.has_state:
            states = x[:1, :, : self.layer.hidden_size].contiguous()
            both = (states, states) if self.kind == "LSTM" else states
            steps, last = self.layer(x, both)
        else:
            steps, last = self.layer(x)
        return (steps, last[0], last[1]) if self.kind == "LSTM" else (steps, last)


class SleefTanh(torch.overrides.TorchFunctionMode):
    """Runs a recurrent layer step by step, with the text's tanh for MKL's."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function in (torch.quantized_lstm, torch.quantized_gru):
            return _stepped(function is torch.quantized_lstm, *args, **(kwargs or {}))
        return function(*args, **(kwargs or {}))


def _tanh(x: Any) -> Any:
    text = load_contract("_sleef").definition.function("tanhf_u10").function
    (found,) = evaluate_function(text, [x.contiguous().numpy()])
    return torch.from_numpy(np.asarray(found).reshape(x.shape).copy())


def _stepped(
    is_lstm: bool, x: Any, initial: Any, parameters: Any, *more: Any, **_: Any
) -> Any:
    """aten/src/ATen/native/RNN.cpp, operator by operator."""
    _, layers, _, _, is_bidirectional, batch_first = more
    x = x.transpose(0, 1) if batch_first else x
    first = initial if is_lstm else (initial,)
    ends: list[list[Any]] = [[] for _ in first]
    for layer in range(layers):
        sides: list[Any] = []
        for side in range(1 + is_bidirectional):
            number = layer * (1 + is_bidirectional) + side
            packed = parameters[number].__getstate__()[0][4]
            state = [one[number] for one in first]

            def linear(x: Any, part: int, packed: Any = packed) -> Any:
                return torch.ops.quantized.linear_dynamic(x, packed[part], True)

            sums, steps = linear(x, 0), [None] * len(x)
            for at in reversed(range(len(x))) if side else range(len(x)):
                passed = linear(state[0], 1)
                if is_lstm:
                    i, f, g, o = (passed + sums[at]).chunk(4, 1)
                    cell = f.sigmoid_() * state[1] + i.sigmoid_() * _tanh(g)
                    state = [o.sigmoid_() * _tanh(cell), cell]
                else:
                    parts = zip(passed.chunk(3, 1), sums[at].chunk(3, 1), strict=True)
                    (r, rx), (z, zx), (n, nx) = parts
                    new = _tanh(nx + n * r.add_(rx).sigmoid_())
                    state = [(state[0] - new) * z.add_(zx).sigmoid_() + new]
                steps[at] = state[0]
            sides.append(torch.stack(steps))
            for end, one in zip(ends, state, strict=True):
                end.append(one)
        x = torch.cat(sides, 2)
    last = [torch.stack(end) for end in ends]
    return (x.transpose(0, 1) if batch_first else x, *last)


RECURRENT = [
    ("LSTM", {"hidden_size": 37, "has_state": True}),
    ("GRU", {"hidden_size": 33}),
    ("LSTM", {"hidden_size": 8, "num_layers": 2, "bidirectional": True}),
    ("GRU", {"hidden_size": 16, "bidirectional": True, "batch_first": True}),
]


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("kind", "options", "engine"),
    [
        pytest.param(*one, engine, marks=[] if at % 2 == place else [pytest.mark.long])
        for at, one in enumerate(RECURRENT)
        for place, engine in enumerate(("fbgemm", "qnnpack"))
    ],
    indirect=["engine"],
)
def test_dynamically_quantized_recurrent_layers(
    kind: str, options: dict[str, Any], engine: str
) -> None:
    """All but MKL's tanh has PyTorch's bits; with it, last bits differ."""
    module = _dynamic(Recurrent(kind, input_size=40, **options))
    x = torch.randn(6, 3, 40)
    model = qlower.from_eager(module, x)
    assert "its tanh is MKL's in PyTorch" in model.remarks[1]
    run = qlower.jit(model)
    for size in (1.0, 30.0):
        found = run((x * size).numpy())
        with torch.no_grad():
            plain = module(x * size)
            with SleefTanh():
                stepped = module(x * size)
        for one, other, near in zip(found, stepped, plain, strict=True):
            np.testing.assert_array_equal(one, other.numpy())
            np.testing.assert_allclose(one, near.numpy(), atol=5e-2)


def test_recurrent_layers_in_a_row() -> None:
    """The states of one are the other's before its first step."""

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LSTM(5, 8), nn.LSTM(5, 8)

        def forward(self, x: Any) -> Any:
            _, states = self.first(x)
            steps, states = self.second(x, states)
            return steps, states[0]

    x = torch.randn(4, 2, 5)
    module = _dynamic(Pair())
    found = qlower.jit(qlower.from_eager(module, x))(x.numpy())
    for one, near in zip(found, module(x), strict=True):
        np.testing.assert_allclose(one, near.detach().numpy(), atol=1e-3)


def test_other_dynamic_layers_are_refused() -> None:
    module = quantization.quantize_dynamic(nn.Sequential(nn.LSTMCell(3, 2)))
    message = "LSTMCell: a module that quantizes its input as it runs is not"
    with pytest.raises(QlowerError, match=message):
        qlower.from_eager(module, torch.zeros(4, 3))


def test_the_other_readers_name_this_one() -> None:
    module = _converted(nn.Sequential(nn.Linear(2, 2)))
    with pytest.raises(QlowerError, match="from_eager"):
        qlower.from_torch(module)
    with pytest.raises(QlowerError, match="from_eager"):
        qlower.from_fx(module, torch.zeros(1, 2))
    with pytest.raises(QlowerError, match="from_eager"):
        qlower.load("model.pt")
