"""Work that a file may ask for, bounded by its size."""

from __future__ import annotations

from .site import Site

SMALLEST = 1 << 14


class Budget:
    """As much work as a file of `size` bytes may ask for: so many units, or `SMALLEST`.

    Operations take some units, each scale of an operand one. Files have more bytes for
    either, unless they use the same things again and again.
    """

    def __init__(self, size: int, site: Site) -> None:
        self.size = size
        self.site = site
        self.left = max(size, SMALLEST)

    def charge(self, work: int) -> None:
        """Take units of work; refuse the file where none are left."""
        self.left -= work
        if self.left < 0:
            raise self.site.error(
                f"more operations and scales than a file of {self.size} bytes"
                " has room for"
            )
