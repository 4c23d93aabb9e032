"""A module as a function of numpy arrays, or of JAX's, with its gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import torch

from qlower.diagnostics import QlowerError
from qlower.model.signature import Array
from qlower.torch.module import Module
from qlower.torch.tensors import array_of, tensor_of

Parameters: TypeAlias = Mapping[str, Array]
Pullback: TypeAlias = Callable[[Array], tuple[dict[str, Array], Array]]
Function: TypeAlias = Callable[[Parameters, Array], tuple[Array, Pullback]]


def numpy_function(module: Module) -> Function:
    """The module as a function of numpy arrays.

    It takes parameters by the module's names, which need not be all, and an input of
    real values; it returns the exact real output, and a function from the gradient of a
    loss by that output to those by the given parameters and by the input. Raises
    QlowerError for a module with several inputs or outputs.
    """
    model = module.to_model()
    if len(model.inputs) != 1 or len(model.outputs) != 1:
        raise QlowerError(
            f"the model has {len(model.inputs)} inputs and {len(model.outputs)} "
            "outputs; one of each is needed"
        )

    def run(parameters: Parameters, x: Array) -> tuple[Array, Pullback]:
        given = {
            name: tensor_of(np.array(values)).requires_grad_()
            for name, values in parameters.items()
        }
        known = dict(module.named_parameters())
        unknown = given.keys() - known.keys()
        if unknown:
            raise QlowerError(
                f"the module has no parameter {min(unknown)!r}",
                help=f"it has {', '.join(known)}",
            )
        real = tensor_of(np.array(x, np.float32)).requires_grad_()
        call: Any = torch.func.functional_call
        output: Any = call(module, given, (real,))

        def pullback(gradient: Array) -> tuple[dict[str, Array], Array]:
            leaves = [*given.values(), real]
            of_output = tensor_of(np.array(gradient, np.float32))
            found = torch.autograd.grad(
                output, leaves, of_output, retain_graph=True, materialize_grads=True
            )
            arrays = [array_of(one) for one in found]
            return dict(zip(given, arrays[:-1], strict=True)), arrays[-1]

        return array_of(output), pullback

    return run


def jax_function(module: Module) -> Callable[[Any, Any], Any]:
    """The module as a function of JAX's arrays: parameters by name, and an input.

    It works under `jax.jit` and `jax.grad`, by `pure_callback` and `custom_vjp`; the
    device runs on the host. Under `jax.vmap` examples run one after another. Raises
    QlowerError where JAX isn't installed.
    """
    try:
        jax: Any = import_module("jax")
    except ImportError:
        raise QlowerError("jax_function needs JAX", help="pip install jax") from None
    run = numpy_function(module)
    output = module.to_model().outputs[0]

    def forward(parameters: Parameters, x: Array) -> Array:
        arrays = {name: np.asarray(one) for name, one in parameters.items()}
        return run(arrays, np.asarray(x))[0]

    def backward(
        parameters: Parameters, x: Array, gradient: Array
    ) -> tuple[dict[str, Array], Array]:
        arrays = {name: np.asarray(one) for name, one in parameters.items()}
        return run(arrays, np.asarray(x))[1](np.asarray(gradient))

    @jax.custom_vjp
    def function(parameters: Any, x: Any) -> Any:
        shape = (x.shape[0], *output.shape[1:])
        result = jax.ShapeDtypeStruct(shape, np.float32)
        return jax.pure_callback(
            forward, result, parameters, x, vmap_method="sequential"
        )

    def keep(parameters: Any, x: Any) -> Any:
        return function(parameters, x), (parameters, x)

    def like_it(array: Any) -> Any:
        return jax.ShapeDtypeStruct(array.shape, array.dtype)

    def pull(kept: Any, gradient: Any) -> Any:
        like = jax.tree_util.tree_map(like_it, kept)
        return jax.pure_callback(
            backward, like, *kept, gradient, vmap_method="sequential"
        )

    function.defvjp(keep, pull)
    return function
