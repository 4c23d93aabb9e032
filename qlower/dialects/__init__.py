"""The dialects of qlower: `quant`, `qnn`, `fixed` and `kernel`.

The package is `qlower.dialects`. A link in the repository shows the folder at its top,
too; imported from there, it would define every class a second time.
"""

if __name__ != "qlower.dialects":
    raise ImportError(f"import qlower.dialects, which is this package, not {__name__}")
