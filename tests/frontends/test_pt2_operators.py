"""Programs that PyTorch exported give the bits of PyTorch's operators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.pt2_builder import Name, Pt2Builder
from support.formats.pt2_cases import REAL, Case, example, network

import qlower
from qlower.diagnostics import QlowerError
from qlower.dialects.qnn.attributes import module_contract
from qlower.interp.values import Array


def run(path: Path, x: Array) -> tuple[Array, ...]:
    """What native code gives; the interpreter gives the same."""
    model = qlower.load(path)
    found = qlower.jit(model)(x)
    results = found if isinstance(found, tuple) else (found,)
    expected = qlower.interpret(model, x, at="qnn")
    for one, other in zip(
        results, expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        assert one.tobytes() == other.tobytes()
    return results


def evaluate(case: Case, x: Array) -> tuple[Array, ...]:
    """What ATen gives for the one call of a program."""
    torch: Any = import_module("torch")
    (node,) = json.loads(json.dumps(case().nodes))
    packet, overload = node["target"].removeprefix("torch.ops.aten.").split(".")
    given = {one["name"]: next(iter(one["arg"].values())) for one in node["inputs"][1:]}
    operator = getattr(getattr(torch.ops.aten, packet), overload)
    names = [argument.name for argument in operator._schema.arguments]
    result = operator(
        torch.from_numpy(x), **{k: v for k, v in given.items() if k in names}
    )
    found = result if isinstance(result, (tuple, list)) else [result]
    return tuple(one.contiguous().numpy() for one in found)


@pytest.mark.parts(4)
@pytest.mark.parametrize("name", REAL)
def test_operators_on_float32(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    x = example(REAL[name]())
    path = REAL[name]().save(tmp_path / "model.pt2")
    for one, other in zip(run(path, x), evaluate(REAL[name], x), strict=True):
        assert one.shape == other.shape
        assert (one == other).all()


@pytest.mark.parametrize("name", REAL)
def test_operators_on_float32_interpreted(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    x = example(REAL[name]())
    path = REAL[name]().save(tmp_path / "model.pt2")
    found = qlower.interpret(path, x, at="qnn")
    results = found if isinstance(found, tuple) else (found,)
    for one, other in zip(results, evaluate(REAL[name], x), strict=True):
        np.testing.assert_array_equal(one, other)


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "flatten": (
        "aten.flatten.using_ints",
        {"start_dim": 2, "end_dim": 1},
        "end_dim 1 is before start_dim 2",
    ),
    "unflatten": (
        "aten.unflatten.int",
        {"dim": 1, "sizes": [2, 4]},
        "sizes [2, 4] do not hold the 6 of 1",
    ),
    "unflatten into two that are open": (
        "aten.unflatten.int",
        {"dim": 1, "sizes": [-1, -1]},
        "sizes [-1, -1] do not hold the 6 of 1",
    ),
    "expand": (
        "aten.expand.default",
        {"size": [6, 5]},
        "sizes [6, 5] of an input of shape [2, 6, 5]",
    ),
    "repeat": (
        "aten.repeat.default",
        {"repeats": [2, 3]},
        "repeats [2, 3] of an input of 3 sizes",
    ),
    "roll": (
        "aten.roll.default",
        {"shifts": [1], "dims": []},
        "shifts [1] of dimensions [] are not supported",
    ),
    "roll of two dimensions": (
        "aten.roll.default",
        {"shifts": [1], "dims": [0, 1]},
        "shifts [1] of dimensions [0, 1] are not supported",
    ),
    "unbind": ("aten.unbind.int", {"dim": 1}, "1 parts of 6 indices"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_movements_that_do_not_fit(name: str, tmp_path: Path) -> None:
    target, arguments, message = REFUSED[name]
    build = Pt2Builder()
    build.output(build.call(target, self=build.input("x", (2, 6, 5)), **arguments))
    with pytest.raises(QlowerError) as refusal:
        qlower.load(build.save(tmp_path / "model.pt2"))
    assert refusal.value.message.endswith(f": {message}")


def test_what_moves_stored_values(tmp_path: Path) -> None:
    """Zeros around them, pixels repeated, and one slope for all channels."""
    build = Pt2Builder()
    stored = build.pair(build.input("x", (1, 2, 3, 4)), 0.05, 120)
    padded = build.call("aten.pad.default", self=stored, pad=[1, 0, 2, 3])
    large = build.call(
        "aten.upsample_nearest2d.vec", input=padded, scale_factors=[2.0, 3.0]
    )
    slope = build.constant(np.array([0.3], np.float32))
    build.output(build.call("aten.prelu.default", self=large, weight=slope))
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype(np.float32)
    inverse = np.float32(1) / np.float32(0.05)
    codes = np.clip(np.rint(x * inverse) + np.float32(120), 0, 255)
    real = (codes - np.float32(120)) * np.float32(0.05)
    real = np.pad(real, ((0, 0), (0, 0), (2, 3), (1, 0)))
    real = real.repeat(2, axis=2).repeat(3, axis=3)
    expected = np.where(real > 0, real, real * np.float32(0.3))
    (found,) = run(build.save(tmp_path / "model.pt2"), x)
    np.testing.assert_array_equal(found, expected)


def attention(build: Pt2Builder, parameters: Iterator[Array]) -> Name:
    """A norm, three linear layers, an attention of their results and a sum."""

    def constant() -> Name:
        return build.constant(next(parameters))

    x = build.input("x", (2, 3, 5, 8))

    def linear(value: Name, **bias: Name) -> Name:
        weight = constant()
        return build.call("aten.linear.default", input=value, weight=weight, **bias)

    norm = build.call(
        "aten.layer_norm.default",
        input=x,
        normalized_shape=[8],
        weight=constant(),
        bias=constant(),
    )
    bias = constant()
    query, key, value = linear(norm, bias=bias), linear(norm), linear(norm)
    found = build.call(
        "aten.scaled_dot_product_attention.default", query=query, key=key, value=value
    )
    return build.call("aten.add.Tensor", self=found, other=x)


def test_an_attention(tmp_path: Path) -> None:
    """The order in which PyTorch adds isn't known: the last bits may differ."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    build = Pt2Builder()
    random = np.random.default_rng(3)
    shapes = [(8,), (8,), (8,), (8, 8), (8, 8), (8, 8)]
    arrays = [random.normal(size=shape).astype(np.float32) for shape in shapes]
    build.output(attention(build, iter(arrays)))
    x = example(build)
    (found,) = run(build.save(tmp_path / "model.pt2"), x)
    real, *given = map(torch.from_numpy, [x, *arrays])
    functional = torch.nn.functional
    norm = functional.layer_norm(real, [8], *given[:2])
    query = functional.linear(norm, given[3], given[2])
    key, value = (functional.linear(norm, weight) for weight in given[4:])
    wanted = functional.scaled_dot_product_attention(query, key, value) + real
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parts(6)
@pytest.mark.parametrize("target", ["aten.softmax.int", "aten._softmax.default"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_a_softmax_over_each_dimension(target: str, dim: int, tmp_path: Path) -> None:
    """The order in which PyTorch adds isn't known: the last bits may differ."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    build = Pt2Builder()
    given = {"half_to_float": False} if "_softmax" in target else {}
    x = build.input("x", (3, 4, 5))
    build.output(build.call(target, self=x, dim=dim, **given))
    array = example(build)
    (found,) = run(build.save(tmp_path / "model.pt2"), array)
    wanted = torch.softmax(torch.from_numpy(array), dim).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_allclose(found.sum(dim), 1, rtol=1e-6)


@pytest.mark.parts(3)
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 31, 32, 47, 100])
def test_a_softmax_of_rows(size: int, tmp_path: Path) -> None:
    """Sums in vectors with a last one that isn't full, and in less than one."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        pytest.skip("vectors of other sizes end elsewhere")
    build = Pt2Builder()
    x = build.input("x", (3, 40, size))
    build.output(build.call("aten.softmax.int", self=x, dim=-1))
    random = np.random.default_rng(size)
    array = (random.normal(size=(3, 40, size)) * 20).astype(np.float32)
    (found,) = run(build.save(tmp_path / "model.pt2"), array)
    wanted = torch.softmax(torch.from_numpy(array), -1).numpy()
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["sigmoid", "silu"])
@pytest.mark.parametrize("shape", [(1, 4096), (3, 7, 101), (2, 9)])
def test_functions_with_an_exponential(
    name: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        pytest.skip("vectors of other sizes end elsewhere")
    build = Pt2Builder()
    build.output(build.call(f"aten.{name}.default", self=build.input("x", shape)))
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    x *= np.linspace(0, 120, x.size, dtype=np.float32).reshape(shape)
    x.reshape(-1)[:6] = np.inf, -np.inf, -104, 104, -0.0, 88.8
    (found,) = run(build.save(tmp_path / "model.pt2"), x)
    expected = getattr(torch.ops.aten, name).default(torch.from_numpy(x)).numpy()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parts(12)
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        *(((2, 49, 40), 1), ((1, 300, 37), 1), ((1, 1030, 5), 1), ((3, 2, 33), 1)),
        *(((3, 100), 1), ((5, 7), 1), ((2, 1037), 1), ((2, 4096), 1), ((4, 1, 6), 0)),
        *(((2, 12), 1), ((3, 20), 1), ((1, 31), 1)),
    ],
)
def test_means_are_added_in_the_same_order(
    shape: tuple[int, ...], dim: int, tmp_path: Path
) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    build = Pt2Builder()
    build.output(build.call("aten.mean.dim", self=build.input("x", shape), dim=[dim]))
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    (found,) = run(build.save(tmp_path / "model.pt2"), x)
    expected = torch.from_numpy(x).mean(dim).numpy()
    assert found.tobytes() == expected.tobytes()


