"""Transposes that ONNX Runtime moves away within blocks of channels: its bits then.

A pool puts an image in blocks; a normalization or a pool behind transposes shows by its
bits whether it takes the image from there.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.onnx_models import INT8_ALLOWED, make_session

import qlower
from qlower.diagnostics import QlowerError

helper = pytest.importorskip("onnx.helper", reason="onnx is not installed")
numpy_helper = pytest.importorskip("onnx.numpy_helper")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
"""Permutations that move channels there."""
UNARY = ("Relu", "Tanh", "HardSigmoid", "HardSwish", "Sigmoid", "LeakyRelu")


class Net:
    """A graph behind the pool of an image that is quantized and dequantized."""

    def __init__(self, seed: int, channels: int, *size: int) -> None:
        self.random = np.random.default_rng(seed)
        self.channels = channels
        self.shape = (2, channels, *(size or (5, 6)))
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.quantized("x")
        self.image = self.add("AveragePool", "v1", kernel_shape=[2, 2])

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def parameters(self, *shape: int) -> str:
        values = self.random.uniform(0.5, 2, shape or self.channels)
        return self.constant(values.astype(np.float32))

    def quantized(self, name: str) -> str:
        step = [self.constant(np.float32(0.05)), self.constant(np.uint8(100))]
        codes = self.add("QuantizeLinear", name, *step)
        return self.add("DequantizeLinear", codes, *step)

    def transposed(self, name: str, *perm: int) -> str:
        return self.add("Transpose", name, perm=perm)

    def normalized(self, name: str) -> str:
        parameters = [self.parameters() for _ in range(4)]
        return self.add("BatchNormalization", name, *parameters)

    def model(self, *returned: str) -> bytes:
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "net",
            [value("x", 1, self.shape)],
            [value(name, 1, None) for name in returned],
            self.constants,
        )
        opsets = [helper.make_opsetid("", 20)]
        return helper.make_model(
            graph, opset_imports=opsets, ir_version=9
        ).SerializeToString()

    def check(self, folder: Path, *returned: str, level: str = "ENABLE_ALL") -> None:
        """ONNX Runtime gives the same bits."""
        x = self.random.normal(0, 3, self.shape).astype(np.float32)
        x.reshape(-1)[::5] = 0
        model = self.model(*returned)
        expected = make_session(model, level, INT8_ALLOWED).run(None, {"x": x})
        path = folder / "net.onnx"
        path.write_bytes(model)
        reading = "integer" if level == "ENABLE_ALL" else "as-written"
        found = qlower.jit(qlower.load(path, qdq=reading))(x)
        for one, other in zip(
            found if isinstance(found, tuple) else [found], expected, strict=True
        ):
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@pytest.mark.parts(4)
@pytest.mark.parametrize("channels", [16, pytest.param(48, marks=pytest.mark.long)])
def test_transposes_cancel(channels: int, tmp_path: Path) -> None:
    net = Net(0, channels)
    last = net.transposed(net.image, *LAST)
    results = [net.normalized(net.transposed(last, *FIRST))]
    image = net.transposed(net.transposed(last, *LAST), *LAST)
    results.append(net.normalized(image))
    image = net.transposed(net.add("Relu", net.transposed(image, *LAST)), *FIRST)
    results.append(net.normalized(image))
    net.check(tmp_path, *results)
    net.check(tmp_path, *results, level="DISABLE_ALL")


@pytest.mark.parts(2)
@pytest.mark.parametrize("channels", [12, 32])
def test_operators_between(channels: int, tmp_path: Path) -> None:
    net = Net(1, channels)
    results: list[str] = []
    for kind in UNARY:
        image = net.add(kind, net.transposed(net.image, *LAST))
        results.append(net.normalized(net.transposed(image, *FIRST)))
    image = net.quantized(net.transposed(net.image, *LAST))
    results.append(net.normalized(net.transposed(image, *FIRST)))
    for kind in ("Add", "Mul", "Sum", "Concat"):
        image = net.transposed(net.image, *LAST)
        attributes = {"axis": 3} if kind == "Concat" else {}
        image = net.add(kind, net.add("Tanh", image), image, **attributes)
        image = net.add("Relu", net.transposed(image, *FIRST))
        results.append(net.add("GlobalAveragePool", image))
    net.check(tmp_path, *results)


def test_products_with_a_constant_have_no_negative_zeros(tmp_path: Path) -> None:
    """A product that leads to no other transpose stays where it is."""
    net = Net(2, 32)
    relu = net.add("Neg", net.add("Relu", net.image))
    image = net.add("MaxPool", relu, kernel_shape=[1, 1])
    last = net.transposed(image, *LAST)
    product = net.add("Mul", net.parameters(), last)
    results = [net.normalized(net.transposed(product, *FIRST))]
    kept = net.add("Mul", last, net.parameters(1, 1, 32))
    results += [net.transposed(product, *FIRST), net.add("Abs", kept)]
    net.check(tmp_path, *results)


def test_transposes_stay(tmp_path: Path) -> None:
    """Those by themselves, with users behind which they don't move, and returned."""
    net = Net(3, 16, 17, 17)
    results = [net.normalized(net.transposed(net.image, *LAST))]
    last = net.transposed(net.image, *LAST)
    results.append(net.add("GlobalAveragePool", last))
    image = net.transposed(net.add("Relu", last), *FIRST)
    results.append(net.normalized(image))
    results.append(net.transposed(net.add("Tanh", net.image), *LAST))
    image = net.transposed(net.add("Relu", results[-1]), *FIRST)
    results.append(net.normalized(image))
    net.check(tmp_path, *results)


