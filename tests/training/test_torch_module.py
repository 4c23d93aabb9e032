"""`qlower.torch.Module`: the device's bits forward, PyTorch's gradients backward."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qlower
from qlower.diagnostics import QlowerError
from qlower.dialects.quant import quantized_element
from qlower.model.layers import layer_name, layers
from qlower.model.weights import weight_specs
from qlower.text.parsing import parse_module

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
Module: Any = import_module("qlower.torch").Module

EXAMPLES = Path(__file__).parents[2] / "examples"
MODEL = EXAMPLES / "digits" / "digits.mlir"
PAIRS = "pytorch-fbgemm-avx2"
LAYER_CONTRACTS = {"softmax": "tflite"}
CONTRACTS = (
    *("exact", "gemmlowp", "glow-cpu", "glow-interpreter", "onnx-reference"),
    *("onnxruntime", "onnxruntime-avx2", "pytorch-inductor", "pytorch-onednn"),
    *("stablehlo", "tflite", "tflite-ruy", "tflite-single", "tflite-xnnpack", "tflm"),
    *("tvm", "tvm-float32", "tvm-neon", "tvm-neon-fix", "tvm-relay-float"),
    *("tvm-relay-shift", "tvm-tonearest", "xnnpack", "xnnpack-rndnu"),
)


def images(count: int = 6) -> Any:
    stored = np.load(EXAMPLES / "digits" / "test_images.npy")
    return torch.from_numpy(stored[:count].reshape(-1, 8, 8, 1))


def moved(module: Any, share: float = 0.3) -> Any:
    """The module, with parameters some way off."""
    with torch.no_grad():
        for parameter in module.parameters():
            step = share * parameter.abs().mean()
            parameter += step * torch.randn_like(parameter)
    return module


@pytest.mark.parts(5)
@pytest.mark.parametrize(
    "contract",
    ["pow2-shift", *(pytest.param(name, marks=pytest.mark.long) for name in CONTRACTS)],
)
def test_every_layer_has_the_bits_of_the_compiled_model(contract: str) -> None:
    module = Module(MODEL, contract, layer_contracts=LAYER_CONTRACTS, threads=2)
    for _ in range(2):
        model = module.to_model()
        run = qlower.jit(
            model, contract, with_layers=True, layer_contracts=LAYER_CONTRACTS
        )
        outputs, layers = run.run([images().numpy()], {})
        assert (module.stored(images()).numpy() == outputs[0]).all()
        assert module.stored_layers(images()).keys() == layers.keys()
        for name, found in module.stored_layers(images()).items():
            assert (found.numpy() == layers[name]).all(), name
        real = model.outputs[0].dequantize(outputs[0])
        assert (module(images()).detach().numpy() == real).all()
        moved(module)


def test_the_first_model_is_the_one_it_was_made_of() -> None:
    model = qlower.load(MODEL)
    same = Module(model).to_model()
    for old, new in zip(
        weight_specs(model.module), weight_specs(same.module), strict=True
    ):
        assert old.name == new.name
        assert (old.stored == new.stored).all()


@pytest.mark.long
def test_gradients_are_those_of_fake_quantization() -> None:
    """Under `exact`, whose stored values PyTorch's fake quantization also has."""
    functional = torch.nn.functional
    module = moved(Module(MODEL, "exact", layer_contracts={"softmax": "exact"}), 0.05)
    specs = {spec.name: spec for spec in weight_specs(qlower.load(MODEL).module)}
    types = layer_types()
    parameters = {
        name: parameter.detach().clone().requires_grad_()
        for name, parameter in module.named_parameters()
    }
    results = module.stored_layers(images())

    def fake(real: Any, name: str) -> Any:
        scale, zero_point = types[name]
        found = torch.fake_quantize_per_tensor_affine(
            real, scale, zero_point, -128, 127
        )
        stored = torch.round(found / scale) + zero_point
        assert (stored == results[name]).all(), name
        return found

    def weight(layer: str) -> Any:
        spec = specs[f"{layer}.weight"]
        return torch.fake_quantize_per_channel_affine(
            parameters[f"layers.{layer}.weight"],
            torch.tensor(spec.scales, dtype=torch.float32),
            torch.zeros(len(spec.scales), dtype=torch.int32),
            spec.axis,
            spec.low,
            spec.high,
        )

    def bias(layer: str) -> Any:
        spec, real = specs[f"{layer}.bias"], parameters[f"layers.{layer}.bias"]
        steps = torch.tensor(spec.scales, dtype=torch.float64)
        rounded = torch.round(real.detach().double() / steps) * steps
        return real + (rounded.float() - real).detach()

    x = (images().float() + 128) / 255
    x.requires_grad_()
    y = fake_input(x)
    kernel = weight("conv1").permute(0, 3, 1, 2)
    y = functional.conv2d(y.permute(0, 3, 1, 2), kernel, bias("conv1"), padding=1)
    y = fake(torch.relu(y).permute(0, 2, 3, 1), "conv1").permute(0, 3, 1, 2)
    kernel = weight("depthwise").permute(3, 0, 1, 2)
    y = functional.conv2d(y, kernel, bias("depthwise"), padding=1, groups=8)
    y = fake(torch.relu(y).permute(0, 2, 3, 1), "depthwise").permute(0, 3, 1, 2)
    kernel = weight("pointwise").permute(0, 3, 1, 2)
    y = functional.conv2d(y, kernel, bias("pointwise"))
    y = fake(torch.relu(y).permute(0, 2, 3, 1), "pointwise").permute(0, 3, 1, 2)
    y = functional.max_pool2d(y, 2).permute(0, 2, 3, 1).reshape(len(x), -1)
    y = fake(functional.linear(y, weight("logits"), bias("logits")), "logits")
    y = fake(torch.softmax(y, -1), "probabilities")
    goal = torch.randn_like(y)
    (y * goal).sum().backward()

    given = x.detach().clone().requires_grad_()
    (module(given) * goal).sum().backward()
    close(given.grad, x.grad)
    for name, parameter in module.named_parameters():
        close(parameter.grad, parameters[name].grad)


