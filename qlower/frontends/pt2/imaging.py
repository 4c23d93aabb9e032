"""Calls on images and rows of pixels, as nodes of a graph."""

from __future__ import annotations

from collections.abc import Mapping

from ..graph.schema import AttributeValue
from .rows import convolution, each, rows
from .translating import TORCH, CallSite, Translate


def _resized(mode: str) -> Translate:
    """Sizes, or factors by which they grow."""

    def translate(site: CallSite) -> None:
        attributes: dict[str, AttributeValue] = {
            "mode": mode,
            "corners": site.integer("align_corners", 0),
        }
        if site.argument("output_size") is None:
            attributes["factors"] = site.reals("scale_factors")
        else:
            attributes["sizes"] = site.integers("output_size")
        site.add("Interpolate", [site.tensor("input")], attributes, domain=TORCH)

    return translate


def _batch_norm(site: CallSite) -> None:
    """Each channel times a factor plus an offset, which constants give."""
    site.expect("training", False)
    names = ("weight?", "bias?", "running_mean", "running_var")
    operands = site.operands(" ".join(("input", *names)))
    attributes = {"epsilon": site.real("eps", 1e-5)}
    site.add("BatchNorm", operands, attributes, domain=TORCH)


def _transposed(rank: int) -> Translate:
    more = {"output_padding": each("output_padding", rank, 0)}
    return convolution("ConvTranspose", rank, more)


IMAGES: Mapping[str, Translate] = {
    **rows("""
aten.instance_norm.default = torch.GroupNorm input weight? bias?;
    num_groups: always 0, epsilon: real eps 1e-05; expects use_input_stats True
aten.pixel_shuffle.default = DepthToSpace;
    blocksize: int upscale_factor, mode: always CRD
"""),
    **{
        f"aten.upsample_{name}.vec": _resized(mode)
        for mode, names in (
            ("nearest", ("nearest1d", "nearest2d", "nearest3d")),
            ("linear", ("linear1d", "bilinear2d")),
        )
        for name in names
    },
    **{
        f"aten.conv_transpose{rank}d.{overload}": _transposed(rank)
        for rank, overload in ((1, "default"), (2, "input"), (3, "input"))
    },
    "aten.batch_norm.default": _batch_norm,
}
"""Targets on images."""
