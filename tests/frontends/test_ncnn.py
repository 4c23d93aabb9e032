"""ncnn's own files: what is read, beside ncnn, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.formats.ncnn_files import LAST, F, NcnnFile, every_layer, ncnn_answer
from support.machines.native import machine_levels

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.frontends.ncnn.text import read_layers
from qlower.interp.values import Array
from qlower.text.parsing import parse_module
from qlower.text.verification import verify_module


def computed(path: Path, outputs: Sequence[str], x: Array) -> Sequence[Array]:
    model = qlower.load(path, outputs=outputs)
    results, _ = Compilation(model, None).interpreter("qnn").run([x], {})
    return results


def compare(file: NcnnFile, outputs: Sequence[str], x: Array, folder: Path) -> None:
    """The numbers of these blobs; ncnn gives codes as real numbers."""
    path = file.save(folder / "model.param")
    found = computed(path, outputs, x)
    for name, one, live in zip(
        outputs, found, ncnn_answer(path, x, outputs), strict=True
    ):
        np.testing.assert_array_equal(one, live.reshape(one.shape), name)


def every_blob(file: NcnnFile) -> list[str]:
    """The blobs that ncnn keeps until they are asked for."""
    return sorted(file.blobs - {"data", "s0", "s1"})


def drawn(file: NcnnFile, seed: int) -> Array:
    sizes = re.findall(r"[012]=(\d+)", file.lines[0])
    shape = [1, *map(int, reversed(sizes))]
    return np.random.default_rng(seed).normal(0, 2, shape).astype(F)


@pytest.mark.skipif(
    "avx512vnni" not in machine_levels(),
    reason="before AVX-512 ncnn's depthwise convolutions round twice",
)
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 40)] + [1]
)
def test_every_layer(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("ncnn")
    file = every_layer(seed)
    compare(file, every_blob(file), drawn(file, seed), tmp_path)


def test_module_is_text(tmp_path: Path) -> None:
    model = qlower.load(every_layer(1).save(tmp_path / "model.param"))
    assert [(one.name, one.shape) for one in model.inputs] == [("data", (1, 3, 10, 7))]
    assert [(one.name, one.shape) for one in model.outputs] == [(LAST, (1, 10))]
    again = parse_module(str(model.module), "again")
    verify_module(again)
    assert str(again) == str(model.module)


def layer(kind: str = "Convolution", **more: object) -> NcnnFile:
    """A layer behind an input of 3x5x5, without a bias: of scales 300, 30 and 20."""
    file = NcnnFile(3, 5, 5)
    weights = np.arange(54).reshape(2, 27) if kind == "InnerProduct" else None
    if weights is None:
        weights = np.arange(54).reshape(2, 3, 3, 3)
    scales = (np.full(2, 300.0), 30.0, 20.0)[: 3 if more.get("p8", 2) == 102 else 2]
    file.filters(kind, "one", "data", weights, None, scales, **{"p8": 2, **more})
    return file


REFUSALS = {
    "magic": (("7767517", "7767518"), "1:1", "its first line isn't 7767517"),
    "layers": (("2 2", "3 2"), "2:1", "3 layers are announced, the file has 2"),
    "blobs": (("2 2", "2 9999"), "2:3", "out of range"),
    "counts": (("one 1 1", "one 1 x"), "4:19", "number of outputs 'x' is out of range"),
    "many": (("one 1 1", "one 9 1"), "4:17", "names of 10 blobs"),
    "short": (("Input data 0 1 data 0=5 1=5 2=3", "Input"), "3:1", "1 words"),
    "word": (
        ("8=2", "8=2 ?\N{RIGHT-TO-LEFT OVERRIDE}"),
        "4:38",
        "'?\\u202e' is no parameter",
    ),
    "number": (("8=2", "8=1e999"), "4:34", "'1e999' is no number"),
    "array": (("8=2", "-23308=2,1"), "4:34", "'2' numbers are announced, 1 given"),
    "twice": (("8=2", "8=2 8=2"), "4:38", "a second time"),
    "range": (("8=2", "32=2"), "4:34", "parameter 32 is out of range [0, 31]"),
    "unknown": (("8=2", "8=2 17=1"), "4:1", "parameter 17 is not supported"),
    "activation": (("8=2", "8=2 9=6"), "4:1", "activation_type 6 is not supported"),
    "dilation": (("8=2", "8=2 2=1.5"), "4:1", "dilations is 'no integers'"),
    "kernel": (("11=3", "11=9"), "4:1", "filters of 1 channels do not divide"),
    "pad": (("8=2", "8=2 18=1.0"), "4:1", "pad_value 1.0 is not supported"),
    "size": (("6=54", "6=999999999"), "4:1", "is out of range [1, 72]"),
    "weights": (("6=54", "6=60"), "4:1", "ends at byte 72; 4 bytes from byte 72"),
    "kind": (("Convolution", "Conv\x1b"), "4:1", "Conv\\x1b 'one': this operator is"),
    "input": (("Input data 0 1", "Input data 1 0"), "3:1", "expected no blob"),
    "input size": (("1=5", "1=0"), "3:1", "expected w, w and h, or all"),
    "rank": ((" 2=3", ""), "4:1", "'data': rank 3, expected 4"),
    "cycle": (("one 1 1 data", "one 1 1 one"), "0:0", "no outputs"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str, tmp_path: Path) -> None:
    change, place, message = REFUSALS[name]
    path = layer().save(tmp_path / "model.param")
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(QlowerError) as caught:
        qlower.load(path)
    shown = str(caught.value)
    assert shown.startswith(f"{path}:{place}: error: ")
    assert message in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (slice(0, 40), "weight_data_size 54 is out of range [1, 40]"),
        (slice(0, 64), "ends at byte 64; 8 bytes from byte 60 on are weights"),
        (slice(4, None), "begin with 0x03020100; expected 0x000D4B38"),
        (b"\0\0\0\0", "4 of 76 bytes are left after the last layer's weights"),
        (b"\0\0\xc0\x7f", "scale nan is out of range"),
    ],
)
def test_refused_weights(change: slice | bytes, message: str, tmp_path: Path) -> None:
    path = layer().save(tmp_path / "model.param")
    weights = path.with_suffix(".bin")
    data = weights.read_bytes()
    if isinstance(change, slice):
        weights.write_bytes(data[change])
    else:
        weights.write_bytes((data[:68] if change[-1] else data) + change)
    with pytest.raises(QlowerError, match=re.escape(message)):
        qlower.load(path)


def test_real_weights(tmp_path: Path) -> None:
    """A model before ncnn2int8: a convolution and a bias of real numbers."""
    file = NcnnFile(3, 5, 5)
    data = bytes(4) + np.ones(8, F).tobytes()
    file.add("Convolution", "one", ["data"], (), data, p0=2, p1=1, p5=1, p6=6)
    with pytest.raises(QlowerError, match="of type FLOAT with int8_scale_term 0") as it:
        qlower.load(file.save(tmp_path / "model.param"))
    assert "ncnn2int8" in str(it.value)


def test_no_weights(tmp_path: Path) -> None:
    path = layer().save(tmp_path / "model.param")
    path.with_suffix(".bin").unlink()
    with pytest.raises(QlowerError, match=r"cannot read .*model\.bin: No such file"):
        qlower.load(path)


def test_open_input_and_cut(tmp_path: Path) -> None:
    """A layer that isn't read comes last; the input's sizes are not in the file."""
    file = layer()
    file.lines[0] = "Input data 0 1 data"
    file.add("Softmax", "most", ["one"])
    path = file.save(tmp_path / "model.param")
    with pytest.raises(QlowerError, match="--shape data=SIZE"):
        qlower.load(path)
    with pytest.raises(QlowerError, match="Softmax 'most': this operator is not"):
        qlower.load(path, shapes={"data": (1, 3, 5, 5)})
    model = qlower.load(path, shapes={"data": (2, 3, 5, 5)}, outputs=["one"])
    assert model.outputs[0].shape == (2, 2, 3, 3)


def test_too_many_elements(tmp_path: Path) -> None:
    file = layer()
    file.lines[0] = "Input data 0 1 data 0=70000 1=70000 2=3"
    with pytest.raises(QlowerError, match="number of elements 14700000000 is out"):
        qlower.load(file.save(tmp_path / "model.param"))


def test_trace_of_sums(tmp_path: Path) -> None:
    """Sums of integers that a layer gives have no rule."""
    path = layer().save(tmp_path / "model.param")
    x = np.ones((1, 3, 5, 5), F)
    found = qlower.trace(qlower.load(path), x, at="one/sums[0,0,0,0]")
    assert int(found.result) == 30 * sum(range(27))
    assert "The result is the sum of products itself" in str(found)


def test_numbers_of_the_text() -> None:
    """The steps of ncnn's own reader, which knows no more digits."""
    head = "7767517\n1 1\nNoop a 0 1 b"
    (read,) = read_layers(f"{head} 0=-1.25 1=5.000000e-01,3 2=+7".encode(), "m.param")
    assert read.parameters == {0: -1.25, 1: (0.5, 3), 2: 7}


