"""The machine that the code generator writes for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from qlower.codegen.llvm.routine import Routine, RowsRoutine
from qlower.codegen.targets.float_control import FloatControl
from qlower.codegen.targets.optimized import OPTIMIZED, SIZE, SPEED
from qlower.codegen.targets.processor import Processor
from qlower.codegen.targets.triples import is_bare_metal
from qlower.diagnostics import QlowerError


class DotKind(Enum):
    """The machine's multiplication of bytes into i32 lanes, and its operands."""

    UNSIGNED_BYTES = "u8 x s8, four products summed into each i32 lane"
    SIGNED_BYTES = "s8 x s8, four products summed into each i32 lane"
    PAIRS = "s16 x s16, two products summed into each i32 lane"
    SINGLES = "s16 x s16, one product added to each i32 lane"
    WHOLE = "s8 x s8, all products of two vectors added to one i32"


@dataclass(frozen=True)
class Dot:
    """A dot-product instruction, as LLVM's intrinsic.

    The byte kinds add to an accumulator that is its first argument; PAIRS gives the
    sums only; SINGLES has no intrinsic, LLVM finds the instruction. With
    `selects_lane` the instruction takes four bytes (or one number) of a vector for all
    lanes, so that activations are loaded 16 bytes at a time; with `takes_scalar` one
    number of a general register. Where it `loads_bytes`, bytes are widened by the load
    of a vector. Weights that
    take more than `widens_beyond` bytes as s16 are kept as bytes, which a load widens.
    `byte_pairs` sums two products of unsigned with signed bytes into each i16 lane,
    which saturates: those with 4 bits don't.
    """

    kind: DotKind
    intrinsic: str = ""
    selects_lane: bool = False
    takes_scalar: bool = False
    loads_bytes: bool = False
    widens_beyond: int | None = None
    byte_pairs: str | None = None


@dataclass(frozen=True)
class FixedPoint:
    """Vector instructions that round or saturate, as LLVM's intrinsics.

    `multiply_high`, by rounding mode: twice the product's upper half, saturated.
    `rounding_shift`: to the left, ties up; to the right by a negative amount; its
    operands are followed by `shift_flags`, i32.
    `narrow`, `narrow_unsigned`: signed numbers saturated to half of their width, if
    there is an instruction for that.
    `convert`, by rounding mode: floats to integers of their width, saturated.
    `takes_halves`: vectors may fill half of a register. `widest`: bits of a lane.
    """

    multiply_high: Mapping[str, str]
    rounding_shift: str
    narrow: str | None = None
    narrow_unsigned: str | None = None
    convert: Mapping[str, str] = field(default_factory=dict[str, str])
    shift_flags: tuple[int, ...] = ()
    takes_halves: bool = True
    widest: int = 64


@dataclass(frozen=True)
class Packs:
    """Instructions that make two vectors one, saturating signed numbers to half of
    their width, as LLVM's intrinsics.

    Each 128 bits of the result hold those of the first vector, then of the second.
    `signed` and `unsigned`: by the bits of a number of the result.
    """

    signed: Mapping[int, str]
    unsigned: Mapping[int, str]


@dataclass(frozen=True)
class ByteTables:
    """An instruction that looks up bytes in consecutive registers, as LLVM's intrinsic.

    Its arguments are the registers, and the indices in place `index_argument`. With
    `zero_beyond` it gives 0 for indices beyond them; else these are half of 256 bytes,
    and the upper bit of an index doesn't count. With `of_sixteen` the only register has
    16 bytes again and again, and an index with the upper bit set gives 0.

    A look at 256 bytes takes about `cost` instructions for as many lanes as fill a
    register with 32-bit numbers.
    """

    intrinsic: str
    registers: int
    index_argument: int
    zero_beyond: bool = False
    of_sixteen: bool = False
    cost: int = 3


@dataclass(frozen=True)
class Extremes:
    """An instruction that gives the smaller or the larger of two float32 in each of
    `lanes`, -0 below 0 and the other one beside a NaN, as LLVM's masked intrinsic.

    Its arguments are both vectors, the number of `minimum` or `maximum`, a vector that
    the mask leaves as it is, the mask, and the number of the `rounding`.
    """

    intrinsic: str
    lanes: int
    minimum: int
    maximum: int
    rounding: int


