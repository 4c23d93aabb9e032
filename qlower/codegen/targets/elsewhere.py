"""Processors that no code is generated for, and what runs on them all the same."""

from __future__ import annotations

import re

_C = "`--emit c --package idf` writes C source for {}"
_OWN = "{} cores have code of their own: --target {}-none-eabi"
_ARM32 = (
    "a 64-bit Cortex-A core under a 64-bit kernel runs aarch64-linux-gnu; 32-bit ones "
    "with NEON under Linux run armv7-linux-gnueabihf"
)

_SERVED = {
    r"cortex-m(33|35p)": _OWN.format("Cortex-M33 and M35P", "thumbv8m.main"),
    r"cortex-m(52|55|85)": _OWN.format("Cortex-M52, M55 and M85", "thumbv8.1m.main"),
    r"cortex-m(0|0plus|1)": _OWN.format("Cortex-M0, M0+ and M1", "thumbv6m"),
    r"cortex-m3": _OWN.format("Cortex-M3", "thumbv7m"),
    r"cortex-m23": _OWN.format("Cortex-M23", "thumbv8m.base"),
    r"arm(v[4-7]\w*|hf|eb)?|thumb(v7a?)?|cortex-a([5789]|1[257]|32)": _ARM32,
    r"xtensa\w*|esp32\w*": _C.format("the compiler of an ESP32, such as its S3"),
}
"""Names of architectures and CPUs, and what is said of them."""


def what_serves(name: str) -> tuple[str, ...]:
    """Alternatives for an architecture or CPU that is refused, as notes of the error;
    nothing for a name that isn't known at all."""
    lower = name.lower()
    return tuple(note for names, note in _SERVED.items() if re.fullmatch(names, lower))
