"""Running a model: the interpreter and the compiled function, with one interface.

Both take stored values for a `Signature` and give the outputs, and the result of every
layer if the model was prepared to return them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.model.input_sets import InputSet, ordered_input_set
from qlower.model.signature import Array, Signature, TensorSpec, assign_inputs
from qlower.model.state import State, state_of
from qlower.process.float_environment import default_floats

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from qlower.codegen.program.compiled import CompiledObject
    from qlower.contracts.values import LoadContract
    from qlower.runtime.bound import BoundCall
    from qlower.runtime.executable import Executable
    from qlower.runtime.profiling import Profile

Outputs: TypeAlias = Array | Any
"""One array, or a tuple of arrays for a model with several outputs.

Which of them it is depends on the model, so only the caller knows: a type checker takes
both `run(x).argmax()` and `boxes, scores = run(x)`.
"""

Level: TypeAlias = Literal["qnn", "arith", "kernel"]

Results: TypeAlias = tuple[tuple[Array, ...], dict[str, Array]]
"""The outputs in order, and the layers' results by name."""


@dataclass(frozen=True)
class Variant:
    """The results of a prepared module: the model's outputs, then layers' results.

    `layers` maps layers to results; the first `output_count` are the outputs.
    """

    signature: Signature
    layers: Mapping[str, int]
    output_count: int

    @staticmethod
    def plain(signature: Signature) -> Variant:
        """A module that returns the outputs and no more."""
        return Variant(signature, {}, len(signature.outputs))

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The model's own outputs."""
        return self.signature.outputs[: self.output_count]

    def run(
        self,
        call: Callable[[Sequence[Array]], Sequence[Array]],
        inputs: Sequence[Array],
        state: State | None,
    ) -> Results:
        """The results of `call` for all arguments of the module; `state` takes the
        values that the call leaves. Without a state there is a new one. Its earlier
        values are among the layers."""
        states = self.signature.states
        if not states and state is None:
            return self.split(call(inputs))
        state = state_of(states, state)
        taken = state.copy()  # of which results may be parts
        results = call([*inputs, *taken.arrays])
        count = len(results) - len(states)
        left = zip(results[count:], states, strict=True)
        state.update([_as_stored(result, spec) for result, spec in left])
        outputs, layers = self.split(results[:count])
        return outputs, taken.by_name | layers if self.layers else layers

    def split(self, results: Sequence[Array]) -> Results:
        """Split results into outputs and layers; their bits are read as the tensors'
        own types."""
        arrays = tuple(
            _as_stored(result, spec)
            for result, spec in zip(results, self.signature.outputs, strict=True)
        )
        layers = {name: arrays[index] for name, index in self.layers.items()}
        return arrays[: self.output_count], layers


class Executor(ABC):
    """A model that is ready to run, for many inputs.

    `inputs` and `outputs` have the name, shape, dtype, scale and zero point of every
    tensor.
    """

    def __init__(self, variant: Variant) -> None:
        self._variant = variant

    @abstractmethod
    def _run_example(self, arrays: Sequence[Array], state: State | None) -> Results:
        """The outputs, and the layers that are kept, for one example."""

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The model's inputs, in order."""
        return self._variant.signature.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The model's outputs, in order."""
        return self._variant.outputs

    def new_state(self) -> State:
        """A new state, as it is before the first call."""
        return State(self._variant.signature.states)

    def __call__(
        self, *inputs: Array, state: State | None = None, **named_inputs: Array
    ) -> Outputs:
        """Run the model on stored values, given by position or by name.

        An input with one more leading dimension than the model's is a set, run in turn;
        where the model's leading dimension is 1, that may count the examples instead.

        A model that keeps something from one call to the next (`new_state`) takes it
        from `state`, and leaves there what the next call shall take; so does each
        example of a set. Without one, each example is a first call.

        Returns one array, or a tuple when the model has several outputs; stacked for a
        set. Raises `QlowerError` for an input of another shape or type, or the state of
        another model.
        """
        return unpack(self.run(inputs, named_inputs, state)[0])

    def run(
        self,
        inputs: Sequence[Array],
        named: Mapping[str, Array],
        state: State | None = None,
    ) -> Results:
        """The outputs, and every layer's result where the model was prepared so."""
        arrays = assign_inputs(self.inputs, inputs, named)
        for spec, array in zip(self.inputs, arrays, strict=True):
            if array.shape != spec.shape:
                examples = ordered_input_set(self.inputs, arrays)
                return self._run_set(examples, state)
            spec.check(array)
        return self._run_example(arrays, state)

    def _run_set(self, examples: InputSet, state: State | None) -> Results:
        """The results of one example after another, joined."""
        names = [spec.name for spec in self.inputs]
        results = [
            self._run_example([example[name] for name in names], state)
            for example in examples.runs
        ]
        (first_outputs, first_layers), *_ = results
        outputs = tuple(
            examples.join([found[index] for found, _ in results])
            for index in range(len(first_outputs))
        )
        layers = {
            name: examples.join([found[name] for _, found in results])
            for name in first_layers
        }
        return outputs, layers


