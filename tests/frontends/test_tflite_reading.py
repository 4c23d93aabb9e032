"""What is read of a TFLite file is what LiteRT reads.

The accessors of the `tflite` package that we use, and what each gives for a field that
a file leaves out:

| accessor | left out | trap |
|---|---|---|
| `Model.GetRootAs` | raises | doesn't look at the identifier; `reader` does |
| `Model.Version` | 0 | |
| `OperatorCode.DeprecatedBuiltinCode` | 0 | one byte, signed, 127 for larger codes |
| `OperatorCode.BuiltinCode` | old field | **gives the old field below 127**: not used |
| `OperatorCode.CustomCode` | None | |
| `Operator.OpcodeIndex` | 0 | an operator without one is the first code's |
| `*AsNumpy` | 0, not an array | only called where the length isn't 0 |
| `*Length` | 0 | is not checked against the file: `reader` charges it |
| `Operators(j)`, `Tensors(j)` ... | None | |
| `Operator.BuiltinOptionsType` | 0, NONE | |
| `Operator.BuiltinOptions` | None | an untyped table: another type's would be misread |
| `Tensor.Type` | 0, FLOAT32 | |
| `Tensor.Buffer` | 0 | **the buffer without data, even if a file gives it some** |
| `Tensor.Name` | None | any bytes; shorter than it says at the end of the file |
| `Tensor.ShapeLength` | 0 | a missing shape is a scalar |
| `Tensor.Quantization`, `Sparsity` | None | |
| `Tensor.IsVariable` | False | |
| `QuantizationParameters.Scale*` | none | means not quantized, always |
| `QuantizationParameters.ZeroPoint*` | none | 64 bits, of which LiteRT keeps 32 |
| `QuantizationParameters.DetailsType` | 0 | not affine where set |
| `Buffer.Offset`, `Size` | 0 | an offset of 1 is none as well; only without data |
| options | as the schema says | 1 for dilations, not 0 |

Fields that no accessor of ours reads: `Operator.builtin_options_2`, which no operator
here has; `Tensor.shape_signature` and `has_rank`, for shapes that are not fixed;
`pot_scale_int16` and `asymmetric_quantize_inputs`, for types that are refused;
`quantized_bias_type`, which is the bias's own where LiteRT runs the model; sizes of
lists (`num_splits`, `values_count`), which the lists say.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from support import models_directory
from support.formats.tflite_builder import OPTIONS_KINDS, TFLiteBuilder
from support.formats.tflite_cases import CASES, WITHOUT_REFERENCE_KERNEL
from support.formats.tflite_models import binary, layout
from support.formats.tflite_objects import litert_schema, pack, unpack
from support.systems.litert import run_litert
from support.systems.litert_reading import litert_reading, our_reading

import qlower
from qlower.compilation.compilation import Compilation
from qlower.diagnostics import QlowerError
from qlower.frontends.tflite import import_tflite
from qlower.frontends.tflite.accessors import (
    builtin_code,
    enum_names,
    load_tflite_package,
)
from qlower.frontends.tflite.evaluation import EVALUATORS
from qlower.frontends.tflite.operators import IMPORTERS
from qlower.frontends.tflite.options import default_options, options_of
from qlower.frontends.tflite.reader import NEWER_TYPES, read_model

pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")

MODELS = models_directory()
FILES = [
    path
    for path in sorted(MODELS.glob("*/*.tflite"))
    # Which LiteRT refuses for a slip in metadata.
    if (path.parent.name, path.stem) != ("person_detect_int8", "original")
]
GOLDEN = MODELS.parent / "golden"
SAMPLES = sorted(GOLDEN.glob("tflite_*/*.tflite"))

MUL, ADD = 18, 0

KINDS = sorted(
    kind
    for kind in {*map(options_of, [*IMPORTERS, *EVALUATORS])}
    if kind is not None and default_options(kind)
)
"""The tables of options of the operators that are imported, if they have fields."""


def file_id(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", FILES + SAMPLES, ids=file_id)
def test_files_are_read_as_litert_reads_them(path: Path) -> None:
    data = path.read_bytes()
    assert our_reading(read_model(data, path.name)) == litert_reading(data)


@pytest.mark.parts(4)
@pytest.mark.parametrize("case", CASES)
def test_cases_are_read_as_litert_reads_them(case: str) -> None:
    data = CASES[case]()
    kernels = "opt" if case in WITHOUT_REFERENCE_KERNEL else "ref"
    reading = litert_reading(data, kernels=kernels)
    assert our_reading(read_model(data, "model.tflite")) == reading


def with_codes(old: int | None, new: int | None) -> bytes:
    """A file of one operator with two operands; None leaves a field out."""
    model = unpack(binary("MUL"))
    code = model.operatorCodes[0]
    code.deprecatedBuiltinCode = old or 0
    code.builtinCode = new or 0
    return pack(model)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (MUL, None, "MUL"),
        (None, MUL, "MUL"),
        (MUL, MUL, "MUL"),
        (MUL, ADD, "MUL"),
        (None, None, "ADD"),
        (41, MUL, "SUB"),
        (MUL, 41, "SUB"),
        (-1, MUL, "MUL"),
        (MUL, -5, "MUL"),
        (127, 150, "GELU"),
    ],
)
def test_an_operator_is_the_larger_of_its_two_codes(
    old: int | None, new: int | None, name: str
) -> None:
    data = with_codes(old, new)
    assert [op.name for op in read_model(data, "model.tflite").operators] == [name]
    if name != "GELU":  # which LiteRT refuses with two operands
        assert our_reading(read_model(data, "m")) == litert_reading(data)


@pytest.mark.parts(3)
def test_a_product_with_the_new_code_alone_is_a_product() -> None:
    random = np.random.default_rng(3)
    data = with_codes(None, MUL)
    inputs = [random.integers(-128, 128, (2, 3, 4), np.int8) for _ in range(2)]
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    (expected,) = run_litert(data, inputs)
    for executor in (qlower.jit(model), Compilation(model).interpreter()):
        (output,), _ = executor.run(inputs, {})
        np.testing.assert_array_equal(output, expected)


def words(field: str) -> str:
    """A field's name as accessors have it."""
    return "".join(word.capitalize() for word in field.split("_"))


