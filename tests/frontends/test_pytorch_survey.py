"""How much of what people quantize in PyTorch is read, and gives its bits.

Each test prints a line for each network that isn't read or isn't equal, and a line of
sums: `pytest --long -s tests/frontends/test_pytorch_survey.py`. Networks of PT2E and
torchao need the packages torchao and, for XNNPACK, executorch, of the versions that
were built for the installed PyTorch; they belong to no extra.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.systems import torch_networks
from support.systems.eager_networks import NETWORKS as EAGER
from support.systems.torch_blocks import Real, nn, torch
from support.systems.torch_networks import NETWORKS

import qlower
from qlower.diagnostics import QlowerError
from qlower.model import Model

ENGINES = ("x86", "fbgemm", "onednn", "qnnpack")

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        not torch.cpu._is_vnni_supported(),
        reason="the contracts are those of CPUs with VNNI",
    ),
]

Run = Callable[..., Any]
Made = tuple[Callable[[int], tuple[Any, ...]], Callable[[], Model], Run]
"""Inputs by a seed, how a network is read, and PyTorch's own."""

EQUAL, NEAR, READ, REFUSED = range(4)
"""Kinds of verdicts: near are real results that differ in their last bits."""

LAST_BITS = 1e-6

SHARE_OF_FX, SHARE_OF_EXPORTED, SHARE_OF_ROWS = 28 / 33, 0.9, 0.9


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """PyTorch's order of float32 sums is that of one thread."""
    threads, engine = torch.get_num_threads(), torch.backends.quantized.engine
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.backends.quantized.engine = engine


