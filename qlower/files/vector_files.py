"""Arrays as who builds hardware reads them: `.npy`, `$readmemh`, C."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from qlower.files.arrays import Array

C_TYPES = {
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float32": "float",
    "float64": "double",
    "bool": "uint8_t",
}

NUMBERS_A_LINE = 16


def write_array_files(
    folder: Path, arrays: Mapping[str, Array], formats: Sequence[str], prefix: str
) -> None:
    """Write every array in every format: `x.npy`, `x.hex` and, for all, `vectors.h`,
    where names begin with the prefix as C takes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        if "npy" in formats:
            np.save(folder / f"{name}.npy", array)
        if "hex" in formats:
            (folder / f"{name}.hex").write_text(readmemh(array))
    if "c" in formats:
        (folder / "vectors.h").write_text(c_arrays(arrays, prefix))


def readmemh(array: Array) -> str:
    """A word a line, in row-major order: the bits of each element, the shape above."""
    digits = 2 * array.itemsize
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{array.itemsize}")
    head = f"// {'x'.join(map(str, array.shape))} {array.dtype}\n"
    return head + "\n".join(f"{int(word):0{digits}x}" for word in bits) + "\n"


def c_arrays(arrays: Mapping[str, Array], prefix: str) -> str:
    """A header with a static array `<prefix>_<name>` for each; hexadecimal bits would
    lose the type, so floats are written with nine digits, or 17 for double precision,
    which identify them."""
    prefix = re.sub(r"[^A-Za-z0-9_]", "_", prefix)
    guard = f"{prefix.upper()}_VECTORS_H"
    lines = [f"#ifndef {guard}", f"#define {guard}", "", "#include <stdint.h>", ""]
    for name, array in arrays.items():
        flat = array.reshape(-1)
        is_float = array.dtype.kind == "f"
        form = "{:.17g}" if array.itemsize == 8 else "{:.9g}f"
        words = [form.format(x) if is_float else str(int(x)) for x in flat.tolist()]
        shape = "x".join(map(str, array.shape)) or "one"
        lines.append(f"/* {shape} */")
        kind = C_TYPES[str(array.dtype)]
        size = max(flat.size, 1)
        lines.append(f"static const {kind} {prefix}_{name}[{size}] = {{")
        lines += [
            "  " + ", ".join(words[at : at + NUMBERS_A_LINE]) + ","
            for at in range(0, len(words), NUMBERS_A_LINE)
        ]
        lines += ["};", ""]
    return "\n".join([*lines, f"#endif /* {guard} */", ""])
