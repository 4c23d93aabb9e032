"""The kernel level as C99 source: freestanding, for compilers of any processor."""
