"""Meaning of the qnn level: exact sums in numpy, then the contract's rules.

Written from the ops' definitions and the contract alone: the lowering isn't used, and
is tested against this. A quantized tensor is held as its stored integers, signed or
unsigned as its type says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import Interpreter
from xdsl.traits import SymbolTable

from qlower.contracts import load_contract
from qlower.contracts.values import LoadContract
from qlower.dialects.types import shape_of
from qlower.interp import InterpretationError, make_interpreter
from qlower.interp.engine import NumpyInterpreter
from qlower.interp.values import Array

from .contraction import ContractionFunctions, Sums, sums_of
from .elementwise import ElementwiseFunctions
from .hybrid import HybridFunctions
from .movement import MovementFunctions
from .pooling import PoolingFunctions
from .real import RealFunctions
from .real_rows import RealRowFunctions
from .recurrent import RecurrentFunctions
from .rules import stored_dtype


def make_qnn_interpreter(
    module: ModuleOp,
    contract: str | None = None,
    load: LoadContract = load_contract,
    *,
    listeners: Sequence[Interpreter.Listener] = (),
    sums: Sums = sums_of,
) -> NumpyInterpreter:
    """An interpreter of the qnn level.

    `contract` holds for every op that names none itself; `load` finds contracts by
    name; `sums` computes those of contractions.
    """
    interpreter = make_interpreter(module, listeners=listeners)
    load = cache(load)
    for functions in (
        ContractionFunctions(contract, load, sums),
        RealFunctions(contract, load),
        RealRowFunctions(contract, load),
        HybridFunctions(contract, load),
        PoolingFunctions(contract, load),
        ElementwiseFunctions(contract, load),
        MovementFunctions(contract, load),
        RecurrentFunctions(contract, load),
    ):
        interpreter.register_implementations(functions)
    return interpreter


def run_qnn_function(
    module: ModuleOp,
    name: str,
    inputs: Sequence[Array],
    *,
    contract: str | None = None,
    load: LoadContract | None = None,
    listeners: Sequence[Interpreter.Listener] = (),
) -> tuple[Array, ...]:
    """The results of a function at the qnn level, in the storage types' numpy dtypes.

    `contract` holds for every op that names none itself; `load` finds contracts by
    name, `load_contract` by default. Inputs must have the arguments' shapes and storage
    types.
    """
    function = SymbolTable.lookup_symbol(module, name)
    if not isinstance(function, FuncOp):
        raise InterpretationError(f"the module has no function @{name}")
    interpreter = make_qnn_interpreter(
        module, contract, load or load_contract, listeners=listeners
    )
    arguments = function.body.block.args
    if len(inputs) != len(arguments):
        raise InterpretationError(
            f"@{name} takes {len(arguments)} inputs, got {len(inputs)}",
            function.location,
        )
    for index, (array, argument) in enumerate(zip(inputs, arguments, strict=True)):
        dtype, shape = stored_dtype(argument.type), shape_of(argument)
        if array.dtype != dtype or array.shape != shape:
            raise InterpretationError(
                f"input {index} of @{name} is {array.dtype}{list(array.shape)}, "
                f"expected {dtype}{list(shape)}",
                function.location,
            )
    results = interpreter.call_op(function, tuple(inputs))
    return tuple(np.asarray(result, order="C") for result in results)
