"""Convolutions of random shapes at the kernel level, with the answers of numpy."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike

from qlower.codegen.nests.nest import LoopNest, analyse
from qlower.dialects.kernel import NestOp
from qlower.model.signature import Array
from qlower.text.parsing import parse_module
from support.machines.native import dense


@dataclass(frozen=True)
class Window:
    """A convolution of an image whose size includes its padding."""

    height: int
    width: int
    channels: int
    outputs: int
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    depthwise: bool = False
    unsigned_x: bool = False
    unsigned_w: bool = False
    zero_x: int = 0
    zero_w: int | None = 0
    """None: one zero point a channel."""
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Rows above and below, columns before and after: no memory has them."""
    border: int = 0
    """The byte that they consist of, signed."""
    words: bool = False
    """Activations are i16, summed in i64, which are the result. Odd seeds multiply in
    i64, even ones in i32."""
    every_x: int | None = None
    every_w: int | None = None
    """What all activations and weights are; None: they are drawn."""
    nibbles: bool = False
    """Weights have 4 bits."""
    narrow: bool = False
    """Their type says so."""

    @property
    def spatial(self) -> tuple[int, int]:
        sizes = zip(
            (self.height, self.width),
            self.kernel,
            self.stride,
            self.dilation,
            strict=True,
        )
        height, width = ((n - (k - 1) * d - 1) // s + 1 for n, k, s, d in sizes)
        return height, width


def numbers(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: DTypeLike = np.int8
) -> Array:
    """Random signed numbers; some of the extremes."""
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max + 1, shape)
    extremes = rng.random(shape) < 0.1
    ends = np.where(values < 0, limits.min, limits.max)
    return np.where(extremes, ends, values).astype(dtype)


def build(case: Window, seed: int) -> tuple[str, Array, Array]:
    """Text, input and expected output of a case."""
    rng = np.random.default_rng(seed)
    dtype = np.int16 if case.words else np.int8
    wide = np.int64 if case.words else np.int32
    (kh, kw), (sh, sw), (dh, dw) = case.kernel, case.stride, case.dilation
    oh, ow = case.spatial
    per_group = case.outputs // case.groups
    depth = 1 if case.depthwise else case.channels // case.groups
    above, below, before, after = case.padding
    rows, columns = case.height - above - below, case.width - before - after
    image = numbers(rng, (rows, columns, case.channels), dtype)
    if case.every_x is not None:
        image[:] = case.every_x
    x = np.full((case.height, case.width, case.channels), case.border, dtype)
    x[above : above + rows, before : before + columns] = image
    bias = rng.integers(-(1 << 31), 1 << 31, case.outputs).astype(wide)
    if case.words:
        bias <<= 20 * (seed % 2)
    zero_w = (
        rng.integers(-128, 128, case.outputs)
        if case.zero_w is None
        else np.full(case.outputs, case.zero_w)
    )

    # the definition: loops (y, x, group, o | kh, kw, c)
    weight = numbers(rng, (case.groups, per_group, kh, kw, depth))
    if case.nibbles:
        weight = weight >> 4 if not case.unsigned_w else weight & 15
    if case.every_w is not None:
        weight[:] = case.every_w
    wide_x = (x.view(f"u{x.itemsize}") if case.unsigned_x else x).astype(np.int64)
    wide_w = (weight.view(np.uint8) if case.unsigned_w else weight).astype(np.int64)
    wide_x = wide_x - case.zero_x
    wide_w = wide_w - zero_w.reshape(case.groups, per_group, 1, 1, 1)
    total = np.zeros((oh, ow, case.groups, per_group), np.int64)
    for i, j in itertools.product(range(kh), range(kw)):
        taps = wide_x[i * dh :, j * dw :][: (oh - 1) * sh + 1 : sh]
        taps = taps[:, : (ow - 1) * sw + 1 : sw].reshape(oh, ow, case.groups, depth)
        total += (taps[..., None, :] * wide_w[:, :, i, j]).sum(axis=-1)
    total = total.reshape(oh, ow, case.outputs) + bias
    want = total
    if not case.words:
        total = ((total + (1 << 31)) % (1 << 32)) - (1 << 31)
        want = np.clip(total >> 9, -128, 127).astype(np.int8)

    if case.depthwise:
        stored = np.ascontiguousarray(weight[:, 0, :, :, 0].transpose(1, 2, 0))
        loops, reduction = [oh, ow, case.channels], [kh, kw]
        place = f"d0 * {sh} + d3 * {dh}, d1 * {sw} + d4 * {dw}, d2"
        maps = [place, "d3, d4, d2", "d2", "d2", "d0, d1, d2"]
        shape, channel_shape = stored.shape, (case.outputs,)
        result = f"{oh}x{ow}x{case.outputs}"
    else:
        stored = weight
        loops, reduction = [oh, ow, case.groups, per_group], [kh, kw, depth]
        place = f"d0 * {sh} + d4 * {dh}, d1 * {sw} + d5 * {dw}, d2 * {depth} + d6"
        maps = [place, "d2, d3, d4, d5, d6", "d2, d3", "d2, d3", "d0, d1, d2, d3"]
        shape, channel_shape = stored.shape, (case.groups, per_group)
        result = f"{oh}x{ow}x{case.groups}x{per_group}"
    dims = ", ".join(f"d{i}" for i in range(len(loops) + len(reduction)))
    maps_text = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)
    ws = "i4" if case.narrow else "i8"
    w_type = f"tensor<{'x'.join(map(str, shape))}x{ws}>"
    w_values = dense(stored).replace("xi8>", f"x{ws}>")
    element, sums, y = ("i16", "i64", "i64") if case.words else ("i8", "i32", "i8")
    c_type = f"tensor<{'x'.join(map(str, channel_shape))}x{sums}>"
    z_type = f"tensor<{'x'.join(map(str, channel_shape))}xi32>"
    x_type = f"tensor<{case.height}x{case.width}x{case.channels}x{element}>"
    image_type = f"tensor<{rows}x{columns}x{case.channels}x{element}>"
    y_type = f"tensor<{result}x{y}>"
    argument, padding = "%x", ""
    if any(case.padding):
        argument = "%image"
        padding = f"""
      %x = kernel.copy %image[0, 0, 0] [{rows}, {columns}, {case.channels}] [1, 1, 1]
          into fill({case.border} : {element})[{above}, {before}, 0] [1, 1, 1]
          : {image_type} into {x_type} in [#kernel.unstored]"""
    per_channel = case.zero_w is None
    subtrahend = "%zc" if per_channel else "%zw"
    product, finished = (
        "%p",
        """
            %n = arith.constant 9 : i32
            %r = arith.shrsi %acc, %n : i32
            %q = fixed.saturate %r : i32 to i8
            kernel.yield %q : i8""",
    )
    extend_x = "extui" if case.unsigned_x else "extsi"
    factor, widened = "i32", ""
    if case.words:
        finished = "kernel.yield %acc : i64"
        if seed % 2:
            factor = "i64"
        else:
            product, widened = "%e", "%e = arith.extsi %p : i32 to i64"
    text = f"""
    func.func @main({argument}: {image_type}) -> {y_type} {{{padding}
      %w = arith.constant {w_values}
      %b = arith.constant {dense(bias.reshape(channel_shape))}
      %z = arith.constant {dense(zero_w.astype(np.int32).reshape(channel_shape))}
      %y = kernel.nest loop parallel {loops} reduction {reduction} maps [{maps_text}]
          ins(%x, %w, %b, %z : {x_type}, {w_type}, {c_type}, {z_type})
          init {{
          ^bb0(%xs: {element}, %ws: {ws}, %bs: {sums}, %zc: i32):
            kernel.yield %bs : {sums}
          }} body {{
          ^bb0(%xs: {element}, %ws: {ws}, %bs: {sums}, %zc: i32, %acc: {sums}):
            %x1 = arith.{extend_x} %xs : {element} to {factor}
            %zx = arith.constant {case.zero_x} : {factor}
            %x2 = arith.subi %x1, %zx : {factor}
            %w1 = arith.{"extui" if case.unsigned_w else "extsi"} %ws : {ws} to {factor}
            %zw = arith.constant {case.zero_w or 0} : {factor}
            %w2 = arith.subi %w1, {subtrahend} : {factor}
            %p = arith.muli %x2, %w2 : {factor}
            {widened}
            %s = arith.addi %acc, {product} : {sums}
            kernel.yield %s : {sums}
          }} epilogue {{
          ^bb0(%xs: {element}, %ws: {ws}, %bs: {sums}, %zc: i32, %acc: {sums}):
            {finished}
          }} -> {y_type} in [#kernel.output<0>]
      return %y : {y_type}
    }}"""
    return text, image, want


