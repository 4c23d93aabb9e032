"""Models that other projects' own tools turn into MLIR text: bytecode, TOSA's files."""

from __future__ import annotations

import os
import signal
import subprocess
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from qlower.diagnostics import QlowerError
from qlower.files.llvm_tools import find_tool
from qlower.files.programs import run_program
from qlower.process.extras import install_line

OLDEST = 22
"""The first release of LLVM whose text is ours, too."""

SECONDS = 600
"""Time that a tool may take."""

WORK, MEMORY = 20, 3 << 29
"""Seconds of a processor and bytes of addresses that a tool has for a small file: MLIR
reads some damaged ones for ever."""

_ALONE = "--mlir-disable-threading"
"""Each thread of MLIR's would reserve addresses."""

_BYTES_A_SECOND, _MEMORY_A_BYTE = 1 << 20, 64
"""The file's size for each second more, and the bytes for each of the file's."""


def text_of(file: Path) -> bytes:
    """The MLIR text of an `.mlirbc` or `.tosa` file.

    Raises QlowerError where the tool that reads it isn't there, or doesn't read it.
    """
    command = _bytecode(file) if file.suffix == ".mlirbc" else _flatbuffer(file)
    tool = Path(command[0]).name
    try:
        size = file.stat().st_size
        work = WORK + size // _BYTES_A_SECOND
        printed = run_program(
            command,
            input=b"module {}",
            seconds=SECONDS,
            most_memory=MEMORY + _MEMORY_A_BYTE * size,
            most_work=work,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise QlowerError(f"cannot read {file} by {tool}: {error}") from error
    if printed.returncode == -signal.SIGXCPU:
        raise QlowerError(f"cannot read {file} by {tool}: not within {work} s")
    if printed.returncode != 0:
        reasons = printed.stderr.decode(errors="replace").splitlines()
        reason = next((line for line in reasons if "error" in line), "it failed")
        raise QlowerError(f"cannot read {file} by {tool}: {reason.strip()}")
    # tosa-opt warns of other versions of the specification among what it prints.
    lines = printed.stdout.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"WARNING"))


def _bytecode(file: Path) -> list[str | Path]:
    tool = find_tool("mlir", "mlir-opt", OLDEST, os.environ.get("QLOWER_MLIR_OPT"))
    if tool is None:
        raise QlowerError(
            f"cannot read {file}: bytecode needs mlir-opt of LLVM {OLDEST} or newer",
            help=f"{install_line('mlir')}, or name one in $QLOWER_MLIR_OPT",
        )
    flags = "--mlir-print-op-generic", "--allow-unregistered-dialect"
    return [tool, *flags, _ALONE, file]


def _flatbuffer(file: Path) -> list[str | Path]:
    try:
        installed = {str(path): path.locate() for path in files("tosa-tools") or ()}
        tool, schema = installed["bin/tosa-opt"], installed["bin/tosa.fbs"]
    except (PackageNotFoundError, KeyError):
        raise QlowerError(
            f"cannot read {file}: TOSA's files need tosa-opt",
            help=f"{install_line('tosa')}, or write MLIR text",
        ) from None
    return [
        str(tool),
        "--tosa-deserialize",
        f"--tosa-deserialize-filename={file.absolute()}",
        f"--tosa-deserialize-schema={schema}",
        _ALONE,
        "-",
    ]