def arrays(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [array for item in value for array in arrays(item)]
    return [value.detach().numpy()]


def verdict(made: Made) -> tuple[int, str]:
    """The kind of verdict, and the reason why a network isn't read, or by how much it
    differs."""
    inputs, read, theirs = made
    try:
        model = read()
        run = qlower.jit(model)
    except QlowerError as error:
        return REFUSED, error.message.splitlines()[0]
    differing, total, most = 0, 0, 0.0
    for seed in (0, 3, 4):
        given = inputs(seed)
        with torch.no_grad():
            expected = arrays(theirs(*given))
        found = run.run([x.numpy() for x in given], {})[0]
        for array, other in zip(found, expected, strict=True):
            assert (array.shape, array.dtype) == (other.shape, other.dtype)
            apart = np.abs(array - other)[array != other]
            total, differing = total + array.size, differing + apart.size
            most = max(most, float(apart.max(initial=0)))
    if not differing:
        return EQUAL, "equal"
    kind = NEAR if most < LAST_BITS else READ
    return kind, f"{differing} of {total} differ by up to {most:.2g}"


def survey(
    family: str, make: Callable[[str], Made], names: Sequence[str]
) -> tuple[Counter[int], int]:
    """Print what isn't equal, and count the networks by verdict."""
    kinds: Counter[int] = Counter()
    for name in names:
        try:
            made = make(name)
        except Exception as error:
            # PyTorch's own limits aren't counted; they have no class of their own.
            print(f"\n{family} {name}: PyTorch fails: {str(error)[:60]!r}", end="")
            continue
        kind, said = verdict(made)
        kinds[kind] += 1
        if kind != EQUAL:
            print(f"\n{family} {name}: {said}", end="")
    total = kinds.total()
    print(
        f"\n{family}: of {total} {kinds[EQUAL]} equal, {kinds[NEAR]} but for last bits,"
        f" {kinds[READ]} read, {kinds[REFUSED]} refused"
    )
    return kinds, total


@pytest.mark.parametrize("engine", ENGINES)
def test_eager_mode(engine: str) -> None:
    def make(name: str) -> Made:
        torch.backends.quantized.engine = engine
        torch.manual_seed(0)
        (network,) = (one() for one in EAGER if one.__name__ == name)
        module, x = network.quantized(engine), network.example()

        def theirs(x: Any) -> Any:
            is_image = x.ndim == 4
            form = torch.channels_last if is_image else torch.contiguous_format
            return module(x.contiguous(memory_format=form))

        inputs = lambda seed: (network.example(seed),)  # noqa: E731
        return inputs, lambda: qlower.from_eager(module, x), theirs

    names = [one.__name__ for one in EAGER]
    kinds, total = survey(f"eager {engine}", make, names)
    assert kinds[EQUAL] == total


@pytest.mark.parametrize("engine", ENGINES)
def test_fx(engine: str) -> None:
    steps: Any = import_module("torch.ao.quantization.quantize_fx")
    mapping: Any = import_module("torch.ao.quantization").get_default_qconfig_mapping

    def make(name: str) -> Made:
        torch.backends.quantized.engine = engine
        network = torch_networks.network(name)
        given = network.inputs(0)
        prepared = steps.prepare_fx(network.module, mapping(engine), given)
        calibrate(prepared, network)
        module = steps.convert_fx(prepared)
        with torch.no_grad():
            module(*given)
        return network.inputs, lambda: qlower.from_fx(module, *given), module

    kinds, total = survey(f"FX {engine}", make, list(NETWORKS))
    if engine != "qnnpack":
        assert kinds[EQUAL] >= SHARE_OF_FX * total
    assert not kinds[READ] or engine == "qnnpack"


def calibrate(prepared: Any, network: Real) -> None:
    with torch.no_grad():
        for seed in range(3):
            prepared(*network.inputs(seed))


def exported(name: str, quantizer: Any) -> tuple[Real, Any]:
    """A network that PT2E quantized."""
    steps: Any = pytest.importorskip("torchao.quantization.pt2e.quantize_pt2e")
    network = torch_networks.network(name)
    program = torch.export.export(network.module, network.inputs(0), strict=True)
    prepared = steps.prepare_pt2e(program.module(), quantizer)
    calibrate(prepared, network)
    return network, steps.convert_pt2e(prepared)


def reading(module: Any, network: Real, folder: Path) -> Callable[[], Model]:
    program = torch.export.export(module, network.inputs(0))
    path = folder / "model.pt2"
    torch.export.save(program, path)
    return lambda: qlower.load(path)


def test_exported_for_x86(tmp_path: Path) -> None:
    lowering: Any = pytest.importorskip("torchao.quantization.pt2e.lowering")
    path = "torchao.quantization.pt2e.quantizer.x86_inductor_quantizer"
    quantizers: Any = import_module(path)
    config = quantizers.get_default_x86_inductor_quantization_config()

    def make(name: str) -> Made:
        quantizer = quantizers.X86InductorQuantizer().set_global(config)
        network, module = exported(name, quantizer)
        read = reading(module, network, tmp_path)
        given = network.inputs(0)
        lowered = lowering.lower_pt2e_quantized_to_x86(module, given)
        for node in lowered.graph.nodes:
            # Layers of oneDNN give channels_last, which can't be viewed.
            if node.target is torch.ops.aten.view.default:
                node.target = torch.ops.aten.reshape.default
        lowered.recompile()
        with torch.no_grad():
            lowered(*given)
        return network.inputs, read, lowered

    kinds, total = survey("PT2E x86", make, list(NETWORKS))
    assert kinds[EQUAL] + kinds[NEAR] >= SHARE_OF_EXPORTED * total


TWENTY = (
    *("dscnn", "resnet", "excited", "shuffle", "pyramid", "grouped", "SiLU", "PReLU"),
    *("attention pool", "softmax", "vit", "bert", "mixer", "convnext", "yolo"),
    *("embedded", "siamese", "super resolution", "generator", "autoencoder"),
)


def test_exported_for_xnnpack(tmp_path: Path) -> None:
    base = "executorch.backends.xnnpack"
    quantizers: Any = pytest.importorskip(f"{base}.quantizer.xnnpack_quantizer")
    partitioner: Any = import_module(f"{base}.partition.xnnpack_partitioner")
    runtime: Any = import_module("executorch.runtime").Runtime.get()
    config = quantizers.get_symmetric_quantization_config(is_per_channel=True)
    methods: list[Any] = []

    def make(name: str) -> Made:
        quantizer = quantizers.XNNPACKQuantizer().set_global(config)
        network, module = exported(name, quantizer)
        edge = import_module("executorch.exir").to_edge_transform_and_lower(
            torch.export.export(module, network.inputs(0)),
            partitioner=[partitioner.XnnpackPartitioner()],
        )
        # ExecuTorch maps files into memory: one that changes takes the process down.
        path = tmp_path / f"{len(methods)}.pte"
        path.write_bytes(edge.to_executorch().buffer)
        methods.append(runtime.load_program(str(path)).load_method("forward"))

        def theirs(*given: Any) -> Any:
            return [one.clone() for one in methods[-1].execute(list(given))]

        theirs(*network.inputs(0))
        return network.inputs, reading(module, network, tmp_path), theirs

    kinds, total = survey("PT2E XNNPACK", make, TWENTY)
    assert kinds[EQUAL] + kinds[NEAR] >= SHARE_OF_EXPORTED * total


ROWS = (
    *(
        "softmax",
        "gpt",
        "mixer",
        "vit",
        "embedded",
        "siamese",
        "autoencoder",
        "convnext",
    ),
    *("masked", "attention pool", "dscnn", "resnet"),
)
"""Networks with linear layers and others that stay real."""


@pytest.mark.parametrize("engine", ["x86", "fbgemm", "qnnpack"])
def test_dynamic_quantization(engine: str) -> None:
    quantize: Any = import_module("torch.ao.quantization").quantize_dynamic

    def make(name: str) -> Made:
        torch.backends.quantized.engine = engine
        network = torch_networks.network(name)
        module = quantize(network.module, {nn.Linear, nn.LSTM, nn.GRU})
        given = network.inputs(0)
        with torch.no_grad():
            module(*given)
        return network.inputs, lambda: qlower.from_eager(module, *given), module

    kinds, total = survey(f"dynamic {engine}", make, [*ROWS, "lstm", "gru"])
    assert total - kinds[REFUSED] >= SHARE_OF_ROWS * total


FOURS = (
    *("gpt", "vit", "bert", "generator", "masked", "mixer", "convnext", "autoencoder"),
    *("shuffle", "volume"),
)
"""Networks with linear layers whose rows have groups of four."""


def configuration(form: str) -> Any:
    forms: Any = pytest.importorskip("torchao.quantization")
    four: dict[str, Any] = {"weight_dtype": torch.int4}
    match form:
        case "int8 dynamic":
            return forms.Int8DynamicActivationInt8WeightConfig()
        case "int8 weights":
            return forms.Int8WeightOnlyConfig()
        case "int4 weights":
            groups = forms.PerGroup(4)
            return forms.IntxWeightOnlyConfig(**four, granularity=groups)
        case _:
            groups = forms.PerGroup(4)
            return forms.Int8DynamicActivationIntxWeightConfig(
                **four, weight_granularity=groups
            )


@pytest.mark.parametrize(
    "form", ["int8 dynamic", "int8 weights", "int4 weights", "int8 dynamic, int4"]
)
def test_forms_of_torchao(form: str, tmp_path: Path) -> None:
    config = configuration(form)
    utilities: Any = import_module("torchao.utils")

    def make(name: str) -> Made:
        network = torch_networks.network(name)
        layers = lambda layer, _: (  # noqa: E731
            isinstance(layer, nn.Linear) and layer.in_features % 4 == 0
        )
        import_module("torchao.quantization").quantize_(network.module, config, layers)
        utilities.unwrap_tensor_subclass(network.module)
        read = reading(network.module, network, tmp_path)
        return network.inputs, read, network.module

    kinds, total = survey(f"torchao {form}", make, FOURS)
    assert total - kinds[REFUSED] >= SHARE_OF_ROWS * total