def option_table(kind: str, **fields: float) -> bytes:
    """The bytes of a file whose root is one options table."""
    package = import_module("tflite")
    builder = import_module("flatbuffers").Builder(64)
    getattr(package, f"{kind}Start")(builder)
    for name, value in fields.items():
        getattr(package, f"{kind}Add{words(name)}")(builder, value)
    builder.Finish(getattr(package, f"{kind}End")(builder))
    return bytes(builder.Output())


def option(module: object, kind: str, field: str, data: bytes) -> float:
    table = getattr(module, kind).GetRootAs(data, 0)
    return cast(Callable[[], float], getattr(table, words(field)))()


@pytest.mark.parametrize("kind", KINDS)
def test_options_have_the_defaults_and_places_of_litert(kind: str) -> None:
    package, other = load_tflite_package(), litert_schema()
    for field, known in default_options(kind).items():
        if isinstance(known, str | tuple):
            continue
        left_out = option_table(kind)
        default = option(package, kind, field, left_out)
        assert default == option(other, kind, field, left_out)
        assert known == default
        given = option_table(kind, **{field: 1 - default})
        assert option(package, kind, field, given) == 1 - default
        assert option(other, kind, field, given) == 1 - default


def test_enumerations_are_those_of_litert() -> None:
    package, other = load_tflite_package(), litert_schema()
    for enum in ("TensorType", "BuiltinOperator", "BuiltinOptions"):
        ours = enum_names(getattr(package, enum))
        if enum == "TensorType":
            ours |= NEWER_TYPES
        theirs = enum_names(getattr(other, enum))
        assert ours.items() <= theirs.items()
    assert set(OPTIONS_KINDS.values()) <= {*map(options_of, [*IMPORTERS, *EVALUATORS])}