def analysed(case: Window) -> LoopNest:
    """The loops of a convolution."""
    text, _, _ = build(case, 0)
    (op,) = (op for op in parse_module(text).walk() if isinstance(op, NestOp))
    return analyse(op)


def sampled(seed: int, *, depthwise: bool, words: bool = False) -> Window:
    """One of many, always the same for a seed."""
    rng = np.random.default_rng(seed)

    def pick(*choices: int) -> int:
        return int(rng.choice(choices))

    groups = 1 if depthwise or rng.random() < 0.7 else pick(2, 3)
    channels = int(rng.integers(1, 71)) if groups == 1 else groups * pick(1, 4, 5, 16)
    outputs = int(rng.integers(1, 71)) if groups == 1 else groups * pick(1, 7, 17)
    kernel = pick(1, 2, 3), pick(1, 1, 2, 3)
    dilation = pick(1, 1, 2), pick(1, 1, 2)
    least = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    height, width = (n + int(rng.integers(0, 9)) for n in least)
    if depthwise:
        groups = outputs = channels
    unsigned_x, unsigned_w = (bool(rng.random() < 0.5) for _ in range(2))
    drawn = Window(
        height,
        width,
        channels,
        outputs,
        kernel,
        (pick(1, 1, 2, 3), pick(1, 1, 2)),
        dilation,
        groups,
        depthwise,
        unsigned_x,
        unsigned_w,
        zero_x=int(rng.integers(0, 256)) - (0 if unsigned_x else 128),
        zero_w=None if rng.random() < 0.2 else pick(0, 0, 3, 128, -128),
    )
    if not words:
        return drawn
    plain = replace(drawn, unsigned_x=False, unsigned_w=False, zero_x=0, zero_w=0)
    return replace(plain, words=True)
