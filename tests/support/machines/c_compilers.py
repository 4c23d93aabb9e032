"""Compilers that build models as C source, and the emulators of their programs."""

from __future__ import annotations

from pathlib import Path

from support.machines.c_programs import Compiler

_SUPPORT = Path(__file__).parent
_VECTORS = str(_SUPPORT / "cortex_m_vectors.c")

_SEMIHOSTED = ("-nographic", "-monitor", "none", "-serial", "none", "-semihosting")


def _board(name: str) -> tuple[str, ...]:
    """The emulator of a board."""
    return ("qemu-system-arm", "-M", name, *_SEMIHOSTED, "-kernel")


def _large(*options: str) -> tuple[str, ...]:
    """The command for a program of an Arm MPS2 board."""
    return (
        *("arm-none-eabi-gcc", "-mthumb", _VECTORS, *options),
        *("--specs=nano.specs", "--specs=rdimon.specs"),
        *("-T", str(_SUPPORT / "cortex_m4.ld")),
    )


COMPILERS = {
    "gcc -O0": Compiler(("gcc", "-O0")),
    "gcc -O2": Compiler(("gcc", "-O2")),
    "gcc -O3": Compiler(("gcc", "-O3", "-march=native")),
    "clang, sanitized": Compiler(
        (
            *("clang-19", "-O1", "-fsanitize=undefined,address"),
            *("-fno-sanitize-recover=all", "-march=native"),
        )
    ),
    "i686": Compiler(
        ("i686-linux-gnu-gcc", "-O2", "-static", "-msse2", "-mfpmath=sse")
    ),
    "s390x": Compiler(("s390x-linux-gnu-gcc", "-O2", "-static"), ("qemu-s390x",)),
    "powerpc": Compiler(("powerpc-linux-gnu-gcc", "-O2", "-static"), ("qemu-ppc",)),
    "riscv64": Compiler(("riscv64-linux-gnu-gcc", "-O2", "-static"), ("qemu-riscv64",)),
    "riscv32": Compiler(
        (
            *("riscv64-unknown-elf-gcc", "-O2", "-march=rv32imc", "-mabi=ilp32"),
            *("--specs=picolibc.specs", "-nostartfiles"),
            *(
                "-Wl,--defsym=__flash_size=0x2000000",
                "-Wl,--defsym=__ram_size=0x2000000",
            ),
            str(_SUPPORT / "linux_calls.c"),
        ),
        ("qemu-riscv32",),
    ),
    "xtensa": Compiler(
        (
            *("xtensa-lx106-elf-gcc", "-O2", "-nostartfiles"),
            "--specs=/usr/lib/xtensa-lx106-elf/picolibc.specs",
            *("-DPICOLIBC_INTEGER_PRINTF_SCANF", "-T", str(_SUPPORT / "xtensa.ld")),
            str(_SUPPORT / "linux_calls.c"),
        ),
        ("qemu-xtensa", "-cpu", "lx106"),
        has_floats=False,
    ),
    "cortex-m0": Compiler(
        (
            *("arm-none-eabi-gcc", "-O2", "-mcpu=cortex-m0", "-mthumb", _VECTORS),
            *("--specs=nano.specs", "--specs=rdimon.specs"),
            *("-Wl,--section-start=.vectors=0", "-Wl,-Ttext=0x400"),
            *("-Wl,-Tdata=0x20000000", "-Wl,--defsym=stack_top=0x20004000"),
        ),
        _board("microbit"),
    ),
    "cortex-m0, much memory": Compiler(
        _large("-O2", "-mcpu=cortex-m0"), _board("mps2-an386")
    ),
    "cortex-m4, intrinsics": Compiler(
        _large("-O3", "-mcpu=cortex-m4", "-DQLOWER_ACLE"), _board("mps2-an386")
    ),
}
"""The compilers of the long lane, where they are installed."""

AVR = Compiler(
    (
        *("avr-gcc", "-O2", "-mmcu=atmega2560"),
        str(_SUPPORT / "avr_output.c"),
    ),
    (
        *("sh", "-c"),
        'simavr -m atmega2560 -f 16000000 "$0" 2>&1'
        " | sed -n 's/.*\\[32m\\(.*\\)\\.$/\\1/p'",
    ),
)
"""A processor of 8 bits with 8 KB of RAM, whose int has 16; simavr prints each line of
its serial port in green, and a point for its end."""