@dataclass(frozen=True)
class TileRegisters:
    """Registers of `rows` rows of `row_bytes` bytes, and LLVM's intrinsics for them.

    `configure` takes the address of `configuration(shapes)`, the rows and bytes a row
    of each register; `release` ends their use. `zero` takes a register; `load` and
    `store` a register, an address and the bytes from one row to the next.
    `signed_multiply` and `unsigned_multiply`, by the signedness of the activations: add
    to i32 sums the products of signed bytes, four bytes deep.

    The system has to permit them to a process, before they are used: `request` asks for
    this one, any number of times. `features` are what LLVM calls them.
    """

    features: frozenset[str]
    rows: int
    row_bytes: int
    configure: str
    configuration: Callable[[Mapping[int, tuple[int, int]]], bytes]
    release: str
    zero: str
    load: str
    store: str
    signed_multiply: str
    unsigned_multiply: str
    request: Callable[[], bool]

    def multiply(self, *, signed: bool) -> str:
        """The instruction that multiplies activations of that signedness."""
        return self.signed_multiply if signed else self.unsigned_multiply


@dataclass(frozen=True)
class Halves:
    """Instructions on the two 16-bit halves of a word, as LLVM's intrinsics.

    `multiply` adds both products of two words to a third; `extend_signed` and
    `extend_unsigned` make halves of a word's even bytes. `rows`, for one row and for
    two, sum products of activations that are halves already.

    `window(lines, columns, border, signed=..., line_bytes=...)` makes a routine that
    sums the products of a window for `columns` neighbouring pixels, two at least, and
    each of several channels:

        name(sums, weights, channels, address of the first line, of the second, ...)

    The sums [channel, column] are i32. The weights of a channel are the number that its
    sums start from, i32, and `line_bytes` for each line, which are whole words unless
    the machine `reads_anywhere`: then words are read where they lie, up to three bytes
    beyond the last one. Lines have up to 8 taps; `window_columns(taps)` is the greatest
    number of columns, None where windows aren't summed so. C source writes functions of
    its own for `rows` and windows.

    `small_window(line, lines, columns, border, ...)` is a smaller and slower one, of
    lines whose steps are equal and whose offsets count units:

        name(sums, weights, channels, bytes of a unit, addresses of all lines)

    Lines are summed from the last to the first, in whose order the weights are. It has
    one column less at most.
    """

    rows: tuple[RowsRoutine, RowsRoutine]
    multiply: str = ""
    extend_signed: str = ""
    extend_unsigned: str = ""
    window: Callable[..., Routine] | None = None
    window_columns: Callable[[int], int] | None = None
    small_window: Callable[..., Routine] | None = None
    reads_anywhere: bool = True


@dataclass(frozen=True)
class Dots:
    """The instructions that sum products of activations with weights."""

    signed: Dot
    """For signed activations of 8 bits."""
    unsigned: Dot
    """For unsigned activations of 8 bits."""
    words: Dot
    """For activations of 16 bits."""

    @classmethod
    def all(cls, dot: Dot) -> Dots:
        """One instruction for all activations."""
        return cls(dot, dot, dot)


