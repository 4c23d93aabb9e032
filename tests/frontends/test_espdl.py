"""ESP-DL's files: what is read, beside integers computed here and the answers of
esp-ppq, and what is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.espdl_files import EspdlFile, network, packed

import qlower
from qlower.compilation.compilation import Compilation
from qlower.contracts.contractions import SUMMED
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import module_contract
from qlower.dialects.quant import quantized_element
from qlower.frontends.espdl import FORMAT
from qlower.frontends.espdl.reader import HEADER
from qlower.frontends.espdl.tables import File
from qlower.interp.values import Array
from qlower.model.layers import layer_name, layers, name_layers
from qlower.observe.layer_run import run_layer
from qlower.verification.equal import layer_inputs


def shifted(sums: Array, places: Array, half_even: bool, bits: int) -> Array:
    """`sums 2^-places` rounded half to even or up, exactly, as codes of `bits`."""
    steps = sums.astype(np.float64) * np.exp2(-places.astype(np.float64))
    found = np.rint(steps) if half_even else np.floor(steps + 0.5)
    half = 1 << bits - 1
    return found.clip(-half, half - 1).astype(np.int64)


def convolved(x: Array, filters: Array, groups: int) -> Array:
    """The sums of an image [1, H, W, C] of the size that padding keeps."""
    pad = filters.shape[2] // 2
    wide = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    total = np.zeros((*x.shape[:3], len(filters)), np.int64)
    for i in range(filters.shape[2]):
        for j in range(filters.shape[3]):
            part = wide[:, i : i + x.shape[1], j : j + x.shape[2]]
            taps = filters[:, :, i, j]
            total += part * taps[:, 0] if groups > 1 else part @ taps.T
    return total


def expected(
    seed: int, x: Array, *, plain: bool, single: bool, half_even: bool, bits: int
) -> Array:
    """The network of `network`, from its unpacked weights; no register is filled."""
    draw = np.random.default_rng(seed)
    most, low = (1 << bits - 1) - 1, bits - 8

    def layer(
        x: Array, shape: tuple[int, ...], into: int, out: int, *, has_bias: bool = True
    ) -> Array:
        filters = draw.integers(-most, most + 1, shape).astype(np.int64)
        count = 1 if plain or single else shape[0]
        places = out - into - draw.integers(-9, -6, count) + low
        sums = convolved(x, filters, shape[0] if shape[1] == 1 else 1)
        bias = (draw.integers(-9000, 9000, shape[0]) << 2 * low) * has_bias
        return shifted(sums + bias, places, half_even, bits)

    a = layer(x.astype(np.int64), (18, 3, 3, 3), -5, -2)
    b = layer(a, (18, 1, 3, 3), -2, -1).clip(0)
    table = draw.integers(-most - 1, most + 1, 256 + (bits > 8))
    if bits == 8:
        c = table[b + 128]
        d = shifted(a * 2 + c, np.array(2), half_even, bits)
        e = shifted(d * 4, np.array(0), half_even, bits)
    else:
        c = table[shifted(b + most + 1, np.array(8), half_even, 18)]
        e = (2 * c).clip(-most - 1, most).clip(0)
    mean = e.sum((1, 2), keepdims=True).astype(np.float32) * np.float32(2 / 20)
    rounded = np.rint(mean) if half_even else np.floor(mean + np.float32(0.5))
    f = rounded.clip(-most - 1, most).astype(np.int64)
    h = layer(f, (17, 18, 1, 1), -4, -4, has_bias=False)
    return layer(h, (10, 17, 1, 1), -4, -3).reshape(1, 10)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(
    ("contract", "plain", "single"),
    [
        ("esp-dl-p4", False, False),
        ("esp-dl-s3", False, True),
        ("esp-dl-esp32", True, True),
    ],
)
def test_network(
    contract: str, plain: bool, single: bool, bits: int, tmp_path: Path
) -> None:
    path = tmp_path / "model.espdl"
    path.write_bytes(network(7, plain, single, bits).build())
    model = qlower.load(path)
    assert module_contract(model.module) == contract
    assert model.inputs[0].shape == (1, 5, 4, 3)
    assert model.inputs[0].scales == (2.0 ** (3 - bits),)
    x = np.random.default_rng(7).integers(-40, 40, (1, 5, 4, 3)) << bits - 8
    x += np.arange(x.size).reshape(x.shape) % (1 << bits - 8)
    given = x.astype(f"int{bits}")
    ((found,), _) = Compilation(model, None).interpreter("qnn").run([given], {})
    kind = {"plain": plain, "single": single, "half_even": contract.endswith("p4")}
    np.testing.assert_array_equal(found, expected(7, x, bits=bits, **kind))


Change = Callable[[EspdlFile], None]
"""What is done to a file before it is built."""


def small(change: Callable[[EspdlFile], object] = lambda file: None) -> bytes:
    """A convolution of 2 filters and a table, with a change."""
    file = EspdlFile(([1, 4, 4, 3], -5))
    weights = np.arange(6, dtype=np.int8).reshape(2, 3, 1, 1)
    array, layout = packed(weights)
    file.constant("w", array, [-7], layout)
    file.constant("b", np.array([1, 2], np.int32), [-12])
    window = {"pads": [0] * 4, "strides": [1, 1], "dilations": [1, 1], "group": 1}
    window |= {"kernel_shape": [1, 1], "activation": "Linear"}
    file.add("Conv", ["x", "w", "b"], "a", [1, 4, 4, 2], -6, **window)
    file.constant("t", np.arange(-128, 128).astype(np.int8), [-3], "")
    file.add("Swish", ["a"], "y", [1, 4, 4, 2], -3, lut="t")
    change(file)
    return file.build()


def with_attribute(number: int, name: str, value: object) -> Change:
    def change(file: EspdlFile) -> None:
        kind, inputs, result, given = file.nodes[number]
        file.nodes[number] = kind, inputs, result, {**given, name: value}

    return change


def with_operator(number: int, kind: str, *inputs: str) -> Change:
    def change(file: EspdlFile) -> None:
        file.nodes[number] = kind, inputs, file.nodes[number][2], {}

    return change


def with_constant(name: str, *parts: object) -> Change:
    def change(file: EspdlFile) -> None:
        given = (*parts, *file.constants[name][len(parts) :])
        file.constants[name] = given  # pyright: ignore[reportArgumentType]

    return change


REFUSALS: dict[str, tuple[Change, str]] = {
    "long": (with_attribute(0, "quant_type", "F32"), "quant_type 'F32' is not supp"),
    "words": (with_constant("w", np.zeros((1, 1, 3, 2), np.int16)), "'w' of INT16"),
    "beside": (with_attribute(1, "quant_type", "S16"), "beside the operator itself"),
    "operator": (with_operator(1, "Softmax", "a"), "node 1 Softmax 'Softmax y': this"),
    "operands": (with_operator(0, "Conv", "x"), "1 operands, expected 2"),
    "unknown": (with_operator(0, "Conv", "x", "q"), "'q' is described nowhere"),
    "moved": (with_operator(1, "Identity", "a"), "have different exponents"),
    "activation": (with_attribute(0, "activation", "PRelu"), '"prelu" is not one of'),
    "group": (with_attribute(0, "group", 3), "'b' of shape [2]; expected [3]"),
    "table": (with_constant("t", np.zeros(9, np.int8)), "int8 [9] is not supported"),
    "layout": (
        with_constant("w", np.zeros((1, 1, 3, 2), np.int8), [-7], "(N/8)HWC8"),
        "the layout '(N/8)HWC8'; expected (N/16)HWC16",
    ),
    "rank": (with_constant("w", np.zeros(6, np.int8)), "weights 'w' of shape [6]"),
    "exponent": (with_constant("b", np.zeros(2, np.int32), [-300]), "-300 is out of"),
    "steps": (with_constant("b", np.zeros(2, np.int32), [-11]), "isn't in steps of"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    change, message = REFUSALS[name]
    with pytest.raises(QlowerError) as caught:
        FORMAT.module(small(change), name="model.espdl")
    assert str(caught.value).startswith("model.espdl:")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an .espdl file: the file is empty"),
        (b"EDL1" + bytes(12), "not an .espdl file: it doesn't begin with EDL2"),
        (b"EDL2\1" + bytes(11), "the file is encrypted"),
        (b"EDL2", "an offset leads to byte 4 of 4"),
        (small()[:-1], "bytes are announced, there are"),
        (
            b"EDL2" + struct.pack("<II4x", 0, 4) + b"\xff" * 4,
            "leads to byte 4294967295",
        ),
    ],
)
def test_refused_bytes(data: bytes, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        FORMAT.module(data, name="model.espdl")
    assert message in str(caught.value)


PPQ_TARGETS = {"esp-dl-p4": "esp32p4", "esp-dl-s3": "esp32s3", "esp-dl-esp32": "c"}


def stored_answers(path: Path) -> tuple[Array, Array]:
    """The input that a file of esp-ppq has, and the output that its simulator gives."""
    data = path.read_bytes()
    root = File(data[HEADER:], "answers").root().table(7)
    assert root is not None
    bits = 16 if b"S16" in data else 8
    x, y = (
        table.numbers(8, "i1", 16)
        .view(f"<i{bits // 8}")[: np.prod(table.integers(0))]
        .reshape(table.integers(0))
        for field in (8, 9)
        for table in root.tables(field)
    )
    return x, y


def quantized_by_esp_ppq(
    net: Any, shape: list[int], contract: str, bits: int, path: Path
) -> None:
    torch: Any = import_module("torch")
    api: Any = import_module("esp_ppq.api")
    api.espdl_quantize_torch(
        net.eval(),
        str(path),
        [torch.randn(*shape) for _ in range(4)],
        calib_steps=4,
        input_shape=shape,
        target=PPQ_TARGETS[contract],
        num_of_bits=bits,
        error_report=False,
        export_test_values=True,
        verbose=0,
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("contract", PPQ_TARGETS)
def test_answers_of_esp_ppq(contract: str, bits: int, tmp_path: Path) -> None:
    """Its simulator sums float32 numbers: of int16 a sum that is next to a tie may fall
    on the other side in some layer."""
    pytest.importorskip("esp_ppq")
    torch: Any = import_module("torch")
    nn = torch.nn

    class Rows(nn.Module):
        """Products with constant matrices, and of two results."""

        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(16, 35), nn.Linear(16, 9, bias=False)

        def forward(self, x: Any) -> Any:
            x = x.flatten(1, 2)
            return self.one(x).relu().transpose(1, 2) @ self.other(x)

    for seed in range(5):
        torch.manual_seed(seed)
        net = nn.Sequential(
            *(nn.Conv2d(3, 18, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(18, 18, 3, 2, 1, groups=18), nn.ReLU()),
            *(nn.Conv2d(18, 32, 1), nn.SiLU(), nn.MaxPool2d(2), nn.AvgPool2d(2)),
            *(nn.Conv2d(32, 7, 1), nn.Sigmoid(), nn.Flatten(), nn.Linear(28, 10)),
        )
        net = Rows() if seed == 4 else net
        path = tmp_path / f"{seed}.espdl"
        quantized_by_esp_ppq(net, [1, 3, 16, 16], contract, bits, path)
        x, y = stored_answers(path)
        model = qlower.load(path)
        assert module_contract(model.module) == contract
        found = qlower.jit(model)(x).astype(np.int64)
        assert np.abs(found - y).max() <= (bits > 8)
        assert (found != y).mean() <= 0.01


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("contract", PPQ_TARGETS)
def test_onnx_of_esp_ppq(contract: str, tmp_path: Path) -> None:
    """Its files of both kinds are read as one network; `--qdq device` is implied."""
    pytest.importorskip("esp_ppq")
    torch: Any = import_module("torch")
    api: Any = import_module("esp_ppq.api")
    platform: Any = import_module("esp_ppq").TargetPlatform
    nn = torch.nn

    class Sums(nn.Module):
        """An addition, a product and a concatenation, with activations."""

        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = (nn.Conv2d(3, 8, 3, padding=1) for _ in range(3))
            self.d, self.pool = nn.Conv2d(16, 12, 3, 2), nn.AdaptiveAvgPool2d(1)
            self.e, self.f = nn.Linear(12, 9), nn.Linear(9, 5)

        def forward(self, x: Any) -> Any:
            a = self.a(x).relu()
            both = torch.cat([(a + self.b(x)).relu(), a * self.c(x)], 1)
            row = self.pool(self.d(both).relu()).flatten(1)
            return self.f(self.e(row).relu())

    for seed in range(6):
        torch.manual_seed(seed)
        net = nn.Sequential(
            *(nn.Conv2d(3, 18, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(18, 18, 3, 2, 1, groups=18), nn.ReLU6()),
            *(nn.Conv2d(18, 32, 1), nn.MaxPool2d(2), nn.AvgPool2d(2)),
            *(nn.Conv2d(32, 7, 1), nn.Sigmoid(), nn.Flatten()),
            *(nn.Linear(28, 12), nn.ReLU(), nn.Linear(12, 10)),
        )
        path = tmp_path / f"{seed}.espdl"
        graph = api.espdl_quantize_torch(
            (Sums() if seed % 2 else net).eval(),
            str(path),
            [4 * torch.randn(1, 3, 16, 16) for _ in range(4)],
            calib_steps=4,
            input_shape=[1, 3, 16, 16],
            target=PPQ_TARGETS[contract],
            error_report=False,
            verbose=0,
        )
        file = path.with_suffix(".onnx")
        api.export_ppq_graph(
            graph=graph, platform=platform.ONNXRUNTIME, graph_save_to=str(file)
        )
        device, run = qlower.jit(path), qlower.jit(file, contract=contract)
        (given,), (result,) = device.inputs, device.outputs
        draw = np.random.default_rng(seed)
        for _ in range(100):
            x = draw.integers(-128, 128, given.shape).astype(np.int8)
            real = (x * np.float32(given.scale)).transpose(0, 3, 1, 2)
            found = run(np.ascontiguousarray(real, np.float32))
            np.testing.assert_array_equal(found / result.scale, device(x))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("contract", PPQ_TARGETS)
def test_layers_of_words_of_esp_ppq(contract: str, tmp_path: Path) -> None:
    """Where a layer differs, the exact sum is nearer to a tie than a sum of float32
    numbers can tell."""
    pytest.importorskip("esp_ppq")
    torch: Any = import_module("torch")
    nn = torch.nn
    compared = different = 0
    for seed in range(3):
        torch.manual_seed(seed)
        for number, net in enumerate(
            (
                nn.Conv2d(16, 19, 3, padding=1),
                nn.Conv2d(16, 16, 3, padding=1, groups=16),
                nn.Sequential(nn.Flatten(1, 2), nn.Linear(24, 35)),
            )
        ):
            path = tmp_path / f"{seed}-{number}.espdl"
            shape = [1, 16, 24, 24]
            quantized_by_esp_ppq(net, shape, contract, 16, path)
            x, y = stored_answers(path)
            model = qlower.load(path)
            found = qlower.jit(model)(x)
            name_layers(model.module)
            (op,) = (op for op in layers(model.module) if isinstance(op, SUMMED))
            name = layer_name(op) or ""
            ((source, spec),) = layer_inputs(model, name).items()
            run = run_layer(model, contract, name, {source: x.reshape(spec.shape)})
            sums = run.evaluations[-1].values["accumulator"]
            x_scale, w_scale, y_scale = (
                np.array(quantized_element(value.type).scales)
                for value in (*op.operands[:2], op.results[0])
            )
            steps = sums * (x_scale * w_scale / y_scale)
            off = (found.reshape(sums.shape) != y.reshape(sums.shape)).nonzero()
            distance = np.abs(steps[off] - np.floor(steps[off]) - 0.5)
            reach = 2.0**-19 * np.abs(steps).max()
            assert (distance < reach).all(), (name, distance.max())
            compared += y.size
            different += off[0].size
    print(f"{contract}: {different} of {compared} values differ, all next to a tie")
