"""What a TFLite file says, as small plain values.

These hold exactly what was read; whether a tensor or an operator makes sense is decided
where it is used (`types.py`, and the importer of each operator).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qlower.files.arrays import Array

OPTION_FIELDS: Mapping[str, tuple[str, ...]] = {
    "AddOptions": ("fused_activation_function", "pot_scale_int16"),
    "ArgMaxOptions": ("output_type",),
    "ArgMinOptions": ("output_type",),
    "BatchMatMulOptions": ("adj_x", "adj_y", "asymmetric_quantize_inputs"),
    "BucketizeOptions": ("boundaries",),
    "CallOnceOptions": ("init_subgraph_index",),
    "ConcatenationOptions": ("axis", "fused_activation_function"),
    "Conv2DOptions": (
        "padding",
        "stride_h",
        "stride_w",
        "dilation_h_factor",
        "dilation_w_factor",
        "fused_activation_function",
    ),
    "Conv3DOptions": (
        "padding",
        "stride_d",
        "stride_h",
        "stride_w",
        "dilation_d_factor",
        "dilation_h_factor",
        "dilation_w_factor",
        "fused_activation_function",
    ),
    "DepthwiseConv2DOptions": (
        "padding",
        "stride_h",
        "stride_w",
        "depth_multiplier",
        "dilation_h_factor",
        "dilation_w_factor",
        "fused_activation_function",
    ),
    "FakeQuantOptions": ("min", "max", "num_bits", "narrow_range"),
    "GeluOptions": ("approximate",),
    "GatherOptions": ("axis", "batch_dims"),
    "FullyConnectedOptions": (
        "fused_activation_function",
        "weights_format",
        "keep_num_dims",
        "asymmetric_quantize_inputs",
    ),
    "CumsumOptions": ("exclusive", "reverse"),
    "DivOptions": ("fused_activation_function",),
    "DepthToSpaceOptions": ("block_size",),
    "IfOptions": ("then_subgraph_index", "else_subgraph_index"),
    "L2NormOptions": ("fused_activation_function",),
    "LeakyReluOptions": ("alpha",),
    "LocalResponseNormalizationOptions": ("radius", "bias", "alpha", "beta"),
    "MirrorPadOptions": ("mode",),
    "MulOptions": ("fused_activation_function",),
    "OneHotOptions": ("axis",),
    "PackOptions": ("axis",),
    "Pool2DOptions": (
        "padding",
        "stride_h",
        "stride_w",
        "filter_height",
        "filter_width",
        "fused_activation_function",
    ),
    "ReducerOptions": ("keep_dims",),
    "ReverseSequenceOptions": ("seq_dim", "batch_dim"),
    "ReshapeOptions": ("new_shape",),
    "ResizeBilinearOptions": ("align_corners", "half_pixel_centers"),
    "ResizeNearestNeighborOptions": ("align_corners", "half_pixel_centers"),
    "SoftmaxOptions": ("beta",),
    "SpaceToDepthOptions": ("block_size",),
    "SqueezeOptions": ("squeeze_dims",),
    "StridedSliceOptions": (
        "begin_mask",
        "end_mask",
        "ellipsis_mask",
        "new_axis_mask",
        "shrink_axis_mask",
        "offset",
    ),
    "SVDFOptions": ("rank", "fused_activation_function"),
    "SubOptions": ("fused_activation_function", "pot_scale_int16"),
    "TransposeConvOptions": (
        "padding",
        "stride_h",
        "stride_w",
        "fused_activation_function",
    ),
    "UnidirectionalSequenceLSTMOptions": (
        "fused_activation_function",
        "cell_clip",
        "proj_clip",
        "time_major",
        "asymmetric_quantize_inputs",
        "diagonal_recurrent_tensors",
    ),
    "UnpackOptions": ("axis",),
    "VarHandleOptions": ("shared_name",),
    "WhileOptions": ("cond_subgraph_index", "body_subgraph_index"),
}
"""The fields that the importer reads of each options table, by their schema names."""

VECTOR_FIELDS = frozenset({"new_shape", "squeeze_dims"})
"""Fields of `OPTION_FIELDS` that are lists of integers."""

REAL_VECTOR_FIELDS = frozenset({"boundaries"})
"""Fields of `OPTION_FIELDS` that are lists of float32."""

TEXT_FIELDS = frozenset({"shared_name"})
"""Fields of `OPTION_FIELDS` that are names."""

INITIALLY_ONE = ("dilation", "pot_scale")
"""How the names of fields begin that are 1 where they are left out; others are 0."""

LONGEST_QUOTED_NAME = 80
"""Converters join the names of fused operations; messages quote their beginning."""

OptionValue = int | float | str | tuple[int, ...] | tuple[float, ...]


def default_options(kind: str) -> dict[str, OptionValue]:
    """The fields of an options table that a file leaves out altogether."""

    def default(name: str) -> OptionValue:
        if name in VECTOR_FIELDS | REAL_VECTOR_FIELDS:
            return ()
        return "" if name in TEXT_FIELDS else int(name.startswith(INITIALLY_ONE))

    return {name: default(name) for name in OPTION_FIELDS[kind]}


@dataclass(frozen=True, slots=True)
class Quantization:
    """Real value = scale * (stored - zero point), along `axis` if there are several."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    has_details: bool


@dataclass(frozen=True, slots=True, eq=False)
class SparseLevel:
    """One dimension of a sparse tensor: all of `size` places, or only some of them.

    Those are `indices`; `segments` says where the ones of each place of the levels
    before begin, and where the last ones end.
    """

    size: int
    segments: Array | None = None
    indices: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sparsity:
    """Which elements of a tensor its constant has: by dimensions, in the order of
    `order`. After the tensor's own come those inside of blocks; `blocks` says of
    which of the tensor's dimensions."""

    order: tuple[int, ...]
    blocks: tuple[int, ...]
    levels: tuple[SparseLevel, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """An entry of the tensor table; `type` is the schema's name, such as "INT8".

    Of an INT8 tensor that `is_narrow` the numbers have 4 bits, and lie in bytes.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    """The shape with -1 where it is open; empty where nothing is."""
    type: str
    buffer: int
    quantization: Quantization | None
    is_variable: bool
    sparsity: Sparsity | None = None
    is_narrow: bool = False

    def __str__(self) -> str:
        name = self.name
        if len(name) > LONGEST_QUOTED_NAME:
            name = f"{name[:LONGEST_QUOTED_NAME]}..."
        return f"tensor {self.index} {name!r}"


@dataclass(frozen=True, slots=True)
class Buffer:
    """The bytes of a constant; empty for tensors that are computed."""

    data: bytes
    is_external: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: its schema name ("CONV_2D"), operand tensors and options.

    An operand of -1 is an optional one that is left out. Intermediate tensors have no
    values, but may have scales.
    """

    index: int
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_kind: str | None
    options: Mapping[str, OptionValue] = field(default_factory=dict[str, OptionValue])
    subgraph: int = 0
    intermediates: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Operators, and tensors of their own; buffers are the model's."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """A subgraph by a name, and its inputs by the names that they have there."""

    name: str
    subgraph: int
    arguments: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Model(Subgraph):
    """The subgraph of a file of `size` bytes that is read, the first but where a
    signature says otherwise, and by their numbers the others that it may run."""

    filename: str
    size: int
    buffers: tuple[Buffer, ...]
    others: Mapping[int, Subgraph] = field(default_factory=dict[int, Subgraph])
    arguments: Mapping[str, int] = field(default_factory=dict[str, int])
    """Inputs by the names that signatures of the subgraph have for them."""
    signatures: tuple[Signature, ...] = ()
