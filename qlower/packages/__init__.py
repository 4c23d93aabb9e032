"""Compiled models as C code sees them: object, header, shared library, example."""
