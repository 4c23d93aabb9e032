"""Results of the Python interface: one protocol for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import pytest
from support.layers.small_model import SMALL_MODEL
from support.table_forms import keyed_forms

import qlower
from qlower.interp.values import Array
from qlower.model.random_inputs import random_inputs
from qlower.tables.table import Table

COLUMNS = Path(__file__).parent / "tables" / "columns"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> qlower.Model:
    path = tmp_path_factory.mktemp("results") / "m.mlir"
    path.write_text(SMALL_MODEL)
    return qlower.load(path)


@runtime_checkable
class Result(Protocol):
    """The protocol."""

    @property
    def table(self) -> object: ...
    def to_dict(self) -> Mapping[str, object]: ...
    def render(self, width: int | None = None) -> str: ...
    def _repr_html_(self) -> str: ...


RESULTS: Mapping[str, Callable[[qlower.Model, Array], object]] = {
    "Diff": lambda m, x: qlower.diff("tflite", "tvm", m, x),
    "Identification": lambda m, x: qlower.identify(
        "interp", m, x, contracts=["tflite"], verify=False
    ),
    "Validation": lambda m, x: qlower.validate(m, x[None], against="tvm"),
    "Vectors": lambda m, x: qlower.vectors(m, layer="0"),
    "Report": lambda m, x: qlower.make_report(m),
    "Lint": lambda m, x: qlower.lint(m, accumulator_bits=4),
    "Stats": lambda m, x: qlower.stats(m),
    "Equality": lambda m, x: qlower.verify(m, equal=("tflite", "tflite-single")),
    "Fits": lambda m, x: qlower.verify(m, accumulator_bits=24),
    "TensorSpec": lambda m, x: m.inputs[0],
    "Bisection": lambda m, x: qlower.bisect(m, x),
    "Contracts": lambda m, x: qlower.list_contracts(),
}


@pytest.mark.parts(12)
@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_the_protocol(
    name: str, model: qlower.Model, request: pytest.FixtureRequest
) -> None:
    """The columns are those on record: keys, sides, widths and ranks."""
    found = RESULTS[name](model, random_inputs(model.inputs, 0)[0])
    assert type(found).__name__ == name
    assert isinstance(found, Result)
    table: object = found.table
    assert isinstance(table, Table)
    columns = COLUMNS / f"{name}.txt"
    if request.config.getoption("--bless"):
        columns.write_text("\n".join([*keyed_forms(table), ""]))
    assert list(keyed_forms(table)) == columns.read_text().splitlines()
    assert json.loads(json.dumps(found.to_dict()))
    assert found.render(80)
    assert str(found)
    assert "<" in found._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_a_model_is_saved_as_it_is(model: qlower.Model, tmp_path: Path) -> None:
    model.save(tmp_path / "again.mlir")
    again = qlower.load(tmp_path / "again.mlir")
    (x,) = random_inputs(model.inputs, 0)
    wanted = qlower.interpret(model, x)
    np.testing.assert_array_equal(qlower.interpret(again, x), wanted)
    assert again.inputs == model.inputs


def test_all_take_the_same_shapes(model: qlower.Model) -> None:
    """With the leading dimension of 1, or without."""
    (x,) = random_inputs(model.inputs, 0)
    names = [layer.name for layer in qlower.stats(model).layers]
    at = f"{names[0]}[0,0,0,0]"
    for given in (x, x[0]):
        assert qlower.trace(model, given, at=at).result is not None
        assert not qlower.diff("tflite", "tflite:jit", model, given).chain
        assert qlower.bisect(model, given).is_equal
        assert np.array_equal(
            np.squeeze(qlower.jit(model)(given)), np.squeeze(qlower.jit(model)(x))
        )
    with pytest.raises(qlower.QlowerError, match="one input is traced, not a set of 2"):
        qlower.trace(model, np.stack([x, x]), at=at)


def test_lint_says_what_the_command_says(model: qlower.Model) -> None:
    assert qlower.lint(model).is_clean
    (x,) = random_inputs(model.inputs, 0)
    given = {model.inputs[0].name: x}
    on_data = qlower.lint(model, accumulator_bits=4, inputs=given)
    assert all(one.on_data is not None for one in on_data.findings)
    found = qlower.lint(model, accumulator_bits=4)
    assert not found.is_clean
    assert found.findings[0].layer in str(found)
    with pytest.raises(qlower.QlowerError, match=r"must be in \[2, 63\], not 1"):
        qlower.lint(model, accumulator_bits=1)
    with pytest.raises(qlower.QlowerError, match="there is no contract 'nosuch'"):
        qlower.stats(model, "nosuch")
