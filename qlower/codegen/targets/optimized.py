"""The aims that code can be optimized for, and what is done for each."""

from __future__ import annotations

SPEED, RAM, SIZE = "speed", "ram", "size"

OPTIMIZED = {
    SPEED: "few instructions",
    RAM: "a small arena, in which inputs and outputs lie too and layers overwrite "
    "what they read; slower code where a faster one's memory is much of the arena, and "
    "where layers are computed in bands of rows",
    SIZE: "little flash: one function for all layers that differ in numbers only, and "
    "LLVM's choices for few bytes",
}
"""By the name that the option has."""
