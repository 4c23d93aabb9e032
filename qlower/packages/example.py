"""A small C program that runs a compiled model on files."""

from __future__ import annotations

from qlower.codegen.program.interface import Interface
from qlower.packages.header import C_TYPES


def example_text(interface: Interface) -> str:
    """`main.c`: raw inputs from files (zeros without), raw outputs to files."""
    name, upper = interface.name, interface.name.upper()
    ports = interface.ports
    count = len(interface.signature.inputs)
    arguments = ", ".join(interface.pointers)
    has_state = interface.state_bytes > 0
    checked = f"if (status == {upper}_OK) " if has_state else ""
    usage = " ".join(f"{port}.bin" for port, _ in ports)
    return "\n".join(
        (
            f"/* Runs {name}: ./{name} {usage}",
            " * Files hold stored values as they lie in memory. Build it with",
            f" *     cc -std=c99 main.c {name}.o -o {name} */",
            "#include <stdio.h>",
            "",
            f'#include "{name}.h"',
            "",
            *(
                f"static {C_TYPES[spec.dtype]} {port}[{upper}_{port.upper()}_COUNT];"
                for port, spec in ports
            ),
            *([f"static uint64_t state[{upper}_STATE_BYTES / 8];"] * has_state),
            f"static unsigned char memory[{upper}_ARENA_BYTES +",
            f"                            {upper}_ARENA_ALIGNMENT];",
            "",
            "static int transfer(const char *path, const char *mode, void *data,",
            "                    size_t size) {",
            "  FILE *file = fopen(path, mode);",
            "  size_t done = 0;",
            "  if (file != NULL) {",
            "    done = mode[0] == 'r' ? fread(data, 1, size, file)",
            "                          : fwrite(data, 1, size, file);",
            "    if (fclose(file) != 0) done = 0;",
            "  }",
            "  if (done == size) return 0;",
            '  fprintf(stderr, "%s: cannot transfer %lu bytes\\n", path,',
            "          (unsigned long)size);",
            "  return 1;",
            "}",
            "",
            "int main(int argc, char **argv) {",
            f"  const uintptr_t unit = {upper}_ARENA_ALIGNMENT;",
            "  void *arena = (void *)(((uintptr_t)memory + unit - 1) / unit * unit);",
            "  int32_t status;",
            f"  if (argc != {len(ports) + 1}) {{",
            f'    fprintf(stderr, "usage: %s {usage}\\n", argv[0]);',
            "    return 2;",
            "  }",
            *(
                f'  if (transfer(argv[{index}], "rb", {port}, sizeof {port})) return 1;'
                for index, (port, _) in enumerate(ports[:count], 1)
            ),
            *([f"  status = {name}_reset(state);"] * has_state),
            f"  {checked}status = {name}_run({arguments}, arena,",
            f"      {upper}_ARENA_BYTES);",
            f"  if (status != {upper}_OK) {{",
            f'    fprintf(stderr, "{name}: error %ld\\n", (long)status);',
            "    return 1;",
            "  }",
            *(
                f'  if (transfer(argv[{index}], "wb", {port}, sizeof {port})) return 1;'
                for index, (port, _) in enumerate(ports[count:], count + 1)
            ),
            "  return 0;",
            "}",
            "",
        )
    )