def test_executorch_takes_erf_for_every_gelu(tmp_path: Path) -> None:
    codes = np.arange(-128, 128, dtype=np.int8).reshape(4, 64)
    found: list[Array] = []
    for form in ("none", "tanh"):
        build = Pt2Builder()
        x = build.dequantize(build.input("x", (4, 64), "i1"), 0.03, 5, "i1")
        gelu = build.call("aten.gelu.default", self=x, approximate=form)
        build.output(build.quantize(gelu, 0.01, -3, "i1"))
        path = build.save(tmp_path / f"{form}.pt2")
        found += run(path, codes)
    assert "takes erf, whatever approximate is" in qlower.load(path).remarks[1]
    first, second = found
    np.testing.assert_array_equal(first, second)


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("dims", "keeps", "is_delegated"),
    [([-1, -2], True, True), ([2, 3], False, False), ([1], True, False)],
)
def test_means_that_xnnpack_takes(
    dims: list[int], keeps: bool, is_delegated: bool, tmp_path: Path
) -> None:
    """ExecuTorch delegates those of images whose dimensions stay, and no others: these
    are real, added in turn, between a dequantization and a quantization."""
    build, shape, step = Pt2Builder(), (2, 7, 5, 6), np.float32(0.05)
    x = build.input("x", shape, "i1")
    real = build.dequantize(x, float(step), 3, "i1")
    mean = build.call("aten.mean.dim", self=real, dim=dims, keepdim=keeps)
    build.output(build.quantize(mean, float(step), -2, "i1"))
    codes = np.random.default_rng(0).integers(-128, 128, shape, np.int8)
    centred = codes.astype(np.float32) - np.float32(3)
    axes = tuple(sorted(dim % 4 for dim in dims))
    count = np.float32(np.prod([shape[axis] for axis in axes]))
    if is_delegated:
        sums = centred.sum(axes, keepdims=keeps, dtype=np.float32)
        steps = sums * (np.float32(1) / count) + np.float32(-2)
        expected = np.clip(np.rint(steps), -128, 127)
    else:
        rows = np.moveaxis(centred * step, axes, tuple(range(len(axes))))
        rows = rows.reshape(-1, *rows.shape[len(axes) :])
        total = np.zeros_like(rows[0])
        for row in rows:
            total += row
        inverse = np.float32(1) / step
        expected = np.clip(np.rint(total / count * inverse) - 2, -128, 127)
        if keeps:
            expected = np.expand_dims(expected, axes)
    (found,) = run(build.save(tmp_path / "model.pt2"), codes)
    np.testing.assert_array_equal(found, expected.astype(np.int8))


@pytest.mark.parts(2)
@pytest.mark.parametrize(
    ("dtype", "contract"), [("u1", "pytorch-inductor"), ("i1", "xnnpack")]
)
def test_the_contract_follows_the_quantizer(
    dtype: str, contract: str, tmp_path: Path
) -> None:
    path = network(dtype).save(tmp_path / "model.pt2")
    model = qlower.load(path)
    assert module_contract(model.module) == contract
    assert contract in model.remarks[0]
    run(path, example(network()))