def with_layer(kind: str, *sizes: int, **parameters: Any) -> NcnnFile:
    """One layer of an input, of 3x5x5 if no sizes are given."""
    file = NcnnFile(*(sizes or (3, 5, 5)))
    file.add(kind, "one", ["data"], **parameters)
    return file


def of_two(kind: str, **parameters: Any) -> NcnnFile:
    """A layer of an image and of its elements in a row."""
    file = NcnnFile(3, 5, 5)
    file.add("Split", "s", ["data"], ("s0", "s1"))
    file.add("Flatten", "f", ["s0"])
    file.add(kind, "one", ["s1", "f"], **parameters)
    return file


def of_codes(kind: str, **parameters: Any) -> NcnnFile:
    """A layer of what a convolution gives as codes."""
    file = layer(p8=102)
    file.add(kind, "two", ["one"], **parameters)
    return file


def scaled(*scales: float) -> NcnnFile:
    data = np.array(scales, F).tobytes()
    return with_layer("Quantize", data=data, p0=len(scales))


def product(*sizes: int) -> NcnnFile:
    """A matrix of 2x27 times an input."""
    file = NcnnFile(*sizes)
    weights, scales = np.arange(54).reshape(2, 27), (np.full(2, 300.0), 30.0)
    file.filters("InnerProduct", "one", "data", weights, None, scales, p8=2)
    return file


