"""Damaged copies of files, and limits on what reading them may take."""

from __future__ import annotations

import random
import resource
import signal
import struct
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from qlower.diagnostics import QlowerError

Damage = Callable[[bytes, random.Random], bytes]
"""Makes a damaged copy of a file."""

Outcome = Callable[[bytes, random.Random], str]
"""What becomes of such a copy; anything that it chooses it draws."""

LONGEST_IMPORT = 2.0
"""Seconds of processor time; the files take a few milliseconds."""

SPARE_MEMORY = 512 << 20

SPECIAL_WORDS = (0, 1, 4, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)


def flip_bit(data: bytearray, choice: random.Random) -> None:
    data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)


def set_byte(data: bytearray, choice: random.Random) -> None:
    data[choice.randrange(len(data))] = choice.randrange(256)


def set_word(data: bytearray, choice: random.Random) -> None:
    """Offsets, lengths and most scalars are aligned words."""
    place = 4 * choice.randrange(len(data) // 4)
    data[place : place + 4] = struct.pack("<I", choice.choice(SPECIAL_WORDS))


def swap_words(data: bytearray, choice: random.Random) -> None:
    """Puts values of the right kind in the wrong places."""
    first, second = (4 * choice.randrange(len(data) // 4) for _ in range(2))
    word = data[first : first + 4]
    data[first : first + 4] = data[second : second + 4]
    data[second : second + 4] = word


def truncate(data: bytearray, choice: random.Random) -> None:
    del data[choice.randrange(len(data)) :]


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip_bit,
    set_byte,
    set_word,
    swap_words,
)


def damaged(data: bytes, choice: random.Random) -> bytes:
    """A copy of `data` with one to four changes."""
    copy = bytearray(data)
    for _ in range(choice.choice((1, 1, 1, 2, 4))):
        choice.choice(MUTATIONS)(copy, choice)
    if choice.random() < 0.05:
        truncate(copy, choice)
    return bytes(copy)


def count_outcomes(
    seed: str, data: bytes, damage: Damage, count: int, outcome: Outcome
) -> Counter[str]:
    """What becomes of so many damaged copies of a seed file.

    Every one is "imported" or "refused", in a short time.
    """
    choice = random.Random(f"{seed} {count}")
    outcomes: Counter[str] = Counter()
    for number in range(count):
        copy = damage(data, choice)
        with limited_time():
            try:
                outcomes[outcome(copy, choice)] += 1
            except Exception as error:
                error.add_note(f"file {number} of seed {seed}")
                raise
    assert set(outcomes) <= {"imported", "refused"}
    return outcomes


def check_message(error: QlowerError, file: str) -> str:
    """ "refused" if a message begins with a place in the file, else what it is."""
    place, _, message = str(error).splitlines()[0].partition(": error: ")
    name, *position = place.split(":")
    is_located = name == file and len(position) == 2
    is_told = message and message.isprintable()
    return "refused" if is_located and is_told else f"no place: {error}"


@contextmanager
def limited_memory() -> Generator[None]:
    """Within it, allocating more than `SPARE_MEMORY` is a MemoryError."""
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def limited_time() -> Generator[None]:
    """Within it, an import that hangs is interrupted."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"an import takes more than {LONGEST_IMPORT} s")

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_IMPORT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
