"""What a module's arguments and results are to the caller of a model: outputs, layers,
states and sets, without any code that runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from qlower.diagnostics import QlowerError
from qlower.model.signature import Array, Signature, StateSpec, TensorSpec
from qlower.model.state import State
from qlower.runtime.executors import Executor, Results, Variant, unpack

X = TensorSpec("x", (1, 2), "int8")
Z = TensorSpec("z", (), "int32")
Y = TensorSpec("y", (1, 2), "uint8")
N = TensorSpec("n", (), "int32")
LAYER = TensorSpec("layer", (2,), "int8")
COUNT = StateSpec("count", (2,), "int32", initial=b"\1\0\0\0\2\0\0\0")

PLAIN = Variant(Signature((X, Z), (Y, N, LAYER)), {"a": 2, "last": 0}, 2)
KEEPING = Variant(
    Signature((X, Z), (Y, N, LAYER), (COUNT,)), {"a": 2, "last": 0}, output_count=2
)


def results(inputs: Sequence[Array], *more: Array) -> list[Array]:
    """What a module gives: signless outputs, a layer, and what is left."""
    x, z = inputs[:2]
    return [x * 2, np.asarray(z + 1), x.reshape(-1) - 1, *more]


def numbers(*values: int) -> NDArray[np.int8]:
    return np.array([values], np.int8)


GIVEN: list[Array] = [numbers(3, -4), np.array(7, np.int32)]


def test_outputs_and_layers() -> None:
    """Bits are read as the tensors' own types, however they lie in memory."""
    outputs, layers = PLAIN.run(results, GIVEN, None)
    assert [one.tolist() for one in outputs] == [[[6, 248]], 8]
    assert [one.dtype for one in outputs] == [np.uint8, np.int32]
    assert {name: one.tolist() for name, one in layers.items()} == {
        "a": [2, -5],
        "last": [[6, 248]],
    }
    assert PLAIN.outputs == (Y, N)
    square = Variant.plain(Signature((), (TensorSpec("s", (2, 2), "uint8"),)))
    turned = np.array([[-1, 2], [3, -4]], np.int8).T
    ((found,), none) = square.split([turned])
    assert found.tolist() == [[255, 3], [2, 252]]
    assert (none, square.layers, square.output_count) == ({}, {}, 1)


def test_a_state_between_calls() -> None:
    """The call sees it as it was; layers have its earlier values, where there are
    any."""
    seen: list[list[int]] = []

    def call(arguments: Sequence[Array]) -> list[Array]:
        *inputs, count = arguments
        seen.append(count.tolist())
        return results(inputs, count * 10)

    state = State([COUNT])
    for expected in ([1, 2], [10, 20]):
        outputs, layers = KEEPING.run(call, GIVEN, state)
        assert len(outputs) == 2
        assert list(layers) == ["count", "a", "last"]
        assert layers["count"].tolist() == expected
    assert state.arrays[0].tolist() == [100, 200]
    without = Variant(KEEPING.signature, {}, 2)
    assert without.run(call, GIVEN, None)[1] == {}
    assert seen == [[1, 2], [10, 20], [1, 2]]


def test_what_is_left_may_be_a_part_of_what_was_taken() -> None:
    """Each is turned around: neither is read when it is half written."""

    def call(arguments: Sequence[Array]) -> list[Array]:
        *inputs, count = arguments
        return results(inputs, count[::-1])

    state = State([COUNT])
    KEEPING.run(call, GIVEN, state)
    assert state.arrays[0].tolist() == [2, 1]


def test_a_state_for_a_model_without() -> None:
    with pytest.raises(QlowerError, match="is of another model"):
        PLAIN.run(results, GIVEN, State([COUNT]))
    assert PLAIN.run(results, GIVEN, State([]))[0][1] == 8


class Counting(Executor):
    """Runs `call`, and notes the inputs of each run."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(variant)
        self.runs: list[tuple[object, object]] = []

    def _run_example(self, arrays: Sequence[Array], state: State | None) -> Results:
        self.runs.append(tuple(array.tolist() for array in arrays)[:2] or ((), ()))

        def call(arguments: Sequence[Array]) -> list[Array]:
            *inputs, count = arguments
            return results(inputs, count + len(self.runs))

        return self._variant.run(call, arrays, state)


def test_sets_of_examples() -> None:
    """One example after another, with the one state; results are joined as inputs
    are."""
    executor = Counting(KEEPING)
    assert (executor.inputs, executor.outputs) == ((X, Z), (Y, N))
    many = np.array([[[3, -4]], [[5, 6]]], np.int8)
    state = executor.new_state()
    (y, n), layers = executor.run([many], {"z": GIVEN[1]}, state)
    assert executor.runs == [([[3, -4]], 7), ([[5, 6]], 7)]
    assert y.tolist() == [[[6, 248]], [[10, 12]]]
    assert n.tolist() == [8, 8]
    assert layers["a"].tolist() == [[2, -5], [4, 5]]
    assert layers["count"].tolist() == [[1, 2], [2, 3]]
    assert state.arrays[0].tolist() == [4, 5]
    merged = executor(many[:, 0], z=GIVEN[1])
    assert [one.tolist() for one in merged] == [[[6, 248], [10, 12]], [8, 8]]
    single = executor(GIVEN[0], GIVEN[1])
    assert [one.tolist() for one in single] == [[[6, 248]], 8]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [numbers(1, 2).astype(np.int16), GIVEN[1]],
            "input 'x' has type int16, the model takes int8",
        ),
        ([numbers(1, 2, 3), GIVEN[1]], "input 'x' has shape [1, 3], the model takes"),
        ([numbers(1, 2), np.float32(3)], "input 'z' has type float32"),
    ],
)
def test_inputs_that_do_not_fit(given: list[Array], message: str) -> None:
    executor = Counting(KEEPING)
    with pytest.raises(QlowerError) as caught:
        executor(*given)
    assert message in caught.value.message
    assert executor.runs == []


def test_one_output_is_by_itself() -> None:
    one, other = numbers(1), numbers(2)
    assert unpack((one,)) is one
    assert unpack((one, other)) == (one, other)
    assert unpack(()) == ()