def close(found: Any, expected: Any) -> None:
    """Equal up to the rounding of float32 sums."""
    assert expected.abs().max() > 0
    torch.testing.assert_close(
        found, expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max())
    )


def fake_input(x: Any) -> Any:
    spec = qlower.load(MODEL).inputs[0]
    return torch.fake_quantize_per_tensor_affine(
        x, spec.scale, spec.zero_point, -128, 127
    )


def layer_types() -> dict[str | None, tuple[float, int]]:
    """Scale and zero point of every layer's result."""
    types = {
        layer_name(op): quantized_element(op.results[0].type)
        for op in layers(qlower.load(MODEL).module)
    }
    return {name: (type.scale, type.zero_point) for name, type in types.items()}


@pytest.mark.long
def test_the_surrogate_has_the_gradients_of_its_differences() -> None:
    module = Module(MODEL).double()
    x = torch.rand(1, 8, 8, 1, dtype=torch.float64, requires_grad=True)
    names = ["layers.conv1.weight", "layers.logits.bias"]
    given = [dict(module.named_parameters())[name] for name in names]

    class Surrogate(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, x: Any) -> Any:
            return self.module.surrogate(x)

    def function(x: Any, *parameters: Any) -> Any:
        changed = {f"module.{n}": p for n, p in zip(names, parameters, strict=True)}
        return torch.func.functional_call(Surrogate(), changed, (x,))

    assert torch.autograd.gradcheck(function, (x, *given), eps=1e-7)


def test_a_range_that_ends_at_zero_is_a_relu_of_the_surrogate() -> None:
    """As QDQ tools leave it: the file has no RELU."""
    text = REAL_BIAS.replace("2.500000e-02:-7", "2.500000e-02:-128")
    module = Module(qlower.Model(parse_module(text)), "exact").double()
    x = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    weight, bias = module.layers["linear"].weight, module.layers["linear"].bias
    expected = torch.relu(torch.nn.functional.linear(x, weight, bias))
    found = module.surrogate(x)
    torch.testing.assert_close(found, expected)
    assert (found == 0).any()
    assert (found > 0).any()
    assert torch.autograd.gradcheck(module.surrogate, (x,), eps=1e-7)


