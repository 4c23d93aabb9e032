"""What a `.pt2` file may not hold is refused by name, before it takes memory."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.formats.pt2_builder import Argument, Name, Pt2Builder, archive
from support.formats.pt2_cases import SHAPE, network

import qlower
from qlower.diagnostics import QlowerError


def message(data: bytes, folder: Path) -> str:
    path = folder / "model.pt2"
    path.write_bytes(data)
    with pytest.raises(QlowerError) as caught:
        qlower.load(path)
    return str(caught.value).replace(str(path), "model.pt2")


def changed(**entries: bytes | None) -> bytes:
    """A network's archive with other entries; None takes one away."""
    found = network().entries()
    for name, data in entries.items():
        path = next(path for path in found if path.split("/")[-1].startswith(name))
        if data is None:
            del found[path]
        else:
            found[path] = data
    return archive(found)


def replaced(old: str, new: str, entry: str = "model_weights") -> bytes:
    """A network's archive with other words in one of its files of JSON."""
    found = network().entries()
    (path,) = (path for path in found if path.split("/")[-1].startswith(entry))
    text = found[path].decode()
    assert old in text
    found[path] = text.replace(old, new, 1).encode()
    return archive(found)


ARCHIVES = {
    "pickled program": (
        archive({"serialized_exported_program.json": b"{}"}, ""),
        "its weights are a pickle, which can run any code and is not read",
    ),
    "TorchScript": (archive({"data.pkl": b"x"}), "no archive_format says so"),
    "no zip": (b"PK\3\4 but no more", "not a .pt2 file"),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\n", "of Git LFS, and"),
    "bomb": (
        archive(
            {"archive_format": b"pt2", "x": bytes(1 << 20)}, "m/", zipfile.ZIP_DEFLATED
        ),
        "is compressed, which PyTorch never does",
    ),
    "byte order": (changed(byteorder=b"big"), "highest byte first"),
    "schema": (
        replaced('"major": 8', '"major": 9', "model.json"),
        "schema version 9 is not supported; expected 8",
    ),
    "no JSON": (changed(**{"model.json": b"{"}), "is no JSON"),
    "deep JSON": (changed(**{"model.json": b"[" * 100000}), "is no JSON"),
    "pickled tensor": (
        replaced('"use_pickle": false', '"use_pickle": true'),
        "is a pickle, which can run any code and is not read",
    ),
    "no weights": (changed(weight_0=None), "no entry 'model/data/weights/weight_0'"),
    "short weights": (changed(weight_0=b"12"), "does not lie in 2 bytes"),
    "path": (replaced('"weight_0"', '"../../weight_0"'), "no entry"),
    "offset": (
        replaced('"storage_offset": {"as_int": 0}', '"storage_offset": {"as_int": 9}'),
        "and offset 9 does not lie in 216 bytes",
    ),
    "strides": (
        replaced('"strides": [{"as_int": 27}', '"strides": [{"as_int": 28}'),
        "strides [28, 9, 3, 1] and offset 0 does not lie in 216 bytes",
    ),
    "no data": (replaced('"p0"', '"q0"'), "damaged file: no data of tensor 'p0'"),
    **{
        what: (replaced(old, new, "model.json"), expected)
        for what, old, new, expected in (
            (
                "argument twice",
                '"name": "scale"',
                '"name": "input"',
                "damaged file: two arguments 'input'",
            ),
            (
                "input twice",
                '{"parameter": {"arg": {"name": "p1"}',
                '{"parameter": {"arg": {"name": "p0"}',
                "damaged file: two inputs 'p0'",
            ),
            (
                "kind of input",
                '{"parameter"',
                '{"custom_obj"',
                "an input of kind custom_obj is not supported",
            ),
            (
                "input",
                '{"user_input": {"arg": {"as_tensor"',
                '{"user_input": {"arg": {"as_int"',
                "an input that is no tensor (as_int)",
            ),
            (
                "output",
                '{"user_output": {"arg": {"as_tensor"',
                '{"user_output": {"arg": {"as_int"',
                "an output that is no tensor (as_int)",
            ),
            (
                "kept value",
                '"user_output"',
                '"buffer_mutation"',
                "the model changes what it keeps",
            ),
            (
                "computed size",
                '"name": "groups", "arg": {"as_int": 1}',
                '"name": "groups", "arg": {"as_sym_int": {"as_name": "s0"}}',
                "argument groups is missing or not an integer",
            ),
            (
                "object",
                '"name": "groups", "arg": {"as_int": 1}',
                '"name": "groups", "arg": {"as_custom_obj": {}}',
                "argument groups is missing or not an integer",
            ),
        )
    },
    "size": (
        replaced('"sizes": [{"as_int": 8}', '"sizes": [{"as_int": 1000000000}'),
        "out of range",
    ),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives(name: str, tmp_path: Path) -> None:
    data, expected = ARCHIVES[name]
    found = message(data, tmp_path)
    assert found.startswith("model.pt2:")
    assert expected in found


def test_an_operator_that_is_not_known(tmp_path: Path) -> None:
    build = Pt2Builder()
    x = build.pair(build.input("x", SHAPE), 0.1, 3)
    build.output(build.call("aten.grid_sampler.default", self=x))
    assert re.fullmatch(
        r"model.pt2:2:0: error: node 2 aten.grid_sampler.default 'v2': this operator is"
        r" not supported; \d+ others are\nhelp: --outputs v0 cuts the model before it",
        message(build.build(), tmp_path),
    )


def test_scales_that_follow_from_each_input(tmp_path: Path) -> None:
    build = Pt2Builder()
    given = {"quant_min": 0, "quant_max": 255, "eps": 2.0**-12, "dtype": 1}
    target = "quantized_decomposed.choose_qparams.tensor"
    build.output(build.call(target, 2, input=build.input("x", SHAPE), **given))
    assert re.search(
        r"choose_qparams.tensor 'v0': PT2E's dynamic quantization, whose scales follow"
        r" from each input, is not supported\nhelp: linear layers that torchao's",
        message(build.build(), tmp_path),
    )


def test_a_model_that_is_not_quantized(tmp_path: Path) -> None:
    build = Pt2Builder()
    x = build.input("x", SHAPE)
    weight = build.constant(np.ones((2, 4, 1, 1), np.float32))
    build.output(build.call("aten.conv2d.default", input=x, weight=weight))
    assert "do that first, by torchao.quantization.pt2e" in message(
        build.build(), tmp_path
    )


def test_a_range_of_fewer_codes(tmp_path: Path) -> None:
    build = Pt2Builder()
    stored = build.call(
        "quantized_decomposed.quantize_per_tensor.default",
        input=build.input("x", SHAPE),
        scale=0.1,
        zero_point=3,
        quant_min=0,
        quant_max=127,
        dtype=1,
    )
    build.output(stored)
    assert "values in [0, 127] are not supported; expected all of [0, 255]" in message(
        build.build(), tmp_path
    )


def test_a_change_in_place_that_others_see(tmp_path: Path) -> None:
    build = Pt2Builder()
    x = build.pair(build.input("x", SHAPE), 0.1, 3)
    flat = build.call("aten.view.default", self=x, size=[4, -1])
    build.call("aten.relu_.default", self=x)
    build.output(flat)
    assert "it changes 'v1' in place, and 'v2' with it, which is read later" in message(
        build.build(), tmp_path
    )


def test_a_change_in_place_is_read_later(tmp_path: Path) -> None:
    build = Pt2Builder()
    x = build.pair(build.input("x", SHAPE), 0.1, 3)
    build.call("aten.relu_.default", self=x)
    build.output(Name(x))
    model = qlower.load(build.save(tmp_path / "model.pt2"))
    found = qlower.jit(model)(np.full(SHAPE, -1, np.float32))
    assert not np.asarray(found).any()


def test_tensors_may_share_their_data(tmp_path: Path) -> None:
    """As tied weights do."""
    build = Pt2Builder()
    one, other = (build.constant(np.arange(144, dtype=np.float32)) for _ in range(2))
    build.weights[other] = build.weights[one]
    value = build.pair(build.input("x", (1, 144)), 0.1, 3)
    for tensor in (one, other):
        value = build.call("aten.add.Tensor", self=value, other=tensor)
    build.output(value)
    entries = build.entries()
    del entries["data/weights/weight_1"]
    path = tmp_path / "model.pt2"
    path.write_bytes(archive(entries))
    found = qlower.jit(qlower.load(path))(np.zeros((1, 144), np.float32))
    assert (np.asarray(found) == 2 * np.arange(144)).all()


NORMS: dict[str, dict[str, Argument]] = {
    "aten.layer_norm.default": {"normalized_shape": [4]},
    "aten.group_norm.default": {"num_groups": 2},
    "aten.batch_norm.default": {"training": False, "eps": 1e-5},
}
"""Norms, and what else each is given."""


@pytest.mark.parametrize("shape", [(), (1,), (1, 4), (4, 1), (5,), (4,)])
@pytest.mark.parametrize("target", NORMS)
def test_parameters_are_not_broadcast(
    target: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    """As in PyTorch, where each has the shape of what it is for."""
    build = Pt2Builder()
    value = build.input("x", (2, 4) if "layer" in target else (2, 4, 3, 3))
    given = {"weight": (4,), "bias": shape}
    if "batch" in target:
        given |= {"running_mean": (4,), "running_var": (4,)}
    constants = {
        name: build.constant(np.ones(sizes, np.float32))
        for name, sizes in given.items()
    }
    build.output(build.call(target, input=value, **constants, **NORMS[target]))
    if shape == (4,):
        (tmp_path / "x.pt2").write_bytes(build.build())
        assert qlower.load(tmp_path / "x.pt2")
        return
    expected = f"parameters of shape {list(shape)}; expected [4]"
    assert expected in message(build.build(), tmp_path)
