"""Preprocessing, from a picture or real numbers to a model's stored input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from qlower.diagnostics import QlowerError
from qlower.files.arrays import Array
from qlower.model.signature import TensorSpec, layout_hint

if TYPE_CHECKING:
    from PIL.Image import Image

Channels: TypeAlias = Literal["rgb", "bgr", "grey"]

_CONVERTED = frozenset(("L", "RGB", "P", "CMYK", "YCbCr", "1"))
"""Modes of pictures with a colour or grey of 8 bits for every pixel, and no more."""


class NotFiniteError(QlowerError):
    """An example has infinities or NaN, as float32."""


@dataclass(frozen=True)
class Preprocessing:
    """The steps applied to a picture; arrays that aren't stored values start at `mean`.

    In order: `resize` (height, width; one number is the shorter side's, the other
    follows; Pillow's bilinear filter), `crop` of the centre (height, width), the order
    of `channels`, `(pixel - mean) / deviation` in float32, one number each or one a
    channel, then the input's own quantization. With `is_stored` the pixels themselves
    are what the input stores; a signed one has 128 less.
    """

    resize: tuple[int, ...] = ()
    crop: tuple[int, ...] = ()
    channels: Channels = "rgb"
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)
    is_stored: bool = False

    def __post_init__(self) -> None:
        for name, sizes in (("resize", self.resize), ("crop", self.crop)):
            if len(sizes) > 2 or any(not 1 <= size <= 1 << 14 for size in sizes):
                raise QlowerError(f"{name} {list(sizes)}: 1 or 2 sizes in [1, 16384]")
        for name, given in (("mean", self.mean), ("deviation", self.deviation)):
            if len(given) not in (1, 3) or not np.isfinite(given).all():
                raise QlowerError(f"{name} {list(given)}: 1 or 3 finite numbers")
        if 0.0 in self.deviation:
            raise QlowerError(f"deviation {list(self.deviation)} has a 0")

    def __str__(self) -> str:
        def sizes(given: tuple[int, ...]) -> str:
            return "x".join(map(str, given))

        steps = [f"resize {sizes(self.resize)}"] if self.resize else []
        steps += [f"crop {sizes(self.crop)}"] if self.crop else []
        steps.append(self.channels)
        if self.is_stored:
            return ", ".join([*steps, "pixels as stored"])
        mean, deviation = (", ".join(f"{x:g}" for x in v) for v in self._statistics)
        return ", ".join([*steps, f"(pixel - ({mean})) / ({deviation})"])

    @property
    def _statistics(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return self.mean, self.deviation

    @property
    def is_normalising(self) -> bool:
        """Whether numbers are changed before they are quantized."""
        return self._statistics != ((0.0,), (1.0,))

    def of_picture(self, picture: Image, spec: TensorSpec) -> Array:
        """The stored input for a picture. QlowerError for one that doesn't fit."""
        if picture.mode not in _CONVERTED or "transparency" in picture.info:
            raise QlowerError(
                f"a picture of mode {picture.mode} has more than 8-bit colour, or "
                "transparency"
            )
        grey = self.channels == "grey"
        pixels = _cropped(
            _resized(picture.convert("L" if grey else "RGB"), self.resize), self.crop
        )
        shape = (pixels.height, pixels.width, 1 if grey else 3)
        if math.prod(shape) != math.prod(spec.shape):
            raise _misfit(shape, spec)  # before a large one takes memory
        array = np.asarray(pixels, np.uint8).reshape(shape)
        if self.channels == "bgr":
            array = array[..., ::-1]
        return self.of_array(array, spec, is_picture=True)

    def of_array(self, array: Array, spec: TensorSpec, *, is_picture: bool) -> Array:
        """The stored input for an array of one example: stored values as they are,
        unless they are a picture's; others normalised and quantized."""
        _check_finite(array)
        if (
            array.dtype == spec.numpy_dtype
            and not is_picture
            and not self.is_normalising
        ):
            return _shaped(array, spec)
        if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
            raise QlowerError(f"it holds {array.dtype}, not numbers of up to 64 bits")
        if self.is_stored:
            if array.dtype != np.uint8 or spec.dtype not in ("uint8", "int8"):
                raise QlowerError(
                    "pixels are stored in 8 bits, it holds "
                    f"{array.dtype} for {spec.dtype}"
                )
            shift = 128 if spec.dtype == "int8" else 0
            return _shaped((array.astype(np.int16) - shift).astype(spec.dtype), spec)
        if array.dtype.kind != "f" and not is_picture and not self.is_normalising:
            raise QlowerError(
                f"it holds {array.dtype}, the input stores {spec.dtype}",
                help="--mean and --deviation say what real numbers they stand for",
            )
        mean, deviation = (np.asarray(v, np.float32) for v in self._statistics)
        if max(mean.size, deviation.size) == 3 and array.shape[-1] != 3:
            raise QlowerError(f"it has {array.shape[-1]} channels, not 3")
        real = array.astype(np.float32)
        if self.is_normalising:
            with np.errstate(over="ignore"):  # a number out of range is clipped
                real = (real - mean) / deviation
        return _shaped(real if spec.scale is None else spec.quantize(real), spec)


def _check_finite(array: Array) -> None:
    """Raise `NotFiniteError` where float32 holds no number of an example."""
    if array.dtype.kind != "f":
        return
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(array.astype(np.float32))
    if not is_finite.all():
        number = int(np.argmin(is_finite))
        raise NotFiniteError(f"element {number} is {array.reshape(-1)[number]}")


PLAIN = Preprocessing()
"""Pictures in RGB; numbers as they are."""


def _shaped(array: Array, spec: TensorSpec) -> Array:
    """The array in the input's shape; a leading 1 may be missing, and pictures may have
    their channels first where the input has."""
    first = int(spec.shape[:1] == (1,))
    wanted = spec.shape[first:]
    given = array.shape[first:] if array.shape == spec.shape else array.shape
    if given != wanted and len(given) == 3 and (given[2], *given[:2]) == wanted:
        return np.ascontiguousarray(np.moveaxis(array, -1, 0)).reshape(spec.shape)
    if given != wanted:
        raise _misfit(array.shape, spec, given)
    array = np.ascontiguousarray(array).reshape(spec.shape)
    return array if array.dtype == spec.numpy_dtype else array.astype(spec.numpy_dtype)


def _misfit(
    shape: Sequence[int], spec: TensorSpec, given: Sequence[int] = ()
) -> QlowerError:
    return QlowerError(
        f"it has shape {list(shape)}, the model takes {list(spec.shape)}",
        help=layout_hint(tuple(given or shape), spec.shape),
    )


def _resized(picture: Image, sizes: tuple[int, ...]) -> Image:
    from PIL.Image import Resampling

    if not sizes:
        return picture
    if len(sizes) == 2:
        height, width = sizes
    else:
        (shorter,) = sizes
        scale = shorter / min(picture.size)
        width, height = (round(side * scale) for side in picture.size)
    return picture.resize((width, height), Resampling.BILINEAR)


def _cropped(picture: Image, sizes: tuple[int, ...]) -> Image:
    if not sizes:
        return picture
    height, width = sizes[0], sizes[-1]
    if height > picture.height or width > picture.width:
        raise QlowerError(
            f"{picture.width}x{picture.height} pixels are too few to crop "
            f"{width}x{height}"
        )
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))