def test_a_slice_of_real_numbers() -> None:
    text = """!a = !quant.uniform<i8:f32, 0.5>
func.func @main(%x: tensor<2x4x3x!a>) -> tensor<2x2x1x!a> {
  %y = qnn.slice %x {offsets = [0, 1, 2], sizes = [2, 2, 1], strides = [1, 2, 1]}
    : (tensor<2x4x3x!a>) -> tensor<2x2x1x!a>
  return %y : tensor<2x2x1x!a>
}"""
    (op,) = layers(parse_module(text))
    x = torch.arange(24.0).reshape(2, 4, 3)
    (found,) = import_module("qlower.torch.surrogates").surrogate(op, [x])
    assert (found == x[:, 1::2, 2:]).all()


def test_what_the_device_clips_has_no_gradient() -> None:
    module = Module(MODEL)
    x = torch.full((1, 8, 8, 1), 2.0, requires_grad=True)  # the input ends at 1
    module(x)[0, 3].backward()
    assert not x.grad.any()
    spec = weight_specs(qlower.load(MODEL).module)[0]
    weight = module.layers["conv1"].weight
    with torch.no_grad():
        weight[0] = 1e3 * spec.scales[0]
    module.zero_grad()
    module(images())[:, 3].sum().backward()
    assert not weight.grad[0].any()
    assert weight.grad[1].any()


@pytest.mark.long
def test_copies_pickles_states_and_transforms() -> None:
    module = moved(Module(MODEL, "tflite"))
    expected = module.stored(images())
    read = pickle.loads(pickle.dumps(module))
    other = Module(MODEL, "tflite")
    assert (other.stored(images()) != expected).any()
    other.load_state_dict(module.state_dict())
    replica = module._replicate_for_data_parallel()
    for one in (read, other, copy.deepcopy(module), replica):
        assert (one.stored(images()) == expected).all()
    copied = copy.deepcopy(module)
    assert (moved(copied).stored(images()) != expected).any()
    assert (module.stored(images()) == expected).all()

    parameters = {n: p.detach() for n, p in module.named_parameters()}

    def loss(parameters: Any, x: Any) -> Any:
        return torch.func.functional_call(module, parameters, (x,)).square().sum()

    found = torch.func.grad(loss)(parameters, images())
    module(images()).square().sum().backward()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert module(images()).dtype == torch.float32
    with pytest.raises(QlowerError, match=r"torch.vmap can't map over a device"):
        torch.func.vmap(module)(images()[:, None])


def test_sets_and_single_examples() -> None:
    module = Module(MODEL, threads=3)
    together = module.stored(images(5))
    assert together.shape == (5, 10)
    alone = torch.cat([module.stored(one[None]) for one in images(5)])
    assert (together == alone).all()
    assert (module.stored(images(5)[:, None]) == together[:, None]).all()
    real = (images(5).float() + 128) / 255
    assert (module.stored(real) == together).all()
    frozen = Module(MODEL, trainable=False)
    assert not any(p.requires_grad for p in frozen.parameters())
    assert (frozen.stored(images(5)) == together).all()


@pytest.mark.long
def test_what_is_not_trained_is_compiled_as_it_is() -> None:
    """With contracts that have to know the weights, too; and again for others."""
    frozen = Module(MODEL, PAIRS, layer_contracts=LAYER_CONTRACTS, trainable=False)
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    for _ in range(2):
        run = qlower.jit(frozen.to_model(), PAIRS, layer_contracts=LAYER_CONTRACTS)
        x = images()
        assert (frozen.stored(x).numpy() == run(x.numpy())).all()
        moved(frozen)
    read = pickle.loads(pickle.dumps(frozen))
    assert (read.stored(images()) == frozen.stored(images())).all()


