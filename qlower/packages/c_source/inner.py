"""The innermost loops of sums of products: plain C, and intrinsics where asked for.

A file that is compiled with `QLOWER_ACLE` (Arm's, with the DSP extension) takes those
of its processor; the sums are the same, modulo 2^32.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from .helpers import Helpers


def dot(helpers: Helpers, type: str, rows: int) -> str:
    """Four sums over runs: of two rows of activations and two of weights, or of one and
    four. A row is `x_row` or `w_row` bytes after the last, a run `x_tap` or `w_tap`."""
    columns = 4 // rows
    name = f"dot_{rows}x{columns}_{'s8' if type == 'int8_t' else 'u8'}"
    x, w = [f"x{r}" for r in range(rows)], [f"w{c}" for c in range(columns)]
    pairs = [(a, b) for a in x for b in w]
    widen = "widen_s8" if type == "int8_t" else "widen_u8"
    helpers.add_intrinsics()
    lines = [
        f"/* Adds the products of {rows} rows of x and {columns} of w over `taps` runs",
        " * of `n` bytes each. */",
        f"QLOWER_FUNCTION void {name}(",
        f"    const {type} *x, int32_t x_row, const int8_t *w, int32_t w_row,",
        "    int32_t taps, int32_t x_tap, int32_t w_tap, int32_t n, int32_t sums[4]) {",
        *(f"  uint32_t s{i} = (uint32_t)sums[{i}];" for i in range(4)),
        "  for (int32_t tap = 0; tap < taps; tap++) {",
        *(
            f"    const {type} *{v} = &x[(tap * x_tap) + ({r} * x_row)];"
            for r, v in enumerate(x)
        ),
        *(
            f"    const int8_t *{v} = &w[(tap * w_tap) + ({c} * w_row)];"
            for c, v in enumerate(w)
        ),
        "    int32_t k = 0;",
        "#if defined(QLOWER_ACLE)",
        f"    const {type} *const end = &x0[n & ~3];",
        "    while (x0 != end) {",
    ]
    for v in x:
        lines += [
            f"      const uint32_t {v}_word = load_word({v});",
            f"      const int16x2_t {v}_even = {widen}({v}_word);",
            f"      const int16x2_t {v}_odd = {widen}_odd({v}_word);",
        ]
    for v in w:
        lines += [
            f"      const uint32_t {v}_word = load_word({v});",
            f"      const int16x2_t {v}_even = widen_s8({v}_word);",
            f"      const int16x2_t {v}_odd = widen_s8_odd({v}_word);",
            *(
                f"      s{i} = (uint32_t)__smlad({a}_{half}, {b}_{half},"
                f" (int32_t)s{i});"
                for half in ("even", "odd")
                for i, (a, b) in enumerate(pairs)
                if b == v
            ),
        ]
    lines += [
        *(f"      {v} += 4;" for v in (*x, *w)),
        "    }",
        "    k = n & ~3;",
        "#endif",
        "    for (; k < n; k++) {",
        *(f"      const int32_t {v}_k = *{v};" for v in (*x, *w)),
        *(
            f"      s{i} += (uint32_t)({a}_k * {b}_k);"
            for i, (a, b) in enumerate(pairs)
        ),
        *(f"      {v}++;" for v in (*x, *w)),
        "    }",
        "  }",
        *(f"  sums[{i}] = (int32_t)s{i};" for i in range(4)),
        "}",
    ]
    return helpers.use(name, lines)


def windows(
    helpers: Helpers,
    type: str,
    sizes: tuple[int, int, int],
    steps: Sequence[tuple[int | None, Sequence[tuple[int, int]]]],
    border: int,
) -> str:
    """Sums of windows of `sizes` (lines, taps of a line, columns), for each of several
    channels. A step is an activation of a line, by its offset from the line's first one
    or None for `border`, with the columns that it is added to and the tap of each."""
    lines, taps, columns = sizes
    body: list[str] = []
    loaded: set[int] = set()
    for offset, uses in steps:
        for _, tap in uses:
            if tap not in loaded:
                loaded.add(tap)
                body.append(f"      const int32_t w{tap} = b[{tap}];")
        name, text = (
            ("border", "") if offset is None else (f"x{offset}", f"x[{offset}]")
        )
        body += [f"      const int32_t {name} = {text or border};"]
        body += [
            f"      s{column} += (uint32_t)({name} * w{tap});" for column, tap in uses
        ]
    text = "\n".join(body)
    digest = sha256(f"{type} {sizes} {text}".encode()).hexdigest()[:8]
    name = f"windows_{digest}"
    helpers.add_intrinsics()
    totals = range(columns)
    return helpers.use(
        name,
        [
            f"/* Sums of {lines} by {taps} taps for {columns} neighbouring pixels and"
            " each of several channels. */",
            f"QLOWER_FUNCTION void {name}(",
            f"    const {type} *const *lines, const int8_t *w, const int32_t *start,",
            "    int32_t channels, int32_t *sums) {",
            "  const int8_t *b = w;",
            "  int32_t *to = sums;",
            "  for (int32_t c = 0; c < channels; c++) {",
            *(f"    uint32_t s{i} = (uint32_t)start[c];" for i in totals),
            f"    for (int32_t line = 0; line < {lines}; line++) {{",
            f"      const {type} *const x = &lines[line][c];",
            *body,
            f"      b += {taps};",
            "    }",
            *(f"    to[{i}] = (int32_t)s{i};" for i in totals),
            f"    to += {columns};",
            "  }",
            "}",
        ],
    )


def widen(helpers: Helpers, *, signed: bool, rows: int) -> str:
    """`n` bytes of each row of x as halves: of four the first and the third, then the
    second and the fourth, row after row; zeros where less than four are left."""
    kind = "s8" if signed else "u8"
    type = "int8_t" if signed else "uint8_t"
    name = f"widen_{rows}_{kind}"
    helpers.add_intrinsics()
    row = "int32_t row, " if rows == 2 else ""
    at = ["from[k]", "from[row + k]"][:rows]
    words = ["from", "&from[row]"][:rows]
    lines = [
        f"/* Widens n bytes of {rows} row{'s' * (rows > 1)} of x: of four the first and"
        " the third,",
        " * then the second and the fourth. */",
        f"QLOWER_FUNCTION void {name}(",
        f"    const {type} *x, {row}int32_t n, int16_t *y) {{",
        f"  const {type} *from = x;",
        "  int16_t *to = y;",
        "  int32_t left = n;",
        "#if defined(QLOWER_ACLE)",
        "  for (; left >= 4; left -= 4) {",
        "    qlower_halves *const halves = (qlower_halves *)(void *)to;",
        *(
            f"    const uint32_t word_{number} = load_word({word});"
            for number, word in enumerate(words)
        ),
        *(
            f"    halves[{half * rows + number}] ="
            f" (uint32_t)widen_{kind}{'_odd' * half}(word_{number});"
            for half in range(2)
            for number in range(rows)
        ),
        "    from += 4;",
        f"    to += {4 * rows};",
        "  }",
        "#endif",
        "  while (left > 0) {",
        "    for (int32_t k = 0; k < 4; k++) {",
        f"      const int32_t place = ((k % 2) * {2 * rows}) + (k / 2);",
        *(
            f"      to[place + {2 * number}] = (k < left) ? {element} : 0;"
            for number, element in enumerate(at)
        ),
        "    }",
        "    from += 4;",
        f"    to += {4 * rows};",
        "    left -= 4;",
        "  }",
        "}",
    ]
    return helpers.use(name, lines)


def sums_of_rows(helpers: Helpers, rows: int) -> str:
    """Sums over `words` of four widened activations of each row, by packed weights of
    `groups` of four sums, from `start` on. Those of a second row are `distance` behind.
    """
    columns = 4 // rows
    name = f"sums_{rows}x{columns}"
    helpers.add_intrinsics()
    sums = [(row, column) for row in range(rows) for column in range(columns)]
    lines = [
        f"/* Adds the products of {rows} row{'s' * (rows > 1)} of widened x, `words` of"
        f" four, and {columns} channels",
        " * for each group of channels. */",
        f"QLOWER_FUNCTION void {name}(",
        "    const int16_t *x, const int8_t *w, const int32_t *start, int32_t words,",
        f"    int32_t groups, {'int32_t distance, ' * (rows > 1)}int32_t *sums) {{",
        "  const int8_t *b = w;",
        "  const int32_t *first = start;",
        "  int32_t *to = sums;",
        "  for (int32_t group = 0; group < groups; group++) {",
        *(
            f"    uint32_t s{number} = (uint32_t)first[{column}];"
            for number, (_, column) in enumerate(sums)
        ),
        "#if defined(QLOWER_ACLE)",
        "    const qlower_halves *a = (const qlower_halves *)(const void *)x;",
        f"    const qlower_halves *const end = &a[words * {2 * rows}];",
        "    if ((words % 2) != 0) {",
        *_word_of_products(rows),
        "    }",
        "    while (a != end) {",
        *_word_of_products(rows),
        *_word_of_products(rows),
        "    }",
        "#else",
        "    const int16_t *a = x;",
        "    for (int32_t half = 0; half < (2 * words); half++) {",
        *(
            f"      s{number} += (uint32_t)(a[{2 * row + tap}]"
            f" * b[{_byte(column) + 2 * tap}]);"
            for tap in range(2)
            for number, (row, column) in enumerate(sums)
        ),
        f"      a += {2 * rows};",
        f"      b += {2 * columns};",
        "    }",
        "#endif",
        *(
            f"    to[{'distance + ' * row}{column}] = (int32_t)s{number};"
            for number, (row, column) in enumerate(sums)
        ),
        f"    first += {columns};",
        f"    to += {columns};",
        "  }",
        "}",
    ]
    return helpers.use(name, lines)


def _byte(column: int) -> int:
    """The place of the first of a channel's two weights."""
    return column // 2 * 4 + column % 2


def _word_of_products(rows: int) -> list[str]:
    """Intrinsics for four activations of each row."""
    columns = 4 // rows
    lines = ["      {"]
    for half in range(2):
        lines += [
            f"        const int16x2_t x{half}{row} = (int16x2_t)a[{half * rows + row}];"
            for row in range(rows)
        ]
        for pair in range(columns // 2):
            word = f"w{half}{pair}"
            at = 4 * (half * (columns // 2) + pair)
            lines += [
                f"        const uint32_t {word} = load_word(&b[{at}]);",
                f"        const int16x2_t {word}_even = widen_s8({word});",
                f"        const int16x2_t {word}_odd = widen_s8_odd({word});",
            ]
            for lane, part in enumerate(("even", "odd")):
                for row in range(rows):
                    number = row * columns + 2 * pair + lane
                    lines.append(
                        f"        s{number} = (uint32_t)__smlad(x{half}{row},"
                        f" {word}_{part}, (int32_t)s{number});"
                    )
    return [
        *lines,
        f"        a += {2 * rows};",
        f"        b += {4 * columns};",
        "      }",
    ]