@dataclass(frozen=True)
class Target:
    """A machine: its names for LLVM, and the table that the loop skeletons read.

    A machine without vectors has those of one lane, 32 bits.
    """

    triple: str
    cpu: str
    features: str
    vector_bits: int
    """With `vector_registers`, what sizes the tiles."""
    vector_registers: int
    dots: Dots
    rounds_in_hardware: bool
    """Whether floor, ceil, trunc and roundeven are instructions; here and for the next
    four, LLVM would call libm otherwise."""
    fuses: bool
    """Whether a fused multiply-add is an instruction."""
    converts_in_hardware: bool = True
    """Whether a conversion to the nearest i32 is an instruction."""
    orders_floats: bool = True
    """Whether minimum and maximum of floats are instructions."""
    extremes: Extremes | None = None
    """An instruction for both where LLVM finds none, which is right but for NaN."""
    has_roots: bool = True
    """Whether a square root is an instruction."""
    prefers_integers: bool = False
    """Whether there are no floats except in contracts that ask for them."""
    masks_lanes: bool = False
    """Whether an instruction reads or writes some lanes of a vector's memory and leaves
    the rest alone, so that vectors may have any number of lanes."""
    widens_in_memory: bool = False
    """Whether a load or store of narrow numbers takes as many lanes as a register has
    of wide ones, and extends or cuts them."""
    hides_addresses: bool = False
    """Whether a compiler of its own follows LLVM, so that code has to keep LLVM from
    computing addresses outside of loops, and from taking lanes of narrow integers
    apart."""
    adds_to_round: bool = False
    """Whether adding a large float rounds a small one to the nearest integer in fewer
    instructions than the conversion takes."""
    takes_floats_apart: bool = False
    """Whether vectors don't have IEEE's floats, so that lanes of floats are computed
    one by one."""
    hides_loads: bool = False
    """Whether LLVM has to be kept from joining a load of 64 bits with the extension of
    its lanes, which it would take through the stack."""
    pointer_bytes: int = 8
    alignment: int = 64
    """Bytes to which the arena and constants are aligned: a cache line, and the widest
    that an instruction takes."""
    relocation: str = "pic"
    """LLVM's model of addresses."""
    optimizer_level: int = 2
    """LLVM's level; at 1 instructions are combined and no more."""
    is_experimental: bool = False
    """Whether code was run under emulation only, and little."""
    fixed_point: FixedPoint | None = None
    """Rounding instructions; None where LLVM finds all that there are."""
    packs: Packs | None = None
    """Narrowing instructions; None where LLVM finds all that there are."""
    to_nearest: str | None = None
    """A conversion of one float32 to an i32, in a register for floats: ties to even,
    saturated, and 0 of NaN."""
    byte_tables: ByteTables | None = None
    """Instructions that look up many bytes."""
    signed_matrix: Dot | None = None
    """Products of two rows of signed activations with two rows of weights, eight bytes
    each."""
    unsigned_matrix: Dot | None = None
    """Products of two rows of unsigned activations with two rows of weights, eight
    bytes each."""
    whole_dot: Dot | None = None
    """Sums of the products of a whole run of activations with one channel's weights,
    128 bits of both at a time; the other dots sum those of several channels."""
    processor: Processor | None = None
    """The way in which code asks for the features that it `needs`; None where there is
    nobody to ask."""
    needs: frozenset[str] = frozenset()
    tuned_for: str = ""
    """Another CPU whose speeds LLVM assumes."""
    tuning: str = ""
    """LLVM's own switches, such as "+disable-ldp"."""
    tiles: TileRegisters | None = None
    """Registers for matrices."""
    halves: Halves | None = None
    """Two products in a general register."""
    float_control: FloatControl | None = None
    """The float environment; with None the caller must have left it as it was."""
    is_source: bool = False
    """Whether this is no machine: its code is C source."""
    optimize: str = SPEED
    """The aim of the code, one of `OPTIMIZED`."""

    @property
    def identity(self) -> str:
        """Equal for two targets exactly when the code made for them is."""
        named = f"{self.triple} {self.cpu} {self.features} {self.tuned_for}".rstrip()
        return named if self.optimize == SPEED else f"{named} for {self.optimize}"

    def optimized(self, what: str) -> Target:
        """This machine with code that is good at one of `OPTIMIZED`. Raises QlowerError
        for anything else, and where that isn't known for the machine."""
        if what not in OPTIMIZED:
            known = ", ".join(OPTIMIZED)
            raise QlowerError(f"--optimize {what!r} is not one of {known}")
        if what != SPEED and (not self.is_bare_metal or self.is_source):
            raise QlowerError(
                f"--optimize {what} is for targets without an operating system, not "
                f"for {self.triple}",
                help="--target thumbv7em-none-eabi --cpu cortex-m4, for example",
            )
        return replace(self, optimize=what)

    @property
    def function_attributes(self) -> str:
        features = ",".join(filter(None, (self.features, self.tuning)))
        attributes = (
            f'"target-cpu"="{self.cpu}" "target-features"="{features}" '
            f'"prefer-vector-width"="{self.vector_bits}"'
        )
        if self.tuned_for:
            attributes += f' "tune-cpu"="{self.tuned_for}"'
        if self.optimize == SIZE:
            attributes = f"optsize {attributes}"
        return f'{attributes} "no-builtins"' if self.is_bare_metal else attributes

    @property
    def is_bare_metal(self) -> bool:
        """Whether nothing is under the code, not even a C library."""
        return is_bare_metal(self.triple)

    @property
    def prefers_unsigned(self) -> bool | None:
        """The sign of bytes that all products take most easily; None if either is."""
        if self.dots.signed.kind is DotKind.PAIRS:
            return None if self.dots.signed.loads_bytes else True
        if self.dots.signed.kind is DotKind.UNSIGNED_BYTES:
            return True
        return False if self.dots.unsigned.kind is DotKind.SIGNED_BYTES else None

    def dot(self, scalar: str, *, signed: bool) -> Dot:
        """The instruction that multiplies activations of that signedness, i8 or i16."""
        if scalar == "i16":
            return self.dots.words
        return self.dots.signed if signed else self.dots.unsigned