def test_global_pools_without_a_node_before_them(tmp_path: Path) -> None:
    """Of an input, and of an image whose channels a transpose put last."""
    net = Net(5, 32, 17, 17)
    results = [net.add("GlobalAveragePool", net.transposed(net.image, *LAST))]
    results.append(net.add("GlobalAveragePool", net.transposed(net.image, *FIRST)))
    results.append(net.add("GlobalAveragePool", "x"))
    results.append(net.normalized(net.add("GlobalMaxPool", "x")))
    last = net.transposed("x", *LAST)
    results.append(net.add("GlobalAveragePool", net.transposed(last, *FIRST)))
    results.append(net.add("GlobalAveragePool", net.add("Neg", "x")))
    net.check(tmp_path, *results)


def test_other_operators_with_kernels_for_blocks(tmp_path: Path) -> None:
    net = Net(6, 16)
    results = [net.normalized(net.add("Gelu", net.image))]
    product = net.add("Mul", net.image, net.add("Sigmoid", net.image))
    results.append(net.normalized(product))
    repeated = {
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    for scale in (2, 1.5):
        scales = net.constant(np.array([1, 1, scale, 3], np.float32))
        image = net.add("Resize", net.image, "", scales, **repeated)
        results.append(net.normalized(image))
    net.check(tmp_path, *results)
    image = net.add(
        "Resize", net.image, "", net.constant(np.array([1, 1, 2, 2], np.float32))
    )
    assert "resizes" in refusal(net, tmp_path, net.normalized(image))
    scales = net.constant(np.array([1, 1, 2, 2], np.float32))
    image = net.add("Resize", net.image, "", scales, mode="linear")
    assert "interpolates" in refusal(net, tmp_path, image)


def refusal(net: Net, folder: Path, *returned: str) -> str:
    path = folder / "net.onnx"
    path.write_bytes(net.model(*returned))
    qlower.load(path, qdq="as-written")
    with pytest.raises(QlowerError) as caught:
        qlower.load(path)
    return caught.value.message


def test_what_is_not_known_is_refused(tmp_path: Path) -> None:
    net = Net(4, 16)
    relu = net.add("Relu", net.transposed(net.image, *LAST))
    result = net.normalized(net.transposed(relu, *FIRST))
    assert "BatchNormalization: whether 'v5' lies" in refusal(
        net, tmp_path, relu, result
    )
    image = net.transposed(net.transposed(net.image, *LAST), *FIRST)
    result = net.add("GlobalAveragePool", net.add("Tanh", image))
    assert "GlobalAveragePool: whether" in refusal(
        net, tmp_path, net.image, image, result
    )
    net = Net(4, 16)
    image = net.transposed(net.image, 0, 1, 2, 3)
    result = net.normalized(net.add("Add", net.add("HardSigmoid", image), net.image))
    assert "whether" in refusal(net, tmp_path, image, result)
    net = Net(4, 16, 2, 2)
    last = net.transposed(net.image, *LAST)
    product = net.add("Mul", last, net.parameters(16))
    result = net.transposed(product, *FIRST)
    assert "how ONNX Runtime moves" in refusal(net, tmp_path, result)
    product = net.add("Mul", net.transposed(net.image, *LAST), net.parameters())
    results = [product, net.transposed(product, *FIRST)]
    assert "transposes before this product" in refusal(net, tmp_path, *results)
    pool = net.add("GlobalMaxPool", net.add("Tanh", net.image))
    sizes = net.constant(np.array([2, 16, 1, 1], np.int64))
    reshaped = net.add("Reshape", net.transposed(pool, *LAST), sizes)
    results = [net.normalized(net.add("Relu", reshaped))]
    assert "lies in blocks" in refusal(net, tmp_path, *results)


def draw(seed: int) -> tuple[Net, list[str]]:
    """A graph of operators with one or two operands, some of several users."""
    net = Net(seed, (16, 32, 48, 12)[seed % 4], *([2, 2] if seed % 7 == 0 else []))
    random = net.random
    values: list[tuple[str, tuple[int, ...]]] = [(net.image, (0, 1, 2, 3))]

    def pick() -> tuple[str, tuple[int, ...]]:
        return values[-1 - int(min(random.geometric(0.6) - 1, len(values) - 1))]

    results: list[str] = []
    for kind in random.integers(0, 10, 12):
        name, order = pick()
        alike = [other for other, its in values if its == order]
        if kind < 4:
            home = tuple(order.index(dimension) for dimension in range(4))
            # Others are refused.
            perms = (LAST, FIRST, home if home in (LAST, FIRST) else LAST)
            perm = perms[int(random.integers(len(perms)))]
            name = net.transposed(name, *perm)
            order = tuple(order[dimension] for dimension in perm)
        elif kind < 6:
            name = net.add(UNARY[int(random.integers(len(UNARY)))], name)
        elif kind == 6:
            other = alike[int(random.integers(len(alike)))]
            name = net.add(("Add", "Sum", "Mul")[int(random.integers(3))], name, other)
        elif kind == 7:
            sizes = [net.channels if d == 1 else 1 for d in order]
            name = net.add("Mul", name, net.parameters(*sizes))
        elif order == (0, 1, 2, 3):
            results.append(net.normalized(name))
            continue
        else:
            continue
        values.append((name, order))
    results += [net.normalized(name) for name, order in values[-3:] if order[1] == 1]
    # ONNX Runtime moves transposes by way of nodes that nothing needs, too.
    used = {name for node in net.nodes for name in node.input}
    results += [name for name, _ in values if name not in used]
    return net, list(dict.fromkeys(results))


@pytest.mark.long
def test_drawn_graphs(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    for seed in range(200):
        net, results = draw(seed)
        try:
            net.check(tmp_path, *results)
        except QlowerError as error:
            is_known = "transposes" in error.message or "adds it to" in error.message
            found["refused" if is_known else error.message] += 1
        else:
            found["alike"] += 1
    assert found["alike"] > 150, found
    assert set(found) <= {"alike", "refused"}, found
