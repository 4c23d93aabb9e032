"""The version of qlower: part of every object-cache key."""

__version__ = "0.1.0"
