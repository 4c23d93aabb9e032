"""Work that a file may ask for, bounded by its size."""

from __future__ import annotations

from .site import Site

SMALLEST = 1 << 14


class Budget:
    """The amount of work that a file of `size` bytes may ask for, in units; at least
    `SMALLEST`.

    An operation takes some units, and each scale of an operand takes one. A file has
    more bytes for either, unless it uses the same parts again and again.
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
