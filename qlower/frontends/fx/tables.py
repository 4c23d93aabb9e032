"""The operators that modules and functions of PyTorch stand for."""

from __future__ import annotations

from collections.abc import Mapping

WEIGHTED = {
    "Conv1d": ("conv1d", False),
    "Conv2d": ("conv2d", False),
    "ConvReLU1d": ("conv1d", True),
    "ConvReLU2d": ("conv2d", True),
    "ConvTranspose1d": ("conv_transpose1d", False),
    "ConvTranspose2d": ("conv_transpose2d", False),
    "Linear": ("linear", False),
    "LinearReLU": ("linear", True),
}
"""Quantized modules with weights: the operator, and whether a RELU follows."""

RANGED_LINEAR = "fx.ranged_linear"
"""A call of a linear layer that quantizes its whole input by its range."""

AFFINE = ("weight", "bias", "eps")

MODULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "AdaptiveAvgPool2d": ("adaptive_avg_pool2d", ("output_size",)),
    "AvgPool2d": (
        "avg_pool2d",
        (
            *("kernel_size", "stride", "padding", "ceil_mode"),
            *("count_include_pad", "divisor_override"),
        ),
    ),
    "DeQuantize": ("dequantize", ()),
    "Dropout": ("alias", ()),
    "ELU": ("elu", ("alpha",)),
    "Flatten": ("flatten", ("start_dim", "end_dim")),
    "AdaptiveMaxPool2d": ("adaptive_max_pool2d", ()),
    **{
        f"{kind}{rank}d": (
            f"batch_norm{rank}d{suffix}",
            ("weight", "bias", "running_mean", "running_var", "eps"),
        )
        for rank in (2, 3)
        for kind, suffix in (("BatchNorm", ""), ("BNReLU", "_relu"))
    },
    "GroupNorm": ("group_norm", ("num_groups", *AFFINE)),
    "Hardsigmoid": ("hardsigmoid", ()),
    "Hardswish": ("hardswish", ()),
    "Hardtanh": ("hardtanh", ("min_val", "max_val")),
    "Identity": ("alias", ()),
    **{f"InstanceNorm{rank}d": ("instance_norm", AFFINE) for rank in (1, 2, 3)},
    "LayerNorm": ("layer_norm", ("normalized_shape", *AFFINE)),
    "LeakyReLU": ("leaky_relu", ("negative_slope",)),
    "MaxPool2d": (
        "max_pool2d",
        ("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    ),
    "PReLU": ("prelu", ("weight",)),
    "PixelShuffle": ("pixel_shuffle", ("upscale_factor",)),
    "Quantize": ("quantize_per_tensor", ()),
    "ReLU": ("relu", ()),
    "ZeroPad2d": ("pad", ("padding",)),
    "ReLU6": ("relu6", ()),
    "Sigmoid": ("sigmoid", ()),
    "Softmax": ("softmax", ("dim",)),
    "Tanh": ("tanh", ()),
    "Upsample": ("interpolate", ("mode",)),
}
"""Modules without weights: the operator, and its arguments among their attributes."""

FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "adaptive_avg_pool2d": ("self", "output_size"),
    "add": ("self", "other"),
    "add_relu": ("self", "other"),
    "add_scalar": ("self", "other"),
    "avg_pool2d": ("self", *MODULES["AvgPool2d"][1]),
    "cat": ("tensors", "dim"),
    "chunk": ("self", "chunks", "dim"),
    "clamp": ("self", "min", "max"),
    "contiguous": ("self",),
    "dequantize": ("self",),
    "dropout": ("self",),
    "elu": ("self", "scale", "zero_point", "alpha"),
    "flatten": ("self", "start_dim", "end_dim"),
    "hardsigmoid": ("self",),
    "hardswish": ("self",),
    "hardtanh": ("self", "min_val", "max_val"),
    "interpolate": ("self", "size", "scale_factor", "mode"),
    "leaky_relu": ("self", "negative_slope"),
    "max_pool2d": ("self", *MODULES["MaxPool2d"][1]),
    "mean": ("self", "dim", "keepdim"),
    "mul": ("self", "other"),
    "mul_relu": ("self", "other"),
    "mul_scalar": ("self", "other"),
    "pad": ("self", "pad", "mode", "value"),
    "permute": ("self", "dims"),
    "pixel_shuffle": ("self", "upscale_factor"),
    "quantize_per_tensor": ("self",),
    "relu": ("self",),
    "relu6": ("self",),
    "reshape": ("self", "shape"),
    "sigmoid": ("self",),
    "softmax": ("self", "dim"),
    "squeeze": ("self", "dim"),
    "tanh": ("self",),
    "transpose": ("self", "dim0", "dim1"),
    "unsqueeze": ("self", "dim"),
    "view": ("self", "size"),
}
"""Functions and methods, and the names of their arguments by place."""

RENAMED = {"negative_slope": "alpha", "output_scale": "scale"}
LISTED = ("dims", "shape", "size")
"""Arguments that take all that is left when given one by one."""

TARGETS = {
    "alias": "aten.alias.default",
    "cat": "aten.cat.default",
    "dropout": "aten.alias.default",
    "flatten": "aten.flatten.using_ints",
    "interpolate": "fx.interpolate",
    "mean": "aten.mean.dim",
    "pixel_shuffle": "fx.pixel_shuffle",
    "softmax": "aten.softmax.int",
    "squeeze": "aten.squeeze.dim",
    "transpose": "aten.transpose.int",
    **{name: f"aten.{name}.Tensor" for name in ("add", "mul")},
}
"""ATen's operators whose overload isn't called "default"."""

RESCALING = ("add_scalar", "mul_scalar")
"""Sums and products with a number, which give a tensor another scale or zero point."""

SHAPED = ("adaptive_max_pool2d", "interpolate", "pixel_shuffle")
"""Operators whose importers are given the shapes of operand and result."""

STORED = frozenset(
    (
        *("adaptive_avg_pool2d", "add", "add_relu", "avg_pool2d", "cat", "dequantize"),
        *(
            "batch_norm2d",
            "batch_norm2d_relu",
            "batch_norm3d",
            "batch_norm3d_relu",
            "clamp",
            "group_norm",
            "instance_norm",
            "layer_norm",
            "prelu",
        ),
        *("elu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "mean", "mul"),
        *("mul_relu", "quantize_per_tensor", "relu", "relu6", "sigmoid", "softmax"),
        *("tanh",),
    )
)
"""Operators whose arithmetic on quantized tensors is the engine's."""
