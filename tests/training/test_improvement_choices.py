"""What `qlower improve` tries, keeps and refuses, with methods that are given."""

from __future__ import annotations

import logging
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qlower.diagnostics import LOGGER, QlowerError
from qlower.dialects.quant import QuantizedType
from qlower.model.signature import Array, TensorSpec

torch = pytest.importorskip("torch", reason="torch is not installed")


def room(name: str) -> Any:
    return import_module(f"qlower.improvement.{name}")


def float64(values: Any) -> Array:
    return np.array(values, np.float64)


class Work:
    """A model that is a number: the smaller, the better."""

    def __init__(self, model: float) -> None:
        self.model = SimpleNamespace(error=model, path=Path("m.tflite"))
        self.inputs = (np.zeros(6),)

    def on(self, inputs: object) -> Any:
        return SimpleNamespace(error=lambda: self.model.error, inputs=inputs)


def test_methods_start_from_what_was_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that makes it worse, or changes nothing, is reported and left out."""
    improve = room("improve")
    seen: list[tuple[str, float]] = []

    def method(name: str, step: float) -> Any:
        def apply(work: Work) -> Work:
            seen.append((name, work.model.error))
            return Work(work.model.error + step) if step else work

        return apply

    methods = {"a": method("a", -1), "b": method("b", 2), "c": method("c", 0)}
    methods["d"] = method("d", -3)
    monkeypatch.setattr(improve, "METHODS", methods)
    monkeypatch.setattr(improve, "measure", lambda work, examples: work.model.error)
    monkeypatch.setattr(improve, "layer_effects", lambda work, _: [work.model.error])
    monkeypatch.setattr(
        improve, "choices", lambda work, _, effects: [work.model.error, *effects]
    )
    monkeypatch.setattr(improve, "_real_top1", lambda work, _: work.model.error / 100)
    examples = [np.zeros(2), np.zeros(3)]
    deciding, measuring = (
        room("figures").Examples((rows,), [()] * len(rows)) for rows in examples
    )
    with caplog.at_level(logging.INFO, logger=LOGGER.name):
        result = vars(improve)["_improved"](Work(10.0), deciding, measuring, "abcd")
    assert seen == [("a", 10.0), ("b", 9.0), ("c", 9.0), ("d", 9.0)]
    assert [(one.method, one.is_kept, one.figures) for one in result.steps] == [
        *(("as it is", True, 10.0), ("a", True, 9.0), ("b", False, 11.0)),
        *(("c", False, 9.0), ("d", True, 6.0)),
    ]
    assert result.steps[0].seconds == 0.0
    assert all(0 <= one.seconds < 60 for one in result.steps)
    assert (result.model.error, result.after, result.source) == (
        6.0,
        6.0,
        Path("m.tflite"),
    )
    assert result.examples == (6, 2, 3)
    # what is shown of layers and choices is of the model as it was
    assert (result.layers, result.choices, result.real_top1) == (
        *((10.0,), (10.0, 10.0), 0.1),
    )
    assert [r.getMessage() for r in caplog.records] == [*"abcd", "each layer alone"]


def test_a_method_that_there_is_not() -> None:
    with pytest.raises(QlowerError) as caught:
        room("improve").improve("none.tflite", "none", methods=["gains", "x", "y"])
    assert caught.value.message == "there is no method 'x'"
    assert caught.value.help == "methods: equalize, ranges, gains, rounding, biases"


def test_pytorch_has_its_threads_again() -> None:
    one_thread = vars(room("improve"))["_one_thread"]
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_warnings_are_left_out_while_it_works(caplog: pytest.LogCaptureFixture) -> None:
    quiet = vars(room("improve"))["_without_warnings"]
    with caplog.at_level(logging.INFO, logger=LOGGER.name):
        with quiet():
            LOGGER.warning("left out")
            LOGGER.info("told")
            LOGGER.error("wrong")
        LOGGER.warning("again")
    assert [r.getMessage() for r in caplog.records] == ["told", "wrong", "again"]


@pytest.mark.parametrize("count", [7, 8])
def test_examples_that_are_enough(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    improve = room("improve")
    row = improve.Row

    def made(number: int) -> Any:
        found = object.__new__(row)
        object.__setattr__(found, "inputs", (np.full((1, 2), number),))
        object.__setattr__(found, "classes", (number,))
        return found

    class Source:
        def chunks(self, size: int, limit: int) -> Any:
            assert (size, limit) == (32, 99)
            return [range(3), range(3, count)]

        def rows(self, chunk: range) -> Any:
            return ["refused", *map(made, chunk)]

    given: list[Any] = []
    monkeypatch.setattr(
        improve, "open_source", lambda *all: (given.extend(all), Source())[1]
    )
    model: Any = SimpleNamespace(inputs="inputs")

    def examples() -> Any:
        return vars(improve)["_examples"](
            model, "data", "plain", None, label_offset=3, limit=99
        )

    if count < 8:
        with pytest.raises(QlowerError) as caught:
            examples()
        assert caught.value.message == "7 examples can be used; at least 8 are needed"
    else:
        found = examples()
        assert found.inputs[0].tolist() == [[n, n] for n in range(8)]
        assert found.classes == [(n,) for n in range(8)]
    assert given == ["data", "inputs", "plain", None, 3]


TYPE = QuantizedType.per_tensor(8, True, 1.0, 0)


def test_a_range_is_kept_where_the_output_errs_less() -> None:
    """Not where it errs as much, or where the contract refuses the scales."""
    better = vars(room("rescaling"))["_better"]

    def work(error: float, other: float | None) -> Any:
        def rescaled(types: Any) -> Any:
            assert types == {"x": TYPE}
            if other is None:
                raise QlowerError("no such ratio")
            return SimpleNamespace(error=lambda: other)

        return SimpleNamespace(error=lambda: error, rescaled=rescaled)

    for error, other, is_changed in ((2.0, 1.0, 1), (1.0, 1.0, 0), (1.0, 2.0, 0)):
        given = work(error, other)
        assert (better(given, {"x": TYPE}) is not given) == bool(is_changed)
    given = work(1.0, None)
    assert better(given, {"x": TYPE}) is given


def test_ranges_are_tried_together_and_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rescaling = room("rescaling")
    tried: list[dict[str, float]] = []

    def better(work: Any, types: dict[str, QuantizedType]) -> Any:
        tried.append({name: type.scale for name, type in types.items()})
        return work

    def observed(name: str, type: QuantizedType, values: Any) -> QuantizedType:
        scale = {"a": 8.0, "b": 16.0}[values] * (1 + rescaling.OBSERVERS.index(name))
        return type.rescaled([scale], [0])

    groups = [("a", TYPE, "a"), ("b", TYPE, "b")]
    monkeypatch.setattr(rescaling, "_groups", lambda work: groups)
    monkeypatch.setattr(rescaling, "_better", better)
    monkeypatch.setattr(rescaling, "_observed", observed)
    monkeypatch.setattr(
        rescaling, "result_types", lambda module: {"a": TYPE, "b": TYPE}
    )
    work: Any = SimpleNamespace(model=SimpleNamespace(module=None))
    assert rescaling.fit_ranges(work) is work
    count = len(rescaling.OBSERVERS)
    whole = [{"a": 8.0 * n, "b": 16.0 * n} for n in range(1, count + 1)]
    assert tried[:count] == whole
    for name, base in (("a", 8.0), ("b", 16.0)):
        mine = [one[name] for one in tried[count:] if set(one) == {name}]
        expected = [base * n for n in range(1, count + 1)] + list(rescaling.FACTORS)
        assert mine == pytest.approx(expected)


@pytest.mark.parametrize(
    ("signed", "values", "expected"),
    [
        (True, [0.0, 2.55], (0.01, -128)),
        (False, [-1.0, 1.55], (0.01, 100)),
        (True, [-2.55, 0.0], (0.01, 127)),
    ],
)
def test_what_an_observer_takes(
    signed: bool, values: list[float], expected: tuple[float, int]
) -> None:
    rescaling = room("rescaling")
    type = QuantizedType.per_tensor(8, signed, 1.0, 0)
    found = vars(rescaling)["_observed"](
        "MinMaxObserver", type, np.array(values, np.float32)
    )
    assert (pytest.approx(found.scale), found.zero_point) == expected
    assert found.signed == signed


def test_errors_of_channels() -> None:
    errors = vars(room("rescaling"))["_errors"]
    found, wanted = float64([[[1, 2]], [[3, 4]]]), float64([[[0, 2]], [[1, 1]]])
    assert errors(found, wanted, is_common=False).tolist() == [5, 9]
    assert errors(found, wanted, is_common=True).tolist() == [14]


def test_elements_that_nothing_clips() -> None:
    """Ends of the stored range say nothing of a gain."""
    gains = vars(room("rescaling"))["_gains"]
    spec = TensorSpec("y", (1, 2), "int8", (1.0,), (0,))
    wanted = float64([[126, -127], [10, 10], [127, -128]])
    found = float64([[63, -127], [5, 10], [1, 1]])
    given = SimpleNamespace(
        found={"y": found}, network=SimpleNamespace(specs={"y": spec})
    )
    assert gains(given, "y", wanted, is_common=False).tolist() == [0.5, 1.0]
    # 0.25 and 4 are too far themselves
    far = float64([[25, 40]])
    given.found["y"] = far
    wanted = float64([[100, 10]])
    assert gains(given, "y", wanted, is_common=False).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("kind", ["weight", "bias"])
@pytest.mark.parametrize("distance", [0.1, 0.101])
def test_real_weights_that_are_near_enough(
    monkeypatch: pytest.MonkeyPatch, kind: str, distance: float
) -> None:
    weights = room("float_weights")
    spec = SimpleNamespace(name=f"l.{kind}", role=kind)
    monkeypatch.setattr(weights, "weight_specs", lambda module: [spec])
    monkeypatch.setattr(
        weights, "float_arrays", lambda path: [np.zeros(1), np.zeros(2)]
    )
    seen: list[int] = []

    def nearest(spec: object, tensors: list[np.ndarray]) -> Any:
        seen.append(len(tensors))
        return tensors[0], distance

    monkeypatch.setattr(weights, "_nearest", nearest)
    model: Any = SimpleNamespace(module=None)

    def found() -> Any:
        return weights.float_parameters(model, Path("f.onnx"))

    if distance <= 0.1:
        assert list(found()) == [f"l.{kind}"]
    elif kind == "bias":
        assert found() == {}
    else:
        with pytest.raises(QlowerError) as caught:
            found()
        assert caught.value.message == (
            "f.onnx has no weights that l.weight was quantized from"
        )
        assert caught.value.help is not None
    assert seen == [1]  # one number is no tensor of weights
