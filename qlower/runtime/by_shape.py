"""A model whose inputs have open shapes, as native code: a function for each shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TypeAlias

from qlower.model.signature import Array, TensorSpec, assign_inputs
from qlower.model.state import State
from qlower.runtime.executors import JitFunction, Outputs

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
"""The shape of each input, by name."""

_Key: TypeAlias = frozenset[tuple[str, tuple[int, ...]]]


class FunctionByShape:
    """A model as native code in this process, for arrays of any shape that its file
    leaves open.

    The first call with new shapes compiles the model for them, or takes its code from
    the cache; later ones run that code. Results are those of `qlower.jit` for the model
    that is loaded with these shapes. At most `most` functions stay loaded, each with a
    copy of the weights; the one that wasn't called for the longest time goes first.

    Thread-safe: of several threads with new shapes one compiles, and the others wait;
    those whose shapes have code don't.
    """

    def __init__(
        self,
        make: Callable[[Shapes], JitFunction],
        default_inputs: Callable[[], Sequence[TensorSpec]],
        most: int,
    ) -> None:
        self._make = make
        self._default_inputs = default_inputs
        self._most = most
        self._inputs: Sequence[TensorSpec] = ()
        self._functions: dict[_Key, JitFunction] = {}
        self._lock, self._compiling = Lock(), Lock()

    @property
    def shapes(self) -> list[dict[str, tuple[int, ...]]]:
        """The shapes that code is loaded for; those of the last call are the last."""
        with self._lock:
            functions = [*self._functions.values()]
        return [{spec.name: spec.shape for spec in one.inputs} for one in functions]

    def function(self, shapes: Shapes) -> JitFunction:
        """The function for inputs of these shapes, compiled if it is new.

        An input that isn't named has the file's shape, with 1 for sizes that are open.
        Raises `QlowerError` for shapes that the model doesn't take.
        """
        key = frozenset((name, tuple(shape)) for name, shape in shapes.items())
        found = self._loaded(key)
        if found is None:
            with self._compiling:
                found = self._loaded(key)  # another thread may have had these shapes
                if found is None:
                    found = self._make(shapes)
                    self._keep(key, found)
        return found

    def _loaded(self, key: _Key) -> JitFunction | None:
        with self._lock:
            found = self._functions.pop(key, None)
            if found is not None:
                self._functions[key] = found
            return found

    def _keep(self, key: _Key, function: JitFunction) -> None:
        with self._lock:
            self._functions[key] = function
            self._inputs = self._inputs or function.inputs
            if len(self._functions) > self._most:
                del self._functions[next(iter(self._functions))]

    def __call__(
        self, *inputs: Array, state: State | None = None, **named_inputs: Array
    ) -> Outputs:
        """Run the model on stored values, given by position or by name, with the code
        for their shapes: one array, or a tuple for a model of several outputs."""
        named = named_inputs
        if inputs:
            self._inputs = self._inputs or self._default_inputs()
            arrays = assign_inputs(self._inputs, inputs, named_inputs)
            names = [spec.name for spec in self._inputs]
            named = dict(zip(names, arrays, strict=True))
        function = self.function({name: array.shape for name, array in named.items()})
        return function(state=state, **named)

    def __repr__(self) -> str:
        lines = [
            ", ".join(f"{name}: {list(shape)}" for name, shape in one.items())
            for one in self.shapes
        ]
        return "\n".join(["<FunctionByShape", *(f"  {line}" for line in lines)]) + ">"
