"""Where two systems part: counts, the guilty layer, the step, exit codes."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL

import qlower
from qlower.cli import main
from qlower.cli.exit_codes import ExitCode
from qlower.codegen.targets.resolve import Target, host_target
from qlower.diagnostics import QlowerError
from qlower.explain.causes import NEAR
from qlower.model.layers import name_layers
from qlower.model.made_up_sizes import inputs_for_layers
from qlower.model.signature import Array
from qlower.process.extras import install_line
from qlower.sides.live import LIVE, live_side
from qlower.sides.make_side import SideLike, short_titles
from qlower.sides.sides import Computed
from qlower.text.parsing import parse_module

EXAMPLES = Path(__file__).parents[2] / "examples"
RESIDUAL = EXAMPLES / "glow-divergence" / "residual.mlir"
ASKED = EXAMPLES / "fbgemm-overflow" / "asked.mlir"
GLOW = ("glow-interpreter", "glow-cpu")


DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.mlir"


def images(count: int) -> Array:
    found: Array = np.load(EXAMPLES / "digits" / "test_images.npy")
    return found[:count].reshape(-1, 8, 8, 1)


@pytest.mark.long
def test_glow_parts_in_every_kind_of_layer() -> None:
    found = qlower.diff(*GLOW, RESIDUAL, images(2))
    assert not found.is_equal
    rows = {row.name: row for row in found.layers}
    assert next(iter(rows)) == "stem"
    stem = rows["stem"]
    assert stem.carried is not None
    assert stem.carried == stem.alone
    assert stem.carried.elements == 2 * stem.elements
    assert rows["flatten"].alone is not None
    assert rows["flatten"].alone.differing == 0
    assert found.guilty is stem
    chain = found.chain
    assert chain is not None
    assert chain.place.layer == "stem"
    assert chain.parting is not None
    assert chain.parting.right is not None
    assert chain.parting.right.place.startswith("glow-cpu.mlir:")
    for trace, value in zip(chain.traces, chain.values, strict=True):
        assert trace is not None
        assert trace.result == value
    assert "the first layer that differs by itself is stem" in str(found)
    assert "<table>" in found._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert len(json.loads(json.dumps(found.to_dict()))["layers"]) == 17


@pytest.mark.long
def test_layers_alone_are_those_of_a_loop_over_layers() -> None:
    image = images(1)
    found = qlower.diff(*GLOW, RESIDUAL, image)
    results: list[dict[str, Array]] = [{}, {}]
    for contract, layers in zip(GLOW, results, strict=True):
        qlower.interpret(RESIDUAL, image, contract=contract, at="qnn", layers=layers)
    for row in found.layers:
        assert row.carried is not None
        apart = results[0][row.name] != results[1][row.name]
        assert row.carried.differing == np.count_nonzero(apart)


@pytest.mark.parts(10)
@pytest.mark.parametrize("sides", [("tflite", "tflite"), ("interp", "jit")])
def test_nothing_differs(
    sides: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(EXAMPLES / "digits" / "digits.mlir")
    assert main(["diff", *sides, model, "--random"]) == 0
    assert "nothing differs" in capsys.readouterr().out


def test_what_was_not_compared_is_not_said_to_be_equal() -> None:
    model = EXAMPLES / "digits" / "digits.mlir"
    image = images(1)
    layers: dict[str, Array] = {}
    qlower.interpret(model, image, contract="tflite", at="qnn", layers=layers)
    count = len(layers)
    dump = {name: layers[name] for name in ("pool", "logits")}
    found = str(qlower.diff(dump, "tflite", model, image))
    assert f"nothing differs in the 2 results of {count} that both sides" in found
    whole = str(qlower.diff(layers, "tflite", model, image))
    assert whole.splitlines()[-1] == "nothing differs"


@pytest.mark.parts(3)
def test_pairs_that_saturate_are_the_step() -> None:
    found = qlower.diff("pytorch-fbgemm-avx2", "pytorch-fbgemm", ASKED, random=0)
    chain = found.chain
    assert chain is not None
    assert chain.parting is not None
    assert chain.parting.left is not None
    assert chain.parting.left.how == "saturating pairs flat"


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    image = str(EXAMPLES / "digits" / "images" / "3.npy")
    options = [str(RESIDUAL), "--input", image]
    assert main(["diff", *GLOW, *options, "--json"]) == ExitCode.FOUND
    assert json.loads(capsys.readouterr().out)["first_alone"] == "stem"
    assert main(["diff", GLOW[0], str(RESIDUAL)]) == ExitCode.USAGE
    assert main(["diff", "nobody", GLOW[0], *options]) == ExitCode.USAGE
    assert "'nobody' is neither a contract" in capsys.readouterr().err


FUNCTIONS = """
!x = !quant.uniform<u8:f32, 0.05:120>
!y = !quant.uniform<u8:f32, 0.03:100>
!s = !quant.uniform<u8:f32, 0.00390625>
!t = !quant.uniform<u8:f32, 0.0078125:128>
!image = tensor<1x4x5x3x!x>
!other = tensor<1x4x5x3x!y>
!logistic = tensor<1x4x5x3x!s>
!hyperbolic = tensor<1x4x5x3x!t>
!joined = tensor<1x4x5x6x!x>
!pooled = tensor<1x2x2x6x!x>
func.func @main(%x: !image) -> (!logistic, !hyperbolic, !other, !pooled, !pooled) {
  %sigmoid = qnn.sigmoid %x : (!image) -> !logistic
  %tanh = qnn.tanh %x : (!image) -> !hyperbolic
  %elu = qnn.elu %x : (!image) -> !other
  %leaky = qnn.leaky_relu %elu {alpha = 0.2} : (!other) -> !image
  %swish = qnn.hard_swish %leaky : (!image) -> !image
  %product = qnn.mul %x, %swish {activation = "relu"} : (!image, !image) -> !image
  %bounded = qnn.relu6 %product : (!image) -> !image
  %sum = qnn.add %leaky, %bounded {activation = "relu6"} : (!image, !image) -> !image
  %difference = qnn.add %sum, %x {activation = "relu_n1_to_1"}
    : (!image, !image) -> !other
  %joined = qnn.concat %sum, %product {axis = 3} : (!image, !image) -> !joined
  %pooled = qnn.avg_pool2d %joined {kernel = [2, 3], stride = [2, 2],
    pad = [0, 0, 0, 0], count_include_pad = true} : (!joined) -> !pooled
  %whole = qnn.adaptive_avg_pool2d %joined : (!joined) -> !pooled
  return %sigmoid, %tanh, %difference, %pooled, %whole
    : !logistic, !hyperbolic, !other, !pooled, !pooled
}
"""


@pytest.mark.parts(2)
@pytest.mark.parametrize("engine", ["fbgemm", "qnnpack"])
def test_operators_of_pytorch_alone(engine: str, tmp_path: Path) -> None:
    """Each layer by the engine itself and by its contract."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if engine not in torch.backends.quantized.supported_engines:
        pytest.skip(f"this PyTorch has no engine {engine}")
    path = tmp_path / "functions.mlir"
    path.write_text(FUNCTIONS)
    found = qlower.diff(f"torch-{engine}", f"pytorch-{engine}", path, random=1)
    assert found.is_equal, str(found)
    assert sum(row.carried is not None for row in found.layers) == 12