WORKER = """
import sys, numpy, torch
from torch.nn.parallel import DistributedDataParallel
from qlower.torch import Module
rank, folder, model, images = int(sys.argv[1]), *sys.argv[2:]
torch.set_num_threads(1)
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2
)
module = DistributedDataParallel(Module(model, "tflite"))
x = torch.from_numpy(numpy.load(images)[:8].reshape(-1, 8, 8, 1))
module(x[rank::2]).square().sum().backward()
if rank == 0:
    found = {n: p.grad for n, p in module.module.named_parameters()}
    torch.save(found, f"{folder}/gradients.pt")
"""


@pytest.mark.long
def test_two_workers_have_the_gradients_of_one(tmp_path: Path) -> None:
    """PyTorch's distributed training: the mean of both workers' gradients."""
    given = (str(tmp_path), str(MODEL), str(EXAMPLES / "digits" / "test_images.npy"))
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(rank), *given])
        for rank in range(2)
    ]
    assert [worker.wait(timeout=300) for worker in workers] == [0, 0]
    found = torch.load(tmp_path / "gradients.pt")
    module = Module(MODEL, "tflite")
    module(images(8)).square().sum().backward()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(2 * found[name], parameter.grad)


REAL_BIAS = """
!x = !quant.uniform<i8:f32, 5.000000e-02:3>
!w = !quant.uniform<i8:f32:0, {1.000000e-02,2.000000e-02}>
!y = !quant.uniform<i8:f32, 2.500000e-02:-7>
func.func @main(%x: tensor<1x4x!x>) -> tensor<1x2x!y> {
  %w = qnn.constant dense<[[1, -2, 3, 90], [5, 6, -7, 8]]> : tensor<2x4xi8>
    -> tensor<2x4x!w>
  %b = arith.constant dense<[0.3377, -0.12345]> : tensor<2xf32>
  %y = qnn.linear %x, %w, %b
    : (tensor<1x4x!x>, tensor<2x4x!w>, tensor<2xf32>) -> tensor<1x2x!y>
  return %y : tensor<1x2x!y>
}"""


@pytest.mark.parametrize("contract", ["exact", "glow-interpreter", "pytorch-onednn"])
def test_a_bias_of_real_numbers(contract: str, tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(REAL_BIAS)
    model = qlower.load(tmp_path / "m.mlir")
    module = Module(model, contract)
    x = np.arange(-40, 40, dtype=np.int8).reshape(20, 4)
    expected = qlower.interpret(model, x, contract=contract, at="qnn")
    assert (module.stored(torch.from_numpy(x)).numpy() == expected).all()


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Module(MODEL)(), "the model takes 1 inputs, but 0 are given"),
        (lambda: Module(MODEL)(torch.zeros(2, 8, 8)), r"shapes \[2, 8, 8\]"),
        (lambda: Module(MODEL)(torch.zeros(1, 8, 8, 1).int()), "type torch.int32"),
        (lambda: Module(MODEL, threads=0), "threads is 0"),
        (
            lambda: Module(MODEL, PAIRS, layer_contracts=LAYER_CONTRACTS),
            "in saturating",
        ),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(QlowerError, match=message):
        make()


def test_an_operation_without_gradient_is_refused_by_name() -> None:
    text = """
    !t = !quant.uniform<i8:f32, 1.000000e-01>
    func.func @main(%x: tensor<4x!t>) -> tensor<4xi1> {
      %y = qnn.compare %x, %x {predicate = "lt"}
        : (tensor<4x!t>, tensor<4x!t>) -> tensor<4xi1>
      return %y : tensor<4xi1>
    }"""
    with pytest.raises(QlowerError, match=r"qnn\.compare has no gradient"):
        Module(qlower.Model(parse_module(text)))


@pytest.mark.long
def test_ten_thousand_steps_keep_no_memory() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    module = Module(MODEL, "pow2-shift", layer_contracts=LAYER_CONTRACTS)
    x, sizes = images(2), list[int]()
    for step in range(10_000):
        module.zero_grad()
        module(x).sum().backward()
        if step % 1_000 == 999:
            sizes.append(resident())
    assert sizes[-1] - sizes[0] < 1 << 22
