"""The version of qlower: part of every object-cache key."""

__version__ = "0.2.0"
