"""A module in JAX, played by a stand-in that calls back at once: it is asked for the
shapes that it will get, and gets the numbers of numpy's function."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from training.test_write_back import small_model

pytest.importorskip("torch", reason="torch is not installed")


class Differentiable:
    """`custom_vjp`: a function, and what its gradient is."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.forward: Callable[..., Any] = function
        self.backward: Callable[..., Any] = function

    def __call__(self, *given: Any) -> Any:
        return self.function(*given)

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        self.forward, self.backward = forward, backward


def call_back(
    function: Callable[..., Any], shapes: Any, *given: Any, vmap_method: str
) -> Any:
    """`pure_callback`: results have the shapes that were told."""
    assert vmap_method == "sequential"
    found = function(*given)
    check(shapes, found)
    return found


def check(shapes: Any, found: Any) -> None:
    if isinstance(shapes, tuple):
        for shape, one in zip(shapes, found, strict=True):
            check(shape, one)
    elif isinstance(shapes, dict):
        assert shapes.keys() == found.keys()
        for name, shape in shapes.items():
            check(shape, found[name])
    else:
        assert (shapes.shape, shapes.dtype) == (found.shape, found.dtype)


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    if isinstance(tree, tuple):
        return tuple(mapped(function, one) for one in tree)
    if isinstance(tree, dict):
        return {name: mapped(function, one) for name, one in tree.items()}
    return function(tree)


def test_jax_gets_what_numpy_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays: Any = import_module("qlower.torch.arrays")
    module = import_module("qlower.torch").Module(small_model(), "tflite")
    jax = SimpleNamespace(
        custom_vjp=Differentiable,
        pure_callback=call_back,
        ShapeDtypeStruct=lambda shape, dtype: SimpleNamespace(
            shape=tuple(shape), dtype=np.dtype(dtype)
        ),
        tree_util=SimpleNamespace(tree_map=mapped),
    )
    monkeypatch.setattr(arrays, "import_module", {"jax": jax}.__getitem__)
    function = arrays.jax_function(module)
    known = dict(module.named_parameters())
    name = next(iter(known))
    parameters = {name: known[name].detach().numpy()}
    (spec,) = module.to_model().inputs
    x = np.random.default_rng(0).normal(size=(3, *spec.shape[1:])).astype(np.float32)
    y, pullback = arrays.numpy_function(module)(parameters, x)
    np.testing.assert_array_equal(function(parameters, x), y)
    result, kept = function.forward(parameters, x)
    np.testing.assert_array_equal(result, y)
    found, of_input = function.backward(kept, 2 * y)
    expected, wanted = pullback(2 * y)
    assert found.keys() == expected.keys() == {name}
    np.testing.assert_array_equal(found[name], expected[name])
    np.testing.assert_array_equal(of_input, wanted)