def behind_others() -> NcnnFile:
    file = NcnnFile(3, 5, 5)
    file.add("Custom", "u", ["data"])
    weights, scales = np.arange(54).reshape(2, 3, 3, 3), (np.full(2, 300.0), 30.0)
    file.filters("Convolution", "one", "u", weights, None, scales, p8=2)
    return file


ALONE = "a window that lies in the padding alone is not supported"
RANGE = "is out of range [1.17549e-38, 8.50706e+37]"

LAYERS: list[tuple[NcnnFile, str]] = [
    (with_layer("Pooling", p1=2, p3=5), ALONE),
    (with_layer("Pooling", p1=2, p3=1, p2=9), ALONE),
    (with_layer("Pooling", p1=2, p0=2), "pooling_type 2 is out of range [0, 1]"),
    (with_layer("Pooling", p1=2, p5=4), "pad_mode 4 is out of range [0, 3]"),
    (with_layer("Pooling", p7=1), "adaptive_pooling 1 is not supported; expected 0"),
    (with_layer("Pooling", 5, p1=2), "'data': rank 2, expected 4"),
    (of_codes("ReLU", p0=0.5), "slope of int8 0.5 is not supported; expected 0"),
    (
        with_layer("BinaryOp", p0=6, p1=1),
        "op_type 6 is not supported; expected 0, 1, 2, 3, 4 or 5",
    ),
    (with_layer("BinaryOp", p0=0), "expected two operands, or with_scalar"),
    (
        with_layer("Eltwise", p0=3),
        "op_type 3 is not supported; expected 0, 1 or 2",
    ),
    (
        with_layer("Eltwise", p0=1, p1=(1.0, 2.0)),
        "coeffs (1.0, 2.0) is not supported; expected ()",
    ),
    (
        of_two("Eltwise", p0=1),
        "operands of shapes [[1, 3, 5, 5], [1, 75]] are not supported; expected the"
        " same shape",
    ),
    (
        with_layer("Reshape", p0=-1, p1=-1),
        "h, w of [-1, -1]; expected one -1 at most",
    ),
    (with_layer("Reshape", p1=75), "h of [75]; expected one -1 at most"),
    (with_layer("Reshape", p0=74), "shape [1, 74] does not hold the elements of [1, 3"),
    (with_layer("Reshape", p0=-2), "w -2 is out of range [-1, "),
    (scaled(1, 1), "2 scales are not supported; expected 1"),
    (scaled(2.0**-127), f"scale 5.877471754111438e-39 {RANGE}"),
    (scaled(1.5 * 2.0**126), f"scale 1.2760588759535192e+38 {RANGE}"),
    (product(4, 27), "products of several rows are not supported; expected one"),
    (product(3, 5, 5), "27 weights of an output for 75 elements"),
    (
        layer(p8=3),
        "weights of type INT8 with int8_scale_term 3 are not supported; expected INT8"
        " and one of 1, 2, 101, 102",
    ),
    (layer(p19=1), "dynamic_weight 1 is not supported; expected 0"),
    (
        behind_others(),
        "Custom 'u': this layer is not supported; it may have weights before those of"
        " others",
    ),
    (with_layer("Padding", p4=1), "type 1 is not supported; expected 0"),
    (with_layer("Padding", p7=1), "front 1 is not supported; expected 0"),
    (with_layer("Padding", p0=-1), "top -1 is out of range [0, 65536]"),
    (with_layer("Padding", p3=65537), "right 65537 is out of range [0, 65536]"),
    (with_layer("Dropout", p0=0.5), "scale 0.5 is not supported; expected 1"),
    (with_layer("Concat", p0=3), "axis 4 is out of range [-4, 3]"),
]