def test_a_system_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what is missing, and the line that installs it."""

    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("qlower.sides.live.import_module", missing)
    model = qlower.load(DIGITS)
    for name, (_, _, extra) in LIVE.items():
        with pytest.raises(QlowerError, match="can't be used here: No mod") as refused:
            live_side(name, name, model)
        assert refused.value.help is not None
        assert refused.value.help == install_line(extra)


def test_a_side_with_a_cpu_is_compiled_for_that() -> None:
    """For the oldest one of this machine's architecture, and else for its own."""
    model = qlower.load(DIGITS)
    host = host_target()
    cpu = "x86-64" if host.triple.startswith("x86_64") else "generic"
    targets: list[Target] = []

    def compilation(_model: object, _contract: object, target: Target, **_: object):
        targets.append(target)
        raise Stopped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qlower.sides.sides.Compilation", compilation)
        for chosen in (cpu, None):
            side = Computed("a", model, "tflite", "jit", chosen)
            with pytest.raises(Stopped):
                side.values(0, {})
    assert [target.cpu for target in targets] == [cpu, host.cpu]


class Stopped(Exception):
    """Nothing is compiled."""


@pytest.mark.parametrize(
    ("sides", "titles"),
    [
        (("a/model.tflite", "b/v2.tflite"), ["model.tflite", "v2.tflite"]),
        (("a/model.tflite", "b/model.tflite"), ["a/model.tflite", "b/model.tflite"]),
        (("/x/dump.npz", "tflite"), ["dump.npz", "tflite"]),
        (("m.tflite", "./m.tflite"), [None, None]),
        (({}, Path("x/y.npz")), [None, "y.npz"]),
        (({}, {}), [None, None]),
    ],
)
def test_files_are_called_by_what_tells_them_apart(
    sides: tuple[SideLike, SideLike], titles: list[str | None]
) -> None:
    assert short_titles(*sides) == titles