class ModelInterpreter(Executor):
    """A model that was lowered once, to be interpreted for many inputs.

    `contract` is whose arithmetic a module at the qnn level has; None is its own.
    `load` finds contracts by name there, `load_contract` by default.
    """

    def __init__(
        self,
        module: ModuleOp,
        variant: Variant,
        at: Level,
        contract: str | None,
        load: LoadContract | None = None,
    ) -> None:
        super().__init__(variant)
        self._module = module
        self._at: Level = at
        self._contract = contract
        self._load = load

    @default_floats()
    def _run_example(self, arrays: Sequence[Array], state: State | None) -> Results:
        return self._variant.run(self._interpret, arrays, state)

    def _interpret(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        from qlower.model.entry import main_function

        name = main_function(self._module).sym_name.data
        if self._at == "qnn":
            from qlower.dialects.qnn.attributes import module_contract
            from qlower.semantics import run_qnn_function

            contract = self._contract or module_contract(self._module)
            return run_qnn_function(
                self._module, name, arrays, contract=contract, load=self._load
            )
        from qlower.interp import run_function

        return run_function(self._module, name, arrays)


class JitFunction(Executor):
    """A model as native code in this process: numpy arrays in, numpy arrays out.

    Thread-safe; several may live side by side.
    """

    def __init__(self, executable: Executable, variant: Variant) -> None:
        super().__init__(variant)
        self._executable = executable

    def __reduce__(self) -> tuple[Callable[..., JitFunction], tuple[object, ...]]:
        """Object code and signature; what loads them needs no compiler."""
        return load_function, (self._executable.compiled.without_text(), self._variant)

    def _run_example(self, arrays: Sequence[Array], state: State | None) -> Results:
        return self._variant.run(self._call, arrays, state)

    def _run_set(self, examples: InputSet, state: State | None) -> Results:
        if not examples.is_set or self._variant.signature.states:
            return super()._run_set(examples, state)
        sets = [examples.arrays(spec.name) for spec in self.inputs]
        packed = self._packed([one[0] for one in sets])
        found = self._executable.run_set(sets, packed)
        return self._variant.split([examples.joined(result) for result in found])

    def _call(self, inputs: Sequence[Array]) -> list[Array]:
        return self._executable(inputs, self._packed(inputs))

    def _packed(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Data of the code that an example's inputs decide."""
        return ()

    def bind(
        self,
        *inputs: Array,
        out: Array | Sequence[Array] | None = None,
        state: State | None = None,
        **named_inputs: Array,
    ) -> BoundCall:
        """A call on these very arrays, which neither allocates nor copies.

        Each call reads the inputs as they are then, and overwrites `out` (one array,
        or one for each output; by default new ones, to be found as `outputs` of what
        is returned), and what the model keeps in `state`, a new one by default. Raises
        `QlowerError` for an array of another shape or type, or one that isn't
        contiguous or overlaps another.
        """
        from qlower.runtime.bound import check_in_place, check_outputs

        bound = self._variant.signature.bind(inputs, named_inputs)
        for spec, array in zip(self.inputs, bound, strict=True):
            check_in_place(f"input {spec.name!r}", array)
        given: Sequence[Array] | None = None
        if out is not None:
            is_one = not isinstance(out, list | tuple)
            given = cast("Sequence[Array]", [out] if is_one else out)
        count = 0 if given is None else self._variant.output_count
        made = [
            np.empty(spec.shape, spec.numpy_dtype)
            for spec in self._variant.signature.outputs[count:]
        ]
        if given is not None:
            check_outputs(self.outputs, given, bound)
        results = [*(given or ()), *made]
        states = self._variant.signature.states
        if not states and state is None:
            return self._executable.bind(bound, results)
        state = state_of(states, state)
        left = State(states)
        call = self._executable.bind([*bound, *state.arrays], [*results, *left.arrays])
        return call.keeping(len(bound), len(results), state, left)

    def profile(
        self, *inputs: Array, calls: int = 20, **named_inputs: Array
    ) -> Profile:
        """The median time of every nest and copy over `calls` calls.

        For a function compiled with `profile=True`.
        """
        from qlower.runtime.profiling import kernel_times

        compiled = self._executable.compiled
        if not compiled.flavour.is_profiled:
            raise QlowerError(
                "this code takes no times", help="qlower.jit(profile=True)"
            )
        call = self.bind(*inputs, state=None, **named_inputs)
        return kernel_times(call, compiled.kernels, calls)

    def __repr__(self) -> str:
        lines = [f"<JitFunction for {self._executable.compiled.target.cpu}"]
        lines += [f"  input {spec}" for spec in self.inputs]
        lines += [f"  output {spec}" for spec in self.outputs]
        lines += [f"  state {spec}" for spec in self._variant.signature.states]
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        from qlower.model.tables import port_table

        title = f"function for {self._executable.compiled.target.cpu}"
        states = self._variant.signature.states
        ports = Signature(self.inputs, self.outputs, states)
        return port_table(title, ports).render("html")


def load_function(compiled: CompiledObject, variant: Variant) -> JitFunction:
    """A function of machine code, loaded into this process."""
    from qlower.runtime.executable import Executable

    return JitFunction(Executable(compiled), variant)


def _as_stored(result: Array, spec: TensorSpec) -> Array:
    """A signless result as the array of the tensor's own type: the same bits."""
    if result.dtype == spec.numpy_dtype:
        return result
    return np.ascontiguousarray(result).view(spec.numpy_dtype)


def unpack(outputs: tuple[Array, ...]) -> Outputs:
    """One array by itself, several as a tuple."""
    return outputs[0] if len(outputs) == 1 else outputs