@pytest.mark.parametrize(("file", "message"), LAYERS, ids=range(len(LAYERS)))
def test_refused_layers(file: NcnnFile, message: str, tmp_path: Path) -> None:
    with pytest.raises(QlowerError) as caught:
        qlower.load(file.save(tmp_path / "model.param"))
    assert message in caught.value.message
    kind, name, *_ = file.lines[-1].split()
    assert f"{kind} {name!r}: " in caught.value.message or "Custom" in message


@pytest.mark.parametrize("scale", [2.0**-126, 2.0**126])
def test_the_least_and_the_largest_scale(scale: float, tmp_path: Path) -> None:
    model = qlower.load(scaled(scale).save(tmp_path / "model.param"))
    assert model.outputs[0].scale == 1 / scale


HEAD = "7767517\n1 1\nNoop a "
DIGITS = "is no number of at most 9 digits and 15 characters"
SHAPELESS = "not a .param file of ncnn: its first line isn't 7767517"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("7767517", "1:1", SHAPELESS),
        ("7767517 1\n1 1", "1:1", SHAPELESS),
        ("\x00\x01\x02", "1:1", "not a .param file of ncnn"),
        (
            "7767517\n1 1 1\n",
            "2:1",
            "3 words, expected the numbers of layers and blobs",
        ),
        (
            f"{HEAD}0",
            "3:1",
            "3 words, expected a layer's type, its name and two counts",
        ),
        (f"{HEAD}0 2 b", "3:8", "1 names of 2 blobs"),
        (f"{HEAD}0 1 b 9", "3:14", "'9' is no parameter NUMBER=VALUE"),
        (f"{HEAD}0 1 b -1=2", "3:14", "parameter -1 is out of range [0, 31]"),
        (f"{HEAD}0 1 b 31=1 32=1", "3:19", "parameter 32 is out of range [0, 31]"),
        *(
            (f"{HEAD}0 1 b 0={word}", "3:14", f"{word!r} {DIGITS}")
            for word in ("1=2", "1234567890", "1.1234567890", "1e100", "-.5", "+")
        ),
    ],
)
def test_refused_words(text: str, place: str, message: str) -> None:
    with pytest.raises(QlowerError) as caught:
        read_layers(text.encode(), "m")
    assert (caught.value.message, str(caught.value.location)) == (
        message,
        f'loc("m":{place})',
    )


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("123456789", 123456789),
        ("-12", -12),
        ("1.", 1.0),
        ("-2.125", -2.125),
        ("25e-1", 2.5),
        ("1.5e+2", 150.0),
        ("3e9", 3e9),
        ("1e16", 1e16),
        ("1e-9", 1 / 1e9),
        ("abc", "abc"),
        ("4,-5", (4, -5)),
    ],
)
def test_a_parameter(word: str, value: object) -> None:
    (read,) = read_layers(f"{HEAD}0 1 b 5={word}".encode(), "m")
    assert read.parameters == {5: value}
    assert (read.line, read.kind, read.name) == (3, "Noop", "a")
    assert (read.inputs, read.outputs) == ((), ("b",))
    number = read.parameters[5]
    assert type(number) is type(value)