def test_dumps_of_one_name_are_told_apart(tmp_path: Path) -> None:
    module = parse_module(SMALL_MODEL, "model.mlir")
    name_layers(module)
    model = qlower.Model(module)
    (image,) = (one.name for one in model.inputs)
    (x,) = inputs_for_layers(model, 0)
    values = Computed("", model, "tflite").values(0, {image: x})
    paths = [tmp_path / folder / "x.npz" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        np.savez(path, **dict(values))
    one, other = paths
    found = qlower.diff(one, other, model, random=0)
    assert (found.a, found.b) == ("a/x.npz", "b/x.npz")
    assert found.is_equal


def layer(name: str, differing: int | None = None, **more: object) -> Any:
    """A layer's difference, by itself if it has a number."""
    alone = SimpleNamespace(
        differing=differing, elements=4000, largest=2.5, decibels=31.25
    )
    given = {"alone": None if differing is None else alone, "carried": 1}
    return SimpleNamespace(name=name, **{**given, "steps": None, **more})


SAME = [layer("a", 0), layer("b", 0)]
HURT = {"layers": [layer("a", 3)], "guilty": layer("a", 3), "most_hurt": layer("b", 9)}
FIRST = "the first layer that differs by itself is a: 3 of 4,000 elements, by up to 2.5"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, ["the model has no layers: nothing was compared"]),
        ({"layers": SAME, "is_equal": True}, ["nothing differs"]),
        (
            {"layers": [*SAME, layer("c", carried=None)], "is_equal": True},
            ["nothing differs in the 2 results of 3 that both sides have"],
        ),
        (
            {"layers": SAME, "is_equal": True, "b": "tvm"},
            [
                "nothing differs",
                "for all inputs: qlower verify MODEL --equal tflite tvm",
            ],
        ),
        (
            {"layers": SAME, "is_equal": True, "a": "tvm", "b": "tvm-neon"},
            [
                "nothing differs",
                "for all inputs: qlower verify MODEL --equal tvm tvm-neon",
                "what sets tvm-neon apart: qlower contracts show tvm-neon",
            ],
        ),
        (
            {"layers": SAME, "is_equal": True, "a": "tvm-neon-fix", "b": "tvm"},
            [
                "nothing differs",
                "for all inputs: qlower verify MODEL --equal tvm-neon-fix tvm",
                "what sets tvm-neon-fix apart: qlower contracts show tvm-neon-fix",
            ],
        ),
        (HURT, [FIRST]),
        (
            {**HURT, "is_real": True},
            [FIRST, "the layer that loses most by itself is b: 31.2 dB"],
        ),
        ({**HURT, "is_real": True, "most_hurt": None}, [FIRST]),
        (
            {"layers": SAME, "first_carried": SAME[1]},
            ["the first layer that differs is b"],
        ),
        (
            {"layers": SAME, "first_carried": SAME[1], "reference": "a"},
            ["the first layer that differs is b", "no layer differs by itself"],
        ),
        (
            {"layers": [layer("a", 0, steps="it"), layer("b", 1, steps="that")]},
            [
                "a has another step, though no element differs: it",
                "b has another step: that",
            ],
        ),
    ],
)
def test_the_verdict_in_sentences(given: dict[str, object], said: list[str]) -> None:
    nothing = dict.fromkeys(("guilty", "first_carried", "most_hurt", "reference"))
    sides = {"a": "tflite", "b": "a dump", "is_equal": False, "is_real": False}
    diff = SimpleNamespace(**{"layers": [], **nothing, **sides, **given})
    verdict = vars(import_module("qlower.explain.diff_result"))["_verdict"]
    assert list(verdict(diff)) == said


@pytest.mark.parametrize(
    ("pair", "exact", "kind"),
    [
        ((2, 3), Fraction(5, 2), "tie"),
        ((-2, -3), Fraction(-5, 2), "tie"),
        ((2, 3), Fraction(5, 2) + NEAR, "next to a tie"),
        ((2, 3), Fraction(5, 2) - 2 * NEAR, "rounding"),
        ((2, 3), Fraction(2), "far"),
        ((2, 4), Fraction(5, 2), "far"),
    ],
)
def test_kinds_of_differences(pair: tuple[int, int], exact: Fraction, kind: str):
    found = vars(import_module("qlower.explain.causes"))["_kind"]
    assert found([], (0,), pair, exact) == kind
    inexact = SimpleNamespace(has_exact_sum=lambda _: False)
    assert found([inexact], (0,), pair, exact) == "sum"