def test_builtin_code_is_needed() -> None:
    """The package's own accessor gives ADD for a MUL in the new field."""
    data = with_codes(None, MUL)
    package = import_module("tflite")
    code = package.Model.GetRootAs(data, 0).OperatorCodes(0)
    assert code.BuiltinCode() == ADD
    assert builtin_code(code) == MUL


def test_buffer_0_has_no_data() -> None:
    """LiteRT reads none from it, so that the tensor has to be computed."""
    model = unpack(binary("ADD", is_constant=True))
    (graph,) = model.subgraphs
    graph.tensors[1].buffer = 0
    model.buffers[0].data = model.buffers[1].data
    data = pack(model)
    with pytest.raises(RuntimeError, match="Input tensor 1 lacks data"):
        run_litert(data, [np.zeros((2, 3, 4), np.int8)])
    with pytest.raises(QlowerError, match="tensor 1 'w': used before it is computed"):
        import_tflite(data, name="model.tflite")


def test_arg_max_gives_what_its_option_says() -> None:
    """The kernel takes the result's type from the option, not from the tensor."""
    builder = TFLiteBuilder()
    x = builder.tensor("x", (2, 5, 6), scale=0.1)
    axis = builder.tensor("axis", (), "int32", data=[2])
    y = builder.tensor("y", (2, 5), "int32")
    builder.operator("ARG_MAX", [x, axis], [y], {"output_type": 4})
    data = builder.build([x], [y])
    assert run_litert(data, [np.zeros((2, 5, 6), np.int8)])[0].dtype == np.int64
    with pytest.raises(QlowerError, match=r"output_type 4 is out of range \[2, 2\]"):
        import_tflite(data, name="model.tflite")


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_matrix_of_several_scales(
    dtype: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its products have the scale 0 in LiteRT."""
    builder = TFLiteBuilder()
    random = np.random.default_rng(0)
    x = builder.tensor("x", (3, 4), dtype, scale=0.1)
    codes = random.integers(-128, 128, (4, 5))
    w = builder.tensor("w", (4, 5), scale=[0.1] * 5, axis=1, data=codes)
    point = 7 if dtype == "int8" else 0
    y = builder.tensor("y", (3, 5), dtype, scale=0.1, zero_point=point)
    builder.operator("BATCH_MATMUL", [x, w], [y], {})
    data = builder.build([x], [y])
    given = random.integers(-128, 128, (3, 4)).astype(dtype)
    found = qlower.interpret(qlower.Model(import_tflite(data, name="m.tflite")), given)
    np.testing.assert_array_equal(found, run_litert(data, [given])[0])
    assert (found == point).all()
    assert "LiteRT takes 0 for the scale of products by tensor 1 'w'" in caplog.text


@pytest.mark.parametrize(
    ("dims", "shape"), [((0,), (3, 1)), ((-1,), (1, 3)), ((), (3,)), ((0, -1), (3,))]
)
def test_squeeze_drops_what_its_option_says(
    dims: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    data = layout(
        "SQUEEZE", input_shape=(1, 3, 1), output_shape=shape, squeeze_dims=dims
    )
    assert run_litert(data, [np.zeros((1, 3, 1), np.int8)])[0].shape == shape
    model = qlower.Model(import_tflite(data, name="model.tflite"))
    assert model.outputs[0].shape == shape
    wrong = layout(
        "SQUEEZE", input_shape=(1, 3, 1), output_shape=(1, 3, 1), squeeze_dims=dims
    )
    with pytest.raises(QlowerError, match=r"shape \[1, 3, 1\], expected"):
        import_tflite(wrong, name="model.tflite")