def near_ties(seed: int) -> tuple[NcnnFile, Array]:
    """A chain whose inputs, sums and results lie halfway between codes, or within a few
    steps of float32 from there."""
    draw = np.random.default_rng(seed)

    def near(values: Array) -> Array:
        steps = draw.integers(-2, 3, values.shape) * draw.integers(0, 2, values.shape)
        return (values.astype(F).view(np.int32) + steps.astype(np.int32)).view(F)

    given, between = near(draw.uniform(1, 100, 2))
    file = NcnnFile(4, 9, 11)
    name = "data"
    for kind, depth, into, out, term in (
        ("Convolution", 4, given, between, 102),
        ("ConvolutionDepthWise", 1, between, between, 101),
        ("Convolution", 16, between, between, 101),
    ):
        # A sum times the factor is k / 2, so that about half of them are ties.
        factors = np.exp2(-draw.integers(1, 7, 16).astype(F))
        scales = near(out / (into * factors))
        weights = draw.integers(-3, 4, (16, depth, 1, 1 + int(kind == "Convolution")))
        bias = near(draw.integers(-9, 9, 16) / 2 / out) * draw.integers(0, 2, 16)
        groups = {"p7": 16} if depth == 1 else {}
        given_scales = (scales, into, out)
        name = file.filters(
            *(kind, f"{name}_", name, weights, bias, given_scales), p8=term, **groups
        )
    x = near((draw.integers(-60, 60, (1, 4, 9, 11)) + 0.5) / given)
    return file, x


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_near_ties(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("ncnn")
    file, x = near_ties(seed)
    compare(file, sorted(file.blobs - {"data"}), x, tmp_path)


def resnet(draw: np.random.Generator) -> NcnnFile:
    """ResNet8 for images of 32x32, as ncnn2int8 has it: sums are of real numbers."""
    file = NcnnFile(3, 32, 32)

    def conv(
        name: str, given: str, into: int, out: int, size: int, **more: object
    ) -> str:
        weights = draw.normal(0, 40, (out, into, size, size)).clip(-127, 127).round()
        scales = 40 * np.sqrt(into * size * size) * draw.uniform(0.8, 1.25, out)
        scales = (scales, draw.uniform(20, 60))
        bias = draw.normal(0, 0.1, out)
        return file.filters(
            "Convolution", name, given, weights, bias, scales, p8=2, **more
        )

    last, channels = conv("stem", "data", 3, 16, 3, p4=1, p9=1), 16
    for stage, count in enumerate((16, 32, 64)):
        both = [f"{stage}_a", f"{stage}_b"]
        file.add("Split", f"{stage}_split", [last], both)
        step = {"p3": 1 + (count > channels)}
        first = conv(f"{stage}_1", both[0], channels, count, 3, p4=1, p9=1, **step)
        second = conv(f"{stage}_2", first, count, count, 3, p4=1)
        short = both[1]
        if count > channels:
            short = conv(f"{stage}_3", short, channels, count, 1, **step)
        file.add("BinaryOp", f"{stage}_sum", [second, short], p0=0)
        last, channels = file.add("ReLU", f"{stage}_relu", [f"{stage}_sum"]), count
    file.add("Pooling", "mean", [last], p0=1, p4=1)
    weights = draw.integers(-127, 128, (10, 64))
    scales = (np.full(10, 700.0), 50.0)
    file.filters(
        "InnerProduct", "out", "mean", weights, draw.normal(0, 1, 10), scales, p8=2
    )
    return file


@pytest.mark.long
def test_whole_network(tmp_path: Path) -> None:
    """Machine code, every blob."""
    pytest.importorskip("ncnn")
    draw = np.random.default_rng(8)
    file = resnet(draw)
    path = file.save(tmp_path / "resnet8.param")
    names = sorted(n for n in file.blobs if n != "data" and n[-2:] not in ("_a", "_b"))
    run = qlower.jit(qlower.load(path, outputs=names))
    for _ in range(20):
        x = draw.normal(0, 1, (1, 3, 32, 32)).astype(F)
        expected = ncnn_answer(path, x, names)
        for name, one, live in zip(names, run(x), expected, strict=True):
            np.testing.assert_array_equal(one, live.reshape(one.shape), name)
