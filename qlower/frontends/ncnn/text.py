"""Layers of a `.param` file, which is text.

    7767517
    3 3
    Input        data  0 1 data 0=32 1=32 2=3
    Convolution  conv  1 1 data conv 0=8 1=3 5=1 6=216 8=102 9=1
    InnerProduct dense 1 1 conv dense 0=10 2=81920 8=2

A line has the type, the name, two counts, the blobs that the layer takes and gives, and
parameters by number. ncnn reads words and ignores lines; here a layer has one line, as
its tools write it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from qlower.diagnostics import QlowerError, make_file_location, printable

from ..model_files import contents

MAGIC = "7767517"
MOST_PARAMETERS = 32
FIRST_ARRAY = -23300
"""The number of an array of parameter 0 in the old form; others lie below."""

LONGEST_NUMBER = 15
"""Characters that ncnn reads of a number."""

Number = int | float
Parameter = Number | tuple[Number, ...] | str


@dataclass(frozen=True)
class Layer:
    """One line of the file, by its number, from 1."""

    line: int
    kind: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: Mapping[int, Parameter]


@dataclass(frozen=True)
class Word:
    """A word and where it is: line and column, from 1."""

    text: str
    filename: str
    line: int
    column: int

    def error(self, message: str) -> QlowerError:
        place = make_file_location(self.filename, self.line, self.column)
        return QlowerError(message, place)

    def count(self, what: str, most: int) -> int:
        """The word as an integer in [0, most]."""
        if not re.fullmatch(r"\d{1,9}", self.text) or int(self.text) > most:
            raise self.error(f"{what} {self.text!r} is out of range [0, {most}]")
        return int(self.text)


def read_layers(data: bytes, filename: str) -> list[Layer]:
    """The layers in the file's order. Raises `QlowerError` with line and column."""
    lines = list(_lines(data, filename))
    if len(lines) < 2 or len(lines[0]) != 1 or lines[0][0].text != MAGIC:
        what = contents(data)
        if what.endswith("text"):
            what = f": its first line isn't {MAGIC}"
        place = make_file_location(filename, 1, 1)
        raise QlowerError(f"not a .param file of ncnn{what}", place)
    sizes = lines[1]
    if len(sizes) != 2:
        raise sizes[0].error(
            f"{len(sizes)} words, expected the numbers of layers and blobs"
        )
    layers = [_layer(words) for words in lines[2:]]
    blobs = {name for layer in layers for name in (*layer.inputs, *layer.outputs)}
    for word, what, found in (
        (sizes[0], "layers", len(layers)),
        (sizes[1], "blobs", len(blobs)),
    ):
        if word.count(f"number of {what}", len(data)) != found:
            raise word.error(f"{word.text} {what} are announced, the file has {found}")
    return layers


def _lines(data: bytes, filename: str) -> Iterator[list[Word]]:
    """The words of each line that has some."""
    text = data.decode("utf-8", "backslashreplace")
    for number, line in enumerate(text.split("\n"), start=1):
        words = [
            Word(found.group(), filename, number, found.start() + 1)
            for found in re.finditer(r"[^ \t\r\f\v]+", line)
        ]
        if words:
            yield words


def _layer(words: list[Word]) -> Layer:
    if len(words) < 4:
        raise words[0].error(
            f"{len(words)} words, expected a layer's type, its name and two counts"
        )
    kind, name, *_ = (printable(word.text) for word in words)
    takes, gives = (
        word.count(f"number of {what}", len(words))
        for word, what in zip(words[2:4], ("inputs", "outputs"), strict=True)
    )
    blobs = [printable(word.text) for word in words[4 : 4 + takes + gives]]
    if len(blobs) < takes + gives:
        raise words[2].error(f"{len(blobs)} names of {takes + gives} blobs")
    parameters: dict[int, Parameter] = {}
    for word in words[4 + takes + gives :]:
        number, value = _parameter(word)
        if number in parameters:
            raise word.error(f"parameter {number} is given a second time")
        parameters[number] = value
    inputs, outputs = tuple(blobs[:takes]), tuple(blobs[takes:])
    return Layer(words[0].line, kind, name, inputs, outputs, parameters)


def _parameter(word: Word) -> tuple[int, Parameter]:
    """The number and the value of `5=1`, `10=0.0,6.0` or `-23310=2,0.0,6.0`."""
    match = re.fullmatch(r"(-?\d{1,6})=(.+)", word.text)
    if match is None:
        raise word.error(f"{word.text!r} is no parameter NUMBER=VALUE")
    number, (first, *others) = int(match[1]), match[2].split(",")
    is_counted = number <= FIRST_ARRAY
    if is_counted:
        number = FIRST_ARRAY - number
    if not 0 <= number < MOST_PARAMETERS:
        raise word.error(
            f"parameter {match[1]} is out of range [0, {MOST_PARAMETERS - 1}]"
        )
    if is_counted:
        if first != str(len(others)):
            raise word.error(f"{first!r} numbers are announced, {len(others)} given")
        return number, tuple(_number(word, text) for text in others)
    if others:
        return number, tuple(_number(word, text) for text in (first, *others))
    if first[0].isalpha() or first[0] == '"':
        return number, printable(first)
    return number, _number(word, first)


def _number(word: Word, text: str) -> Number:
    """An integer of 32 bits, or a number by ncnn's own steps on float64."""
    match = re.fullmatch(r"([+-]?)(\d{1,9})(?:\.(\d{0,9}))?(?:[eE]([+-]?\d\d?))?", text)
    if match is None or len(text) > LONGEST_NUMBER:
        raise word.error(
            f"{text!r} is no number of at most 9 digits and {LONGEST_NUMBER} characters"
        )
    sign, whole, fraction, exponent = match.groups()
    if fraction is None and exponent is None:
        return int(text)
    value = float(whole)
    if fraction:
        value += int(fraction) / 10.0 ** len(fraction)
    places = int(exponent or 0)
    power = math.prod([1e8] * (abs(places) // 8) + [10.0] * (abs(places) % 8))
    value = value / power if places < 0 else value * power
    return -value if sign == "-" else value
